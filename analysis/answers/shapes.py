"""The shape of a finished table: columns of scores become rows, what two readings would take is refused."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Literal, TypeAlias

import polars as pl

from analysis.answers.answer_words import with_counted_words
from analysis.answers.column_names import is_turn
from analysis.answers.columns import LAYOUTS, NOTHING
from analysis.answers.extremes import with_choices_of_pages
from analysis.answers.options import Reading
from analysis.answers.reading import RawTable
from spa.errors import AnalysisError, ArgumentProblem, shortened
from spa.tables.orders import places_of

WHO = ("annotator_id", "item_id", "system", "assignment_id", "variant", "annotator_kind", "group", "repeat", "sample")
By: TypeAlias = Literal["criterion", "system", "annotator_id"]
PARAMETERS: Mapping[By, str] = {"criterion": "criteria", "system": "systems", "annotator_id": "annotator_columns"}
PAGES = frozenset(("choices",))  # tables whose columns of systems hold the names of those shown
WIDE: Mapping[By, frozenset[str]] = {  # what columns may be, one each -> kinds of tables whose answers they hold
    "criterion": frozenset(("ratings",)),
    "system": frozenset(("ratings", "orders")),
    "annotator_id": frozenset(("ratings", "choices", "preferences")),
}


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
    table = _turns_named(table, reading)
    if "criterion" in table.frame.columns:
        seen = {*table.different.of(table.frame["criterion"]).to_list()}
        if words := sorted(seen & {*NOTHING} - {*reading.names}):
            said = f"criterion {', '.join(words)} is read as no criterion, not as a name (see names)"
            table = replace(table, notes=(*table.notes, said))
    if kind == "ratings":
        if table.unread and ("score" in table.frame.columns or reading.criteria or reading.systems):
            said = (
                f"columns that look like scores are not read: {shortened(', '.join(table.unread), 200)} (see criteria)"
            )
            table = replace(table, notes=(*table.notes, said))
    table = _ranked(table) if kind == "orders" else table
    table = with_choices_of_pages(table, [*reading.systems]) if kind in PAGES else table
    wide = {by: called for by, called in columns_called(reading).items() if kind in WIDE[by]}
    if len(wide) > 1:
        raise AnalysisError(f"{_options(wide)}: expected one of them; a column of scores is one thing")
    for by, called in wide.items():
        table = _long(table, called, by, LAYOUTS[kind].answer, reading)
    return with_counted_words(table, kind, reading)


def _turns_named(table: RawTable, reading: Reading) -> RawTable:
    """Return a table whose criteria are numbers of turns with "turn 1" for 1."""
    turned = any(new == "criterion" and is_turn(old) for old, new in reading.mapping.items())
    if not turned or "criterion" not in table.frame.columns:
        return table
    texts = table.frame["criterion"].cast(pl.String).str.replace(r"^(\d+)(?:\.0)?$", "turn $1")
    kind = table.frame.schema["criterion"]
    return replace(table, frame=table.frame.with_columns(texts.cast(kind).alias("criterion")))


def _ranked(table: RawTable) -> RawTable:
    """Make a row of each system where a cell of ranks holds a whole order: "b > a = c"; a row keeps its number."""
    frame = table.frame
    if "system" in frame.columns or "rank" not in frame.columns:
        return table
    cells = frame["rank"].cast(pl.String).to_list()
    orders = [None if cell is None or not cell.strip() else places_of(cell) for cell in cells]
    numbers = table.numbers()
    if not any(orders):
        return table
    for number, cell, order in zip(numbers, cells, orders, strict=True):
        if order is None and cell is not None and cell.strip():
            raise AnalysisError(
                f"{table.place}, row {number}: expected an order of systems in rank, as in other rows, got "
                f"{shortened(repr(cell), 60)}; correct it, or leave it empty"
            )
    made: list[tuple[int, str, str]] = []
    for row, order in enumerate(orders):
        rank = 1
        for place in order or ():
            made += [(row, name, str(rank)) for name in place]
            rank += len(place)
    where, names, ranks = (list(part) for part in zip(*made, strict=True))
    empty = orders.count(None)
    left = (f"rows without an order, left out: {empty:,}",) if empty else ()
    return replace(
        table,
        frame=frame.drop("rank")[where].with_columns(system=pl.Series(names), rank=pl.Series(ranks)),
        rows=pl.Series([numbers[row] for row in where]),
        notes=(*table.notes, "a row for each system of an order, the best first", *left),
    )


def columns_called(reading: Reading) -> dict[By, Mapping[str, str]]:
    """Return the columns that hold answers of one criterion, system or annotator each, and what that is called."""
    given: dict[By, Mapping[str, str]] = {
        "criterion": {name: name for name in reading.criteria},
        "system": reading.systems,
        "annotator_id": {name: name for name in reading.annotator_columns},
    }
    return {by: called for by, called in given.items() if called}


def wide_columns(kind: str, reading: Reading) -> frozenset[str]:
    """Return the columns of a kind of table that hold answers of one criterion, system or annotator each."""
    return frozenset(
        name
        for by, called in columns_called(reading).items()
        if kind in WIDE[by] or (by == "system" and kind in PAGES)
        for name in called
    )


def _options(wide: Iterable[By]) -> str:
    return ", ".join(f"--{PARAMETERS[by].replace('_', '-')}" for by in wide)


def _long(table: RawTable, called: Mapping[str, str], by: By, answer: str, reading: Reading) -> RawTable:
    """Make a row of each answer in the columns, which are ``called`` so; a row keeps its number."""
    frame, scored = table.frame, list(called)
    _check_scored(table, scored, by, answer, reading)
    others = [name for name in frame.columns if name not in (*scored, answer)]
    filled = frame.select(pl.any_horizontal(pl.all().is_not_null()).alias("filled"))["filled"]  # no blank lines
    rows = table.rows if table.rows is not None else pl.Series(range(table.first_row, table.first_row + frame.height))
    frame, rows = frame.filter(filled), rows.filter(filled)
    strings = next((frame.schema[name] for name in scored if frame.schema[name] == pl.String), pl.Categorical())
    names = pl.Categorical() if any(isinstance(kind, pl.Categorical) for kind in frame.schema.values()) else pl.String()
    parts = [
        frame.select(
            *others,
            pl.col(name).cast(strings).alias(answer),
            pl.lit(called[name], dtype=pl.String).cast(names).alias(by),
        )
        for name in scored
    ]
    again = pl.concat([rows] * len(scored))
    said = f"a row for each of {shortened(', '.join(scored), 200)}"
    return replace(table, frame=pl.concat(parts), rows=again, notes=(*table.notes, said))


def _check_scored(table: RawTable, scored: Sequence[str], by: By, answer: str, reading: Reading) -> None:
    """Refuse columns of answers that are not there, or are something else, too."""
    columns, several = table.frame.columns, PARAMETERS[by]
    turned = reading.mapping
    given = {"criterion": reading.criteria, "annotator_id": reading.annotator_columns}.get(by, scored)
    doubled = [name for name in given if name in WHO or given.count(name) > 1]
    also = [f"{name}, which is {turned[name]}" for name in scored if name in turned and name not in columns]
    absent = [name for name in scored if name not in columns]
    problem = None
    if doubled:
        problem = f"{doubled[0]}: expected columns of {answer}s, each once"
    elif also:
        problem = f"{also[0]}: a column is one thing"
    elif absent:
        there = shortened(", ".join(table.columns), 200)
        problem = f"{absent[0]}: expected a column of that name (there are: {there})"
    elif by in columns:
        problem = f"{shortened(', '.join(scored))}: the table has a column {by}, too; leave one out"
    elif answer in columns and answer not in scored:
        problem = (
            f"{shortened(', '.join(scored))}: the table has a column {answer}, too; name it among them or remove it"
        )
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
