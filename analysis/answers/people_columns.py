"""What is known of the people who answered: columns of annotators, or of answers, one value a person."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import polars as pl

from analysis.answers.columns import KNOWN, NOTHING
from analysis.answers.reading import RawTable
from spa.errors import AnalysisError, ArgumentProblem, shortened

WHO = "annotator_id"


def people_apart(
    raw: Mapping[str, Sequence[RawTable]], columns: Sequence[str], kinds: Collection[str]
) -> tuple[pl.DataFrame | None, Mapping[str, Sequence[RawTable]]]:
    """Take what is known of annotators out of tables.

    Parameters
    ----------
    raw : mapping of str to sequence of RawTable
        Tables by kind, with ids written in one way.
    columns : sequence of str
        Columns that say something of a person.
    kinds : collection of str
        Kinds of tables that may have them.

    Returns
    -------
    people : DataFrame or None
        ``annotator_id`` and those of the columns that a table has, a row a person; empty cells are null.
    raw : mapping
        The tables without columns that they would not have otherwise.

    Raises
    ------
    AnalysisError
        Where a person has two values.
    """
    if not columns:
        return None, raw
    problems: list[str] = []
    people: pl.DataFrame | None = None
    for column in columns:
        own = [
            (table.place, table.frame.select(pl.col(WHO, column).cast(pl.String)).unique())
            for kind in kinds
            for table in raw.get(kind, ())
            if {WHO, column} <= {*table.frame.columns} and column != WHO
        ]
        if not own:
            continue
        values = pl.concat([frame for _, frame in own]).drop_nulls().filter(~pl.col(column).is_in(list(NOTHING)))
        each = values.unique().sort(WHO, column).group_by(WHO, maintain_order=True).agg(column)
        several = each.filter(pl.col(column).list.len() > 1)
        if several.height:
            who, found = several.row(0)
            got = " and ".join(repr(shortened(value, 30)) for value in found[:2])
            problems.append(
                ArgumentProblem(
                    "compare_people_by",
                    before=f"{own[0][0]}: ",
                    in_python=f"={(column,)!r}",
                    in_command=f" {column}",
                    after=f": expected one value a person, got {got} of {shortened(repr(who), 40)}; correct the table",
                )
            )
        one = each.select(WHO, pl.col(column).list.first())
        people = one if people is None else people.join(one, on=WHO, how="full", coalesce=True)
    if problems:
        raise AnalysisError(*problems)
    stripped = {
        kind: [_without(table, {*columns} - KNOWN[kind]) for table in tables] if kind in kinds else tables
        for kind, tables in raw.items()
    }
    return None if people is None else people.sort(WHO), stripped


def _without(table: RawTable, columns: Collection[str]) -> RawTable:
    gone = [name for name in table.frame.columns if name in columns]
    return replace(table, frame=table.frame.drop(gone)) if gone else table
