"""Conventions of a results.json: what its numbers follow, in plain words, one line each."""

from __future__ import annotations

from dataclasses import dataclass

from analysis import rooms
from analysis.answers.careless import FEWEST_ANSWERS, FEWEST_OUTPUTS, SEEN, declared_rules
from analysis.answers.plan import Plan
from analysis.statistics.record import Record
from analysis.strengths.contribution import MANY_SYSTEMS


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Convention(Record):
    """What a number follows, in plain words."""

    term: str
    explanation: str


ORDER = (  # terms that are not listed follow the last
    "verdict",
    "equivalence",
    "stars",
    "family of tests",
    "interval",
    "preference",
    "indifference",
    "symmetry",
    "outputs read",
    "bounds",
    "coherence",
    "effect size",
    "highly skewed",
    "self-consistency",
    "LLM p-values",
    "unit",
    "cells",
    "rating test",
    "effect sizes",
    "crossed test",
    "other tests of ratings",
    "spacing of the scale",
    "serial context",
    "third systems",
    "rating interval",
    "lower is better",
    "hidden reference and anchors",
    "choices",
    "both orders",
    "utilities",
    "shared references",
    "Bradley-Terry",
    "Bradley-Terry interval",
    "two-way interval",
    "held constant",
    "win rate at equal length",
    "ties as an outcome",
    "rank interval",
    "more than 300 systems",
    "ratings as comparisons",
    "rankings",
    "circles",
    "subgroups of people",
    "how people differ",
    "two camps",
    "ranking agreement",
    "ranks that the answers allow",
    "ranking differences",
    "agreement",
    "correlation",
    "correlation interval",
    "alternative-annotator test",
    "prediction-powered",
    "audit",
    "waves of an audit",
    "decisions of an audit",
    "calibration",
    "raters side by side",
    "shares of answers",
    "explanations",
    "bias",
    "juries",
    "self-preference",
    "examples",
    "careless answering",
    "missing",
)
USUAL_ANSWER = (
    " Of one kind of question, and not where others who varied theirs gave that answer to {share:g}% or more of them."
)
LIVE_VERDICT = (
    "The verdict of a pair is the decision of this live study (decision: x, y, equal, futile or open; not_deciding: an "
    "estimate alone, as other answers decide), which the keys verdict, expected, disagreements and ranking_differences "
    "follow. Stars, p-values and intervals of tests are those of a fixed number of annotators, and do not hold."
)


def conventions(plan: Plan, *, live: bool = False, many: bool = False) -> tuple[Convention, ...]:
    """Explain every convention that the numbers follow, one line each.

    ``live``: of a study that its answers ended; ``many``: of more than 300 systems.
    """
    level = f"{100 * plan.confidence:g}%"
    lines: dict[str, str] = {
        **_tests(plan, level),
        "LLM p-values": "Tests of an LLM generalise over assignments of this LLM, not over people.",
        **_careless(plan),
        **({"verdict": LIVE_VERDICT} if live else {}),
        **({"more than 300 systems": MANY_SYSTEMS} if many and plan.regularisation is None else {}),
        "missing": "Empty answers are counted (before exclusions) and never filled in.",
    }
    lines |= {entry.term: entry.explain(plan) for one in rooms.CONTRIBUTIONS for entry in one.words}
    place = {term: number for number, term in enumerate(ORDER)}
    terms = sorted(lines, key=lambda term: place.get(term, len(place)))
    return tuple(Convention(term=term, explanation=lines[term]) for term in terms)


def _tests(plan: Plan, level: str) -> dict[str, str]:
    return {
        "verdict": f"One of a pair (x the first, y the second) is preferred where the adjusted p-value is at most "
        f"{plan.fwer:g}, else indifferent; indifferent means that no difference was found, not that there is none.",
        "stars": "* ** *** in results.json and the CSV tables mark adjusted p-values below .10, .05 and .01, as the "
        "SPA paper does, whose Table 1 concludes at .10. A report prints the adjusted p-values and no stars.",
        "interval": f"Intervals of means are {level} t intervals; of those of shares, reports show what lies between 0 "
        "and 100%.",
    }


def _careless(plan: Plan) -> dict[str, str]:
    rules = {
        "outputs_seen": f"Outputs seen: of those on measured pages, on screen down to {100 * SEEN:g}% of height.",
        "reading_speed": "Reading speed: words on screen of a page's outputs by their time there, together; of an "
        f"output on several pages over all of them; median over outputs, {FEWEST_OUTPUTS} or more. A Chinese or "
        "Japanese character counts as a word.",
        "relative_speed": "Relative speed: as reading speed, beside the usual silent speed of each text's script; or "
        "the usual time of all words of a form by the server's clock from its first page to its last answer.",
        "same_answers": "Same answers: the most frequent one, by kind of question; of comparisons only pairs judged in "
        f"both orders, without 50% and ties, which say that neither is better; {FEWEST_ANSWERS} answers or more."
        + ("" if plan.usual_answer is None else USUAL_ANSWER.format(share=100 * plan.usual_answer)),
    }
    declared = " ".join(text for rule, text in rules.items() if rule in declared_rules(plan))
    kept = "Whoever gave less to judge by is kept. Exclusion does not affect pay."
    return {"careless answering": f"{declared} {kept}"} if declared else {}
