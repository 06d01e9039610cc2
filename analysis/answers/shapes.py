"""The shape of a finished table: columns of criteria become rows, what two readings would take is refused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from analysis.answers.answer_words import with_counted_words
from analysis.answers.columns import LAYOUTS, NOTHING
from analysis.answers.options import Reading
from analysis.answers.reading import RawTable
from spa.errors import AnalysisError, ArgumentProblem, shortened

WHO = ("annotator_id", "item_id", "system", "assignment_id", "variant", "annotator_kind", "group", "repeat", "sample")


def shaped(table: RawTable, kind: str, reading: Reading) -> RawTable:
    """Return a table as the checks know it: one row an answer, each word what it counts.

    Raises
    ------
    AnalysisError
        When columns of criteria are not there, or are something else, too.
    """
    table = replace(table, named=reading.names)
    if kind not in LAYOUTS:
        return table
    if "criterion" in table.frame.columns:
        seen = {*table.frame["criterion"].unique().cast(pl.String).to_list()}
        if words := sorted(seen & {*NOTHING} - {*reading.names}):
            said = f"criterion {', '.join(words)} is read as no criterion, not as a name (see names)"
            table = replace(table, notes=(*table.notes, said))
    if kind == "ratings":
        if table.unread and ("score" in table.frame.columns or reading.criteria):
            said = (
                f"columns that look like scores are not read: {shortened(', '.join(table.unread), 200)} (see criteria)"
            )
            table = replace(table, notes=(*table.notes, said))
        table = _long(table, reading) if reading.criteria else table
    return with_counted_words(table, kind, reading)


def _long(table: RawTable, reading: Reading) -> RawTable:
    """Make a row of each criterion's score; a row keeps its number."""
    frame, criteria = table.frame, list(reading.criteria)
    _check_criteria(table, reading)
    others = [name for name in frame.columns if name not in (*criteria, "score")]
    filled = frame.select(pl.any_horizontal(pl.all().is_not_null()).alias("filled"))["filled"]  # no blank lines
    rows = table.rows if table.rows is not None else pl.Series(range(table.first_row, table.first_row + frame.height))
    frame, rows = frame.filter(filled), rows.filter(filled)
    strings = next((frame.schema[name] for name in criteria if frame.schema[name] == pl.String), pl.Categorical())
    names = pl.Categorical() if any(isinstance(kind, pl.Categorical) for kind in frame.schema.values()) else pl.String()
    parts = [
        frame.select(
            *others,
            pl.col(name).cast(strings).alias("score"),
            pl.lit(name, dtype=pl.String).cast(names).alias("criterion"),
        )
        for name in criteria
    ]
    again = pl.concat([rows] * len(criteria))
    said = f"a row for each of {shortened(', '.join(criteria), 200)}"
    return replace(table, frame=pl.concat(parts), rows=again, notes=(*table.notes, said))


def _check_criteria(table: RawTable, reading: Reading) -> None:
    columns, criteria = table.frame.columns, reading.criteria
    turned = reading.mapping
    doubled = [name for name in criteria if name in WHO or criteria.count(name) > 1]
    also = [f"{name}, which is {turned[name]}" for name in criteria if name in turned and name not in columns]
    absent = [name for name in criteria if name not in columns]
    problem = None
    if doubled:
        problem = f"{doubled[0]}: expected columns of scores, each once"
    elif also:
        problem = f"{also[0]}: a column is one thing"
    elif absent:
        there = shortened(", ".join(table.columns), 200)
        problem = f"{absent[0]}: expected a column of that name (there are: {there})"
    elif "criterion" in columns:
        problem = f"{shortened(', '.join(criteria))}: the table names its criteria in a column criterion; leave one out"
    elif "score" in columns and "score" not in criteria:
        problem = (
            f"{shortened(', '.join(criteria))}: the table has a column score, too; name it among them or remove it"
        )
    if problem is not None:
        raise AnalysisError(ArgumentProblem("criteria", before=f"{table.place}, ", after=f" {problem}"))


def criteria_proposed(line: str, columns: Sequence[str]) -> str:
    """Return the problem of a table without a score, with the option that reads its columns of numbers as criteria."""
    names = ",".join(columns)
    return ArgumentProblem(
        "criteria",
        before=line + "where these are scores of criteria: ",
        in_python=f"={tuple(columns)}",
        in_command=f" {shortened(names, 200)}",
    )
