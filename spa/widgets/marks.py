"""Errors marked in a text: how an answer arrives, how its pieces are found in the text, and how it is kept.

A page with script sends code point offsets; a page without, and an LLM, quote the pieces. A quote counts where it
stands in the text once, or as often as a number says which one is meant; any other is kept with its reason.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from spa.records.form import Answer, AnswerOption, Question
from spa.records.rendered_text import in_text
from spa.widgets.payload import UnreadableAnswer, object_schema
from spa.widgets.widget import ESCAPED, OfferedText, Say, Widget, listed

if TYPE_CHECKING:
    import numpy as np

    from spa.records.raters import Reading

NO_ERRORS = "no errors"
MARKED = 100  # bytes of a marked error, for each character of the text: most mark longer pieces
PLAIN_QUOTES = str.maketrans("\u2018\u2019\u201a\u201c\u201d\u201e\u00ab\u00bb", "'''" + '"' * 5)


@dataclass(frozen=True, slots=True, kw_only=True)
class SpansAnswer(Answer):
    """Stretches of ``text``, each with a severity, or "no errors"; the score of a severity is what one error counts."""

    text: str  # of the output, as shown
    severities: tuple[AnswerOption, ...]  # lightest first
    categories: tuple[str, ...]
    no_errors: str  # what the box says
    meanings: tuple[str, ...] = ()  # "minor: ...", what each severity means; none: their names alone
    source: str | None = None  # from which the text is rendered, and which LLMs read and quote; else they read the text


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkedSpan:
    """One marked error: text[start:end], in code points; both null, with the reason, where a quote was not found."""

    start: int | None
    end: int | None
    text: str
    severity: str
    weight: float
    category: str | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkedText:
    """All errors marked in one output, none where there are none; ``characters`` is the length of its text."""

    characters: int
    spans: tuple[MarkedSpan, ...]


def spans_to_json(marked: MarkedText) -> str:
    """Write what was marked as canonical JSON, the value of a ``Response``."""
    return json.dumps(asdict(marked), ensure_ascii=True, separators=(",", ":"))


def spans_from_json(value: str) -> MarkedText:
    """Read what :func:`spans_to_json` wrote."""
    record = json.loads(value)
    return MarkedText(characters=record["characters"], spans=tuple(MarkedSpan(**span) for span in record["spans"]))


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotedLines:
    """An earlier answer as the page shows it again: as JSON for the script, and as quotes for each severity."""

    value: str
    lines: tuple[str, ...]
    none: bool


class MarksWidget(Widget[SpansAnswer]):
    """A list of quotes for each severity, hidden by the script, which marks in the text above or in a copy of it."""

    key = "marks"
    answer = SpansAnswer
    script = "spans.js"
    collected = ("marks.css",)
    is_list = False
    late_texts = (
        *("page.span_hint", "page.span_lines", "page.span_category", "page.span_remove", "page.span_marked"),
        *("form.prompt_spans", "form.prompt_span_categories"),
    )

    def offers(self, answer: SpansAnswer) -> tuple[OfferedText, ...]:
        """Return the severities with what they mean, the categories and the box for no errors."""
        named = answer.meanings or [one.text for one in answer.severities]
        offered = [*zip(named, answer.severities, strict=True)]
        return (
            *(
                OfferedText(role="option", text=text, value=one.value if text == one.text else None)
                for text, one in offered
            ),
            *(OfferedText(role="option", text=one, value=one) for one in answer.categories),
            OfferedText(role="box", text=answer.no_errors),
        )

    def wanted(self, answer: SpansAnswer, say: Say, names: str, separator: str) -> str:
        """Return how an LLM marks errors in JSON."""
        severities = listed([one.value for one in answer.severities], separator)
        value = say("form.prompt_spans", questions=names, severities=severities)
        if not answer.categories:
            return value
        return f"{value} {say('form.prompt_span_categories', categories=listed(answer.categories, separator))}"

    def schema(self, answer: SpansAnswer) -> dict[str, Any]:
        """Return the schema of a list of quotes."""
        properties: dict[str, Any] = {
            "quote": {"type": "string"},
            "occurrence": {"type": "integer"},
            "severity": {"type": "string", "enum": [one.value for one in answer.severities]},
        }
        if answer.categories:
            properties["category"] = {"type": "string", "enum": list(answer.categories)}
        return {"type": "array", "items": object_schema(properties)}

    def parts(self, answer: SpansAnswer) -> tuple[str, ...]:
        """Return what the script found (""), the quotes of each severity (its number, from 1), and whether "none"."""
        return ("", *map(str, range(1, len(answer.severities) + 1)), "none")

    def controls(self, answer: SpansAnswer, name: str) -> dict[str, list[str] | None]:
        """Return free entry, and a box for no errors."""
        return {**super().controls(answer, name), self.fields(answer, name)["none"]: ["yes"]}

    def longest(self, answer: SpansAnswer) -> int:
        """Return the bytes of marks all over the text, and of the text quoted for each severity."""
        return (MARKED + ESCAPED * len(answer.severities)) * len(answer.text)

    def sent(self, answer: SpansAnswer, name: str, payload: Mapping[str, object]) -> object:
        """Return what the script found, else what stands in the lists of a page without script."""
        sent = payload.get(name)
        if sent or sent == []:
            return sent
        _, *lists, none = (str(payload.get(field, "")) for field in self.fields(answer, name).values())
        quoted = [
            {"quote": line.strip(), "severity": severity.value}
            for severity, lines in zip(answer.severities, lists, strict=True)
            for line in lines.splitlines()
            if line.strip()
        ]
        if quoted and none:
            return {NO_ERRORS: none, "quoted": quoted}
        return quoted or ([] if none else sent)

    def value(self, answer: SpansAnswer, raw: object) -> str:
        """Return what was marked as JSON."""
        return read_spans(answer, raw)

    def read_text(self, answer: SpansAnswer, question: Question, text: str, *, reading: Reading) -> str:
        """Return the one JSON list of the text."""
        from spa.widgets.free_text.json_replies import UnreadableReply, find_list
        from spa.widgets.free_text.phrases import UnreadableText

        try:
            return find_list(text)
        except UnreadableReply as problem:
            raise UnreadableText(str(problem)) from problem

    def is_written(self, raw: object) -> bool:
        """Return whether pieces are quoted, which may stand nowhere in the text."""
        return "quote" in str(raw)

    def keeps_written(self, value: str | None) -> bool:
        """Return whether a quote is not in the text, and so may hold anything."""
        return value is not None and any(span.start is None for span in spans_from_json(value).spans)

    def shown_again(self, answer: SpansAnswer, name: str, answers: Mapping[str, str]) -> QuotedLines:
        """Return what was sent before, as the page shows it; lists that cannot be used stand as they were sent."""
        _, *names, box = self.fields(answer, name).values()
        given = self.sent(answer, name, answers)
        try:
            spans = spans_from_json(read_spans(answer, given)).spans if given else ()
        except UnreadableAnswer:
            lines = tuple(answers.get(field, "") for field in names)
            return QuotedLines(value="", lines=lines, none=box in answers)
        if not spans:
            none = given == [] or bool(given)
            return QuotedLines(value="[]" if none else "", lines=("",) * len(names), none=none)
        marks = [
            {"quote": span.text, "severity": span.severity, "category": span.category}
            if span.start is None
            else {"start": span.start, "end": span.end, "severity": span.severity, "category": span.category}
            for span in spans
        ]
        lines = tuple(
            "\n".join(span.text for span in spans if span.severity == severity.value) for severity in answer.severities
        )
        return QuotedLines(value=json.dumps(marks), lines=lines, none=False)

    def careless(self, answer: SpansAnswer, rng: np.random.Generator | None) -> str:
        """Return that there are no errors."""
        return "[]"

    def as_json(self, answer: SpansAnswer, value: str) -> object:
        """Return the marks in quotes."""
        marks = []
        for mark in json.loads(value):
            start, quote = mark["start"], answer.text[mark["start"] : mark["end"]]
            earlier = sum(answer.text.startswith(quote, place) for place in range(start + 1))
            marks.append({"quote": quote, "occurrence": earlier, "severity": mark["severity"]})
            if answer.categories:
                marks[-1]["category"] = answer.categories[0]
        return marks

    def in_words(self, answer: SpansAnswer, value: Any) -> str:
        """Return the list itself."""
        return json.dumps(value)


def read_spans(answer: SpansAnswer, raw: object) -> str:
    """Return what was marked as JSON (see :func:`spans_to_json`).

    ``raw`` is a list, or its JSON, of objects with ``severity`` and either ``start`` and ``end`` or ``quote``, with
    ``occurrence`` (from 1) where the quote stands more than once. An empty list says "no errors". Raise
    UnreadableAnswer if it is no such list; quotes that are not found make no answer unusable.
    """
    if isinstance(raw, str):
        try:
            raw = json.loads(raw)
        except (ValueError, RecursionError):
            raise UnreadableAnswer("expected a JSON list of marked errors, got another text") from None
    if not isinstance(raw, list):
        raise UnreadableAnswer('expected a list of marked errors, or none and "no errors", not both')
    spans = [_read(answer, number, record) for number, record in enumerate(raw, start=1)]
    spans.sort(key=lambda span: (span.start is None, span.start or 0, span.end or 0))
    return spans_to_json(MarkedText(characters=len(answer.text), spans=tuple(spans)))


def _read(answer: SpansAnswer, number: int, record: object) -> MarkedSpan:
    place = f"marked error {number}"
    if not isinstance(record, dict):
        raise UnreadableAnswer(f"{place}: expected an object with quote and severity, got {_short(record)}")
    weights = {one.value: one.score or 0.0 for one in answer.severities}
    severity, category = record.get("severity"), record.get("category") or None
    if severity not in weights:
        raise UnreadableAnswer(f"{place}: expected a severity of {', '.join(weights)}, got {_short(severity)}")
    if category is not None and category not in answer.categories:
        offered = ", ".join(answer.categories) or "none, as none are offered"
        raise UnreadableAnswer(f"{place}: expected a category of {offered}, got {_short(category)}")
    if "quote" in record:
        start, end, text, reason = _find(answer.text, record["quote"], record.get("occurrence"))
        if start is None and answer.source is not None:
            first, last, _, _ = _find(answer.source, record["quote"], record.get("occurrence"))
            said = None if first is None or last is None else in_text(answer.source, answer.text, first, last)
            if said is not None:
                start, end = said
                text, reason = answer.text[start:end], None
    else:
        start, end = _whole(record.get("start")), _whole(record.get("end"))
        if start is None or end is None or not 0 <= start < end <= len(answer.text):
            expected = f"start and end with 0 <= start < end <= {len(answer.text)}"
            raise UnreadableAnswer(f"{place}: expected a quote, or {expected}, got {_short(record)}")
        text, reason = answer.text[start:end], None
    return MarkedSpan(
        start=start, end=end, text=text, severity=severity, weight=weights[severity], category=category, reason=reason
    )


def _find(text: str, quote: object, occurrence: object) -> tuple[int | None, int | None, str, str | None]:
    """Return where a quote stands, itself, and why that is not known."""
    if not isinstance(quote, str) or not quote:
        return None, None, quote if isinstance(quote, str) else _short(quote), "empty quote"
    starts = []
    start = text.find(quote)
    while start >= 0:
        starts.append(start)
        start = text.find(quote, start + 1)
    if not starts:
        nearly = _plain(quote) in _plain(text)
        return None, None, quote, "not in the text" + (", but with another case or quotation marks" if nearly else "")
    which = 1 if len(starts) == 1 and occurrence is None else _whole(occurrence)
    if which is None or not 1 <= which <= len(starts):
        said = "" if occurrence is None else f", got occurrence {_short(occurrence)}"
        times = "once" if len(starts) == 1 else f"{len(starts)} times"
        return None, None, quote, f"stands {times} in the text{said}"
    start = starts[which - 1]
    return start, start + len(quote), quote, None


def _plain(text: str) -> str:
    return text.translate(PLAIN_QUOTES).casefold()


def _whole(value: object) -> int | None:
    """Return a whole number, which the JSON of a reply may hold as text."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 10:
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _short(value: object) -> str:
    text = ascii(value)
    return text if len(text) <= 60 else f"{text[:60]}..."
