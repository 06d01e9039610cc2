"""The files of a datasheet, HTML and Markdown: what a person filled in there is kept when they are written again."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from html import unescape
from pathlib import Path
from typing import Any

from analysis.heds.form import HedsQuestion, read_questions
from analysis.heds.sheet import Sheet, answer_in, open_questions, sheet_json, tidy
from analysis.printing.document import Block, Bullets, Document, Fold, Heading, Paragraph, Section, Terms
from analysis.printing.words import slug
from analysis.report.html import render_html
from spa.errors import AnalysisError, unreadable
from spa.files import written_whole

TITLE = "Human evaluation datasheet (HEDS 3.0)"
PARTS = {
    "1": "Paper and resources",
    "2": "Systems",
    "3": "Outputs, evaluators and design",
    "4": "Quality criterion",
    "5": "Ethics",
}
NOT_ANSWERED = {
    "text": "To be filled in",
    "radio": "To be filled in: choose one",
    "checkbox": "To be filled in: choose all that apply",
}
HOW = (
    "Write between the two comments that enclose an answer, or tick boxes there: `[x]`. `spa heds` keeps what was "
    "filled in when it runs again, and copies it into the other files. Questions are in our own words; numbers and "
    "options are those of the form."
)
BY_HAND = "filled in by hand"
LONGEST = 30  # options that are listed one a line
PLACE = re.compile(r"<!-- answer (?P<place>[\w. -]+?) -->\n(?P<text>.*?)\n?<!-- end -->", re.DOTALL)
TICKED = re.compile(r"^\s*[-*+] \[[xX]\] (\d+)\.", re.MULTILINE)
TAG = re.compile(r"</?u>")
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


def parts(sheets: Sequence[Sheet]) -> Iterator[tuple[str, Sheet, list[HedsQuestion]]]:
    """Yield the title of each part, the sheet that holds its answers, and its questions; part 4 for every criterion."""
    for part, title in PARTS.items():
        questions = [question for question in read_questions() if question.number.startswith(f"{part}.")]
        for sheet in sheets if questions[0].of_criterion else sheets[:1]:
            of = f": {sheet.criterion}" if questions[0].of_criterion else ""
            yield f"{part} {title}{of}", sheet, questions


def place_of(question: HedsQuestion, sheet: Sheet) -> str:
    """Return the name of the place of an answer in the Markdown document."""
    return f"{question.number} {slug(sheet.criterion)}" if question.of_criterion else question.number


def sheet_html(sheets: Sequence[Sheet]) -> str:
    """Return the document as one HTML file to read."""
    sections = tuple(
        Section(
            id=f"part-{number}",
            title=title,
            blocks=tuple(block for question in questions for block in _blocks(question, sheet)),
        )
        for number, (title, sheet, questions) in enumerate(parts(sheets), start=1)
    )
    subtitle = sheets[0].answers.get("1.1.2", "")
    return render_html(Document(title=TITLE, subtitle=subtitle, language="en", sections=sections))


def _blocks(question: HedsQuestion, sheet: Sheet) -> list[Block]:
    blocks: list[Block] = [Heading(text=f"{question.number} {question.text}")]
    answer, options = sheet.answers.get(question.number, ""), Bullets(items=tuple(map(_plain, question.options)))
    if answer:
        blocks += [Paragraph(text=_plain(text), quoted=not question.options) for text in answer.split("\n") if text]
        return [*blocks, Terms(items=(("Evidence", _evidence(question, sheet)),))]
    blocks.append(Paragraph(text=NOT_ANSWERED[question.kind], weight="warning"))
    if len(question.options) > LONGEST:
        return [*blocks, Fold(summary="Options", blocks=(options,))]
    return [*blocks, options] if question.options else blocks


def _evidence(question: HedsQuestion, sheet: Sheet) -> str:
    return BY_HAND if question.number in sheet.filled_in else question.evidence


def _plain(text: str) -> str:
    return TAG.sub("", text)


def sheet_markdown(sheets: Sequence[Sheet]) -> str:
    """Return the document as Markdown, every answer between two comments."""
    lines = [f"# {TITLE}", HOW]
    for title, sheet, questions in parts(sheets):
        lines.append(f"## {title}")
        for question in questions:
            lines += [f"### {question.number} {question.text}", _enclosed(question, sheet)]
            if len(question.options) > LONGEST:
                lines.append(f"<details><summary>Options</summary>\n\n{', '.join(question.options)}\n\n</details>")
    return "\n\n".join(lines) + "\n"


def _enclosed(question: HedsQuestion, sheet: Sheet) -> str:
    return f"<!-- answer {place_of(question, sheet)} -->\n{answer_markdown(question, sheet)}\n<!-- end -->"


def answer_markdown(question: HedsQuestion, sheet: Sheet) -> str:
    """Return what stands between the two comments of an answer."""
    answer = sheet.answers.get(question.number, "")
    around = f"*Evidence: {_evidence(question, sheet)}*" if answer else f"**{NOT_ANSWERED[question.kind]}**"
    if not question.options:
        quoted = "\n".join(
            f"> {line}".rstrip() for line in answer.replace("&", "&amp;").replace("<", "&lt;").split("\n")
        )
        return f"{quoted}\n\n{around}" if answer else around
    ticked = answer.split("\n")
    shown = [option for option in question.options if option in ticked or len(question.options) <= LONGEST]
    boxes = "\n".join(f"- [{'x' if option in ticked else ' '}] {_plain(option)}" for option in shown)
    return f"{around}\n\n{boxes}".rstrip()


def read_markdown(text: str, sheets: Sequence[Sheet], path: Path) -> dict[str, str]:
    """Return what stands between the two comments of each answer, by its place.

    Raises
    ------
    AnalysisError
        If an answer that the document should have has no place or two.
    """
    found = [match["place"] for match in PLACE.finditer(text)]
    expected = {place_of(question, sheet) for _, sheet, questions in parts(sheets) for question in questions}
    wrong = sorted(expected - set(found)) or sorted(place for place in expected if found.count(place) > 1)
    if wrong:
        raise AnalysisError(
            f"{path}: expected each answer once between the comments '<!-- answer {wrong[0]} -->' and '<!-- end -->', "
            f"got {found.count(wrong[0])}; restore the comments, or move the file away to have a new one written"
        )
    return {match["place"]: match["text"] for match in PLACE.finditer(text)}


def answer_of(question: HedsQuestion, text: str, path: Path) -> str:
    """Return the answer to a question that stands between its two comments.

    Raises
    ------
    AnalysisError
        If a box is ticked that the form does not have, or two are where one answer is expected.
    """
    if not question.options:
        lines = _without_notes(question, text).split("\n")
        return tidy(unescape("\n".join(re.sub(r"^> ?", "", line) for line in lines)))
    ticked = TICKED.findall(text)
    numbers = {option.partition(".")[0]: option for option in question.options}
    unknown = [number for number in ticked if number not in numbers]
    if unknown or (question.kind == "radio" and len(ticked) > 1):
        got = f"option {unknown[0]}" if unknown else f"{len(ticked)} options"
        raise AnalysisError(
            f"{path}: {question.number}: expected {'one of ' * (question.kind == 'radio')}the form's options "
            f"({question.options[0].partition('.')[0]} to {question.options[-1].partition('.')[0]}), got {got}"
        )
    return "\n".join(option for option in question.options if option.partition(".")[0] in ticked)


def _without_notes(question: HedsQuestion, text: str) -> str:
    for note in (f"**{NOT_ANSWERED[question.kind]}**", f"*Evidence: {question.evidence}*", f"*Evidence: {BY_HAND}*"):
        text = text.replace(note, "")
    return text.strip("\n")


def update_markdown(text: str, sheets: Sequence[Sheet], path: Path) -> str:
    """Return a document with the answers that are new, and everything else as it was."""
    at = {
        place_of(question, sheet): (question, sheet) for _, sheet, questions in parts(sheets) for question in questions
    }

    def replaced(match: re.Match[str]) -> str:
        if match["place"] not in at:
            return match[0]
        question, sheet = at[match["place"]]
        text, answer = match["text"], sheet.answers.get(question.number, "")
        if answer_of(question, text, path) != answer or (answer and question.number not in sheet.filled_in):
            return _enclosed(question, sheet)
        if not answer or text == answer_markdown(question, sheet):
            return match[0]
        return match[0].replace(text, _without_notes(question, text))

    return PLACE.sub(replaced, text)
