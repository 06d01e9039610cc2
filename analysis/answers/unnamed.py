"""Answers of people whom nobody named: lists of scores, whose places are no people, and means of several people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np
import polars as pl

from analysis.answers.columns import LAYOUTS, Check, rows_named
from analysis.answers.options import Reading
from analysis.answers.reading import RawTable
from analysis.statistics.coding import fold, number
from spa.errors import AnalysisError, shortened

UNNAMED: Final = "unnamed people"  # who answered, where nobody says it; one vote a cell, whose answers are repeats
MEANS: Final = "means of people"
OF_ONE_PERSON = ("assignment_id", "repeat", "visit")  # columns that say as little as the annotator's
ASKED = {"unnamed": ("ratings", "choices", "preferences"), "means": ("ratings", "preferences")}
ABOUT_PEOPLE = ("annotators", "exclusions", "reading", "identical_pairs", "orders", "spans")


def is_unnamed(annotator: str | pl.Expr = "annotator_id") -> pl.Expr:
    """Return whether the answers of a column of annotators are of people whom nobody named, in lists."""
    column = pl.col(annotator) if isinstance(annotator, str) else annotator
    return column.cast(pl.String).str.starts_with(UNNAMED)


def is_nameless(annotator: str = "annotator_id") -> pl.Expr:
    """Return whether the answers are of people whom nobody named, in lists or as means."""
    return is_unnamed(annotator) | pl.col(annotator).cast(pl.String).str.starts_with(MEANS)


def named_rows(table: pl.DataFrame) -> pl.DataFrame:
    """Return the rows whose annotators have names: the table itself where all have."""
    names = table["annotator_id"].unique(maintain_order=True).to_frame()  # in order is faster
    return table.filter(~is_nameless()) if names.select(is_nameless().any()).item() else table


def any_unnamed(table: pl.DataFrame) -> bool:
    """Tell whether a table holds lists of people whom nobody named, from its annotators and not its rows."""
    names = table["annotator_id"].unique(maintain_order=True)  # in order is faster
    return any(str(name).startswith(UNNAMED) for name in names.to_list())


def without_names(raw: Mapping[str, Sequence[RawTable]], reading: Reading) -> dict[str, list[RawTable]]:
    """Take away who answered, where the options say that nobody knows; LLMs keep their names.

    Raises
    ------
    AnalysisError
        When both options are given, or a table is about single people.
    """
    tables = {kind: [*parts] for kind, parts in raw.items()}
    if not (reading.unnamed or reading.means):
        return tables
    option = "unnamed" if reading.unnamed else "means"
    if reading.unnamed and reading.means:
        raise AnalysisError("--unnamed, --means: expected one of them: lists of scores, or means of several people")
    problems = [
        f"--{kind.replace('_', '-')}: not with --{option}, whose answers name no people"
        for kind in tables
        if kind in ABOUT_PEOPLE or (kind in LAYOUTS and kind not in ASKED[option])
    ]
    problems += [f"{given}: not with --{option}, whose answers name no people" for given in _of_people(tables, reading)]
    if problems:
        raise AnalysisError(*problems)
    name = UNNAMED if reading.unnamed else MEANS
    return {
        kind: [_without_names(table, name, reading) for table in parts] if kind in LAYOUTS else parts
        for kind, parts in tables.items()
    }


def _of_people(tables: Mapping[str, Sequence[RawTable]], reading: Reading) -> list[str]:
    """Return the options that say which annotators are one; LLMs keep their names, and theirs may be joined."""
    given = ["--people"] if reading.people is not None else []
    frames = [table.frame for own in tables.values() for table in own]
    if reading.llms or any("annotator_kind" in frame.columns for frame in frames):
        return given
    joins = [text for text in reading.same if text.partition(":")[0] == "annotator_id"]
    return [*given, *(f"--same {shortened(text, 60)}" for text in joins)]


def _without_names(table: RawTable, name: str, reading: Reading) -> RawTable:
    frame = table.frame
    strings = frame.schema[frame.columns[0]] if frame.columns else pl.String()
    strings = pl.Categorical() if isinstance(strings, pl.Categorical) else pl.String()
    llm = pl.lit(False)
    if "annotator_id" in frame.columns:
        llm |= pl.col("annotator_id").cast(pl.String).is_in(list(reading.llms)).fill_null(False)
    if "annotator_kind" in frame.columns:
        llm |= (pl.col("annotator_kind").cast(pl.String) != "human").fill_null(False)
    shown = pl.lit(name)
    if "group" in frame.columns:  # two crowds are not one
        shown = pl.concat_str([pl.lit(name), pl.col("group").cast(pl.String)], separator=": ", ignore_nulls=True)
    named = pl.col("annotator_id") if "annotator_id" in frame.columns else pl.lit(None, dtype=strings)
    columns = [pl.when(llm).then(named.cast(pl.String)).otherwise(shown).cast(strings).alias("annotator_id")]
    lost = [column for column in OF_ONE_PERSON if column in frame.columns]
    columns += [pl.when(llm).then(pl.col(column)).alias(column) for column in lost]
    taken = [column for column in ("annotator_id", *lost) if column in frame.columns]
    said = f"{', '.join(taken)}: not read, as nobody says who answered" if taken else ""
    return replace(table, frame=frame.with_columns(columns), notes=(*table.notes, *([said] if said else [])))


def in_lists(check: Check, kind: str) -> None:
    """Give the answers of unnamed people numbers within their cell, so that the order of a list leaves no trace.

    Answers of a pair are turned to the direction in which the table first asks it. Of means a cell has one value.
    """
    check.frame = check.frame.with_row_index("at")
    ours = check.frame.filter(is_unnamed())
    if ours.height:
        if kind != "ratings":
            ours = toward_first(ours)
        check.frame = pl.concat([check.frame.filter(~is_unnamed()), _numbered(ours, kind)]).sort("at")
    check.frame = check.frame.drop("at")
    means = check.frame.filter(
        pl.col("annotator_id").cast(pl.String).str.starts_with(MEANS) & pl.col("value").is_not_null()
    )
    if means.height:
        cells = fold(*(number(means[name]) for name in cell_of(means, kind)))
        several = np.flatnonzero(np.bincount(cells.of)[cells.of] > 1)
        if len(several):
            rows = rows_named(means["row"][np.sort(several).tolist()])
            check.problems.append(
                f"{check.place}, {rows}: --means: expected one value for each output, got several; of lists of scores "
                "say --unnamed"
            )


def cell_of(frame: pl.DataFrame, kind: str) -> list[str]:
    """Return the columns that tell cells apart where nobody is named."""
    return [name for name in LAYOUTS[kind].cell if name in frame.columns and name != "assignment_id"]


def toward_first(frame: pl.DataFrame) -> pl.DataFrame:
    """Turn answers about pairs to the direction in which the table first asks each."""
    asked = frame.select("system_x", "system_y").unique(maintain_order=True)
    first: dict[frozenset[str], tuple[str, str]] = {}
    for x, y in asked.iter_rows():
        first.setdefault(frozenset((x, y)), (x, y))
    listed = pl.DataFrame([*first.values()], schema=["system_x", "system_y"], orient="row").with_columns(ahead=True)
    both = frame.join(listed, on=("system_x", "system_y"), how="left", maintain_order="left")
    ahead = pl.col("ahead").fill_null(False)
    sides = [(f"{name}_x", f"{name}_y") for name in ("system", "sample", "label") if f"{name}_x" in frame.columns]
    turned = {x: pl.when(ahead).then(x).otherwise(y) for x, y in sides}
    turned |= {y: pl.when(ahead).then(y).otherwise(x) for x, y in sides}
    turned["value"] = pl.when(ahead).then("value").otherwise(1 - pl.col("value"))
    swapped = pl.col("text").replace({"x": "y", "y": "x"})
    turned["text"] = pl.when(ahead).then("text").otherwise(swapped)
    return both.with_columns(**turned).drop("ahead")


def _numbered(frame: pl.DataFrame, kind: str) -> pl.DataFrame:
    cells = fold(*(number(frame[name]) for name in cell_of(frame, kind)))
    frame = frame.with_columns(cell=pl.Series(cells.of))
    others = [name for name in frame.columns if name not in ("at", "row", "cell", "value", "repeat")]
    as_text = [pl.col(name).cast(pl.String) for name in others]
    ranked = frame.sort("cell", "value", *as_text, nulls_last=True)
    places = frame.sort("cell", "at").select("at", "row")
    ranked = ranked.with_columns(places["at"], places["row"])
    repeat = (pl.int_range(pl.len()).over("cell") + 1).cast(pl.String).cast(frame.schema["repeat"])
    return ranked.with_columns(repeat=repeat).drop("cell").select(frame.drop("cell").columns)
