"""What the words of a report mean, and how its numbers are made."""

from __future__ import annotations

from analysis.report.document import Block, Fold, Paragraph, Section, Terms
from analysis.report.families import correction_paper
from analysis.results.findings import confidence_words
from analysis.results.records import Results
from analysis.results.words import sentence

WORDS = "What the words of this report mean, and how its numbers are made."


def glossary(results: Results) -> Section | None:
    """Explain in one line each what this report uses: its terms, then the conventions of its numbers."""
    terms = _terms(results)
    used = _used(results)
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
    asked, rated, chosen = bool(results.preferences), bool(results.ratings.pairs), bool(results.choices.pairs)
    beside, strengths = results.llm_vs_people, results.bradley_terry
    directions = bool(results.preference_directions)
    sources = {row.source for row in strengths}
    return {
        "equivalence": bool(results.settings.equivalence_margin or results.settings.equivalence_margin_ratings),
        "preference": asked,
        "stars": False,  # which no report prints
        "indifference": asked,
        "symmetry": directions,
        "outputs read": bool(results.exposure_curve),
        "bounds": bool(results.consistency_sweep),
        "coherence": bool(results.coherence),
        "effect size": asked,
        "self-consistency": directions,
        "LLM p-values": any(group.annotator_kind == "llm" for group in results.groups),
        "unit": rated or chosen,
        "cells": rated or chosen,
        "rating test": rated,
        "effect sizes": rated,
        "crossed test": rated or chosen,
        "other tests of ratings": bool(results.ratings.robustness),
        "spacing of the scale": bool(results.ratings.respacing),
        "rating interval": bool(results.ratings.means),
        "lower is better": bool(results.settings.lower_is_better),
        "choices": chosen,
        "Bradley-Terry": bool(strengths),
        "Bradley-Terry interval": bool(strengths),
        "two-way interval": "choices" in sources,
        "ties as an outcome": bool(results.ties),
        "rank interval": any(row.rank_low is not None for row in strengths),
        "ratings as comparisons": "ratings_bt" in sources,
        "rankings": bool(results.rankings),
        "ranking agreement": bool(results.ranking_agreement),
        "ranks that the answers allow": bool(results.rankings),
        "ranking differences": bool(results.ranking_differences),
        "agreement": bool(results.agreement),
        "correlation": bool(results.correlations),
        "correlation interval": bool(results.correlations),
        "alternative-annotator test": bool(beside.alternative_annotator),
        "prediction-powered": bool(beside.prediction_powered),
        "calibration": bool(beside.calibration),
        "raters side by side": bool(results.raters),
        "shares of answers": bool(results.category_shares),
        "explanations": bool(results.explanations),
        "bias": bool(beside.bias),
        "missing": bool(results.missing),
    }


def _terms(results: Results) -> list[tuple[str, str]]:
    confidence = confidence_words(results)
    rated, chosen = results.ratings, results.choices
    terms = [
        ("System", "a program or a person whose outputs are compared."),
        ("n", "how many annotators (or items, or forms of an LLM) a number rests on."),
        (
            f"{confidence} confidence interval",
            f"a range made by a method that catches the true value in {confidence} of studies like this one.",
        ),
        (
            "p-value",
            "how often chance alone would give so large a difference if there were none; small means hard to explain "
            "by chance.",
        ),
        (
            "Adjusted p",
            f"the p-value made larger to allow for the number of tests ({correction_paper(results)}); "
            + ("only this one decides a verdict." if results.live is None else "it decides nothing in a live study."),
        ),
        ("No clear preference", "the test found no difference; the systems may still differ by a little."),
    ]
    if results.preferences:
        terms.insert(
            1,
            (
                "SPA",
                "system-level probabilistic assessment: annotators read several outputs of each system, then say how "
                "likely it is that one system is better (Ethayarajh & Jurafsky, 2022). Not the soft pairwise "
                "accuracy of "
                "the WMT metrics task, also called SPA.",
            ),
        )
        terms.insert(2, ("Exposure", "how many outputs of each system an annotator reads before judging."))
    if rated.means or rated.pairs:
        terms.append(("Likert rating", "a rating of one output on a few steps, such as 1 to 5."))
    if chosen.pairs:
        terms.append(("Win rate", "share of choices that a system wins; a tie counts half."))
    if results.bradley_terry:
        terms.append(
            (
                "Strength",
                "a system\u2019s place on one scale fitted to all comparisons (Bradley & Terry, 1952); natural log.",
            )
        )
    if any(row.pairwise_accuracy is not None for row in results.correlations):
        terms.append(
            (
                "Pairwise accuracy",
                "share of the pairs of an item\u2019s outputs that two sides order alike, or both tie.",
            )
        )
    if results.ranking_agreement:
        terms.append(
            ("Kendall\u2019s tau", "how alike two rankings are: 1 the same order, 0 unrelated, \u22121 reversed.")
        )
    return terms
