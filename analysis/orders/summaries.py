"""Rows of ``orders``, ``order_strengths`` and ``order_places`` in the results."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias

import numpy as np
import polars as pl

from analysis.agreement.concordance import kendall_w
from analysis.answers.order import Order
from analysis.answers.plan import Plan
from analysis.orders.plackett_luce import PlackettLuce, plackett_luce
from analysis.statistics.coding import Floats, Ints, code, fold
from analysis.statistics.rank_orders import STRENGTH_TIE, ranks
from analysis.statistics.reasons import Reason, why
from analysis.statistics.record import Count, Probability, Record, Share
from analysis.statistics.t_tests import TTest, no_test, one_sample
from analysis.strengths.bounds import stable

Clustered: TypeAlias = Literal["annotator", "assignment"]
NO_PLACES = why("no_places")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class OrderSummary(Record):
    """What the orders of one group and criterion rest on, how alike annotators order, and what the place does."""

    group: str
    """Human, simulated, an LLM's id or id/variant, or a group named in the table."""
    criterion: str
    n_orderings: Count
    """Used; those left out are not among them."""
    n_annotators: Count
    n_tied: Count
    """With ties; but for those in last place the likelihood is averaged over the orders that they allow."""
    n_partial: Count = 0
    """Of these with ties in last place: partial rankings, whose likelihood is that of the choices before."""
    n_left_out: Count
    """Whose ties before the last place allow more than 24 orders, from the strengths alone."""
    kendall_w: Share | None
    """Concordance of the annotators' mean ranks of the systems; 1: all order them alike."""
    kendall_w_reason: Reason | None = None
    place_effect: float | None
    """Ranks by which an output falls for each place further down the page, its system's mean rank taken out."""
    place_ci_low: float | None
    place_ci_high: float | None
    place_n: Count
    """Annotators (of an LLM: assignments), each with a slope of its own."""
    place_p: Probability | None
    place_reason: Reason | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class OrderStrength(Record):
    """Plackett-Luce strength of one system; ``reason`` says why a number is missing."""

    explained: ClassVar[tuple[str, ...]] = ("strength",)

    group: str
    """Human, simulated, an LLM's id or id/variant, or a group named in the table."""
    criterion: str
    system: str
    n: Count
    """Orderings that have it."""
    mean_rank: float
    """Among the outputs of an ordering, tied ones at the mean of their places; 1 is best."""
    strength: float | None
    """Natural log, mean zero."""
    thurstone: float | None
    """By Thurstone's model of every two outputs of an ordering, mean zero, on the scale of its normal deviates."""
    ci_low: float | None
    ci_high: float | None
    interval: str | None
    """Sandwich (CR2), by annotator (of an LLM: assignment); null: no interval."""
    n_clusters: Count
    df: float | None = None
    """Satterthwaite's degrees of freedom of the interval, at least 4."""
    alike: Clustered | None = None
    """What has the same total weight each, since the orderings as they are left under 4 degrees of freedom."""
    rank: int | None
    rank_low: int | None = None
    """Best rank that the orderings allow, all systems of the table jointly."""
    rank_high: int | None = None
    """Worst rank that the orderings allow."""
    reason: Reason | None = None
    """Why a number is missing."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class OrderPlace(Record):
    """Mean rank of the outputs that stood at one place of the page."""

    group: str
    criterion: str
    place: int
    """From 1, in the order of the page."""
    n: Count
    mean_rank: float


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderRows:
    """All rows, in the order of groups and criteria."""

    summaries: tuple[OrderSummary, ...] = ()
    strengths: tuple[OrderStrength, ...] = ()
    places: tuple[OrderPlace, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Orderings:
    """The complete orderings of one group and criterion.

    ``rank`` and ``place`` have the shape (orderings, systems), NaN where an ordering lacks the system; ``rank`` gives
    tied outputs the mean of their places.
    """

    rank: Floats
    place: Floats
    annotator: Ints
    unit: Ints  # annotator, of an LLM the assignment
    llm: bool


def order_rows(table: pl.DataFrame, order: Order, plan: Plan) -> OrderRows:
    """Analyse outputs put in order, group by group and criterion by criterion.

    Parameters
    ----------
    table : DataFrame
        Orders after exclusions, as :func:`analysis.answers.orderings.with_implied_choices` leaves them.
    order : Order
        Of groups, criteria and systems.
    plan : Plan
        Confidence level, and the seed of the rank intervals: anew for every group and criterion.
    """
    summaries: list[OrderSummary] = []
    strengths: list[OrderStrength] = []
    places: list[OrderPlace] = []
    for group in order.groups:
        for criterion in order.criteria:
            found = orderings_of(table, order, group, criterion)
            if found is None:
                continue
            unit: Clustered = "assignment" if found.llm else "annotator"
            fit = plackett_luce(
                found.rank,
                systems=order.systems,
                cluster=found.unit,
                unit=unit,
                confidence=plan.confidence,
                rng=np.random.default_rng(plan.seed),
            )
            summaries.append(_summary(group, criterion, found, fit, plan))
            strengths += _strengths(group, criterion, found, fit, order.systems, unit)
            places += _places(group, criterion, found)
    return OrderRows(summaries=tuple(summaries), strengths=tuple(strengths), places=tuple(places))


def orderings_of(table: pl.DataFrame, order: Order, group: str, criterion: str) -> Orderings | None:
    """Return what of a group and criterion has a rank for each of two outputs or more."""
    systems = order.systems
    rows = table.filter((pl.col("group") == group) & (pl.col("criterion") == criterion))
    rows = rows.filter(pl.col("value").is_not_null().all().over("ordering") & (pl.len().over("ordering") > 1))
    if rows.is_empty():
        return None
    rank = pl.col("value").rank("average").over("ordering")
    rows = rows.with_columns(rank.alias("rank"), pl.col("place").cast(pl.Float64) + 1)
    of = fold(rows["ordering"].to_numpy())
    system = code(rows["system"], systems).of
    matrices = []
    for name in ("rank", "place"):
        matrix = np.full((len(of), len(systems)), np.nan)
        matrix[of.of, system] = rows[name].to_numpy()
        matrices.append(matrix)
    if rows["position"].has_nulls():
        matrices[1][:] = np.nan
    first = of.first
    annotator = code(rows["annotator_id"]).of
    llm = bool((rows["annotator_kind"] == "llm").all())
    unit = fold(annotator, code(rows["assignment_id"]).of).of if llm else annotator
    return Orderings(rank=matrices[0], place=matrices[1], annotator=annotator[first], unit=unit[first], llm=llm)


def _summary(group: str, criterion: str, found: Orderings, fit: PlackettLuce, plan: Plan) -> OrderSummary:
    place = _place_test(found, plan.confidence)
    agreement = kendall_w(_means(found.annotator, _relative(found.rank)).T)
    return OrderSummary(
        group=group,
        criterion=criterion,
        n_orderings=fit.n_orderings,
        n_annotators=len(np.unique(found.annotator)),
        n_tied=fit.n_tied,
        n_partial=fit.n_partial,
        n_left_out=fit.n_left_out,
        kendall_w=agreement.value,
        kendall_w_reason=agreement.reason if agreement.value is None else None,
        place_effect=None if place.n == 0 else place.mean,
        place_ci_low=place.ci_low,
        place_ci_high=place.ci_high,
        place_n=place.n,
        place_p=place.p_value,
        place_reason=place.reason,
    )


def _strengths(
    group: str, criterion: str, found: Orderings, fit: PlackettLuce, systems: tuple[str, ...], unit: Clustered
) -> Iterator[OrderStrength]:
    strength, low, high = stable(fit.strength, fit.ci_low, fit.ci_high)
    (probit,) = stable(fit.thurstone)
    known = {systems[place]: float(strength[place]) for place in np.flatnonzero(np.isfinite(strength)).tolist()}
    rank_of = ranks(fit.levels.order(systems, tie=STRENGTH_TIE))
    before = min((rank_of[system] for system in known), default=1) - 1  # systems above all that have a strength
    for place, system in enumerate(systems):
        own = found.rank[:, place]
        own = own[np.isfinite(own)]
        if not len(own):
            continue
        bounded = bool(np.isfinite(low[place]))
        yield OrderStrength(
            group=group,
            criterion=criterion,
            system=system,
            n=len(own),
            mean_rank=float(own.mean()),
            strength=known.get(system),
            thurstone=float(probit[place]) if system in known else None,
            ci_low=float(low[place]) if bounded else None,
            ci_high=float(high[place]) if bounded else None,
            interval=f"{fit.interval} (CR2) by {unit}" if bounded else None,
            n_clusters=fit.n_clusters,
            df=float(fit.df[place]) if bounded else None,
            alike=unit if fit.alike and system in known else None,
            rank=rank_of.get(system),
            rank_low=int(fit.rank_low[place]) + before if bounded else None,
            rank_high=int(fit.rank_high[place]) + before if bounded else None,
            reason=fit.reasons[place] or (None if bounded else fit.no_interval),
        )


def _places(group: str, criterion: str, found: Orderings) -> Iterator[OrderPlace]:
    here = np.isfinite(found.place)
    for place in np.unique(found.place[here]).tolist():
        own = found.rank[found.place == place]
        yield OrderPlace(group=group, criterion=criterion, place=int(place), n=len(own), mean_rank=float(own.mean()))


def _place_test(found: Orderings, confidence: float) -> TTest:
    """Test whether the slope of rank on place, one a unit, is zero; a system's mean rank is taken out of its ranks."""
    if not np.isfinite(found.place).any():
        return no_test(0, 0.0, None, NO_PLACES)
    return one_sample(place_slopes(found), against=0.0, confidence=confidence)


def place_slopes(orderings: Orderings) -> Floats:
    """Return the slope of rank on place of each unit."""
    here = np.isfinite(orderings.place)
    system_mean = np.nansum(orderings.rank, axis=0) / np.maximum(here.sum(axis=0), 1)
    place = np.where(here, orderings.place - _row_means(orderings.place), 0.0)
    left = np.where(here, orderings.rank - system_mean, 0.0)
    units = fold(orderings.unit)
    shared = np.bincount(units.of, weights=(place * left).sum(axis=1))
    spread = np.bincount(units.of, weights=(place**2).sum(axis=1))
    return np.asarray(shared / spread)


def _row_means(matrix: Floats) -> Floats:
    return np.asarray(np.nanmean(matrix, axis=1, keepdims=True))


def _relative(rank: Floats) -> Floats:
    """Return ranks as shares of the way from the first to the last place, since orderings differ in length."""
    return np.asarray((rank - 1) / (np.isfinite(rank).sum(axis=1, keepdims=True) - 1))


def _means(unit: Ints, values: Floats) -> Floats:
    """Return the mean of each unit and system, NaN where a unit never had the system; shape (units, systems)."""
    here = np.isfinite(values)
    units = fold(unit)
    sums, counts = (np.zeros((len(units), values.shape[1])) for _ in range(2))
    np.add.at(sums, units.of, np.where(here, values, 0.0))
    np.add.at(counts, units.of, here.astype(np.float64))
    with np.errstate(invalid="ignore"):
        return np.asarray(sums / counts)
