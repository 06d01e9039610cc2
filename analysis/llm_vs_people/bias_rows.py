"""The rows of results.json on what moves an LLM beyond what people see, from the tidy tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import polars as pl

from analysis.answers.both_orders import is_placed
from analysis.answers.order import Order, turned
from analysis.answers.output_features import LENGTHS, lengths_of
from analysis.answers.plan import Plan
from analysis.comparisons.sides import PeopleKind, sides_of
from analysis.llm_vs_people.bias import BiasContrast, Kind, bias_profile
from analysis.statistics.coding import average_by, code, fold
from analysis.statistics.reasons import Reason, why
from analysis.statistics.record import Count, Record, fields_of

Source = Literal["ratings", "preferences", "choices"]
OUTPUT = ("item_id", "sample", "system")
UNKNOWN = {
    "position": why("no_position"),
    "label": why("no_label"),
    "label of a pair": why("no_labels"),
    "order": why("no_order"),
    "length": why("no_length", metrics=tuple(sorted(LENGTHS))),
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class BiasRow(Record):
    """What an LLM adds to people's answers in one contrast, a row of ``llm_vs_people.bias``."""

    explained: ClassVar[tuple[str, ...]] = ("estimate",)

    people: PeopleKind
    group: str
    source: Source
    criterion: str
    kind: Kind
    level: str
    """The answers contrasted with the others, such as first or a letter."""
    n: Count
    n_level: Count | None = None
    """Answers to outputs that have the level; of pairs, those of the rarer direction of each."""
    n_clusters: Count | None = None
    estimate: float | None
    """LLM minus people: its mean (severity), or that of the level minus that of the others."""
    ci_low: float | None
    ci_high: float | None
    reason: Reason | None = None
    """Why a number is missing."""


def bias_rows(
    kept: Mapping[str, pl.DataFrame], orders: Mapping[str, Order], features: pl.DataFrame | None, plan: Plan
) -> list[BiasRow]:
    """Contrast every LLM with people on what both judged: by position, label, order of asking, and length.

    Parameters
    ----------
    kept : mapping of str to DataFrame
        Answer tables after exclusions, by source.
    features : DataFrame or None
        What is known of each output (:func:`analysis.answers.output_features.features_of`), perhaps its length.

    Returns
    -------
    list of BiasRow
        One row an LLM, source, criterion and contrast (:func:`analysis.bias_profile`); with a ``reason`` where the
        answers do not hold what a contrast needs.
    """
    makers: dict[Source, Any] = {"ratings": _of_ratings, "preferences": _of_preferences, "choices": _of_choices}
    lengths = lengths_of(features)
    rows: list[BiasRow] = []
    for source, make in makers.items():
        sides = sides_of(kept.get(source))
        if sides is None:
            continue
        order = orders[source]
        units = make(sides.people, sides.llms, order, lengths)
        parts = units.partition_by("group", "criterion", as_dict=True, include_key=False, maintain_order=True)
        for group in order.groups:
            for criterion in order.criteria:
                if (group, criterion) not in parts:
                    continue
                for contrast in _profile(parts[group, criterion], source, plan):
                    found = fields_of(contrast)
                    del found["confidence"]
                    rows.append(BiasRow(people=sides.kind, group=group, source=source, criterion=criterion, **found))
    return rows


def _of_ratings(people: pl.DataFrame, llms: pl.DataFrame, order: Order, lengths: pl.DataFrame | None) -> pl.DataFrame:
    """One row an output that an LLM rated in one assignment, beside the mean of people's ratings of it."""
    seen = average_by(people, ("criterion", *OUTPUT)).rename({"value": "people"})
    shown = ("assignment_id", "position", "label")
    own = average_by(llms, ("group", "criterion", *shown, *OUTPUT)).rename({"value": "rater"})
    units = own.join(seen, on=("criterion", *OUTPUT), how="inner", nulls_equal=True, maintain_order="left")
    if lengths is None:
        units = units.with_columns(length=pl.lit(None, dtype=pl.Float64))
    else:
        units = _with_lengths(units, lengths, ("item_id", "system"))
    return units.with_columns(
        position=pl.col("position").cast(pl.String).cast(pl.Int64, strict=False),
        part=pl.col("system"),
        cluster=pl.col("item_id"),
    )


def _of_preferences(
    people: pl.DataFrame, llms: pl.DataFrame, order: Order, lengths: pl.DataFrame | None
) -> pl.DataFrame:
    """One row a statement of an LLM beside the mean of people's on the same direction of the pair."""
    asked = ("criterion", "exposure", "system_x", "system_y")
    seen = average_by(people, asked).rename({"value": "people"})
    who = ("group", "annotator_id", "assignment_id", "asked_first", "label_x", "label_y")
    own = average_by(llms, (*who, *asked)).rename({"value": "rater"})
    units = own.join(seen, on=asked, how="inner", nulls_equal=True, maintain_order="left")
    units = units.with_columns(
        direction=_numbered(units, asked[1:]),
        cluster=_numbered(units, ("annotator_id", "assignment_id")),
        asked_first=pl.col("asked_first").cast(pl.String).cast(pl.Float64, strict=False),
        plain=pl.col("rater") - pl.col("people"),
        value=pl.col("rater"),
    )
    directed = _turned(units, order)
    seen_turned = pl.when("forward").then("people").otherwise(1 - pl.col("people"))
    return directed.with_columns(
        rater=pl.col("value"), people=seen_turned, part=_numbered(directed, ("x", "y", "exposure"))
    )


def _numbered(units: pl.DataFrame, columns: tuple[str, ...]) -> pl.Series:
    return pl.Series(fold(*(code(units[name]).of for name in columns)).of)


def _of_choices(people: pl.DataFrame, llms: pl.DataFrame, order: Order, lengths: pl.DataFrame | None) -> pl.DataFrame:
    """One row a choice of an LLM in one assignment, beside the share of people who chose alike between the same."""
    people, llms = (_turned(side, order) for side in (people, llms))
    asked = ("criterion", "item_id", "sample", "sample_first", "sample_second", "x", "y")
    seen = average_by(people, asked).rename({"value": "people"})
    who = ("group", "assignment_id", "position", "label", "other_label", "part")
    own = average_by(llms, (*who, *asked)).rename({"value": "rater"})
    units = own.join(seen, on=asked, how="inner", nulls_equal=True, maintain_order="left").with_columns(
        cluster=pl.col("item_id")
    )
    length = pl.lit(None, dtype=pl.Float64)
    if lengths is not None:
        for name in ("x", "y"):
            known = lengths.rename({"system": name, "length": f"length_{name}"})
            units = _with_lengths(units, known, ("item_id", name))
        length = pl.col("length_x") - pl.col("length_y")
    return units.with_columns(length=length)


def _turned(units: pl.DataFrame, order: Order) -> pl.DataFrame:
    """Turn answers to the direction first listed; ``position`` is 1 where that one was named first, null if unknown."""
    units, ahead = turned(units, order), pl.col("forward")
    return units.with_columns(
        label=pl.when(ahead).then("label_x").otherwise("label_y"),
        other_label=pl.when(ahead).then("label_y").otherwise("label_x"),
        position=pl.when(is_placed(units)).then(pl.when(ahead).then(1).otherwise(2)),
        part=pl.concat_str("x", "y", separator="\n"),
    )


def _profile(units: pl.DataFrame, source: Source, plan: Plan) -> Iterator[BiasContrast]:
    if source == "ratings":
        yield bias_profile(*_sides(units), clusters=units["cluster"].to_numpy(), confidence=plan.confidence)[0]
    kinds: tuple[Kind, ...] = ("position", "label") if source == "preferences" else ("position", "length", "label")
    for kind in kinds:
        if units[kind].null_count() == units.height:
            reason = UNKNOWN["label of a pair" if kind == "label" and source != "ratings" else kind]
            yield _unknown(kind, units.height, reason, plan)
            continue
        pairs = source != "ratings"
        columns = (kind, "other_label") if pairs and kind == "label" else (kind,)
        known = units.filter(pl.all_horizontal(pl.col(columns).is_not_null()))
        found = bias_profile(
            *_sides(known),
            **{kind: known.select(columns).to_numpy() if len(columns) > 1 else known[kind].to_numpy()},
            systems=known["part"].to_numpy(),
            clusters=known["cluster"].to_numpy(),
            pairs=pairs,
            confidence=plan.confidence,
        )
        yield from found if pairs else found[1:]
    if source == "preferences":
        yield from _order(units, plan)


def _order(units: pl.DataFrame, plan: Plan) -> Iterator[BiasContrast]:
    """Contrast the direction asked first with its reverse: what is said of the system named first."""
    known = units.filter(pl.col("asked_first").is_not_null())
    if known.is_empty():
        yield _unknown("order", units.height, UNKNOWN["order"], plan)
        return
    found = bias_profile(
        known["plain"].to_numpy(),
        known["plain"].to_numpy() * 0,
        position=known["asked_first"].to_numpy(),
        systems=known["direction"].to_numpy(),
        clusters=known["cluster"].to_numpy(),
        confidence=plan.confidence,
    )
    yield replace(found[1], kind="order", level="asked before its reverse")


def _sides(units: pl.DataFrame) -> tuple[Any, Any]:
    return units["rater"].to_numpy(), units["people"].to_numpy()


def _unknown(kind: Kind, n: int, reason: Reason, plan: Plan) -> BiasContrast:
    return BiasContrast(
        kind=kind,
        level="",
        n=n,
        n_level=0,
        n_clusters=0,
        estimate=None,
        ci_low=None,
        ci_high=None,
        confidence=plan.confidence,
        reason=reason,
    )


def _with_lengths(units: pl.DataFrame, lengths: pl.DataFrame, output: tuple[str, str]) -> pl.DataFrame:
    alike = lengths.with_columns(pl.col(name).cast(units.schema[name]) for name in output)
    return units.join(alike, on=output, how="left", maintain_order="left")
