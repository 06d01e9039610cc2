"""Which tests were corrected together, as a table, and what could not take part."""

from __future__ import annotations

from collections.abc import Sequence

from analysis.comparisons.hypothesis_families import Family
from analysis.contribution import Shown
from analysis.printing.cells import Field, number_column, tabulate, text_column
from analysis.printing.document import Block, Paragraph
from analysis.printing.levels import METHODS, rate_words
from analysis.printing.words import count, listed, plural, sentence

PAIRS_FROM = {
    "named": "the pairs named (--pair)",
    "preferences": "the pairs of the preferences",
    "expected": "the pairs of which something was expected",
}


def _pairs_words(rows: Sequence[Family], shown: Shown) -> str:
    """Say which pairs are compared, where not every two systems are; nothing of a study, whose form asks about them."""
    chosen, names = shown.settings, shown.names
    whose = PAIRS_FROM.get(chosen.pairs_from or "")
    outside = sum(row.outside for row in rows)
    if whose is None or not outside:
        return ""
    pairs = listed([f"{names.system(x)} and {names.system(y)}" for x, y in chosen.pairs])
    return (
        f"Compared are {whose}: {pairs}. {plural(outside, 'test')} of other pairs "
        f"{'keeps its' if outside == 1 else 'keep their'} raw p and no verdict."
    )


def families(rows: Sequence[Family], shown: Shown) -> list[Block]:
    """Return a table of the families of tests and of what could not take part."""
    if not rows:
        return []
    names = shown.names

    def gone(row: Family) -> list[str]:
        return [
            names.against(one)
            + (f", {names.criterion(one.criterion)}" if row.criterion is None else "")
            + (f", {plural(one.exposure, 'output')} read" if one.exposure is not None else "")
            + f" ({one.reason})"
            for one in row.untestable
        ]

    fields: list[Field[Family]] = [
        text_column("Asked by", lambda row: sentence(names.source_by_group(row.source, row.group))),
        text_column("Criterion", lambda row: "all" if row.criterion is None else names.criterion(row.criterion)),
        text_column("Correction", lambda row: METHODS[row.correction]),
        number_column("Rate", lambda row: f"{row.rate:g}", rate_words(shown.settings)),
        number_column(
            "Tests",
            lambda row: count(row.n_tests),
            "tests that could be run, the family; beside unanimous answers all comparisons",
        ),
        text_column(
            "Left out", lambda row: "; ".join(gone(row)) or "none", "comparisons that allowed no test, and why"
        ),
    ]
    words = _pairs_words(rows, shown)
    table = tabulate("families", "Tests that were corrected together", fields, rows)
    return [Paragraph(text=words), table] if words else [table]
