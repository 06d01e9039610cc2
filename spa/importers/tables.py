"""What an import gives, and how it is written."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from spa.errors import ResponseError, shortened
from spa.importers.pseudonyms import PseudonymKey
from spa.responses.table_files import TableFormat, write_table


def _texts(*names: str) -> dict[str, Any]:
    return dict.fromkeys(names, pl.String)


_WHO = _texts("annotator_id", "annotator_kind", "assignment_id")
_REASON = _texts("missing_reason")
COLUMNS: dict[str, dict[str, Any]] = {
    "ratings": {
        **_WHO,
        **_texts("item_id", "sample", "system", "criterion"),
        **{"score": pl.Float64, "position": pl.Int64, "seconds": pl.Float64},
        **_texts("explanation"),
        **_REASON,
    },
    "preferences": {
        **_WHO,
        **_texts("item_id", "sample", "system_x", "system_y"),
        **{"preference": pl.Float64, "criterion": pl.String, "exposure": pl.Int64},
        **_REASON,
    },
    "orders": {**_WHO, **_texts("item_id", "system", "criterion"), "rank": pl.Int64, "repeat": pl.Int64, **_REASON},
    "choices": {**_WHO, **_texts("item_id", "sample", "system_x", "system_y", "criterion", "winner"), **_REASON},
}
# Columns that do not say what an answer is about.
NOT_OF_CELL = (
    "annotator_kind",
    "score",
    "position",
    "seconds",
    "explanation",
    "missing_reason",
    "preference",
    "winner",
)
Row = dict[str, Any]
NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedTables:
    """Rows by table, what was skipped, by the reason, and what is to be said of how they were read."""

    rows: dict[str, list[Row]]
    skipped: dict[str, int]
    notes: tuple[str, ...] = ()

    @property
    def missing(self) -> dict[str, tuple[int, int]]:
        """How many answers of each table are missing, and of how many."""
        return {
            table: (sum(row.get("missing_reason") is not None for row in rows), len(rows))
            for table, rows in self.rows.items()
            if rows
        }

    @property
    def twice(self) -> dict[str, int]:
        """How many answers of each table were given before by the same annotator, about the same."""
        found = {}
        for table in ("ratings", "preferences", "choices"):
            cell = [name for name in COLUMNS[table] if name not in NOT_OF_CELL]
            rows = self.rows.get(table, [])
            found[table] = len(rows) - len({tuple(row.get(name) for name in cell) for row in rows})
        return {table: count for table, count in found.items() if count}

    def frame(self, name: str) -> pl.DataFrame:
        """Return one table with all its columns, those without a value left out."""
        columns = COLUMNS[name]
        try:
            frame = pl.DataFrame(
                [[row.get(column) for column in columns] for row in self.rows[name]], columns, orient="row"
            )
        except UnicodeEncodeError as error:
            raise ResponseError(
                f"{name}: expected names in UTF-8, got {shortened(repr(error.object))}; rename its file or folder"
            ) from error
        return frame.drop([column for column in frame.columns if frame[column].null_count() == frame.height])


def number_of(text: str) -> float | None:
    """Return the finite number that a text is, with a decimal point; nothing where it is none.

    >>> number_of("-0.5"), number_of("4 of 5"), number_of("1e400"), number_of("nan")
    (-0.5, None, None, None)
    """
    value = float(text) if NUMBER.fullmatch(text) else math.nan
    return value if math.isfinite(value) else None


def with_pseudonyms(imported: ImportedTables, key: PseudonymKey) -> ImportedTables:
    """Return the same with the people's names replaced; LLMs keep theirs."""
    names = {row["annotator_id"]: row.get("annotator_kind") for rows in imported.rows.values() for row in rows}
    given = {name: name if kind == "llm" else key.pseudonym(name) for name, kind in names.items()}
    rows = {
        table: [{**row, "annotator_id": given[row["annotator_id"]]} for row in rows]
        for table, rows in imported.rows.items()
    }
    return replace(imported, rows=rows)


def write_imported(imported: ImportedTables, folder: Path, *, format: TableFormat) -> dict[Path, int]:
    """Write each table that has rows, whole or not at all, and return how many rows each file holds.

    Raise ResponseError if there is no answer at all.
    """
    written = {}
    for name in COLUMNS:
        if not imported.rows.get(name):
            continue
        frame = imported.frame(name)
        path = folder / f"{name}.{format}"
        write_table(frame, path, format=format)
        written[path] = frame.height
    if not written:
        raise ResponseError(f"{folder}: nothing was written, as no answer was found")
    return written
