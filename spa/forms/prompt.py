"""The form as a prompt: the texts and questions for everybody, in a declared wrapper."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from typing import Any, Literal

from spa.forms.form_text import exhibits_of, pages_for
from spa.forms.prompt_turns import PromptTurn
from spa.media import medium_of
from spa.media.medium import Medium
from spa.records.form import Answer, Exhibit, ExhibitsBlock, Form, Page, Question
from spa.records.texts import Texts
from spa.widgets import widget_of

Wrapper = Literal[  # all that a prompt says beyond the form; nothing else may be added to a prompt
    "persona",  # says whom the rater is to speak for, in a system message or above the form; where the study gives one
    "page marker",  # [p3] before a page's title
    "exhibit marker",  # [e3] before an exhibit's caption
    "fence",  # a line of backquotes before and after an exhibit's text, longer than any run of them inside
    "shown above",  # an arrow after the caption of an exhibit that the conversation has sent already
    "question marker",  # [q3] before a question
    "answer marker",  # a dash before an end of a scale; a dash and the value, such as "x", before an option
    "answer format",  # how to answer: one JSON object with these keys and values, in the language of the study
    "asked again",  # after a reply that cannot be used: what arrived, the questions still open and what they take
    "line",  # line ends and empty lines between all of these
]
_SHOWN_AGAIN = 60  # characters of what arrived


@dataclass(frozen=True, slots=True, kw_only=True)
class TextPart:
    """A stretch of a prompt: the form's own text, or (``wrapper``) something around it."""

    text: str
    wrapper: Wrapper | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FilePart:
    """A file, sent where the page shows it."""

    exhibit: Exhibit

    def in_chat(self) -> dict[str, Any]:
        """Return it as a part of a chat message; raise StudyError where it cannot be sent."""
        files = medium_of(self.exhibit).files
        if files is None or files.models is None or self.exhibit.file is None:
            raise ValueError(f"exhibit {self.exhibit.exhibit_id} is no file for a model")
        return files.models.part(self.exhibit.file)


Part = TextPart | FilePart


@dataclass(frozen=True, slots=True, kw_only=True)
class Fragment:
    """Parts that stand together, such as a question with its marker, and their text; ``None`` for a file."""

    parts: tuple[Part, ...]
    text: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """What an LLM is sent: fragments in the order of the form, and the questions that they ask."""

    fragments: tuple[Fragment, ...]
    question_ids: tuple[str, ...]

    @property
    def parts(self) -> tuple[Part, ...]:
        """All parts in the order of the form."""
        return tuple(part for fragment in self.fragments for part in fragment.parts)

    def chat_messages(self, answer_format: str = "") -> list[dict[str, Any]]:
        """Return the prompt as one user message of an OpenAI-compatible chat.

        Parameters
        ----------
        answer_format : str
            What :func:`answer_format` returns; it stands at the end. Without it the prompt ends with the form.

        Raises
        ------
        StudyError
            If a file cannot be read or sent.
        """
        ending = f"\n{answer_format}\n" if answer_format else ""
        if all([fragment.text is not None for fragment in self.fragments]):
            text = "".join([fragment.text or "" for fragment in self.fragments])
            return [{"role": "user", "content": text + ending}]
        content: list[dict[str, Any]] = []
        for is_file, run in groupby(self.fragments, lambda fragment: fragment.text is None):
            if is_file:
                content += [part.in_chat() for each in run for part in each.parts if isinstance(part, FilePart)]
            else:
                content.append({"type": "text", "text": "".join([fragment.text or "" for fragment in run])})
        if content[-1]["type"] == "text":
            content[-1]["text"] += ending
        else:
            content.append({"type": "text", "text": ending})
        return [{"role": "user", "content": content}]


def render_prompt(form: Form) -> Prompt:
    """Render the pages for everybody as a prompt: the same text in the same order as on the web page.

    An exhibit is sent once; where a page repeats it, its marker, caption and an arrow stand.
    """
    return _render(pages_for(form, "everybody"))


def render_turn(turn: PromptTurn) -> Prompt:
    """Render one turn; exhibits that the conversation has shown already are not sent again."""
    return _render(turn.pages, turn.sent)


def _render(pages: Sequence[Page], sent: Iterable[str] = ()) -> Prompt:
    rendering = _Rendering(sent)
    for page in pages:
        rendering.page(page)
    questions = tuple([question.question_id for page in pages for question in page.questions])
    return Prompt(fragments=tuple(rendering.fragments), question_ids=questions)


def answer_format(questions: Sequence[Question], texts: Texts) -> str:
    """Return the instruction to answer in JSON: which questions, and what each takes."""
    example = questions[0].question_id if questions else "q1"
    return "\n".join([texts.say("form.prompt_answer_format", example=example), *_value_lines(questions, texts)])


def ask_again(questions: Sequence[Question], arrived: Mapping[str, str | None], texts: Texts) -> str:
    """Return what is said after a reply that could not be used for some questions: which, and what each takes.

    ``arrived`` maps each question to answer again to what arrived for it, ``None`` where nothing did.
    """
    questions = [question for question in questions if question.question_id in arrived]
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
    taken: dict[int, str] = {}  # identity of an answer, of which there are few -> what it takes
    alike: dict[str, tuple[Answer, list[str]]] = {}
    for question in questions:
        answer = question.answer
        values = taken.get(id(answer))
        if values is None:
            values = taken[id(answer)] = widget_of(answer).wanted(answer, texts.say, "", separator)
        alike.setdefault(values, (answer, []))[1].append(f'"{question.question_id}"')
    return [
        "- " + widget_of(answer).wanted(answer, texts.say, separator.join(names), separator)
        for answer, names in alike.values()
    ]


_LINE = TextPart(text="\n", wrapper="line")


def _fragment(*parts: TextPart) -> Fragment:
    return Fragment(parts=parts, text="".join([part.text for part in parts]))


_EMPTY_LINE = _fragment(_LINE)


class _Rendering:
    """The fragments of a prompt, page by page."""

    def __init__(self, sent: Iterable[str]) -> None:
        self.fragments: list[Fragment] = []
        self._sent = set(sent)  # exhibits that the conversation has shown
        self._media: dict[str, Medium] = {}  # by their keys
        self._offered: dict[int, tuple[Fragment, bool]] = {}  # identity of an answer, of which the form has few

    def page(self, page: Page) -> None:
        """Render one page."""
        fragments, sent = self.fragments, self._sent
        if fragments:
            fragments.append(_EMPTY_LINE)
        fragments.append(_heading(page.page_id, page.title))
        below_answers = False
        for block in page.blocks:
            if isinstance(block, Question):
                answer = block.answer
                offered, below_answers = self._offered.get(id(answer)) or self._offer(answer)
                fragments += (_question(block.question_id, block.text), offered)
                continue
            if below_answers:
                fragments.append(_EMPTY_LINE)
            if isinstance(block, ExhibitsBlock):
                for exhibit in exhibits_of(block):
                    name = exhibit.exhibit_id
                    if name in sent:  # else it is met for the first time: with what it shows
                        fragments.append(_reference_to(name, exhibit.caption))
                    else:
                        sent.add(name)
                        fragments += (_caption(name, exhibit.caption), *self._material(exhibit))
            else:
                fragments.append(_paragraph(block.markdown))
            below_answers = False

    def _material(self, exhibit: Exhibit) -> tuple[Fragment, ...]:
        """Return what an exhibit shows: in words, as a file, or both, where models are sent files of their medium."""
        medium = self._media.get(exhibit.medium)
        if medium is None:
            medium = self._media[exhibit.medium] = medium_of(exhibit)
        sent = medium.sent(exhibit)
        match sent:
            case (str(text),):
                return (_fenced(text),)
            case (Exhibit() as file,):
                return (_of_file(file),)
        return tuple(_fenced_with_files(sent))

    def _offer(self, answer: Answer) -> tuple[Fragment, bool]:
        """Return what is offered, and whether an empty line follows it."""
        found = self._offered[id(answer)] = _offers(answer), widget_of(answer).is_list
        return found


# Forms of one study say the same under the same ids, so that their fragments are cached.


@lru_cache(maxsize=4096)
def _heading(page_id: str, title: str) -> Fragment:
    return _fragment(TextPart(text=f"[{page_id}] ", wrapper="page marker"), TextPart(text=title), _LINE, _LINE)


@lru_cache(maxsize=1024)
def _paragraph(markdown: str) -> Fragment:
    return _fragment(TextPart(text=markdown), _LINE, _LINE)


@lru_cache(maxsize=4096)
def _question(question_id: str, text: str) -> Fragment:
    marker = TextPart(text=f"[{question_id}] ", wrapper="question marker")
    return _fragment(_LINE, marker, TextPart(text=text), _LINE)


@lru_cache(maxsize=4096)
def _caption(exhibit_id: str, caption: str) -> Fragment:
    return _fragment(TextPart(text=f"[{exhibit_id}] ", wrapper="exhibit marker"), TextPart(text=caption), _LINE)


@lru_cache(maxsize=4096)
def _reference_to(exhibit_id: str, caption: str) -> Fragment:
    marker, named, line = _caption(exhibit_id, caption).parts
    return Fragment(
        parts=(marker, named, TextPart(text=" ↑", wrapper="shown above"), line), text=f"[{exhibit_id}] {caption} ↑\n"
    )


def _of_file(exhibit: Exhibit) -> Fragment:
    return Fragment(parts=(FilePart(exhibit=exhibit),), text=None)


def _fenced_with_files(sent: Sequence[str | Exhibit]) -> Iterator[Fragment]:
    """Yield texts between fences with files among them."""
    fence = _fence("".join([part for part in sent if isinstance(part, str)]))
    yield _fragment(TextPart(text=f"{fence}\n", wrapper="fence"))
    for part in sent:
        yield _fragment(TextPart(text=part)) if isinstance(part, str) else _of_file(part)
    yield _fragment(TextPart(text=f"\n{fence}\n", wrapper="fence"), _LINE)


def _fence(text: str) -> str:
    """Return a fence longer than any that stands in a text."""
    return "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))


@lru_cache(maxsize=1024)
def _fenced(text: str) -> Fragment:
    """Render a text between fences."""
    fence = _fence(text)
    return _fragment(
        TextPart(text=f"{fence}\n", wrapper="fence"),
        TextPart(text=text),
        TextPart(text=f"\n{fence}\n", wrapper="fence"),
        _LINE,
    )


@lru_cache(maxsize=1024)  # the questions of a study have few kinds of answers
def _offers(answer: Answer) -> Fragment:
    offered = widget_of(answer).offers(answer)
    coded = any(one.value is not None and one.value != one.text for one in offered)
    parts: list[TextPart] = []
    for one in offered:
        value = f"{json.dumps(one.value, ensure_ascii=False)}: " if coded and one.value is not None else ""
        parts += (TextPart(text=f"- {value}", wrapper="answer marker"), TextPart(text=one.text), _LINE)
    return _fragment(*parts)
