"""Records of other tools that hold lists and objects: in JSON files, a line each, or as JSON in the cells of CSV."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from spa.errors import ResponseError, TableError
from spa.importers.foreign_files import OBJECT, of_kind

TABLES, LINES, WHOLE = (".csv",), (".jsonl", ".ndjson", ".txt"), (".json",)
NULL = "null"
Record = Mapping[str, Any]


def nested_records(path: Path, unit: str) -> Iterator[tuple[str, Record]]:
    """Yield the records of a file with their places; ``unit`` is what one is called in a JSON file.

    A cell of CSV that is empty has no key, one that says null is ``None``.
    """
    from spa.importers.foreign_rows import read_rows
    from spa.tables.json_files import json_value, read_json
    from spa.tables.text_files import check_table_file, utf8_lines

    suffix = path.suffix.lower()
    if suffix in WHOLE:
        found = read_json(path)
        yield from _flat([found] if isinstance(found, dict) else found, str(path), unit)
    elif suffix in LINES:
        check_table_file(path)
        for at, line in utf8_lines(path):
            if line.strip():
                found = json_value(line, f"{path}, line {at}")
                if isinstance(found, dict):
                    yield f"{path}, line {at}", found
                else:
                    yield from _flat(found, f"{path}, line {at}", unit)
    else:
        for row in read_rows(path):
            yield row.place, {name: _cell(cell) for name, cell in row.cells.items() if cell not in (None, "")}


def _flat(found: object, place: str, unit: str) -> Iterator[tuple[str, Record]]:
    """Yield objects of a list, or of the lists in it."""
    if not isinstance(found, list):
        raise ResponseError(f"{place}: expected a list of {unit}s, got something else")
    for at, one in enumerate(found, start=1):
        spot = f"{place}, {unit} {at}"
        if isinstance(one, list):
            yield from _flat(one, spot, unit)
        else:
            yield spot, of_kind(OBJECT, one, spot)


def _cell(cell: object) -> object:
    """Return what a cell of CSV holds: nothing for ``null``, a list or object of JSON, else its text."""
    from spa.tables.json_files import json_value

    if cell == NULL:
        return None
    if isinstance(cell, str) and cell[:1] in ("{", "[") and cell[-1:] in ("}", "]"):
        try:
            return json_value(cell, "")
        except TableError:
            return cell
    return cell
