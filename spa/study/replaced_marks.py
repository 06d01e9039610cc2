"""Marks in the texts of a study, such as "[WP]" or "<newline>", replaced when the tables are read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace

from spa.media import medium_of
from spa.records.problems import StudyProblem, mistake, quote, repeated
from spa.records.study import Study
from spa.study.output_table import Cells, RawOutput

PLACE = "[outputs] replace"
PROMPTS, OUTPUTS, REFERENCES, NOTES = "item texts", "outputs", "references", "rubrics and references shown"


def replacement_problems(study: Study) -> Iterator[StudyProblem]:
    """Yield what the marks mean wrongly, by themselves and beside filters, which come after them."""
    outputs = study.outputs
    if not outputs.replace:
        return
    yield from repeated(PLACE, [mark for mark, _ in outputs.replace])
    for mark, text in outputs.replace:
        if mark == text:
            yield mistake(PLACE, "another text in the place of a mark", f"{quote(mark)} for itself", "correct it")
    media = [medium_of(kind) for kind in (outputs.kind, *[outputs.item_kind] * (outputs.item_text is not None))]
    if not any(medium.is_text for medium in media) or any(medium.has_words and not medium.is_text for medium in media):
        expected = "texts or Markdown, in which marks can stand"
        yield mistake(PLACE, expected, " and ".join(medium.many for medium in media), "remove it")
    for number, condition in enumerate(outputs.filters, start=1):
        if condition.as_written:
            continue
        parts = [("contains_none_of", part) for part in condition.contains_none_of]
        for key, text in (("starts_with", condition.starts_with or ""), *parts):
            taken = next((mark for mark, _ in outputs.replace if mark in text), None)
            if taken is not None:
                place = f"[[outputs.filters]] {number}, {key}"
                got = f"{quote(text)}, of which replace has taken {quote(taken)} by then"
                yield mistake(place, "a text that can stand there", got, "set as_written = true in the filter")


def with_marks_replaced(study: Study, cells: Cells) -> Cells:
    """Return cells with the marks replaced, one after another, and notes on how often each stood where."""
    if not study.outputs.replace:
        return cells
    found = _Found(study.outputs.replace)
    if medium_of(study.outputs.item_kind).is_text:
        texts = {item: None if text is None else found.replaced(PROMPTS, text) for item, text in cells.texts.items()}
        cells = replace(cells, texts=texts)
    if medium_of(study.outputs.kind).is_text:
        cells = replace(
            cells, outputs={key: tuple(found.of(OUTPUTS, raw) for raw in raws) for key, raws in cells.outputs.items()}
        )
    cells = replace(
        cells,
        references={
            item: tuple(dict.fromkeys(found.replaced(REFERENCES, text) for text in texts))
            for item, texts in cells.references.items()
        },
        item_notes={key: found.of(NOTES, raw) for key, raw in cells.item_notes.items()},
    )
    return replace(cells, notes=(*cells.notes, *found.notes()))


def without_marks(study: Study, text: str) -> str:
    """Return a text as it would be with the marks replaced."""
    for mark, instead in study.outputs.replace:
        text = text.replace(mark, instead)
    return text


class _Found:
    """How often each mark stood where, and in how many texts."""

    def __init__(self, marks: tuple[tuple[str, str], ...]) -> None:
        self.marks = marks
        self.times: Mapping[str, Counter[str]] = {mark: Counter() for mark, _ in marks}
        self.texts: Mapping[str, Counter[str]] = {mark: Counter() for mark, _ in marks}

    def replaced(self, where: str, text: str) -> str:
        """Return a text with its marks replaced, counted."""
        for mark, instead in self.marks:
            if times := text.count(mark):
                self.times[mark][where] += times
                self.texts[mark][where] += 1
                text = text.replace(mark, instead)
        return text

    def of(self, where: str, raw: RawOutput) -> RawOutput:
        """Return a cell with its marks replaced, counted."""
        text = self.replaced(where, raw.value)
        return raw if text == raw.value else replace(raw, value=text)

    def notes(self) -> Iterator[str]:
        """Say of each mark where it stood, or that it never did."""
        for mark, instead in self.marks:
            said = f"{PLACE}: {quote(mark)} became {quote(instead) if instead else 'nothing'}"
            times, texts = self.times[mark], self.texts[mark]
            if not times:
                yield f"{PLACE}: {quote(mark)} stands in no text (marks are replaced in the order listed); correct it"
                continue
            counted = (f"{times[where]:,} times in {texts[where]:,} {where}" for where in times)
            yield f"{said}, {', '.join(counted)}"
