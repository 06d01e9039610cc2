"""How much a file may hold for its size: what is larger is no table, but would fill the memory or the disk."""

from __future__ import annotations

import re
from pathlib import Path

from spa.errors import TableError

ALWAYS_UNPACKED, UNPACKED_A_BYTE = 1 << 28, 250  # bytes that a file may unpack to, whatever its size and by its size
ALWAYS_READ, ROWS_A_BYTE = 10_000_000, 1000  # rows that a file may claim, whatever its size and by its size
DEEPEST = 100  # lists and objects of JSON within one another
MOST_MEMBERS = 10_000  # files in a workbook
MOST_ROWS, MOST_CELLS = 1 << 20, 1 << 26  # of a sheet, empty ones among them
SIGNS = re.compile(r'"(?:[^"\\]|\\.)*"|[\[{\]}]')  # texts of JSON, so that what is in them does not count


def most_unpacked(path: Path) -> int:
    """Return how many bytes a compressed file may unpack to."""
    return max(ALWAYS_UNPACKED, UNPACKED_A_BYTE * path.stat().st_size)


def most_rows(path: Path) -> int:
    """Return how many rows a file may claim to hold."""
    return max(ALWAYS_READ, ROWS_A_BYTE * path.stat().st_size)


def check_height(path: Path, height: int) -> None:
    """Refuse a count of rows that a file cannot hold, with a TableError: reading it would end the process."""
    if height > most_rows(path):
        raise TableError(f"{path}: expected as many rows as the file can hold, got a count of {height}")


def check_depth(text: str) -> None:
    """Refuse JSON with more lists and objects within one another than tables have, with a ``ValueError``."""
    if len(text) < 2 * DEEPEST or text.count("[") + text.count("{") <= DEEPEST:
        return
    depth = 0
    for sign in SIGNS.findall(text):
        depth += 1 if sign in "[{" else -1 if sign in "]}" else 0
        if depth > DEEPEST:
            raise ValueError(
                f"expected one JSON object, got lists or objects nested too deeply, beyond {DEEPEST} levels"
            )
