"""Answers that name nobody: several of one output are answers of unnamed people, told apart by a number alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spa.importers.tables import Row


SYSTEMS = ("system", "system_x", "system_y")
NOTE = "nobody is named: the unit of tests is the item"


def about(row: Row) -> tuple[object, ...]:
    """Return what an answer is about, whichever system stands first."""
    return row["item_id"], *sorted(str(row[name]) for name in SYSTEMS if name in row)


def repeated(rows: Sequence[Row]) -> list[Row]:
    """Return the rows with a number for each answer of one annotator about the same, where there are several."""
    cells = Counter(map(_cell, rows))
    seen: Counter[tuple[object, ...]] = Counter()
    made = []
    for row in rows:
        cell = _cell(row)
        seen[cell] += 1
        made.append({**row, "repeat": seen[cell]} if cells[cell] > 1 else row)
    return made


def _cell(row: Row) -> tuple[object, ...]:
    return (row["annotator_id"], row.get("sample"), row["criterion"], *about(row))
