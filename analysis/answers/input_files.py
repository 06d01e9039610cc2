"""The files that answers were read from: their names, hashes and what was said of them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import polars as pl

from analysis.answers.people import Logins
from analysis.answers.reading import RawTable
from analysis.statistics.record import Record

HASHED = 20_000  # rows written as CSV at once


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class InputFile(Record):
    """A file that was read, by its name and the hash of its bytes."""

    table: str
    file: str
    sha256: str | None
    notes: tuple[str, ...] = ()  # how it was read, which rows were left out


def digest_of(frame: pl.DataFrame) -> str:
    """Return the hash of the rows as CSV."""
    digest = hashlib.sha256()
    for number, rows in enumerate(frame.iter_slices(HASHED)):
        digest.update(rows.write_csv(include_header=number == 0).encode())
    return digest.hexdigest()


def people_file(people: Logins, notes: tuple[str, ...]) -> InputFile:
    """Name the table of people."""
    return InputFile(table="people", file=Path(people.place).name, sha256=people.sha256, notes=notes)


def input_files(
    raw: Mapping[str, Sequence[RawTable]], notes: Mapping[str, Sequence[str]] = MappingProxyType({})
) -> tuple[InputFile, ...]:
    """Name the files; what is said of a table with several files is noted at the first."""
    return tuple(
        InputFile(
            table=kind,
            file=Path(table.place).name,
            sha256=table.sha256,
            notes=(*table.all_notes(), *(notes.get(kind, ()) if table is raw[kind][0] else ())),
        )
        for kind in sorted(raw)
        for table in raw[kind]
    )
