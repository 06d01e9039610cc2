"""What pages on which single outputs are rated hold: questions, item texts, references, identical pairs."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from spa.elicitation.choices import ChoiceTarget
from spa.elicitation.ratings import RatingTarget
from spa.elicitation.spa import PreferenceTarget
from spa.errors import StudyError
from spa.forms.prompt import render_turn
from spa.forms.prompt_turns import turns_of
from spa.records.form import (
    CheckTarget,
    ExhibitsBlock,
    Page,
    Question,
)
from spa.study.validation import validate_study
from spa.widgets import NumberAnswer, OptionsAnswer
from tests.spa.form_words import form_text
from tests.spa.forms.built_forms import MEANING, exhibits_of, forms_of, said
from tests.strategies import outputs_of, small_study


def test_likert_ratings():
    study = small_study(likert={"points": 4, "low": "poor", "half_points": "floor"}, spa=None)
    form = forms_of(study)[0]
    page = next(page for page in form.pages if page.kind == "rating")
    first_item = page.questions[0].target
    assert [q.target.label for q in page.questions if isinstance(q.target, RatingTarget)] == ["A", "B", "C"]
    assert isinstance(first_item, RatingTarget)
    assert first_item.item_id == exhibits_of(page)[0].item_id
    answer = page.questions[0].answer
    assert isinstance(answer, OptionsAnswer)
    assert [option.text for option in answer.options] == ["1 (poor)", "2", "3", "4 (highest)"]
    assert [(option.value, option.score) for option in answer.options] == [
        ("1", 1.0),
        ("2", 2.0),
        ("3", 3.0),
        ("4", 4.0),
    ]
    assert answer.half_points == "floor"


def rated_on(page: Page) -> list[str]:
    """Return what a page rates: label, item, criterion."""
    targets = [question.target for question in page.questions if isinstance(question.target, RatingTarget)]
    items = list(dict.fromkeys(each.item_id for each in targets))
    return [f"{each.label}{items.index(each.item_id) + 1} {each.criterion}" for each in targets]


@pytest.mark.parametrize(
    ("pages", "expected"),
    [
        ("output", [["A1"], ["B1"], ["C1"], ["A1"], ["B1"], ["C1"]]),
        ("item", [["A1", "B1", "C1"], ["A1", "B1", "C1"]]),
        ("system", [["A1", "A2"], ["B1", "B2"], ["C1", "C2"]]),
        ("one", [["A1", "B1", "C1", "A2", "B2", "C2"]]),
    ],
)
def test_a_rating_page_holds_what_the_section_says(pages: str, expected: list[list[str]]):
    form = forms_of(small_study(likert={"outputs": "all", "pages": pages}))[0]
    found = [rated_on(page) for page in form.pages if page.kind == "rating"]
    assert found == [[f"{each} overall" for each in page] for page in expected]


COUNT = {"id": "errors", "name": "errors", "options": [{"text": "0", "score": 1}, {"text": "1", "score": 0}]}


@pytest.mark.parametrize("pages", ["item", "output"])
def test_question_kinds_share_a_page(pages: str):
    """Several kinds of questions stand on one page below the output."""
    study = small_study(
        spa=None,
        criteria=[MEANING, {"id": "ease", "name": "ease"}, COUNT],
        likert={"pages": pages, "outputs": 1, "criteria": ["meaning"], "overall": False},
        continuous={"same_page_as": "likert", "criteria": ["ease"]},
        categories={"same_page_as": "likert"},
        design={} if pages == "item" else {"outputs": 2},
    )
    form = forms_of(study)[0]
    pages_found = [page for page in form.pages if page.kind == "rating"]
    asked = ("overall", "meaning", "ease", "errors")  # the whole before its aspects, whichever section asks for it
    if pages == "item":  # one item at random, and the same one for all three
        expected = [[f"{label}1 {one}" for label in "ABC" for one in asked]]
    else:
        expected = [[f"{label}1 {one}" for one in asked] for label in "AB"]
    assert [rated_on(page) for page in pages_found] == expected
    shown = [each for page in pages_found for each in exhibits_of(page) if each.label is not None]
    assert len(shown) == len({(each.label, each.item_id) for each in shown})  # no output stands there twice


def test_a_single_output_stands_under_no_system():
    study = small_study(spa=None, criteria=[MEANING], likert={"pages": "output"}, design={"outputs": 12})
    form = forms_of(study, outputs_of(study, absent=[("i0", "zzgood")]))[0]
    pages = [page for page in form.pages if page.kind == "rating"]
    assert len(pages) == 12
    assert {exhibits_of(page)[-1].caption for page in pages} == {"Text to rate"}
    assert {question.text for page in pages for question in page.questions} == {
        "How do you rate this text overall?",
        "Is the meaning of Text to rate kept?",
    }
    assert "System" not in said(form)
    assert "single texts" in said(form)


@pytest.mark.parametrize(
    ("criterion", "section", "beside"),
    [
        ({}, {}, [True]),
        ({}, {"show_item_text": False}, [False, True]),  # meaning is asked against the source
        ({"show_item_text": False}, {}, [False, True]),
        ({"show_item_text": True}, {"show_item_text": False}, [False, True]),
    ],
)
@pytest.mark.parametrize("way", ["likert", "choices"])
def test_the_item_text_stands_beside_the_criteria_that_want_it(
    way: str, criterion: dict[str, Any], section: dict[str, Any], beside: list[bool]
):
    criteria = [{"id": "fluency", "name": "fluency", **criterion}, MEANING]
    study = small_study(spa=None, criteria=criteria, design={"items": 1}, **{way: section})
    page = next(page for page in forms_of(study)[0].pages if page.kind in ("rating", "choice"))
    blocks = [block for block in page.blocks if isinstance(block, ExhibitsBlock)]
    assert [block.heading is not None for block in blocks[: len(beside)]] == beside
    with_text: dict[str, bool] = {}
    for block in page.blocks:
        if isinstance(block, ExhibitsBlock):
            shown = block.heading is not None
        elif isinstance(block, Question) and isinstance(block.target, RatingTarget | ChoiceTarget):
            assert with_text.setdefault(block.target.criterion, shown) == shown
    by_section = section.get("show_item_text", True)
    wanted = {"overall": by_section, "fluency": criterion.get("show_item_text", by_section), "meaning": True}
    assert with_text == wanted
    asks = {
        ask.turn_id: "".join(each.text or "" for each in render_turn(ask).fragments)
        for ask in turns_of(forms_of(study)[0], "question")
    }
    for question in page.questions:
        if isinstance(question.target, RatingTarget | ChoiceTarget):
            asked = asks[question.question_id]
            assert ("Source text" in asked) == wanted[question.target.criterion]
            assert asked.count("Output text") == (1 if way == "likert" else 2)


def test_continuous_ratings_with_references():
    systems = [
        {"id": "zzgood"},
        {"id": "zzpoor"},
        {"id": "zzbest", "role": "reference"},
        {"id": "zzworst", "role": "reference"},
    ]
    study = small_study(
        systems=systems, spa=None, continuous={"best_reference": "zzbest", "worst_reference": "zzworst", "low": "awful"}
    )
    page = next(page for page in forms_of(study)[0].pages if page.kind == "rating")
    shown = exhibits_of(page)
    assert [each.label for each in shown] == [None, None, None, "A", None, "B"]
    assert "would get 100" in shown[1].caption
    assert "would get 0" in shown[2].caption
    answer = page.questions[0].answer
    assert isinstance(answer, NumberAnswer)
    assert (answer.scale, answer.unit, answer.low_text, answer.high_text) == (1, "", "0 (awful)", "100 (highest)")


def test_the_item_text_stands_above_every_output_that_is_rated():
    page = next(page for page in forms_of(small_study(likert={}))[0].pages if page.kind == "rating")
    shown = [block for block in page.blocks if isinstance(block, ExhibitsBlock)]
    assert len(shown) == 3
    assert len({block.heading for block in shown}) == 1
    assert shown[0].heading is not None


def test_the_item_text_is_read_after_the_output_where_said():
    """On page and prompt alike: output, questions without the text, text, its questions; the output is shown once."""
    criteria = [{"id": "fluency", "name": "fluency", "show_item_text": False}, MEANING]
    study = small_study(spa=None, criteria=criteria, likert={"pages": "output", "item_text_position": "after"})
    form = forms_of(study, outputs_of(study, items=6))[0]
    page = next(page for page in form.pages if page.kind == "rating")
    read = [
        block.criterion or "overall" if isinstance(block, Question) else exhibits_of(replace(page, blocks=(block,)))
        for block in page.blocks
    ]
    (output,), (text,) = (one for one in read if isinstance(one, list))
    assert (output.label, text.label) == ("A", None)
    assert read == [[output], "fluency", [text], "overall", "meaning"]
    asks = {turn.questions[0].criterion: turn for turn in turns_of(form, "question")}
    put = "".join(one.text or "" for one in render_turn(asks["meaning"]).fragments)
    assert 0 < put.index("Output text") < put.index("Source text") < put.index("Is the meaning")
    assert "Source text" not in "".join(one.text or "" for one in render_turn(asks["fluency"]).fragments)


def test_item_text_position_is_that_of_the_page():
    """Marked differences and copies of the source stand the other way round, too; a hosted section has no place."""
    criteria = [{**MEANING, "mark_differences": True}]
    section = {"overall": False, "item_text_position": "after", "identical_pairs": 1}
    for page in forms_of(small_study(spa=None, criteria=criteria, likert=section))[0].pages:
        if page.kind == "rating":
            shown = exhibits_of(page)
            assert [one.item_id for one in shown[::2]] == [one.item_id for one in shown[1::2]]
            assert {one.caption.partition(" ")[0] for one in shown[1::2]} == {"Prompt"}
    hosted = small_study(
        spa=None,
        criteria=[{"id": "e", "name": "e", "options": [{"text": "0", "score": 0}, {"text": "1", "score": 1}]}],
        likert={},
        categories={"same_page_as": "likert", "item_text_position": "after"},
    )
    (line,) = [one.message for one in validate_study(hosted)]
    assert line.startswith("[categories] item_text_position: expected none beside same_page_as")


def test_category_answers_count_as_scores():
    options = [{"text": "0", "score": 5}, {"text": "1", "score": 3}, {"text": "2 or more", "score": 1}]
    criterion = {"id": "errors", "name": "errors", "question": "How many errors?", "options": options}
    form = forms_of(small_study(criteria=[criterion], categories={}))[0]
    question = next(q for q in form.questions("people") if isinstance(q.target, RatingTarget))
    assert question.text == "How many errors?"
    assert isinstance(question.answer, OptionsAnswer)
    assert [(o.value, o.text, o.score) for o in question.answer.options] == [
        ("0", "0", 5.0),
        ("1", "1", 3.0),
        ("2 or more", "2 or more", 1.0),
    ]
    assert {q.target.criterion for q in form.questions("people") if isinstance(q.target, PreferenceTarget)} == {
        "overall"
    }


def test_identical_pairs_look_like_ratings_and_expect_the_top():
    lower = {"id": "loss", "name": "loss of meaning", "against_source": True, "lower_is_better": True}
    study = small_study(criteria=[MEANING, lower], likert={"identical_pairs": 1, "points": 7, "outputs": "all"})
    places = Counter()
    for form in forms_of(study, count=30):
        pages = [page for page in form.pages if page.kind == "rating"]
        assert [page.title for page in pages] == [f"Rating {n} of 3" for n in (1, 2, 3)]
        found = [n for n, page in enumerate(pages) if isinstance(page.questions[0].target, CheckTarget)]
        assert len(found) == 1
        page = pages[found[0]]
        heading, copy = exhibits_of(page)
        assert heading.text == copy.text
        assert (copy.caption, copy.label) == ("Text to rate", None)
        assert [q.target.expected for q in page.questions if isinstance(q.target, CheckTarget)] == ["7", "1"]
        assert page.questions[0].text == "Is the meaning of Text to rate kept?"
        places[found[0]] += 1
    assert set(places) == {0, 1, 2}


def test_identical_pairs_need_a_criterion_about_the_source():
    study = small_study(criteria=[{"id": "fluency", "name": "fluency"}], likert={"identical_pairs": 1})
    with pytest.raises(StudyError, match="against_source"):
        forms_of(study)


def test_differences_are_marked_in_both_texts_and_announced():
    study = small_study(criteria=[{**MEANING, "mark_differences": True}], likert={"overall": True}, spa=None)
    outputs = outputs_of(study, texts=("Source text number one was there.",))
    form = forms_of(study, outputs)[0]
    page = next(page for page in form.pages if page.kind == "rating")
    told = "\n".join(form_text(replace(form, pages=(page,)), "people"))
    assert "words that differ are in [square brackets]" in told
    assert "Source text number [one] was [there]." in told
    assert "was [here]." in told
    plain = exhibits_of(page)[1]
    assert not any(segment.marked for segment in plain.segments)  # the overall question shows the text unmarked


@pytest.mark.parametrize("labels", ["counterbalanced", "fixed"])
@pytest.mark.parametrize("order", ["item", "blocked", "mixed"])
def test_outputs_are_rated_by_item_by_system_or_mixed(order: str, labels: str):
    """Chiang & Lee (2023), appendix C.1: all stories of one writer before those of the other, or mixed (Table 5)."""
    likert = {"outputs": "all", "order": order}
    study = small_study(spa=None, likert=likert, design={"items": 4, "labels": labels})
    runs = [forms_of(study, count=3) for _ in range(2)]
    assert runs[0] == runs[1]
    orders = []
    for form in runs[0]:
        rated = [question.target for question in form.questions("everybody")]
        outputs = [(one.label, one.item_id) for one in rated if isinstance(one, RatingTarget)]
        assert len(outputs) == len(set(outputs)) == 12
        items = [item for _, item in outputs]
        by_item = [outputs.index(one) for one in sorted(outputs, key=lambda one: (items.index(one[1]), one[0]))]
        by_label = [outputs.index(one) for one in sorted(outputs, key=lambda one: one[0])]
        assert (by_item == list(range(12)), by_label == list(range(12))) == (order == "item", order == "blocked")
        assert sum(page.kind == "rating" for page in form.pages) == (4 if order == "item" else 12)
        orders.append([[label for label, _ in outputs], items][order == "mixed"])
    assert (orders[0] == orders[1] == orders[2]) == (order != "mixed")
