"""What correlations contribute."""

from __future__ import annotations

from analysis.answers.groups import people_of
from analysis.contribution import Analysis, Contribution, KeyValues, SectionEntry, Term, Words
from analysis.correlations.claims import claims
from analysis.correlations.compared import ComparisonRow
from analysis.correlations.group_correlations import (
    CorrelationRow,
    Correlations,
    SystemCorrelation,
    correlate_groups,
    correlate_scores,
)
from analysis.correlations.scores_of_sums import GROUP_CORRELATIONS, PERSON_CORRELATIONS, mean_scores
from analysis.correlations.section import correlations
from analysis.records.results import rows

CORRELATIONS = rows("correlations", CorrelationRow, needed=True)
COMPARISONS_OF_CORRELATIONS = rows("comparisons_of_correlations", ComparisonRow)
CORRELATIONS_BY_SYSTEM = rows(
    "correlations_by_system", SystemCorrelation, "Kendall's tau of a group with people over the outputs of one system."
)
CORRELATIONS_OF_AVERAGES = rows(
    "correlations_of_averages",
    CorrelationRow,
    "Each LLM's or other group's mean over its criteria (a: average:GROUP) with people's ratings of each criterion, in "
    "families of their own; empty below two criteria.",
)


def _correlations(analysis: Analysis) -> KeyValues:
    prepared = analysis.prepared
    return _values(
        correlate_groups(
            prepared.kept.get("ratings"),
            prepared.tables.metrics,
            prepared.groups,
            prepared.orders.get("ratings"),
            prepared.plan,
        )
    )


def _of_sums(analysis: Analysis) -> KeyValues:
    if analysis.summed.totals.kind != "ratings":
        return _values(Correlations())
    totals = analysis.totals
    return _values(correlate_scores(mean_scores(totals), people_of(totals.groups), totals.order, analysis.plan))


def _values(found: Correlations) -> KeyValues:
    return {
        "correlations": tuple(found.rows),
        "comparisons_of_correlations": tuple(found.compared),
        "correlations_by_system": tuple(found.by_system),
        "correlations_of_averages": tuple(found.averages),
    }


WORDS = (
    Words(
        "correlation",
        "Of mean scores, as if outputs (systems) were independent; a lower-is-better metric keeps its "
        "negative sign. p-values are corrected by Benjamini and Hochberg.",
        lambda results: bool(CORRELATIONS.of(results)),
    ),
    Words(
        "correlation interval",
        lambda plan: (
            f"{100 * plan.confidence:g}%, on the scale of Fisher's z (Spearman: Bonett and Wright; Kendall: "
            "Fieller, with an allowance for ties); within an item: t over items. None below 5 in common."
        ),
        lambda results: bool(CORRELATIONS.of(results)),
    ),
)

CONTRIBUTION = Contribution(
    keys=(CORRELATIONS, COMPARISONS_OF_CORRELATIONS, CORRELATIONS_BY_SYSTEM, CORRELATIONS_OF_AVERAGES),
    compute=_correlations,
    of_sums=_of_sums,
    left_out=(PERSON_CORRELATIONS, GROUP_CORRELATIONS),
    words=WORDS,
    claims=claims,
    sections=(
        SectionEntry(
            "correlations", CORRELATIONS, correlations, (COMPARISONS_OF_CORRELATIONS, CORRELATIONS_OF_AVERAGES)
        ),
    ),
    terms=(
        Term(
            "Pairwise accuracy",
            "share of the pairs of an item\u2019s outputs that two sides order alike, or both tie.",
            lambda results: any(row.pairwise_accuracy is not None for row in results.correlations),
        ),
    ),
)
