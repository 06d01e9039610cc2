"""Texts that a spreadsheet would run as a formula: guarded in CSV files of ours, read back as they were."""

from __future__ import annotations

import re

import polars as pl

STARTS = (
    r"'*[=+\-@\t\r\n＝＋－＠]"  # a spreadsheet runs a cell that begins so; apostrophes, lest one of ours be mistaken
)
FORMULA = f"^{STARTS}"
GUARDED = f"^'({STARTS})"


def without_formulas(frame: pl.DataFrame) -> pl.DataFrame:
    """Put an apostrophe before the texts that a spreadsheet would run as a formula; numbers are left alone.

    :func:`unguarded` takes it off again.
    """
    texts = pl.col(pl.String)
    return frame.with_columns(pl.when(texts.str.contains(FORMULA)).then("'" + texts).otherwise(texts).name.keep())


def without_formula(text: str) -> str:
    """Put an apostrophe before one text that a spreadsheet would run.

    >>> without_formula("=1+1"), without_formula("'=1+1"), without_formula("1+1")
    ("'=1+1", "''=1+1", '1+1')
    """
    return f"'{text}" if re.match(FORMULA, text) else text


def unguarded(frame: pl.DataFrame) -> pl.DataFrame:
    """Take off the apostrophes of :func:`without_formulas`."""
    guarded = [column for column in frame.columns if _texts(frame[column]).str.starts_with("'").any()]
    return frame.with_columns(
        pl.col(name).cast(pl.String).str.replace(GUARDED, "$1").cast(frame.schema[name]) for name in guarded
    )


def _texts(column: pl.Series) -> pl.Series:
    return column.unique(maintain_order=True).cast(pl.String) if column.dtype == pl.Categorical else column
