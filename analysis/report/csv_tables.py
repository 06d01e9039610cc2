"""Every array of results.json as a CSV table, in full precision."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from analysis import rooms
from analysis.records.results import Nested, Results
from analysis.statistics.reasons import Reason
from analysis.statistics.record import fields_of, kind_of, names_of, plain, values_of
from spa.tables.formulas import without_formula

WITHOUT = ("careless", "careless_sign_counts", "observed_power", "warnings", "warning_rows", "conventions")
NESTED = json.JSONEncoder(ensure_ascii=False, sort_keys=True, default=plain)
NUMBERS = {int, float, type(None)}
TEXTS = {str, type(None)}


def csv_tables(results: Results) -> dict[str, str]:
    """Return the text of each table by its file name; arrays without rows are left out.

    Numbers are written so that reading them gives the same number; nothing known is an empty field. Texts that a
    spreadsheet would run get an apostrophe in front.
    """
    arrays: dict[str, Sequence[Any]] = {
        name: rows for name, rows in fields_of(results).items() if isinstance(rows, tuple) and name not in WITHOUT
    }
    for name, value in fields_of(results).items():
        if isinstance(value, Nested):
            arrays |= {f"{name}_{inner}": rows for inner, rows in fields_of(value).items()}
    for contribution in rooms.CONTRIBUTIONS:
        for key, tables in contribution.tables.items():
            arrays.pop(key.name.replace(".", "_"), None)
            if (value := key.of(results)) is not None:
                arrays |= {name: [*arrays.get(name, ()), *rows] for name, rows in tables(value).items()}
    return {f"{name}.csv": render_csv(rows) for name, rows in sorted(arrays.items()) if rows}


def render_csv(rows: Sequence[Any]) -> str:
    r"""Return rows, which are records or dicts, as CSV with a header of all their keys.

    >>> render_csv([{"mean": 0.1, "verdict": None}])
    'mean,verdict\n0.1,\n'
    """
    if kind := kind_of(rows):
        names: Iterable[str] = names_of(kind)
        columns: Iterable[Sequence[Any]] = zip(*map(values_of, rows), strict=True)
    else:
        entries = [row if isinstance(row, Mapping) else fields_of(row) for row in rows]
        names = dict.fromkeys(key for entry in entries for key in entry)
        columns = ([entry.get(name) for entry in entries] for name in names)
    laid_out = [pair for name, column in zip(names, columns, strict=True) for pair in _with_codes(name, column)]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(name for name, _ in laid_out)
    writer.writerows(zip(*(_written(column) for _, column in laid_out), strict=True))
    return text.getvalue()


def _with_codes(name: str, column: Sequence[Any]) -> Iterator[tuple[str, Sequence[Any]]]:
    """Lay out reasons as two columns: their words, and their codes."""
    if name.endswith("reason") and all(value is None or isinstance(value, Reason) for value in column):
        yield name, [None if reason is None else str(reason) for reason in column]
        yield f"{name}_code", [None if reason is None else reason.code for reason in column]
    else:
        yield name, column


def _written(column: Sequence[Any]) -> Sequence[Any]:
    """Return the fields of a column, whose numbers are written as Python does and texts mostly return."""
    kinds = {type(value) for value in column}
    if kinds <= NUMBERS:
        return column
    if kinds <= TEXTS:
        written = {text: _field(text) for text in set(column)}
        return [written[text] for text in column]
    return [_field(value) for value in column]


def _field(value: Any) -> Any:
    if isinstance(value, str):
        return without_formula(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if type(value) in NUMBERS else NESTED.encode(value)
