"""What stands between the cells of delimited text, and what stands before the header."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from spa.errors import TableError, shortened
from spa.tables.encodings import bad_byte, nul_in_header
from spa.tables.quotes import CellByCell

SEPARATORS = {",": "commas", "\t": "tabs", ";": "semicolons", "|": "bars"}
ONE = {",": "a comma", "\t": "a tab", ";": "a semicolon", "|": "a bar"}  # as in "a text that holds a comma"
BLANKS = "blanks"  # spaces and tabs, one or several
SAMPLE, SAMPLED = 1 << 18, 200  # bytes and rows that are looked at
SEPARATOR_LINE = re.compile(r'(?i)"?sep=(\\t|[\t -!#-~])"?')
COMMENT = "#"
MOST_ABOVE = 8  # lines of a title and what stands below it
HALF = re.compile("[\ud800-\udfff]")  # bytes that are not UTF-8


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """How a file parts its cells.

    Parameters
    ----------
    separator : str
        What stands between the cells of a row, one character; or :data:`BLANKS`.
    header : tuple of str
        Names of the columns.
    skipped : int
        Lines before the header.
    start : int
        Bytes before the header.
    comments : int
        How many of the lines before it are comments.
    rows_by : str, optional
        With :data:`BLANKS`: what rows are parted by, if not by any blanks.
    """

    separator: str
    header: tuple[str, ...]
    skipped: int
    start: int
    comments: int
    rows_by: str | None = None

    @property
    def first_row(self) -> int:
        """What a reader calls the row below the header."""
        return self.skipped + 2

    def lines(self, path: Path) -> Iterator[str]:
        """Yield the lines of a file in UTF-8 below those that are skipped, the header first, with their ends."""
        with path.open(encoding="utf-8-sig", newline="\n") as stream:
            yield from islice(stream, self.skipped, None)

    def called(self) -> str:
        """Return what the separators are called."""
        return SEPARATORS.get(self.separator, self.separator if self.separator == BLANKS else repr(self.separator))


def dialect_of(path: Path, place: Path, named: frozenset[str] = frozenset()) -> Dialect | None:
    """Find out how a file in UTF-8 parts its cells; ``None`` if it has no line.

    The separator is that of a line such as ``sep=;``, else of commas, tabs, semicolons and bars the one that gives the
    header and all rows looked at the same and the largest number of fields; where none does, the one in the header.

    Parameters
    ----------
    path : Path
        The file.
    place : Path
        What messages call it.
    named : frozenset of str
        Columns that are asked for: a header with spaces that is one of them is one name.

    Raises
    ------
    TableError
        When its lines end in CR alone, or columns are parted by blanks in the header, but not so in each row.
    """
    with path.open("rb") as stream:
        sample = stream.read(SAMPLE)
        sample += stream.readline()
    if not sample:
        return None
    whole = path.stat().st_size == len(sample)
    mark = len(sample) - len(sample.removeprefix(b"\xef\xbb\xbf"))
    lines = re.findall(r"[^\n]*\n|[^\n]+", sample[mark:].decode(errors="surrogateescape"))
    given, skipped = None, 0
    if (line := SEPARATOR_LINE.fullmatch(lines[0].strip("\r\n"))) and len(lines) > 1:
        given, skipped = line[1].replace("\\t", "\t"), 1
    comments = _comments(lines[skipped:], given)
    skipped += comments
    start = mark + len("".join(lines[:skipped]).encode(errors="surrogateescape"))
    rest = lines[skipped:]
    if "\0" in rest[0]:
        raise nul_in_header(place, skipped + 1)
    if HALF.search("".join(lines)):
        raise bad_byte(place) or TableError(f"{place}: expected UTF-8, got something else")
    if "\r" in rest[0].rstrip("\r\n") and '"' not in rest[0]:
        raise TableError(f"{place}: expected lines that end in LF, got CR only; save the file with LF or CRLF")
    separator = given or _separator(rest, whole=whole)
    header = next((cells for _, cells in CellByCell(rest, separator)), [])
    found = Dialect(separator=separator, header=tuple(header), skipped=skipped, start=start, comments=comments)
    if given is not None or rest[0].strip() in named:
        return found
    return _parted_by_blanks(path, place, found, rest) or found


def _parted_by_blanks(path: Path, place: Path, found: Dialect, lines: Sequence[str]) -> Dialect | None:
    """Return how header and rows are parted by blanks, not both by one sign; ``None`` if they are not so."""
    row = next((line for line in lines[1:] if line.strip()), "")
    if found.separator == "\t":
        if "\t" in row or '"' in row or not row:  # tabs behind the last value, too: the cells there are empty
            return None
        names = [name.strip() for name in found.header]
    else:
        names = lines[0].split()
        if len(found.header) != 1 or '"' in lines[0]:
            return None
    if len(names) < 2:
        return None
    if not lines[1:2] or not lines[1].strip():  # a title may have as many words as there are columns
        if title := title_above(lines, place, found.skipped):
            raise title
    dialect = replace(found, separator=BLANKS, header=tuple(names))
    by_tabs = next(_other_widths(path, dialect, "\t"), None)
    if by_tabs is None:
        return replace(dialect, rows_by="\t")
    wrong = next(_other_widths(path, dialect, None), None)
    if wrong is None:
        return dialect
    if title := title_above(lines, place, found.skipped):
        raise title
    number, fields = by_tabs if "\t" in row.strip() else wrong
    raise TableError(
        f"{place}, row {number}: expected {len(names)} fields, as the header has parted by blanks "
        f"({shortened(', '.join(names), 120)}), got {fields}; separate header and rows by one sign, such as a tab"
    )


def title_above(lines: Sequence[str], place: Path, skipped: int = 0) -> TableError | None:
    """Return what is wrong where one cell stands above the names of columns: a title, mostly with a blank line."""
    for number, line in enumerate(lines[1:MOST_ABOVE], start=1):
        if not line.strip(",;|\t \r\n"):
            continue
        separator = max(SEPARATORS, key=line.count)
        names = next(([*cells] for _, cells in CellByCell(lines[number:], separator)), [])
        title = lines[0].strip(f"{separator} \r\n")
        least = 2 if number > 1 else 3
        plain = separator not in title and all(names) and len(names) >= least
        if not plain or not _fields(lines[number:], separator, whole=False):
            return None
        return TableError(
            f"{place}, line {skipped + 1}: expected the names of columns, got a title ({shortened(title, 60)}); remove "
            f"what stands above line {skipped + number + 1} ({shortened(', '.join(names), 120)})"
        )
    return None


def _other_widths(path: Path, dialect: Dialect, sign: str | None) -> Iterator[tuple[int, int]]:
    """Yield the numbers of rows that have another number of fields than the header, and that."""
    for number, line in enumerate(islice(dialect.lines(path), 1, None), start=dialect.first_row):
        if line.strip() and (fields := len(line.rstrip("\r\n").split(sign))) != len(dialect.header):
            yield number, fields


def _comments(lines: Sequence[str], given: str | None) -> int:
    """Return how many lines before the header are comments: those with ``#`` that have not as many fields as it has."""
    count = next((number for number, line in enumerate(lines) if not line.startswith(COMMENT)), None)
    if not count:
        return 0
    header = lines[count]
    separator = given or _separator(lines[count:], whole=False)
    fields = header.count(separator)
    while count and lines[count - 1].count(separator) == fields:  # the names of columns themselves begin with it
        count -= 1
    return count


def _separator(lines: Sequence[str], *, whole: bool) -> str:
    fitting = {separator: fields for separator in SEPARATORS if (fields := _fields(lines, separator, whole=whole))}
    if fitting:
        return max(fitting, key=lambda separator: fitting[separator])  # the first of several
    found = Counter({separator: lines[0].count(separator) for separator in SEPARATORS})
    return "," if found[","] or not found.total() else found.most_common(1)[0][0]


def _fields(lines: Sequence[str], separator: str, *, whole: bool) -> int:
    """Return how many fields the header and all rows have; 0 where some have others, or only one."""
    if separator not in lines[0]:
        return 0
    sizes = [len(cells) for _, cells in islice(CellByCell(lines, separator), SAMPLED) if cells]
    if not whole and 1 < len(sizes) < SAMPLED:
        sizes.pop()  # may go on
    return sizes[0] if len(set(sizes)) == 1 else 0
