"""Answers of Prolific's Task Builder: its archive, one of the files in it, what its API gives, or its CSV report."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile
from zlib import error as ZlibError

from spa.errors import ResponseError, shortened, unreadable
from spa.files import lines_of
from spa.importers.foreign_files import shown
from spa.importers.foreign_rows import ForeignRow, read_rows
from spa.importers.prolific import MEMBERS
from spa.importers.questions_of_files import QuestionsAsked, one_system_an_item
from spa.importers.tables import Row
from spa.tables.json_files import json_value

QUESTION, PERSON, TASK = "instruction_id", "participant_id", "task_id"
BATCH = "batch.json"
DEEPEST = 30
LARGEST = 512_000_000  # bytes of a member
FAULTS = (OSError, EOFError, NotImplementedError, RuntimeError, BadZipFile, ZlibError, ValueError)


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskAnswer:
    """What somebody answered to an instruction about a task, and all that stands around it."""

    question: str
    value: object
    data: Mapping[str, Any]
    place: str


@dataclass(slots=True)
class TaskAnswers:
    """Answers with what instructions are called."""

    answers: list[TaskAnswer] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def read_tasks(paths: Sequence[Path], asked: QuestionsAsked, person_column: str | None) -> TaskAnswers:
    """Read answers of Task Builder; raise ResponseError where a file does not have them, or what is open."""
    found = TaskAnswers()
    for path in paths:
        if path.is_dir() or path.suffix.lower() == ".zip":
            found.answers += _of_export(path, found.notes)
        elif path.suffix.lower() in (".jsonl", ".ndjson", ".json"):
            names = _instructions(path.with_name(BATCH)) if path.with_name(BATCH).is_file() else {}
            found.answers += _of_records(str(path), _text(path), names)
        else:
            found.answers += _of_report(path, asked, person_column)
    return found


def rows_of(answers: TaskAnswers, asked: QuestionsAsked, place: object) -> dict[str, list[Row]]:
    """Return the rows of each table; what cannot be read is a note, what is open raises ResponseError."""
    questions = dict.fromkeys(one.question for one in answers.answers)
    asked.check_names(questions, place)
    rows: dict[str, list[Row]] = {"ratings": [], "choices": []}
    for question in filter(asked.wants, questions):
        own = [one for one in answers.answers if one.question == question]
        for table, row in _rows(question, own, asked, answers.notes):
            rows[table].append(row)
    answers.notes += one_system_an_item(rows["ratings"])
    return rows


def _rows(
    question: str, answers: Sequence[TaskAnswer], asked: QuestionsAsked, notes: list[str]
) -> Iterator[tuple[str, Row]]:
    if any(isinstance(one.value, list | dict) for one in answers):
        notes.append(f"not read: {shortened(question, 60)} (several options, or files)")
        return
    words = [str(one.value) for one in answers if one.value is not None]
    kind = asked.kind(question, words, answers[0].place) if words else "unread"
    if kind == "unread":
        notes.append(f"not read: {shortened(question, 60)}, whose words are no verdicts or scores; --value says more")
        return
    for one in answers:
        row: Row = {
            "annotator_id": str(one.data[PERSON]),
            "annotator_kind": "human",
            "item_id": asked.item(one.data, one.data.get(TASK), one.place),
            "criterion": question,
        }
        if kind == "ratings":
            row["system"] = asked.system(question, one.data, one.place)
        else:
            row["system_x"], row["system_y"] = asked.compared(question, one.data, one.place)
        row |= {"missing_reason": "no answer"} if one.value is None else asked.answer(kind, str(one.value))
        yield kind, row


def _of_export(path: Path, notes: list[str]) -> list[TaskAnswer]:
    """Return the answers of an archive or of the folder that it became; both of its lists hold the same ones."""
    texts = dict(_members(path))
    names = _named(json_value(texts[BATCH], f"{path}, {BATCH}")) if BATCH in texts else {}
    lists = {name: list(_of_records(f"{path}, {name}", texts[name], names)) for name in MEMBERS if name in texts}
    if not lists:
        raise ResponseError(f"{path}: expected {' or '.join(MEMBERS)}, got neither; give Task Builder's export")
    first, *others = lists.values()
    if any(len(other) != len(first) for other in others):
        listed = ", ".join(f"{len(own):,} in {name}" for name, own in lists.items())
        notes.append(f"{path}: its lists hold different answers ({listed}); those of {next(iter(lists))} are read")
    return first


def _members(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the lists and the description of a batch, each with its text."""
    wanted = (*MEMBERS, BATCH)
    try:
        if path.is_dir():
            for name in wanted:
                if (path / name).is_file():
                    yield name, _text(path / name)
            return
        with ZipFile(path) as archive:
            for member in archive.infolist():
                name = Path(member.filename).name
                if name in wanted and not member.is_dir():
                    with archive.open(member) as file:
                        content = file.read(LARGEST + 1)
                    yield name, _decoded(content, f"{path}, {name}")
    except FAULTS as error:
        raise ResponseError(
            f"{path}: expected Task Builder's archive, got a mistake: {shortened(str(error))}"
        ) from error


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return _decoded(file.read(LARGEST + 1), str(path))
    except OSError as error:
        raise ResponseError(unreadable(path, error)) from error


def _decoded(content: bytes, place: str) -> str:
    if len(content) > LARGEST:
        raise ResponseError(f"{place}: expected at most {LARGEST:,} bytes, got more; export it in parts")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ResponseError(f"{place}: expected UTF-8, got a mistake: {error}") from error


def _instructions(path: Path) -> dict[str, str]:
    return _named(json_value(_text(path), str(path)))


def _named(batch: object, depth: int = 0) -> dict[str, str]:
    """Return what each instruction of a batch says, by its id; where two say the same they keep their ids."""
    found: dict[str, str] = {}
    if depth > DEEPEST:
        return found
    if isinstance(batch, dict):
        own, said = batch.get("id"), batch.get("description")
        if isinstance(own, str) and isinstance(said, str) and "type" in batch and said.strip():
            found[own] = " ".join(said.split())
        for value in batch.values():
            found |= _named(value, depth + 1)
    elif isinstance(batch, list):
        for value in batch:
            found |= _named(value, depth + 1)
    texts = list(found.values())
    return {own: said for own, said in found.items() if texts.count(said) == 1} if depth == 0 else found


def _of_records(place: str, text: str, names: Mapping[str, str]) -> Iterator[TaskAnswer]:
    """Yield the answers of records, however they are nested: an answer names its instruction."""
    whole = text.lstrip()[:1] == "["
    lines = [(1, text)] if whole else [(at, one) for at, one in enumerate(lines_of(text), start=1) if one.strip()]
    if not whole and len(lines) > 1 and text.lstrip()[:2] in ("{\n", "{\r"):
        lines = [(1, text)]
    empty = True
    for number, line in lines:
        at = place if whole else f"{place}, line {number}"
        for one in _answers(json_value(line, at), {}, at, 0):
            empty = False
            if one.data.get(PERSON) is None:
                raise ResponseError(f"{one.place}: expected {PERSON}, which says who answered, got none")
            yield TaskAnswer(
                question=names.get(one.question, one.question), value=one.value, data=one.data, place=one.place
            )
    if empty:
        raise ResponseError(f"{place}: expected answers, which name an {QUESTION}, got none")


def _answers(value: object, around: Mapping[str, Any], place: str, depth: int) -> Iterator[TaskAnswer]:
    if depth > DEEPEST:
        raise ResponseError(f"{place}: expected answers of Task Builder, got JSON nested too deeply")
    if isinstance(value, list):
        for one in value:
            yield from _answers(one, around, place, depth + 1)
    elif isinstance(value, dict):
        data = {**around, **_plain(value)}
        for key, inner in value.items():
            if isinstance(inner, dict) and QUESTION not in inner and key not in ("answer", "response"):
                data = {**_plain(inner), **data}  # such as the fields of the data set
        if isinstance(value.get(QUESTION), str):
            yield TaskAnswer(question=value[QUESTION], value=_chosen(value, place), data=data, place=place)
            return
        for inner in value.values():
            yield from _answers(inner, data, place, depth + 1)


def _plain(record: Mapping[str, Any]) -> dict[str, Any]:
    return {key: one for key, one in record.items() if not isinstance(one, list | dict) and one is not None}


def _chosen(answer: Mapping[str, Any], place: str) -> object:
    """Return the option that was chosen, or the text; several options stay a list."""
    given = answer.get("answer")
    options = [given] if isinstance(given, str | dict) else given if isinstance(given, list) else []
    words: list[object] = [one.get("value") if isinstance(one, dict) else one for one in options]
    if any(isinstance(word, list | dict) for word in words):
        raise ResponseError(f"{place}: expected options with a value, got {shown(words[0])}")
    if len(words) > 1:
        return words
    if words:
        return str(words[0]).strip() or None
    text = answer.get("text", None if isinstance(given, str | list | dict) else given)
    return (str(text).strip() or None) if text is not None else None


def _of_report(path: Path, asked: QuestionsAsked, person_column: str | None) -> Iterator[TaskAnswer]:
    """Yield the answers of the CSV report, whose columns are those of the data set and further ones of answers."""
    rows = read_rows(path)
    columns = list(rows[0].cells) if rows else []
    person = person_column or next(
        (name for name in (PERSON, "Participant id", "PARTICIPANT_ID") if name in columns), ""
    )
    listed = shortened(", ".join(columns) or "none", 200)
    if person not in columns:
        raise ResponseError(
            f"{path}: expected the column that names the person, got {listed}; name it with --participant-column, or "
            "give Task Builder's ZIP"
        )
    if not asked.only:
        raise ResponseError(
            f"{path}: expected which columns are answers, as those of the data set stand beside them ({listed}); name "
            "each with --question COLUMN"
        )
    for question in asked.only:
        if question not in columns:
            raise ResponseError(f"{path}: no question {shortened(repr(question), 60)}; there are {listed}")
        for row in rows:
            yield TaskAnswer(question=question, value=_cell(row, question), data=_data(row, person), place=row.place)


def _data(row: ForeignRow, person: str) -> dict[str, Any]:
    return {**row.cells, PERSON: row.name(person)}


def _cell(row: ForeignRow, question: str) -> object:
    """Return the answer of a cell, which may be a list of options in JSON."""
    text = row.cells.get(question)
    if isinstance(text, str) and text.lstrip()[:1] in ("[", "{"):
        try:
            return _chosen({"answer": json.loads(text)}, row.place)
        except (ValueError, RecursionError):
            return text
    return row.text(question)


def people_of(answers: Iterable[TaskAnswer]) -> set[str]:
    """Return who answered."""
    return {str(one.data[PERSON]) for one in answers}
