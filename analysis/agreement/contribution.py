"""What agreement between annotators contributes."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import merge

from analysis.agreement.claims import claims
from analysis.agreement.counted_ratings import CountedRatings, answered_counted, without_counted
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
from analysis.agreement.reviewers import ReviewAgreement, review_agreement
from analysis.agreement.section import agreement
from analysis.answers.input import steps_of
from analysis.contribution import Analysis, Contribution, Found, SectionEntry, Words
from analysis.records.results import Key, rows

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


def _agreement(analysis: Analysis) -> Found:
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


def _of_sums(analysis: Analysis) -> Found:
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
