"""Columns that a file stores with types: as texts, and as the values that JSON would hold."""

from __future__ import annotations

import datetime
import math
import re
from decimal import Decimal

import polars as pl

from spa.errors import TableError, shortened
from spa.tables.source import Number, json_decoder

JSON_CELLS = "arrow.json"  # extension type of Arrow: each cell is a text of JSON
MIDNIGHT = r" 00:00:00(\.0+)?([+-]\d\d:\d\d)?$"
NOT_A_NUMBER = "NaN"  # as polars writes it


def holds_json(kind: pl.DataType) -> bool:
    """Whether the cells of a column of this type are JSON."""
    return isinstance(kind, pl.Extension) and kind.ext_name() == JSON_CELLS


def as_texts(column: pl.Series) -> pl.Series:
    """Return a column of single values as texts.

    Numbers are written as polars writes them; dates, and times of midnight, as YYYY-MM-DD.

    >>> as_texts(pl.Series([datetime.datetime(2026, 1, 2), datetime.datetime(2026, 1, 2, 3)])).to_list()
    ['2026-01-02', '2026-01-02 03:00:00.000000']
    """
    texts = column.cast(pl.String)
    return texts.str.replace(MIDNIGHT, "") if isinstance(column.dtype, pl.Datetime) else texts


def json_cells(column: pl.Series, place: str) -> list[object]:
    """Return the values of a column whose cells are JSON."""
    decoder = json_decoder()
    texts = column.ext.storage().to_list()
    try:
        return [None if text is None else decoder.decode(text) for text in texts]
    except (ValueError, RecursionError) as error:
        found = shortened(str(error) or type(error).__name__, 160)
        raise TableError(
            f"{place}: column {column.name}: expected JSON in its cells, got a mistake: {found}"
        ) from error


def json_values(column: pl.Series, place: str) -> list[object]:
    """Return what JSON would hold: texts, numbers as :class:`Number`, true and false, lists, objects, ``None``."""
    kind = column.dtype
    if holds_json(kind):
        return json_cells(column, place)
    if kind.is_nested():
        return [_value(value, place) for value in column.to_list()]
    if kind == pl.Boolean:
        return column.to_list()
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
