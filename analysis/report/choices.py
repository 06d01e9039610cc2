"""Choices between two outputs: wins, ties and their tests."""

from __future__ import annotations

from analysis.report.document import Paragraph, Section
from analysis.report.live import live_blocks
from analysis.report.pair_tables import level_words, shares_by_criterion
from analysis.results.records import Results
from analysis.results.words import Names


def choices(results: Results) -> Section | None:
    """Report wins and their tests, one part a criterion."""
    names, rows = Names(results), results.choices.pairs
    if not rows:
        return None
    ordered = {row.criterion for row in results.orders}
    asked = "Annotators saw two outputs of one item and chose the better one. "
    implied = "Every two outputs that annotators put in order count as a choice. "
    soft = [row.probabilities for row in rows]
    if any(soft):
        stated = "Annotators saw two outputs of one item and gave the chance that the first is better. "
        asked = f"{stated}A share of choices is its mean; above 50% counts as chosen. {'' if all(soft) else asked}"
    about = implied if ordered >= {row.criterion for row in rows} else asked + (implied if ordered else "")
    opening = Paragraph(
        text=f"{about}A tie counts half for each system; 50% means no preference. {level_words(results)}"
    )
    blocks, appendix = shares_by_criterion(results, names, rows, "choices")
    blocks = [opening, *live_blocks(results, names, "choices"), *blocks]
    return Section(
        id="choices",
        title="Which output was chosen",
        blocks=tuple(blocks),
        appendix=tuple(appendix),
    )
