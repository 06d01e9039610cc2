"""Rows of one file, before anybody says what they mean: columns that are read on demand."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import polars as pl

from spa.errors import shortened
from spa.files import unique_keys


class Number(str):
    """A number of a file, as it is written there ("1.0" stays "1.0")."""

    __slots__ = ()


def json_decoder() -> json.JSONDecoder:
    """Return what reads JSON of tables: numbers as they are written, no key twice.

    NaN, as some tools write nothing, is ``None``; an infinity is a number that no check lets pass.

    >>> json_decoder().decode('{"a": 1.0, "b": [NaN, -Infinity]}')
    {'a': '1.0', 'b': [None, '-Infinity']}
    """
    return json.JSONDecoder(
        object_pairs_hook=unique_keys,
        parse_int=Number,
        parse_float=Number,
        parse_constant=lambda name: None if name == "NaN" else Number(name),
    )


SHOWN = 8  # values that a message lists


@dataclass(frozen=True, slots=True, kw_only=True)
class RowsChosen:
    """What one ``keep`` or ``drop`` did: rows by the value named, how many left, and other values that there were."""

    keeps: bool
    column: str
    values: Mapping[str, int]
    left_out: int
    others: tuple[str, ...] = ()

    def __add__(self, other: RowsChosen) -> RowsChosen:
        """Return what it did in both of two files or parts."""
        values = Counter(self.values)
        values.update(other.values)
        return replace(
            self,
            values={value: values[value] for value in self.values},
            left_out=self.left_out + other.left_out,
            others=tuple(dict.fromkeys((*self.others, *other.others)))[:SHOWN],
        )

    def note(self) -> str:
        """Say how many rows left."""
        sign = " is not " if self.keeps else "="
        return f"{self.left_out:,} rows left out: {self.column}{sign}{shortened(' or '.join(self.values), 120)}"


def added(first: Iterable[RowsChosen], second: Iterable[RowsChosen]) -> tuple[RowsChosen, ...]:
    """Return what each ``keep`` and ``drop`` did in both."""
    total: dict[tuple[bool, str], RowsChosen] = {}
    for one in (*first, *second):
        key = (one.keeps, one.column)
        total[key] = total[key] + one if key in total else one
    return tuple(total.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Rows of a file.

    Parameters
    ----------
    place : str
        The file, as messages name it.
    schema : mapping of str to DataType
        Columns as the file names them, with the type in which they are stored; of text formats all are strings.
    height : int
        How many rows.
    first_row : int
        What a reader calls the first of them: 2 below the header of a CSV file, else 1.
    column : callable
        One column as it is stored, by its name.
    values : callable
        The same as what JSON holds: texts, numbers (a :class:`Number`), true and false, lists, objects, ``None``.
    rows : Series, optional
        What a reader calls each row, where rows were left out or taken apart.
    sampled : callable, optional
        The first values of a column that was not asked for, where ``column`` does not read it.
    notes : tuple of str
        What is to be said of how the file was read.
    chosen : tuple of RowsChosen
        What each ``keep`` and ``drop`` did whose column is there.
    constants : frozenset of str
        Columns that are constants, as the file lacks them.
    places : frozenset of str
        Columns that say which element of a list of plain values a row was: who that is, nobody knows.
    """

    place: str
    schema: Mapping[str, pl.DataType]
    height: int
    first_row: int = 1
    column: Callable[[str], pl.Series]
    values: Callable[[str], list[object]]
    rows: pl.Series | None = None
    sampled: Callable[[str], pl.Series] | None = None
    notes: tuple[str, ...] = ()
    chosen: tuple[RowsChosen, ...] = ()
    constants: frozenset[str] = frozenset()
    places: frozenset[str] = frozenset()

    def numbers(self) -> Sequence[int]:
        """Return what a reader calls each row."""
        return range(self.first_row, self.first_row + self.height) if self.rows is None else self.rows.to_list()


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is asked of a file.

    ``columns`` by their names in it; ``coded`` those whose strings may be categories; ``numbers`` those that hold
    numbers, which files of text may write with decimal commas (:mod:`spa.tables.decimals`); whether cells may be
    ``guarded`` as those of our own tables are (:mod:`spa.tables.formulas`): texts of others are read as written.
    """

    columns: frozenset[str]
    coded: frozenset[str] = frozenset()
    numbers: frozenset[str] = frozenset()
    guarded: bool = True


def in_memory(frame: pl.DataFrame, place: str, *, first_row: int = 1, notes: tuple[str, ...] = ()) -> Source:
    """Return a frame as a source."""
    return Source(
        place=place,
        schema=frame.schema,
        height=frame.height,
        first_row=first_row,
        column=frame.get_column,
        values=lambda name: frame[name].to_list(),
        notes=notes,
    )
