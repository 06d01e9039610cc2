"""The datasheet as a document: HTML to read, and Markdown in which a person answers what the study does not."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html import unescape
from pathlib import Path

from analysis.heds.form import HedsQuestion, read_questions
from analysis.heds.sheet import Sheet, tidy
from analysis.printing.document import Block, Bullets, Document, Fold, Heading, Paragraph, Section, Terms
from analysis.printing.words import slug
from analysis.report.html import render_html
from spa.errors import AnalysisError

TITLE = "Human evaluation datasheet (HEDS 3.0)"
PARTS = {
    "1": "Paper and resources",
    "2": "Systems",
    "3": "Outputs, evaluators and design",
    "4": "Quality criterion",
    "5": "Ethics",
}
OPEN = {
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
    blocks.append(Paragraph(text=OPEN[question.kind], weight="warning"))
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
    around = f"*Evidence: {_evidence(question, sheet)}*" if answer else f"**{OPEN[question.kind]}**"
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
    for note in (f"**{OPEN[question.kind]}**", f"*Evidence: {question.evidence}*", f"*Evidence: {BY_HAND}*"):
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
