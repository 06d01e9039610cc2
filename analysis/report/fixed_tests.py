"""The tests of a live study that take the number of annotators as fixed: one table of what does not hold."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from analysis.comparisons.pair_tables import adjusted
from analysis.printing.cells import Field, number_column, tabulate, text_column
from analysis.printing.document import Block, Fold, Paragraph, Section, Table
from analysis.printing.lookup import SOURCES, PairResult, confidence_words, pair_results
from analysis.printing.names import Names
from analysis.printing.words import count, interval, p_value, percent, sentence, share_interval, signed
from analysis.records.results import Results
from analysis.results.live import NOT_UNDER_LOOKING

FIXED = "Tests of a fixed number of annotators"
FIXED_CAVEAT = (
    f"{sentence(NOT_UNDER_LOOKING)} Nor do those of answers that decided nothing, which the same people gave. The "
    "decisions are the verdicts."
)
OF_TESTS = re.compile(r"\bp\b|interval")


def fixed_tests(results: Results) -> Section | None:
    """Return the one table of tests that take the number of annotators as fixed, in the appendix, under its caveat."""
    names, rows = Names(results), [found for source in SOURCES for found in pair_results(results, source)]
    if results.live is None or not rows:
        return None
    fields: list[Field[PairResult]] = [
        text_column("Pair", lambda row: names.against(row.test)),
        text_column("Asked by", lambda row: sentence(names.source_by_group(row.source, row.test.group))),
        text_column("Criterion", lambda row: names.criterion(row.test.criterion)),
        number_column("Outputs read", lambda row: count(row.exposure)),
        number_column("n", lambda row: count(row.test.n), "after all exclusions"),
        number_column("Mean or difference", _value, "share of the first in percent; of ratings, first minus second"),
        number_column(f"{confidence_words(results)} confidence interval", _interval),
        number_column("Adjusted p", lambda row: adjusted(row.test)),
        number_column("Crossed p", lambda row: p_value(getattr(row.test, "p_crossed_adjusted", None))),
        number_column("Binomial p", lambda row: p_value(getattr(row.test, "p_binomial", None)), "uncorrected"),
    ]
    constant = ("Criterion", "Outputs read")
    table = tabulate("fixed_tests", f"{FIXED}, which do not hold here", fields, rows, constant=constant)
    return Section(id="fixed-tests", title=FIXED, blocks=(Paragraph(text=FIXED_CAVEAT), without_empty(table)))


def _value(row: PairResult) -> str:
    return signed(row.value) if row.source == "ratings" else percent(row.value)


def _interval(row: PairResult) -> str:
    low, high = row.test.ci_low, row.test.ci_high
    return interval(low, high) if row.source == "ratings" else share_interval(low, high)


def without_tests(section: Section) -> Section:
    """Return a section of a live study without the columns of p-values and intervals that it does not fill."""
    return replace(section, blocks=_emptied(section.blocks), appendix=_emptied(section.appendix))


def _emptied(blocks: Iterable[Block]) -> tuple[Block, ...]:
    shown: list[Block] = []
    for block in blocks:
        if isinstance(block, Fold):
            block = replace(block, blocks=_emptied(block.blocks))
        elif isinstance(block, Table):
            block = without_empty(block)
        shown.append(block)
    return tuple(shown)


def without_empty(table: Table) -> Table:
    """Return a table without columns of tests, intervals and reasons in which no cell is known."""
    kept = [
        place
        for place, column in enumerate(table.columns)
        if not OF_TESTS.search(column.title) or any(row[place].known for row in table.rows)
    ]
    columns = tuple(table.columns[place] for place in kept)
    return replace(table, columns=columns, rows=tuple(tuple(row[place] for place in kept) for row in table.rows))
