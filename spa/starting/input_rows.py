"""Rows of all files one below the other, and how well columns join them into items that systems share."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from spa.starting.columns import OutputColumn
from spa.starting.sheets import OutputSheet

FILE, LINE = "\0file", "\0line"  # the file of a row, and its place there, in the place of a column's name
FLOATS = re.compile(r"-?\d+\.0")
Words = str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedColumns:
    """What whoever starts a study says of the columns; a role without one is found out."""

    item: str | None = None
    systems: tuple[str, ...] = ()  # one: the column that names the system; several: those that are systems
    output: str | None = None
    prompts: tuple[str, ...] = ()
    kind: str | None = None

    @property
    def columns(self) -> frozenset[str]:
        """Every column that is named."""
        named = (self.item, self.output, *self.systems, *self.prompts)
        return frozenset(name for name in named if name is not None)


class SheetRows:
    """The rows of several files as one table, the columns of which are those that any of them has."""

    def __init__(self, sheets: Sequence[OutputSheet]) -> None:
        self.sheets = tuple(sheets)
        self._columns: dict[str, OutputColumn] = {}
        self._identified: dict[str, list[Words]] = {}
        self._starts = [0]
        for sheet in sheets:
            self._starts.append(self._starts[-1] + len(sheet.numbers))

    @property
    def height(self) -> int:
        """How many rows there are."""
        return self._starts[-1]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The columns, in the order of the files."""
        return tuple(dict.fromkeys(name for sheet in self.sheets for name in sheet.columns))

    def column(self, name: str) -> OutputColumn:
        """Return a column of all files; that of :data:`FILE` and :data:`LINE`, too."""
        if name not in self._columns:
            if name == FILE:
                cells: list[Words] = [sheet.label for sheet in self.sheets for _ in sheet.numbers]
            elif name == LINE:
                lines = Counter[str]()  # of files with one label, the parts of one table
                cells = []
                for sheet in self.sheets:
                    start = lines[sheet.label] + 1
                    lines[sheet.label] += len(sheet.numbers)
                    cells += [str(line) for line in range(start, lines[sheet.label] + 1)]
            else:
                cells = [cell for sheet in self.sheets for cell in sheet.cells(name)]
            first = next((sheet.columns[name] for sheet in self.sheets if name in sheet.columns), None)
            self._columns[name] = OutputColumn(
                name=name,
                cells=cells,
                more=sum(sheet.columns[name].more for sheet in self.sheets if name in sheet.columns),
                system=first.system if first else None,
                description=first.description if first else "",
            )
        return self._columns[name]

    def identified(self, name: str) -> list[Words]:
        """Return the names that stand in a column, as they are joined: those of each file read alike."""
        if name not in self._identified:
            if name in (FILE, LINE):
                self._identified[name] = identified(self.column(name).cells)
            else:
                self._identified[name] = [one for sheet in self.sheets for one in identified(sheet.cells(name))]
        return self._identified[name]

    def place(self, row: int) -> str:
        """Return where a row stands."""
        at = self._file_at(row)
        return self.sheets[at].place(row - self._starts[at])

    def sheet_of(self, row: int) -> OutputSheet:
        """Return the file of a row."""
        return self.sheets[self._file_at(row)]

    @property
    def unread(self) -> list[str]:
        """The columns that hold neither texts nor numbers, or more records within records than are looked into."""
        return list(dict.fromkeys(name for sheet in self.sheets for name in sheet.unread))

    @property
    def notes(self) -> tuple[str, ...]:
        """What is said of how the files were read."""
        return tuple(dict.fromkeys(note for sheet in self.sheets for note in sheet.notes))

    def _file_at(self, row: int) -> int:
        return bisect_right(self._starts, row) - 1


def identified(cells: Iterable[Words]) -> list[Words]:
    """Return names as they are joined: without outer spaces, composed, several blanks as one, 1 for 1.0.

    >>> identified(["1.0", "2.0"]), identified([" a  b", "1.0", ""])
    (['1', '2'], ['a b', '1.0', None])
    """
    names = [unicodedata.normalize("NFC", " ".join(cell.split())) or None if cell else None for cell in cells]
    filled = [name for name in names if name]
    if filled and all(FLOATS.fullmatch(name) for name in filled):
        return [name and name.removesuffix(".0") for name in names]
    return names


@dataclass(frozen=True, slots=True, kw_only=True)
class Joined:
    """How well a column of systems and one of items fit: items, and the share of rows that two systems answer once."""

    systems: int
    items: int
    shared: int  # items that two systems or more answer
    share: float


def joined(systems: Sequence[Words], items: Sequence[Words], outputs: Sequence[Words]) -> Joined:
    """Say how well two columns fit, by the rows that hold an output."""
    answered: dict[str, set[str]] = defaultdict(set)
    rows = 0
    for system, item, output in zip(systems, items, outputs, strict=True):
        if output is not None and output.strip():
            rows += 1
            if system and item:
                answered[item].add(system)
    shared = [len(found) for found in answered.values() if len(found) > 1]
    return Joined(
        systems=len({system for found in answered.values() for system in found}),
        items=len(answered),
        shared=len(shared),
        share=sum(shared) / rows if rows else 0.0,
    )


def varies(items: Sequence[Words], cells: Sequence[Words]) -> float:
    """Return the share of the items with several filled cells whose cells, as they are joined, differ."""
    first: dict[str, str] = {}
    several, differ = set[str](), set[str]()
    for item, cell in zip(items, cells, strict=True):
        if item and cell:
            if item in first:
                several.add(item)
                if first[item] != cell:
                    differ.add(item)
            first.setdefault(item, cell)
    return len(differ) / len(several) if several else 0.0
