"""What is known of the people who answered: columns of annotators, or of answers, one value a person."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import polars as pl

from analysis.answers.columns import KNOWN, NOTHING
from analysis.answers.reading import RawTable
from spa.errors import AnalysisError, ArgumentProblem, ResponseError, shortened

WHO = "annotator_id"
NAMED = "demographic:"  # before columns of a platform's list of people
ALWAYS = tuple(f"{NAMED}{name}" for name in ("age_band", "approvals", "time_taken"))  # joined without being named


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


def with_demographics(
    annotators: pl.DataFrame, path: Path, columns: Sequence[str], *, person_id: Callable[[str, str], str]
) -> tuple[pl.DataFrame, str, str]:
    """Join what a platform's list of people says of the annotators of a study; ids of the platform stay in the list.

    Parameters
    ----------
    annotators : DataFrame
        Of a study.
    path : Path
        Prolific's demographic export.
    columns : sequence of str
        Columns that people are compared by; those of other tables are left alone.
    person_id : callable
        From a platform and its id of a person to the study's.

    Returns
    -------
    annotators : DataFrame
        With those of the columns that the list has.
    sha256, said : str
        Of the list, and how many of the people are in it.

    Raises
    ------
    AnalysisError
        Where the file is no such list, lacks a column, or has nobody of the study.
    """
    from spa.importers import certain_format
    from spa.importers.answer_format import ImportRequest

    wanted = [name for name in columns if name.startswith(NAMED)]
    if not wanted:
        raise AnalysisError(
            f'{path}: expected [analysis] compare_people_by to name a column of this list ("{NAMED}age_band"), got '
            f"{shortened(', '.join(columns), 80) or 'none'}"
        )
    kind = certain_format(path)
    if kind is None or all(option.name != "demographics" for option in kind.options):
        raise AnalysisError(f"{path}: expected a demographic export (Participant id, Status, ...), got another file")
    asked = [name.removeprefix(NAMED) for name in wanted if name not in ALWAYS]
    try:
        found = kind.read(ImportRequest(paths=(path,), options={"demographics": asked})).rows["annotators"]
        digest = sha256(path.read_bytes()).hexdigest()
    except ResponseError as error:
        raise AnalysisError(str(error)) from error
    of_study = {person_id(str(row["source"]), str(row["annotator_id"])): row for row in found}
    ids = annotators[WHO].to_list()
    met = len({*ids} & of_study.keys())
    if not met:
        raise AnalysisError(f"{path}: expected people who answered this study, got {len(of_study):,} others")
    joined = annotators.with_columns(
        pl.Series(name, [of_study.get(who, {}).get(name) for who in ids], dtype=pl.String) for name in wanted
    )
    return joined, digest, f"{met:,} of {len({*ids}):,} annotators are in it"


def _without(table: RawTable, columns: Collection[str]) -> RawTable:
    gone = [name for name in table.frame.columns if name in columns]
    return replace(table, frame=table.frame.drop(gone)) if gone else table
