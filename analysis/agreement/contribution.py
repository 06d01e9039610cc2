"""What agreement between annotators contributes."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import merge

import numpy as np

from analysis.agreement.counted_ratings import CountedRatings, answered_counted, without_counted
from analysis.agreement.data import ReliabilityData, reliability_data
from analysis.agreement.from_sums import LEFT_OUT, agreement_of_sums
from analysis.agreement.rater_agreement import (
    AgreementRow,
    AnnotatorPairRow,
    CodedRaters,
    agreement_of_answered,
    agreement_of_judgements,
    answered_ratings,
    code_raters,
)
from analysis.agreement.reviewers import ReviewAgreement, answers_by_pair, review_agreement
from analysis.agreement.section import agreement
from analysis.answers.input import steps_of
from analysis.contribution import Analysis, Checked, Contribution, KeyValues, SectionEntry, Words
from analysis.records.results import Key, rows
from analysis.verification.claims import Claims, Left, figure, left, places
from analysis.verification.figures import KAPPAS


def claims(checked: Checked) -> Claims:
    """Claim Cohen's kappa of ratings and of reviewers; of pairs of outputs it is none of statsmodels'."""
    results = checked.results
    for place, row in places("agreement", results.agreement):
        if row.measure in KAPPAS and row.value is not None:
            yield Left(paths=(f"{place}.value",), why="turned")
    for place, pair in places("annotator_pairs", results.annotator_pairs):
        if pair.source == "choices":
            yield from left(pair, "cohen_kappa", place, "turned")
    if checked.analysis is None:
        return
    prepared = checked.analysis.prepared
    log = prepared.study.decisions if prepared.study else ()
    answers = list(answers_by_pair(log)) if results.reviewers else []
    for (place, review), (_, given) in zip(places("reviewers", results.reviewers), answers, strict=True):
        table = _table(reliability_data(given), 0, 1)
        yield from figure(review, "kappa", place, "cohens_kappa", table=table)
    pairs = [(place, pair) for place, pair in places("annotator_pairs", results.annotator_pairs)]
    pairs = [(place, pair) for place, pair in pairs if pair.source == "ratings" and pair.cohen_kappa is not None]
    if not any(checked.wanted(f"{place}.cohen_kappa") for place, _ in pairs):
        return
    coded = code_raters(prepared.kept["ratings"], prepared.orders["ratings"]) if "ratings" in prepared.kept else None
    rated = {} if coded is None else {(group, criterion): data for group, criterion, data in coded.each()}
    for place, pair in pairs:
        if checked.wanted(f"{place}.cohen_kappa"):
            data = rated[pair.group, pair.criterion]
            x, y = (data.annotators.index(name) for name in (pair.annotator_x, pair.annotator_y))
            yield from figure(pair, "cohen_kappa", place, "cohens_kappa", table=_table(data, x, y))


def _table(data: ReliabilityData, x: int, y: int) -> list[list[int]]:
    """Count the answers of one rater by those of another, over the units that both answered."""
    first, second = (
        dict(zip(data.unit[data.annotator == who].tolist(), data.value[data.annotator == who].tolist(), strict=True))
        for who in (x, y)
    )
    both = [(first[unit], second[unit]) for unit in sorted(first.keys() & second.keys())]
    values = sorted({value for pair in both for value in pair})
    table = np.zeros((len(values), len(values)), dtype=np.int64)
    for one, other in both:
        table[values.index(one), values.index(other)] += 1
    return table.tolist()


REVIEWERS = rows(
    "reviewers", ReviewAgreement, "Agreement of two reviewers of the same submissions; empty where one decides."
)
AGREEMENT = rows("agreement", AgreementRow, needed=True)
ANNOTATOR_PAIRS = rows(
    "annotator_pairs",
    AnnotatorPairRow,
    "Every two raters of a group with at most 10, over the units of ratings or choices that both answered.",
    needed=True,
)
COUNTED_RATINGS: Key[Sequence[CountedRatings]] = Key("counted_ratings", tuple)  # made by the tests
CODED_RATERS: Key[CodedRaters | None] = Key("coded_raters", object)  # of all other ratings, numbered once


def _agreement(analysis: Analysis) -> KeyValues:
    prepared = analysis.prepared
    kept, orders, plan, study = prepared.kept, prepared.orders, prepared.plan, prepared.study
    coded, ratings, pairs = None, list[AgreementRow](), list[AnnotatorPairRow]()
    if "ratings" in kept:
        counted = analysis.of(COUNTED_RATINGS)
        coded = code_raters(without_counted(kept["ratings"], counted), orders["ratings"])
        steps, order = steps_of(prepared), orders["ratings"]
        both = (answered_counted(counted, plan, steps), answered_ratings(coded, plan, steps))
        ratings, pairs = agreement_of_answered(
            merge(*both, key=lambda one: (order.groups.index(one[0]), order.criteria.index(one[1])))
        )
    judged, judged_pairs = agreement_of_judgements(kept, orders, plan, study)
    log = study.decisions if study else ()
    return {
        "reviewers": tuple(review_agreement(log, confidence=plan.confidence)) if log else (),
        "agreement": (*ratings, *judged),
        "annotator_pairs": (*pairs, *judged_pairs),
        "coded_raters": coded,
    }


def _of_sums(analysis: Analysis) -> KeyValues:
    found = agreement_of_sums(analysis.totals, analysis.plan)
    return {"reviewers": (), "agreement": tuple(found), "annotator_pairs": (), "coded_raters": None}


WORDS = (
    Words(
        "agreement",
        "Of ratings by output (item, system, sample), of preferences by pair and exposure (both directions "
        "averaged), of choices by the two outputs. People are raters; of an LLM each repeat and each further form "
        "that asks the same. Intervals are over units, with these raters.",
        lambda results: bool(AGREEMENT.of(results)),
    ),
)

CONTRIBUTION = Contribution(
    keys=(REVIEWERS, AGREEMENT, ANNOTATOR_PAIRS),
    between=(CODED_RATERS,),
    stage="measuring agreement",
    compute=_agreement,
    of_sums=_of_sums,
    left_out=(LEFT_OUT,),
    claims=claims,
    sections=(SectionEntry("agreement", AGREEMENT, agreement, (ANNOTATOR_PAIRS,)),),
    words=WORDS,
)
