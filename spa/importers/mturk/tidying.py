"""Results of earlier studies as rows of the tidy tables."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, get_args

from spa.errors import PlatformError, shortened
from spa.importers.mturk.mapping import ANSWERS, Cells, ColumnSource, ResultMapping, Table
from spa.importers.mturk.results import UNREADABLE, Result
from spa.importers.tables import ImportedTables
from spa.tables.verdicts import outcome

SHOWN = 60  # characters of an answer that could not be read
TRUE = ("true", "on", "1", "yes")
WINNERS = ("x", "y", "tie")
WHOLE = ("sample", "exposure", "position")
REJECTED = "Rejected"
QUESTION = ("item_id", "system", "system_x", "system_y", "criterion", "sample", "exposure", "elicitation")
EMPTY = "no answer"


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

    def imported(self, notes: Sequence[str] = ()) -> ImportedTables:
        """Return the rows as an import gives them, those of rejected submissions apart."""
        rows = {
            table: [_named(row) for row in getattr(self, table)]
            for table in (*get_args(Table), "annotators", "exclusions")
        }
        apart = {"rejected": self.rejected.imported()} if self.rejected and self.rejected.exclusions else {}
        skipped = {
            "rejected submissions": 0 if self.rejected is None else len(self.rejected.exclusions),
            "submissions that stand in another file too": self.repeated,
        }
        read = f"read: {self.submissions} submissions of {len(self.annotators)} people"
        return ImportedTables(
            rows=rows,
            skipped={what: count for what, count in skipped.items() if count},
            notes=(read, *notes),
            apart=apart,
        )


def _named(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row whose sample is a name, as other tools have them."""
    return {**row, "sample": str(row["sample"])} if row.get("sample") is not None else row


def tidy(
    results: Iterable[Result],
    mapping: ResultMapping,
    called: Callable[[str], str],
    *,
    keep_rejected: bool = False,
) -> TidyArchive:
    """Convert results to tidy rows; ``called`` says what a worker is called there, a pseudonym for example.

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
        annotator_id = called(_worker(result, mapping, assignment_id))
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
    for key in ("worker", "assignment", "status", "seconds", "feedback"):
        column = getattr(mapping, key)
        if key in mapping.model_fields_set and known and column not in known:
            listed = shortened(
                ", ".join(sorted(one for one in known if not one.startswith(("Input.", "Answer.")))), 300
            )
            raise PlatformError(f"{key}: no result has the column {column!r}; there are: {listed}")
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
    if found.status != "read":
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
