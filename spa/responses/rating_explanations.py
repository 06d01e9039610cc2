"""Ratings that came with an explanation, side by side for several ways of asking."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from spa.errors import ResponseError
from spa.responses.export import export_tables
from spa.responses.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class RatedTarget:
    """What was rated, once: an output on a criterion, on one form, in one repeat."""

    assignment_id: str
    item_id: str
    system: str
    sample: int
    criterion: str
    elicitation: str
    repeat: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedRating:
    """A rating and the explanation that came with it."""

    score: float
    explanation: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SideBySide:
    """What all of the ways rated and explained; ``left_out`` counts what only some of them did."""

    ways: tuple[str, ...]
    explained: Mapping[RatedTarget, Mapping[str, ExplainedRating]]
    left_out: int


def explained_ratings(store: Store, raters: Sequence[str], variants: Sequence[str] = ()) -> SideBySide:
    """Gather the explained ratings of some raters; every rater and variant with explanations is a way.

    Parameters
    ----------
    store : Store
        Where they are kept.
    raters : sequence of str
        Their ids.
    variants : sequence of str
        Only these variants; all where empty.

    Raises
    ------
    ResponseError
        If one of the raters explained no rating of a single output, or no rating was explained in all ways.
    """
    found: dict[RatedTarget, dict[str, ExplainedRating]] = {}
    ways: dict[str, str] = {}  # way -> its rater
    for row in export_tables(store).ratings.iter_rows(named=True):
        if row["annotator_id"] not in raters or row["explanation"] is None or row["score"] is None:
            continue
        if variants and row["variant"] not in variants:
            continue
        way = row["annotator_id"] if row["variant"] is None else f"{row['annotator_id']}/{row['variant']}"
        ways[way] = row["annotator_id"]
        asked = RatedTarget(**{name: row[name] for name in RatedTarget.__dataclass_fields__})
        found.setdefault(asked, {})[way] = ExplainedRating(score=row["score"], explanation=row["explanation"])
    silent = [rater for rater in raters if rater not in ways.values()]
    if silent:
        raise ResponseError(
            f"{store.name}: expected ratings with explanations by {silent[0]!r}, got none; ask it with "
            'explain = "after" or "before" and a [likert], [continuous] or [categories] section'
        )
    whole = {asked: by_way for asked, by_way in found.items() if len(by_way) == len(ways)}
    if not whole:
        raise ResponseError(
            f"{store.name}: expected an output that {', '.join(ways)} all explained, got none; review them apart"
        )
    return SideBySide(ways=tuple(ways), explained=whole, left_out=len(found) - len(whole))
