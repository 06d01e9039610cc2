"""How lists of people meet answers: of Task Builder, or of tables that were made elsewhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from spa.errors import ResponseError, shortened
from spa.importers.answer_format import ImportRequest
from spa.importers.foreign_rows import ForeignRow, read_rows
from spa.importers.prolific.people import People, is_list, read_people
from spa.importers.prolific.tasks import read_tasks, rows_of
from spa.importers.pseudonyms import load_key, spelled
from spa.importers.questions_of_files import QuestionsAsked
from spa.importers.tables import COLUMNS, ImportedTables, Row

ANSWERED = {"score": "ratings", "winner": "choices", "preference": "preferences", "rank": "orders"}
APART = "not_counted"


def read_prolific(request: ImportRequest) -> ImportedTables:
    """Return the answers of people who count, with these people; those of others are apart."""
    options = request.options
    lists = [path for path in request.paths if not path.is_dir() and is_list(path)]
    builder = [path for path in request.paths if path not in lists]
    people = read_people(lists, options.get("demographics") or ()) if lists else People()
    rows: dict[str, list[Row]] = {}
    notes = list(people.notes)
    if builder:
        asked = QuestionsAsked.given(options)
        found = read_tasks(builder, asked, options.get("participant_column"))
        rows = rows_of(found, asked, builder[0])
        notes += found.notes
    for path in options.get("answers") or ():
        if not lists:
            raise ResponseError(f"--answer-table {path}: expected a list of Prolific's people beside it, got none")
        table, own = _table(path, notes)
        rows.setdefault(table, []).extend(_named(own, people, request, path))
    return _counted(rows, people, notes, bool(lists))


def _counted(rows: Mapping[str, list[Row]], people: People, notes: list[str], listed: bool) -> ImportedTables:
    """Part the answers of those who count from the answers of those who do not."""
    kept: dict[str, list[Row]] = {}
    apart: dict[str, list[Row]] = {}
    for table, own in rows.items():
        for row in own:
            counts = row.get("annotator_kind") == "llm" or people.known.get(str(row["annotator_id"]), True)
            (kept if counts else apart).setdefault(table, []).append(row)
    if listed:
        answered = {
            str(row["annotator_id"]) for own in rows.values() for row in own if row.get("annotator_kind") != "llm"
        }
        unknown = len(answered - people.known.keys())
        if rows and unknown:
            notes.append(f"{unknown:,} people of the answers are in no list; their answers count")
        left = len(answered & {who for who, counts in people.known.items() if not counts})
        if left:
            notes.append(f"answers of {left:,} people who do not count are in the folder {APART}")
        silent = len(people.rows.keys() - answered)
        if rows and silent:
            notes.append(f"{silent:,} people who count gave no answer")
        if not rows:
            notes.append("no answers are among them; --answer-table names the tables of what these people answered")
        kept["annotators"] = list(people.rows.values())
    beside = {APART: ImportedTables(rows=apart, skipped={})} if apart else {}
    return ImportedTables(rows=kept, skipped=dict(people.skipped), notes=tuple(notes), apart=beside)


def _table(path: Path, notes: list[str]) -> tuple[str, list[Row]]:
    """Return which table of answers a file is, and its rows."""
    rows = read_rows(path, ("annotator_id",))
    columns = list(rows[0].cells) if rows else []
    table = next((name for column, name in ANSWERED.items() if column in columns), None)
    if table is None:
        raise ResponseError(
            f"{path}: expected a column of answers ({', '.join(ANSWERED)}), got {shortened(', '.join(columns), 160)}"
        )
    left = [name for name in columns if name not in COLUMNS[table]]
    if left:
        notes.append(f"{path}: columns that are not taken along: {shortened(', '.join(left), 120)}")
    types = {name: _typed(kind) for name, kind in COLUMNS[table].items() if name in columns}
    return table, [{name: read(row, name) for name, read in types.items()} for row in rows]


def _typed(kind: Any) -> Callable[[ForeignRow, str], object]:
    if kind == pl.Float64:
        return ForeignRow.number
    if kind != pl.Int64:
        return ForeignRow.text

    def whole(row: ForeignRow, name: str) -> int | None:
        found = row.number(name)
        if found is not None and found != int(found):
            raise ResponseError(f"{row.place}, {name}: expected a whole number, got {found:g}")
        return None if found is None else int(found)

    return whole


def _named(rows: Sequence[Row], people: People, request: ImportRequest, path: Path) -> list[Row]:
    """Return the answers by Prolific's ids, whether they were given by these or by their pseudonyms."""
    ids = {spelled(who): who for who in people.known}
    human = [row for row in rows if row.get("annotator_kind") != "llm"]
    met = Counter(str(row.get("annotator_id")) in ids for row in human)
    if human and not met[True] and request.key is not None and request.key.exists():
        key = load_key(request.key)
        ids = {key.pseudonym(who): who for who in people.known}
        met = Counter(str(row.get("annotator_id")) in ids for row in human)
    if human and not met[True]:
        raise ResponseError(
            f"{path}: expected annotators who are in Prolific's list, by its ids or by their pseudonyms, got none; "
            "name the key of these pseudonyms with --key, or the column of the ids annotator_id"
        )
    return [
        row
        if row.get("annotator_kind") == "llm"
        else {**row, "annotator_id": ids.get(str(row.get("annotator_id")), row.get("annotator_id"))}
        for row in rows
    ]
