"""Results as people read them: pairs from the winner's side, the best system first.

results.json and the CSV tables keep the direction of the study.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple, TypeVar

from analysis.comparisons.findings import TURNED
from analysis.results.findings import rank_of
from analysis.results.records import PairTest, Results
from analysis.results.words import Names
from analysis.statistics.record import Record, names_of, replace_fields

EXCHANGED = (
    ("system_x", "system_y"),
    ("wins_x", "wins_y"),
    ("mean_forward", "mean_back"),
    ("shift_forward", "shift_back"),
)
SHARES = ("mean", "win_rate", "superiority", "share")  # of x: one minus it is that of y
DIFFERENCES = ("mean_difference", "t", "d_z", "hedges_g", "effect")  # x minus y
OPPOSITE: Mapping[Any, Any] = {**TURNED, "always": "never", "never": "always"}
SIDES = ("verdict", "crossed_verdict", "decision", "holds", "order_a", "order_b")
UNSIGNED = "mean_distance"  # from 0.5, to either side: neither it nor its interval is of one system
# a share or a difference
OF_ITS_SOURCE = ("ci", "estimate", "pooled_estimate", "others_estimate", "people_mean", "people_ci")
Row = TypeVar("Row", bound=Record)
Key = tuple[Any, ...]


def turned(row: Row) -> Row:
    """Return a row about two systems with the second named first, and every number with it.

    Shares become one minus themselves, differences change their sign, intervals exchange their ends, counts and
    verdicts change sides. Turning twice gives the row back.
    """
    turning = _turning(names_of(type(row)))
    share = turning.share or getattr(row, "source", "") in ("preferences", "choices")
    changes: dict[str, Any] = {name: getattr(row, other) for name, other in turning.exchanged}
    for name, other, is_share in turning.numbers:
        changes[name] = _of_the_other(getattr(row, other), share=share if is_share is None else is_share)
    for name in turning.sides:
        changes[name] = _other_side(getattr(row, name))
    for name in turning.several:
        changes[name] = tuple(replace_fields(one, verdict=_other_side(one.verdict)) for one in getattr(row, name))
    return replace_fields(row, **changes)


class _Turning(NamedTuple):
    """What turning does to a kind of row: each field with the field whose value it gets."""

    share: bool  # whether an effect named in OF_ITS_SOURCE is a share, whatever the row's source
    exchanged: tuple[tuple[str, str], ...]
    numbers: tuple[tuple[str, str, bool | None], ...]  # and whether it is a share; None: as its source is
    sides: tuple[str, ...]
    several: tuple[str, ...]  # verdicts of several sources or groups


@cache
def _turning(names: tuple[str, ...]) -> _Turning:
    numbers: list[tuple[str, str, bool | None]] = []
    for name in names if UNSIGNED not in names else ():
        base = name.removesuffix("_low").removesuffix("_high")
        end = name.removeprefix(base)
        other = base + {"_low": "_high", "_high": "_low"}.get(end, end)
        if base in SHARES or base in DIFFERENCES:
            numbers.append((name, other, base in SHARES))
        elif base in OF_ITS_SOURCE:
            numbers.append((name, other, None))
    return _Turning(
        share="mean" in names or "win_rate" in names,
        exchanged=tuple(pair for one, other in EXCHANGED if one in names for pair in ((one, other), (other, one))),
        numbers=tuple(numbers),
        sides=tuple(name for name in SIDES if name in names),
        several=tuple(name for name in ("verdicts",) if name in names),
    )


def _other_side(found: str | None) -> Any:
    return OPPOSITE.get(found, found)  # what favours neither system stays


def _of_the_other(value: float | None, *, share: bool) -> float | None:
    if value is None:
        return None
    return round(1 - value, 15) if share else 0.0 - value  # not -0.0


def aligned(rows: Iterable[Row]) -> list[Row]:
    """Return rows with each pair in the direction of its first row of a criterion, so that a figure shows it once."""
    directions: dict[Key, str] = {}
    found = []
    for row in rows:
        about: Any = row
        key = about.criterion, frozenset((about.system_x, about.system_y))
        found.append(row if directions.setdefault(key, about.system_x) == about.system_x else turned(row))
    return found


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
