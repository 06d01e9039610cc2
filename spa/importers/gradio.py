"""What Gradio's loggers write: thumbs in a chat, and flagged inputs and outputs of an interface."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from spa.importers.answer_format import AnswerFormat, FileMeaning, Fit, ImportRequest
from spa.importers.questions_of_files import QuestionsAsked, question_options

if TYPE_CHECKING:
    from spa.importers.foreign_rows import ForeignRow
    from spa.importers.tables import ImportedTables, Row

CHAT = ("conversation", "index", "value", "flag", "timestamp")  # the names; rows have no flag
DATASET = re.compile(r"dataset\d*\.csv")
THUMB = "thumb"
THUMBS = {"Like": 1.0, "Dislike": 0.0}
OWN = ("username", "timestamp")
GUARDED = re.compile(r"'(?=[=+\-@\t\n])|'(?=.*,[=+\-@\t\n])", re.DOTALL)  # put there by the logger


def _recognise(path: Path) -> Fit:
    from spa.importers.foreign_rows import names_at_beginning

    if path.is_dir():
        try:
            path = next((one for level in ("", "*/") for one in path.glob(f"{level}log.csv")), path)
        except OSError:
            return Fit.NONE
    if path.suffix.lower() != ".csv":
        return Fit.NONE
    names = names_at_beginning(path)
    flagged = DATASET.fullmatch(path.name) is not None and "timestamp" in names
    return Fit.CERTAIN if names == {*CHAT} or flagged else Fit.NONE


def _read(request: ImportRequest) -> ImportedTables:
    from spa.importers.foreign_rows import files_below, names_at_beginning
    from spa.importers.tables import ImportedTables

    asked = QuestionsAsked.from_options(request.options)
    rows: dict[str, list[Row]] = {"ratings": [], "choices": []}
    skipped: dict[str, int] = {}
    notes: list[str] = []
    for path in files_below(request.paths, lambda one: _recognise(one) == Fit.CERTAIN, "logs of Gradio"):
        if names_at_beginning(path) == {*CHAT}:
            system = asked.of.get(THUMB)
            if system is None:
                system = path.resolve().parent.name or "system"
                told = f"the system is called as the folder, {system}; --of {THUMB}=SYSTEM names it"
                notes.append(f"{path}: {told}")
            _chat(path, system, asked, rows["ratings"], skipped)
            notes.append(f"{path}: nobody is named, so the unit is the item")
        else:
            _flagged(path, asked, rows, notes)
    return ImportedTables(rows=rows, skipped={what: n for what, n in skipped.items() if n}, notes=tuple(notes))


def _chat(path: Path, system: str, asked: QuestionsAsked, ratings: list[Row], skipped: dict[str, int]) -> None:
    """Add the last thumb of each message; an empty one takes back what was given before."""
    from spa.errors import ResponseError, shortened
    from spa.importers.foreign_files import number_of
    from spa.importers.tables import UNNAMED

    last: dict[str, tuple[str, str | None, str]] = {}
    for row in _chat_rows(path):
        before, until = _messages(row)
        key = json.dumps(until, sort_keys=True)
        if key in last:
            skipped["thumbs that were changed later"] = skipped.get("thumbs that were changed later", 0) + 1
            del last[key]
        last[key] = (before, row.text("value"), row.place)
    for before, word, place in last.values():
        if word is None:
            skipped["thumbs that were taken back"] = skipped.get("thumbs that were taken back", 0) + 1
            continue
        score = number_of(asked.values[word]) if word in asked.values else THUMBS.get(word, number_of(word))
        if score is None and asked.values.get(word) != "missing":
            told = shortened(repr(f"{word}=NUMBER"), 40)
            raise ResponseError(f"{place}: expected Like or Dislike, got {shortened(repr(word))}; say --value {told}")
        ratings.append(
            {
                "annotator_id": UNNAMED,
                "annotator_kind": "human",
                "item_id": before,
                "system": system,
                "criterion": "overall",
                "score": score,
                "missing_reason": None if score is not None else "no answer",
            }
        )


def _chat_rows(path: Path) -> list[ForeignRow]:
    """Return the rows of a chat log, whose header has five names for their four cells (no flag)."""
    from spa.errors import ResponseError, SpaError, unreadable
    from spa.importers.foreign_rows import ForeignRow, read_rows

    with TemporaryDirectory(prefix="spa-chat-") as folder:
        inside = Path(folder) / path.name
        try:
            with path.open("rb") as log, inside.open("wb") as copy:
                log.readline()
                copy.write(",".join(name for name in CHAT if name != "flag").encode() + b"\n")
                shutil.copyfileobj(log, copy)
        except OSError as error:
            raise ResponseError(unreadable(path, error)) from error
        try:
            rows = read_rows(inside)
        except SpaError as error:
            raise error.called(str(inside), str(path)) from error
    return [ForeignRow(place=row.place.replace(str(inside), str(path)), cells=row.cells) for row in rows]


def _messages(row: ForeignRow) -> tuple[str, Sequence[Any]]:
    """Return what was said before the message with the thumb, as a text, and all until it."""
    from spa.errors import ResponseError, shortened
    from spa.importers.foreign_files import LIST, of_kind, whole
    from spa.tables.json_files import json_value

    conversation = of_kind(LIST, json_value(row.name("conversation"), row.place), f"{row.place}, conversation")
    at = whole(row.name("index"), f"{row.place}, index")
    if at >= len(conversation) or not all(isinstance(one, dict) for one in conversation):
        raise ResponseError(
            f"{row.place}: expected messages with roles and the number of one of them, got {len(conversation)} and "
            f"{shortened(row.name('index'))}"
        )
    said = [_text(one) for one in conversation[:at]]
    return "\n".join(filter(None, said)) or "(nothing)", [
        (one.get("role"), _text(one)) for one in conversation[: at + 1]
    ]


def _text(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    parts = content if isinstance(content, list) else [content]
    texts = [part.get("text") if isinstance(part, dict) else part for part in parts]
    return " ".join(text.strip() for text in texts if isinstance(text, str))


def _flagged(path: Path, asked: QuestionsAsked, rows: dict[str, list[Row]], notes: list[str]) -> None:
    """Add the answers in the columns that the options name."""
    from spa.errors import ResponseError, shortened
    from spa.importers.foreign_rows import ForeignRow, read_rows
    from spa.importers.tables import UNNAMED

    given = read_rows(path)
    columns = [name for name in (given[0].cells if given else ()) if name not in OWN]
    questions = list(dict.fromkeys((*asked.of, *asked.only)))
    listed = shortened(", ".join(columns) or "none", 160)
    if not questions:
        raise ResponseError(
            f"{path}: expected which columns are answers, got {listed}; say --of COLUMN=SYSTEM of ratings, --question "
            "COLUMN of comparisons"
        )
    asked.check_names(columns, path)
    guarded = sum(isinstance(cell, str) and bool(GUARDED.match(cell)) for row in given for cell in row.cells.values())
    if guarded:
        notes.append(f"{path}: {guarded} cells lost the apostrophe that the logger puts before signs of formulas")
    found = [ForeignRow(place=row.place, cells={n: _bare(cell) for n, cell in row.cells.items()}) for row in given]
    if not any(row.text("username") for row in found):
        notes.append(f"{path}: nobody is named, so the unit is the item")
    for question in questions:
        kind = asked.kind(question, filter(None, (row.text(question) for row in found)), path)
        if kind == "unread":
            notes.append(f"not read: {question}, whose words are no verdicts or scores; --value says what one counts")
            continue
        for row in found:
            word = row.text(question)
            item = asked.item(row.cells, "", row.place)
            if not item:
                raise ResponseError(
                    f"{row.place}: expected what names the item, got {listed}; say --item-column COLUMN"
                )
            made: Row = {
                "annotator_id": row.text("username") or UNNAMED,
                "annotator_kind": "human",
                "item_id": item,
                "criterion": question,
            }
            if kind == "ratings":
                made["system"] = asked.system(question, row.cells, row.place)
            else:
                made["system_x"], made["system_y"] = asked.compared(question, row.cells, row.place)
            made |= {"missing_reason": "left blank"} if word is None else asked.answer(kind, word)
            rows[kind].append(made)


def _bare(cell: Any) -> Any:
    """Return a cell without the apostrophe that the logger puts before what a spreadsheet would run.

    >>> _bare("'-1"), _bare("'a' is better"), _bare("'so,-so")
    ('-1', "'a' is better", 'so,-so')
    """
    return cell[1:] if isinstance(cell, str) and GUARDED.match(cell) else cell


FORMAT = AnswerFormat(
    key="gradio",
    description="Read Gradio's logs: thumbs of a chat, flagged samples.\n\n"
    "FILE is a log.csv or dataset1.csv, or a folder of such. Of a message the last thumb counts (Like 1, Dislike 0), "
    "an empty one takes it back; the system is called as the log's folder, or as --of thumb=SYSTEM says.",
    details="Of flagged samples --of COLUMN=SYSTEM names ratings, --question COLUMN comparisons.",
    example="spa import gradio flagged/log.csv --of thumb=alpha --out tables",
    options=question_options(),
    meaning=FileMeaning(
        sides="by the words, with --compared",
        missing="an empty thumb, which takes the one before back; an empty cell",
        left_out="all but the last thumb of a message",
        seen="Gradio 6.31.0",
        source="https://github.com/gradio-app/gradio",
    ),
    recognise=_recognise,
    read=_read,
)
