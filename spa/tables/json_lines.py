"""JSON lines: one object a line."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from spa.errors import TableError
from spa.files import json_object
from spa.tables.bounds import check_depth
from spa.tables.options import TableOptions
from spa.tables.records import Records, gathered
from spa.tables.source import Source, Wanted, json_decoder
from spa.tables.text_files import check_table_file, utf8_lines


def read_json_lines(path: Path, *, halves: bool = False) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the objects of a JSON lines file with the numbers of their lines.

    Numbers are texts as they are written (:class:`Number`); NaN is ``None``. Raise TableError where a line is no JSON
    object, has a key twice, or is not UTF-8; ``halves`` of surrogate pairs may be allowed.
    """
    check_table_file(path)
    decoder, begun = json_decoder(), False
    for number, line in utf8_lines(path):
        if not (text := line.strip(" \t\r\n")):
            continue
        try:
            check_depth(text)
            read = json_object(text, decoder)
            if "\\u" in text and not halves:
                json.dumps(read, ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            raise TableError(f"{path}, line {number}: expected UTF-8, got half of a surrogate pair") from error
        except ValueError as error:
            what = ""
            if not begun and (text.startswith("[") or text == "{"):
                of = "one array" if text.startswith("[") else "an array of objects that go on over lines"
                what = f"; if the file is {of}, call it .json"
            elif begun:
                what = "; where the file breaks off, remove that line or make it again"
            raise TableError(f"{path}, line {number}: {error}{what}") from error
        begun = True
        yield number, read


def open_json_lines(path: Path, wanted: Wanted, options: TableOptions) -> Source:
    """Read the wanted keys of each line that is not blank."""
    (source,) = json_lines_slices(path, wanted, options, sys.maxsize)
    return source


def json_lines_slices(path: Path, wanted: Wanted, options: TableOptions, rows: int) -> Iterator[Source]:
    """Yield the same some lines at a time, each time with the keys that stand in these or before."""
    lines = read_json_lines(path, halves=not wanted.guarded)
    expected = "expected one JSON object a line, got an empty file"
    return gathered(lines, Records(str(path), "line", wanted.columns), rows=rows, expected=expected)
