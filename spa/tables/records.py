"""Objects of JSON gathered by their keys: plain values as columns of strings, lists and objects as they are."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from spa.errors import NoRows, TableError
from spa.tables.source import Number, Source

BLOCK = 2_000  # objects that are held as Python's values before they become strings of polars
LOOKED_AT = 20  # objects that tell whether a key that is not wanted holds lists or objects
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
        self._block: list[Mapping[str, object]] = []  # the last objects
        self._sealed = 0  # objects before those
        self._cells: dict[str, list[tuple[int, _Cells]]] = {}  # key -> first object and cells of a block
        self._first: dict[str, pl.Series | None] = {}  # strings of keys not wanted in the first objects
        self._lists: dict[str, pl.DataType] = {}  # keys not wanted whose first values are lists or objects
        self._nested: dict[str, str] = {}  # key -> where the first list or object stands

    @property
    def height(self) -> int:
        """Return how many objects there are."""
        return len(self._numbers)

    @property
    def begun(self) -> bool:
        """Return whether a wanted key was there."""
        return not self._wanted.isdisjoint(self._keys)

    def following(self) -> Records:
        """Return what gathers the objects behind these."""
        return Records(self.place, self._unit, self._wanted, self._keys)

    def add(self, number: int, record: Mapping[str, object]) -> None:
        """Take in the object that a reader finds in line or row ``number``."""
        if record.keys() != self._keys.keys():
            self._keys |= dict.fromkeys(record)
        self._block.append(record)
        self._numbers.append(number)
        if len(self._block) == BLOCK:
            self._seal()

    def _seal(self) -> None:
        """Turn the last objects into cells, and forget what is not wanted of them."""
        for name in self._wanted.intersection(self._keys) if self._block else ():
            values = [record.get(name) for record in self._block]
            cells = _Cells.of(values)
            self._cells.setdefault(name, []).append((self._sealed, cells))
            if cells.strings is None and name not in self._nested:
                self._note_nested(name, values)
        for name in self._keys.keys() - self._wanted - self._lists.keys():
            first = (record.get(name) for record in self._block[:LOOKED_AT])
            found = next((value for value in first if isinstance(value, list | dict)), None)
            if found is not None:
                self._lists[name] = pl.List(pl.Null()) if isinstance(found, list) else pl.Struct([])
            elif not self._sealed:
                self._first[name] = _Cells.of([record.get(name) for record in self._block]).strings
        self._block = []
        self._sealed = len(self._numbers)

    def _note_nested(self, name: str, values: Sequence[object]) -> None:
        for number, value in zip(self._numbers[self._sealed :], values, strict=True):
            if isinstance(value, list | dict):
                got, do = (
                    ("a list", f"--each {name} makes a row of each element")
                    if isinstance(value, list)
                    else ("an object", f"name what is inside, such as {name}.{next(iter(value), 'KEY')}")
                )
                place = f"{self.place}, {self._unit} {number}"
                self._nested[name] = f"{place}: {name}: expected one value, got {got}; {do}"
                return

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
            blocks = [pl.Series(name, [], dtype=pl.String)]
            filled = 0
            for first, block in cells.get(name, ()):
                if block.strings is None:
                    raise TableError(f"{self.place}: {name}: expected UTF-8, got half of a surrogate pair")
                blocks += [_nothing(first - filled), block.strings]
                filled = first + len(block.strings)
            return pl.concat([*blocks, _nothing(height - filled)]).alias(name)

        def sampled(name: str) -> pl.Series:
            found = self._first.get(name)
            return column(name) if found is None else found

        numbers = self._numbers
        apart = height > 0 and numbers[-1] - numbers[0] + 1 > height
        return Source(
            place=self.place,
            schema={name: pl.Object() if name in nested else self._lists.get(name, pl.String()) for name in self._keys},
            height=height,
            first_row=numbers[0] if height else 1,
            column=column,
            values=values,
            sampled=sampled,
            rows=pl.Series("row", np.array(numbers, dtype=np.uint32)) if apart else None,
        )


def _nothing(height: int) -> pl.Series:
    return pl.repeat(None, height, dtype=pl.String, eager=True)


def gathered(
    objects: Iterable[tuple[int, Mapping[str, object]]], records: Records, *, rows: int, expected: str
) -> Iterator[Source]:
    """Yield numbered objects as sources of about ``rows`` rows, each with the keys that stand in these or before.

    Raise NoRows where there is none, saying what was ``expected``.
    """
    empty = True
    for number, record in objects:
        empty = False
        records.add(number, record)
        if records.height >= rows and records.begun:
            yield records.source()
            records = records.following()
    if empty:
        raise NoRows(f"{records.place}: {expected}")
    if records.height:
        yield records.source()
