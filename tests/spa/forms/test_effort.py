"""How long a form takes: reckoned from words, questions, images and pages."""

from __future__ import annotations

from dataclasses import replace
from math import ceil
from pathlib import Path

import pytest

from spa.forms.effort import estimate_effort, minutes_of, overview, whole_minutes
from spa.forms.html import render_page
from spa.forms.prompt import render_prompt
from spa.forms.texts import load_texts
from spa.records.form import Exhibit, ExhibitsBlock, Form, Page, Segment
from spa.records.study import Study
from tests.spa.forms.test_build_form import forms_of
from tests.strategies import outputs_of, small_study


def form_of(text: str, *, language: str = "en", pages: int = 1) -> Form:
    exhibit = Exhibit(
        exhibit_id="e1", caption="", label="A", item_id="i", medium="text", segments=(Segment(text=text),)
    )
    page = Page(
        page_id="p1",
        kind="reading",
        audience="everybody",
        title="",
        blocks=(ExhibitsBlock(heading=None, exhibits=(exhibit,)),),
    )
    return Form(assignment_id="a", title="", language=language, right_to_left=False, pages=(page,) * pages)


def test_worked_example():
    """476 words at 238 a minute are two minutes; a page takes three seconds."""
    effort = estimate_effort(form_of("word " * 476))
    assert (effort.pages, effort.questions, effort.words, effort.minutes) == (1, 0, 476, pytest.approx(2.05, abs=0.051))
    assert estimate_effort(form_of("word " * 460), words_per_minute=46).minutes == pytest.approx(10.0, abs=0.1)


def test_chinese_is_counted_by_characters():
    effort = estimate_effort(form_of("今天天气很好。" * 85 + " GPT", language="zh"))
    assert effort.words == 6 * 85 + 1
    assert effort.minutes == pytest.approx(510 / 332 + 0.05, abs=0.1)


def test_arabic_is_read_more_slowly():
    """The script of a text counts, not the language of the form around it."""
    text = "كلمة " * 358
    for language in ("ar", "en"):
        assert estimate_effort(form_of(text, language=language)).minutes == pytest.approx(2.05, abs=0.051)


def test_a_repeated_exhibit_is_read_once():
    once, twice = estimate_effort(form_of("word " * 460)), estimate_effort(form_of("word " * 460, pages=2))
    assert twice.words == once.words
    assert twice.minutes - once.minutes == pytest.approx(0.05, abs=0.06)


def test_questions_for_people_count():
    study = small_study()
    form = forms_of(study)[0]
    without = replace(form, pages=tuple(page for page in form.pages if page.audience == "everybody"))
    assert estimate_effort(form).questions == estimate_effort(without).questions + 1


def pictured(number: int) -> Form:
    shown = tuple(
        Exhibit(exhibit_id=f"e{n}", caption="", label="A", item_id=f"i{n}", medium="image", file=Path(f"{n}.png"))
        for n in range(number)
    )
    form = form_of("")
    (page,) = form.pages
    return replace(form, pages=(replace(page, blocks=(ExhibitsBlock(heading=None, exhibits=shown),)),))


@pytest.mark.parametrize(("number", "minutes"), [(0, 0.05), (10, 1.05), (40, 4.05)])
def test_each_image_takes_six_seconds(number: int, minutes: float):
    """Minutes, and so pay and the time that is allowed, rest on it."""
    form = pictured(number)
    assert estimate_effort(form).minutes == pytest.approx(minutes, abs=0.051)
    study = small_study()
    assert minutes_of(replace_minutes(study, None), form) == estimate_effort(form).minutes
    assert whole_minutes(replace_minutes(study, None), form) == ceil(estimate_effort(form).minutes)


def replace_minutes(study: Study, minutes: float | None) -> Study:
    return study.model_copy(update={"people": study.people.model_copy(update={"minutes": minutes})})


def test_images_of_a_study_take_time(tmp_path: Path):
    study = small_study(outputs={"files": ["x"], "kind": "image"})
    many = forms_of(study, outputs_of(study, image=tmp_path / "x.png"))[0]
    shown = {one.exhibit_id for page in many.pages for block in page.exhibits for one in block.exhibits}
    kept = [tuple(one for one in page.blocks if not isinstance(one, ExhibitsBlock)) for page in many.pages]
    blank = replace(many, pages=tuple(replace(page, blocks=one) for page, one in zip(many.pages, kept, strict=True)))
    assert estimate_effort(many).minutes - estimate_effort(blank).minutes >= len(shown) * 0.1 - 0.05


@pytest.mark.parametrize("language", ["ar", "en", "zh"])
def test_the_first_page_says_what_is_asked(language: str) -> None:
    """Of how many outputs, how many questions in which ways, and who gets the answers; people alone are told."""
    study = small_study(language=language, spa={"exposure": 2}, likert={"outputs": "all"}, consent={"text": "Consent."})
    form, texts = forms_of(study)[0], load_texts(language, {})
    number = len(render_prompt(form).question_ids)
    asked = texts.say("form.scale_end", number=str(number), words=f"{{}}{texts.say('form.list_separator')}{{}}")
    words = texts.say("page.asks_spa"), texts.say("page.asks_likert")
    said = texts.say("page.overview", outputs="6", questions=asked.format(*words))
    first, *others = (render_page(form, page, texts) for page in form.pages)
    assert f'<p class="length" data-chrome>{said}</p>' in first
    assert not any("page.overview" in html or said in html for html in others)
    assert said not in str(render_prompt(form).chat_messages())


def test_an_own_translation_need_not_say_what_is_asked() -> None:
    entries = {key: text for key, text in load_texts("en", {}).entries.items() if key[:11] != "page.asks_s"}
    form = forms_of(small_study(spa={"exposure": 2}))[0]
    assert "Questions about them: 6. " in overview(form, load_texts("xx", entries))
    del entries["page.overview"]
    assert overview(form, load_texts("xx", entries)) == ""
