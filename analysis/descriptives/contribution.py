"""What descriptions of the answers contribute."""

from __future__ import annotations

from analysis.agreement.contribution import CODED_RATERS, COUNTED_RATINGS
from analysis.agreement.counted_ratings import without_counted
from analysis.answers.study_facts import InterviewAnswer
from analysis.comparisons.contribution import TESTS
from analysis.comparisons.rating_counts import counts_of_sums
from analysis.contribution import Analysis, Contribution, KeyValues, SectionEntry, Words
from analysis.descriptives.breakdowns_of_sums import (
    REPEATED_SCORES,
    VARIANT_MEANS,
    annotators_of_sums,
    breakdowns_of_sums,
    counted_systems,
)
from analysis.descriptives.category_shares import CategoryShare, category_shares, share_rows
from analysis.descriptives.explanations import ExplanationRow, explanations_of
from analysis.descriptives.explanations_section import explanations, interview
from analysis.descriptives.identical_pairs import IdenticalPairRating, rated_copies
from analysis.descriptives.identical_pairs import identical_pairs as identical_pairs_of
from analysis.descriptives.identical_pairs_section import identical_pairs
from analysis.descriptives.rating_breakdowns import AnnotatorMean, SystemBreakdown, VariantMean, breakdowns
from analysis.descriptives.rating_details_section import rating_details
from analysis.descriptives.shares_section import shares
from analysis.records.results import rows

BY_SYSTEM = rows(
    "ratings.by_system", SystemBreakdown, "Mean, spread and agreement of each system; a missing value has a reason."
)
BY_VARIANT = rows(
    "ratings.by_variant",
    VariantMean,
    "Means by way of asking; system null: all systems; criterion null too: all criteria.",
)
BY_ANNOTATOR = rows("ratings.by_annotator", AnnotatorMean, "Means of each person, in groups of at most 20.")
CATEGORY_SHARES = rows("category_shares", CategoryShare)
IDENTICAL_PAIRS = rows(
    "identical_pairs", IdenticalPairRating, "Ratings of outputs that equal their source; nobody is excluded."
)
EXPLANATIONS = rows("explanations", ExplanationRow)
INTERVIEW = rows("interview", InterviewAnswer, "What people said at the end, in their own words; nobody is excluded.")


def _descriptives(analysis: Analysis) -> KeyValues:
    prepared = analysis.prepared
    ratings, order = prepared.kept.get("ratings"), prepared.orders.get("ratings")
    tests = analysis.of(TESTS)
    counted = analysis.of(COUNTED_RATINGS)
    by_system, by_variant, by_annotator = breakdowns(
        ratings,
        order,
        prepared.plan,
        tests.means,
        analysis.of(CODED_RATERS),
        tests.by_person,
        others=None if ratings is None else without_counted(ratings, counted),
        measured=counted_systems(counted),
    )
    return {
        "ratings.by_system": tuple(by_system),
        "ratings.by_variant": tuple(by_variant),
        "ratings.by_annotator": tuple(by_annotator),
        "category_shares": tuple(category_shares(ratings, order, prepared.study)),
        "identical_pairs": (
            *identical_pairs_of(prepared.tables.identical_pairs),
            *(rated_copies(ratings, prepared.study.copies, prepared.study.best) if prepared.study else ()),
        ),
        "explanations": tuple(explanations_of(prepared.kept, prepared.orders)),
        "interview": prepared.study.interview if prepared.study else (),
    }


def _of_sums(analysis: Analysis) -> KeyValues:
    nothing = {key.name: () for key in KEYS}
    if analysis.summed.totals.kind != "ratings":
        return nothing
    totals = analysis.totals
    return {
        **nothing,
        "ratings.by_system": tuple(breakdowns_of_sums(totals, analysis.of(TESTS).means)),
        "ratings.by_annotator": tuple(annotators_of_sums(totals)),
        "category_shares": tuple(share_rows(counts_of_sums(totals).categories, totals.order, None)),
    }


KEYS = (BY_SYSTEM, BY_VARIANT, BY_ANNOTATOR, CATEGORY_SHARES, IDENTICAL_PAIRS, EXPLANATIONS, INTERVIEW)
WORDS = (
    Words(
        "shares of answers",
        "Of questions with a few named answers: each answer given counts once, repeats too.",
        lambda results: bool(CATEGORY_SHARES.of(results)),
    ),
    Words(
        "explanations",
        "The departure of an answer is the answer minus people's mean answer to the same.",
        lambda results: bool(EXPLANATIONS.of(results)),
    ),
)

CONTRIBUTION = Contribution(
    keys=KEYS,
    compute=_descriptives,
    of_sums=_of_sums,
    left_out=(VARIANT_MEANS, REPEATED_SCORES),
    words=WORDS,
    sections=(
        SectionEntry("shares", CATEGORY_SHARES, shares),
        SectionEntry("identical-pairs", IDENTICAL_PAIRS, identical_pairs),
        SectionEntry("rating-details", BY_SYSTEM, rating_details, (BY_VARIANT, BY_ANNOTATOR, IDENTICAL_PAIRS)),
        SectionEntry("explanations", EXPLANATIONS, explanations, (CATEGORY_SHARES,)),
        SectionEntry("interview", INTERVIEW, interview),
    ),
)
