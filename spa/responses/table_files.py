"""Tidy tables as files: CSV, Parquet or JSONL, each whole or not there."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import polars as pl

from spa.files import written_whole
from spa.responses.tidy_tables import TABLES, Tables

TableFormat = Literal["csv", "parquet", "jsonl"]
FREE_TEXTS = ("explanation", "evidence")
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")  # a spreadsheet runs a cell that begins so


def write_tables(tables: Tables, folder: Path, *, format: TableFormat = "csv") -> list[Path]:
    """Write each table to a file of its own, whole or not at all, and return the paths.

    In CSV files the free texts (``screening:...``, ``explanation``) that a spreadsheet would run as a formula get an
    apostrophe in front; numbers never do. The other formats keep them as they are.
    """
    written = []
    for name in TABLES:
        frame: pl.DataFrame = getattr(tables, name)
        path = folder / f"{name}.{format}"
        with written_whole(path) as temporary:
            if format == "csv":
                without_formulas(frame, _free_texts(frame)).write_csv(temporary)
            elif format == "parquet":
                frame.write_parquet(temporary)
            else:
                frame.write_ndjson(temporary)
        written.append(path)
    return written


def without_formulas(frame: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """Put an apostrophe before the texts of some columns that a spreadsheet would run as a formula."""
    if not names:
        return frame
    outsiders = pl.col(names)
    risky = outsiders.str.slice(0, 1).is_in(FORMULA_STARTS)
    return frame.with_columns(pl.when(risky).then("'" + outsiders).otherwise(outsiders).name.keep())


def _free_texts(frame: pl.DataFrame) -> list[str]:
    return [name for name in frame.columns if name.startswith("screening:") or name in FREE_TEXTS]
