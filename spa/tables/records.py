"""Objects of JSON gathered by their keys: plain values as columns of strings, lists and objects as they are."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from spa.errors import NoRows, TableError
from spa.tables.source import Number, Source

BLOCK = 100_000  # objects that are held as Python's values before they become strings of polars
TEXT, NUMBER, BOOLEAN = 0, 1, 2
CODES: Mapping[type, int] = {str: TEXT, type(None): TEXT, Number: NUMBER, bool: BOOLEAN}


@dataclass(frozen=True, slots=True)
class _Cells:
    """Some cells of a key: their strings with what they were, or the values themselves where there is no string."""

    strings: pl.Series | None = None
    kinds: pl.Series | int = TEXT
    nested: tuple[object, ...] = ()

    @classmethod
    def of(cls, values: list[object]) -> _Cells:
        found = {*map(type, values)}
        if not found <= CODES.keys():
            return cls(nested=tuple(values))
        texts = [str(one).lower() if isinstance(one, bool) else one for one in values] if bool in found else values
        try:
            strings = pl.Series(texts, dtype=pl.String)
        except UnicodeEncodeError:  # half of a surrogate pair
            return cls(nested=tuple(values))
        if len(found - {type(None)}) > 1:
            return cls(strings=strings, kinds=pl.Series([CODES[type(value)] for value in values], dtype=pl.UInt8))
        return cls(strings=strings, kinds=max(CODES[kind] for kind in found))

    def values(self) -> list[object]:
        """Return them as JSON holds them."""
        if self.strings is None:
            return list(self.nested)
        texts: list[str | None] = self.strings.to_list()
        if isinstance(self.kinds, int):
            return [*texts] if self.kinds == TEXT else [_value(text, self.kinds) for text in texts]
        return [_value(text, kind) for text, kind in zip(texts, self.kinds, strict=True)]


def _value(text: str | None, kind: int) -> object:
    if text is None or kind == TEXT:
        return text
    return Number(text) if kind == NUMBER else text == "true"


class Records:
    """Gathers objects.

    Parameters
    ----------
    place : str
        The file, as messages name it.
    unit : str
        What an object is to a reader: "line" or "row".
    wanted : frozenset of str
        Keys whose values are kept.
    keys : iterable of str
        Those of the objects before these.
    """

    def __init__(self, place: str, unit: str, wanted: frozenset[str], keys: Iterable[str] = ()) -> None:
        self.place = place
        self._unit, self._wanted = unit, wanted
        self._keys = dict.fromkeys(keys)
        self._numbers = array("L")
        self._block: dict[str, list[object]] = {}  # the last objects
        self._sealed = 0  # objects before those
        self._cells: dict[str, list[tuple[int, _Cells]]] = {}  # key -> first object and cells of a block
        self._nested: dict[str, str] = {}  # key -> where the first list or object stands

    @property
    def height(self) -> int:
        """Return how many objects there are."""
        return len(self._numbers)

    @property
    def begun(self) -> bool:
        """Return whether a wanted key was there."""
        return bool(self._block or self._cells)

    def following(self) -> Records:
        """Return what gathers the objects behind these."""
        return Records(self.place, self._unit, self._wanted, self._keys)

    def add(self, number: int, record: Mapping[str, object]) -> None:
        """Take in the object that a reader finds in line or row ``number``."""
        before = len(self._numbers) - self._sealed
        for name, value in record.items():
            self._keys[name] = None
            if name in self._wanted:
                cells = self._block.setdefault(name, [])
                if len(cells) < before:
                    cells.extend([None] * (before - len(cells)))
                cells.append(value)
                if isinstance(value, list | dict) and name not in self._nested:
                    got = "a list" if isinstance(value, list) else "an object"
                    place = f"{self.place}, {self._unit} {number}"
                    self._nested[name] = f"{place}: {name}: expected one value, got {got}"
        self._numbers.append(number)
        if before + 1 == BLOCK:
            self._seal()

    def _seal(self) -> None:
        for name, values in self._block.items():
            self._cells.setdefault(name, []).append((self._sealed, _Cells.of(values)))
        self._block = {}
        self._sealed = len(self._numbers)

    def source(self) -> Source:
        """Return the objects as rows."""
        self._seal()
        height, cells, nested = self.height, self._cells, self._nested

        def values(name: str) -> list[object]:
            found: list[object] = []
            for first, block in cells.get(name, ()):
                found += [None] * (first - len(found))
                found += block.values()
            return found + [None] * (height - len(found))

        def column(name: str) -> pl.Series:
            if name in nested:
                raise TableError(nested[name])
            column = pl.Series(name, [], dtype=pl.String)
            for first, block in cells.get(name, ()):
                if block.strings is None:
                    raise TableError(f"{self.place}: {name}: expected UTF-8, got half of a surrogate pair")
                column = column.extend_constant(None, first - len(column)).append(block.strings)
            return column.extend_constant(None, height - len(column))

        numbers = self._numbers
        apart = height > 0 and numbers[-1] - numbers[0] + 1 > height
        return Source(
            place=self.place,
            schema={name: pl.Object() if name in nested else pl.String() for name in self._keys},
            height=height,
            first_row=numbers[0] if height else 1,
            column=column,
            values=values,
            rows=pl.Series("row", np.array(numbers, dtype=np.uint32)) if apart else None,
        )


def gathered(
    found: Iterable[tuple[int, Mapping[str, object]]], records: Records, *, rows: int, expected: str
) -> Iterator[Source]:
    """Yield numbered objects as sources of about ``rows`` rows, each with the keys that stand in these or before.

    Raise NoRows where there is none, saying what was ``expected``.
    """
    empty = True
    for number, record in found:
        empty = False
        records.add(number, record)
        if records.height >= rows and records.begun:
            yield records.source()
            records = records.following()
    if empty:
        raise NoRows(f"{records.place}: {expected}")
    if records.height:
        yield records.source()
