"""CSV files with one row a person (and item) and one column a question."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import polars as pl

from spa.errors import ResponseError, shortened
from spa.importers.mapping import QuestionColumn, Wide
from spa.importers.tables import ImportedTables, Row, number_of
from spa.tables.delimited import read_csv

TABLE_OF = {"rating": "ratings", "preference": "preferences", "choice": "choices", "rank": "orders"}
WINNERS = ("x", "y", "tie")


def read_wide(path: Path, mapping: Wide) -> ImportedTables:
    """Read a CSV by a mapping of its columns, one row an answer.

    An empty cell is missing, a row that ``keep`` leaves out is counted, and further rankings of an item by one
    annotator, perhaps of other systems, are numbered. Raise ResponseError, with row, column and what was found, if a
    column is not there, or a cell holds something else than its question allows.
    """
    frame = read_csv(path)
    _columns_there(path, frame, mapping)
    rows: dict[str, list[Row]] = {table: [] for table in TABLE_OF.values()}
    skipped: Counter[str] = Counter()
    ranked: Counter[tuple[str | None, ...]] = Counter()  # rankings by annotator, item and assignment
    for number, row in enumerate(frame.iter_rows(named=True), start=2):
        if not any(row.values()):  # a blank line
            continue
        aside = next((column for column, values in mapping.keep.items() if (row[column] or "") not in values), None)
        if aside is not None:
            skipped[f"{aside} {row[aside] or 'empty'}"] += 1
            continue
        who = tuple(row[column] if column else None for column in (mapping.annotator, mapping.item, mapping.assignment))
        ranked[who] += 1
        again = ranked[who] if ranked[who] > 1 else None
        for question in mapping.questions:
            rows[TABLE_OF[question.kind]].append(
                _answer(question, mapping, row, again, f"{path}, row {number}, {question.column}")
            )
    return ImportedTables(rows=rows, skipped=dict(skipped))


def _columns_there(path: Path, frame: pl.DataFrame, mapping: Wide) -> None:
    named = [mapping.annotator, mapping.item, mapping.assignment, mapping.seconds, *mapping.keep]
    named += [question.system_column for question in mapping.questions]
    named_columns = [*named, *(question.column for question in mapping.questions)]
    absent = [column for column in named_columns if column is not None and column not in frame.columns]
    if absent:
        raise ResponseError(
            f"{path}: expected a column {absent[0]!r}, got {shortened(', '.join(frame.columns), 200)}; "
            "name it as it stands in the file"
        )


def _answer(question: QuestionColumn, mapping: Wide, row: dict[str, str | None], again: int | None, place: str) -> Row:
    annotator = row[mapping.annotator]
    if not annotator:
        raise ResponseError(f"{place}: expected who answered in column {mapping.annotator!r}, got nothing")
    shared: Row = {
        "annotator_id": annotator,
        "annotator_kind": "human",
        "assignment_id": row[mapping.assignment] if mapping.assignment else None,
        "criterion": question.criterion,
    }
    raw = row[question.column]
    given = None if raw is None or not raw.strip() else question.values.get(raw.strip(), raw.strip()) or None
    reason = None if given is not None else "empty"
    if question.kind == "preference":
        value = None if given is None else _number(given, place) / (100 if question.percent else 1)
        if value is not None and not 0 <= value <= 1:
            raise ResponseError(
                f"{place}: expected a preference from 0 to 1 (percent = true reads 0 to 100), got {_quoted(raw)}"
            )
        return {
            **shared,
            **_pair(question, place),
            "exposure": question.exposure,
            "preference": value,
            "missing_reason": reason,
        }
    shared["item_id"] = question.item or (row[mapping.item] if mapping.item else None)
    if not shared["item_id"]:
        raise ResponseError(f"{place}: expected the item, from `item` of the question or of the mapping, got neither")
    if question.kind == "choice":
        if given is not None and given not in WINNERS:
            raise ResponseError(f"{place}: expected x, y or tie (`values` turns words into them), got {_quoted(raw)}")
        return {**shared, **_pair(question, place), "winner": given, "missing_reason": reason}
    system = question.system
    if question.kind == "rank":
        system = system or (row[question.system_column] if question.system_column else None)
    if not system:
        raise ResponseError(f"{place}: expected `system` of a {question.kind} in the mapping, got none")
    if question.kind == "rank":
        rank = None if given is None else _number(given, place)
        if rank is not None and (rank < 1 or rank != int(rank)):
            raise ResponseError(f"{place}: expected a rank from 1, the best, got {_quoted(raw)}")
        rank = None if rank is None else int(rank)
        return {**shared, "system": system, "rank": rank, "repeat": again, "missing_reason": reason}
    return {
        **shared,
        "system": system,
        "score": None if given is None else _number(given, place),
        "seconds": _number(row[mapping.seconds] or "0", place) if mapping.seconds and row[mapping.seconds] else None,
        "missing_reason": reason,
    }


def _pair(question: QuestionColumn, place: str) -> dict[str, str]:
    if question.system_x is None or question.system_y is None or question.system_x == question.system_y:
        raise ResponseError(f"{place}: expected `system_x` and `system_y`, two systems, of a comparison in the mapping")
    return {"system_x": question.system_x, "system_y": question.system_y}


def _number(text: str, place: str) -> float:
    value = number_of(text.strip())
    if value is None:
        raise ResponseError(
            f"{place}: expected a finite number (`values` turns words into numbers), got {_quoted(text)}"
        )
    return value


def _quoted(text: str | None) -> str:
    return shortened(repr(text))
