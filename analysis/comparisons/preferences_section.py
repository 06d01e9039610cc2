"""Preferences stated as chances (SPA): the tests, the forest plot, the two directions."""

from __future__ import annotations

from collections.abc import Sequence

from analysis.comparisons.directions import DirectionSummary
from analysis.comparisons.directions_section import direction_blocks, either_way
from analysis.comparisons.pair_tables import shares_by_criterion
from analysis.comparisons.preferences import PreferenceTest
from analysis.contribution import Shown
from analysis.printing.document import (
    Block,
    Bullets,
    Heading,
    Paragraph,
    Section,
)
from analysis.printing.levels import level_words
from analysis.printing.live_blocks import live_blocks
from analysis.printing.names import Names
from analysis.printing.words import percent, plural, sentence


def preferences(rows: Sequence[PreferenceTest], directions: Sequence[DirectionSummary], shown: Shown) -> Section | None:
    """Report each pair: mean chance, interval, test, verdict, and a figure of all of them."""
    if not rows:
        return None
    names = shown.names
    clear = level_words(shown.settings, live=shown.live)
    opening = Paragraph(
        text="Annotators read outputs of each system and said how likely it is, from 0 to 100%, that one is better "
        f"than another. Here are the means of their answers; 50% means no preference. {clear}"
    )
    blocks, appendix = shares_by_criterion(shown, rows, "preferences", more=lambda own: _by_exposure(own, names))
    if any(names.kind(row.group) == "llm" for row in rows):
        blocks.append(Paragraph(text=LIVE_LLM_NOTE if shown.live else LLM_NOTE))
    if directions:
        blocks += either_way(directions, shown)
        appendix += direction_blocks(directions, shown)
    blocks = [opening, *live_blocks(shown.results.live, names, "preferences"), *blocks]
    return Section(
        id="preferences",
        title="Which system is preferred (SPA)",
        blocks=tuple(blocks),
        appendix=tuple(appendix),
    )


def _by_exposure(rows: Sequence[PreferenceTest], names: Names) -> list[Block]:
    """Say in words how the mean moves with exposure, where one pair was judged at several."""
    pairs: dict[tuple[str, str, str], list[tuple[int, float]]] = {}
    for row in rows:
        if row.exposure is not None and row.mean is not None:
            pairs.setdefault((row.group, row.system_x, row.system_y), []).append((row.exposure, row.mean))
    lines = []
    for (group, x, y), own in pairs.items():
        if len(own) > 1:
            (fewest, start), *rest = sorted(own, key=lambda one: one[0])
            steps = ", ".join(f"{percent(mean)} after {exposure}" for exposure, mean in rest)
            lines.append(
                f"{sentence(names.who(group)) if names.kind(group) != 'llm' else names.who(group)}, "
                f"{names.system(x)} over {names.system(y)}: {percent(start)} after reading "
                f"{plural(fewest, 'output')} of each, {steps}."
            )
    if not lines:
        return []
    meaning = (
        "The more outputs annotators read, the better they know the systems. A mean that still moves between the last "
        "two steps says that fewer outputs are not enough to judge these systems by. The changes themselves are not "
        "tested."
    )
    return [
        Heading(text="How the number of outputs read changes the answer"),
        Bullets(items=tuple(lines)),
        Paragraph(text=meaning),
    ]


LLM_NOTE = (
    "For an LLM the tests count forms, not people: a small p-value says that this LLM would answer much the same on "
    "other forms of this study, and nothing about other LLMs or about people."
)


LIVE_LLM_NOTE = (
    "An LLM is decided by its own answers, form by form: a decision says that this LLM would answer much the same on "
    "other forms of this study, and nothing about other LLMs or about people."
)
