"""Workbooks (.xlsx): one sheet, its cells as a reader of the sheet sees them."""

from __future__ import annotations

import datetime
import lzma
import re
import sys
import warnings
import zipfile
import zlib
from collections import Counter
from collections.abc import Container, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from spa.errors import TableError, how_to_install, shortened
from spa.tables.bounds import MOST_CELLS, MOST_MEMBERS, MOST_ROWS, most_unpacked
from spa.tables.options import TableOptions
from spa.tables.records import Records, gathered
from spa.tables.source import Number, Source, Wanted

BROKEN = (  # what openpyxl, and what unpacks, raise of files that are no workbooks; of XML, SyntaxError
    ArithmeticError, AttributeError, EOFError, KeyError, LookupError, RuntimeError, SyntaxError, TypeError, ValueError,
    lzma.LZMAError, zipfile.BadZipFile, zlib.error,
)  # fmt: skip
ESCAPED = re.compile("_x000([9AD])_")  # tabs and line ends, as Excel writes some of them
DIGITS = 15  # of a number that Excel keeps, and shows where a cell is entered
MIDNIGHT = datetime.time()


def open_workbook(path: Path, wanted: Wanted, options: TableOptions) -> Source:
    """Read a sheet: the first that can be seen, or the one that the options name.

    Its first row that is not empty holds the names of columns; one without is called by its place (``column_0``), as in
    delimited text, where the first row below has a cell there, and left out elsewhere. Numbers are written
    as Excel shows them in full (2, not 2.0; 007 where the cell is formatted so), dates as YYYY-MM-DD.
    """
    (source,) = workbook_slices(path, wanted, options, sys.maxsize)
    return source


def sheet_titles(path: Path) -> tuple[str, ...]:
    """Return what the sheets are called that can be seen.

    Raise TableError where the file is no workbook.
    """
    with _opened(path, data_only=True) as book:
        return tuple(sheet.title for sheet in book.worksheets if sheet.sheet_state == "visible")


def workbook_slices(path: Path, wanted: Wanted, options: TableOptions, rows: int) -> Iterator[Source]:
    """Yield the same about ``rows`` rows at a time."""
    with _opened(path, data_only=True) as book:
        sheet, notes = _sheet(path, book, options.sheet)
        place = f"{path}, sheet {shortened(sheet.title)!r}" if len(book.sheetnames) > 1 else str(path)
        expected = f"expected a row with names of columns and rows, got {'none' if notes else 'an empty sheet'}"
        if others := [repr(one.title) for one in book.worksheets if one.title != sheet.title]:
            expected += f"; say which sheet is read (--sheet, sheet in [outputs]): {shortened(', '.join(others), 160)}"
        found = _records(path, place, sheet, wanted)
        for source in gathered(found, Records(place, "row", wanted.columns), rows=rows, expected=expected):
            yield replace(source, place=str(path), notes=notes)


@contextmanager
def _opened(path: Path, *, data_only: bool) -> Iterator[Any]:
    try:
        from openpyxl import load_workbook
    except ImportError as error:
        raise TableError(f"{path}: expected the package that reads .xlsx; {how_to_install('xlsx')}") from error
    try:
        _check_size(path)
        with path.open("rb") as file, warnings.catch_warnings():  # of a damaged one the library leaves its own open
            warnings.simplefilter("ignore")  # of what it cannot show, such as rules for input
            book = load_workbook(file, read_only=True, data_only=data_only, keep_links=False)
            try:
                yield book
            finally:
                book.close()
    except BROKEN as error:
        reason = shortened(str(error).partition("\n")[0] or type(error).__name__, 160)
        raise TableError(f"{path}: cannot be read as xlsx: {reason}; save it again from a spreadsheet") from error


def _check_size(path: Path) -> None:
    """Refuse a workbook that would unpack to more than tables do; its parts never exceed the sizes that they claim."""
    with zipfile.ZipFile(path) as packed:
        members = packed.infolist()
    size, most = sum(member.file_size for member in members), most_unpacked(path)
    if len(members) > MOST_MEMBERS:
        raise TableError(f"{path}: expected at most {MOST_MEMBERS} files in a workbook, got {len(members)}")
    if size > most:
        raise TableError(f"{path}: expected at most {most} bytes in a file of its size, got {size}")


def _sheet(path: Path, book: Any, name: str | None) -> tuple[Any, tuple[str, ...]]:
    """Return the sheet that is read, and what is to be said of that."""
    sheets = [sheet for sheet in book.worksheets if name is not None or sheet.sheet_state == "visible"]
    titles = shortened(", ".join(repr(sheet.title) for sheet in sheets), 160)
    found = [sheet for sheet in sheets if name is None or sheet.title == name]
    if not found:
        expected = "a sheet that can be seen" if name is None else f"a sheet {shortened(name)!r}"
        raise TableError(f"{path}: expected {expected}, got {titles or 'none'}")
    if len(sheets) == 1:
        return found[0], ()
    which = f"the sheet {shortened(found[0].title)!r} of {len(sheets)}"
    return found[0], (f"read from {which}",)


def _records(path: Path, place: str, sheet: Any, wanted: Wanted) -> Iterator[tuple[int, Mapping[str, object]]]:
    """Yield the rows below the header that are not empty, with their numbers in the sheet."""
    sheet.reset_dimensions()  # what it claims need not be so
    header: dict[int, str] = {}
    record: dict[str, object]
    cells, empty, begun = 0, set[tuple[int, int]](), False
    for number, row in enumerate(sheet.iter_rows(), start=1):
        cells += len(row)
        if number > MOST_ROWS or cells > MOST_CELLS:
            raise TableError(f"{place}: expected at most {MOST_ROWS} rows and {MOST_CELLS} cells, got more")
        if not header:
            header = _header(place, row)
            continue
        if not begun and any(cell.value is not None for cell in row):
            begun = True
            if len(header) == 1:
                _refuse_title(place, number, header, row)
            unnamed = {at: f"column_{at}" for at, cell in enumerate(row) if cell.value is not None and at not in header}
            header = dict(
                sorted((header | {at: name for at, name in unnamed.items() if name not in header.values()}).items())
            )
        record = dict.fromkeys(header.values())
        for at, name in header.items():
            cell = row[at] if at < len(row) else None
            if name in wanted.columns:
                record[name] = None if cell is None else _value(place, cell)
                if record[name] is None:
                    empty.add((number, at))
            elif cell is not None:
                record[name] = cell.value
        if any(value is not None for value in record.values()):
            yield number, record
    if empty:
        _refuse_formulas(path, place, sheet.title, empty)


def _refuse_title(place: str, number: int, header: Mapping[int, str], row: Any) -> None:
    """Refuse one name above a row of several texts, the first in its column: a title of the table."""
    ((at, title),) = header.items()
    cells = {column: cell.value for column, cell in enumerate(row) if cell.value is not None}
    if len(cells) > 1 and min(cells) == at and all(isinstance(value, str) for value in cells.values()):
        raise TableError(
            f"{place}: expected the names of columns in the first row, got a title ({shortened(title, 60)}); remove "
            f"the rows above row {number} ({shortened(', '.join(cells.values()), 120)})"
        )


def _refuse_formulas(path: Path, place: str, title: str, empty: Container[tuple[int, int]]) -> None:
    """Refuse formulas in ``empty`` cells: the program that wrote the file left the results to a spreadsheet."""
    with _opened(path, data_only=False) as book:
        sheet = book[title]
        sheet.reset_dimensions()
        for number, row in enumerate(sheet.iter_rows(), start=1):
            for at, cell in enumerate(row):
                if cell.data_type == "f" and (number, at) in empty:
                    found = "got a formula without its result; open and save the file in a spreadsheet"
                    raise TableError(f"{place}, cell {cell.coordinate}: expected a value, {found}")


def _header(place: str, row: Any) -> dict[int, str]:
    """Return the names of columns by their places; none if the row is empty."""
    names = {at: str(value) for at, cell in enumerate(row) if (value := _value(place, cell)) is not None}
    doubled = sorted(name for name, times in Counter(names.values()).items() if times > 1)
    if doubled:
        raise TableError(f"{place}: column {shortened(', '.join(doubled))} stands in the header twice; rename one")
    return names


def _value(place: str, cell: Any) -> object:
    """Return what a reader of the sheet sees in a cell; refuse an error."""
    value = cell.value
    if value is None or isinstance(value, bool):
        return value
    if cell.data_type == "e":
        raise TableError(f"{place}, cell {cell.coordinate}: expected a value, got {value}; correct the formula")
    if isinstance(value, int | float):
        return Number(_number(value, cell.number_format if cell.has_style else "General"))
    if isinstance(value, datetime.datetime):
        return str(value.date() if value.time() == MIDNIGHT else value)
    text = ESCAPED.sub(lambda found: {"9": "\t", "A": "\n", "D": ""}[found[1]], str(value))
    return text or None


def _number(value: float, format: str) -> str:
    """Write a number as Excel does where a cell is entered, or with the zeros that its format puts before it.

    >>> _number(2.0, "General"), _number(0.1 + 0.2, "0.00"), _number(7, "000")
    ('2', '0.3', '007')
    """
    text = f"{value:.0f}" if float(value).is_integer() and abs(value) < 10**DIGITS else f"{value:.{DIGITS}g}"
    return text.zfill(len(format)) if text.isdigit() and set(format) == {"0"} else text
