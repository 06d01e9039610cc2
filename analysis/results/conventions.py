"""Conventions of a results.json: what its numbers follow, in plain words, one line each."""

from __future__ import annotations

from dataclasses import dataclass

from analysis.answers.careless import FEWEST_ANSWERS, FEWEST_OUTPUTS, SEEN, declared_rules
from analysis.answers.plan import Plan
from analysis.answers.units import ENOUGH_ANNOTATORS
from analysis.ranking.replicates import REPLICATES
from analysis.statistics.record import Record


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Convention(Record):
    """What a number follows, in plain words."""

    term: str
    explanation: str


LIVE_VERDICT = (
    "The verdict of a pair is the decision of this live study (decision: x, y, equal, futile or open; not_deciding: an "
    "estimate alone, as other answers decide), which the keys verdict, expected, disagreements and ranking_differences "
    "follow. Stars, p-values and intervals of tests are those of a fixed number of annotators, and do not hold."
)


def conventions(plan: Plan, *, live: bool = False) -> tuple[Convention, ...]:
    """Explain every convention that the numbers follow, one line each; ``live``: of a study that its answers ended."""
    level = f"{100 * plan.confidence:g}%"
    lines = {
        **_tests(plan, level),
        **_preferences(plan),
        **_ratings_and_choices(plan),
        **_strengths(plan, level),
        **_rankings(level),
        **_beside_people(plan, level),
        **_careless(plan),
        **({"verdict": LIVE_VERDICT} if live else {}),
        "missing": "Empty answers are counted (before exclusions) and never filled in.",
    }
    return tuple(Convention(term=term, explanation=text) for term, text in lines.items())


def _tests(plan: Plan, level: str) -> dict[str, str]:
    pooled = "all criteria pooled" if plan.family == "all" else "and criterion"
    method = (
        "Benjamini-Hochberg, false discovery rate: of the differences found, on average a share of at most "
        f"{plan.fwer:g} is false"
        if plan.correction == "bh"
        else f"Holm, familywise error rate: the chance of any false finding is at most {plan.fwer:g}"
    )
    return {
        "verdict": f"One of a pair (x the first, y the second) is preferred where the adjusted p-value is at most "
        f"{plan.fwer:g}, else indifferent; indifferent means that no difference was found, not that there is none.",
        "equivalence": equivalence_words(plan),
        "stars": "* ** *** in results.json and the CSV tables mark adjusted p-values below .10, .05 and .01, as the "
        "SPA paper does, whose Table 1 concludes at .10. A report prints the adjusted p-values and no stars.",
        "family of tests": f"Tests of one source and group, {pooled}, over all pairs and exposures, are corrected "
        f"together ({method}). A test that could not be run is no member and is named, unless its answers are "
        "unanimous: then all comparisons count. Nor is a test of a pair that is not compared: compared are "
        "the study\u2019s pairs; of tables those named, else those of the preferences, else those expected, else all.",
        "interval": f"Intervals of means are {level} t intervals; of those of shares, reports show what lies between 0 "
        "and 100%.",
    }


def _preferences(plan: Plan) -> dict[str, str]:
    tau = plan.consistency_tau
    return {
        "preference": "P(x preferred to y) from 0 to 1. An annotator (of an LLM: an assignment) counts once a pair and "
        "exposure: the mean of the answer and one minus the reverse answer, or whichever was asked.",
        "indifference": "An answer of 0% means certain that x is no better; 1 - P(x > y) - P(y > x) is the "
        "indifference, counted half for each.",
        "symmetry": "A t-test (p_symmetry), before exclusions, of whether the two directions add up to 100%; "
        "mean_excess is what they exceed it by. Who is kept is selected by this sum, which is then low by "
        "construction (mean_excess_selected): it is described and not tested.",
        "outputs read": "How sure annotators are is the distance of a preference from 0.5. Its trend is the change "
        "with each doubling of the outputs read, within a unit's own pairs where at least half of the units have "
        "several exposures, else by a regression clustered by unit. Over-confident means clearly further from 0.5 "
        "after one output of each system than after more.",
        "bounds": "The sweep repeats the tests under other bounds on the two directions' sum. A bound lowers "
        "each direction taken alone even where nobody is biased; the mean of both it leaves where it was.",
        "coherence": "Weak transitivity: x over y and y over z at 0.5 or more give x over z at 0.5 or more; strong: at "
        "least the larger of the two. The discrepancy is the log odds of the third minus those of the other two.",
        "effect size": "Cohen's d_z of a preference: mean minus 0.5 in standard deviations of the units; its interval "
        "inverts the noncentral t.",
        "highly skewed": "A t-test is marked where at least 80% of its units' values are equal, or the skewness of 20 "
        "or more is beyond root(n) / 4: there it finds differences that do not exist more often than its level says.",
        "self-consistency": "Not applied."
        if tau is None
        else f"Anyone who gives two directions of one pair that sum to more than {tau} leaves entirely; of an LLM the "
        "assignment leaves. A sum equal to the bound stays; one direction alone cannot be checked and stays.",
        "LLM p-values": "Tests of an LLM generalise over assignments of this LLM, not over people.",
    }


def _ratings_and_choices(plan: Plan) -> dict[str, str]:
    """Explain what the tests of ratings and choices count, and what stands beside them."""
    return {
        "unit": "Ratings and choices are averaged within the annotator where at least "
        f"{ENOUGH_ANNOTATORS} annotators judged both systems, else within the item; a test by item is about these "
        "annotators only. Ratings that do not pair are clustered by both."
        if plan.unit == "auto"
        else f"Ratings and choices are averaged within the {plan.unit}, as planned.",
        "cells": "A repeated answer is averaged with its repeats first; n of a mean counts such cells, n of a test "
        "counts units.",
        "rating test": "x minus y of one annotator's ratings of one item, averaged within the unit; one-sample t over "
        "units (paired t). Where nobody rated both systems on one item, means of all ratings, errors clustered by "
        "annotator and by item (clustered t); with a planned unit Welch's t. Where less than nine tenths of the "
        "ratings are so paired, means of all, too, errors clustered by the unit, or by both where annotators (of a "
        "test by annotator: items) are unevenly spread over the systems. Several outputs of a system for one item are "
        "averaged first."
        if plan.rating_test == "auto"
        else "Welch's t over the units of each system, as planned, also where one annotator rated both on one item.",
        "effect sizes": "d_z: the mean difference over the standard deviation of the units' differences (paired); "
        "Hedges' g: over the standard deviation of single ratings; superiority: the chance that a rating of x is above "
        "that of y beside it, equal ones half. Of choices the win rate is itself the effect.",
        "crossed test": "Beside each test of ratings and choices stands one (p_crossed) that takes annotators and "
        "items both as drawn: a two-way cluster-robust variance with Satterthwaite's degrees of freedom, every "
        "annotator (LLM: assignment) weighing the same, corrected as the tests are. It needs two annotators and "
        "two items; with few of one kind it finds little.",
        "other tests of ratings": "Wilcoxon's signed ranks over the same units (zeros after Pratt, exact up to 50 "
        "units), a paired t of z-scores (each annotator's scores standardised by their own spread) and a cumulative "
        "logit model (clustered by unit), each with a family of its own. None replaces the verdict.",
        "spacing of the scale": "An order of two mean ratings that holds on every spacing of the scale is marked "
        "always or never, else depends, with the largest ratio of two steps up to which it holds; about the ratings "
        "given, without a test.",
        "rating interval": "The interval of a mean rating is clustered by unit (annotator, else item).",
        "lower is better": "Differences, means and strengths are printed raw; on a lower-is-better criterion only the "
        "verdict and the rank of ratings turn. Preferences and choices say directly what is preferred.",
        "choices": "A tie is half a win for each. The test is a t over units; the binomial p (p_binomial) is the exact "
        "sign test over the untied choices as if they were independent.",
    }


def _strengths(plan: Plan, level: str) -> dict[str, str]:
    fitted = (
        "a system that won or lost everything has no finite strength (its rank is given where the comparisons "
        "determine it), and the others are fitted without it"
        if plan.regularisation is None
        else f"{plan.regularisation:g} wins were added to both directions of every pair (regularisation)"
    )
    return {
        "Bradley-Terry": "Strengths are natural logs with mean zero; exposures are pooled and "
        + fitted
        + ". A disconnected "
        "comparison graph has no strengths.",
        "Bradley-Terry interval": f"{level} sandwich intervals, right for fractional wins, clustered by annotator (of "
        f"an LLM: by assignment) from {ENOUGH_ANNOTATORS} of them on, or where one gave at least half of the "
        "comparisons, else by item where there are items; bias-reduced (CR2), t with Satterthwaite's degrees of "
        "freedom. Where these fall below 4 for some system, annotators (or items) count alike instead, each with the "
        "same total weight; where they are still below 4, there is no interval.",
        "two-way interval": f"Of choices with at least {ENOUGH_ANNOTATORS} annotators (of an LLM: assignments) and as "
        "many items: clustered by both at once, so that it holds for other annotators and other items.",
        "ties as an outcome": "Davidson's model gives ties a parameter of their own (nu; two equal systems tie with "
        "probability nu / (2 + nu)) where choices or ratings of one item are tied.",
        "rank interval": f"Places that the answers allow, for all systems of a table jointly at {level}: a system "
        "stands below those whose strength is clearly higher, by the largest |t| over all differences (simulated from "
        "the seed; below 20 degrees of freedom by Šidák's bound).",
        "ratings as comparisons": "Bradley-Terry of ratings (ratings_bt): a comparison is one annotator's two scores "
        "of one item and criterion.",
    }


def _careless(plan: Plan) -> dict[str, str]:
    rules = {
        "outputs_seen": f"Outputs seen: of those on measured pages, on screen down to {100 * SEEN:g}% of height.",
        "reading_speed": "Reading speed: words on screen of a page's outputs by their time there, together; of an "
        f"output on several pages over all of them; median over outputs, {FEWEST_OUTPUTS} or more. A Chinese or "
        "Japanese character counts as a word.",
        "same_answers": "Same answers: the most frequent one, by kind of question; of comparisons only pairs judged in "
        f"both orders, without 50% and ties, which say that neither is better; {FEWEST_ANSWERS} answers or more.",
    }
    declared = " ".join(text for rule, text in rules.items() if rule in declared_rules(plan))
    kept = "Whoever gave less to judge by is kept. Exclusion does not affect pay."
    return {"careless answering": f"{declared} {kept}"} if declared else {}


def _rankings(level: str) -> dict[str, str]:
    return {
        "rankings": "Preferences and choices are ranked by Bradley-Terry strength, ratings by means; values equal "
        "in exact arithmetic are tied.",
        "ranking agreement": "Kendall's tau-b: 1 is the same order, -1 the reverse, over the systems that both rank. "
        f"The {level} confidence interval comes from {REPLICATES} resampled sets of answers; annotators (or items) "
        "that two rankings share are drawn once for both. Its end towards 0 is a quantile of these; since resampling "
        "draws tau towards 0, the other end is what the orders that are clear allow.",
        "ranks that the answers allow": "Of strengths: the rank interval. Of mean ratings: below the systems that the "
        "corrected tests of pairs put clearly above, and above those that they put clearly below.",
        "ranking differences": "Pairs that two rankings order differently. An order is clear where the one corrected "
        "test of the pair says so or, where there is none or several, the difference of strengths (largest |t| over "
        "all). The difference is supported where both orders are clear and opposite. Rankings are compared with those "
        "of people and within a group.",
    }


def equivalence_words(plan: Plan) -> str:
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


def _beside_people(plan: Plan, level: str) -> dict[str, str]:
    """Explain agreement, correlations, and what sets LLMs against people."""
    return {
        "agreement": "Of ratings by output (item, system, sample), of preferences by pair and exposure (both "
        "directions averaged), of choices by the two outputs. People are raters; of an LLM each repeat and each "
        "further form that asks the same. Intervals are over units, with these raters.",
        "correlation": "Of mean scores, as if outputs (systems) were independent; a lower-is-better metric keeps its "
        "negative sign. p-values are corrected by Benjamini and Hochberg.",
        "correlation interval": f"{level}, on the scale of Fisher's z (Spearman: Bonett and Wright; Kendall: "
        "Fieller, with an allowance for ties); within an item: t over items. None below 5 in common.",
        "alternative-annotator test": "Each person is left out in turn; the LLM wins where the share of outputs on "
        "which the person agrees better with the others, less that of the LLM, is shown to be below "
        f"{plan.epsilon:g} (epsilon; Benjamini and Yekutieli at {plan.fwer:g}). It passes if it wins against at "
        "least half of the people.",
        "prediction-powered": "An LLM's answers to more items (forms) are added to people's mean; its error is "
        "measured where both answered. Right if what people answered is a random part of the whole.",
        "calibration": "A choice (1, 1/2 or 0 for x, a tie, y) is compared with the chance that the person who chose "
        "stated, that the LLM stated on the same form, or else the group's mean. Bins have equal width.",
        "raters side by side": "Mean and standard deviation are over the cells of all systems; agreement is that among "
        "the repeats and further forms of an LLM; correlations are those with people. Missing answers are counted "
        "before exclusions. A rater is a variant where it read more than people did, else identical.",
        "shares of answers": "Of questions with a few named answers: each answer given counts once, repeats too.",
        "explanations": "The departure of an answer is the answer minus people's mean answer to the same.",
        "bias": "LLM minus people on the same outputs or pairs, contrasted by place, letter, length or order of "
        "asking within systems; not corrected for the number of contrasts.",
    }
