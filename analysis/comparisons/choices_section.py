"""Choices between two outputs: wins, ties and their tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from analysis.comparisons.choices import ChoiceTest
from analysis.comparisons.pair_tables import shares_by_criterion
from analysis.contribution import Shown
from analysis.orders.contribution import BEST_WORST, ORDERS
from analysis.printing.document import Paragraph, Section
from analysis.printing.levels import level_words
from analysis.printing.live_blocks import live_blocks
from analysis.records.results import Key
from analysis.utilities.contribution import LISTS

IMPLIED: dict[Key[Any], str] = {  # rows -> how the answers that it is about count as choices
    ORDERS: "Every two outputs that annotators put in order count as a choice. ",
    BEST_WORST: "The best output of a page counts as chosen over all others, and each other one over the worst. ",
    LISTS: "Of two outputs of one item, the one with the higher utility counts as chosen. ",
}


def choices(rows: Sequence[ChoiceTest], shown: Shown) -> Section | None:
    """Report wins and their tests, one part a criterion."""
    implying = {key: {row.criterion for row in shown.of(key)} for key in IMPLIED}
    asked = "Annotators saw two outputs of one item and chose the better one. "
    implied = "".join(text for key, text in IMPLIED.items() if implying[key])
    soft = [row.probabilities for row in rows]
    if any(soft):
        end = shown.names.comparison_end
        scale = "" if end is None else f"from \u2212{end:g} (0%) to {end:g} (100%)"
        gave = f"said by how much the first is better, {scale}" if scale else "gave the chance that the first is better"
        stated = f"Annotators saw two outputs of one item and {gave}. "
        asked = f"{stated}A share of choices is its mean; above 50% counts as chosen. {'' if all(soft) else asked}"
    about = implied if set().union(*implying.values()) >= {row.criterion for row in rows} else asked + implied
    clear = level_words(shown.settings, live=shown.live)
    opening = Paragraph(text=f"{about}A tie counts half for each system; 50% means no preference. {clear}")
    blocks, appendix = shares_by_criterion(shown, rows, "choices")
    blocks = [opening, *live_blocks(shown.results, shown.names, "choices"), *blocks]
    return Section(
        id="choices",
        title="Which output was chosen",
        blocks=tuple(blocks),
        appendix=tuple(appendix),
    )
