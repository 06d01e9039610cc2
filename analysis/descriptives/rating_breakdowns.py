"""Ratings of one group, criterion and system in detail: agreement by system, means by variant and by annotator."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np
import polars as pl

from analysis.agreement.data import ReliabilityData
from analysis.agreement.gwet import share_alike
from analysis.agreement.krippendorff import Level
from analysis.agreement.pairwise import MOST_FOR_TAU, mean_kendall_tau
from analysis.agreement.rater_agreement import CodedRaters, level_of, named
from analysis.agreement.result import CONSTANT
from analysis.agreement.units import AnsweredUnits, units_of_answers
from analysis.answers.order import Order
from analysis.answers.plan import Plan
from analysis.answers.tables import answered_rows
from analysis.answers.units import UnitRule
from analysis.comparisons.ratings import RatingMean, clustered_mean
from analysis.comparisons.score_totals import ScoreTotals, total_scores
from analysis.comparisons.tests import LISTED
from analysis.statistics.coding import Floats, average_by, code, fold, number, scale_of, snap
from analysis.statistics.reasons import Reason, several, why
from analysis.statistics.record import AnnotatorKind, AtMostOne, Coefficient, Count, Record, Share, Spread
from analysis.sums.criterion_sums import SINGLE, CriterionSums, squares_about_mean
from analysis.sums.units import unit_codes

HELD = 1 << 20  # ratings up to which they are sorted before they are added up
CONFIDENCE = 0.95  # of an interval that is not shown
ONE_RATER = why("one_rater")
MANY_RATERS = why("no_tau_many_raters", most=MOST_FOR_TAU)
UNITS = ("annotator", "assignment", "item")
Measured: TypeAlias = Mapping[tuple[str, str, str], dict[str, Any]]
NOTHING: Measured = MappingProxyType({})
CELL = ("group", "criterion", "annotator_id", "assignment_id", "variant", "item_id", "system", "sample")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class SystemBreakdown(Record):
    """Mean, spread and agreement of one system; a missing value has a reason."""

    group: str
    criterion: str
    system: str
    n: Count
    mean: float | None
    sd: Spread | None
    sd_answers: Spread | None = None
    """Over single answers; sd is over cells, repeats averaged."""
    n_items: Count | None = None
    n_annotators: Count | None = None
    alpha: AtMostOne | None = None
    alpha_measure: str | None = None
    exact_agreement: Share | None = None
    mean_kendall_tau: Coefficient | None = None
    n_pairs: Count | None = None
    reason: Reason | None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class VariantMean(Record):
    """Mean rating by one way of asking; system null: all systems; criterion null too: all criteria."""

    annotator_kind: AnnotatorKind
    rater: str
    variant: str
    criterion: str | None
    system: str | None
    n: Count
    mean: float | None
    sd: Spread | None
    ci_low: float | None
    ci_high: float | None
    unit: str | None = None
    n_units: Count | None = None
    reason: Reason | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class AnnotatorMean(Record):
    """Mean rating that one person gave to one system."""

    group: str
    annotator_id: str
    criterion: str
    system: str
    n: Count
    mean: float | None
    sd: Spread | None


def breakdowns(
    ratings: pl.DataFrame | None,
    order: Order | None,
    plan: Plan,
    means: Sequence[RatingMean],
    coded: CodedRaters | None,
    people: Sequence[CriterionSums],
    *,
    others: pl.DataFrame | None = None,
    measured: Measured = NOTHING,
) -> tuple[list[SystemBreakdown], list[VariantMean], list[AnnotatorMean]]:
    """Break the ratings down further than ``ratings.means``.

    Parameters
    ----------
    ratings : DataFrame or None
        Checked ratings after exclusions.
    order : Order or None
        Their groups, criteria and systems.
    plan : Plan
        Unit and level of intervals.
    means : sequence of RatingMean
        Mean ratings of the systems.
    coded : CodedRaters or None
        Who gave these ratings.
    people : sequence of CriterionSums
        Sums of their scores by annotator, of groups and criteria that few people rated.
    others : DataFrame, optional
        The ratings of systems that are not ``measured``.
    measured : mapping
        What is known by group, criterion and system already.

    Returns
    -------
    tuple of list
        ``by_system`` (means, standard deviations and agreement of each system; Chiang and Lee 2023, Tables 1
        and 6), ``by_variant`` (Chiang and Lee 2023, Table 5; Chhun et al. 2024) and ``by_annotator`` (Chiang and Lee
        2023, Table 12).
    """
    if ratings is None or order is None:
        return [], [], []
    about = ratings.group_by("group").agg(pl.col("annotator_kind").first(), n=pl.col("annotator_id").n_unique())
    groups = about.filter(pl.col("annotator_kind") != "llm")
    varied = groups.height > 1 or ratings["variant"].null_count() < ratings.height
    small = {str(group) for group in groups.filter(pl.col("n") <= LISTED)["group"].to_list()}
    sums = [part for part in people if part.group in small]
    return (
        _by_system(ratings if others is None else others, means, coded, measured),
        [*_by_variant(_cells(ratings, order), order, plan)] if varied else [],
        [*annotator_means(sums, dict(enumerate(unit_codes(answered_rows(ratings)).annotator.ids)))] if sums else [],
    )


def _by_system(
    table: pl.DataFrame, means: Sequence[RatingMean], coded: CodedRaters | None, known: Measured
) -> list[SystemBreakdown]:
    """Measure the agreement on each system alone, on the scale level of all systems together."""
    kept = [] if coded is None else list(coded.by_system())
    scores: dict[tuple[str, str], Floats] = {}
    for group, criterion, _, data in kept:
        scores[group, criterion] = np.union1d(scores.get((group, criterion), ()), data.value)
    levels = {place: level_of(values) for place, values in scores.items()}
    measured = {
        (group, criterion, system): agreement_on_system(units_of_answers(data), levels[group, criterion], data)
        for group, criterion, system, data in kept
    }
    spread = _spread(answered_rows(table))
    rows = []
    for row in means:
        place = (row.group, row.criterion, row.system)
        own = known.get(place) or {"sd_answers": spread[place], **measured.get(place, {"reason": ONE_RATER})}
        rows.append(system_breakdown(row, **{"sd_answers": row.sd, **own}))
    return rows


def _spread(answered: pl.DataFrame) -> dict[tuple[str, ...], float | None]:
    """Return the standard deviation of single answers by group, criterion and system."""
    if answered.is_empty():
        return {}
    by = ("group", "criterion", "system")
    rows = fold(*(number(answered[name]) for name in by))
    places, numbered = answered.select(by)[rows.first].rows(), pl.DataFrame({"of": rows.of, "value": answered["value"]})
    if answered.height > HELD:
        single = numbered.lazy().group_by("of").agg(pl.col("value").std()).collect(engine="streaming")
    else:  # sorted, so that the order of the rows leaves no trace in the last digit
        single = numbered.group_by("of").agg(pl.col("value").sort().std())
    return {tuple(map(str, places[place])): sd for place, sd in single.iter_rows()}


def system_breakdown(row: RatingMean, **values: Any) -> SystemBreakdown:
    """Put what was found beside the mean of a system."""
    summary = {name: getattr(row, name) for name in ("group", "criterion", "system", "n", "mean", "sd")}
    return SystemBreakdown(**summary, **values)


def agreement_on_system(units: AnsweredUnits, level: Level, data: ReliabilityData | None = None) -> dict[str, Any]:
    """Measure the agreement on the outputs of one system; ``data`` are single answers, where they are at hand."""
    known = data is None or named(data)
    alpha, exact, tau = None, None, None
    reasons = [units.reason]
    if units.reason is None:
        statistic, times = units.alpha(level)
        value = float(statistic(times[None, :].astype(np.float64))[0])
        alpha = None if math.isnan(value) else value
        reasons = [CONSTANT if alpha is None else None]
    if units.fold is not None:
        exact = share_alike(units, confidence=CONFIDENCE).value
    elif alpha is not None:
        reasons.append(why("no_share_alike", reason=SINGLE))
    if known and units.n_annotators > MOST_FOR_TAU:
        reasons.append(MANY_RATERS)
    elif known:
        tau = None if data is None else mean_kendall_tau(data)
        reasons.append(why("no_mean_tau", reason=SINGLE) if tau is None else tau.reason if tau.value is None else None)
    return {
        "n_items": units.n_pairable,
        "n_annotators": units.n_annotators if known else None,
        "alpha": alpha,
        "alpha_measure": f"krippendorff_alpha_{level}",
        "exact_agreement": exact,
        "mean_kendall_tau": None if tau is None else tau.value,
        "n_pairs": None if tau is None else tau.settings.get("pairs"),
        "reason": several(reasons),
    }


def _cells(table: pl.DataFrame, order: Order) -> pl.DataFrame:
    """Average repeats; every id is a string, an absent one empty, and has a number beside it."""
    ids = (*CELL, "annotator_kind")
    cells = average_by(answered_rows(table), ids).with_columns(pl.col(ids).cast(pl.String).fill_null(""))
    annotator = code(cells["annotator_id"]).of
    numbers = {
        "annotator": annotator,
        "assignment": fold(annotator, code(cells["assignment_id"]).of).of,
        "item": code(cells["item_id"]).of,
        "criterion": code(cells["criterion"], order.criteria).of,
        "system": code(cells["system"], order.systems).of,
    }
    return cells.with_columns(pl.Series(f"{name}_number", of) for name, of in numbers.items())


def _by_variant(cells: pl.DataFrame, order: Order, plan: Plan) -> Iterator[VariantMean]:
    """Average by way of asking: of an LLM its variants, of people their groups and variants.

    Of each the mean by criterion and system, by criterion (``system`` null), and over all (both null).
    """
    llm = pl.col("annotator_kind") == "llm"
    several = pl.col("group").n_unique().over("annotator_kind") > 1
    parts = (pl.when(~llm & several).then("group"), pl.when(pl.col("variant") != "").then("variant"))
    way = pl.concat_str(parts, separator="/", ignore_nulls=True).fill_null("")
    named = cells.with_columns(rater=pl.when(llm).then("annotator_id").otherwise("annotator_kind"), way=way)
    named = named.filter(pl.col("way").n_unique().over("rater") > 1)
    ways = named.partition_by("annotator_kind", "rater", "way", as_dict=True, maintain_order=True)
    for (kind, rater, variant), own in sorted(ways.items(), key=lambda way: order.groups.index(way[1]["group"][0])):
        rule = UnitRule(planned=plan.unit, llm=kind == "llm")
        for by in ((), ("criterion",), ("criterion", "system")):
            places, totals = _totals(own, by, order)
            for at, place in enumerate(places):
                names = {"criterion": None, "system": None} | place
                found = clustered_mean(totals, at, rule, plan.confidence)
                yield VariantMean(annotator_kind=kind, rater=rater, variant=variant, **names, **found)


def _totals(cells: pl.DataFrame, by: Sequence[str], order: Order) -> tuple[list[dict[str, Any]], ScoreTotals]:
    """Add up the cells by some columns: the ids of each part, and the totals of all."""
    numbers = {name: cells[f"{name}_number"].to_numpy() for name in (*UNITS, *by)}
    ids: Mapping[str, Sequence[str]] = {"criterion": order.criteria, "system": order.systems}
    parts = fold(*(numbers[name] for name in by)) if by else fold(np.zeros(len(cells), dtype=np.int64))
    value, columns = cells["value"].to_numpy(), {unit: numbers[unit] for unit in UNITS}
    totals = total_scores(parts.of, value, columns, len(parts), scale_of(value))
    return [{name: ids[name][numbers[name][first]] for name in by} for first in parts.first.tolist()], totals


def annotator_means(parts: Sequence[CriterionSums], names: Mapping[int, str]) -> Iterator[AnnotatorMean]:
    """Yield mean and spread of each person and system, in groups of few people; ``names`` are by number."""
    people = [part for part in parts if not part.llm]
    for group in sorted({part.group for part in people}):
        rated = [part for part in people if part.group == group]
        numbers = np.unique(np.concatenate([part.scores["annotator"]["annotator"] for part in rated])).tolist()
        for name, who in sorted((names[one], one) for one in numbers) if len(numbers) <= LISTED else ():
            for part in rated:
                own = part.scores["annotator"]
                for row in np.flatnonzero(own["annotator"] == who).tolist():
                    n, total, squares = (own[column][row : row + 1] for column in ("n", "total", "squares"))
                    rest, cells = squares_about_mean(n, total, squares, part.scale).item(), n.item()
                    yield AnnotatorMean(
                        group=group,
                        annotator_id=name,
                        criterion=part.criterion,
                        system=part.systems[own["system"][row]],
                        n=cells,
                        mean=snap(total / n, scale=part.scale).item(),
                        sd=math.sqrt(rest / (cells - 1)) if cells > 1 else None,
                    )
