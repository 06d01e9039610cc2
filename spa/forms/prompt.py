"""The form as a prompt: what everybody is told and asked, in a declared wrapper."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from spa.errors import StudyError
from spa.forms.asks import Ask
from spa.forms.form import Form, NumberAnswer, OptionsAnswer, Page, Question, TextAnswer
from spa.forms.spoken import Said, pages_for, said_on
from spa.forms.texts import Texts

Wrapper = Literal[
    "persona",
    "page marker",
    "exhibit marker",
    "fence",
    "shown above",
    "question marker",
    "answer marker",
    "answer format",
    "asked again",
    "line",
]
# Everything that a prompt says beyond the form. Nothing else may be added to a prompt.
WRAPPERS: dict[Wrapper, str] = {
    "persona": "a system message that says whom the rater is to speak for; only where the study gives one",
    "page marker": "[p3] before a page's title",
    "exhibit marker": "[e3] before an exhibit's caption",
    "fence": "a line of backquotes before and after an exhibit's text, longer than any run of them inside",
    "shown above": "an arrow after the caption of an exhibit that the conversation has sent already",
    "question marker": "[q3] before a question",
    "answer marker": 'a dash before an end of a scale; a dash and the value, such as "x", before an option',
    "answer format": "how to answer: one JSON object with these keys and values, in the language of the study",
    "asked again": "after a reply that cannot be used: what arrived, the questions still open and what they take",
    "line": "line ends and empty lines between all of these",
}
_SHOWN_AGAIN = 60  # characters of what arrived
_IMAGE_TYPES = {b"\x89PNG": "image/png", b"\xff\xd8\xff": "image/jpeg", b"GIF8": "image/gif", b"RIFF": "image/webp"}


@dataclass(frozen=True, slots=True, kw_only=True)
class TextPart:
    """A stretch of a prompt: the form's own text, or (``wrapper``) something around it."""

    text: str
    wrapper: Wrapper | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ImagePart:
    """An image, sent where the page shows it."""

    path: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """What an LLM is sent: the parts in the order of the form, and the questions that they ask."""

    parts: tuple[TextPart | ImagePart, ...]
    question_ids: tuple[str, ...]

    def chat_messages(self, answer_format: str = "") -> list[dict[str, Any]]:
        """Return the prompt as one user message of an OpenAI-compatible chat.

        Parameters
        ----------
        answer_format : str
            What :func:`answer_format` returns; it stands at the end. Without it the prompt ends with the form.

        Raises
        ------
        StudyError
            If an image cannot be read or is no PNG, JPEG, GIF or WebP.
        """
        content: list[dict[str, Any]] = []
        text: list[str] = []
        ending = (TextPart(text=f"\n{answer_format}\n", wrapper="answer format"),) if answer_format else ()
        for part in (*self.parts, *ending):
            if isinstance(part, TextPart):
                text.append(part.text)
                continue
            content.append({"type": "text", "text": "".join(text)})
            content.append({"type": "image_url", "image_url": {"url": _data_url(part.path)}})
            text = []
        if not content:
            return [{"role": "user", "content": "".join(text)}]
        content.append({"type": "text", "text": "".join(text)})
        return [{"role": "user", "content": content}]


def render_prompt(form: Form) -> Prompt:
    """Render the pages for everybody as a prompt: the same text in the same order as on the web page.

    An exhibit is sent once; where a page repeats it, its marker, caption and an arrow stand.
    """
    questions = tuple(question.question_id for question in form.questions("everybody"))
    return Prompt(parts=_parts_of(pages_for(form, "everybody"), set()), question_ids=questions)


def render_ask(ask: Ask) -> Prompt:
    """Render what is asked at once; exhibits that the conversation has shown already are not sent again."""
    questions = tuple(question.question_id for question in ask.questions)
    return Prompt(parts=_parts_of(ask.pages, set(ask.sent)), question_ids=questions)


def _parts_of(pages: Iterable[Page], sent: set[str]) -> tuple[TextPart | ImagePart, ...]:
    parts: list[TextPart | ImagePart] = []
    for page in pages:
        _wrap(parts, "line", "\n" if parts else "")
        before = None
        for said in said_on(page):
            if said.role == "caption" and before in ("option", "end"):
                _wrap(parts, "line", "\n")
            parts += _PARTS[said.role](said, sent) if said.role != "title" else _title(page.page_id, said)
            before = said.role
    return tuple(parts)


def answer_format(questions: Sequence[Question], texts: Texts) -> str:
    """Return the instruction to answer in JSON: which questions, and what each takes.

    Parameters
    ----------
    questions : sequence of Question
        Those that are asked.
    texts : Texts
        In the language of the study.
    """
    example = questions[0].question_id if questions else "q1"
    return "\n".join([texts.say("form.prompt_answer_format", example=example), *_value_lines(questions, texts)])


def ask_again(asked: Sequence[Question], arrived: Mapping[str, str | None], texts: Texts) -> str:
    """Return what is said after a reply that could not be used for some questions: which, and what each takes.

    Parameters
    ----------
    asked : sequence of Question
        What was asked.
    arrived : mapping of str to (str or None)
        The questions to answer again; what arrived for each, ``None`` where nothing did.
    texts : Texts
        In the language of the study.
    """
    questions = [question for question in asked if question.question_id in arrived]
    quoted = [
        f"- {json.dumps(name)}: {json.dumps(raw[:_SHOWN_AGAIN], ensure_ascii=False)}"
        for name, raw in arrived.items()
        if raw is not None
    ]
    unusable = [texts.say("form.prompt_unusable"), *quoted, ""] if quoted else []
    return "\n".join([*unusable, texts.say("form.prompt_again"), *_value_lines(questions, texts)])


def _value_lines(questions: Sequence[Question], texts: Texts) -> list[str]:
    """Return which question takes which values; questions that take the same share a line."""
    separator = texts.entries["form.list_separator"]
    alike: dict[str, tuple[Question, list[str]]] = {}
    for question in questions:
        values = _values(question, texts, "", separator)
        alike.setdefault(values, (question, []))[1].append(f'"{question.question_id}"')
    return ["- " + _values(question, texts, separator.join(names), separator) for question, names in alike.values()]


def _values(question: Question, texts: Texts, names: str, separator: str) -> str:
    answer = question.answer
    if isinstance(answer, NumberAnswer):
        low, high = str(answer.low), str(answer.high)
        return texts.say("form.prompt_whole_number", questions=names, low=low, high=high)
    if isinstance(answer, TextAnswer):
        return texts.say("form.prompt_text", questions=names)
    options = answer.options if isinstance(answer, OptionsAnswer) else ()
    values = separator.join(json.dumps(option.value, ensure_ascii=False) for option in options)
    return texts.say("form.prompt_one_of", questions=names, values=values or '"yes"')


def _wrap(parts: list[TextPart | ImagePart], wrapper: Wrapper, text: str) -> None:
    if text:
        parts.append(TextPart(text=text, wrapper=wrapper))


def _title(page_id: str, said: Said) -> Iterator[TextPart]:
    yield TextPart(text=f"[{page_id}] ", wrapper="page marker")
    yield from _own_line(said, set())
    yield TextPart(text="\n", wrapper="line")


def _own_line(said: Said, sent: set[str]) -> Iterator[TextPart]:
    yield TextPart(text=said.text)
    yield TextPart(text="\n", wrapper="line")


def _markdown(said: Said, sent: set[str]) -> Iterator[TextPart]:
    yield from _own_line(said, sent)
    yield TextPart(text="\n", wrapper="line")


def _caption(said: Said, sent: set[str]) -> Iterator[TextPart]:
    if said.exhibit is None:
        raise ValueError("a caption belongs to an exhibit")
    yield TextPart(text=f"[{said.exhibit.exhibit_id}] ", wrapper="exhibit marker")
    yield TextPart(text=said.text)
    if said.exhibit.exhibit_id in sent:
        yield TextPart(text=" ↑", wrapper="shown above")
    yield TextPart(text="\n", wrapper="line")


def _material(said: Said, sent: set[str]) -> Iterator[TextPart | ImagePart]:
    if said.exhibit is None:
        raise ValueError("material belongs to an exhibit")
    if said.exhibit.exhibit_id in sent:
        return
    sent.add(said.exhibit.exhibit_id)
    if said.exhibit.image is not None:
        yield ImagePart(path=said.exhibit.image)
        return
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", said.text)), default=0))
    yield TextPart(text=f"{fence}\n", wrapper="fence")
    yield TextPart(text=said.text)
    yield TextPart(text=f"\n{fence}\n", wrapper="fence")
    yield TextPart(text="\n", wrapper="line")


def _question(said: Said, sent: set[str]) -> Iterator[TextPart]:
    if said.question is None:
        raise ValueError("a question's text belongs to a question")
    yield TextPart(text="\n", wrapper="line")
    yield TextPart(text=f"[{said.question.question_id}] ", wrapper="question marker")
    yield from _own_line(said, sent)


def _end(said: Said, sent: set[str]) -> Iterator[TextPart]:
    yield TextPart(text="- ", wrapper="answer marker")
    yield from _own_line(said, sent)


def _option(said: Said, sent: set[str]) -> Iterator[TextPart]:
    answer = None if said.question is None else said.question.answer
    coded = isinstance(answer, OptionsAnswer) and any(option.value != option.text for option in answer.options)
    value = f"{json.dumps(said.value, ensure_ascii=False)}: " if coded else ""
    yield TextPart(text=f"- {value}", wrapper="answer marker")
    yield from _own_line(said, sent)


_PARTS = {
    "markdown": _markdown,
    "caption": _caption,
    "material": _material,
    "question": _question,
    "end": _end,
    "option": _option,
    "box": _end,
}


def _data_url(path: Path) -> str:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise StudyError(f"{path}: wanted an image that can be read, got {error.strerror}; put it back") from error
    kind = next((kind for start, kind in _IMAGE_TYPES.items() if content.startswith(start)), None)
    if kind is None:
        raise StudyError(f"{path}: wanted a PNG, JPEG, GIF or WebP image, got something else; convert it")
    return f"data:{kind};base64,{base64.b64encode(content).decode('ascii')}"
