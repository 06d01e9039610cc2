"""Old results by a mapping: rows of the tidy tables, with codes in place of worker ids."""

from __future__ import annotations

import hmac
import math
import os
import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from mturk.archive_import.mapping import ANSWERS, Cells, ColumnSource, ResultMapping, Table
from mturk.archive_import.results import UNREADABLE, Result
from spa.errors import PlatformError

SHOWN = 60  # characters of an answer that could not be read
KEY_BYTES = 32
KEY = f"a key of {KEY_BYTES} bytes in hexadecimal digits"
TRUE = ("true", "on", "1", "yes")
WINNERS = ("x", "y", "tie")
WHOLE = ("sample", "exposure", "position")
REJECTED = "Rejected"
EMPTY = "no answer"


class UnreadableCell(Exception):
    """A cell that does not say what its column needs; the message is the reason."""


@dataclass(slots=True, kw_only=True)
class TidyArchive:
    """Rows of each table, and what was counted."""

    ratings: list[dict[str, Any]] = field(default_factory=list)
    preferences: list[dict[str, Any]] = field(default_factory=list)
    choices: list[dict[str, Any]] = field(default_factory=list)
    annotators: list[dict[str, Any]] = field(default_factory=list)
    exclusions: list[dict[str, Any]] = field(default_factory=list)
    submissions: int = 0
    repeated: int = 0  # the same submission in another file
    missing: int = 0


def load_key(path: Path) -> bytes:
    """Load the secret that turns worker ids into codes; one is made where there is none, for its owner's eyes."""
    try:
        if not path.exists():
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "w", encoding="ascii") as file:
                file.write(secrets.token_hex(KEY_BYTES) + "\n")
        key = bytes.fromhex(path.read_text(encoding="ascii").strip())
    except (OSError, ValueError) as error:
        raise PlatformError(f"{path}: expected {KEY}, got: {error}") from error
    if len(key) != KEY_BYTES:
        raise PlatformError(f"{path}: expected {KEY}, got {len(key)}")
    return key


def tidy(results: Iterable[Result], mapping: ResultMapping, key: bytes) -> TidyArchive:
    """Make tidy rows of old results; the same key gives the same person the same code.

    An answer that cannot be read is a row with its reason; a rejected submission is there, with a line in the
    exclusions. The same submission in two files counts once. Raise PlatformError if a column of the mapping is in none
    of the results, or one submission stands there with two contents.
    """
    made = TidyArchive()
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
        annotator_id = pseudonym(key, _worker(result, mapping, assignment_id))
        who = {"annotator_id": annotator_id, "annotator_kind": "human", "assignment_id": assignment_id}
        _note_person(people, annotator_id, result.columns.get(mapping.seconds, ""))
        if result.columns.get(mapping.status, "").strip() == REJECTED:
            evidence = result.columns.get(mapping.feedback, "") or "no reason given"
            made.exclusions.append({**who, "rule": "rejected by the requester", "evidence": evidence})
        for table, cells in mapping.blocks():
            row = _row(table, cells, result)
            made.missing += row["missing_reason"] is not None
            getattr(made, table).append({**who, **row})
    _check_columns(mapping, known)
    made.annotators = list(people.values())
    return made


def pseudonym(key: bytes, worker_id: str) -> str:
    """Return the code of a person: keyed, so that nobody without the key can try ids out."""
    return hmac.new(key, f"worker {worker_id}".encode("utf-8", "surrogatepass"), sha256).hexdigest()[:20]


def _worker(result: Result, mapping: ResultMapping, assignment_id: str) -> str:
    """Return who handed a submission in; where nothing says so, each submission is a person of its own."""
    return result.columns.get(mapping.worker, "").strip() or f"of assignment {assignment_id}"


def _note_person(people: dict[str, dict[str, Any]], annotator_id: str, seconds: str) -> None:
    new = {"annotator_id": annotator_id, "annotator_kind": "human", "source": "mturk", "submissions": 0}
    person = people.setdefault(annotator_id, {**new, "seconds": None})
    person["submissions"] += 1
    time = _number(seconds)
    if time is not None:
        person["seconds"] = (person["seconds"] or 0.0) + time


def _check_same(before: Result, result: Result, mapping: ResultMapping) -> None:
    """Let a submission stand in two files, as whoever downloads twice has it, but not with two contents."""
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
    """Return a value as its column of the tidy table wants it."""
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
    if name == "winner" and value not in WINNERS:
        raise UnreadableCell(f"expected x, y or tie, got {_shown(str(value))} (say in levels what it means)")
    return str(value)


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) and "_" not in text else None


def _shown(text: str) -> str:
    return repr(text if len(text) <= SHOWN else text[:SHOWN] + "...")
