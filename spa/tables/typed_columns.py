"""Columns that a file stores with types: as texts, and as the values that JSON would hold."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import polars as pl

from spa.errors import TableError, shortened, unreadable
from spa.tables.bounds import check_depth
from spa.tables.source import Number, Source, json_decoder

JSON_CELLS = "arrow.json"  # extension type of Arrow: each cell is a text of JSON
MIDNIGHT = r" 00:00:00(\.0+)?([+-]\d\d:\d\d)?$"
NOT_A_NUMBER = "NaN"  # as polars writes it


def kind_read(kind: pl.DataType) -> pl.DataType:
    """Return the type of a column as :func:`plain_column` returns it."""
    if not isinstance(kind, pl.Extension):
        return pl.String() if kind == pl.Binary else kind
    storage = kind.ext_storage()
    return storage if isinstance(storage, pl.DataType) and kind.ext_name() != JSON_CELLS else pl.String()


def plain_column(column: pl.Series, place: str, first_row: int = 1) -> pl.Series:
    """Return a column without types of extension: what JSON in its cells says, as texts; bytes as texts.

    Raise TableError where a cell of JSON holds a list or an object, or bytes are no text.
    """
    if column.dtype == pl.Binary:
        return _texts_of_bytes(column, place)
    if not isinstance(column.dtype, pl.Extension):
        return column
    if column.dtype.ext_name() != JSON_CELLS:
        return column.ext.storage()
    values = _json_cells(column, place, first_row)
    for row, value in enumerate(values, start=first_row):
        if isinstance(value, list | dict):
            got = "a list" if isinstance(value, list) else "an object"
            raise TableError(f"{place}, row {row}: {column.name}: expected one value, got {got}")
    texts = [str(value).lower() if isinstance(value, bool) else value for value in values]
    return pl.Series(column.name, texts, dtype=pl.String)


def _texts_of_bytes(column: pl.Series, place: str) -> pl.Series:
    try:
        return column.cast(pl.String)
    except pl.exceptions.PolarsError as error:
        raise TableError(f"{place}: column {column.name}: expected texts, got bytes that are not UTF-8") from error


def typed_source(
    path: Path, kind: str, schema: pl.Schema, height: int, column: Callable[[str], pl.Series], first_row: int = 1
) -> Source:
    """Return a file that stores columns with types as a source; ``kind`` is what messages call its format."""

    def whole(name: str) -> pl.Series:
        try:
            return column(name)
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:  # the schema alone was read before
            reason = shortened(str(error).strip().partition("\n")[0] or type(error).__name__, 160)
            raise TableError(
                f"{path}, {shortened(name, 40)}: cannot be read as {kind}: {reason}; make or download it again"
            ) from error
        except OSError as error:  # of the disk, or what a codec says of a damaged block
            raise TableError(unreadable(path, error)) from error

    return Source(
        place=str(path),
        schema={name: kind_read(stored) for name, stored in schema.items()},
        height=height,
        first_row=first_row,
        column=lambda name: plain_column(whole(name), str(path), first_row),
        values=lambda name: json_values(whole(name), str(path), first_row),
    )


def as_texts(column: pl.Series) -> pl.Series:
    """Return a column of single values as texts.

    Numbers are written as polars writes them; dates, and times of midnight, as YYYY-MM-DD.

    >>> as_texts(pl.Series([datetime.datetime(2026, 1, 2), datetime.datetime(2026, 1, 2, 3)])).to_list()
    ['2026-01-02', '2026-01-02 03:00:00.000000']
    """
    texts = column.cast(pl.String)
    return texts.str.replace(MIDNIGHT, "") if isinstance(column.dtype, pl.Datetime) else texts


def _json_cells(column: pl.Series, place: str, first_row: int) -> list[object]:
    """Return the values of a column whose cells are JSON."""
    decoder = json_decoder()
    values: list[object] = []
    for row, text in enumerate(column.ext.storage().to_list(), start=first_row):
        try:
            if text is not None:
                check_depth(text)
            values.append(None if text is None else decoder.decode(text))
        except (ValueError, RecursionError) as error:
            found = shortened(str(error) or type(error).__name__, 160)
            problem = f"{place}, row {row}: {column.name}: expected JSON in the cell, got a mistake: {found}"
            raise TableError(problem) from error
    return values


def json_values(column: pl.Series, place: str, first_row: int = 1) -> list[object]:
    """Return what JSON would hold: texts, numbers as :class:`Number`, true and false, lists, objects, ``None``."""
    kind = column.dtype
    if isinstance(kind, pl.Extension) and kind.ext_name() == JSON_CELLS:
        return _json_cells(column, place, first_row)
    column = plain_column(column, place, first_row)
    kind = column.dtype
    if kind.is_nested():
        return [_value(value, place) for value in column.to_list()]
    if kind == pl.Boolean:
        return column.to_list()
    if isinstance(kind, pl.Duration):
        raise TableError(f"{place}: column {column.name}: expected texts or numbers, got durations")
    texts = as_texts(column).to_list()
    if not kind.is_numeric():
        return texts
    return [None if text is None or text == NOT_A_NUMBER else Number(text) for text in texts]


def _value(value: object, place: str) -> object:
    """Return a value inside a list or an object as JSON would hold it."""
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, list | pl.Series):
        return [_value(one, place) for one in value]
    if isinstance(value, dict):
        return {name: _value(one, place) for name, one in value.items()}
    if isinstance(value, int | float | Decimal):
        return None if math.isnan(value) else Number(value)
    if isinstance(value, datetime.date | datetime.time):
        return re.sub(MIDNIGHT, "", str(value))
    raise TableError(f"{place}: expected texts, numbers, lists and objects, got {type(value).__name__}")
