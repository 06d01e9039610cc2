"""Frames of other libraries to polars frames, without a dependency on any of them; result records to a frame."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, fields, is_dataclass
from typing import Any, TypeAlias

import numpy as np
import polars as pl

from analysis.statistics.reasons import Reason
from analysis.statistics.record import Record, plain, reasons_of
from spa.errors import AnalysisError, ArgumentProblem, shortened
from spa.tables.r_names import own_names

NOT_IN_R = ("repeat",)  # columns that `spa export --column-names r` calls otherwise
Frame: TypeAlias = Any  # a polars or pandas frame, an Arrow table, or a mapping of column names to values


def is_frame(data: object) -> bool:
    """Return whether :func:`polars_of` can read the data.

    >>> is_frame(pl.DataFrame({"score": [1]})), is_frame([[1, 2]])
    (True, False)
    >>> is_frame(pl.Series([1, 2]))
    False
    """
    return isinstance(data, pl.DataFrame | pl.LazyFrame | Mapping) or _is_pandas(data) or _is_arrow(data)


def polars_of(frame: Frame, *, place: str = "table") -> pl.DataFrame:
    """Return the frame as polars.

    Parameters
    ----------
    frame : polars or pandas frame, Arrow table, or mapping of str to sequence
        A pandas frame is read column by column and its index is left out; pandas need not be installed
        for anything else.
    place : str
        What an error calls the frame.

    Raises
    ------
    AnalysisError
        A column name occurs twice, or columns differ in length.
    TypeError
        The data are no frame.

    >>> polars_of({"score": [1, 2]}).shape
    (2, 1)
    """
    if isinstance(frame, pl.DataFrame):
        return frame
    if isinstance(frame, pl.LazyFrame):
        return frame.collect()
    if _is_pandas(frame):
        return _from_pandas(frame, place)
    if not is_frame(frame):
        raise TypeError(f"{place}: expected a polars or pandas frame, got {type(frame).__name__}")
    try:
        return pl.DataFrame(frame, strict=False)
    except pl.exceptions.ShapeError as error:
        raise AnalysisError(f"{place}: all columns must have the same length") from error


def rename_columns(frame: pl.DataFrame, mapping: Mapping[str, str] | None, *, place: str) -> pl.DataFrame:
    """Rename columns: yours -> that of the tidy table.

    >>> rename_columns(pl.DataFrame({"rater": ["a"]}), {"rater": "annotator_id"}, place="table").columns
    ['annotator_id']
    """
    if not mapping:
        return frame
    if problems := mapping_problems(frame.columns, mapping):
        raise AnalysisError(*problems)
    return frame.rename(tidy_names(frame.columns, mapping, place))


def tidy_names(columns: Iterable[str], mapping: Mapping[str, str], place: str) -> dict[str, str]:
    """Return each column's name in the tidy table; refuse two of one name."""
    given = [*columns]
    own = own_names(given, NOT_IN_R)
    names = {name: mapping.get(name, own.get(name, name)) for name in given}
    doubled = sorted(name for name, times in Counter(names.values()).items() if times > 1)
    if doubled:
        listed = shortened(", ".join(names), 200)
        before = f"{place}: expected each column once, got {shortened(', '.join(doubled))} twice (columns {listed}); "
        raise AnalysisError(ArgumentProblem("mapping", before=f"{before}rename one (", after=")"))
    return names


def mapping_problems(columns: Iterable[str], mapping: Mapping[str, str]) -> list[str]:
    """Return a problem for each column of ``mapping`` that no table has."""
    there = sorted(columns)
    after = f": expected a column of that name in a table, got {shortened(', '.join(there), 200)}"
    return [
        ArgumentProblem(
            "mapping",
            in_python="=" + shortened(repr({old: new})),
            in_command=" " + shortened(f"{old}={new}"),
            after=after,
        )
        for old, new in mapping.items()
        if old not in there
    ]


def as_frame(records: Iterable[Any]) -> pl.DataFrame:
    """Return result records as a polars frame (``.to_pandas()`` of it gives pandas).

    Parameters
    ----------
    records : iterable of dataclasses, or one with arrays over systems
        What the functions of this package return.

    Examples
    --------
    >>> from analysis import pairwise_agreement
    >>> as_frame(pairwise_agreement([[1, 1], [2, 3], [3, 3]])).select("annotator_x", "n_items").rows()
    [('1', 3)]
    """
    rows = _rows_over_systems(records) if is_dataclass(records) else [_cells(record) for record in records]
    return pl.DataFrame(rows, infer_schema_length=None) if rows else pl.DataFrame()


def _from_pandas(frame: Any, place: str) -> pl.DataFrame:
    names = [str(name) for name in frame.columns]
    doubled = sorted({name for name in names if names.count(name) > 1})
    if doubled:
        raise AnalysisError(f"{place}: expected each column once, got {', '.join(doubled)} twice; remove or rename one")
    return pl.DataFrame([_series(name, frame[column]) for name, column in zip(names, frame.columns, strict=True)])


def _series(name: str, column: Any) -> pl.Series:
    values = column.to_numpy()
    if values.dtype.kind in "iufb":
        return pl.Series(name, values)
    gone = column.isna().to_numpy()
    listed = [
        None if missing else value if isinstance(value, str) else str(value)
        for value, missing in zip(values.tolist(), gone.tolist(), strict=True)
    ]
    return pl.Series(name, listed, dtype=pl.String)


def _is_pandas(data: object) -> bool:
    return type(data).__module__.partition(".")[0] == "pandas" and hasattr(data, "columns")


def _is_arrow(data: object) -> bool:
    """Return whether a table can be streamed; a single column streams too, but has no named columns."""
    named = hasattr(data, "column_names") or hasattr(data, "columns")
    return named and hasattr(data, "__arrow_c_stream__")


def _cells(record: Any) -> dict[str, Any]:
    if not is_dataclass(record) or isinstance(record, type):
        raise TypeError(f"expected result records, got {type(record).__name__}")
    cells: dict[str, Any] = {}
    for field in fields(record):
        value = getattr(record, field.name)
        cells[field.name] = _cell(value)
        if isinstance(value, Reason) or field.name in reasons_of(type(record)):
            cells[f"{field.name}_code"] = None if value is None else value.code
    return cells


def _cell(value: Any) -> Any:
    if isinstance(value, Reason):
        return str(value)
    if isinstance(value, Record):
        return _cell(plain(value))
    if is_dataclass(value) and not isinstance(value, type):
        return _cell(asdict(value))
    if isinstance(value, Mapping):
        return json.dumps(dict(value), sort_keys=True, default=str)
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, tuple):
        return [_cell(part) for part in value]
    return value


def _rows_over_systems(record: Any) -> list[dict[str, Any]]:
    """Spread one record with arrays over systems to a row a system; NaN becomes null."""
    systems = getattr(record, "systems", None)
    if systems is None:
        return [_cells(record)]
    columns: dict[str, Any] = {"system": list(systems)}
    for field in fields(record):
        value = getattr(record, field.name)
        if field.name == "systems" or not isinstance(value, np.ndarray | tuple) or len(value) != len(systems):
            continue
        if isinstance(value, np.ndarray) and value.ndim > 1:
            continue
        listed = value.tolist() if isinstance(value, np.ndarray) else [_cell(one) for one in value]
        columns[field.name] = [None if isinstance(cell, float) and np.isnan(cell) else cell for cell in listed]
    return pl.DataFrame(columns, strict=False).to_dicts()
