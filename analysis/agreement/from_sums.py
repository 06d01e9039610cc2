"""How far annotators agree about outputs, and about pairs of outputs, from the sums of each."""

from __future__ import annotations

import numpy as np

from analysis.agreement.krippendorff import Level
from analysis.agreement.measures import MEASURES, Answered
from analysis.agreement.rater_agreement import JUDGED, AgreementRow, agreement_rows, choice_categories, level_of
from analysis.agreement.units import AnsweredUnits, units_of_counts, units_of_sums
from analysis.answers.plan import Plan
from analysis.answers.scales import Steps, scale_steps
from analysis.records.results import Results
from analysis.sums.criterion_sums import CriterionSums, by_criterion, option_counts, ways_of_totals
from analysis.sums.grid import OPTIONS
from analysis.sums.left_out import NeedsSingleAnswers
from analysis.sums.totals import AnswerTotals


def agreement_of_sums(totals: AnswerTotals, plan: Plan) -> list[AgreementRow]:
    """Return the coefficients of agreement of each group of people and criterion that follow from sums.

    There are none where somebody
    answered more than once about one output, where several samples of outputs were shown, and of LLMs, whose raters are
    their repeats.
    """
    rows: list[AgreementRow] = []
    parts = [*by_criterion(totals)]
    steps = scale_steps(ways_of_totals(totals), totals.scales, None)
    tied = {part.criterion for part in parts if part.kind == "choices" and part.pairs["item"]["tied"].any()}
    for part in parts:
        if part.n_annotators > 1 and answered_once(part):
            offered = steps.get(part.criterion)
            if part.kind == "choices":
                offered = choice_categories(ties=part.criterion in tied)
            rows += agreement_rows(answered_sums(part, offered, plan), part.group, part.criterion)
    return rows


def answered_once(part: CriterionSums) -> bool:
    """Say whether raters are people who answered once about each unit."""
    own = part.scores or part.pairs
    n = own["overall"]["n"].sum()
    once = part.blocks == part.clusters and own["clusters"]["clusters"].sum() == n
    once = once and (part.kind == "ratings" or part.answers == n)  # a mean of repeated choices is no choice
    return bool(once) and not part.llm and not part.sampled


def answered_sums(part: CriterionSums, categories: Steps | None, plan: Plan) -> Answered:
    """Return what is known of the answers of a group to a criterion."""
    units = units_of_part(part)
    fits = part.kind == "choices" or (categories is not None and np.isin(part.options, categories).all())
    return Answered(
        source=part.kind,
        units=units,
        level=JUDGED["choices"] if part.kind == "choices" else fitting_level(part),
        confidence=plan.confidence,
        seed=[plan.seed],
        categories=categories if fits else None,
    )


def units_of_part(part: CriterionSums) -> AnsweredUnits:
    """Return the answers to each output, or each two: how often each was given, else their sums."""
    if part.kind == "choices":
        own = part.pairs["item"]
        counts = np.stack([own["n"] - own["tied"] - own["above"], own["tied"], own["above"]], axis=1)
        return units_of_counts(np.array([-1.0, 0.0, 1.0]), counts, n_annotators=part.n_annotators, turns=True)
    counted = option_counts(part, "item")
    if counted is None:
        return units_of_sums(part.scores["item"], n_annotators=part.n_annotators, scale=part.scale)
    return units_of_counts(part.options, counted, n_annotators=part.n_annotators)


def fitting_level(part: CriterionSums) -> Level:
    """Return the level of measurement that fits all scores together."""
    scores = part.counts["score"]
    return level_of(scores) if len(scores) else "interval"


def _left_out(totals: AnswerTotals, results: Results) -> str:
    """Name the coefficients of agreement that do not follow, and of whom."""
    measured: dict[tuple[str, str], int] = {}
    for row in results.agreement:
        measured[row.group, row.criterion] = measured.get((row.group, row.criterion), 0) + 1
    if not measured:
        return "agreement between annotators"
    own = [measure.left_out for measure in MEASURES if measure.left_out and totals.kind in measure.sources]
    text = " and ".join([", ".join(own[:-1]), own[-1]]) if len(own) > 1 else own[0]
    if len(measured) < totals.layout.height:
        text += ", agreement but of people who answered once about each output"
    if 1 in measured.values():
        text += f", agreement but alpha for intervals where there are more than {OPTIONS} different scores"
    return text


LEFT_OUT = NeedsSingleAnswers(
    "agreement", ("agreement", "annotator_pairs", "ratings.by_system", "raters", "warning_rows"), _left_out
)
