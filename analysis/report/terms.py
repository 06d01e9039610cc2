"""What the words of a report mean, and how its numbers are made."""

from __future__ import annotations

from analysis import rooms
from analysis.printing.document import Block, Fold, Paragraph, Section, Terms
from analysis.printing.levels import correction_paper
from analysis.printing.lookup import confidence_words
from analysis.printing.words import sentence
from analysis.records.results import Results

ORDER = (  # of the terms; others follow the last
    "System",
    "SPA",
    "Exposure",
    "n",
    "confidence interval",
    "p-value",
    "Adjusted p",
    "No clear preference",
    "Likert rating",
    "Win rate",
    "Strength",
    "Pairwise accuracy",
    "Kendall\u2019s tau",
)
WORDS = "What the words of this report mean, and how its numbers are made."


def glossary(results: Results) -> Section | None:
    """Explain in one line each what this report uses: its terms, then the conventions of its numbers."""
    terms = _terms(results)
    used = _used(results) | {one.term: one.used(results) for room in rooms.CONTRIBUTIONS for one in room.words}
    known = {term.casefold() for term, _ in terms}
    conventions = tuple(
        (sentence(" ".join(entry.term.split())), " ".join(entry.explanation.split()))
        for entry in results.conventions
        if entry.term.casefold() not in known and used.get(entry.term, True)
    )
    more: tuple[Block, ...] = (
        (Fold(summary="How the numbers are made", blocks=(Terms(items=conventions),)),) if conventions else ()
    )
    return Section(
        id="terms",
        title="Terms and conventions",
        blocks=(Paragraph(text=WORDS), Fold(summary="Terms", blocks=(Terms(items=tuple(terms)),)), *more),
    )


def _used(results: Results) -> dict[str, bool]:
    """Say of conventions that speak of one kind of answers or one method whether the report has any of it."""
    return {
        "stars": False,  # which no report prints
        "LLM p-values": any(group.annotator_kind == "llm" for group in results.groups),
        "missing": bool(results.missing),
    }


def _terms(results: Results) -> list[tuple[str, str]]:
    confidence = confidence_words(results)
    terms = {
        "System": "a program or a person whose outputs are compared.",
        "n": "how many annotators (or items, or forms of an LLM) a number rests on.",
        f"{confidence} confidence interval": "a range made by a method that catches the true value in "
        f"{confidence} of studies like this one.",
        "p-value": "how often chance alone would give so large a difference if there were none; small means hard to "
        "explain by chance.",
        "Adjusted p": "the p-value made larger to allow for the number of tests "
        f"({correction_paper(results.settings)}); "
        + ("only this one decides a verdict." if results.live is None else "it decides nothing in a live study."),
        "No clear preference": "the test found no difference; the systems may still differ by a little.",
    }
    terms |= {one.term: one.text for room in rooms.CONTRIBUTIONS for one in room.terms if one.used(results)}
    place = {term: number for number, term in enumerate(ORDER)}
    return sorted(terms.items(), key=lambda each: place.get(each[0].removeprefix(f"{confidence} "), len(place)))
