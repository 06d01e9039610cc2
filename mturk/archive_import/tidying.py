"""Reading the results of earlier studies and mapping them to rows of the tidy tables, with pseudonymous ids."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mturk.answers import AnswerRefused, XMLRefused, answer_pairs, read_answers
from mturk.archive_import.mapping import ANSWERS, Cells, ColumnSource, ResultMapping, Table
from spa.errors import PlatformError, unreadable
from spa.importers.pseudonyms import PseudonymKey
from spa.tables.delimited import delimited_rows
from spa.tables.options import TableOptions
from spa.tables.verdicts import outcome

DEEPEST = 6  # levels of JSON in one answer
ANSWER = "Answer."
UNREADABLE = "Answer.(unreadable)"  # why an answer's XML could not be read
SHOWN = 60  # characters of an answer that could not be read
TRUE = ("true", "on", "1", "yes")
WINNERS = ("x", "y", "tie")
WHOLE = ("sample", "exposure", "position")
REJECTED = "Rejected"
QUESTION = ("item_id", "system", "system_x", "system_y", "criterion", "sample", "exposure", "elicitation")
EMPTY = "no answer"


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
        for number, line in enumerate(text.splitlines(), start=1):
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


class UnreadableCell(Exception):
    """A cell has no valid value for its column; the message is the reason."""


@dataclass(slots=True, kw_only=True)
class TidyArchive:
    """The rows of each table, and counts; those of rejected submissions are apart."""

    ratings: list[dict[str, Any]] = field(default_factory=list)
    preferences: list[dict[str, Any]] = field(default_factory=list)
    choices: list[dict[str, Any]] = field(default_factory=list)
    annotators: list[dict[str, Any]] = field(default_factory=list)
    exclusions: list[dict[str, Any]] = field(default_factory=list)
    submissions: int = 0
    repeated: int = 0  # the same submission in another file
    missing: int = 0
    rejected: TidyArchive | None = None


def tidy(
    results: Iterable[Result], mapping: ResultMapping, key: PseudonymKey, *, keep_rejected: bool = False
) -> TidyArchive:
    """Convert results to tidy rows; with the same key, a worker always gets the same pseudonym.

    An unreadable answer is a row with its reason. Answers of a rejected submission, and its row of exclusions, are
    those of ``rejected``; with ``keep_rejected`` they stand among the others. The same submission in two files counts
    once. HITs of one batch are one submission of their worker; another is a batch in which the worker answered about
    the same item again. Raise PlatformError if a column of the mapping is in none of the results, or a submission
    occurs with two contents.
    """
    made = TidyArchive(rejected=TidyArchive())
    batches: dict[tuple[object, ...], set[object]] = {}
    people: dict[str, dict[str, Any]] = {}
    seen: dict[str, Result] = {}
    known: set[str] = set()
    for result in results:
        known.update(result.columns)
        assignment_id = result.columns.get(mapping.assignment, "").strip()
        if not assignment_id:
            raise PlatformError(f"{result.where}: no {mapping.assignment}; name the column under assignment")
        before = seen.setdefault(assignment_id, result)
        if before is not result:
            _check_same(before, result, mapping)
            made.repeated += 1
            continue
        made.submissions += 1
        annotator_id = key.pseudonym(_worker(result, mapping, assignment_id))
        who = {"annotator_id": annotator_id, "annotator_kind": "human", "assignment_id": assignment_id}
        _note_person(people, annotator_id, result.columns.get(mapping.seconds, ""))
        into = made
        if result.columns.get(mapping.status, "").strip() == REJECTED:
            into = made if keep_rejected else made.rejected or made
            evidence = result.columns.get(mapping.feedback, "") or "no reason given"
            into.exclusions.append({**who, "rule": "rejected by the requester", "evidence": evidence})
        for table, cells in mapping.blocks():
            row = _row(table, cells, result)
            into.missing += row["missing_reason"] is not None
            getattr(into, table).append({**who, **row})
            if into is made and row.get("item_id"):
                asked = tuple(sorted((name, str(row.get(name))) for name in QUESTION if name in row))
                batches.setdefault((annotator_id, table, asked), set()).add(_batch(result))
    _check_columns(mapping, known)
    for (worker, *_), own in batches.items():
        person = people[str(worker)]
        person["submissions"] = max(person["submissions"], len(own))
    made.annotators = list(people.values())
    return made


def _batch(result: Result) -> object:
    """Return what tells the batch of a submission: its file, if that is a table, and the type of its HIT."""
    return result.file, result.columns.get("HITTypeId", "").strip()


def _worker(result: Result, mapping: ResultMapping, assignment_id: str) -> str:
    """Return the worker of a submission; without one, each submission counts as another worker."""
    return result.columns.get(mapping.worker, "").strip() or f"of assignment {assignment_id}"


def _note_person(people: dict[str, dict[str, Any]], annotator_id: str, seconds: str) -> None:
    new = {"annotator_id": annotator_id, "annotator_kind": "human", "source": "mturk", "submissions": 1}
    person = people.setdefault(annotator_id, {**new, "seconds": None})
    time = _number(seconds)
    if time is not None:
        person["seconds"] = (person["seconds"] or 0.0) + time


def _check_same(before: Result, result: Result, mapping: ResultMapping) -> None:
    """Refuse a submission that occurs twice with different contents."""
    needed = {name for _, cells in mapping.blocks() for cell in cells.values() for name in cell.columns}
    for name in (mapping.worker, *sorted(needed)):
        first, second = before.columns.get(name, ""), result.columns.get(name, "")
        if first != second:
            raise PlatformError(
                f"{result.where}: the submission stands in {before.where} too, with another {name}; "
                "remove the row that is wrong"
            )


def _check_columns(mapping: ResultMapping, known: set[str]) -> None:
    for table, cells in mapping.blocks():
        for name, cell in cells.items():
            for column in cell.columns:
                if known and column not in known:
                    near = ", ".join(sorted(one for one in known if one.startswith(("Input.", "Answer.")))[:12])
                    raise PlatformError(f"[[{table}]] {name}: no result has the column {column!r}; there are: {near}")


def _row(table: Table, cells: Cells, result: Result) -> dict[str, Any]:
    """Return one row; its answer is missing, with the reason, where any of its cells cannot be read."""
    row: dict[str, Any] = {"criterion": "overall"}
    answer, reason = ANSWERS[table], None
    for name, cell in cells.items():
        try:
            row[name] = _typed(name, _read(cell, result), cell.scale)
        except UnreadableCell as unreadable:
            row[name] = None
            reason = reason or (str(unreadable) if name == answer else f"{name}: {unreadable}")
    if reason is None and row[answer] is None:
        reason = EMPTY
    if reason is None and table == "choices":
        try:
            row["winner"] = _winner(row, cells)
        except UnreadableCell as unreadable:
            reason = str(unreadable)
    if reason is not None:
        row[answer] = None
    return {**row, "missing_reason": reason}


def _read(cell: ColumnSource, result: Result) -> str | float | None:
    if cell.value is not None:
        return cell.value
    if UNREADABLE in result.columns:
        raise UnreadableCell(result.columns[UNREADABLE])
    if cell.one_of:
        chosen = [name for name in cell.one_of if result.columns.get(name, "").strip().lower() in TRUE]
        if len(chosen) > 1:
            raise UnreadableCell(f"answered twice: {', '.join(chosen)}")
        return cell.one_of[chosen[0]] if chosen else None
    text = result.columns.get(cell.column or "", "").strip()
    if not cell.levels or not text:
        return text or None
    if text not in cell.levels:
        raise UnreadableCell(f"expected one of {', '.join(cell.levels)}, got {_shown(text)}")
    return cell.levels[text]


def _typed(name: str, value: str | float | None, scale: float) -> Any:
    if value is None:
        return None
    if name in ("score", "preference", *WHOLE):
        number = _number(str(value))
        if number is None:
            raise UnreadableCell(f"expected a number, got {_shown(str(value))}")
        number /= scale
        if name == "preference" and not 0 <= number <= 1:
            raise UnreadableCell(f"expected 0 to 1, got {number:g} (give scale = 100 for percent)")
        if name in WHOLE:
            if number != int(number):
                raise UnreadableCell(f"expected a whole number, got {number:g}")
            return int(number)
        return number
    return str(value)


def _winner(row: Mapping[str, Any], cells: Cells) -> str:
    """Return who won by the tidy table's words, by a system's name, or by a place of the columns that name systems."""
    said = str(row["winner"])
    if said in WINNERS:
        return said
    x, y = ((cells[name].column or "") if name in cells else "" for name in ("system_x", "system_y"))
    found = outcome(said, str(row.get("system_x")), str(row.get("system_y")), columns=(x, y))
    if found.standing != "read":
        raise UnreadableCell(f"expected x, y or tie, got {_shown(said)} (say in levels what it means)")
    return found.word


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) and "_" not in text else None


def _shown(text: str) -> str:
    return repr(text if len(text) <= SHOWN else text[:SHOWN] + "...")
