"""What a way of asking adds is part of the form, said to page and prompt alike, and never changes what is asked."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from spa.elicitation.choices import ChoiceTarget
from spa.elicitation.ratings import RatingTarget
from spa.forms.build import build_form
from spa.forms.prompt_turns import turns_of
from spa.forms.texts import load_texts
from spa.records.clean_text import cleaned
from spa.records.form import ExhibitsBlock, ExplanationTarget, Form, Judgement, Question, TextBlock
from spa.records.outputs import Outputs
from spa.records.raters import RaterProtocol
from spa.records.study import Study
from spa.records.submission import Missing, Response
from spa.responses.answer_rows import target_from_json, target_to_json
from spa.responses.answers import answer_schema, parse_answers
from spa.study.sampling import sample_assignments, study_rng
from spa.study.validation import validate_study
from spa.widgets import TextAnswer
from tests.spa.forms.test_form_equality import check_one_form
from tests.strategies import outputs_of, small_study, studies


def forms(case: tuple[Study, Outputs], protocol: RaterProtocol) -> list[Form]:
    study, outputs = case
    texts = load_texts(study.language, study.texts)
    draws = list(sample_assignments(study, outputs, count=1, rng=study_rng(study.seed)))
    return [build_form(study, outputs, assignment, key, texts, protocol) for assignment, key in draws]


@pytest.mark.parametrize("place", ["before", "after"])
@given(case=studies())
@settings(max_examples=20, deadline=None)
def test_every_answer_is_explained_once_beside_it(place: str, case: tuple[Study, Outputs]) -> None:
    (plain,), (explained,) = forms(case, RaterProtocol()), forms(case, RaterProtocol(explain=place))  # type: ignore[arg-type]
    asked = [question.target for question in plain.questions("people")]
    both = [question.target for question in explained.questions("people")]
    assert [target for target in both if not isinstance(target, ExplanationTarget)] == asked
    step = 1 if place == "before" else -1
    for position, target in enumerate(both):
        if isinstance(target, ExplanationTarget):
            assert both[position + step] == target.of
    assert sum(isinstance(target, ExplanationTarget) for target in both) == sum(
        isinstance(target, Judgement) for target in asked
    )
    check_one_form(explained)


@given(studies())
@settings(max_examples=20, deadline=None)
def test_a_question_put_alone_brings_its_explanation(case: tuple[Study, Outputs]) -> None:
    (form,) = forms(case, RaterProtocol(explain="before"))
    for ask in turns_of(form, "question"):
        targets = [question.target for question in ask.questions]
        if len(targets) == 2:
            assert targets[0] == ExplanationTarget(of=targets[1])  # type: ignore[arg-type]
        else:
            assert not isinstance(targets[0], Judgement)
    assert [q for ask in turns_of(form, "question") for q in ask.questions] == list(form.questions("everybody"))


@given(studies())
@settings(max_examples=20, deadline=None)
def test_guidelines_and_reference_are_shown_to_everybody(case: tuple[Study, Outputs]) -> None:
    study, outputs = case
    system = study.systems[0].id
    (form,) = forms(case, RaterProtocol(guidelines="Mind the *end*.", reference=system))
    (page,) = [page for page in form.pages if page.kind == "instructions" and page.audience == "everybody"]
    assert page.blocks[-1] == TextBlock(markdown="Mind the *end*.")
    for page in form.pages:
        rated = [q for q in page.questions if isinstance(q.target, RatingTarget | ChoiceTarget)]
        if page.kind not in ("rating", "choice") or not rated:
            continue
        items = {q.target.item_id for q in rated if isinstance(q.target, RatingTarget | ChoiceTarget)}
        captions = {
            (one.item_id, one.text)
            for block in page.blocks
            if isinstance(block, ExhibitsBlock)
            for one in block.exhibits
            if one.caption.startswith("Reference text")
        }
        assert {item for item, _ in captions} >= items
        assert all(cleaned(outputs.of(item, system)[0].text or "") == text for item, text in captions)
    check_one_form(form)


@pytest.mark.parametrize(
    ("language", "another", "not_rated"),
    [("en", "another", "Do not rate it"), ("zh", "另一", "请勿评分"), ("ar", "آخر", "لا تقيّمه")],
)
def test_reference_shown_is_not_rated_itself(language: str, another: str, not_rated: str) -> None:
    """Chhun et al. (2024), fourth prompt; their human stories are rated as well as shown for reference."""
    study = small_study(language=language, likert={"outputs": "all"}, spa=None)
    (form,) = forms((study, outputs_of(study)), RaterProtocol(reference="zzgood"))
    exhibits = [
        one
        for page in form.pages
        for block in page.blocks
        if isinstance(block, ExhibitsBlock)
        for one in block.exhibits
    ]
    rated = {one.text for one in exhibits if one.label is not None}
    captions = {one.caption for one in exhibits if one.label is None and one.text in rated}
    assert captions
    assert all(another not in caption and not_rated in caption for caption in captions)


@pytest.mark.parametrize("of_rater", [False, True])
@pytest.mark.parametrize("explain", ["no", "before", "after"])
def test_criterion_guidelines_above_first_question(of_rater: bool, explain: Any) -> None:
    """Guidelines of a criterion stand above its first question on a page."""
    words = {"fluency": "1: *halting*", "meaning": "1: **lost**"}
    criteria = [
        {"id": name, "name": name, "guidelines": "replaced" if of_rater else text} for name, text in words.items()
    ]
    study = small_study(criteria=criteria, likert={"outputs": "all", "pages": "one"}, choices={})
    added = tuple(words.items()) if of_rater else None
    (form,) = forms((study, outputs_of(study)), RaterProtocol(explain=explain, guidelines=added))
    for page in form.pages:
        asked = [block.criterion for block in page.blocks if isinstance(block, Question | TextBlock)]
        first = {name: asked.index(name) for name in words if name in asked}
        guided = [
            (block.criterion, block.markdown)
            for block in page.blocks
            if isinstance(block, TextBlock) and block.criterion
        ]
        assert guided == [(name, words[name]) for name in first]
        assert all(
            isinstance([b for b in page.blocks if not isinstance(b, ExhibitsBlock)][at], TextBlock)
            for at in first.values()
        )
    for ask in turns_of(form, "question"):
        seen = {block.criterion for page in ask.pages for block in page.blocks if isinstance(block, TextBlock)}
        assert seen - {None} == {question.criterion for question in ask.questions} & set(words)
    check_one_form(form)


def test_guidelines_of_a_rater_name_criteria_of_the_study() -> None:
    rater = {"id": "r", "model": "m", "guidelines": {"sense": "1: none", "overall": "1: bad"}}
    (finding,) = validate_study(small_study(raters=[rater]))
    assert all(words in finding.message for words in ("[[raters]] r, guidelines", "the id of a criterion", '"sense"'))


def test_an_explanation_is_kept_as_it_is(tmp_path: Path) -> None:
    target = ExplanationTarget(
        of=RatingTarget(label="A", item_id="i1", sample=1, criterion="fluency", elicitation="likert")
    )
    assert target_from_json(target_to_json(target)) == target


@given(studies())
@settings(max_examples=10, deadline=None)
def test_texts_are_read_like_everything_else(case: tuple[Study, Outputs]) -> None:
    (form,) = forms(case, RaterProtocol(explain="after"))
    texts = [q for q in form.questions("everybody") if isinstance(q.target, ExplanationTarget)]
    for question in texts[:1]:
        assert answer_schema([question])["properties"] == {question.question_id: {"type": "string"}}
        (kept,) = parse_answers([question], {question.question_id: "  <b>Because</b>\n"})
        assert isinstance(kept, Response)
        assert kept.value == "  <b>Because</b>\n"
        for raw, reason in (
            ("", "no answer"),
            ("  ", "no answer"),
            (7, "expected a text"),
            ("x" * 5001, "at most 5000"),
        ):
            (missing,) = parse_answers([question], {question.question_id: raw})
            assert isinstance(missing, Missing)
            assert reason in missing.reason
        (left_out,) = parse_answers(
            [replace(question, answer=TextAnswer(required=False))],
            {question.question_id: ""},
        )
        assert isinstance(left_out, Response)
