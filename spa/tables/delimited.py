"""Delimited text: files with commas, tabs, semicolons or bars read as texts, mistakes named by their lines.

What parts cells is found out by :mod:`spa.tables.dialect`, what quotes are by :mod:`spa.tables.quotes`, the encoding by
:mod:`spa.tables.encodings`. Files by the book are read by polars; the others are read cell by cell.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import polars as pl

from spa.errors import ArgumentProblem, NoRows, TableError, shortened, unreadable
from spa.tables.decimals import DecimalCommas
from spa.tables.dialect import BLANKS, ONE, SAMPLED, Dialect, dialect_of, title_above
from spa.tables.encodings import bad_byte, in_utf8
from spa.tables.formulas import unguarded
from spa.tables.options import TableOptions
from spa.tables.other_rows import NUMBER
from spa.tables.quotes import CellByCell, Quotes, doubtful, quotes_of
from spa.tables.source import Source, Wanted, in_memory
from spa.tables.text_files import check_table_file

AT_ONCE = 1 << 16  # rows that are gathered in one piece where they are read cell by cell
MAY_BE_ROWS = 3  # columns from which on lines of a quoted cell that all fit are refused: two or one say little
NO_OPTIONS = TableOptions()
LOOKED_AT = 512  # bytes that tell a web page and JSON
JSON_START = re.compile(rb'\[\s*\{\s*"|\{\s*"[^"]*"\s*:')


def open_delimited(path: Path, wanted: Wanted, options: TableOptions) -> Source:
    """Read a file of delimited text."""
    with _opened(path, options, wanted) as text:
        (frame,) = text.frames(None)
        return _source(frame, path, text.dialect.first_row, (*text.notes, *text.decimals.notes()))


def delimited_slices(path: Path, wanted: Wanted, options: TableOptions, rows: int) -> Iterator[Source]:
    """Yield the same about ``rows`` rows at a time."""
    with _opened(path, options, wanted) as text:
        first = text.dialect.first_row
        for frame in text.frames(rows):
            yield _source(frame, path, first, (*text.notes, *text.decimals.notes()))
            first += frame.height


def _source(frame: pl.DataFrame, path: Path, first_row: int, notes: tuple[str, ...]) -> Source:
    """Return a frame of texts as a source; an empty cell holds nothing, in quotes, too."""
    source = in_memory(frame, str(path), first_row=first_row, notes=notes)
    return replace(source, values=lambda name: [value or None for value in source.values(name)])


def read_csv(
    path: Path, *, coded: Collection[str] = (), guarded: bool = True, options: TableOptions = NO_OPTIONS
) -> pl.DataFrame:
    """Read a file of delimited text as texts, as they are written; empty cells are null.

    Where cells are ``guarded``, the apostrophe before a formula is taken off (:mod:`spa.tables.formulas`). A blank line
    is a row of nulls. Columns named in ``coded`` are of polars' categorical type: four bytes a row. Raise TableError
    where the file has no header of different names, or not as many values in each line.
    """
    wanted = Wanted(
        columns=frozenset(), coded=frozenset(name for name in coded) if coded else frozenset(), guarded=guarded
    )
    with _opened(path, options, wanted) as text:
        (frame,) = text.frames(None)
        return frame


@contextmanager
def delimited_rows(
    path: Path, options: TableOptions
) -> Iterator[tuple[tuple[str, ...], Iterator[tuple[int, list[str]]], tuple[str, ...]]]:
    """Yield the header of a file of delimited text, its rows cell by cell, and what is to be said of how it is read.

    Each row has what a reader calls it. It may have another number of cells than the header; a blank line has none.
    """
    with _opened(path, options, Wanted(columns=frozenset(), guarded=False)) as text:
        records = (cells for _, cells in islice(text.records(), 1, None))
        yield text.dialect.header, enumerate(records, start=text.dialect.first_row), text.notes


@dataclass(frozen=True, slots=True, kw_only=True)
class _Text:
    """A file of delimited text, and how it is read: its frames of about so many rows; ``None`` gives a single one."""

    dialect: Dialect
    notes: tuple[str, ...]
    frames: Callable[[int | None], Iterator[pl.DataFrame]]
    records: Callable[[], Iterator[tuple[int, list[str]]]]
    decimals: DecimalCommas


@contextmanager
def _opened(path: Path, options: TableOptions, wanted: Wanted) -> Iterator[_Text]:
    check_table_file(path)
    try:
        with in_utf8(path, options.encoding) as text:
            try:
                _refuse_other_text(text.path, path)
                dialect = dialect_of(text.path, path, wanted.columns)
                if dialect is None:
                    raise NoRows(f"{path}: expected a header and rows, got an empty file")
                quoting = _quotes(text.path, path, dialect, options)
                read = _How(text.path, path, dialect, quoting, wanted, DecimalCommas(path))
                read.check_header()
                notes = (*_parted(text.encoding, dialect), *read.notes())
                yield _Text(
                    dialect=dialect, notes=notes, frames=read.frames, records=read.records, decimals=read.decimals
                )
            except UnicodeDecodeError as error:
                raise (bad_byte(path) or TableError(f"{path}: expected UTF-8, got {error.reason}")) from error
    except OSError as error:
        raise TableError(unreadable(path, error)) from error


def _refuse_other_text(text: Path, path: Path) -> None:
    """Refuse a page of the web and JSON, which are no delimited text whatever the file is called."""
    with text.open("rb") as stream:
        start = stream.read(LOOKED_AT).lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if start.startswith((b"<!doctype html", b"<html")):
        raise TableError(f"{path}: expected a table, got a web page (HTML), such as one to log in; download it again")
    if JSON_START.match(start):
        raise TableError(f"{path}: expected delimited text, got JSON; call the file .json or .jsonl")


def _parted(encoding: str | None, dialect: Dialect) -> Iterator[str]:
    """Say what is not as usual, which is UTF-8 and commas."""
    if encoding is not None or dialect.separator != ",":
        parted = "columns parted by blanks" if dialect.separator == BLANKS else f"separated by {dialect.called()}"
        yield f"read as {encoding or 'UTF-8'}, {parted}"
    if dialect.comments:
        yield f"{dialect.comments} comment line{'s' * (dialect.comments > 1)} before the header left out"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Quoting:
    """How quotes are read: by polars (``char``), or cell by cell, and what is to be said of it."""

    char: str | None = '"'
    by_cell: bool = False
    rows_first: bool = False
    note: str | None = None
    facts: Quotes | None = None


TEXT = "double quotes that do not enclose a whole cell are read as text"


def _quotes(file: Path, path: Path, dialect: Dialect, options: TableOptions) -> _Quoting:
    if dialect.separator == BLANKS:
        return _Quoting(char=None, by_cell=True)
    facts = quotes_of(file, dialect.separator, dialect.start)
    tabs, width = dialect.separator == "\t", len(dialect.header)
    if options.quotes == "text":
        return _Quoting(char=None, facts=facts, note="double quotes are read as text" if facts.any else None)
    if not facts.any or options.quotes == "csv":
        return _Quoting(facts=facts)
    if not facts.regular or (facts.unclosed is not None and tabs):
        if not facts.enclosing:
            return _Quoting(char=None, facts=facts, note=TEXT)
        return _Quoting(by_cell=True, rows_first=tabs or width >= MAY_BE_ROWS, facts=facts, note=TEXT)
    if facts.unclosed is not None:
        raise _unclosed(file, path, dialect, facts.unclosed)
    if not facts.spans or width == 1:
        return _Quoting(facts=facts)
    doubt = doubtful(file, dialect.separator, dialect.start, width)
    if tabs:
        return _Quoting(by_cell=True, rows_first=True, facts=facts, note=TEXT if doubt.lines else None)
    if not doubt.lines:
        return _Quoting(facts=facts)
    begin, end = (dialect.skipped + 1 + line for line in doubt.lines[0])
    if doubt.everywhere and width >= MAY_BE_ROWS:
        before = (
            f"{path}, line {begin}: expected a quoted cell or a row, got a double quote there and one in line {end}"
        )
        raise TableError(_choose(f"{before} that hold one cell or are text of {end - begin + 1} rows; say which by "))
    return _Quoting(facts=facts, note=f"lines {begin} to {end} are one row, a quoted cell goes on in them")


def _choose(before: str) -> ArgumentProblem:
    return ArgumentProblem("quotes", before=before, in_python="='text' or 'csv'", in_command=" text or csv")


def _unclosed(file: Path, path: Path, dialect: Dialect, place: int) -> TableError:
    with file.open("rb") as stream:
        line, left = 1, place
        while left and (piece := stream.read(min(left, 1 << 20))):
            line, left = line + piece.count(b"\n"), left - len(piece)
    before = f"{path}, line {line}: expected CSV, got a double quote that never closes; "
    return TableError(
        ArgumentProblem(
            "quotes",
            before=f'{before}write a double quote inside a text as "", or say that quotes are text: ',
            in_python="='text'",
            in_command=" text",
        )
    )


@dataclass(frozen=True, slots=True)
class _How:
    """Reads a file in UTF-8; messages call it by ``path``."""

    file: Path
    path: Path
    dialect: Dialect
    quoting: _Quoting
    wanted: Wanted
    decimals: DecimalCommas

    def notes(self) -> tuple[str, ...]:
        return () if self.quoting.note is None else (self.quoting.note,)

    def check_header(self) -> None:
        """Refuse a header without a name, and one that has a name twice."""
        header = self.dialect.header
        line = self.dialect.skipped + 1
        if not any(header):
            raise TableError(
                f"{self.path}, line {line}: expected the names of columns, got a blank line; remove it"
                if not header or header == ("",)
                else f"{self.path}, line {line}: expected the names of columns, got none"
            )
        if header[0] and not any(header[1:]):
            start = [*islice(self.dialect.lines(self.file), SAMPLED)]
            if title := title_above(start, self.path, self.dialect.skipped):
                raise title
        doubled = sorted(name for name, times in Counter(header).items() if name and times > 1)
        if doubled:
            names = shortened(", ".join(doubled))
            if all(NUMBER.fullmatch(name) for name in header):
                numbers = shortened(", ".join(header), 60)
                raise TableError(
                    f"{self.path}: expected the names of columns in row 1, got numbers ({numbers}); "
                    "write a row of names above it, such as annotator_id,item_id,system,score"
                )
            raise TableError(f"{self.path}: column {names} stands in the header twice; remove or rename one")

    def frames(self, rows: int | None) -> Iterator[pl.DataFrame]:
        """Yield the rows about ``rows`` at a time; without a row, one empty frame."""
        facts = self.quoting.facts
        guarded = self.wanted.guarded and (facts is None or facts.apostrophe)
        first, checked = self.dialect.first_row, False
        try:
            for frame in self._by_cell(rows) if self.quoting.by_cell else self._by_polars(rows):
                if not checked and not self.quoting.by_cell and _may_be_uneven(frame):
                    self._refuse_uneven()
                    checked = True
                if facts is not None and facts.nul:
                    _refuse_nul(frame, self.wanted.columns, self.path, first)
                first += frame.height
                tidy = unguarded(frame) if guarded else frame
                yield tidy if self.dialect.separator == "," else self.decimals.read(tidy, self.wanted.numbers)
        except pl.exceptions.PolarsError as error:
            if (wrong := bad_byte(self.file)) is not None:
                raise wrong from error
            self._refuse_uneven()
            found = shortened(str(error).partition("\n")[0], 160)
            raise TableError(f"{self.path}: expected CSV, got a mistake: {found}") from error

    def _by_polars(self, rows: int | None) -> Iterator[pl.DataFrame]:
        types = {name: pl.Categorical() for name in self.dialect.header if name in self.wanted.coded}
        how: dict[str, Any] = {
            "infer_schema": False,
            "schema_overrides": types,
            "glob": False,
            "separator": self.dialect.separator,
            "quote_char": self.quoting.char,
            "skip_lines": self.dialect.skipped,
        }
        if rows is None:
            yield pl.read_csv(self.file, **how)
            return
        lazy = pl.scan_csv(self.file, **how)
        found = False
        for frame in lazy.collect_batches(chunk_size=rows, maintain_order=True):
            if frame.height:
                found = True
                yield frame
        if not found:
            yield lazy.collect()

    def records(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the cells of each row, the header first, with the numbers of their lines."""
        lines, first = self.dialect.lines(self.file), self.dialect.skipped + 1
        if self.dialect.separator == BLANKS:
            yield first, list(self.dialect.header)
            for number, line in enumerate(islice(lines, 1, None), start=first + 1):
                body = line.rstrip("\r\n")
                yield number, body.split(self.dialect.rows_by) if body.strip() else []
        elif self.quoting.char is None:
            for number, line in enumerate(lines, start=first):
                body = line.rstrip("\r\n")
                yield number, body.split(self.dialect.separator) if body else []
        else:
            yield from CellByCell(lines, self.dialect.separator, rows_first=self.quoting.rows_first, first=first)

    def _by_cell(self, rows: int | None) -> Iterator[pl.DataFrame]:
        width = len(self.dialect.header)
        names = [name or f"_{place}" for place, name in enumerate(self.dialect.header)]
        types = {name: pl.Categorical() if name in self.wanted.coded else pl.String() for name in names}

        def pieces() -> Iterator[pl.DataFrame]:
            records = islice(self.records(), 1, None)
            while some := list(islice(records, rows or AT_ONCE)):
                if any(cells and len(cells) != width for _, cells in some):
                    self._refuse_uneven()
                yield _frame([cells for _, cells in some], types)

        found = pieces()
        first = next(found, None)
        if first is None:
            yield pl.DataFrame(schema=types)
        elif rows is None:
            yield pl.concat([first, *found])
        else:
            yield first
            yield from found

    def _refuse_uneven(self) -> None:
        """Name the first line that has other values than the header."""
        width = len(self.dialect.header)
        rows, wrong, sizes = 0, None, set[int]()
        for number, cells in islice(self.records(), 1, None):
            if cells:
                rows += 1
                sizes.add(len(cells))
                wrong = wrong or (number, len(cells)) * (len(cells) != width)
        if not wrong:
            return
        line, size = wrong
        more = "more" if size > width else "fewer"
        sign = ONE.get(self.dialect.separator, "that sign")
        if len(sizes) == 1 and rows > 1:
            raise TableError(
                f"{self.path}, line {line}: expected {width} values, as the header has, got {size} here and in all "
                f"other rows; give each column of the rows one name in the header"
            )
        do = f"put a text that holds {sign} in double quotes" if size > width else "fill in what is missing"
        raise TableError(
            f"{self.path}, line {line}: expected {width} values, got {size}, {more} fields than the header; {do}"
        )


def _frame(rows: Iterable[list[str]], types: Mapping[str, pl.DataType]) -> pl.DataFrame:
    blank: list[str | None] = [None] * len(types)
    columns = zip(*([cell or None for cell in cells] if cells else blank for cells in rows), strict=True)
    return pl.DataFrame(
        [pl.Series(name, values, dtype=kind) for (name, kind), values in zip(types.items(), columns, strict=True)]
    )


def _may_be_uneven(frame: pl.DataFrame) -> bool:
    """Return whether a line may be too short, which polars fills with nulls."""
    if not frame[frame.columns[-1]].null_count():
        return False
    last = pl.col(frame.columns[-1])
    return frame.filter(last.is_null() & pl.any_horizontal(pl.all().is_not_null())).height > 0


def _refuse_nul(frame: pl.DataFrame, columns: Collection[str], path: Path, first: int) -> None:
    """Refuse cells of nothing but NUL bytes, as a disk leaves where a file was not written to its end."""
    for name in frame.columns:
        if name not in columns:
            continue
        rows = frame[name].cast(pl.String).str.contains(r"^[\x00\s]*\x00[\x00\s]*$").fill_null(False).arg_true()
        if len(rows):
            raise TableError(
                f"{path}, row {first + rows[0]}: expected text in column {shortened(name)}, got a cell of NUL bytes; "
                "the file is damaged, copy it again"
            )
