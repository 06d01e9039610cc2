"""Columns of results with their names in tidy tables, as ``--map OLD=NEW`` has them."""

from __future__ import annotations

from typing import Any

from spa.importers.answer_format import ImportRequest
from spa.importers.mapping import check_pairs, criterion_of, mapping_place
from spa.importers.mturk.mapping import ANSWERS, OPTIONAL, REQUIRED, ResultMapping, checked_mapping, read_raw
from spa.importers.mturk.results import ANSWER

OF_SUBMISSIONS = {"annotator_id": "worker", "assignment_id": "assignment", "seconds": "seconds"}
TABLES = {column: table for table, column in ANSWERS.items()}
CELLS = tuple(dict.fromkeys((*(name for needed in REQUIRED.values() for name in needed), *OPTIONAL)))
KNOWN = (*OF_SUBMISSIONS, *CELLS)


def result_mapping(request: ImportRequest) -> ResultMapping:
    """Return what the columns mean: by a mapping, by pairs, or by both; an answer that a pair names is one more entry.

    Raise ResponseError or PlatformError with what is wrong.
    """
    place = mapping_place(request)
    raw: dict[str, Any] = {} if request.mapping is None else dict(read_raw(request.mapping))
    check_pairs(request, KNOWN, TABLES)
    named = {new: old for old, new in request.pairs}
    raw |= {key: named[name] for name, key in OF_SUBMISSIONS.items() if name in named}
    answers = [old for old, new in request.pairs if new in TABLES]
    own = {name: {"column": named[name]} for name in CELLS if name in named and name not in TABLES}
    for table in REQUIRED:
        if request.pairs and isinstance(raw.get(table), list):
            raw[table] = [{**cells, **_fitting(own, table)} for cells in raw[table] if isinstance(cells, dict)]
    for old, new in request.pairs:
        if new in TABLES:
            called = criterion_of(old, answers, "criterion" in named, lambda one: one.removeprefix(ANSWER))
            cells = {**_fitting(own, TABLES[new]), new: {"column": old}}
            cells |= {name: {"value": value} for name, value in called.items()}
            raw[TABLES[new]] = [*raw.get(TABLES[new], ()), cells]
    return checked_mapping(raw, place)


def _fitting(cells: dict[str, Any], table: str) -> dict[str, Any]:
    return {name: cell for name, cell in cells.items() if name in (*REQUIRED[table], *OPTIONAL)}
