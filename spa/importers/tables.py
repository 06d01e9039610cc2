"""What an import gives, and how it is written."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import polars as pl

from spa.errors import ResponseError, shortened
from spa.importers.pseudonyms import PseudonymKey
from spa.records.system_roles import UnrankedSystem
from spa.responses.table_files import TableFormat, write_table
from spa.tables.near_matches import escaped, matches_shown, near_matches


def _texts(*names: str) -> dict[str, Any]:
    return dict.fromkeys(names, pl.String)


_WHO = _texts("annotator_id", "annotator_kind", "assignment_id")
_GROUP = _texts("group")
_REASON = _texts("missing_reason")
COLUMNS: dict[str, dict[str, Any]] = {
    "ratings": {
        **_WHO,
        **_GROUP,
        **_texts("item_id", "sample", "system", "criterion"),
        **{"score": pl.Float64, "position": pl.Int64, "seconds": pl.Float64, "repeat": pl.Int64},
        **_texts("explanation", "elicitation"),
        **_REASON,
    },
    "preferences": {
        **_WHO,
        **_GROUP,
        **_texts("item_id", "sample", "system_x", "system_y"),
        **{"preference": pl.Float64, "criterion": pl.String, "exposure": pl.Int64, "repeat": pl.Int64},
        **_texts("explanation", "elicitation"),
        **_REASON,
    },
    "orders": {
        **_WHO,
        **_GROUP,
        **_texts("item_id", "system", "criterion"),
        "rank": pl.Int64,
        "repeat": pl.Int64,
        **_REASON,
    },
    "choices": {
        **_WHO,
        **_GROUP,
        **_texts("item_id", "sample", "system_x", "system_y", "criterion", "winner", "explanation", "elicitation"),
        **{"repeat": pl.Int64},
        **_REASON,
    },
    "spans": {  # as spa/elicitation/spans.py has them
        **_WHO,
        **_texts("item_id", "sample", "system", "criterion"),
        **{"start": pl.Int64, "end": pl.Int64},
        **_texts("text", "severity"),
        **{"weight": pl.Float64},
        **_texts("category", "reason"),
        **{"characters": pl.Int64, "repeat": pl.Int64},
        **_REASON,
    },
    "annotators": {
        **_texts("annotator_id", "annotator_kind", "source"),
        **{"submissions": pl.Int64, "seconds": pl.Float64},
    },
    "exclusions": {**_WHO, **_texts("rule", "evidence")},
}
ANSWERS = ("ratings", "preferences", "orders", "choices")  # tables with a row an answer
KEPT = frozenset(("spans", column) for column in ("start", "end", "severity"))  # also where no row has a value
DEMOGRAPHIC = "demographic:"  # before columns of annotators that say who they are
NEAR = "annotators: "  # begins what is said of people's names that are nearly the same
UNNAMED = "unnamed people"  # who answered, where nobody says it: one vote a cell, as a report counts them
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedTables:
    """Rows by table, what was skipped, by the reason, and what is to be said of how they were read.

    ``apart`` are answers that do not count with the others, such as those of rejected work, by the name of their
    folder; ``roles`` are systems that are rated but not ranked, whose answers lie in the folder ``unranked``.
    """

    rows: dict[str, list[Row]]
    skipped: dict[str, int]
    notes: tuple[str, ...] = ()
    apart: dict[str, ImportedTables] = field(default_factory=dict)
    roles: tuple[UnrankedSystem, ...] = ()
    unranked: str | None = None

    @property
    def missing(self) -> dict[str, tuple[int, int]]:
        """How many answers of each table are missing, and of how many."""
        return {
            table: (sum(row.get("missing_reason") is not None for row in rows), len(rows))
            for table, rows in self.rows.items()
            if rows and table in ANSWERS
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
        """Return one table with all its columns, those without a value left out; people with what is said of them."""
        said = {column: pl.String for row in self.rows[name] for column in row if column.startswith(DEMOGRAPHIC)}
        columns = {**COLUMNS[name], **said}
        try:
            frame = pl.DataFrame(
                [[row.get(column) for column in columns] for row in self.rows[name]], columns, orient="row"
            )
        except UnicodeEncodeError as error:
            raise ResponseError(
                f"{name}: expected names in UTF-8, got {shortened(repr(error.object))}; rename its file or folder"
            ) from error
        empty = [column for column in frame.columns if frame[column].null_count() == frame.height]
        return frame.drop([column for column in empty if (name, column) not in KEPT])


def with_pseudonyms(imported: ImportedTables, key: PseudonymKey) -> ImportedTables:
    """Return the same with the people's names replaced; LLMs keep theirs, and unnamed people have none."""
    llms = {
        row["annotator_id"] for rows in imported.rows.values() for row in rows if row.get("annotator_kind") == "llm"
    } | {UNNAMED}
    names = {row["annotator_id"] for rows in imported.rows.values() for row in rows}
    given = {name: name if name in llms else key.pseudonym(name) for name in names}
    rows = {
        table: [{**row, "annotator_id": given[row["annotator_id"]]} for row in rows]
        for table, rows in imported.rows.items()
    }
    apart = {folder: with_pseudonyms(tables, key) for folder, tables in imported.apart.items()}
    return replace(imported, rows=rows, apart=apart)


def said_of_near(imported: ImportedTables) -> tuple[str, ...]:
    """Say which people's names are nearly the same: under pseudonyms nobody sees it any more."""
    people = {
        row["annotator_id"] for rows in imported.rows.values() for row in rows if row.get("annotator_kind") == "human"
    }
    near = near_matches(people)
    if not near:
        return ()
    new, old = near[0].names[:2]
    return (
        f"{NEAR}{matches_shown(near)} may be one, and count as two; if they are one, keep the names by --keep-ids, and "
        f"say to spa report --same {shortened(repr(escaped(f'annotator_id:{old}={new}')), 120)}",
    )


def write_imported(imported: ImportedTables, folder: Path, *, format: TableFormat) -> dict[Path, int]:
    """Write each table that has rows, whole or not at all, and return how many rows each file holds.

    What is apart goes to folders of its own in ``folder``. Raise ResponseError if there is no answer at all.
    """
    written = {}
    for name in COLUMNS:
        if not imported.rows.get(name):
            continue
        frame = imported.frame(name)
        path = folder / f"{name}.{format}"
        write_table(frame, path, format=format)
        written[path] = frame.height
    for name, tables in imported.apart.items():
        if any(tables.rows.values()):
            written |= write_imported(tables, folder / name, format=format)
    if not written:
        raise ResponseError(f"{folder}: nothing was written, as no answer was found")
    return written
