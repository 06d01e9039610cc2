"""The best and the worst of some options, in two taps.

An answer is written as a text, "B > A": the best before the worst.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from spa.records.form import Answer, AnswerOption, Question
from spa.widgets.payload import NO_ANSWER, UnreadableAnswer, bare, object_schema, quoted
from spa.widgets.widget import OfferedText, Say, Widget, listed, offered_options

if TYPE_CHECKING:
    import numpy as np

    from spa.records.raters import Reading

BEST, WORST = "best", "worst"
BOTH = (BEST, WORST)
BEFORE = " > "  # between the best and the worst
NOT_BOTH = "the reply does not give one output as the best and another as the worst"
CALLED = {
    BEST: r"\bbest\b|最好|最佳|الأفضل|\bbeste[rs]?\b|\bmeilleure?\b",
    WORST: r"\bworst\b|最差|الأسوأ|\bschlechteste[rs]?\b|\bpire\b",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtremesAnswer(Answer):
    """Which of two options or more is the best, and which other one the worst.

    ``options`` stand in the order of the page; the value of each is its label.
    """

    options: tuple[AnswerOption, ...]


class ExtremesWidget(Widget[ExtremesAnswer]):
    """Two round buttons beside each option; a script takes the other one of an option back."""

    key = "extremes"
    answer = ExtremesAnswer
    collected = ("extremes.css", "extremes.js")
    late_texts = ("page.gap_extremes", "page.best", "page.worst", "page.of_output", "form.prompt_extremes")

    def offers(self, answer: ExtremesAnswer) -> tuple[OfferedText, ...]:
        """Return what is compared."""
        return offered_options(answer.options)

    def wanted(self, answer: ExtremesAnswer, say: Say, names: str, separator: str) -> str:
        """Return that two different labels are wanted."""
        return say("form.prompt_extremes", questions=names, values=listed(_labels(answer), separator))

    def schema(self, answer: ExtremesAnswer) -> dict[str, Any]:
        """Return the schema of an object with both; no label may be both."""
        labels = _labels(answer)
        return {
            "anyOf": [
                object_schema({BEST: {"type": "string", "enum": [best]}, WORST: {"type": "string", "enum": others}})
                for best in labels
                if (others := [label for label in labels if label != best])
            ]
        }

    def gap(self, answer: ExtremesAnswer, say: Say) -> str:
        """Return that two different ones are wanted."""
        return say("page.gap_extremes")

    def parts(self, answer: ExtremesAnswer) -> tuple[str, ...]:
        """Return "best" and "worst": a page sends a label for each."""
        return BOTH

    def controls(self, answer: ExtremesAnswer, name: str) -> dict[str, list[str] | None]:
        """Return the labels, for both fields."""
        return {field: list(_labels(answer)) for field in self.fields(answer, name).values()}

    def longest(self, answer: ExtremesAnswer) -> int:
        """Return the bytes of two labels."""
        return 2 * max(map(len, _labels(answer)))

    def sent(self, answer: ExtremesAnswer, name: str, payload: Mapping[str, object]) -> object:
        """Return what arrived under the question's own name, else the labels by what they are."""
        raw = payload.get(name)
        if raw is not None:
            return raw
        return {part: payload[field] for part, field in self.fields(answer, name).items() if field in payload} or None

    def sends(self, answer: ExtremesAnswer, name: str, value: str) -> dict[str, str]:
        """Return the best and the worst label; "" sends nothing."""
        if not value:
            return {}
        return dict(zip(self.fields(answer, name).values(), best_and_worst(value), strict=True))

    def value(self, answer: ExtremesAnswer, raw: object) -> str:
        """Read the best and the worst of an object, or "B > A", by labels or texts; nothing is filled in."""
        labels = _labels(answer)
        names = {name: option.value for option in answer.options for name in (option.text.strip(), option.value)}
        if isinstance(raw, str):
            given = bare(raw).split(BEFORE.strip())
            raw = dict(zip(BOTH, given, strict=True)) if len(given) == len(BOTH) else {"": raw}
        if not isinstance(raw, dict) or not set(raw) <= set(BOTH):
            expected = f'an object with "best" and "worst", each one of {", ".join(labels)}'
            raise UnreadableAnswer(f"expected {expected}, got {quoted(raw)}")
        if all(isinstance(one, str) and not bare(one) for one in raw.values()):
            raise UnreadableAnswer(NO_ANSWER)
        found = []
        for part in BOTH:
            one = raw.get(part)
            label = names.get(bare(one)) if isinstance(one, str) else None
            if label is None:
                got = quoted(one) if part in raw else "none"
                raise UnreadableAnswer(f"expected one of {', '.join(labels)} as the {part}, got {got}")
            found.append(label)
        if found[0] == found[1]:
            raise UnreadableAnswer(f"expected two different ones of {', '.join(labels)}, got {found[0]} as both")
        return BEFORE.join(found)

    def read_text(self, answer: ExtremesAnswer, question: Question, text: str, *, reading: Reading) -> str:
        """Return the best and the worst that a text gives, whatever the rule: the first of either would be half."""
        from spa.widgets.free_text.whole_answers import read_whole_answer

        return read_whole_answer(
            text,
            question.question_id,
            value=partial(self.value, answer),
            named=partial(_named, answer),
            incomplete=NOT_BOTH,
        )

    def careless(self, answer: ExtremesAnswer, rng: np.random.Generator | None) -> str:
        """Return any two, or the first and the last."""
        labels = list(_labels(answer))
        order = labels if rng is None else rng.permutation(labels).tolist()
        return BEFORE.join((order[0], order[-1]))

    def as_json(self, answer: ExtremesAnswer, value: str) -> object:
        """Return the object of both labels."""
        return dict(zip(BOTH, best_and_worst(value), strict=True))

    def in_words(self, answer: ExtremesAnswer, value: Any) -> str:
        """Return both with what they are."""
        return f"The best is {value[BEST]}, and the worst is {value[WORST]}."


def best_and_worst(value: str) -> tuple[str, str]:
    """Return the best and the worst of an answer.

    >>> best_and_worst("B > A")
    ('B', 'A')
    """
    best, _, worst = value.partition(BEFORE)
    return best, worst


def _labels(answer: ExtremesAnswer) -> tuple[str, ...]:
    return tuple(option.value for option in answer.options)


def _named(answer: ExtremesAnswer, text: str) -> tuple[str, str] | None:
    """Return the answer of a text that names, in turn, an option and what it is, each of both once; else nothing.

    Beside it the text up to its end, which may deny it.
    """
    names = {name: option.value for option in answer.options for name in (option.text.strip(), option.value)}
    any_name = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
    words = rf"(?P<best>(?i:{CALLED[BEST]}))|(?P<worst>(?i:{CALLED[WORST]}))|(?<!\w)(?P<name>{any_name})(?!\w)"
    matches = list(re.finditer(words, text))
    found = [(match.lastgroup or "", match[0]) for match in matches]
    if len(found) != 2 * len(BOTH):
        return None
    called: dict[str, str] = {}
    for one, other in (found[:2], found[2:]):
        part, name = (one[0], other[1]) if other[0] == "name" else (other[0], one[1])
        if part in BOTH and name in names:
            called[part] = names[name]
    if set(called) != set(BOTH) or called[BEST] == called[WORST]:
        return None
    return BEFORE.join((called[BEST], called[WORST])), text[: matches[-1].end()]
