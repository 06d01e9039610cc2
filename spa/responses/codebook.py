"""The codebook of exported tables: every column with its type, and its name and class in R."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from spa.tables.r_names import r_names

FILE = "codebook.tsv"  # whose ending no pattern for tables of answers has
TYPES = {  # of columns, in words and as a class of R
    "String": ("text", "character"),
    "Int64": ("whole number", "integer"),
    "Float64": ("number", "numeric"),
    "Boolean": ("true or false", "logical"),
}


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
