"""One form: the web page and the prompt say the same text in the same order.

``form_text`` is what a form says. The prompt, without its declared wrappers, is compared with it, and so is
what a page shows, without its chrome (elements with the attribute ``data-chrome``).
"""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from markdown_it import MarkdownIt

from spa.forms.form_text import TextUnit, page_text, pages_for
from spa.forms.html import render_page
from spa.forms.prompt import FilePart, TextPart, render_prompt
from spa.forms.texts import load_texts
from spa.records.form import Form
from spa.records.outputs import Outputs
from spa.records.study import Study
from tests.spa.form_words import form_text
from tests.spa.forms.test_build_form import MEANING, forms_of
from tests.spa.forms.test_prompt import PIXEL
from tests.strategies import HOSTILE, outputs_of, small_study, studies

# Elements that end a line of text; the others (strong, mark, span, ...) stand within one.
BLOCKS = frozenset(
    (
        "address article blockquote body details div dl dd dt fieldset footer form h1 h2 h3 h4 h5 h6 header hr html "
        "img input label legend li main nav ol p pre section select span summary table tbody td th tr ul"
    ).split()
)
VOID = {"area", "base", "br", "col", "hr", "img", "input", "link", "meta", "source", "wbr"}
UNSEEN = {"script", "style", "template", "title"}


class Visible(HTMLParser):
    """The text of an HTML document that belongs to the form, in lines."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.text: list[str] = []
        self.open: list[tuple[str, bool]] = []  # elements, and whether they are left out

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Open an element; what stands in chrome is left out."""
        names = {name for name, _ in attrs}
        hidden = tag in UNSEEN or bool({"data-chrome", "hidden"} & names)
        if tag in BLOCKS or tag == "br":
            self.text.append("\n")
        if tag not in VOID:
            self.open.append((tag, hidden))

    def handle_endtag(self, tag: str) -> None:
        """Close an element; a page that nests them wrongly fails here."""
        if tag in VOID:
            return
        assert self.open.pop()[0] == tag
        if tag in BLOCKS:
            self.text.append("\n")

    def handle_data(self, data: str) -> None:
        """Keep text that can be seen."""
        if not any(hidden for _, hidden in self.open):
            self.text.append(data)


def words_of_html(html: str) -> list[str]:
    reader = Visible()
    reader.feed(html)
    reader.close()
    return "".join(reader.text).split()


def words_of(said: TextUnit) -> list[str]:
    if said.role == "markdown":
        return words_of_html(MarkdownIt("commonmark", {"html": False}).render(said.text))
    if said.role == "question":  # its emphasis is seen, not read
        return re.sub(r"\*\*(\w[^*]*)\*\*|\*(\w[^*]*)\*", r"\1\2", said.text).split()
    return said.text.split()


def prompt_by_page(form: Form) -> list[str]:
    """Return the prompt's text without wrappers, page by page."""
    pages: list[list[str]] = []
    for part in render_prompt(form).parts:
        if isinstance(part, FilePart):
            continue
        if part.wrapper == "page marker":
            pages.append([])
        elif part.wrapper is None:
            pages[-1].append(part.text)
    return ["\n".join(page) for page in pages]


def check_prompt(form: Form) -> None:
    """Compare prompt and form text by text; an exhibit that the form repeats is said once in a conversation."""
    sent: set[str] = set()
    expected: list[str] = []
    for page in pages_for(form, "everybody"):
        for said in page_text(page):
            if said.role == "material" and said.exhibit is not None:
                if said.exhibit.exhibit_id in sent or said.exhibit.file is not None:
                    continue
                sent.add(said.exhibit.exhibit_id)
            expected.append(said.text)
    parts = [part.text for part in render_prompt(form).parts if isinstance(part, TextPart) and part.wrapper is None]
    assert parts == expected


def check_pages(form: Form) -> None:
    """Compare what every page shows with what the form says, word by word."""
    texts = load_texts(form.language, {})
    for page in form.pages:
        shown = words_of_html(render_page(form, page, texts))
        assert shown == [word for said in page_text(page) for word in words_of(said)], page.page_id


def check_one_form(form: Form) -> None:
    check_prompt(form)
    check_pages(form)


@given(studies())
@hypothesis_settings(max_examples=25, deadline=None)
def test_pages_and_prompt_say_the_same(case: tuple[Study, Outputs]):
    for form in forms_of(*case):
        check_one_form(form)


@pytest.mark.parametrize("language", ["en", "zh", "ar"])
def test_in_every_language(language: str):
    check = {"id": "c", "question": "Pick *green*.", "options": ["green", "<b>red</b>"], "expected": "green"}
    study = small_study(
        language=language,
        consent={"text": "# Consent\n\n- one\n- two & <three>"},
        screening=[{"id": "s", "question": "Native?", "options": ["yes", "no"], "eligible": ["yes"]}],
        attention_checks=[check],
        interview=[{"id": "i", "question": "What is *your* standard?"}],
        criteria=[{**MEANING, "mark_differences": True}, {"id": "fluency", "name": "fluency"}],
        likert={"identical_pairs": 1, "outputs": "all"},
        continuous=None,
        choices={},
    )
    for form in forms_of(study, count=4):
        check_one_form(form)


def test_with_hostile_outputs():
    study = small_study(criteria=[{**MEANING, "mark_differences": True}], likert={})
    for form in forms_of(study, outputs_of(study, texts=HOSTILE), 3):
        check_one_form(form)


def test_with_images(tmp_path: Path):
    image = tmp_path / "one.png"
    image.write_bytes(PIXEL)
    exposure_study = {"system_x": "zzgood", "system_y": "zzpoor", "exposures": [1, 2]}
    study = small_study(outputs={"files": ["x"], "kind": "image"}, spa={"exposure_study": exposure_study}, likert={})
    for form in forms_of(study, outputs_of(study, image=image), 2):
        check_one_form(form)
        images = [part for part in render_prompt(form).parts if isinstance(part, FilePart)]
        assert len(images) == 6


def test_a_page_that_says_something_of_its_own_is_found():
    """The comparison sees one word more, one word less and two words changed round."""
    form = forms_of(small_study())[0]
    page = form.pages[0]
    html = render_page(form, page, load_texts("en", {}))
    said = [word for each in page_text(page) for word in words_of(each)]
    assert words_of_html(html) == said
    for changed in ("quite certain that", "certain", "that certain"):
        assert words_of_html(html.replace("certain that", changed, 1)) != said


def test_spoken_is_what_people_or_everybody_are_told():
    form = forms_of(small_study(consent={"text": "Consent."}))[0]
    people, everybody = list(form_text(form, "people")), list(form_text(form, "everybody"))
    assert set(everybody) < set(people)
    assert people[:2] == ["Consent", "Consent."]
    assert everybody[0] == form.title
