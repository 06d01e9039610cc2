"""The web page of a form: the blocks of a page in their order, with the page's own controls.

What is said and asked comes from the :class:`~spa.forms.form.Form` alone. Everything else that
stands on a page (buttons, progress, the list of gaps, tabs) carries the attribute ``data-chrome``,
so that a page without its chrome says what the prompt says.
"""

from __future__ import annotations

import base64
import hashlib
import mimetypes
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Literal

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from spa.forms.assets import asset_name, asset_text
from spa.forms.effort import count_words
from spa.forms.form import (
    AnswerOption,
    ConfirmAnswer,
    Exhibit,
    ExhibitsBlock,
    Form,
    NumberAnswer,
    OptionsAnswer,
    OrderAnswer,
    Page,
    PageBlock,
    Question,
    SpansAnswer,
    TextAnswer,
    TextBlock,
)
from spa.forms.form_text import exhibits_of
from spa.forms.markdown import render_emphasis, render_markdown
from spa.forms.spans import quoted_lines
from spa.forms.texts import Texts

Gap = Literal["empty", "unusable"]
UNWRITABLE = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f\ud800-\udfff]")  # not allowed in HTML, or not in UTF-8
MOST_TABS = 8
WIDEST = 7  # columns
SHORT_TEXT = 50  # words; texts no longer than this stand below one another on narrow screens, longer ones behind tabs
SHORT_CAPTION = 12  # characters; up to three of these stand beside one another on a phone
LONG_ITEM = 700  # characters; a longer item text stands beside a single output instead of above it
MOST_CACHED = 4096  # rendered questions; one takes one or two kB
LONGEST_CACHED = 20  # characters of an answer: what is sent to us may be long, and is not for keeping
SHORT_OPTION = 32  # characters; a Likert scale with longer words is a list, not a row
SHORT_ANSWER = 12  # characters; answers no longer than this stand beside one another, as many as there is room for


@dataclass(frozen=True, slots=True, kw_only=True)
class Addresses:
    """Where a page's parts are found: the post, the pictures, the style sheet and the script."""

    action: str = ""
    image: Callable[[Exhibit], str] = lambda exhibit: f"image/{exhibit.exhibit_id}"
    asset: Callable[[str], str] = lambda name: f"/static/{asset_name(name)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingStep:
    """A page as browsers without script get it where reading is asked for: one output after another, then the rest."""

    page: Page  # with what is shown of it
    served: str  # field that says what was served, and when
    alone: bool  # one output alone, without the questions
    number: int  # of outputs served so far
    total: int  # outputs that are new on the page


@dataclass(frozen=True, slots=True, kw_only=True)
class PageState:
    """What a person has done so far, as far as their page shows it."""

    answers: Mapping[str, str] = field(default_factory=dict)  # question_id -> what was sent, shown again
    gaps: Mapping[str, Gap] = field(default_factory=dict)  # questions to answer before going on
    unseen: tuple[Exhibit, ...] = ()  # outputs to look at before going on
    minimum_seconds: Mapping[str, float] | None = None  # on screen, by exhibit id; None: reading is not measured
    step: ReadingStep | None = None  # what is shown of a page to browsers without script; None: all of it
    resume_address: str | None = None  # where to go on with another device; "": where the platform says; None: unsaid
    preview: bool = False  # nothing is stored, and the page says so
    minutes: int | None = None  # how long the form takes, said on its first page


@dataclass(frozen=True, slots=True, kw_only=True)
class Posting:
    """How a whole form on one page is handed in: a form post to an address that a script of the caller's fills in.

    No other script but the page's own is allowed. The button is disabled until the caller's script enables it, so that
    nothing is sent from a preview.
    """

    script: str
    origins: tuple[str, ...]  # where the browser may post to
    fields: Mapping[str, str]  # hidden fields sent beside the answers

    def policy(self, scripts: Iterable[str]) -> str:
        """Return the content security policy of such a page; ``scripts`` are the page's own."""
        digests = (hashlib.sha256(script.encode()).digest() for script in (*scripts, self.script))
        hashes = " ".join(f"'sha256-{base64.b64encode(digest).decode('ascii')}'" for digest in digests)
        return (
            f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src {hashes}; "
            f"form-action {' '.join(self.origins)}; base-uri 'none'"
        )


@dataclass(frozen=True, kw_only=True)
class PageRegion:
    """Exhibits and what is asked about them: one region, so that texts and questions stay in view together."""

    stage_id: str  # "p3-1": unique on a page and in a document of all pages
    exhibits: tuple[ExhibitsBlock, ...]
    questions: tuple[TextBlock | Question, ...]  # with the texts between them
    above: frozenset[str] = frozenset()  # ids of the exhibits that stand above it on the page: it folds them

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """What stands side by side: a label each, or the caption of an exhibit without one."""
        names = [column_name(exhibit) for block in self.exhibits for exhibit in block.exhibits]
        return tuple(dict.fromkeys(names))

    @cached_property
    def tabs(self) -> tuple[str, ...]:
        """Names of the columns for the switch of narrow screens; empty where nothing, or only short texts, would be."""
        outputs = [exhibit for block in self.exhibits for exhibit in block.exhibits]
        short = all(each.image is None and count_words(each.text) <= SHORT_TEXT for each in outputs)
        if short or not 1 < len(self.columns) <= MOST_TABS:
            return ()
        captions = {exhibit.caption for block in self.exhibits for exhibit in block.exhibits}
        if len(captions) == len(self.columns) <= 3 and all(len(caption) <= SHORT_CAPTION for caption in captions):
            return tuple(next(caption for caption in captions if name in caption) for name in self.columns)
        return self.columns

    @property
    def width(self) -> int:
        """How many columns the style sheet makes room for."""
        return min(len(self.columns), WIDEST)

    @property
    def apart(self) -> bool:
        """Whether the columns show different items, so that each exhibit stands under an item text of its own."""
        return len(self.columns) > 1 and all(len(block.exhibits) == 1 for block in self.exhibits)

    @property
    def pictures(self) -> bool:
        """Whether the exhibits are images."""
        return any(exhibit.image is not None for block in self.exhibits for exhibit in block.exhibits)

    def column(self, exhibit: Exhibit) -> int:
        """Return the number of an exhibit's column, from 1."""
        return self.columns.index(column_name(exhibit)) + 1


def render_page(
    form: Form, page: Page, texts: Texts, *, addresses: Addresses | None = None, state: PageState | None = None
) -> str:
    """Render one page of a form as a whole HTML document.

    Without ``state`` no answer is preselected. The HTML can be written in UTF-8, whatever the outputs contain.
    """
    state = state or PageState()
    parts = sections(page if state.step is None else state.step.page)
    columns = max((part.width for part in parts if isinstance(part, PageRegion)), default=0)
    return _document(
        "page.html",
        texts,
        form=form,
        page=page,
        sections=parts,
        width=f" wide-{min(columns, 3)}" if columns else "",
        number=form.pages.index(page) + 1,
        total=len(form.pages),
        addresses=addresses or Addresses(),
        state=state,
    )


def render_whole(
    form: Form,
    texts: Texts,
    *,
    posting: Posting | None = None,
    answers: Mapping[str, str] | None = None,
    minimum_seconds: Mapping[str, float] | None = None,
) -> str:
    """Render all pages of a form as one document that needs nothing beside it.

    Without ``posting`` it is for reading only. With ``answers`` (question id -> what was sent) it is a form that was
    handed in: they stand in their places. With ``minimum_seconds`` reading is asked for as on single pages.
    """
    return _document(
        "whole.html" if posting is None else "posted.html",
        texts,
        form=form,
        pages=[(page, sections(page)) for page in form.pages],
        addresses=Addresses(image=_image_as_data),
        state=PageState(
            preview=posting is None and answers is None, answers=answers or {}, minimum_seconds=minimum_seconds
        ),
        style=Markup(asset_text("form.css")),  # our own files
        scripts=[Markup(text) for text in _scripts(any(map(_marks_errors, form.pages)))],
        posting=posting,
    )


def render_notice(name: Literal["start", "done", "notice"], texts: Texts, **values: object) -> str:
    """Render a page outside of a form: the start, the thank-you, a polite refusal."""
    return _document(f"{name}.html", texts, addresses=Addresses(), **values)


def sections(page: Page) -> list[TextBlock | Question | PageRegion]:
    """Group exhibits with the questions that follow them; the order of the blocks stays."""
    found: list[TextBlock | Question | PageRegion] = []
    left = page.blocks
    above: set[str] = set()
    while left:
        first, *_ = left
        if not isinstance(first, ExhibitsBlock):
            found.append(first)
            left = left[1:]
            continue
        exhibits = _exhibits_from(left)
        questions = _questions_from(left[len(exhibits) :])
        left = left[len(exhibits) + len(questions) :]
        stage_id = f"{page.page_id}-{sum(isinstance(section, PageRegion) for section in found) + 1}"
        found.append(PageRegion(stage_id=stage_id, exhibits=exhibits, questions=questions, above=frozenset(above)))
        above |= {exhibit.exhibit_id for block in exhibits for exhibit in exhibits_of(block)}
    return found


def column_name(exhibit: Exhibit) -> str:
    """Return what the exhibits of one column have in common; a label only where the caption says it too."""
    return exhibit.label if exhibit.label is not None and exhibit.label in exhibit.caption else exhibit.caption


def _exhibits_from(blocks: tuple[PageBlock, ...]) -> tuple[ExhibitsBlock, ...]:
    exhibits: list[ExhibitsBlock] = []
    for block in blocks:
        if not isinstance(block, ExhibitsBlock):
            break
        exhibits.append(block)
    return tuple(exhibits)


def _questions_from(blocks: tuple[PageBlock, ...]) -> tuple[TextBlock | Question, ...]:
    """Return the questions next in line with the texts between them; a text after the last one is not theirs."""
    questions: list[TextBlock | Question] = []
    for block in blocks:
        if isinstance(block, ExhibitsBlock):
            break
        questions.append(block)
    while questions and isinstance(questions[-1], TextBlock):
        questions.pop()
    return tuple(questions)


def _marks_errors(page: Page) -> bool:
    return any(isinstance(question.answer, SpansAnswer) for question in page.questions)


def _scripts(spans: bool) -> tuple[str, ...]:
    return tuple(asset_text(name) for name in ("form.js", *(("spans.js",) if spans else ())))


KINDS: dict[type, str] = {
    PageRegion: "stage",
    TextBlock: "text",
    NumberAnswer: "number",
    OptionsAnswer: "options",
    TextAnswer: "free_text",
    OrderAnswer: "order",
    SpansAnswer: "spans",
    ConfirmAnswer: "confirm",
}


def _kind_of(block: object) -> str:
    """Return which part of the template renders a block, or a question by its answer."""
    return KINDS[type(block.answer if isinstance(block, Question) else block)]


def _arrangement(answer: OptionsAnswer) -> str:
    """Return how options stand: a Likert scale in a row, short answers in a line, sentences in a list."""
    longest = max(len(option.text) for option in answer.options)
    if answer.half_points is not None and longest <= SHORT_OPTION:
        return "row"
    return "line" if longest <= SHORT_ANSWER else "list"


def _option_words(option: AnswerOption) -> Markup:
    """Return an option's text; the words after a number stand smaller below it."""
    words = option.text.removeprefix(option.value)
    if words == option.text or not words.startswith((" ", "（")):
        return escape(option.text)
    return Markup("{}{}<small>{}</small>").format(option.value, " " if words[0] == " " else "", words.lstrip(" "))


def _segments(exhibit: Exhibit) -> Markup:
    marked = Markup("<mark>[{}]</mark>")
    return Markup("".join(marked.format(one.text) if one.marked else escape(one.text) for one in exhibit.segments))


def _image_as_data(exhibit: Exhibit) -> str:
    if exhibit.image is None:
        raise ValueError(f"exhibit {exhibit.exhibit_id} has no image")
    return f"data:{image_type(exhibit)};base64,{base64.b64encode(exhibit.image.read_bytes()).decode('ascii')}"


def image_type(exhibit: Exhibit) -> str:
    """Return the media type of an exhibit's image by its suffix."""
    guessed, _ = mimetypes.guess_type(str(exhibit.image))
    return guessed if guessed is not None and guessed.startswith("image/") else "application/octet-stream"


def _cached_question(macro: Callable[[Question], Markup], question: Question, state: PageState, *texts: str) -> Markup:
    """Render a question, or return it as it was rendered before: most look the same on everybody's form.

    ``texts`` are the locale's texts that the macro uses for a question without a gap.
    """
    given = state.answers.get(question.question_id)
    if question.question_id in state.gaps or len(given or "") > LONGEST_CACHED:
        return macro(question)
    key = (question.question_id, question.text, question.answer, given, *texts)
    found = _CACHE.get(key)
    if found is None:
        if len(_CACHE) >= MOST_CACHED:
            _CACHE.clear()
        found = _CACHE[key] = macro(question)
    return found


def _document(template: str, texts: Texts, **values: object) -> str:
    rendered = _environment().get_template(template).render(texts=texts, say=texts.say, **values)
    return UNWRITABLE.sub("\N{REPLACEMENT CHARACTER}", rendered)


_CACHE: dict[tuple[object, ...], Markup] = {}


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("spa.forms", "templates"),
        autoescape=True,
        auto_reload=False,  # else the file of the template is asked about for every page
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.getattr = getattr  # type: ignore[assignment]  # no template takes the key of a mapping for an attribute
    environment.globals["cached_question"] = _cached_question
    environment.filters |= {
        "markdown": render_markdown,
        "emphasis": render_emphasis,
        "kind": _kind_of,
        "arrangement": _arrangement,
        "words": _option_words,
        "quoted": quoted_lines,
        "marks_errors": _marks_errors,
        "segments": _segments,
        "is_long": lambda exhibit: len(exhibit.text) > LONG_ITEM,
    }
    return environment
