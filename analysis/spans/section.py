"""Errors that annotators marked: how many in each system's outputs, and whether they marked the same places."""

from __future__ import annotations

from collections import Counter

from analysis.comparisons.contribution import RATING_MEANS
from analysis.contribution import Shown
from analysis.printing.cells import Field, cell, columns_of, number_column, tabulate, text_column
from analysis.printing.document import Block, Paragraph, Section, Table
from analysis.printing.names import Names
from analysis.printing.words import NONE, count, interval, listed, number, plural
from analysis.spans.span_results import SpanAgreement, SpanCount, SpanResults

MEASURES = {
    "span_f1": "F1 of characters",
    "span_f1_severity": "F1, same severity",
    "alpha_u": "Unitizing alpha",
    "alpha_u_marked": "Unitizing alpha, marked or not",
}
READING = (
    "Annotators marked errors in single outputs, each with its severity. The numbers of errors, plain and weighted by "
    "severity, are tested among the ratings; fewer are better."
)
AGREEMENT = (
    "F1 is the share of marked characters that two annotators have in common, averaged over pairs and outputs; where "
    "neither marks anything it is 1. Krippendorff\u2019s unitizing alpha (2016) is 1 where all mark alike and 0 where "
    "they agree no more than by chance."
)


def marked_errors(results: SpanResults, shown: Shown) -> Section:
    """Report marked errors."""
    names = shown.names
    blocks: list[Block] = [Paragraph(text=READING), _counts(results.counts, shown)]
    if any(row.n_unplaced for row in results.counts):
        blocks.append(Paragraph(text=_unplaced(results.counts, names)))
    if results.agreement:
        blocks += [Paragraph(text=AGREEMENT), _agreement(results.agreement, shown)]
    return Section(id="spans", title="Errors that were marked", blocks=tuple(blocks))


def _unplaced(rows: tuple[SpanCount, ...], names: Names) -> str:
    """Say whose errors have no place."""
    errors, lost, marked, left_out = (Counter[str]() for _ in range(4))
    for row in rows:
        if row.severity is None:
            errors[row.group] += row.n_errors
            lost[row.group] += row.n_unplaced
            marked[row.group] += row.n_marked
            left_out[row.group] += row.n_left_out
    parts = [f"{n:,} of {plural(errors[group], 'error')} by {names.group(group)}" for group, n in lost.items() if n]
    start = f"{listed(parts)} could not be placed in the text (why: column reason of the table spans). They are counted"
    if not left_out.total():
        return f"{start}; as they are no part of it, agreement is on the other errors of these answers."
    left = [
        f"{marked[group] - n:,} of {plural(marked[group], 'answer')} with errors by {names.group(group)}"
        for group, n in left_out.items()
        if n
    ]
    return f"{start}; answers with such an error, omissions aside, are left out of agreement; it has {listed(left)}."


def _counts(rows: tuple[SpanCount, ...], shown: Shown) -> Table:
    names = shown.names
    scores = {(row.group, row.criterion, row.system): row.mean for row in shown.of(RATING_MEANS)}
    titles = {row.severity: row.severity for row in rows if row.severity is not None}
    fields: list[Field[SpanCount]] = [
        text_column("System", lambda row: names.system(row.system)),
        text_column("Group", lambda row: names.group(row.group)),
        text_column("Criterion", lambda row: names.criterion(row.criterion)),
        number_column("Answers", lambda row: count(row.n_answers), "outputs times annotators"),
        *columns_of(
            rows,
            lambda row: (row.group, row.criterion, row.system),
            lambda row: row.severity or "",
            titles,
            lambda row: NONE if row is None else number(row.per_answer),
            "errors an answer",
        ),
        number_column(
            "Weighted",
            lambda row: number(row.per_answer),
            "errors an answer, each with the weight of its severity",
        ),
        number_column(
            "Score",
            lambda row: number(scores.get((row.group, row.criterion, row.system))),
            "mean rating of the same outputs",
        ),
    ]
    pooled = [row for row in rows if row.severity is None]
    return tabulate(
        "span_counts", "Errors in an output", fields, pooled, csv="span_counts", constant=("Group", "Criterion")
    )


def _agreement(rows: tuple[SpanAgreement, ...], shown: Shown) -> Table:
    names = shown.names
    fields: list[Field[SpanAgreement]] = [
        text_column("Measure", lambda row: MEASURES[row.measure]),
        text_column(
            "Between",
            lambda row: names.group(row.group) + ("" if row.other is None else f" and {names.group(row.other)}"),
        ),
        text_column("Criterion", lambda row: names.criterion(row.criterion)),
        number_column("Outputs", lambda row: count(row.n_outputs), "answered by two or more"),
        number_column("Annotators", lambda row: count(row.n_annotators)),
        number_column("Value", lambda row: cell(number(row.value), detail=str(row.reason or ""))),
        number_column(
            f"{shown.confidence} confidence interval",
            lambda row: interval(row.ci_low, row.ci_high),
            "for other items",
        ),
    ]
    return tabulate(
        "span_agreement",
        "Do annotators mark the same?",
        fields,
        rows,
        csv="span_agreement",
        constant=("Criterion",),
    )
