"""What raters said about their answers, beside the answer and beside what people answered to the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from analysis.answers.order import Order
from analysis.comparisons.sides import people_kind
from analysis.statistics.record import AnnotatorKind, Count, Record, Source

SAME: dict[Source, tuple[str, ...]] = {  # what makes two answers answers to the same
    "preferences": ("criterion", "exposure", "system_x", "system_y"),
    "ratings": ("criterion", "item_id", "sample", "system"),
    "choices": ("criterion", "item_id", "sample_x", "sample_y", "system_x", "system_y"),
}
TURNED = {"system_x": "system_y", "system_y": "system_x", "sample_x": "sample_y", "sample_y": "sample_x"}
COLUMNS = ("item_id", "system", "system_x", "system_y", "sample", "sample_x", "sample_y", "exposure")
LABELS = ("label", "label_x", "label_y")
WHO = ("annotator_id", "assignment_id", "repeat")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ExplanationRow(Record):
    """What one rater said about one answer."""

    source: Source
    group: str
    annotator_kind: AnnotatorKind
    criterion: str
    annotator_id: str
    assignment_id: str | None
    repeat: str | None
    item_id: str | None
    system: str | None
    system_x: str | None
    system_y: str | None
    sample: str | None
    sample_x: str | None
    sample_y: str | None
    exposure: Count | None
    label: str | None
    label_x: str | None
    label_y: str | None
    value: float | None
    people_mean: float | None
    departure: float | None
    explanation: str


def explanations_of(kept: Mapping[str, pl.DataFrame], orders: Mapping[str, Order]) -> list[ExplanationRow]:
    """List every explanation with the answer that it explains.

    Parameters
    ----------
    kept : mapping of str to DataFrame
        Answer tables after exclusions, by source. Those without a column ``explanation`` say nothing.
    orders : mapping of str to Order
        Order of groups and criteria of each.

    Returns
    -------
    list of ExplanationRow
        ``value`` is the answer (a preference or choice in the direction asked), ``people_mean`` the mean answer of
        people to the same, ``departure`` value minus that mean; both are null for people themselves, and where
        nobody answered the same.
    """
    rows: list[ExplanationRow] = []
    for source in SAME:
        table = kept.get(source)
        if table is None or "explanation" not in table.columns:
            continue
        explained = table.filter(pl.col("explanation").is_not_null())
        if not explained.is_empty():
            rows += _rows(source, explained, _people(source, table), orders[source])
    return rows


def _people(source: Source, table: pl.DataFrame) -> pl.DataFrame | None:
    """Return people's mean answers, each pair in both directions."""
    kind = people_kind(table)
    if kind is None:
        return None
    same = [name for name in SAME[source] if name in table.columns]
    answered = table.filter((pl.col("annotator_kind") == kind) & pl.col("value").is_not_null()).select(*same, "value")
    if source != "ratings":
        turned = answered.select(
            *(pl.col(TURNED.get(name, name)).alias(name) for name in same), (1 - pl.col("value")).alias("value")
        )
        answered = pl.concat([answered, turned])
    means = answered.group_by(*same).agg(pl.col("value").mean().alias("people_mean"))
    return means.with_columns(pl.col(pl.Categorical).cast(pl.String))


def _rows(
    source: Source, explained: pl.DataFrame, people: pl.DataFrame | None, order: Order
) -> Iterator[ExplanationRow]:
    same = [name for name in SAME[source] if name in explained.columns]
    explained = explained.with_columns(pl.col(pl.Categorical).cast(pl.String))
    if people is None:
        explained = explained.with_columns(people_mean=pl.lit(None, dtype=pl.Float64))
    else:
        explained = explained.join(people, on=same, how="left", nulls_equal=True)
    places = [name for name in (*COLUMNS, *LABELS) if name in explained.columns]
    ids = [name for name in (*places, *WHO) if name in explained.columns]
    for group, criterion in _parts(explained, order):
        own = explained.filter((pl.col("group") == group) & (pl.col("criterion") == criterion))
        for row in own.sort(*ids, "explanation", nulls_last=True).iter_rows(named=True):
            fields: dict[str, Any] = {name: row.get(name) for name in ExplanationRow.__slots__}
            value, mean = row["value"], row["people_mean"] if row["annotator_kind"] == "llm" else None
            departure = None if value is None or mean is None else value - mean
            yield ExplanationRow(**fields | {"source": source, "people_mean": mean, "departure": departure})


def _parts(explained: pl.DataFrame, order: Order) -> Sequence[tuple[str, str]]:
    there = set(explained.select("group", "criterion").unique().iter_rows())
    return [(group, name) for group in order.groups for name in order.criteria if (group, name) in there]
