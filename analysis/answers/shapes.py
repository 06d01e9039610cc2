"""The shape of a finished table: columns of scores become rows, what two readings would take is refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

import polars as pl

from analysis.answers.answer_words import with_counted_words
from analysis.answers.columns import LAYOUTS, NOTHING
from analysis.answers.options import Reading
from analysis.answers.reading import RawTable
from spa.errors import AnalysisError, ArgumentProblem, shortened

WHO = ("annotator_id", "item_id", "system", "assignment_id", "variant", "annotator_kind", "group", "repeat", "sample")
PLURALS: Mapping[str, Literal["criteria", "systems"]] = {"criterion": "criteria", "system": "systems"}


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
        if table.unread and ("score" in table.frame.columns or reading.criteria or reading.systems):
            said = (
                f"columns that look like scores are not read: {shortened(', '.join(table.unread), 200)} (see criteria)"
            )
            table = replace(table, notes=(*table.notes, said))
        if reading.criteria and reading.systems:
            raise AnalysisError("--criteria, --systems: expected one of them; a column of scores is one thing")
        if reading.criteria:
            table = _long(table, {name: name for name in reading.criteria}, "criterion", reading)
        if reading.systems:
            table = _long(table, reading.systems, "system", reading)
    return with_counted_words(table, kind, reading)


def _long(table: RawTable, called: Mapping[str, str], by: Literal["criterion", "system"], reading: Reading) -> RawTable:
    """Make a row of each score of the columns, which are ``called`` criteria or systems; a row keeps its number."""
    frame, scored = table.frame, list(called)
    _check_scored(table, scored, by, reading)
    others = [name for name in frame.columns if name not in (*scored, "score")]
    filled = frame.select(pl.any_horizontal(pl.all().is_not_null()).alias("filled"))["filled"]  # no blank lines
    rows = table.rows if table.rows is not None else pl.Series(range(table.first_row, table.first_row + frame.height))
    frame, rows = frame.filter(filled), rows.filter(filled)
    strings = next((frame.schema[name] for name in scored if frame.schema[name] == pl.String), pl.Categorical())
    names = pl.Categorical() if any(isinstance(kind, pl.Categorical) for kind in frame.schema.values()) else pl.String()
    parts = [
        frame.select(
            *others,
            pl.col(name).cast(strings).alias("score"),
            pl.lit(called[name], dtype=pl.String).cast(names).alias(by),
        )
        for name in scored
    ]
    again = pl.concat([rows] * len(scored))
    said = f"a row for each of {shortened(', '.join(scored), 200)}"
    return replace(table, frame=pl.concat(parts), rows=again, notes=(*table.notes, said))


def _check_scored(table: RawTable, scored: Sequence[str], by: Literal["criterion", "system"], reading: Reading) -> None:
    """Refuse columns of scores that are not there, or are something else, too."""
    columns, several = table.frame.columns, PLURALS[by]
    turned = reading.mapping
    given = reading.criteria if by == "criterion" else scored
    doubled = [name for name in given if name in WHO or given.count(name) > 1]
    also = [f"{name}, which is {turned[name]}" for name in scored if name in turned and name not in columns]
    absent = [name for name in scored if name not in columns]
    problem = None
    if doubled:
        problem = f"{doubled[0]}: expected columns of scores, each once"
    elif also:
        problem = f"{also[0]}: a column is one thing"
    elif absent:
        there = shortened(", ".join(table.columns), 200)
        problem = f"{absent[0]}: expected a column of that name (there are: {there})"
    elif by in columns:
        problem = f"{shortened(', '.join(scored))}: the table names its {several} in a column {by}; leave one out"
    elif "score" in columns and "score" not in scored:
        problem = f"{shortened(', '.join(scored))}: the table has a column score, too; name it among them or remove it"
    if problem is not None:
        raise AnalysisError(ArgumentProblem(several, before=f"{table.place}, ", after=f" {problem}"))


def criteria_proposed(line: str, columns: Sequence[str]) -> str:
    """Return the problem of a table without a score, with the option that reads its columns of numbers as criteria."""
    names = ",".join(columns)
    return ArgumentProblem(
        "criteria",
        before=line + "where these are scores of criteria: ",
        in_python=f"={tuple(columns)}",
        in_command=f" {shortened(names, 200)}",
    )
