"""The files of a datasheet: what a person filled in there is kept whenever they are written again."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from analysis.heds.document import (
    answer_markdown,
    answer_of,
    parts,
    place_of,
    read_markdown,
    sheet_html,
    sheet_markdown,
    update_markdown,
)
from analysis.heds.form import HedsQuestion
from analysis.heds.sheet import Sheet, answer_in, open_questions, sheet_json
from analysis.printing.words import slug
from spa.errors import AnalysisError, unreadable
from spa.files import written_whole

MARKDOWN, HTML, OPEN, LAST = "heds.md", "heds.html", "heds-open.txt", "heds-last.json"
Answers = dict[str, str]  # by their place in the document


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenSheets:
    """What was written the last time: the answers of the study, and those that a person had filled in."""

    study: Answers
    filled_in: Answers

    def sheet(self, place: str, question: HedsQuestion) -> Sheet:
        """Return a sheet with one answer as it was written."""
        answer = self.filled_in.get(place, self.study.get(place, ""))
        by_person = frozenset({question.number} if place in self.filled_in else ())
        return Sheet(criterion="", answers={question.number: answer}, filled_in=by_person)


@dataclass(frozen=True, slots=True, kw_only=True)
class SheetFiles:
    """The files of a datasheet, with what stands in them."""

    paths: tuple[Path, ...]
    sheets: tuple[Sheet, ...]
    kept: tuple[str, ...]  # a line for each answer of a person that is not what the study says


def write_sheets(sheets: Sequence[Sheet], folder: Path) -> SheetFiles:
    """Write a datasheet, with what a person filled in in the files of the folder.

    ``heds.md`` is the document to fill in, ``heds.html`` the same to read, ``heds-CRITERION.json`` one object each,
    field to value, as the form itself saves it; ``heds-open.txt`` lists what is open. ``heds-last.json`` holds what
    was written, by which the next run tells a person's answers from the study's.

    Raises
    ------
    AnalysisError
        If two files hold different answers of a person to one question, or a file cannot be read or written.
    """
    study = {place: sheet.answers.get(question.number, "") for place, question, sheet in _places(sheets)}
    last = WrittenSheets(**_read_json(folder / LAST)) if (folder / LAST).exists() else None
    person = _filled_in(sheets, folder, last or WrittenSheets(study=study, filled_in={}))
    filled = [_with(sheet, person) for sheet in sheets]
    texts = sheet_files(filled)
    if (folder / MARKDOWN).exists():
        texts[MARKDOWN] = update_markdown(_read(folder / MARKDOWN), filled, folder / MARKDOWN)
    texts[LAST] = json.dumps({"study": study, "filled_in": person}, ensure_ascii=False, indent=1) + "\n"
    for name, text in texts.items():
        with written_whole(folder / name, error_type=AnalysisError) as temporary:
            temporary.write_text(text, encoding="utf-8")
    kept = (
        f"{place}: kept {_brief(answer)}, which was filled in; the study says {_brief(study[place])}"
        for place, answer in person.items()
        if study[place] not in ("", answer)
    )
    return SheetFiles(paths=tuple(folder / name for name in texts), sheets=tuple(filled), kept=tuple(kept))


def sheet_files(sheets: Sequence[Sheet]) -> dict[str, str]:
    """Return the text of each file of a new datasheet by its name."""
    listed = {_json_name(sheet): sheet_json(sheet) for sheet in sheets}
    return {MARKDOWN: sheet_markdown(sheets), HTML: sheet_html(sheets), **listed, OPEN: open_questions(sheets)}


def _json_name(sheet: Sheet) -> str:
    return f"heds-{slug(sheet.criterion)}.json"


def _places(sheets: Sequence[Sheet]) -> Iterator[tuple[str, HedsQuestion, Sheet]]:
    """Yield the place of every answer in the order of the document, its question and the sheet that holds it."""
    for _, sheet, questions in parts(sheets):
        for question in questions:
            yield place_of(question, sheet), question, sheet


def _with(sheet: Sheet, person: Answers) -> Sheet:
    own = {question.number: person[place] for place, question, _ in _places([sheet]) if place in person}
    return replace(sheet, answers={**sheet.answers, **own}, filled_in=frozenset(own))


def _filled_in(sheets: Sequence[Sheet], folder: Path, last: WrittenSheets) -> Answers:
    """Return the answers of a person: those of the last time, and over them what was changed in a file since."""
    markdown, person = folder / MARKDOWN, {}
    texts = read_markdown(_read(markdown), sheets, markdown) if markdown.exists() else {}
    values = {
        sheet.criterion: _read_json(folder / _json_name(sheet))
        for sheet in sheets
        if (folder / _json_name(sheet)).exists()
    }
    for place, question, sheet in _places(sheets):
        written = last.sheet(place, question)
        before = written.answers[question.number]
        changed: Answers = {}
        if place in texts and texts[place].strip() != answer_markdown(question, written):
            changed[MARKDOWN] = answer_of(question, texts[place], markdown)
        for each in [sheet] if question.of_criterion else sheets:
            answer = answer_in(question, values[each.criterion]) if each.criterion in values else before
            if answer != before:
                changed[_json_name(each)] = answer
        if len(set(changed.values())) > 1:
            answers = ", ".join(f"{name} {_brief(answer)}" for name, answer in changed.items())
            raise AnalysisError(f"{folder}: {place}: expected one answer, got {answers}; make them the same")
        answer = next(iter(changed.values()), last.filled_in.get(place, ""))
        if answer:
            person[place] = answer
    return person


def _brief(answer: str) -> str:
    return repr(answer if len(answer) <= 60 else f"{answer[:57]}...")


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise AnalysisError(unreadable(path, error)) from error
    except UnicodeError as error:
        raise AnalysisError(f"{path}: expected a text in UTF-8, got {error}") from error


def _read_json(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(_read(path))
    except json.JSONDecodeError as error:
        raise AnalysisError(f"{path}: expected JSON, got {error}; mend or move the file") from error
    if not isinstance(found, dict):
        raise AnalysisError(f"{path}: expected an object, got {type(found).__name__}")
    return found
