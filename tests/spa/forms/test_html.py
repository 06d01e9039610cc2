"""The web page says what the form says, asks what it asks, and lets nothing in an output do anything."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import spa
from spa.elicitation import WAYS
from spa.forms.assets import asset_name, asset_text, inline_style
from spa.forms.build import build_form
from spa.forms.form_text import page_text
from spa.forms.html import PageRegion, PageState, Posting, render_page, render_whole, sections
from spa.forms.markdown import render_markdown
from spa.forms.texts import load_texts
from spa.media import all_media
from spa.media.words import count_words
from spa.records.form import ExhibitsBlock, Form, Page, Question, Segment, TextBlock
from spa.records.texts import placeholders
from spa.study.sampling import sample_assignments, study_rng
from spa.study.validation import shipped_languages
from tests.spa.hand_made import hand_made
from tests.spa.served_pages import ReadPage, squeezed
from tests.spa.web_forms import HOSTILE, exhibits, likert, preference, small_form
from tests.strategies import outputs_of, small_study

LONG = "word " * 60
TEXTS = load_texts("en", {})
FORMS = (small_form(), small_form(text=HOSTILE[0]), hand_made()[0])
characters = st.one_of(st.characters(codec=None), st.sampled_from("<>&\"'{}%]\x00\ud800\n\u202e"))
anything = st.lists(st.one_of(st.sampled_from(HOSTILE), st.text(alphabet=characters)), max_size=4).map("".join)


def told(page: Page) -> str:
    """Return what the form says on a page, white space left out."""
    units = (ReadPage(render_markdown(s.text)).words if s.role == "markdown" else s.text for s in page_text(page))
    return squeezed("".join(units))


def as_written(text: str) -> str:
    return re.sub("[\x00-\x08\x0b\x0e-\x1f\x7f\ud800-\udfff]", "\N{REPLACEMENT CHARACTER}", text)


@pytest.mark.parametrize("form", FORMS)
def test_page_says_what_the_form_says(form: Form) -> None:
    """Without its chrome a page says what the form says in the same order."""
    for page in form.pages:
        assert ReadPage(render_page(form, page, TEXTS)).words == told(page)


@pytest.mark.parametrize("form", FORMS)
def test_gaps_answers_and_preview_add_chrome_only(form: Form) -> None:
    for page in form.pages:
        ids = [question.question_id for question in page.questions]
        state = PageState(answers=dict.fromkeys(ids, "7"), gaps=dict.fromkeys(ids, "unusable"), preview=True)
        assert ReadPage(render_page(form, page, TEXTS, state=state)).words == told(page)


def test_whole_form_on_one_page() -> None:
    """The whole form on one page says the same and repeats no id."""
    form = small_form()
    page = ReadPage(render_whole(form, TEXTS))
    assert page.words == "".join(told(each) for each in form.pages)
    ids = Counter(element.attributes["id"] for element in page.elements if "id" in element.attributes)
    assert max(ids.values()) == 1
    assert not page.all("script")
    assert not page.all("link", rel="stylesheet")


@settings(max_examples=60)
@given(anything)
def test_any_output_is_shown_as_it_is_and_adds_no_element(text: str) -> None:
    as_long = small_form(text="word " * max(count_words(text), 1))  # tabs stand above long texts
    plain = [element.tag for element in ReadPage(render_page(as_long, as_long.pages[3], TEXTS)).elements]
    form = small_form(text=text or "-")
    html = render_page(form, form.pages[3], TEXTS)
    page = ReadPage(html)
    assert [element.tag for element in page.elements] == plain
    assert html.encode("utf-8")  # neither NUL nor a lone surrogate is left
    assert squeezed(as_written(text.replace("\r\n", "\n"))) in page.words


def test_hostile_text_is_harmless_wherever_a_form_can_say_it() -> None:
    for text in HOSTILE:
        form = small_form(text=text)
        page = replace(
            form.pages[3],
            title=text,
            blocks=(TextBlock(markdown=text), exhibits(1, "AB", text), replace(preference("q3", "A", "B"), text=text)),
        )
        form = replace(form, title=text, pages=(page,))
        state = PageState(answers={"q3": text}, gaps={"q3": "unusable"})
        read = ReadPage(render_page(form, page, TEXTS, state=state))
        assert not [element for element in read.elements if any(name.startswith("on") for name in element.attributes)]
        assert not read.all("img")
        assert {str(element.attributes.get("src"))[:8] for element in read.all("script")} == {"/static/"}


def test_marked_words_stand_in_visible_brackets() -> None:
    block = exhibits(1, "A")
    shown = replace(
        block.exhibits[0], segments=(Segment(text="The "), Segment(text="red", marked=True), Segment(text=" cat"))
    )
    form = small_form()
    page = replace(form.pages[4], blocks=(replace(block, exhibits=(shown,)),))
    html = render_page(replace(form, pages=(page,)), page, TEXTS)
    assert '<div class="body" dir="ltr">The <mark>[red]</mark> cat</div>' in html
    assert re.search(r"^mark \{[^}]*font-weight: 700", asset_text("form.css"), re.MULTILINE)  # figure 5 of Chiang & Lee


@pytest.mark.parametrize("form", FORMS)
def test_page_fields_are_unanswered_questions(form: Form) -> None:
    """Fields are the questions and nothing is answered beforehand."""
    for page in form.pages:
        read = ReadPage(render_page(form, page, TEXTS))
        names = list(dict.fromkeys(element.attributes["name"] for element in read.fields()))
        assert names == [question.question_id for question in page.questions]
        for element in read.fields():
            assert "checked" not in element.attributes
            assert element.attributes["type"] != "number" or element.attributes["value"] == ""


@pytest.mark.parametrize("form", FORMS)
def test_every_control_has_a_label_and_every_group_a_legend(form: Form) -> None:
    for page in form.pages:
        read = ReadPage(render_page(form, page, TEXTS))
        labelled = {element.attributes.get("for") for element in read.all("label")}
        ids = {element.attributes.get("id") for element in read.elements}
        for control in read.all("input"):
            inside_label = [element for element in control.inside if element.tag == "label"]
            assert control.attributes.get("id") in labelled or inside_label[0].text.strip()
            assert set((control.attributes.get("aria-describedby") or "").split()) <= ids
            if control.attributes["type"] == "radio":
                group = next(element for element in reversed(control.inside) if element.tag == "fieldset")
                assert any(group in legend.inside and legend.text.strip() for legend in read.all("legend"))
        assert len(read.all("h1")) == 1


def test_page_lists_gaps_with_links() -> None:
    """Gaps are listed with links framed and the first is focused."""
    form = small_form()
    state = PageState(answers={"q3": "170"}, gaps={"q3": "unusable", "q4": "empty"})
    read = ReadPage(render_page(form, form.pages[3], TEXTS, state=state))
    (listed,) = [element for element in read.all("div") if element.attributes.get("class") == "gaps"]
    assert listed.attributes["role"] == "alert"
    assert [link.attributes["href"] for link in read.all("a") if listed in link.inside] == ["#q3", "#q4"]
    first, second = read.all("input", inputmode="numeric")
    assert ("autofocus" in first.attributes, "autofocus" in second.attributes) == (True, False)
    assert first.attributes["value"] == "170"
    assert first.attributes["aria-invalid"] == second.attributes["aria-invalid"] == "true"
    framed = [element for element in read.all("div") if "has-gap" in (element.attributes.get("class") or "")]
    assert [element.text for element in framed if "from 0 to 100." in element.text] == [framed[0].text]


def test_answers_given_before_are_shown_again() -> None:
    form = small_form()
    read = ReadPage(render_page(form, form.pages[4], TEXTS, state=PageState(answers={"q5": "4", "q6": "1"})))
    chosen = [e.attributes for e in read.fields() if "checked" in e.attributes]
    assert [(chosen_one["name"], chosen_one["value"]) for chosen_one in chosen] == [("q5", "4"), ("q6", "1")]


def test_texts_and_their_questions_share_a_stage() -> None:
    parts = sections(small_form().pages[3])
    assert [type(part) for part in parts] == [TextBlock, PageRegion]
    assert isinstance(parts[1], PageRegion)
    assert (len(parts[1].exhibits), len(parts[1].questions), parts[1].columns) == (2, 2, ("A", "B"))


def test_a_text_between_exhibits_belongs_to_the_ones_after_it() -> None:
    page = small_form().pages[4]
    blocks = (
        exhibits(1, "A"),
        likert("q1", "A"),
        TextBlock(markdown="Now the next."),
        exhibits(2, "A"),
        likert("q2", "A"),
    )
    parts = sections(replace(page, blocks=blocks))
    assert [type(part) for part in parts] == [PageRegion, TextBlock, PageRegion]
    assert [part.stage_id for part in parts if isinstance(part, PageRegion)] == ["p5-1", "p5-2"]


def test_tabs_are_named_by_columns_and_begin_with_what_is_new() -> None:
    """A label may stand in the caption of another exhibit: "B" in "Best text"."""
    study = small_study(
        spa=None,
        gamble={"best_reference": "zzbest", "worst_reference": "zzworst"},
        design={"items": 1},
        systems=[
            {"id": "zzgood"},
            {"id": "zzpoor"},
            *({"id": f"zz{end}", "role": "reference"} for end in ("best", "worst")),
        ],
    )
    outputs = outputs_of(study, texts=("word " * 60,))
    ((assignment, key),) = sample_assignments(study, outputs, count=1, rng=study_rng(study.seed))
    form = build_form(study, outputs, assignment, key, TEXTS)
    pages = [page for page in form.pages if page.kind == "gamble"]
    for page, first in zip(pages, (1, 3), strict=True):
        (stage,) = [part for part in sections(page) if isinstance(part, PageRegion)]
        assert stage.tabs == ("Best text", "Worst text", page.outputs[0].caption)
        assert stage.first_tab == first
        assert f'value="{first}" checked' in render_page(form, page, TEXTS)


def test_texts_stand_behind_tabs_where_one_is_long() -> None:
    """Fifty words are short."""
    for words, tabs in ((50, ()), (51, ("A", "B"))):
        block = exhibits(1, "AB", "word " * words)
        short, _ = exhibits(2, "AB", "One.").exhibits
        for shown in (block, replace(block, exhibits=(short, block.exhibits[1]))):
            (stage,) = sections(replace(small_form().pages[2], blocks=(shown,)))
            assert isinstance(stage, PageRegion)
            assert stage.tabs == tabs


def test_columns_of_different_items_stand_apart() -> None:
    blocks = (exhibits(1, "A", LONG), exhibits(2, "B", LONG), preference("q1", "A", "B"))
    (stage,) = sections(replace(small_form().pages[3], blocks=blocks))
    assert isinstance(stage, PageRegion)
    assert (stage.apart, stage.tabs) == (True, ("A", "B"))


def test_a_caption_that_hides_the_label_keeps_it_hidden() -> None:
    block = exhibits(1, "AB", LONG)
    unnamed = tuple(
        replace(exhibit, caption=f"Text {number}") for number, exhibit in enumerate(block.exhibits, start=1)
    )
    form = small_form()
    page = replace(form.pages[2], blocks=(replace(block, exhibits=unnamed),))
    read = ReadPage(render_page(replace(form, pages=(page,)), page, TEXTS))
    assert [element.text for element in read.all("label") if "tab" in (element.attributes.get("class") or "")] == [
        "Text 1",
        "Text 2",
    ]


def test_image_caption_and_neutral_address(tmp_path: Path) -> None:
    """Images have their caption as text and an address that says nothing."""
    form = small_form(image=tmp_path / "davinci_7.png")
    html = render_page(form, form.pages[2], TEXTS)
    assert "davinci" not in html
    images = [element.attributes for element in ReadPage(html).all("img")]
    assert (images[0]["alt"], images[0]["src"]) == ("Writer A, text 1", "image/e2")


@pytest.mark.parametrize(
    ("markdown", "wanted"),
    [
        ("[a](javascript:alert(1))", "<p>[a](javascript:alert(1))</p>"),
        ("[a](data:text/html,x)", "<p>[a](data:text/html,x)</p>"),
        ("[a](//elsewhere.org)", "<p>[a](//elsewhere.org)</p>"),
        ("<b onclick=x>a</b>", "<p>&lt;b onclick=x&gt;a&lt;/b&gt;</p>"),
        ("## Two", "<h2>Two</h2>"),
        ("请看**“粗体”**是，**重要：**请", "<p>请看<strong>“粗体”</strong>是，<strong>重要：</strong>请</p>"),
        ("2 ** 3 ** 4 字** 字", "<p>2 ** 3 ** 4 字** 字</p>"),
        ("## Two\n### Three", "<h2>Two</h2>\n<h3>Three</h3>"),
        ("[a](https://x.org)", '<p><a href="https://x.org" target="_blank" rel="noopener noreferrer">a</a></p>'),
    ],
)
def test_markdown_can_neither_load_nor_run(markdown: str, wanted: str) -> None:
    assert render_markdown(markdown).strip() == wanted


@pytest.mark.parametrize(
    ("asked", "wanted"),
    [
        ("Is it **well** *made*?", "Is it <strong>well</strong> <em>made</em>?"),
        ("Is 2 * 3 in a_b_c <b>right</b>?", "Is 2 * 3 in a_b_c &lt;b&gt;right&lt;/b&gt;?"),
        ("这是**重要：**请*“看”*", "这是<strong>重要：</strong>请<em>“看”</em>"),
        ("[*x*](http://a.example) `*y*` \\*z\\* \\d", "[<em>x</em>](http://a.example) `<em>y</em>` *z* \\d"),
    ],
)
def test_question_emphasis_and_no_other_markup(asked: str, wanted: str) -> None:
    """Emphasis in a question is seen on every page and nothing else is read in it."""
    form = small_form()
    pages = tuple(
        replace(
            page, blocks=tuple(replace(one, text=asked) if isinstance(one, Question) else one for one in page.blocks)
        )
        for page in form.pages
    )
    form = replace(form, pages=pages)
    number = sum(len(page.questions) for page in pages)
    posting = Posting(script="", origins=("https://a.example",), fields={})
    for whole in (render_whole(form, TEXTS), render_whole(form, TEXTS, posting=posting)):
        assert whole.count(wanted) == number > 5
    for page in pages:
        gaps = dict.fromkeys((one.question_id for one in page.questions), "empty")
        assert render_page(form, page, TEXTS, state=PageState(gaps=gaps)).count(wanted) == 2 * len(gaps)


def test_markdown_shows_no_image() -> None:
    assert "<img" not in render_markdown("![a](https://x.org/a.png)")


def test_right_to_left_texts_turn_the_page() -> None:
    form = small_form()
    html = render_page(form, form.pages[3], load_texts("ar", {}))
    assert '<html lang="ar" dir="rtl">' in html


def test_locales_share_their_page_texts() -> None:
    """The locales have the same page texts and pages use each of them."""
    english = {key: text for key, text in load_texts("en", {}).entries.items() if key.startswith("page.")}
    for language in shipped_languages():
        other = load_texts(language, {}).entries
        assert {key for key in other if key.startswith("page.")} == set(english)
        assert all(placeholders(other[key]) == placeholders(text) for key, text in english.items())
    root = Path(spa.__file__).parent
    rooms = (
        ("forms/templates", "*.html"),
        ("widgets", "*.html"),
        ("widgets", "*.py"),
        ("server", "*.py"),
        ("platforms", "**/*.py"),
        ("responses", "admission.py"),
        ("../mturk", "*.py"),
    )
    sources = [file for folder, names in rooms for file in (root / folder).glob(names)]
    text = "".join(path.read_text(encoding="utf-8") for path in sources)
    used = set(re.findall(r'"(page\.[a-z_]+)"', text))
    notices = {f"page.{name}_{part}" for name in re.findall(r'"([a-z_]+)"', text) for part in ("title", "text")}
    used |= {f"page.asks_{way.settings.way}" for way in WAYS}
    used |= {f"page.overview{medium.wording}" for medium in all_media()}
    assert used <= set(english)
    assert set(english) - used - notices == set()


def test_asset_named_by_content_and_self_contained() -> None:
    """A file is named by its content and loads nothing from elsewhere."""
    assert re.fullmatch(r"form\.[0-9a-f]{12}\.css", asset_name("form.css"))
    for name in ("form.css", "form.js", "spans.js"):
        without_fonts = re.sub(r'url\("mathematics\.[0-9a-f]{12}\.woff2"\)', "", asset_text(name))
        assert not re.search(r"url\(|@import|https?:|eval\(|innerHTML", without_fonts)
    assert "font-face" not in inline_style(frozenset(("markdown",)))


def test_a_page_that_stands_alone_has_the_style_of_what_it_shows() -> None:
    """A HIT may be no larger than so much."""
    assert ".markdown" in inline_style(frozenset(("conversation",)))
    plain = inline_style(frozenset(("text",)))
    assert ".markdown" not in plain
    assert "@import" not in plain
    rated = inline_style(frozenset(("text",)), frozenset(("options",)))
    assert ".rank {" in plain
    assert ".rank {" not in rated
    assert "@import" not in rated
    assert ".row .choices" in rated
    assert set(plain.splitlines()) <= set(asset_text("form.css").splitlines())


def luminance(colour: str) -> float:
    channels = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def test_colours_have_the_contrast_of_wcag_aa_in_both_schemes() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)  # WCAG 2.2, definition of contrast ratio
    light, dark, _ = (  # the last one holds the system's own colours
        dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6});", part))
        for part in re.findall(r":root \{(.*?)\}", asset_text("form.css"), re.S)
    )
    for scheme in (light, dark):
        for ground in ("paper", "sheet"):
            for ink in ("ink", "quiet", "accent", "wrong"):
                assert contrast(scheme[ink], scheme[ground]) >= 4.5, (ink, ground)
            assert contrast(scheme["edge"], scheme[ground]) >= 3
        for ink, ground in (
            ("on-accent", "accent"),
            ("ink", "mark"),
            ("ink", "tint"),
            ("good", "good-tint"),
            ("wrong", "wrong-tint"),
            ("ink", "wrong-tint"),
            ("quiet", "wrong-tint"),
        ):
            assert contrast(scheme[ink], scheme[ground]) >= 4.5, (ink, ground)


def test_folded_exhibits_were_read_before() -> None:
    """An exhibit may be folded only where it was read before and several compete for room."""
    form = small_form()
    assert [len(ReadPage(render_page(form, page, TEXTS)).all("details")) for page in form.pages] == [0, 0, 0, 2, 0]
    again = replace(form.pages[4], blocks=(exhibits(1, "A", repeated=True), likert("q5", "A")))
    assert not ReadPage(render_page(replace(form, pages=(again,)), again, TEXTS)).all("details")
    assert isinstance(again.blocks[0], ExhibitsBlock)


def test_folded_exhibits_without_a_heading_are_named() -> None:
    """Where no item text heads what is folded, its summary names the outputs, so that two are told apart."""
    blocks = tuple(replace(exhibits(number, "A", repeated=True), heading=None) for number in (1, 2))
    page = replace(small_form().pages[3], blocks=(*blocks, likert("q5", "A")))
    html = render_page(replace(small_form(), pages=(page,)), page, TEXTS)
    summaries = re.findall(r"<summary[^>]*data-chrome[^>]*>([^<]*)</summary>", html)
    assert [said.split(": ")[1] for said in summaries] == ["Writer A, text 1", "Writer A, text 2"]
