"""Results as people read them: pairs from the winner's side, the best system first.

results.json and the CSV tables keep the direction of the study.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias, TypeVar

from analysis.printing.lookup import PairTest, rank_of
from analysis.printing.names import Names
from analysis.printing.turning import turned
from analysis.records.results import Results

Row = TypeVar("Row")
Key: TypeAlias = tuple[Any, ...]


def oriented(results: Results) -> Results:
    """Return results with every pair told from its winner's side and the best system first.

    The winner is the system that the test prefers, else the one ahead; of several exposures, the largest decides for
    all. Within a group and criterion, systems stand as their ranking has them, pairs by the places of their two.
    """
    ratings, powered = results.ratings, results.llm_vs_people.prediction_powered
    lower = Names(results).lower_is_better
    places = _places(results, lower)
    tests: dict[str, Sequence[PairTest]] = {
        "preferences": results.preferences,
        "ratings": ratings.pairs,
        "choices": results.choices.pairs,
    }
    winners = _winners([(source, row, row.effect) for source, rows in tests.items() for row in rows], lower)
    own = [(row.source, row, row.estimate - (0.0 if row.source == "ratings" else 0.5)) for row in powered]

    def put(source: str, rows: Iterable[Row], winners: Mapping[Key, str] = winners) -> tuple[Row, ...]:
        return tuple(_best_first([_from_winner(row, source, winners) for row in rows], source, places))

    return replace(
        results,
        preferences=put("preferences", results.preferences),
        preference_directions=tuple(_best_first(results.preference_directions, "preferences", places)),  # as asked
        consistency_sweep=put("preferences", results.consistency_sweep),
        ratings=replace(
            ratings,
            means=put("ratings", ratings.means),
            pairs=put("ratings", ratings.pairs),
            robustness=put("ratings", ratings.robustness),
            respacing=put("ratings", ratings.respacing),
            by_system=put("ratings", ratings.by_system),
        ),
        rating_counts=put("ratings", results.rating_counts),
        choices=replace(results.choices, pairs=put("choices", results.choices.pairs)),
        bradley_terry=put("", results.bradley_terry),
        order_strengths=put("choices", results.order_strengths),
        spans=None if results.spans is None else replace(results.spans, counts=put("ratings", results.spans.counts)),
        llm_vs_people=replace(results.llm_vs_people, prediction_powered=put("", powered, _winners(own, lower))),
        observed_power=None if results.observed_power is None else put("", results.observed_power),
    )


def _winners(rows: Sequence[tuple[str, Any, float]], lower: Collection[str]) -> dict[Key, str]:
    """Return the better system of each pair, from (source, row, how far it speaks for x)."""
    winners: dict[Key, str] = {}
    for source, row, effect in sorted(rows, key=lambda each: getattr(each[1], "exposure", None) or 0):
        ahead = -effect if source == "ratings" and row.criterion in lower else effect
        verdict = getattr(row, "verdict", None)
        first = verdict == "x" if verdict in ("x", "y") else ahead >= 0
        winners[_key(source, row)] = row.system_x if first else row.system_y
    return winners


def _key(source: str, row: Any) -> Key:
    return source, row.group, row.criterion, frozenset((row.system_x, row.system_y))


def _from_winner(row: Row, source: str, winners: Mapping[Key, str]) -> Row:
    first: str | None = getattr(row, "system_x", None)
    if first is None:
        return row
    return row if winners.get(_key(getattr(row, "source", source), row), first) == first else turned(row)


def _places(results: Results, lower: Collection[str]) -> dict[Key, dict[str, int]]:
    """Return the place of each system by source, group and criterion; who won everything stands first.

    Where low ratings are good, a system that was always rated higher won every comparison and stands last.
    """
    places = {}
    for entry in results.rankings:
        place = rank_of(entry.order)
        best = "won_all"
        if entry.source == "ratings_bt":
            best = "rated_lower" if entry.criterion in lower else "rated_higher"
        first = {one.system for one in entry.unranked if one.reason is not None and one.reason.code == best}
        place |= {one.system: 0 if one.system in first else len(place) + 1 for one in entry.unranked}
        places[entry.source, entry.group, entry.criterion] = place
    return places


def _best_first(rows: Sequence[Row], source: str, places: Mapping[Key, Mapping[str, int]]) -> list[Row]:
    """Sort rows within each group and criterion by the place of their system, or of the better and the other."""
    keys: list[Key] = [(getattr(row, "source", source), row.group, row.criterion) for row in map(_any, rows)]
    block = {key: number for number, key in enumerate(dict.fromkeys(keys))}

    def order(at: int) -> tuple[int, list[int], list[int]]:
        place = places.get(keys[at], {})
        named = (getattr(rows[at], name, None) for name in ("system", "system_x", "system_y"))
        own = [place.get(system, len(place) + 1) for system in named if system]
        return block[keys[at]], sorted(own), own

    return [rows[at] for at in sorted(range(len(rows)), key=order)]


def _any(row: Any) -> Any:
    return row
