"""The form of an assignment: which pages, in which order, saying what, and never a system's name."""

from __future__ import annotations

from collections import Counter
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings

from spa.elicitation import ways
from spa.elicitation.choices import ChoiceTarget
from spa.elicitation.ratings import RatingTarget
from spa.elicitation.spa import PreferenceTarget
from spa.errors import StudyError
from spa.forms.build import _changed, build_form
from spa.forms.prompt import render_turn
from spa.forms.prompt_turns import turns_of
from spa.forms.texts import load_texts
from spa.records.form import (
    CheckTarget,
    ConfirmationTarget,
    Exhibit,
    ExhibitsBlock,
    Form,
    InterviewTarget,
    Page,
    Question,
    ScreeningTarget,
)
from spa.records.outputs import Outputs
from spa.records.study import Study
from spa.study.load import load_study
from spa.study.outputs import load_outputs
from spa.study.sampling import sample_assignments, study_rng
from spa.study.validation import validate_study
from spa.widgets import NumberAnswer, OptionsAnswer, TextAnswer
from tests.spa.form_words import form_text
from tests.strategies import HOSTILE, outputs_of, small_study, studies

MEANING = {"id": "meaning", "name": "meaning", "against_source": True, "question": "Is the meaning of {system} kept?"}


def forms_of(study: Study, outputs: Outputs | None = None, count: int = 1) -> list[Form]:
    made = outputs_of(study) if outputs is None else outputs
    texts = load_texts(study.language, study.texts)
    draws = sample_assignments(study, made, count=count, rng=study_rng(study.seed))
    return [build_form(study, made, assignment, key, texts) for assignment, key in draws]


def exhibits_of(page: Page) -> list[Exhibit]:
    blocks = [block for block in page.blocks if isinstance(block, ExhibitsBlock)]
    return [each for block in blocks for each in (block.heading, *block.exhibits) if each is not None]


def said(form: Form) -> str:
    return "\n".join(form_text(form, "people"))


def test_pages_in_order():
    study = small_study(
        consent={"text": "We keep **nothing** but your answers."},
        screening=[{"id": "native", "question": "Native?", "options": ["yes", "no"], "eligible": ["yes"]}],
        attention_checks=[{"id": "c", "question": "Pick green.", "options": ["green", "red"], "expected": "green"}],
        likert={},
        choices={"outputs": "first"},
    )
    form = forms_of(study)[0]
    kinds = [(page.kind, page.audience) for page in form.pages if page.kind != "check"]
    assert kinds == [
        ("consent", "people"),
        ("screening", "people"),
        ("instructions", "everybody"),
        ("instructions", "people"),
        *[("reading", "everybody")] * 2,
        *[("comparison", "everybody")] * 3,
        ("rating", "everybody"),
        *[("choice", "everybody")] * 3,
    ]
    assert [page.page_id for page in form.pages] == [f"p{n}" for n in range(1, len(form.pages) + 1)]
    assert form.pages[2].title == study.title
    targets = [
        type(question.target) for question in form.questions("people") if question.question_id in ("q1", "q2", "q3")
    ]
    assert targets == [ConfirmationTarget, ScreeningTarget, ConfirmationTarget]


def test_ids_run_in_the_order_of_the_form():
    criterion = {**MEANING, "mark_differences": True}
    study = small_study(likert={"identical_pairs": 2}, criteria=[criterion], choices={})
    for form in forms_of(study, count=6):
        questions = [question.question_id for question in form.questions("people")]
        assert questions == [f"q{n}" for n in range(1, len(questions) + 1)]
        first_seen = dict.fromkeys(each.exhibit_id for page in form.pages for each in exhibits_of(page))
        assert list(first_seen) == [f"e{n}" for n in range(1, len(first_seen) + 1)]


@given(studies())
@hypothesis_settings(max_examples=40, deadline=None)
def test_every_form_keeps_its_promises(case: tuple[Study, Outputs]):
    study, outputs = case
    for form in forms_of(study, outputs, 3):
        shown: dict[str, Exhibit] = {}
        for page in form.pages:
            before = set(shown)
            for block in page.blocks:
                if isinstance(block, ExhibitsBlock):
                    parts = [each for each in (block.heading, *block.exhibits) if each is not None]
                    assert block.repeated == all(each.exhibit_id in before for each in parts)
            for exhibit in exhibits_of(page):
                assert shown.setdefault(exhibit.exhibit_id, exhibit) == exhibit
            for question in page.questions:
                if isinstance(question.target, RatingTarget):
                    asked = [each for each in exhibits_of(page) if each.label == question.target.label]
                    assert question.target.item_id in {each.item_id for each in asked}
        targets = [question.target for question in form.questions("people")]
        assert len(set(targets)) == len(targets)
        assert len({question.question_id for question in form.questions("people")}) == len(targets)


@given(studies())
@hypothesis_settings(max_examples=40, deadline=None)
def test_no_system_is_named(case: tuple[Study, Outputs]):
    study, outputs = case
    named = study.model_copy(
        update={"systems": tuple(each.model_copy(update={"name": f"qq {each.id} qq"}) for each in study.systems)}
    )
    for form in forms_of(named, outputs, 2):
        assert "zz-" not in repr(form)
        assert "qq" not in repr(form)


def test_comparisons_ask_all_criteria_per_direction():
    """Comparisons show both labels and ask all criteria in one direction first."""
    study = small_study(
        criteria=[{"id": "fluency", "name": "fluency"}],
        spa={"exposure": 2, "comparisons": [["zzgood", "zzpoor"]], "directions": "both"},
        design={"labels": "fixed", "directions": "fixed"},
    )
    form = forms_of(study)[0]
    page = next(page for page in form.pages if page.kind == "comparison")
    assert [[each.label for each in block.exhibits] for block in page.blocks if isinstance(block, ExhibitsBlock)] == [
        ["A", "C"],
        ["A", "C"],
    ]
    assert all(block.repeated for block in page.blocks if isinstance(block, ExhibitsBlock))
    targets = [question.target for question in page.questions]
    assert targets == [
        PreferenceTarget(label_x=x, label_y=y, exposure=2, criterion=criterion, asked_first=first)
        for x, y, first in (("A", "C", True), ("C", "A", False))
        for criterion in ("overall", "fluency")
    ]
    assert page.questions[0].text == (
        "Based on what you have read, what is the chance, from 0 to 100%, that System A is better than System C?"
    )
    assert page.questions[3].text.endswith("that System C is better than System A with regard to fluency?")
    answer = page.questions[3].answer
    assert isinstance(answer, NumberAnswer)
    assert (answer.low, answer.high, answer.scale, answer.unit) == (0, 100, 100, "%")
    assert answer.low_text == "0%: certain that System C is no better"


def test_a_comparison_is_headed_in_the_order_of_its_columns() -> None:
    """Whichever direction comes first; and each direction comes first on some form."""
    directions = set()
    for form in forms_of(small_study(spa={"exposure": 1}), count=6):
        for page in form.pages:
            if page.kind != "comparison":
                continue
            columns = list(dict.fromkeys(f"System {one.label}" for one in exhibits_of(page) if one.label))
            assert page.title.endswith(": " + " and ".join(columns))
            assert str(page.blocks[0]).count(" and ".join(columns)) == 1
            target = page.questions[0].target
            assert isinstance(target, PreferenceTarget)
            directions.add(target.label_x < target.label_y)
    assert directions == {True, False}


def test_reading_with_questions_on_comparison_page():
    """Reading with the questions shows the texts on the page of the comparison."""
    study = small_study(spa={"exposure": 2, "reading": "with_questions", "comparisons": "chain"})
    form = forms_of(study)[0]
    assert not [page for page in form.pages if page.kind == "reading"]
    first = next(page for page in form.pages if page.kind == "comparison")
    assert "then answer the questions" in said(form)
    assert not any(block.repeated for block in first.blocks if isinstance(block, ExhibitsBlock))


def test_different_items_stand_under_their_own_text():
    study = small_study(spa={"exposure": 2, "same_items": False})
    page = next(page for page in forms_of(study)[0].pages if page.kind == "comparison")
    blocks = [block for block in page.blocks if isinstance(block, ExhibitsBlock)]
    assert len({block.heading.item_id for block in blocks if block.heading}) == 4
    assert all(block.heading and block.heading.item_id == block.exhibits[0].item_id for block in blocks)
    labels = [block.exhibits[0].label for block in blocks]
    assert labels == sorted(labels, key=str)


def test_outputs_without_item_text_are_numbered():
    study = small_study()
    page = next(
        page for page in forms_of(study, outputs_of(study, item_texts=False))[0].pages if page.kind == "reading"
    )
    assert [each.caption for each in exhibits_of(page)] == ["System A, text 1", "System B, text 1", "System C, text 1"]


def test_the_item_text_bears_the_name_that_the_study_gives_it():
    outputs = {"files": ["none.jsonl"], "item_text": "source", "item_name": "Source"}
    page = next(page for page in forms_of(small_study(outputs=outputs))[0].pages if page.kind == "reading")
    assert exhibits_of(page)[0].label is None
    assert exhibits_of(page)[0].caption == "Source 1"


def test_an_exposure_study_shows_each_pair_on_its_own_page():
    exposure_study = {"system_x": "zzgood", "system_y": "zzpoor", "exposures": [1, 2]}
    study = small_study(spa={"exposure_study": exposure_study})
    form = forms_of(study, outputs_of(study, samples=4))[0]
    pages = [page for page in form.pages if page.kind == "comparison"]
    assert [{each.label for each in exhibits_of(page)} - {None} for page in pages] == [{"A", "B"}, {"C", "D"}]
    assert {q.target.exposure for q in form.questions("people") if isinstance(q.target, PreferenceTarget)} == {1, 2}
    assert "**4 systems**: System A, System B, System C, System D." in said(form)
    assert "between 1 and 2 texts" in said(form)


@pytest.mark.parametrize("language", ["en", "zh", "ar"])
def test_the_rule_of_sums_can_be_left_out(language: str) -> None:
    """Without it the form says the same but for one paragraph, and asks the same."""
    plain = small_study(language=language)
    bare = small_study(language=language, instructions={"explain_sum": False})
    told, left = ([line for line in said(forms_of(study)[0]).split("\n") if line] for study in (plain, bare))
    (rule,) = [line for line in told if line not in left]
    assert "20" in rule
    assert [line for line in told if line != rule] == left


def test_the_rule_of_sums_beside_fixed_directions() -> None:
    """A warning: whoever obeys it carries what favours the first direction into both."""
    design = {"directions": "fixed"}
    told = [
        [line for line in ways()["spa"].warnings(study, study.sections["spa"]) if "lets what favours" in line]
        for study in (
            small_study(design=design),
            small_study(),
            small_study(design=design, instructions={"explain_sum": False}),
            small_study(design=design, spa={"exposure": 2, "directions": "one"}),
        )
    ]
    assert [len(lines) for lines in told] == [1, 0, 0, 0]


def test_the_preset_says_what_a_percentage_means():
    told = said(forms_of(small_study(spa={"exposure": 5, "comparisons": "chain"}))[0])
    for words in (
        "**100%**: you are certain that System A is better",
        "**50%**: you cannot tell at all",
        "*no better* than System B. The two may then be equally good",
        "5 texts from each system",
        "may be a person or a computer program",
        "Nobody can be fully certain after so few texts",
        "in most cases you will have formed some idea",
        "may give the same percentage more than once",
    ):
        assert words in told
    assert "reject" not in told.lower()
    assert "same rating" not in told  # no ratings in this study
    assert "same rating" in said(forms_of(small_study(likert={}))[0])


def test_own_instructions_and_words_replace_the_preset():
    study = small_study(
        instructions={"text": "Just *read*."},
        texts={"form.system_label": "Writer {label}", "form.item_caption": "Story opening {number}"},
    )
    told = said(forms_of(study)[0])
    assert "Just *read*." in told
    assert "certain that" in told  # the ends of the scale
    assert "Writer A" in told
    assert "Story opening 2" in told
    assert "System" not in told


@pytest.mark.parametrize(
    ("language", "asked"), [("zh", "您认为系统A比系统B更好的可能性"), ("ar", "أن يكون النظام A أفضل من النظام B")]
)
def test_other_languages(language: str, asked: str):
    fixed = {"labels": "fixed", "directions": "fixed"}
    form = forms_of(small_study(language=language, design=fixed))[0]
    assert asked in said(form)
    assert form.right_to_left == (language == "ar")
    assert "System" not in said(form)


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


@pytest.mark.parametrize("ties", [True, False])
def test_choices(ties: bool):
    study = small_study(choices={"ties": ties, "outputs": "all", "comparisons": [["zzgood", "zzpoor"]]})
    form = forms_of(study)[0]
    pages = [page for page in form.pages if page.kind == "choice"]
    assert len(pages) == 2
    for page in pages:
        question = page.questions[0]
        assert isinstance(question.target, ChoiceTarget)
        assert isinstance(question.answer, OptionsAnswer)
        shown = [each for each in exhibits_of(page) if each.label is not None]
        assert [each.label for each in shown] == [question.target.label_x, question.target.label_y]
        assert [option.value for option in question.answer.options] == ["x", "y", "tie"][: 2 + ties]
        assert question.answer.options[0].text == f"System {question.target.label_x}"


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


def test_attention_checks_at_varying_places():
    """Attention checks stand between pages at places that differ."""
    check = {"id": "c", "question": "Pick green.", "options": ["green", "red"], "expected": "green"}
    study = small_study(attention_checks=[check, {**check, "id": "d"}])
    places = Counter()
    forms = forms_of(study, count=40)
    for form in forms:
        found = [n for n, page in enumerate(form.pages) if page.kind == "check"]
        assert len(found) == 2
        assert form.pages[-1].kind != "check"
        assert form.pages[found[0] - 1].audience == "everybody"
        places.update(found)
        assert "expected" not in said(form)
    assert len(places) >= 4
    assert forms == forms_of(study, count=40)


def test_form_shows_hostile_outputs_verbatim():
    """Hostile outputs are shown as they are but for characters that cannot be."""
    study = small_study()
    forms = forms_of(study, outputs_of(study, texts=HOSTILE), count=5)
    texts = {each.text for form in forms for page in form.pages for each in exhibits_of(page)}
    assert "<script>alert(1)</script>" in texts
    assert any("{{7*7}}" in text for text in texts)
    assert "nul \ufffd, surrogate \ufffd, escape \ufffd[31m" in texts
    "\n".join(texts).encode()


def test_images(tmp_path: Path):
    study = small_study(outputs={"files": ["unused.jsonl"], "kind": "image"}, likert={})
    form = forms_of(study, outputs_of(study, image=tmp_path / "zzgood.png"))[0]
    told = said(form)
    assert "Based on what you have seen" in told
    assert "look at their images" in told
    assert "read" not in told.replace("I have read the instructions", "").replace("Reading", "").lower()
    assert "zz" not in told
    assert any(each.file for page in form.pages for each in exhibits_of(page))
    single = {"outputs": {"files": ["x"], "kind": "image"}, "spa": None, "likert": {"pages": "output"}}
    study = small_study(**single, criteria=[{"id": "hue", "name": "colour"}])
    asked = said(forms_of(study, outputs_of(study, image=tmp_path / "a.png"))[0])
    assert "Image to rate" in asked
    assert "How do you rate this image overall?\n" in asked
    assert "How do you rate this image with regard to colour?" in asked


def test_ninety_forms_of_the_published_story_study(shared_data: Path, tmp_path: Path):
    """Five systems, five texts each, five comparisons, a rating of the first text of each."""
    stories = shared_data / "spa_gpt3" / "stories.jsonl"
    pairs = [["ada", "human"], ["babbage", "ada"], ["curie", "babbage"], ["davinci", "curie"], ["human", "davinci"]]
    systems = "".join(f'[[systems]]\nid = "{name}"\n' for name in ("ada", "babbage", "curie", "davinci", "human"))
    (tmp_path / "study.toml").write_text(
        f'id = "stories"\ntitle = "Which writer is better?"\n{systems}'
        f'[outputs]\nfiles = ["{stories}"]\nlayout = "wide"\n'
        'item = ["reader_id", "prompt_index"]\nitem_text = "prompt"\n'
        '[[outputs.filters]]\nfield = "output"\nmin_characters = 1\n'
        f'[spa]\ndirections = "one"\ncomparisons = {pairs}\n[likert]\n',
        encoding="utf-8",
    )
    study = load_study(tmp_path / "study.toml")
    outputs = load_outputs(study)
    assert len(outputs.items) == 749  # one text of the 750 was cut to nothing
    texts = load_texts("en", {})
    labels: Counter[Any] = Counter()
    items: Counter[str] = Counter()
    first: Counter[Any] = Counter()
    for assignment, key in sample_assignments(study, outputs, count=90, rng=study_rng(study.seed)):
        form = build_form(study, outputs, assignment, key, texts)
        assert [page.kind for page in form.pages].count("reading") == 5
        assert [type(q.target) for q in form.questions("everybody")] == [PreferenceTarget] * 5 + [RatingTarget] * 5
        labels.update(key.systems.items())
        items.update({shown.item_id for shown in assignment.blocks[0].shown})
        first.update([tuple(sorted(key.systems[label] for label in assignment.comparisons[0].directions[0]))])
    assert set(labels.values()) == {18}
    assert set(items.values()) == {1}
    assert set(first.values()) == {18}


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


def test_the_interview_is_the_last_page_and_of_people_only():
    """Chiang & Lee (2023), appendix C.3.1: free questions after all ratings."""
    interview = [{"id": "time", "question": "How long?", "required": True}, {"id": "standard", "question": "By what?"}]
    (form,) = forms_of(small_study(likert={}, interview=interview))
    page = form.pages[-1]
    assert (page.kind, page.audience) == ("interview", "people")
    assert [question.answer for question in page.questions] == [TextAnswer(), TextAnswer(required=False)]
    assert [question.target for question in page.questions] == [
        InterviewTarget(interview_id=one["id"]) for one in interview
    ]
    assert "How long?" not in "\n".join(form_text(form, "everybody"))
    assert page.questions[0] not in list(form.questions("everybody"))
    (turned,) = forms_of(small_study(likert={}, interview=[{**interview[0], "first": True}, interview[1]]))
    kinds = [page.kind for page in turned.pages]
    assert (kinds.index("interview") < kinds.index("instructions"), kinds[-1]) == (True, "interview")
    assert [len(page.questions) for page in turned.pages if page.kind == "interview"] == [1, 1]


def test_numbering_keeps_every_other_field_of_a_page():
    """What is new on a page is kept when its number, title and blocks are set."""
    page = object.__new__(Page)
    for field in fields(Page):
        object.__setattr__(page, field.name, object())
    numbered = _changed(page, page_id="p1", title="Rate", blocks=())
    assert (numbered.page_id, numbered.title, numbered.blocks) == ("p1", "Rate", ())
    others = [field.name for field in fields(Page) if field.name not in ("page_id", "title", "blocks")]
    assert [name for name in others if getattr(numbered, name) is not getattr(page, name)] == []
