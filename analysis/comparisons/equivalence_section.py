"""Which systems are shown to be equal, up to the margin that was declared."""

from __future__ import annotations

from collections.abc import Sequence

from analysis.comparisons.choices import ChoiceTest
from analysis.comparisons.preferences import PreferenceTest
from analysis.comparisons.ratings import RatingTest
from analysis.contribution import Shown
from analysis.printing.cells import Field, criterion_cell, number_column, tabulate, text_column
from analysis.printing.document import Block, Cell, Fold, Paragraph, Section, Table
from analysis.printing.lookup import PairResult, PairTest, pair_results
from analysis.printing.names import Names
from analysis.printing.words import count, interval, number, p_value, plural, signed
from analysis.statistics.record import Source

OPEN = 30  # rows of an open table; more are folded
EXPLAINED = (
    "That a test finds no difference does not show that there is none: few answers reveal little. Here the question is "
    "reversed. A margin was declared below which a difference does not matter, and two one-sided t-tests ask "
    "whether the difference is shown to lie within it on both sides (TOST). A pair can be clearly different and still "
    "equivalent, when the difference is real and too small to matter; and it can be neither, when there are too few "
    "answers to tell. The margin must have been chosen before the answers were seen."
)


def equivalence(
    preferences: Sequence[PreferenceTest], ratings: Sequence[RatingTest], choices: Sequence[ChoiceTest], shown: Shown
) -> Section | None:
    """Report the equivalence tests of all sources; nothing where no margin was declared."""
    settings, names = shown.settings, shown.names
    share, points = settings.equivalence_margin, settings.equivalence_margin_ratings
    asked: tuple[tuple[Source, Sequence[PairTest], float | None], ...] = (
        ("preferences", preferences, share),
        ("ratings", ratings, points),
        ("choices", choices, share),
    )
    blocks: list[Block] = []
    for source, tests, margin in asked:
        if margin is None or not tests:
            continue
        rows = pair_results(shown.results, source)
        found = sum(test.equivalent is True for test in tests)
        within = f"±{number(margin)} points" if source == "ratings" else f"±{100 * margin:g} percentage points of 50%"
        blocks.append(
            Paragraph(
                text=f"{names.source(source)}: {found} of {plural(len(rows), 'comparison')} "
                f"{'is' if found == 1 else 'are'} shown to be equivalent within {within}."
            )
        )
        table = _table(rows, names, source, margin)
        many = len(rows) > OPEN
        blocks.append(Fold(summary=f"All {len(rows)} comparisons", blocks=(table,)) if many else table)
    if not blocks:
        return None
    title = "Which systems are equal, up to the margin"
    return Section(id="equivalence", title=title, blocks=(Paragraph(text=EXPLAINED), *blocks))


def _table(rows: Sequence[PairResult], names: Names, source: Source, margin: float) -> Table:
    scale, start, digits = (1, 0.0, 3) if source == "ratings" else (100, 0.5, 1)

    marks = (-scale * margin, 0.0, scale * margin)

    def difference(value: float | None) -> float | None:
        return None if value is None else scale * (value - start)

    fields: list[Field[PairResult]] = [
        text_column("Pair", lambda row: names.against(row.test) if source == "ratings" else names.over(row.test)),
        text_column("Group", lambda row: names.group(row.test.group)),
        text_column("Criterion", lambda row: criterion_cell(names, row.test.criterion, source)),
        number_column("Outputs read", lambda row: count(row.exposure)),
        number_column("n", lambda row: count(row.test.n), "units counted"),
        number_column(
            "Difference",
            lambda row: signed(difference(row.value), digits),
            "mean rating of the first minus that of the second"
            if source == "ratings"
            else "distance from 50%, in percentage points",
        ),
        number_column(
            f"{rows[0].confidence} confidence interval",
            lambda row: interval(
                difference(row.test.ci_low), difference(row.test.ci_high), decimals=digits, marks=marks
            ),
            "of that difference, as everywhere in this report",
        ),
        number_column(
            "Adjusted p (equivalence)",
            lambda row: p_value(row.test.p_equivalence_adjusted),
            "chance of a difference this far within the margin if the true one were at or beyond it, corrected for "
            "testing several pairs (Holm)",
        ),
        text_column("Conclusion", lambda row: _conclusion(row.test)),
    ]
    caption = f"Equivalence: {names.source(source)}"
    return tabulate(f"equivalence_{source}", caption, fields, rows, constant=("Criterion", "Outputs read"))


def _conclusion(test: PairTest) -> Cell:
    equivalent, different = test.equivalent, test.verdict in {"x", "y"}
    if equivalent is None:
        return Cell(text=f"not tested: {test.reason or 'no reason was recorded'}", tone="untested")
    if equivalent:
        return Cell(text="equivalent, though clearly different" if different else "equivalent", tone="even")
    return Cell(text="different" if different else "neither shown equal nor different", tone="plain")
