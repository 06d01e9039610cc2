"""What strengths of systems contribute."""

from __future__ import annotations

from typing import Final

from analysis.answers.plan import Plan
from analysis.answers.units import ENOUGH_ANNOTATORS
from analysis.contribution import Contribution, Term, Words
from analysis.records.results import Results, rows
from analysis.strengths.strength_table import SystemStrength

BRADLEY_TERRY = rows("bradley_terry", SystemStrength, needed=True)
MANY_SYSTEMS: Final = (
    "Where no annotator (assignment, item) holds more than a third of the leverage of any system, residuals have the "
    "factor G / (G - 1) and t has G - 1 degrees of freedom; else the interval is the bias-reduced one, unless its work "
    "is too large: then systems of which one holds more have 1 over the sum of squared shares. Annotators count alike "
    "only where more than half of the systems have fewer than 4. Differences are judged by Šidák's bound, and pairs "
    "compared once have no row. Plackett-Luce strengths have that factor and G - 1 degrees of freedom, or those of "
    "shares."
)


def _bradley_terry(plan: Plan) -> str:
    fitted = (
        "a system that won or lost everything has no finite strength (its rank is given where the comparisons "
        "determine it), and the others are fitted without it"
        if plan.regularisation is None
        else f"{plan.regularisation:g} wins were added to both directions of every pair (regularisation)"
    )
    return (
        "Strengths are natural logs with mean zero; exposures are pooled and " + fitted + ". A disconnected "
        "comparison graph has no strengths."
    )


def _interval(plan: Plan) -> str:
    return (
        f"{100 * plan.confidence:g}% sandwich intervals, right for fractional wins, clustered by annotator (of "
        f"an LLM: by assignment) from {ENOUGH_ANNOTATORS} of them on, or where one gave at least half of the "
        "comparisons, else by item where there are items; bias-reduced (CR2), t with Satterthwaite's degrees of "
        "freedom. Where these fall below 4 for some system, annotators (or items) count alike instead, each with the "
        "same total weight; where they are still below 4, there is no interval."
    )


def _rank_interval(plan: Plan) -> str:
    return (
        f"Places that the answers allow, for all systems of a table jointly at {100 * plan.confidence:g}%: a system "
        "stands below those whose strength is clearly higher, by the largest |t| over all differences (simulated from "
        "the seed; below 20 degrees of freedom by Šidák's bound)."
    )


def _fitted(results: Results) -> bool:
    return bool(results.bradley_terry)


def _sources(results: Results) -> set[str]:
    return {row.source for row in results.bradley_terry}


WORDS: Final = (
    Words("Bradley-Terry", _bradley_terry, _fitted),
    Words("Bradley-Terry interval", _interval, _fitted),
    Words(
        "two-way interval",
        f"Of choices with at least {ENOUGH_ANNOTATORS} annotators (of an LLM: assignments) and as "
        "many items: clustered by both at once, so that it holds for other annotators and other items.",
        lambda results: "choices" in _sources(results),
    ),
    Words(
        "rank interval", _rank_interval, lambda results: any(row.rank_low is not None for row in results.bradley_terry)
    ),
    Words(
        "ratings as comparisons",
        "Bradley-Terry of ratings (ratings_bt): a comparison is one annotator's two scores of one item and criterion.",
        lambda results: "ratings_bt" in _sources(results),
    ),
)
TERMS: Final = (
    Term(
        "Strength",
        "a system\u2019s place on one scale fitted to all comparisons (Bradley & Terry, 1952); natural log.",
        _fitted,
    ),
)

CONTRIBUTION = Contribution(keys=(), words=WORDS, terms=TERMS)  # its rows are made with the rankings
