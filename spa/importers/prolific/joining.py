"""How lists of people meet answers: of Task Builder, or of tables that were made elsewhere.

A list is the demographic export, or the CSV of Prolific's command-line tool.
"""

from __future__ import annotations

import csv
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from spa.errors import ResponseError, shortened, unreadable
from spa.importers.answer_format import ImportRequest
from spa.importers.foreign_rows import ForeignRow, read_rows
from spa.importers.prolific.tasks import read_tasks, rows_of
from spa.importers.pseudonyms import load_key, spelled
from spa.importers.questions_of_files import QuestionsAsked
from spa.importers.tables import COLUMNS, ImportedTables, Row

COUNTED = ("APPROVED", "PARTIALLY APPROVED", "AWAITING REVIEW")
NOT_COUNTED = ("RETURNED", "REJECTED", "TIMED OUT", "SCREENED OUT", "ACTIVE", "RESERVED")
WHO = ("Participant id", "ParticipantID", "participant_id")  # of the export, the command-line tool, earlier exports
STATUS, TIME = ("Status", "status"), ("Time taken", "TimeTaken", "time_taken")
AGE, APPROVALS = ("Age", "age"), ("Total approvals", "num_approvals")
NOT_DEMOGRAPHIC = (  # columns about a submission
    *("Submission id", "ID", "Participant id", "ParticipantID", "Status", "Started at", "StartedAt", "Completed at"),
    *(
        "CompletedAt",
        "Reviewed at",
        "Archived at",
        "Time taken",
        "TimeTaken",
        "Completion code",
        "StudyCode",
        "StudyID",
    ),
    *("Custom study tncs accepted at", "Reward", "IsComplete", "StarAwarded", "BonusPayments", "IP", "Total approvals"),
    *(
        "session_id",
        "participant_id",
        "status",
        "started_datetime",
        "completed_date_time",
        "time_taken",
        "entered_code",
    ),
    *("reviewed_at_datetime", "num_approvals", "num_rejections", "prolific_score"),
)
NOTHING_SAID = ("CONSENT_REVOKED", "DATA_EXPIRED", "DATA EXPIRED", "CONSENT REVOKED")
SHOWING = re.compile(r"Showing ([0-9]+) records? of ([0-9]+)")
LARGEST = 64_000_000  # bytes of a list that ends in a count
BAND = 10  # years


@dataclass(slots=True)
class People:
    """Who is in the lists: whose submissions count, what is said of them, and what did not count."""

    known: dict[str, bool] = field(default_factory=dict)  # person -> whether a submission of theirs counts
    rows: dict[str, Row] = field(default_factory=dict)  # of annotators, by person
    skipped: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)


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
        asked = QuestionsAsked.from_options(options)
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


def is_list(path: Path) -> bool:
    """Whether a file is a list of submissions."""
    from spa.importers.foreign_rows import names_at_beginning

    names = names_at_beginning(path)
    return not names.isdisjoint(STATUS) and not names.isdisjoint(WHO)


def read_people(paths: Sequence[Path], demographics: Iterable[str]) -> People:
    """Read lists of submissions; further columns of theirs are joined where they are named.

    They are named as in the list, or as here (``country_of_birth``). Raise ResponseError where a state is none of
    Prolific's, a number is none, or a column is not there.
    """
    people = People()
    asked = list(demographics)
    more: list[str] = []
    columns: dict[str, None] = {}
    unsaid: Counter[str] = Counter()
    several: defaultdict[str, int] = defaultdict(int)
    for path in paths:
        rows, missing = _listed(path)
        if missing is not None:
            people.notes.append(missing)
        columns |= {name: None for row in rows[:1] for name in row.cells}
        more = [_title(name, columns) for name in asked]
        for row in rows:
            who, state = _first(row, WHO), _state(row)
            if who is None:
                raise ResponseError(f"{row.place}: expected the participant's id, got none; leave the row out")
            counts = state in COUNTED
            people.known[who] = people.known.get(who, False) or counts
            if not counts:
                people.skipped[f"submissions that are {state}"] += 1
                continue
            several[who] += 1
            _join(people.rows, who, row, more, unsaid)
    absent = next((name for name in more if name not in columns), None)
    if absent is not None:
        listed = shortened(", ".join(columns), 200)
        raise ResponseError(f"{paths[0]}: --demographic {shortened(absent, 60)}: expected one of {listed}")
    for who, n in several.items():
        people.rows[who]["submissions"] = n
    people.notes.insert(0, f"read: {len(people.rows):,} people who count, of {len(people.known):,}")
    left = [name for name in columns if name and name not in (*NOT_DEMOGRAPHIC, *AGE, *more)]
    if left:
        people.notes.append(f"not joined: {shortened(', '.join(left), 160)} (--demographic COLUMN joins one)")
    people.notes += [f"{name}: {n:,} people have withdrawn it, or it has expired" for name, n in unsaid.items()]
    return people


def _title(name: str, columns: Iterable[str]) -> str:
    """Return the title of a column that is named as here; else the name."""
    titles = {slug(one): one for one in columns if one not in (*AGE, *NOT_DEMOGRAPHIC)}
    return name if name in columns else titles.get(name, name)


def _join(rows: dict[str, Row], who: str, row: ForeignRow, more: Iterable[str], unsaid: Counter[str]) -> None:
    new: Row = {"annotator_id": who, "annotator_kind": "human", "source": "prolific", "submissions": 1, "seconds": None}
    person = rows.setdefault(who, new)
    seconds = _number(row, TIME)
    if seconds is not None:
        person["seconds"] = (person["seconds"] or 0.0) + seconds
        person["demographic:time_taken"] = f"{person['seconds']:g}"
    age = _any(row, AGE, unsaid)
    said = {
        "age_band": None if age is None else band(age),
        "approvals": _any(row, APPROVALS, unsaid),
        **{slug(name): _said(row, name, unsaid) for name in more},
    }
    for name, value in said.items():
        if value is not None:
            person.setdefault(f"demographic:{name}", value)


def band(age: str) -> str | None:
    """Return the ten years in which an age lies; nothing of what is no age.

    >>> band("34"), band("40"), band("old")
    ('30-39', '40-49', None)
    """
    if not age.isascii() or not age.isdigit():
        return None
    low = int(age) // BAND * BAND
    return f"{low}-{low + BAND - 1}"


def slug(name: str) -> str:
    """Return a column's name as part of one of ours.

    >>> slug("Country of birth")
    'country_of_birth'
    """
    return re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")


def _any(row: ForeignRow, names: Sequence[str], unsaid: Counter[str]) -> str | None:
    return next((_said(row, name, unsaid) for name in names if row.text(name) is not None), None)


def _said(row: ForeignRow, name: str, unsaid: Counter[str]) -> str | None:
    text = row.text(name)
    if text in NOTHING_SAID:
        unsaid[name] += 1
        return None
    return text


def _number(row: ForeignRow, names: Sequence[str]) -> float | None:
    return next((row.number(name) for name in names if row.text(name) is not None), None)


def _first(row: ForeignRow, names: Sequence[str]) -> str | None:
    return next((text for name in names if (text := row.text(name)) is not None), None)


def _state(row: ForeignRow) -> str:
    word = _first(row, STATUS) or ""
    state = word.upper().replace("_", " ").replace("-", " ")
    if state not in (*COUNTED, *NOT_COUNTED):
        known = ", ".join((*COUNTED, *NOT_COUNTED))
        raise ResponseError(f"{row.place}, {STATUS[0]}: expected one of {known}, got {shortened(repr(word), 40)}")
    return state


def _listed(path: Path) -> tuple[list[ForeignRow], str | None]:
    """Return the rows of a list, and what its last line says is missing."""
    if path.suffix.lower() != ".csv":
        return read_rows(path), None
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST + 1)
    except OSError as error:
        raise ResponseError(unreadable(path, error)) from error
    lines = content.rstrip().rpartition(b"\n")
    found = SHOWING.fullmatch(lines[2].decode("utf-8", "replace").strip().strip('",'))
    if found is None:
        return read_rows(path), None
    if len(content) > LARGEST:
        raise ResponseError(f"{path}: expected a list below {LARGEST:,} bytes, got a larger one; give its parts")
    rows = list(_of_tool(path, lines[0]))
    shown, of = int(found[1]), int(found[2])
    if len(rows) != shown:
        raise ResponseError(f"{path}: expected the {shown} records that its last line names, got {len(rows)}")
    if shown >= of:
        return rows, None
    return rows, f"{path}: {of - shown:,} of {of:,} submissions are missing: list them with a higher --limit"


def _of_tool(path: Path, content: bytes) -> Iterator[ForeignRow]:
    """Yield the rows of a list of the command-line tool, whose lines may end in a comma."""
    try:
        lines = [line for line in content.decode("utf-8-sig").splitlines() if line.strip()]
        head, *below = list(csv.reader(lines, strict=True))
    except (UnicodeDecodeError, csv.Error, ValueError) as error:
        raise ResponseError(f"{path}: expected a list of submissions in CSV, got a mistake: {error}") from error
    for number, cells in enumerate(below, start=2):
        if len(cells) != len(head):
            raise ResponseError(f"{path}, row {number}: expected {len(head)} cells, got {len(cells)}")
        named = {name: cell or None for name, cell in zip(head, cells, strict=True) if name}
        yield ForeignRow(place=f"{path}, row {number}", cells=named)
