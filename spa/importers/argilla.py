"""Argilla's records: as data sets (Parquet, JSONL, CSV), or as ``records.json``, which has no status."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from spa.importers.answer_format import AnswerFormat, FileMeaning, Fit, ImportRequest
from spa.importers.questions_of_files import QuestionsAsked, one_system_an_item, question_options

if TYPE_CHECKING:
    from spa.importers.foreign_rows import ForeignRow
    from spa.importers.tables import ImportedTables, Row

RESPONSES, USERS, STATUS = ".responses", ".responses.users", ".responses.status"
SUGGESTION, AGENT = ".suggestion", ".suggestion.agent"
RECORDS = ("fields", "metadata", "responses", "suggestions", "_server_id")
SUBMITTED = "submitted"
TOKEN = re.compile(r"'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\"|([^\s,\[\]'\"]+)")
NESTED = re.compile(r"\[\s*(?:array\(|\[|\{|list\()")  # lists of lists in a CSV file
ELIDED = "..."  # of long arrays
SPAN = frozenset(("label", "start", "end"))  # of marked spans; the end is outside
NO_ERRORS = "no errors"
NO_RANKS = "several labels, or a ranking, whose ranks Argilla's exports leave out"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answer:
    """What somebody gave to a question of a record: a text or number, or something that is not read."""

    question: str
    who: str
    llm: bool
    value: Any
    data: Mapping[str, Any]
    place: str


def _recognise(path: Path) -> Fit:
    from spa.importers.foreign_rows import names_at_beginning

    names = names_at_beginning(path)
    flat = any(name.endswith(STATUS) for name in names)
    return Fit.CERTAIN if flat or (path.suffix.lower() == ".json" and names.issuperset(RECORDS)) else Fit.NONE


def _read(request: ImportRequest) -> ImportedTables:
    from spa.importers.foreign_rows import files_below, names_at_beginning
    from spa.importers.tables import ImportedTables

    asked = QuestionsAsked.from_options(request.options)
    answers: list[_Answer] = []
    skipped: Counter[str] = Counter()
    notes: list[str] = []
    for path in files_below(request.paths, lambda one: _recognise(one) == Fit.CERTAIN, "records of Argilla"):
        names = names_at_beginning(path)
        if any(name.endswith(STATUS) for name in names):
            answers += _of_dataset(path, skipped, notes)
        else:
            answers += _of_records(path, all_statuses=request.options.get("all_statuses", False), notes=notes)
    questions = dict.fromkeys(one.question for one in answers)
    asked.check_names(questions, request.paths[0])
    rows: dict[str, list[Row]] = {"ratings": [], "choices": [], "spans": []}
    for question in filter(asked.wants, questions):
        own = [one for one in answers if one.question == question]
        for table, row in _rows(question, own, asked, notes):
            rows[table].append(row)
    notes += one_system_an_item(rows["ratings"])
    return ImportedTables(rows=rows, skipped=dict(skipped), notes=tuple(notes))


def _of_dataset(path: Path, skipped: Counter[str], notes: list[str]) -> Iterator[_Answer]:
    """Yield the submitted answers of a data set, and what LLMs suggested."""
    from spa.errors import ResponseError
    from spa.importers.foreign_rows import read_rows

    rows = read_rows(path)
    columns = list(rows[0].cells) if rows else []
    questions = [name.removesuffix(STATUS) for name in columns if name.endswith(STATUS)]
    own = {f"{question}{end}" for question in questions for end in (RESPONSES, USERS, STATUS, SUGGESTION, AGENT)}
    labels = _labels(path)
    for question in questions:
        if any(NESTED.match(row.cells.get(f"{question}{RESPONSES}") or "") for row in rows if _is_text(row, question)):
            notes.append(f"not read: {question} (lists in CSV: {NO_RANKS}; spans stand in Parquet and JSONL)")
            continue
        for row in rows:
            place = row.place
            data = {name: row.cells[name] for name in columns if name not in own}
            values, users, states = (_list(row, f"{question}{end}") for end in (RESPONSES, USERS, STATUS))
            if not len(values) == len(users) == len(states):
                raise ResponseError(
                    f"{place}, {question}: expected as many users and states as responses, got {len(values)}, "
                    f"{len(users)} users, {len(states)} states; take the Parquet file"
                )
            for value, user, status in zip(values, users, states, strict=True):
                if status == SUBMITTED:
                    yield _Answer(question=question, who=str(user), llm=False, value=value, data=data, place=place)
                else:
                    skipped[f"responses that are {status}"] += 1
        yield from _suggested(question, rows, own, labels.get(f"{question}{SUGGESTION}"), notes)


def _suggested(
    question: str, rows: Sequence[ForeignRow], own: set[str], labels: Sequence[str] | None, notes: list[str]
) -> Iterator[_Answer]:
    """Yield what LLMs suggested: scores and words as they stand, codes of labels only with the schema's names."""
    from spa.importers.foreign_files import number_of

    name = f"{question}{SUGGESTION}"
    given = [row for row in rows if row.cells.get(name) is not None]
    if any(isinstance(row.cells[name], list) or NESTED.match(str(row.cells[name])) for row in given):
        yield from (_suggestion(question, row, own, row.cells[name]) for row in given)
        return
    responses = [value for row in rows for value in _list(row, f"{question}{RESPONSES}")]
    scores = bool(responses) and all(isinstance(value, str) and number_of(value) is not None for value in responses)
    texts = [row.text(f"{question}{SUGGESTION}") or "" for row in given]
    if given and labels is None and not scores and all(number_of(text) is not None for text in texts):
        notes.append(
            f"not read: {len(given)} suggestions to {question}, which are codes; the Parquet file has their names"
        )
        return
    for row in given:
        value = row.text(f"{question}{SUGGESTION}")
        if labels is not None and value is not None and value.isdigit() and int(value) < len(labels):
            value = labels[int(value)]
        yield _suggestion(question, row, own, value)


def _suggestion(question: str, row: ForeignRow, own: set[str], value: object) -> _Answer:
    return _Answer(
        question=question,
        who=row.text(f"{question}{AGENT}") or "suggestions",
        llm=True,
        value=value,
        data={name: cell for name, cell in row.cells.items() if name not in own},
        place=row.place,
    )


def _labels(path: Path) -> dict[str, list[str]]:
    """Return the names of coded columns, which only the schema of a Parquet file has."""
    import polars as pl

    if path.suffix.lower() != ".parquet":
        return {}
    try:
        features = json.loads(pl.read_parquet_metadata(path).get("huggingface", "{}"))["info"]["features"]
        return {name: [*map(str, one["names"])] for name, one in features.items() if one.get("_type") == "ClassLabel"}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError, pl.exceptions.PolarsError):
        return {}


def _is_text(row: ForeignRow, question: str) -> bool:
    return isinstance(row.cells.get(f"{question}{RESPONSES}"), str)


def _list(row: ForeignRow, name: str) -> list[Any]:
    """Return a cell that is a list: of JSON or Parquet, or as numpy prints it in a CSV file, without commas."""
    from spa.errors import ResponseError
    from spa.importers.foreign_files import shown

    value = row.cells.get(name)
    if value is None or isinstance(value, list):
        return value or []
    text = str(value).strip()
    if not (text.startswith("[") and text.endswith("]")) or "[" in text[1:] or ELIDED in text:
        raise ResponseError(
            f"{row.place}, {name}: expected a list such as [4 5], got {shown(text)}; take the Parquet file"
        )
    return [first or second or word for first, second, word in TOKEN.findall(text)]


def _of_records(path: Path, *, all_statuses: bool, notes: list[str]) -> Iterator[_Answer]:
    """Yield all answers of ``records.json``, which keeps no status: drafts and discarded ones are among them."""
    from spa.errors import ResponseError
    from spa.importers.foreign_files import LIST, OBJECT, of_kind
    from spa.tables.json_files import read_json

    if not all_statuses:
        raise ResponseError(
            f"{path}: expected the status of each response, got records.json, which has none: drafts and discarded "
            "answers would count; export with to_datasets, or read all of them with --all-statuses"
        )
    notes.insert(0, f"{path}: drafts and discarded answers count like submitted ones, as the file has no status")
    for number, record in enumerate(of_kind(LIST, read_json(path), str(path)), start=1):
        place = f"{path}, record {number}"
        of_kind(OBJECT, record, place)
        parts = [of_kind(OBJECT, record.get(name) or {}, f"{place}, {name}") for name in ("fields", "metadata")]
        data = {"id": record.get("id"), **parts[0], **parts[1]}
        for question, own in of_kind(OBJECT, record.get("responses") or {}, f"{place}, responses").items():
            for one in of_kind(LIST, own, f"{place}, {question}"):
                of_kind(OBJECT, one, f"{place}, {question}")
                who, value = str(one.get("user_id")), one.get("value")
                yield _Answer(question=question, who=who, llm=False, value=value, data=data, place=place)
        for question, one in of_kind(OBJECT, record.get("suggestions") or {}, f"{place}, suggestions").items():
            of_kind(OBJECT, one, f"{place}, {question}")
            agent = str(one.get("agent") or "suggestions")
            yield _Answer(question=question, who=agent, llm=True, value=one.get("value"), data=data, place=place)


def _rows(
    question: str, answers: Sequence[_Answer], asked: QuestionsAsked, notes: list[str]
) -> Iterator[tuple[str, Row]]:
    """Yield the rows of one question with the names of their tables."""
    from spa.tables.source import Number

    if any(isinstance(one.value, list | dict) for one in answers):
        answers = [one for one in answers if one.value is not None]
        if all(_are_spans(one.value) for one in answers) and any(one.value for one in answers):
            yield from (("spans", row) for one in answers for row in _span_rows(question, one, asked))
        else:
            notes.append(f"not read: {question} ({NO_RANKS})")
        return
    scores = all(one.value is None or isinstance(one.value, Number) for one in answers)
    words = [str(one.value) for one in answers if one.value is not None]
    kind = "ratings" if scores else asked.kind(question, words, answers[0].place)
    if kind == "unread":
        notes.append(f"not read: {question}, whose words are no verdicts or scores; --value says what one counts")
        return
    for one in answers:
        row: Row = {
            "annotator_id": one.who,
            "annotator_kind": "llm" if one.llm else "human",
            "item_id": asked.item(one.data, one.place, one.place),
            "criterion": question,
        }
        if kind == "ratings":
            row["system"] = asked.system(question, one.data, one.place)
        else:
            row["system_x"], row["system_y"] = asked.compared(question, one.data, one.place)
        if one.value is None:
            row["missing_reason"] = "no answer"
        else:
            row |= asked.answer("ratings" if kind == "ratings" else "choices", str(one.value))
        yield kind, row


def _are_spans(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(one, dict) and SPAN.issubset(one) for one in value)


def _span_rows(question: str, one: _Answer, asked: QuestionsAsked) -> Iterator[Row]:
    """Yield the errors that somebody marked; where nothing is marked, that there are none."""
    from spa.importers.foreign_files import whole

    shared: Row = {
        "annotator_id": one.who,
        "annotator_kind": "llm" if one.llm else "human",
        "item_id": asked.item(one.data, one.place, one.place),
        "system": asked.system(question, one.data, one.place),
        "criterion": question,
    }
    for mark in one.value:
        start, end = (whole(str(mark[name]), f"{one.place}, {question}, {name}") for name in ("start", "end"))
        yield {**shared, "start": start, "end": end, "severity": str(mark["label"])}
    if not one.value:
        yield {**shared, "reason": NO_ERRORS}


FORMAT = AnswerFormat(
    key="argilla",
    description="Read Argilla's records, as to_datasets gives them (Parquet, JSONL, CSV).\n\n"
    "FILE is such a file. Submitted responses count, suggestions are those of LLMs; the codes of suggested labels are "
    "read from Parquet files only, which have their names. Rankings are not read: their ranks are in no export.",
    details="records.json keeps no status and is read only with --all-statuses. A criterion is a question; say which "
    "systems a label compares with --compared.",
    example="spa import argilla dataset.parquet --compared alpha,beta --out tables",
    options=(
        *question_options(),
        click.Option(["--all-statuses"], is_flag=True, help="Count drafts and discarded answers of records.json, too."),
    ),
    meaning=FileMeaning(
        sides="by the labels: model_a is the first of --compared",
        ties="a label that says so",
        missing="a response without a value",
        left_out="drafts and discarded responses",
        seen="Argilla 2.8.0",
        source="https://github.com/argilla-io/argilla",
    ),
    recognise=_recognise,
    read=_read,
)
