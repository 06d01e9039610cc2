"""The web page of a form: the blocks of a page in their order, with the page's own controls.

What is said and asked comes from the :class:`~spa.records.form.Form` alone. Everything else that
stands on a page (buttons, progress, the list of gaps, tabs) carries the attribute ``data-chrome``,
so that a page without its chrome says what the prompt says.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any, Literal

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from spa.forms.assets import asset_name, asset_text, inline_fonts, inline_style
from spa.forms.effort import overview
from spa.forms.form_text import exhibits_of
from spa.forms.markdown import render_emphasis, render_markdown
from spa.media import data_url, length_of, medium_of, page_sources, words_of
from spa.records.form import (
    NOTHING_ASKED,
    ConductAsked,
    Exhibit,
    ExhibitsBlock,
    Form,
    Page,
    PageBlock,
    Question,
    TextBlock,
)
from spa.records.texts import Texts
from spa.widgets import Say, Widget, fields_of, widget_of

Gap = Literal["empty", "unusable"]
UNWRITABLE = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f\ud800-\udfff]")  # not allowed in HTML, or not in UTF-8
MOST_TABS = 8
WIDEST = 7  # columns
SHORT_TEXT = 50  # words; texts no longer than this stand below one another on narrow screens, longer ones behind tabs
SHORT_CAPTION = 12  # characters; up to three of these stand beside one another on a phone
LONG_ITEM = 700  # characters; a longer item text stands beside a single output instead of above it
MOST_CACHED = 4096  # rendered questions; one takes one or two kB
LONGEST_CACHED = 20  # characters of an answer: what is sent to us may be long, and is not for keeping


@dataclass(frozen=True, slots=True, kw_only=True)
class Addresses:
    """Where a page's parts are found: the post, the files shown, the style sheet and the script."""

    action: str = ""
    file: Callable[[Exhibit], str] = lambda exhibit: f"{exhibit.medium}/{exhibit.exhibit_id}"
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
    conduct: ConductAsked = NOTHING_ASKED  # what the page records, and says, of how it is filled in
    step: ReadingStep | None = None  # what is shown of a page to browsers without script; None: all of it
    resume_address: str | None = None  # where to go on with another device; "": where the platform says; None: unsaid
    preview: bool = False  # nothing is stored, and the page says so
    minutes: int | None = None  # how long the form takes, said on its first page
    seen: int | None = None  # how often the page had been sent when it was shown; None: nobody asks
    received: int | None = None  # when it was sent last, milliseconds since 1970


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
            f"default-src 'none'; style-src 'unsafe-inline'; {page_sources('data:')}font-src data:; "
            f"script-src {hashes}; "
            f"form-action {' '.join(self.origins)}; base-uri 'none'"
        )


@dataclass(frozen=True, kw_only=True)
class PageRegion:
    """Exhibits and what is asked about them: one region, so that texts and questions stay in view together."""

    stage_id: str  # "p3-1": unique on a page and in a document of all pages
    exhibits: tuple[ExhibitsBlock, ...]
    questions: tuple[TextBlock | Question, ...]  # with the texts between them
    above: frozenset[str] = frozenset()  # ids of the exhibits that stand above it on the page: it folds them
    measured: frozenset[str] = frozenset()  # ids of those of which it is recorded how they were seen or played
    reference: str | None = None  # id of the page's labelled reference, beside which its clips are heard

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """What stands side by side: a label each, or the caption of an exhibit without one."""
        names = [column_name(exhibit) for block in self.exhibits for exhibit in block.exhibits]
        return tuple(dict.fromkeys(names))

    @cached_property
    def tabs(self) -> tuple[str, ...]:
        """Names of the columns for the switch of narrow screens; empty where nothing, or only short texts, would be."""
        outputs = [exhibit for block in self.exhibits for exhibit in block.exhibits]
        if any(each.exhibit_id == self.reference for each in outputs):
            return ()
        short = all((words := words_of(each)) is not None and words <= SHORT_TEXT for each in outputs)
        return () if short or not 1 < len(self.columns) <= MOST_TABS else self.names

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Short names of the columns: their captions where these are few and short."""
        outputs = [exhibit for block in self.exhibits for exhibit in block.exhibits]
        captions = {column_name(exhibit): exhibit.caption for exhibit in outputs}
        alike = len({exhibit.caption for exhibit in outputs}) == len(self.columns)
        if alike and len(captions) <= 3 and all(len(caption) <= SHORT_CAPTION for caption in captions.values()):
            return tuple(captions[name] for name in self.columns)
        return self.columns

    @cached_property
    def folds(self) -> tuple[ExhibitsBlock, ...]:
        """What earlier pages showed, among other texts: folded on narrow screens."""
        if len(self.exhibits) == 1:
            return ()
        return tuple(block for block in self.exhibits if block.repeated and not block.exhibits[0].turn)

    @property
    def first_tab(self) -> int:
        """The number of the column that a narrow screen shows at first: of what no earlier page showed, if there is."""
        new = (exhibit for block in self.exhibits if not block.repeated for exhibit in block.exhibits)
        first = next(new, None)
        return 1 if first is None else self.column(first)

    @property
    def width(self) -> int:
        """How many columns the style sheet makes room for."""
        return min(len(self.columns), WIDEST)

    @property
    def apart(self) -> bool:
        """Whether the columns show different items, so that each exhibit stands under an item text of its own."""
        return len(self.columns) > 1 and all(len(block.exhibits) == 1 for block in self.exhibits)

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
    number = form.pages.index(page) + 1
    return _document(
        "page.html",
        texts,
        form=form,
        page=page,
        sections=parts,
        told_on=told_on(form),
        width=f" wide-{min(columns, 3)}" if columns else "",
        number=number,
        overview=overview(form, texts) if number == 1 else "",
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
    handed in: they stand in their places. With ``minimum_seconds`` reading is asked for as on single pages. Clips too
    large for one page are absent from it (see :func:`clips_left_out`).
    """
    html = _document(
        "whole.html" if posting is None else "posted.html",
        texts,
        form=form,
        pages=[(page, sections(page)) for page in form.pages],
        told_on=told_on(form),
        overview=overview(form, texts),
        addresses=Addresses(file=data_url),
        sources=page_sources("data:"),
        state=PageState(
            preview=posting is None and answers is None, answers=answers or {}, minimum_seconds=minimum_seconds
        ),
        style=Markup(inline_style(_media_of(form), _widgets_of(form))),  # our own files
        scripts=[
            Markup(asset_text(name)) for name in (*_players_of(*form.pages), "form.js", *_scripts_of(*form.pages))
        ],
        posting=posting,
    )
    return html.replace("</style>", f"{inline_fonts(html)}</style>", 1)


def clips_left_out(form: Form) -> int:
    """Return how many clips of a form are too large for a page that stands alone."""
    blocks = (block for page in form.pages for block in page.exhibits)
    clips = {one.exhibit_id: one for block in blocks for one in exhibits_of(block) if length_of(one) is not None}
    return sum(data_url(one) == "" for one in clips.values())


def told_on(form: Form) -> Page:
    """Return the page that tells what is measured and counted: where people consent, else the first."""
    return next((page for page in form.pages if page.kind == "consent"), form.pages[0])


def _media_of(form: Form) -> frozenset[str]:
    """Return the media of all that a form shows."""
    blocks = [block for page in form.pages for block in page.exhibits]
    shown = [one for block in blocks for one in (block.heading, *block.exhibits) if one is not None]
    return frozenset(key for one in shown for key in (one.medium, *(inner.medium for inner in one.within)))


def _widgets_of(form: Form) -> frozenset[str]:
    """Return the widgets by which the questions of a form are answered."""
    return frozenset(widget_of(question.answer).key for question in form.questions("people"))


def render_notice(name: Literal["start", "done", "notice"], texts: Texts, **values: object) -> str:
    """Render a page outside of a form: the start, the thank-you, a polite refusal."""
    return _document(f"{name}.html", texts, addresses=Addresses(), **values)


def sections(page: Page) -> list[TextBlock | Question | PageRegion]:
    """Group exhibits with the questions that follow them; the order of the blocks stays."""
    found: list[TextBlock | Question | PageRegion] = []
    left = page.blocks
    above: set[str] = set()
    measured, reference = frozenset(one.exhibit_id for one in page.measured), _reference_of(page)
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
        found.append(
            PageRegion(
                stage_id=stage_id,
                exhibits=exhibits,
                questions=questions,
                above=frozenset(above),
                measured=measured,
                reference=None if reference is None else reference.exhibit_id,
            )
        )
        above |= {exhibit.exhibit_id for block in exhibits for exhibit in exhibits_of(block)}
    return found


def column_name(exhibit: Exhibit) -> str:
    """Return what the exhibits of one column have in common; a label only where the caption says it too."""
    named = exhibit.label is not None and (exhibit.turn is not None or exhibit.label in exhibit.caption)
    return exhibit.label or "" if named else exhibit.caption


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


def _scripts_of(*pages: Page) -> tuple[str, ...]:
    """Return the scripts of the widgets by which the pages' questions are answered, beside the script of all pages."""
    scripts = (widget_of(question.answer).script for page in pages for question in page.questions)
    return tuple(dict.fromkeys(script for script in scripts if script is not None))


def _reference_of(page: Page) -> Exhibit | None:
    """Return the labelled reference of a page whose clips are all of one item: one switches between them in play."""
    clips = [one for block in page.exhibits for one in block.exhibits if length_of(one) is not None]
    if len({one.item_id for one in clips}) != 1 or all(one.label is None for one in clips):
        return None
    return next((one for one in clips if one.label is None), None)


def _players_of(*pages: Page) -> tuple[str, ...]:
    """Return the scripts of the media that the pages show, which run before the script of all pages."""
    blocks = (block for page in pages for block in page.exhibits)
    keys = dict.fromkeys(one.medium for block in blocks for one in exhibits_of(block))
    scripts = (medium_of(key).script for key in keys)
    return tuple(dict.fromkeys(script.name for script in scripts if script is not None))


def _kind_of(block: object) -> str:
    """Return which part of the template renders a part of a page."""
    if isinstance(block, Question):
        return "question"
    return "stage" if isinstance(block, PageRegion) else "text"


def _asked(question: Question) -> Markup | str:
    """Return what a list of questions calls one: its text, else the words of its box."""
    offered = widget_of(question.answer).offers(question.answer)
    return render_emphasis(question.text) or next((one.text for one in offered if one.role == "box"), "")


def _content(exhibit: Exhibit, address: Callable[[Exhibit], str]) -> Markup:
    return medium_of(exhibit).shown(exhibit, address)


def _ask(question: Question, state: PageState, say: Say) -> Markup:
    """Render a question by its widget, or return it as rendered before: most look the same on everybody's form."""
    widget = widget_of(question.answer)
    given = state.answers.get(question.question_id)
    own = widget.own_texts
    if own is None or question.question_id in state.gaps or len(given or "") > LONGEST_CACHED:
        return _macro(widget)(question, state, say, widget)
    key = (question.question_id, question.text, question.answer, given, *[say(text) for text in own])
    found = _CACHE.get(key)
    if found is None:
        if len(_CACHE) >= MOST_CACHED:
            _CACHE.clear()
        found = _CACHE[key] = _macro(widget)(question, state, say, widget)
    return found


@cache
def _macro(widget: Widget[Any]) -> Callable[[Question, PageState, Say, Widget[Any]], Markup]:
    """Return the part of a page that asks a question of a widget: the macro of its template."""
    template = _environment().from_string(widget.text_of(f"{widget.key}.html"))
    macro: Callable[[Question, PageState, Say, Widget[Any]], Markup] = vars(template.module)["ask"]
    return macro


def _document(template: str, texts: Texts, **values: object) -> str:
    rendered = _environment().get_template(template).render(texts=texts, say=texts.say, **values)
    return UNWRITABLE.sub("\N{REPLACEMENT CHARACTER}", rendered)


_CACHE: dict[tuple[object, ...], Markup] = {}


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=ChoiceLoader([PackageLoader("spa.forms", "templates"), PackageLoader("spa.widgets", "")]),
        autoescape=True,
        auto_reload=False,  # else the file of the template is asked about for every page
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.getattr = getattr  # type: ignore[assignment]  # no template takes the key of a mapping for an attribute
    environment.globals["ask"] = _ask
    environment.filters |= {
        "markdown": render_markdown,
        "emphasis": render_emphasis,
        "kind": _kind_of,
        "content": _content,
        "asked": _asked,
        "fields": fields_of,
        "scripts": _scripts_of,
        "players": _players_of,
        "reference": _reference_of,
        "play": lambda pages: any(length_of(one) is not None for page in pages for one in page.measured),
        "writes": lambda questions: any(widget_of(one.answer).is_free for one in questions),
        "is_long": lambda exhibit: len(exhibit.text) > LONG_ITEM or bool(exhibit.file or exhibit.within),
    }
    return environment
