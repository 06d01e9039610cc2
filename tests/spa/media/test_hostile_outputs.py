"""Hostile outputs stay harmless wherever they are shown, and take no longer than their length allows."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from time import process_time

import pytest

from spa.forms.html import Posting, render_page, render_whole
from spa.forms.prompt import render_prompt
from spa.forms.texts import load_texts
from spa.media import medium_of
from spa.media.direction import isolated
from spa.media.formulas import ATTRIBUTES, ELEMENTS, formula
from spa.media.markdown_html import rendered
from spa.media.markup_signs import markup_of
from spa.records.form import Exhibit, ExhibitsBlock, Form, Segment
from spa.records.rendered_text import placed_words
from tests.spa.media.hostile_outputs import GROWING, OUTPUTS
from tests.spa.served_pages import ReadPage
from tests.spa.web_forms import small_form

ENOUGH = 0.02  # seconds of the processor that can be measured
MOST_CHARACTERS = 24_000
TEXTS = load_texts("en", {})
BLOCKS = frozenset(
    "p h4 h5 h6 ul ol li pre code blockquote hr br em strong s span div table thead tbody tr th td".split()
)
ALLOWED = BLOCKS | ELEMENTS | {"math", "bdi"}
GIVEN = ATTRIBUTES | {"class", "dir", "start", "title", "mathvariant"}
SCROLLS = {"tabindex": "0", "role": "group"}  # of code and wide tables, which have a name, too
CLASSES = frozenset(
    "body code markdown link picture formula wide block scrolls boxed left center right "
    "k s m c n h1 h2 h3 h4 h5 h6".split()
)


def hostile_exhibit(text: str, medium: str, number: int = 1) -> Exhibit:
    return Exhibit(
        exhibit_id=f"e{number}",
        caption="Writer A",
        label="A",
        item_id="i1",
        medium=medium,
        segments=(Segment(text=text),),
    )


def hostile_form(*exhibits: Exhibit) -> Form:
    """Return a form of one page that shows nothing but these."""
    form = small_form()
    page = next(page for page in form.pages if page.kind == "rating")
    question = page.questions[0]
    return replace(form, pages=(replace(page, blocks=(ExhibitsBlock(heading=None, exhibits=exhibits), question)),))


def harm_in(html: str) -> list[str]:
    """Return what of some HTML is on no list: elements, attributes, classes; what is not closed fails by itself."""
    found = []
    for element in ReadPage(html).elements:
        found += [element.tag] * (element.tag not in ALLOWED)
        scrolls = element.tag in ("pre", "div") and SCROLLS.items() <= element.attributes.items()
        given = GIVEN | {*SCROLLS, "aria-label"} if scrolls else GIVEN
        found += [f"{element.tag} {name}" for name in element.attributes if name not in given]
        found += [one for one in (element.attributes.get("class") or "").split() if one not in CLASSES]
    return found


@pytest.mark.parametrize("medium", ["text", "markdown"])
def test_hostile_outputs_make_no_element_of_their_own(medium: str) -> None:
    """Only elements, attributes and classes of a list; no style, no handler, no address."""
    assert len(OUTPUTS) >= 160
    for source in OUTPUTS:
        shown = medium_of(medium).shown(hostile_exhibit(source, medium), lambda one: "")
        assert harm_in(shown) == [], source
        assert not re.search(r"<[^>]*\s(?:style|on\w+|href|src\w*)\s*=", re.sub(r'"[^"]*"', '""', shown)), source


def test_the_list_would_find_what_is_hostile() -> None:
    """As the test above is worth nothing otherwise."""
    assert harm_in('<p style="x" onclick="y"><a href="z"></a></p>') == ["p style", "p onclick", "a", "a href"]
    assert harm_in('<p class="next"></p>') == ["next"]


@pytest.mark.parametrize("medium", ["text", "markdown"])
def test_hostile_outputs_change_nothing_around_them(medium: str) -> None:
    """A page, a form on one page and a HIT have the elements that they have about a harmless output."""
    posting = Posting(script="", origins=("https://a.example",), fields={})

    def around(source: str) -> list[list[str]]:
        form = hostile_form(hostile_exhibit(source, medium))
        pages = (
            render_page(form, form.pages[0], TEXTS),
            render_whole(form, TEXTS),
            render_whole(form, TEXTS, posting=posting),
        )
        return [
            [
                f"{element.tag} {sorted(element.attributes)}"
                for element in ReadPage(page).elements
                if not any("body" in (outer.attributes.get("class") or "").split() for outer in element.inside)
            ]
            for page in pages
        ]

    expected = around("harmless")
    for source in OUTPUTS:
        assert around(source) == expected, source


@pytest.mark.parametrize("medium", ["text", "markdown"])
def test_hostile_outputs_stay_within_their_fence_in_a_prompt(medium: str) -> None:
    """A model is sent the source, between fences that no output closes."""
    for source in OUTPUTS:
        prompt = render_prompt(hostile_form(hostile_exhibit(source, medium)))
        parts = [part for part in prompt.parts if getattr(part, "wrapper", None) == "fence"]
        fence = parts[0].text.strip().strip("\n")
        assert len(parts) == 2, source
        assert set(fence) == {"`"}
        assert fence not in source


def test_hostile_outputs_are_rendered_as_often_as_asked() -> None:
    """The same bytes each time, and the text is the text content."""
    for source in OUTPUTS:
        made = rendered.__wrapped__(source)
        assert made == rendered(source)
        assert made.text == text_of(made.html)
        placed_words(source, made.text)
        made.lost(source)
        markup_of(source)


def text_of(html: str) -> str:
    return ReadPage(f"<div>{html}</div>").elements[0].text


def cost(work: Callable[[str], object], source: str) -> float:
    begun = process_time()
    work(source)
    return process_time() - begun


def show(source: str) -> None:
    formula.cache_clear()
    rendered.__wrapped__(source)


def compare(source: str) -> None:
    made = rendered(source)
    made.lost(source)
    placed_words.__wrapped__(source, made.text)


@pytest.mark.parametrize("work", [show, compare, markup_of, isolated], ids=lambda work: str(work.__name__))
@pytest.mark.parametrize("name", GROWING)
def test_time_grows_no_faster_than_the_output(name: str, work: Callable[[str], object]) -> None:
    """Four times the length takes at most nine times as long; a square would take sixteen times."""
    grow, size = GROWING[name], 3_000  # longer than any formula that is drawn
    cost(work, grow(size))  # what is loaded once is not part of it
    while (short := cost(work, grow(size))) < ENOUGH and size < MOST_CHARACTERS:
        size *= 2
    long = grow(4 * size)
    most = 9 * max(short, ENOUGH / 4)
    assert any(cost(work, long) <= most for _ in range(3)), (size, short)  # a machine may have other work once
