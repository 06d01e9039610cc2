"""Submissions in the files of earlier studies: of the requester site, its command-line tools and the API."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spa.errors import PlatformError, unreadable
from spa.files import lines_of
from spa.importers.mturk.answers import AnswerRefused, answer_pairs, read_answers
from spa.importers.mturk.safe_xml import XMLRefused
from spa.tables.delimited import delimited_rows
from spa.tables.options import TableOptions

DEEPEST = 6  # levels of JSON in one answer
ANSWER = "Answer."
UNREADABLE = "Answer.(unreadable)"  # why an answer's XML could not be read


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One submission: its columns, and its place in a file."""

    columns: Mapping[str, str]
    where: str  # "batch.csv, row 7"
    file: Path | None = None  # of a table, which holds a batch


def read_results(paths: Iterable[Path], options: TableOptions, notes: list[str]) -> Iterator[Result]:
    """Read the submissions of result files, whose suffix tells the format; what is to be said is added to ``notes``."""
    for path in paths:
        suffix = path.suffix.lower()
        try:
            match suffix:
                case ".csv" | ".tsv" | ".results" | ".txt":
                    yield from _read_table(path, options, notes)
                case ".json" | ".jsonl" | ".ndjson":
                    yield from _read_json(path)
                case ".xml":
                    text = path.read_text(encoding="utf-8-sig")
                    yield Result(columns={"AssignmentId": path.stem, **_answers(text)}, where=str(path))
                case _:
                    raise PlatformError(f"{path}: expected .csv, .tsv, .results, .json, .jsonl or .xml, got {suffix!r}")
        except OSError as error:
            raise PlatformError(unreadable(path, error)) from error
        except UnicodeDecodeError as error:
            raise PlatformError(f"{path}: cannot be read ({error}); save it as UTF-8") from error


def _read_table(path: Path, options: TableOptions, notes: list[str]) -> Iterator[Result]:
    """Yield the rows of a table, each named as a reader counts them; the last cells of a row may be absent."""
    with delimited_rows(path, options) as (names, rows, said):
        notes += (f"{path}: {note}" for note in said)
        for number, cells in rows:
            if not any(cells):
                continue
            where = f"{path}, row {number}"
            if len(cells) > len(names):
                raise PlatformError(f"{where}: expected {len(names)} cells, got {len(cells)}; is a quote missing?")
            found = dict(zip(names, cells, strict=False))
            yield Result(columns=_with_json(found), where=where, file=path)


def _read_json(path: Path) -> Iterator[Result]:
    text = path.read_text(encoding="utf-8-sig")
    try:
        whole = [json.loads(text)]
    except json.JSONDecodeError:
        whole = []
        for number, line in enumerate(lines_of(text), start=1):
            if not line.strip():
                continue
            try:
                whole.append(json.loads(line))
            except json.JSONDecodeError as error:
                raise PlatformError(f"{path}, line {number}: expected JSON, got {error}") from error
    except RecursionError as error:
        raise PlatformError(f"{path}: expected results, got JSON too deep to read") from error
    for number, assignment in enumerate(_assignments(whole), start=1):
        where = f"{path}, assignment {number}"
        if not isinstance(assignment, dict) or "AssignmentId" not in assignment:
            raise PlatformError(f"{where}: expected an assignment of the API with AssignmentId, got something else")
        answer = str(assignment.get("Answer") or "")
        fixed = {name: _text(value) for name, value in assignment.items() if name != "Answer"}
        yield Result(columns={**fixed, **_answers(answer)}, where=where)


def _assignments(found: Any) -> Iterator[Any]:
    """Yield the assignments in lists, pages of a list call, and answers of ``get_assignment``."""
    if isinstance(found, list):
        for one in found:
            yield from _assignments(one)
    elif isinstance(found, dict) and isinstance(found.get("Assignments"), list):
        yield from _assignments(found["Assignments"])
    elif isinstance(found, dict) and isinstance(found.get("Assignment"), dict):
        yield {**found.get("HIT", {}), **found["Assignment"]}
    else:
        yield found


def _answers(xml: str) -> dict[str, str]:
    """Parse an answer's XML; one that cannot be parsed becomes a column with the reason."""
    try:
        pairs = answer_pairs(read_answers(xml))
    except (AnswerRefused, XMLRefused) as error:
        return {UNREADABLE: str(error)}
    gathered: dict[str, list[str]] = {}
    for name, value in pairs:
        gathered.setdefault(ANSWER + name, []).append(value)
    return _with_json({name: "|".join(values) for name, values in gathered.items()})


def _with_json(columns: Mapping[str, str]) -> dict[str, str]:
    """Add a column for each value inside an answer that is JSON, as MTurk's crowd elements write it.

    >>> _with_json({"Answer.taskAnswers": '[{"mood": {"1": true}}]'})["Answer.taskAnswers.mood.1"]
    'true'
    """
    found = dict(columns)
    for name, value in columns.items():
        if name.startswith(ANSWER) and value.lstrip()[:1] in ("{", "["):
            try:
                inside = json.loads(value)
            except (json.JSONDecodeError, RecursionError):
                continue
            for inner, text in _flat(name, inside, DEEPEST):
                found.setdefault(inner, text)
    return found


def _flat(name: str, value: Any, depth: int) -> Iterator[tuple[str, str]]:
    if isinstance(value, list) and len(value) == 1:
        yield from _flat(name, value[0], depth)
    elif isinstance(value, dict) and depth:
        for key, inner in value.items():
            yield from _flat(f"{name}.{key}", inner, depth - 1)
    elif not isinstance(value, dict | list):
        yield name, _text(value)


def _text(value: Any) -> str:
    """Return a JSON value as the requester site printed it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
