"""Double quotes of delimited text: what encloses a cell, and what is text.

A cell is quoted only if it begins and ends with a double quote and every one within is doubled; else quotes are text.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

QUOTE, LINE_END, RETURN, TAB, APOSTROPHE, NUL = b"\"\n\r\t'\0"
PIECE = 1 << 16  # bytes at a time: arrays of so many bytes are not given back to the system after each piece


@dataclass(frozen=True, slots=True, kw_only=True)
class Quotes:
    """What the double quotes of a file are.

    Parameters
    ----------
    any : bool
        Whether there are any.
    regular : bool
        Whether each of them encloses a cell, or is one of two within such a cell; the last may be unpaired.
    unclosed : int, optional
        Place in bytes of the last, where there is an odd number.
    enclosing : bool
        Whether any may begin a cell, and any may end one.
    spans : bool
        Whether a cell in quotes, if they are regular, goes on in another line, or holds a tab that parts cells.
    apostrophe : bool
        Whether an apostrophe stands in the file.
    nul : bool
        Whether a NUL byte does.
    """

    any: bool
    regular: bool
    unclosed: int | None
    enclosing: bool
    spans: bool
    apostrophe: bool
    nul: bool


def pieces(path: Path, start: int) -> Iterator[bytes]:
    """Yield a file from a place on, in pieces of whole lines, each of which ends in a line end."""
    with path.open("rb") as stream:
        stream.seek(start)
        while piece := stream.read(PIECE):
            whole = piece if piece.endswith(b"\n") else piece + stream.readline()
            yield whole if whole.endswith(b"\n") else whole + b"\n"


def quotes_of(path: Path, separator: str, start: int) -> Quotes:
    """Look at the double quotes of a file in UTF-8, from its header on.

    Time O(bytes): about that of finding a byte where there are none.
    """
    there = _present(path, start)
    before = place = last = 0
    regular, spans = True, False
    for piece in pieces(path, start) if QUOTE in there else ():
        if (found := piece.rfind(b'"')) >= 0:
            last = start + place + found
            if regular:
                regular, over, before = _pairs(np.frombuffer(piece, dtype=np.uint8), ord(separator), before)
                spans = spans or over
            else:
                before ^= piece.count(b'"') & 1
        elif before:
            spans = True
        place += len(piece)
    return Quotes(
        any=QUOTE in there,
        regular=regular,
        unclosed=last if before else None,
        enclosing=regular or _enclosing(path, separator, start),
        spans=spans,
        apostrophe=APOSTROPHE in there,
        nul=NUL in there,
    )


def _present(path: Path, start: int) -> set[int]:
    """Return which of a double quote, an apostrophe and NUL are in a file."""
    buffer, sought, found = bytearray(PIECE), [QUOTE, APOSTROPHE, NUL], set[int]()
    with path.open("rb") as stream:
        stream.seek(start)
        while sought and (size := stream.readinto(buffer)):
            new = [sign for sign in sought if buffer.find(sign, 0, size) >= 0]
            found |= set(new)
            sought = [sign for sign in sought if sign not in found]
    return found


BEFORE_IN_BYTE = np.arange(256, dtype=np.uint8)  # parity up to each bit
for _shift in (1, 2, 4):
    BEFORE_IN_BYTE ^= BEFORE_IN_BYTE >> _shift


def _pairs(codes: NDArray[np.uint8], separator: int, before: int) -> tuple[bool, bool, int]:
    """Look at the quotes in whole lines, eight bytes at a time; ``before`` says whether one is open.

    Returns
    -------
    regular, spans : bool
        As in :class:`Quotes`.
    after : int
        Whether one is open behind them.
    """
    quote, line_end = codes == QUOTE, codes == LINE_END
    parts = codes == separator
    bounds = quote | line_end | parts
    may_begin, may_end = np.ones(len(codes), bool), np.ones(len(codes), bool)
    may_begin[1:] = bounds[:-1]
    bounds |= codes == RETURN
    may_end[:-1] = bounds[1:]
    quotes = np.packbits(quote)
    inside = BEFORE_IN_BYTE[quotes]  # whether the number of quotes up to each byte is odd
    open_after = np.bitwise_xor.accumulate(inside & 1) ^ np.uint8(before)
    open_before = np.concatenate((np.array([before], np.uint8), open_after[:-1]))
    inside ^= np.negative(open_before)
    wrong = quotes & ((inside & ~np.packbits(may_begin)) | ~(inside | np.packbits(may_end)))
    over = np.packbits(line_end | parts if separator == TAB else line_end) & inside
    return not wrong.any(), bool(over.any()), int(open_after[-1])


def _enclosing(path: Path, separator: str, start: int) -> bool:
    """Return whether any quote may begin a cell, and any end one."""
    sign = separator.encode()
    begins = ends = False
    for piece in pieces(path, start):
        if b'"' not in piece:
            continue
        begins = begins or piece.startswith(b'"') or sign + b'"' in piece or b'\n"' in piece
        ends = ends or b'"' + sign in piece or b'"\n' in piece or b'"\r' in piece
        if begins and ends:
            return True
    return False


@dataclass(frozen=True, slots=True)
class Doubt:
    """Cells in quotes that go on in other lines, each of which has as many fields as the header.

    ``lines`` are the first and last of each of them, from 0 at the header; ``everywhere`` says whether each line of the
    file has so many fields, so that the whole of it may be read with quotes as text.
    """

    lines: list[tuple[int, int]]
    everywhere: bool


def doubtful(path: Path, separator: str, start: int, width: int) -> Doubt:
    """Return which cells in regular quotes may as well be rows of their own."""
    sign = separator.encode()
    counts, inside, blank = [np.empty(0, np.int64)], [np.empty(0, bool)], [np.empty(0, bool)]
    before = 0
    for piece in pieces(path, start):
        codes = np.frombuffer(piece, dtype=np.uint8)
        lines = np.flatnonzero(codes == LINE_END)
        signs = np.flatnonzero(codes == sign[-1])
        quotes = np.flatnonzero(codes == QUOTE)
        counts.append(np.diff(np.searchsorted(signs, lines), prepend=0))
        inside.append(((np.searchsorted(quotes, lines) + before) & 1).astype(bool))
        blank.append(np.diff(lines, prepend=-1) <= 2)  # a line end, or both of CRLF
        before += len(quotes)
    count, goes_on, empty = np.concatenate(counts), np.concatenate(inside), np.concatenate(blank)
    fits = count == width - 1
    begins = np.flatnonzero(np.concatenate(([True], ~goes_on[:-1])))
    sizes = np.diff(np.append(begins, len(count)))
    doubt = (sizes > 1) & np.logical_and.reduceat(fits, begins)
    found = [(int(line), int(line + size - 1)) for line, size in zip(begins[doubt], sizes[doubt], strict=True)]
    return Doubt(found, bool((fits | empty).all()))


@dataclass(slots=True)
class CellByCell:
    """Reads lines of delimited text cell by cell, each by the rule of this module.

    Parameters
    ----------
    lines : iterable of str
        With their ends, LF or CRLF.
    separator : str
        What stands between cells.
    rows_first : bool
        Whether a cell in quotes that goes on in other lines is text where each of the lines has ``width`` fields, and
        so is one that holds separators where the row has ``width`` fields only if they are such.
    width : int, optional
        How many fields the header has; by default as many as the first line.
    """

    lines: Iterable[str]
    separator: str
    rows_first: bool = True
    width: int | None = None
    first: int = 1  # number of the first line

    def __iter__(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the cells of each row with the number of its first line; of a blank line, none."""
        source, ahead = iter(self.lines), deque[str]()
        number = self.first
        while (line := ahead.popleft() if ahead else next(source, None)) is not None:
            if '"' in line:
                pulled = [line]
                cells = self._cells(line, source, ahead, pulled)
                if self.rows_first and len(cells) != self.width and self._all_rows([line]):
                    cells = _body(line).split(self.separator)
                    ahead.extendleft(reversed(pulled[1:]))
                    del pulled[1:]
                taken = len(pulled)
            else:
                body = _body(line)
                cells, taken = body.split(self.separator) if body else [], 1
            self.width = self.width or len(cells)
            yield number, cells
            number += taken

    def _cells(self, line: str, source: Iterator[str], ahead: deque[str], pulled: list[str]) -> list[str]:
        """Return the cells of a row; ``pulled`` become the lines that it takes."""
        cells: list[str] = []
        body, at = _body(line), 0
        while True:
            quoted = self._quoted(body, line, at, source, ahead) if body.startswith('"', at) else None
            if quoted is not None:
                text, more, end = quoted
                cells.append(text)
                if more:
                    pulled += more
                    line = more[-1]
                    body = _body(line)
            else:
                end = body.find(self.separator, at)
                end = len(body) if end < 0 else end
                cells.append(body[at:end])
            if end >= len(body):
                return cells
            at = end + len(self.separator)

    def _quoted(
        self, body: str, line: str, at: int, source: Iterator[str], ahead: deque[str]
    ) -> tuple[str, list[str], int] | None:
        """Return the cell in quotes that begins at a place, the lines that it takes beyond this one, and its end.

        ``None`` where the quote is text; the lines are then ahead again.
        """
        parts: list[str] = []
        more: list[str] = []
        here, begin, look, whole = body, at + 1, at + 1, line
        while True:
            quote = here.find('"', look)
            if quote < 0:
                parts.append(whole[begin:])
                following = ahead.popleft() if ahead else next(source, None)
                if following is None:
                    break
                more.append(following)
                whole, here, begin, look = following, _body(following), 0, 0
            elif here.startswith('"', quote + 1):
                look = quote + 2
            elif quote + 1 == len(here) or here.startswith(self.separator, quote + 1):
                if more and self.rows_first and self._all_rows([line, *more]):
                    break
                text = "".join((*parts, here[begin:quote])).replace('""', '"')
                return text, more, quote + 1
            else:
                break
        ahead.extendleft(reversed(more))
        return None

    def _all_rows(self, lines: list[str]) -> bool:
        return (self.width or 0) > 1 and all(line.count(self.separator) + 1 == self.width for line in lines)


def _body(line: str) -> str:
    return line.removesuffix("\n").removesuffix("\r")
