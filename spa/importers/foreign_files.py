"""What formats share to look into files of other tools: beginnings, and values of the kind that a tool writes."""

from __future__ import annotations

import codecs
import math
import re
from pathlib import Path
from typing import Any

from spa.errors import ResponseError, TableError, shortened
from spa.tables.packing import start_of

NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", re.ASCII)
LOOKED_AT = 65_536  # bytes of a file
OBJECT, LIST, TEXT = "an object", "a list", "a text"
KINDS: dict[str, type] = {OBJECT: dict, LIST: list, TEXT: str}


def beginning(path: Path, n_bytes: int = LOOKED_AT) -> bytes:
    """Return the first bytes of a file, unpacked, without a byte order mark; nothing where none can be read.

    Those of a text with the mark of UTF-16, as programs of Windows write it, are given in UTF-8.
    """
    try:
        start = start_of(path, n_bytes)
    except (OSError, TableError):
        return b""
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) and not start.startswith(codecs.BOM_UTF32_LE):
        return start.decode("utf-16", "ignore").encode("utf-8", "replace")
    return start.removeprefix(codecs.BOM_UTF8)


def of_kind(kind: str, value: object, place: str) -> Any:
    """Return a value that is :data:`OBJECT`, :data:`LIST` or :data:`TEXT`; raise ResponseError with what it is."""
    if not isinstance(value, KINDS[kind]):
        raise ResponseError(f"{place}: expected {kind}, got {shown(value)}")
    return value


def number_of(text: str) -> float | None:
    """Return the finite number that a text is, with a decimal point; nothing where it is none.

    >>> number_of("-0.5"), number_of("4 of 5"), number_of("1e400"), number_of("nan")
    (-0.5, None, None, None)
    """
    value = float(text) if NUMBER.fullmatch(text) else math.nan
    return value if math.isfinite(value) else None


def number(value: object, place: str) -> float | None:
    """Return a number of JSON or a cell, nothing of an empty one; raise ResponseError of anything else."""
    if value is None or value == "":
        return None
    found = number_of(value.strip()) if isinstance(value, str) else None
    if found is None:
        raise ResponseError(f"{place}: expected a number, got {shown(value)}")
    return found


def whole(value: object, place: str) -> int:
    """Return a whole number at or above 0; raise ResponseError of anything else."""
    found = number(value, place)
    if found is None or found < 0 or found != int(found):
        raise ResponseError(f"{place}: expected a whole number from 0, got {shown(value)}")
    return int(found)


def shown(value: object) -> str:
    """Return a value as a message shows it.

    >>> shown({"a": 1}), shown(None), shown("x")
    ('an object', 'nothing', "'x'")
    """
    if isinstance(value, dict):
        return OBJECT
    if isinstance(value, list):
        return LIST
    return "nothing" if value is None else shortened(repr(value), 60)


def counted(n: int, one: str, several: str | None = None) -> str:
    """Return how many there are.

    >>> counted(1, "log"), counted(2, "log"), counted(2, "has", "have")
    ('1 log', '2 logs', '2 have')
    """
    return f"{n:,} {one if n == 1 else several or f'{one}s'}"
