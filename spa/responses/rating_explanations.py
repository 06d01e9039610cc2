"""Ratings that came with an explanation, side by side for several raters and variants."""

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
    """What all of the variants rated and explained; ``left_out`` counts what only some of them did."""

    variants: tuple[str, ...]  # rater or rater/variant
    explained: Mapping[RatedTarget, Mapping[str, ExplainedRating]]
    left_out: int


def explained_ratings(store: Store, raters: Sequence[str], variants: Sequence[str] = ()) -> SideBySide:
    """Gather the explained ratings of some raters, by their ids: of all their variants, or of those named.

    Raise ResponseError if one of the raters explained no rating of a single output, or no rating was explained by all.
    """
    found: dict[RatedTarget, dict[str, ExplainedRating]] = {}
    rater_of: dict[str, str] = {}  # by rater or rater/variant
    ratings = export_tables(store).ratings
    if "turn" in ratings.columns:
        raise ResponseError(
            f"{store.name}: expected ratings of whole outputs, to lay their explanations side by side, got ratings of "
            'single turns ([outputs] unit = "turn"); compare their scores in the report'
        )
    for row in ratings.iter_rows(named=True):
        if row["annotator_id"] not in raters or row["explanation"] is None or row["score"] is None:
            continue
        if variants and row["variant"] not in variants:
            continue
        name = row["annotator_id"] if row["variant"] is None else f"{row['annotator_id']}/{row['variant']}"
        rater_of[name] = row["annotator_id"]
        target = RatedTarget(**{name: row[name] for name in RatedTarget.__dataclass_fields__})
        found.setdefault(target, {})[name] = ExplainedRating(score=row["score"], explanation=row["explanation"])
    silent = [rater for rater in raters if rater not in rater_of.values()]
    if silent:
        raise ResponseError(
            f"{store.name}: expected ratings with explanations by {silent[0]!r}, got none; ask it with "
            'explain = "after" or "before" and a section that rates outputs'
        )
    whole = {target: by_variant for target, by_variant in found.items() if len(by_variant) == len(rater_of)}
    if not whole:
        raise ResponseError(
            f"{store.name}: expected an output that {', '.join(rater_of)} all explained, got none; review them apart"
        )
    return SideBySide(variants=tuple(rater_of), explained=whole, left_out=len(found) - len(whole))
