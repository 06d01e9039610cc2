"""What the report says of LLMs that read answered examples."""

from __future__ import annotations

from collections.abc import Sequence

from analysis.contribution import Shown
from analysis.figures.plain_text import shown_name
from analysis.printing.cells import Field, cell, criterion_cell, number_column, tabulate, text_column
from analysis.printing.document import Cell, Paragraph, Section
from analysis.printing.words import count, number, sentence, signed
from analysis.rater_examples.example_effect import ExampleEffect

Line = tuple[ExampleEffect, bool]  # of a pair of rows: with examples or without


def with_and_without(rows: Sequence[ExampleEffect], shown: Shown) -> Section:
    """Show a pair of rows an LLM, way of asking and criterion, and say in a sentence what is clear."""
    names = shown.names
    fields: list[Field[Line]] = [
        text_column("LLM", lambda line: shown_name(line[0].group if line[1] else line[0].without)),
        text_column("Asked as", lambda line: sentence(names.source(line[0].source))),
        text_column("Criterion", lambda line: criterion_cell(names, line[0].criterion, line[0].source)),
        number_column("Judged", lambda line: count(line[0].n), "outputs or pairs of items held out, that all judged"),
        number_column("Items", lambda line: count(line[0].n_items)),
        number_column(
            "With people",
            lambda line: number(line[0].value if line[1] else line[0].value_without),
            "ratings: correlation; choices: chance that two answers agree",
        ),
        number_column(
            "Difference",
            lambda line: _difference(line[0]) if line[1] else cell(""),
            f"with less without examples, with its {shown.confidence} interval",
        ),
    ]
    lines = [(row, examples) for row in rows for examples in (True, False)]
    table = tabulate("examples", "With and without examples", fields, lines, constant=("Asked as",), csv="examples")
    return Section(id="examples", title="Do examples help?", blocks=(Paragraph(text=_said(rows)), table))


def _said(rows: Sequence[ExampleEffect]) -> str:
    known = [row for row in rows if row.difference is not None]
    if not known:
        return "Whether answered examples bring LLMs nearer to people cannot be told."
    clear = [row for row in known if row.ci_low is not None and row.ci_high is not None]
    nearer, farther = (sum(turned(row) for row in clear) for turned in (_is_nearer, _is_farther))
    return (
        f"On items held out, answered examples clearly bring LLMs nearer to people in {count(nearer)} of "
        f"{count(len(known))} comparisons, and clearly farther away in {count(farther)}."
    )


def _is_nearer(row: ExampleEffect) -> bool:
    return row.ci_low is not None and row.ci_low > 0


def _is_farther(row: ExampleEffect) -> bool:
    return row.ci_high is not None and row.ci_high < 0


def _difference(row: ExampleEffect) -> Cell:
    if row.difference is None:
        return cell("")
    known = row.ci_low is not None and row.ci_high is not None
    detail = f"{signed(row.ci_low, 2)} to {signed(row.ci_high, 2)}" if known else ""
    return cell(signed(row.difference, 2), detail=detail)
