"""What the tests of pairs of systems contribute."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from analysis.answers.plan import Plan
from analysis.answers.units import ENOUGH_ANNOTATORS
from analysis.comparisons.choices import ChoiceTest
from analysis.comparisons.choices_section import choices
from analysis.comparisons.chosen_parts import BOTH_BAD, STRENGTHS_BOTH_WAYS
from analysis.comparisons.claims import claims
from analysis.comparisons.directions import DirectionSummary
from analysis.comparisons.disagreements import Disagreement, ExpectedRow, compare_with_expected, find_disagreements
from analysis.comparisons.equivalence_section import equivalence
from analysis.comparisons.expected_section import expected
from analysis.comparisons.hypothesis_families import Family, families_of
from analysis.comparisons.preferences import PreferenceTest
from analysis.comparisons.preferences_section import preferences
from analysis.comparisons.rating_counts import RatingCount, count_rows, counts_of_sums, rating_counts
from analysis.comparisons.ratings import RatingMean, RatingTest
from analysis.comparisons.ratings_section import ratings
from analysis.comparisons.tests import Tests
from analysis.contribution import Analysis, Contribution, KeyValues, SectionEntry, Term, Words
from analysis.records.results import Key, Results, rows
from analysis.statistics.record import fields_of, fields_without

PREFERENCES = rows("preferences", PreferenceTest, needed=True)
PREFERENCE_DIRECTIONS = rows("preference_directions", DirectionSummary, needed=True)
RATING_MEANS = rows("ratings.means", RatingMean, needed=True)
RATING_PAIRS = rows("ratings.pairs", RatingTest, needed=True)
RATING_COUNTS = rows(
    "rating_counts",
    RatingCount,
    "How often each score was given, after exclusions; left out where a group gave more than eleven different scores "
    "to a criterion.",
)
CHOICE_PAIRS = rows("choices.pairs", ChoiceTest, needed=True, within="Asked, or implied by orders.")
FAMILIES = rows("families", Family, "Tests corrected together.")
EXPECTED = rows("expected", ExpectedRow, needed=True)
DISAGREEMENTS = rows(
    "disagreements", Disagreement, "Pairs on which two sources or groups do not say the same.", needed=True
)

TESTS: Key[Tests] = Key("tests", Tests)  # of which rooms make their rows


def _comparisons(analysis: Analysis) -> KeyValues:
    prepared = analysis.prepared
    counted = rating_counts(prepared.kept.get("ratings"), prepared.orders.get("ratings"))
    return {**_compared(analysis), "rating_counts": tuple(counted)}


def _of_sums(analysis: Analysis) -> KeyValues:
    if analysis.summed.totals.kind != "ratings":
        return {**_compared(analysis), "rating_counts": ()}
    counted, order = counts_of_sums(analysis.totals), analysis.totals.order
    return {**_compared(analysis), "rating_counts": tuple(count_rows(counted.scores, order))}


def _compared(analysis: Analysis) -> KeyValues:
    tests, plan = analysis.of(TESTS), analysis.plan
    return {
        "preferences": tuple(tests.preferences),
        "preference_directions": tuple(tests.directions),
        "ratings.means": tuple(tests.means),
        "choices.pairs": tuple(tests.choices),
        "families": (
            *families_of("preferences", tests.preferences, plan),
            *families_of("ratings", tests.ratings, plan),
            *families_of("choices", tests.choices, plan),
        ),
        "expected": tuple(compare_with_expected(tests.findings, plan.expected)),
        "disagreements": tuple(find_disagreements(tests.findings)),
    }


def _family_tables(found: Sequence[Family]) -> KeyValues:
    return {"families": [{**fields_of(entry), "untestable": len(entry.untestable)} for entry in found]}


def _disagreement_tables(found: Sequence[Disagreement]) -> KeyValues:
    return {
        "disagreements": [
            fields_without(entry, "verdicts") | fields_of(verdict) for entry in found for verdict in entry.verdicts
        ]
    }


def _equivalence(plan: Plan) -> str:
    """Say what may be called equivalent, if anything."""
    margins = [
        f"{margin:g} {what}"
        for margin, what in (
            (plan.equivalence_margin, "of 0.5 (preferences, shares of choices)"),
            (plan.equivalence_margin_ratings, "points (mean ratings)"),
        )
        if margin is not None
    ]
    if not margins:
        return "No margin was declared, so nothing is called equivalent."
    return (
        f"Two systems are equivalent where they are shown to lie within {' or '.join(margins)} by two one-sided "
        f"t-tests at {plan.fwer:g}, Holm-corrected in a family of their own."
    )


def _family(plan: Plan) -> str:
    pooled = "all criteria pooled" if plan.family == "all" else "and criterion"
    method = (
        "Benjamini-Hochberg, false discovery rate: of the differences found, on average a share of at most "
        f"{plan.fwer:g} is false"
        if plan.correction == "bh"
        else f"Holm, familywise error rate: the chance of any false finding is at most {plan.fwer:g}"
    )
    return (
        f"Tests of one source and group, {pooled}, over all pairs and exposures, are corrected "
        f"together ({method}). A test that could not be run is no member and is named, unless its answers are "
        "unanimous: then all comparisons count. Nor is a test of a pair that is not compared: compared are "
        "the study\u2019s pairs; of tables those named, else those of the preferences, else those expected, else all."
    )


def _self_consistency(plan: Plan) -> str:
    tau = plan.consistency_tau
    return (
        "Not applied."
        if tau is None
        else f"Anyone who gives two directions of one pair that sum to more than {tau} leaves entirely; of an LLM the "
        "assignment leaves. A sum equal to the bound stays; one direction alone cannot be checked and stays."
    )


def _unit(plan: Plan) -> str:
    return (
        "Ratings and choices are averaged within the annotator where at least "
        f"{ENOUGH_ANNOTATORS} annotators judged both systems, else within the item; a test by item is about these "
        "annotators only. Ratings that do not pair are clustered by both."
        if plan.unit == "auto"
        else f"Ratings and choices are averaged within the {plan.unit}, as planned."
    )


def _rating_test(plan: Plan) -> str:
    return (
        "x minus y of one annotator's ratings of one item, averaged within the unit; one-sample t over "
        "units (paired t). Where nobody rated both systems on one item, means of all ratings, errors clustered by "
        "annotator and by item (clustered t); with a planned unit Welch's t. Where less than nine tenths of the "
        "ratings are so paired, means of all, too, errors clustered by the unit, or by both where annotators (of a "
        "test by annotator: items) are unevenly spread over the systems. Several outputs of a system for one item are "
        "averaged first."
        if plan.rating_test == "auto"
        else "Welch's t over the units of each system, as planned, also where one annotator rated both on one item."
    )


def _with_a_margin(results: Results) -> bool:
    return bool(results.settings.equivalence_margin or results.settings.equivalence_margin_ratings)


def _asked(results: Results) -> bool:
    return bool(results.preferences)


def _both_ways(results: Results) -> bool:
    return bool(results.preference_directions)


def _rated(results: Results) -> bool:
    return bool(results.ratings.pairs)


def _chosen(results: Results) -> bool:
    return bool(results.choices.pairs)


def _rated_or_chosen(results: Results) -> bool:
    return _rated(results) or _chosen(results)


WORDS: Final = (
    Words("equivalence", _equivalence, _with_a_margin),
    Words("family of tests", _family),
    Words(
        "preference",
        "P(x preferred to y) from 0 to 1. An annotator (of an LLM: an assignment) counts once a pair and "
        "exposure: the mean of the answer and one minus the reverse answer, or whichever was asked.",
        _asked,
    ),
    Words(
        "indifference",
        "An answer of 0% means certain that x is no better; 1 - P(x > y) - P(y > x) is the "
        "indifference, counted half for each.",
        _asked,
    ),
    Words(
        "symmetry",
        "A t-test (p_symmetry), before exclusions, of whether the two directions add up to 100%; "
        "mean_excess is what they exceed it by. Who is kept is selected by this sum, which is then low by "
        "construction (mean_excess_selected): its test (p_symmetry_selected) is the SPA paper's, and no evidence.",
        _both_ways,
    ),
    Words(
        "effect size",
        "Cohen's d_z of a preference: mean minus 0.5 in standard deviations of the units; its interval "
        "inverts the noncentral t.",
        _asked,
    ),
    Words(
        "highly skewed",
        "A t-test is marked where at least 80% of its units' values are equal, or the skewness of 20 "
        "or more is beyond root(n) / 4: there it finds differences that do not exist more often than its level says.",
    ),
    Words("self-consistency", _self_consistency, _both_ways),
    Words("unit", _unit, _rated_or_chosen),
    Words(
        "cells",
        "A repeated answer is averaged with its repeats first; n of a mean counts such cells, n of a test "
        "counts units.",
        _rated_or_chosen,
    ),
    Words("rating test", _rating_test, _rated),
    Words(
        "effect sizes",
        "d_z: the mean difference over the standard deviation of the units' differences (paired); "
        "Hedges' g: over the standard deviation of single ratings; superiority: the chance that a rating of x is above "
        "that of y beside it, equal ones half. Of choices the win rate is itself the effect.",
        _rated,
    ),
    Words(
        "crossed test",
        "Beside each test of ratings and choices stands one (p_crossed) that takes annotators and "
        "items both as drawn: a two-way cluster-robust variance with Satterthwaite's degrees of freedom, every "
        "annotator (LLM: assignment) weighing the same, corrected as the tests are. It needs two annotators and "
        "two items; with few of one kind it finds little.",
        _rated_or_chosen,
    ),
    Words(
        "rating interval",
        "The interval of a mean rating is clustered by unit (annotator, else item).",
        lambda results: bool(results.ratings.means),
    ),
    Words(
        "lower is better",
        "Differences, means and strengths are printed raw; on a lower-is-better criterion only the "
        "verdict and the rank of ratings turn. Preferences and choices say directly what is preferred.",
        lambda results: bool(results.settings.lower_is_better),
    ),
    Words(
        "choices",
        "A tie is half a win for each. The test is a t over units; the binomial p (p_binomial) is the exact "
        "sign test over the untied choices as if they were independent.",
        _chosen,
    ),
)
TERMS: Final = (
    Term(
        "SPA",
        "system-level probabilistic assessment: annotators read several outputs of each system, then say how likely it "
        "is that one system is better (Ethayarajh & Jurafsky, 2022). Not the soft pairwise accuracy of the WMT metrics "
        "task, also called SPA.",
        _asked,
    ),
    Term("Exposure", "how many outputs of each system an annotator reads before judging.", _asked),
    Term(
        "Likert rating",
        "a rating of one output on a few steps, such as 1 to 5.",
        lambda results: bool(results.ratings.means) or _rated(results),
    ),
    Term("Win rate", "share of choices that a system wins; a tie counts half.", _chosen),
)

CONTRIBUTION = Contribution(
    keys=(
        PREFERENCES,
        PREFERENCE_DIRECTIONS,
        RATING_MEANS,
        RATING_COUNTS,
        CHOICE_PAIRS,
        FAMILIES,
        EXPECTED,
        DISAGREEMENTS,
    ),
    compute=_comparisons,
    of_sums=_of_sums,
    left_out=(BOTH_BAD, STRENGTHS_BOTH_WAYS),
    words=WORDS,
    terms=TERMS,
    sections=(
        SectionEntry("preferences", PREFERENCES, preferences, (PREFERENCE_DIRECTIONS,)),
        SectionEntry("ratings", RATING_MEANS, ratings, (RATING_PAIRS, RATING_COUNTS)),
        SectionEntry("choices", CHOICE_PAIRS, choices),
        SectionEntry("equivalence", PREFERENCES, equivalence, (RATING_PAIRS, CHOICE_PAIRS)),
        SectionEntry("expected", EXPECTED, expected),
    ),
    claims=claims,
    tables={FAMILIES: _family_tables, DISAGREEMENTS: _disagreement_tables},
)
