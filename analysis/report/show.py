"""The first page of a report in a notebook, or on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib.resources import files
from typing import TYPE_CHECKING

from analysis.figures.plain_text import clean
from analysis.printing.document import Block, Figure, Paragraph, Section, Table, Terms, legends
from analysis.printing.lookup import main_source
from analysis.records.results import Results
from analysis.records.row_tables import AS_IT_STANDS
from analysis.report.html import render_blocks
from analysis.report.sections import make_section, shown_results
from spa.errors import AnalysisError

if TYPE_CHECKING:
    from rich.table import Table as LinesOfTable

MOST_TABLES = 3  # beside the ranking
KERNEL = "ZMQInteractiveShell"  # of Jupyter; IPython's own shell is a terminal


def show(results: Results) -> None:
    """Show the first page: its four lines, the main figure and the main tables.

    Parameters
    ----------
    results : Results
        Of :func:`analysis.analyse` or :func:`analysis.read_results`.

    Raises
    ------
    AnalysisError
        If it is something else.

    Notes
    -----
    In a notebook they are displayed as HTML, in which every name is escaped; elsewhere they are printed, without the
    figure.
    """
    if not isinstance(results, Results):
        found = type(results).__name__
        raise AnalysisError(f"show: expected Results, got {found}; analyse or read_results returns some")
    if in_notebook():
        from IPython.display import HTML, display  # type: ignore[import-not-found,unused-ignore]

        display(HTML(first_page(results)))
    else:
        print_first_page(results)


def in_notebook() -> bool:
    """Tell whether the code runs in a notebook, which shows HTML."""
    found = sys.modules.get("IPython")
    shell = None if found is None else found.get_ipython()
    return type(shell).__name__ == KERNEL


def first_page(results: Results) -> str:
    """Return the first page as HTML to stand in another page."""
    page = Section(id="answer", title="The answer", blocks=(*_blocks(clean(results)),))
    style = (files("analysis.report") / "templates" / "some.css").read_text(encoding="utf-8")
    shown = render_blocks(page.blocks, legends((page,)))
    return f'<div class="spa-results {AS_IT_STANDS}"><style>{style}</style>{shown}</div>'


def print_first_page(results: Results) -> None:
    """Print the first page without its figure."""
    from rich.text import Text

    from spa.commands.terminal import console

    shown = console()
    for block in _blocks(clean(results)):
        if isinstance(block, Paragraph):
            shown.print(Text.assemble(("Who wins: ", "bold") if block.weight == "headline" else "", block.text))
        elif isinstance(block, Terms):
            for title, text in block.items:
                words = text if isinstance(text, str) else " ".join(link.text for link in text)
                shown.print(Text.assemble((f"{title}{'' if title.endswith('?') else ':'} ", "bold"), words))
        elif isinstance(block, Table):
            shown.print(_lines_of(block))


def _blocks(results: Results) -> Iterator[Block]:
    """Yield what stands on the first page, then the tables of the main source."""
    shown = shown_results(results)
    answer, source = make_section(shown, "answer"), main_source(shown)
    if answer is not None:
        yield from (block for block in answer.blocks if isinstance(block, Paragraph | Terms | Figure | Table))
    section = None if source is None else make_section(shown, source)
    tables = [block for block in section.blocks if isinstance(block, Table)] if section is not None else []
    yield from tables[:MOST_TABLES]


def _lines_of(table: Table) -> LinesOfTable:
    from rich.table import Table as LinesOfTable
    from rich.text import Text

    made = LinesOfTable(title=Text(table.caption), title_justify="left")
    for column in table.columns:
        made.add_column(Text(column.title), justify="right" if column.numeric else "left", overflow="fold")
    for row in table.rows:
        made.add_row(*(Text(f"{cell.text} {cell.detail}".strip()) for cell in row))
    return made
