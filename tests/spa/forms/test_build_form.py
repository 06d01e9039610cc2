"""The form of an assignment: which pages, in which order, saying what, and never a system's name."""

from __future__ import annotations

from collections import Counter
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings

from spa.elicitation import ways
from spa.elicitation.choices import ChoiceTarget
from spa.elicitation.ratings import RatingTarget
from spa.elicitation.spa import PreferenceTarget
from spa.forms.build import _changed, build_form
from spa.forms.texts import load_texts
from spa.records.form import (
    ConfirmationTarget,
    Exhibit,
    ExhibitsBlock,
    InterviewTarget,
    Page,
    ScreeningTarget,
)
from spa.records.outputs import Outputs
from spa.records.study import Study
from spa.study.load import load_study
from spa.study.outputs import load_outputs
from spa.study.sampling import sample_assignments, study_rng
from spa.widgets import NumberAnswer, OptionsAnswer, TextAnswer
from tests.spa.form_words import form_text
from tests.spa.forms.built_forms import MEANING, exhibits_of, forms_of, said
from tests.strategies import HOSTILE, outputs_of, small_study, studies


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
