"""What sets LLM raters side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from analysis.agreement.contribution import AGREEMENT
from analysis.answers.exclusions import Exclusion
from analysis.comparisons.contribution import RATING_MEANS
from analysis.contribution import Analysis, Contribution, KeyValues, SectionEntry, Words
from analysis.correlations.contribution import CORRELATIONS
from analysis.llm_vs_people.contribution import LLM_VS_PEOPLE
from analysis.ranking.contribution import RANKING_AGREEMENT
from analysis.raters.rater_table import FoundElsewhere, RaterRow, count_answers, rater_table
from analysis.raters.section import raters
from analysis.records.overview import GROUPS, MISSING
from analysis.records.results import rows
from analysis.statistics.record import rounded
from analysis.sums.criterion_sums import SINGLE

RATERS = rows("raters", RaterRow)


def _raters(analysis: Analysis) -> KeyValues:
    prepared = analysis.prepared
    if "llm" not in {kind for _, kind in prepared.groups}:
        return {"raters": ()}
    counted = {source: count_answers(table) for source, table in prepared.answers.items()}
    return {"raters": tuple(rater_table(_found_elsewhere(analysis, prepared.exclusions), counted, prepared.orders))}


def _of_sums(analysis: Analysis) -> KeyValues:
    totals = analysis.summed.totals
    found = _found_elsewhere(analysis, analysis.summed.exclusions)
    table = rater_table(found, {totals.kind: totals.counted}, {totals.kind: totals.order})
    again = {row.group for row in found.groups if row.annotator_kind == "llm" and row.assignments > 1}
    return {
        "raters": tuple(
            replace(row, agreement_reason=SINGLE) if row.alpha is None and row.group in again else row for row in table
        )
    }


def _found_elsewhere(analysis: Analysis, exclusions: Sequence[Exclusion]) -> FoundElsewhere:
    return FoundElsewhere(
        groups=analysis.of(GROUPS),
        missing=analysis.of(MISSING),
        exclusions=exclusions,
        means=rounded(analysis.of(RATING_MEANS)),
        agreement=rounded(analysis.of(AGREEMENT)),
        correlations=rounded(analysis.of(CORRELATIONS)),
        ranking_agreement=rounded(analysis.of(RANKING_AGREEMENT)),
        people_saved=rounded(analysis.of(LLM_VS_PEOPLE).people_saved),
    )


WORDS = (
    Words(
        "raters side by side",
        "Mean and standard deviation are over the cells of all systems; agreement is that among the repeats and "
        "further forms of an LLM; correlations are those with people. Missing answers are counted before exclusions. "
        "A rater is a variant where it read more than people did, else identical.",
        lambda results: bool(RATERS.of(results)),
    ),
)

CONTRIBUTION = Contribution(
    keys=(RATERS,),
    compute=_raters,
    of_sums=_of_sums,
    sections=(SectionEntry("raters", RATERS, raters),),
    words=WORDS,
)
