"""Mean, spread and agreement of each system, and means by annotator, from the sums of a table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from analysis.agreement.counted_ratings import CountedRatings
from analysis.agreement.data import ReliabilityData
from analysis.agreement.from_sums import answered_once, fitting_level
from analysis.agreement.pairwise import MOST_FOR_TAU
from analysis.agreement.rater_agreement import level_of
from analysis.agreement.units import AnsweredUnits, units_of_counts, units_of_sums
from analysis.answers.groups import people_of
from analysis.comparisons.ratings import RatingMean
from analysis.descriptives.rating_breakdowns import (
    ONE_RATER,
    AnnotatorMean,
    SystemBreakdown,
    agreement_on_system,
    annotator_means,
    system_breakdown,
)
from analysis.records.results import Results
from analysis.statistics.coding import Ints
from analysis.sums.criterion_sums import SINGLE, CriterionSums, by_criterion, option_counts
from analysis.sums.left_out import NeedsSingleAnswers
from analysis.sums.totals import AnswerTotals


def breakdowns_of_sums(totals: AnswerTotals, means: Sequence[RatingMean]) -> list[SystemBreakdown]:
    """Return mean, spread and agreement of each system, but for the mean tau of few raters."""
    found: dict[tuple[str, str, str], dict[str, Any]] = {}
    for part in by_criterion(totals) if means else ():
        for system, measured in measured_by_system(part):
            found[part.group, part.criterion, part.systems[system]] = measured
    places = [(row, (row.group, row.criterion, row.system)) for row in means]
    return [system_breakdown(row, **{"sd_answers": row.sd, **found[place]}) for row, place in places]


def counted_systems(counted: Iterable[CountedRatings]) -> dict[tuple[str, str, str], dict[str, Any]]:
    """Return what is measured by group, criterion and system where ratings are counted by output."""
    return {
        (own.sums.group, own.sums.criterion, own.sums.systems[system]): measured
        for own in counted
        for system, measured in measured_by_system(own.sums, own.of_system)
    }


def annotators_of_sums(totals: AnswerTotals) -> Iterator[AnnotatorMean]:
    """Yield mean and spread of each person and system, in groups of few people, where these have names."""
    if totals.names is not None and totals.scores is not None:
        names = dict(totals.names.select("annotator", "annotator_id").iter_rows())
        yield from annotator_means([*by_criterion(totals)], names)


def measured_by_system(
    part: CriterionSums, data: Callable[[int], ReliabilityData] | None = None
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Measure the agreement on each system alone, on the scale level of all systems together.

    ``data`` returns the single answers about a system, which the mean tau of few raters needs.
    """
    own, overall = part.scores["item"], part.scores["overall"]
    repeated: dict[str, Any] = {} if part.answers == overall["n"].sum() else {"sd_answers": None}
    raters = np.bincount(part.scores["annotator"]["system"], minlength=len(part.systems))
    counts, level = option_counts(part, "item"), fitting_level(part)
    once_each = part.answers == overall["n"].sum() and not (own["n"] > 1).any()
    if counts is not None:
        compared = (raters > 1)[own["system"]]
        level = level_of(part.options[(counts if compared.all() else counts[compared]).any(axis=0)])
    follows = answered_once(part) and (counts is not None or level == "interval")
    for system in overall["system"].tolist():
        rows = np.flatnonzero((own["system"] == system) & (own["n"] > 1))
        if raters[system] < 2 and (not part.llm or once_each):
            found: dict[str, Any] = {"reason": ONE_RATER}
        elif follows:
            single = None if data is None or raters[system] > MOST_FOR_TAU else data(system)
            found = agreement_on_system(_units(part, rows, counts, int(raters[system])), level, single)
        else:
            found = {"reason": SINGLE}
        yield system, found | repeated


def _units(part: CriterionSums, rows: Ints, counts: Ints | None, raters: int) -> AnsweredUnits:
    """Return the outputs of one system, ``rows`` of the sums, and how often each option was given, where known."""
    if counts is not None:
        return units_of_counts(part.options, counts.T[:, rows].T, n_annotators=raters)
    own = {name: part.scores["item"][name][rows] for name in ("n", "total", "squares")}
    return units_of_sums(own, n_annotators=raters, scale=part.scale)


def _variants(totals: AnswerTotals, results: Results) -> str | None:
    several = len(people_of(totals.groups)) > 1
    varied = totals.kind == "ratings" and ((totals.columns["column"] == "variant").any() or several)
    return "means by variant" if varied else None


def _repeats(totals: AnswerTotals, results: Results) -> str | None:
    repeated = totals.scores is not None and totals.layout["answers"].sum() != totals.scores.overall["n"].sum()
    return "counts of repeated scores" if repeated else None


VARIANT_MEANS = NeedsSingleAnswers("variant_means", ("ratings.by_variant",), _variants)
REPEATED_SCORES = NeedsSingleAnswers(
    "repeated_scores", ("rating_counts", "category_shares", "ratings.by_system"), _repeats
)
