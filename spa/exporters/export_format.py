"""What a format brings in which another tool reads the answers of a study."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from spa.records.outputs import Outputs
from spa.responses.tidy_tables import Tables, answer_tables

USUAL: Mapping[str, list[object]] = {"annotator_kind": ["human"], "sample_x": [1], "sample_y": [1]}  # says nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyExport:
    """What is exported: the tables of a study, and what its card and its texts say.

    ``outputs`` reads them when it is called; ``licence`` is that of a dataset.
    """

    tables: Tables
    title: str
    language: str
    licence: str
    outputs: Callable[[], Outputs]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedFiles:
    """How many ``rows`` (records) each file holds, ``None`` of one without, and what the format could not hold."""

    rows: dict[Path, int | None]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportFormat:
    """One format.

    Parameters
    ----------
    key : str
        Its name in ``spa export --format KEY``, and that of its module.
    holds : tuple of str or None
        The tables of answers that it holds, ``None`` for all: the rows of others are counted in a line.
    write : callable
        Writes files to a folder, each whole or not at all.
    """

    key: str
    holds: tuple[str, ...] | None
    write: Callable[[StudyExport, Path], ExportedFiles]

    def left_out(self, tables: Tables) -> Iterator[str]:
        """Yield a line for each table of answers that the format does not hold."""
        for name, frame in tables.files.items():
            if self.holds is not None and name in answer_tables() and name not in self.holds and frame.height:
                yield f"{self.key} holds no {name}: {frame.height} rows left out"


def answered(table: pl.DataFrame, value: str) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """Return the rows of a table that have an answer, and a line about the others."""
    found = table.filter(pl.col(value).is_not_null())
    missing = table.height - found.height
    return found, (f"missing: {missing} of {table.height} answers, left out",) if missing else ()


def not_held(table: pl.DataFrame, columns: Iterable[str]) -> tuple[str, ...]:
    """Return a line about columns that the format has no place for, each with its rows that say more than usual."""
    rows = {}
    for name in columns:
        usual = USUAL.get(name, table[name].drop_nulls().unique()[:1].to_list() if name == "criterion" else [])
        rows[name] = table.filter(pl.col(name).is_not_null() & ~pl.col(name).is_in(usual)).height
    said = ", ".join(f"{name} of {count} rows" for name, count in rows.items() if count)
    return (f"not held there, so that all count alike: {said}",) if said else ()


class FileNames:
    """Names of files, made of names of what they hold; no two are one file, on any file system.

    >>> name = FileNames()
    >>> name("gpt-4o/mini", "p 1"), name("gpt-4o mini", "P 1"), name("gpt-4o", "p 1")
    ('gpt-4o_mini.p_1', 'gpt-4o_mini.P_1~2', 'gpt-4o.p_1')
    """

    def __init__(self) -> None:
        self._times: Counter[str] = Counter()

    def __call__(self, *names: str) -> str:
        """Return names joined by dots; what a file system may refuse becomes an underscore."""
        found = ".".join(re.sub(r"[^\w=+-]|^-", "_", name) for name in names)
        self._times[found.casefold()] += 1
        number = self._times[found.casefold()]
        return found if number == 1 else f"{found}~{number}"
