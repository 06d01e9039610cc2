"""CSV files with one row a person (and item) and one column a question."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import polars as pl

from spa.errors import ResponseError, shortened
from spa.importers.mapping import QuestionColumn, Wide
from spa.importers.tables import ImportedTables, Row, number_of
from spa.responses.table_files import read_csv

TABLE_OF = {"rating": "ratings", "preference": "preferences", "choice": "choices"}
WINNERS = ("x", "y", "tie")


def read_wide(path: Path, mapping: Wide) -> ImportedTables:
    """Read a CSV by a mapping of its columns.

    Returns
    -------
    ImportedTables
        One row an answer; an empty cell is missing, and a row that ``keep`` leaves aside is counted.

    Raises
    ------
    ResponseError
        If a column is not there, or a cell holds something else than its question allows: row, column, what came.
    """
    frame = read_csv(path)
    _columns_there(path, frame, mapping)
    rows: dict[str, list[Row]] = {table: [] for table in TABLE_OF.values()}
    skipped: Counter[str] = Counter()
    for number, row in enumerate(frame.iter_rows(named=True), start=2):
        if not any(row.values()):  # a blank line
            continue
        aside = next((column for column, kept in mapping.keep.items() if (row[column] or "") not in kept), None)
        if aside is not None:
            skipped[f"{aside} {row[aside] or 'empty'}"] += 1
            continue
        for asked in mapping.questions:
            rows[TABLE_OF[asked.kind]].append(_answer(asked, mapping, row, f"{path}, row {number}, {asked.column}"))
    return ImportedTables(rows=rows, skipped=dict(skipped))


def _columns_there(path: Path, frame: pl.DataFrame, mapping: Wide) -> None:
    named = [mapping.annotator, mapping.item, mapping.assignment, mapping.seconds, *mapping.keep]
    wanted = [*named, *(asked.column for asked in mapping.questions)]
    absent = [column for column in wanted if column is not None and column not in frame.columns]
    if absent:
        raise ResponseError(
            f"{path}: expected a column {absent[0]!r}, got {shortened(', '.join(frame.columns), 200)}; "
            "name it as it stands in the file"
        )


def _answer(asked: QuestionColumn, mapping: Wide, row: dict[str, str | None], place: str) -> Row:
    annotator = row[mapping.annotator]
    if not annotator:
        raise ResponseError(f"{place}: expected who answered in column {mapping.annotator!r}, got nothing")
    shared: Row = {
        "annotator_id": annotator,
        "annotator_kind": "human",
        "assignment_id": row[mapping.assignment] if mapping.assignment else None,
        "criterion": asked.criterion,
    }
    raw = row[asked.column]
    told = None if raw is None or not raw.strip() else asked.values.get(raw.strip(), raw.strip())
    reason = None if told is not None else "empty"
    if asked.kind == "preference":
        value = None if told is None else _number(told, place) / (100 if asked.percent else 1)
        if value is not None and not 0 <= value <= 1:
            raise ResponseError(
                f"{place}: expected a preference from 0 to 1 (percent = true reads 0 to 100), got {_shown(raw)}"
            )
        return {
            **shared,
            **_pair(asked, place),
            "exposure": asked.exposure,
            "preference": value,
            "missing_reason": reason,
        }
    shared["item_id"] = asked.item or (row[mapping.item] if mapping.item else None)
    if not shared["item_id"]:
        raise ResponseError(f"{place}: expected the item, from `item` of the question or of the mapping, got neither")
    if asked.kind == "choice":
        if told is not None and told not in WINNERS:
            raise ResponseError(f"{place}: expected x, y or tie (`values` turns words into them), got {_shown(raw)}")
        return {**shared, **_pair(asked, place), "winner": told, "missing_reason": reason}
    if asked.system is None:
        raise ResponseError(f"{place}: expected `system` of a rating in the mapping, got none")
    return {
        **shared,
        "system": asked.system,
        "score": None if told is None else _number(told, place),
        "seconds": _number(row[mapping.seconds] or "0", place) if mapping.seconds and row[mapping.seconds] else None,
        "missing_reason": reason,
    }


def _pair(asked: QuestionColumn, place: str) -> dict[str, str]:
    if asked.system_x is None or asked.system_y is None or asked.system_x == asked.system_y:
        raise ResponseError(f"{place}: expected `system_x` and `system_y`, two systems, of a comparison in the mapping")
    return {"system_x": asked.system_x, "system_y": asked.system_y}


def _number(text: str, place: str) -> float:
    value = number_of(text.strip())
    if value is None:
        raise ResponseError(
            f"{place}: expected a finite number (`values` turns words into numbers), got {_shown(text)}"
        )
    return value


def _shown(text: str | None) -> str:
    return shortened(repr(text))
