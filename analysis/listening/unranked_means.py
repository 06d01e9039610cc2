"""Mean ratings of hidden references and anchors, and how far systems are from each listener's own hidden reference."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
import polars as pl

from analysis.answers.order import Order, order_of
from analysis.answers.plan import Plan
from analysis.answers.tables import answered_rows
from analysis.answers.units import UnitRule
from analysis.answers.unranked import UnrankedRatings
from analysis.comparisons.rating_cells import rating_cells
from analysis.comparisons.ratings import clustered_mean
from analysis.comparisons.score_totals import total_scores
from analysis.statistics.coding import average_by
from analysis.statistics.reasons import Reason
from analysis.statistics.record import Count, Positive, Record
from analysis.statistics.t_tests import one_sample
from spa.records.system_roles import UnrankedRole

COMPARED = ("group", "criterion", "system")
OWN = ("group", "criterion", "annotator_id", "variant", "item_id")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class UnrankedMean(Record):
    """Mean rating of one hidden reference or anchor, as those of ratings.means."""

    group: str
    """Human, simulated, an LLM's id or id/variant, or a group named in the table."""
    criterion: str
    system: str
    role: UnrankedRole
    low_pass: float | None
    """Of an anchor: where its highs were cut off, in Hz; null: not said."""
    n: Count
    """Cells."""
    mean: float
    sd: float | None
    ci_low: float | None
    ci_high: float | None
    unit: str
    n_units: Count
    reason: Reason | None = None
    """Why a number is missing."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ReferenceDifference(Record):
    """Rating of a system less that of the hidden reference by the same listener, averaged within listeners first."""

    group: str
    criterion: str
    system: str
    n: Positive
    """Listeners (of an LLM: 1, however often it was asked)."""
    n_items: Positive
    difference: float
    """Mean over listeners of their own mean difference, in points; below 0: worse than the reference."""
    ci_low: float | None
    ci_high: float | None
    reason: Reason | None = None
    """Why the interval is missing."""


def unranked_means(unranked: UnrankedRatings, plan: Plan, groups: Sequence[str]) -> Iterator[UnrankedMean]:
    """Average the ratings of each hidden reference and anchor over its cells, clustered as those of systems are."""
    if unranked.ratings is None or unranked.ratings.is_empty():
        return
    roles = {one.system: one for one in unranked.systems}
    order = order_of(unranked.ratings, groups, None)
    place = {one.system: number for number, one in enumerate(unranked.systems)}
    for cells in rating_cells(unranked.ratings, order):
        units = {unit: cells.column(unit) for unit in ("annotator", "assignment", "item")}
        totals = total_scores(cells.system, cells.value, units, len(cells.systems), cells.scale)
        rule = UnitRule(planned=plan.unit, llm=cells.llm)
        there = [cells.systems[number] for number in np.flatnonzero(totals.count).tolist()]
        for system in sorted(there, key=place.__getitem__):
            number = cells.systems.index(system)
            yield UnrankedMean(
                group=cells.group,
                criterion=cells.criterion,
                system=system,
                role=roles[system].role,
                low_pass=roles[system].low_pass,
                **clustered_mean(totals, number, rule, plan.confidence),
            )


def reference_differences(
    ratings: pl.DataFrame | None, unranked: UnrankedRatings, plan: Plan, order: Order | None
) -> Iterator[ReferenceDifference]:
    """Set each listener's rating of a system against that of the own hidden reference of the item (DMOS of ACR-HR).

    Repeats are averaged, then each listener's differences, so that a listener counts once however much they rated. The
    interval is that of a t-test over listeners.

    References
    ----------
    ITU-T Recommendation P.910 (2023), section on ACR with hidden reference: its differential score adds the number of
    points of the scale; here 0 is the reference.
    """
    references = unranked.of("hidden_reference")
    if ratings is None or order is None or unranked.ratings is None or not references:
        return
    texts = pl.col("group", "criterion", "annotator_id", "variant", "item_id", "system").cast(pl.String)
    rated, apart = (
        average_by(answered_rows(table).with_columns(texts), [*OWN, "system"]) for table in (ratings, unranked.ratings)
    )
    of_reference = average_by(apart.filter(pl.col("system").is_in(references)), OWN).rename({"value": "reference"})
    anchors = apart.filter(~pl.col("system").is_in(references))
    every = pl.concat([rated, anchors]).join(of_reference, on=OWN, nulls_equal=True)
    every = every.with_columns(value=pl.col("value") - pl.col("reference"))
    systems = [*order.systems, *(one.system for one in unranked.systems)]
    rank = [{name: at for at, name in enumerate(names)} for names in (order.groups, order.criteria, systems)]

    def place(row: tuple[str, ...]) -> tuple[int, ...]:
        return tuple(own[name] for own, name in zip(rank, row[:3], strict=True))

    items = {tuple(row[:3]): row[3] for row in every.group_by(COMPARED).agg(pl.col("item_id").n_unique()).iter_rows()}
    own = average_by(every, [*COMPARED, "annotator_id"])
    for where, several in groupby(sorted(own.iter_rows(), key=place), key=lambda row: row[:3]):
        found = one_sample(np.array([row[-1] for row in several]), against=0.0, confidence=plan.confidence)
        yield ReferenceDifference(
            **dict(zip(COMPARED, where, strict=True)),
            n=found.n,
            n_items=items[where],
            difference=found.mean,
            ci_low=found.ci_low,
            ci_high=found.ci_high,
            reason=found.reason,
        )
