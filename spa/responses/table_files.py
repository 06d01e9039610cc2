"""Tables as files, written whole or not at all; their codebook says each column's type, and its class in R."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import polars as pl

from spa.elicitation import judgements
from spa.files import written_whole
from spa.responses.tidy_tables import Tables
from spa.tables.formulas import without_formulas
from spa.tables.r_names import r_names

FILE = "codebook.tsv"  # whose ending no pattern for tables of answers has
TYPES = {  # of columns, in words and as a class of R
    "String": ("text", "character"),
    "Int64": ("whole number", "integer"),
    "Float64": ("number", "numeric"),
    "Boolean": ("true or false", "logical"),
}
TableFormat = Literal["csv", "parquet", "jsonl"]
Names = Literal["own", "r"]
ABOUT = {
    "identical_pairs": "ratings of outputs that equal their source, one row an answer",
    "annotators": "one row an annotator, under a pseudonym",
    "exclusions": "whom reviewers left out of the analysis, and why",
    "decisions": "what two reviewers decided, who and when",
    "dashboard_log": "who decided, took files away or looked behind the labels, and when",
    "conduct": "how each page was filled in, one row a page: evidence, no verdict",
    "reading": "how long each output was on screen, one row an output on a page",
}


def table_words() -> dict[str, str]:
    """Return what the rows of each table are, by its name."""
    return ABOUT | {one.table: one.about for one in judgements().values()}


def write_tables(tables: Tables, folder: Path, *, format: TableFormat = "csv", names: Names = "own") -> list[Path]:
    """Write each table to a file of its own, whole or not at all, and return the paths.

    ``names``: "own", or "r" for columns that R takes as they are (:func:`spa.tables.r_names.r_names`).
    """
    paths = []
    for name, table in tables.files.items():
        paths.append(folder / f"{name}.{format}")
        written = table if names == "own" else table.rename(r_names(table.columns))
        write_table(written, paths[-1], format=format)
    return paths


def write_codebook(tables: Tables, folder: Path) -> Path:
    """Write what columns the tables have, tab-separated, and return the path."""
    path = folder / FILE
    with written_whole(path, private=True) as temporary:
        without_formulas(codebook(tables.files)).write_csv(temporary, separator="\t")
    return path


def write_table(frame: pl.DataFrame, path: Path, *, format: TableFormat) -> None:
    """Write one table, whole or not at all; texts of a CSV that a spreadsheet would run get an apostrophe in front."""
    with written_whole(path, private=True) as temporary:
        if format == "csv":
            without_formulas(frame).write_csv(temporary)
        elif format == "parquet":
            frame.write_parquet(temporary)
        else:
            frame.write_ndjson(temporary)


def codebook(tables: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """Return one row a column of each table.

    Parameters
    ----------
    tables : mapping of str to DataFrame
        Tables by name, columns with their own names.

    Returns
    -------
    DataFrame
        ``table, column, r_name, type, r_class``. Truths are written as true and false, and an empty cell is missing.
    """
    rows = [
        {"table": name, "column": column, "r_name": alias, "type": words, "r_class": r_class}
        for name, table in tables.items()
        for column, alias in r_names(table.columns).items()
        for words, r_class in [TYPES[str(table.schema[column])]]
    ]
    return pl.DataFrame(rows, schema=dict.fromkeys(("table", "column", "r_name", "type", "r_class"), pl.String))


def with_own_names(table: pl.DataFrame, name: str, book: pl.DataFrame) -> pl.DataFrame:
    """Give the columns of a table that was exported with names in R their own names again."""
    rows = book.filter(pl.col("table") == name)
    back = dict(zip(rows["r_name"], rows["column"], strict=True))
    return table.rename({column: back[column] for column in table.columns if column in back})
