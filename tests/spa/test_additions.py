"""What a way of asking adds is part of the form, said to page and prompt alike, and never changes what is asked."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings

from spa.forms.additions import NOTHING, Additions
from spa.forms.asks import asks_of
from spa.forms.build import build_form
from spa.forms.form import (
    ChoiceTarget,
    ExhibitsBlock,
    ExplanationTarget,
    Form,
    PreferenceTarget,
    RatingTarget,
    TextBlock,
)
from spa.forms.texts import load_texts
from spa.responses.answer_rows import target_from_json, target_to_json
from spa.responses.answers import answer_schema, parse_answers
from spa.responses.submission import Missing, Response
from spa.study.outputs import Outputs
from spa.study.outputs_reading import cleaned
from spa.study.sampling import sample_assignments, study_rng
from spa.study.study import Study
from tests.spa.test_form_equality import check_one_form
from tests.strategies import studies

EXPLAINED = (PreferenceTarget, RatingTarget, ChoiceTarget)


def forms(case: tuple[Study, Outputs], additions: Additions) -> list[Form]:
    study, outputs = case
    texts = load_texts(study.language, study.texts)
    draws = list(sample_assignments(study, outputs, count=1, rng=study_rng(study.seed)))
    return [build_form(study, outputs, assignment, key, texts, additions) for assignment, key in draws]


@pytest.mark.parametrize("place", ["before", "after"])
@given(case=studies())
@settings(max_examples=20, deadline=None)
def test_every_answer_is_explained_once_beside_it(place: str, case: tuple[Study, Outputs]) -> None:
    (plain,), (explained,) = forms(case, NOTHING), forms(case, Additions(explain=place))  # type: ignore[arg-type]
    asked = [question.target for question in plain.questions("people")]
    both = [question.target for question in explained.questions("people")]
    assert [target for target in both if not isinstance(target, ExplanationTarget)] == asked
    step = 1 if place == "before" else -1
    for position, target in enumerate(both):
        if isinstance(target, ExplanationTarget):
            assert both[position + step] == target.of
    assert sum(isinstance(target, ExplanationTarget) for target in both) == sum(
        isinstance(target, EXPLAINED) for target in asked
    )
    check_one_form(explained)


@given(studies())
@settings(max_examples=20, deadline=None)
def test_a_question_put_alone_brings_its_explanation(case: tuple[Study, Outputs]) -> None:
    (form,) = forms(case, Additions(explain="before"))
    for ask in asks_of(form, "question"):
        targets = [question.target for question in ask.questions]
        if len(targets) == 2:
            assert targets[0] == ExplanationTarget(of=targets[1])  # type: ignore[arg-type]
        else:
            assert not isinstance(targets[0], EXPLAINED)
    assert [q for ask in asks_of(form, "question") for q in ask.questions] == list(form.questions("everybody"))


@given(studies())
@settings(max_examples=20, deadline=None)
def test_guidelines_and_reference_are_shown_to_everybody(case: tuple[Study, Outputs]) -> None:
    study, outputs = case
    system = study.systems[0].id
    (form,) = forms(case, Additions(guidelines="Mind the *end*.", reference=system))
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
            if one.caption.startswith("For orientation: another")
        }
        assert {item for item, _ in captions} >= items
        assert all(cleaned(outputs.of(item, system)[0].text or "") == text for item, text in captions)
    check_one_form(form)


def test_an_explanation_is_kept_as_it_is(tmp_path: Path) -> None:
    target = ExplanationTarget(
        of=RatingTarget(label="A", item_id="i1", sample=1, criterion="fluency", elicitation="likert")
    )
    assert target_from_json(target_to_json(target)) == target


@given(studies())
@settings(max_examples=10, deadline=None)
def test_texts_are_read_like_everything_else(case: tuple[Study, Outputs]) -> None:
    (form,) = forms(case, Additions(explain="after"))
    texts = [q for q in form.questions("everybody") if isinstance(q.target, ExplanationTarget)]
    for question in texts[:1]:
        assert answer_schema([question])["properties"] == {question.question_id: {"type": "string"}}
        (kept,) = parse_answers([question], {question.question_id: "  <b>Because</b>\n"})
        assert isinstance(kept, Response)
        assert kept.value == "  <b>Because</b>\n"
        for raw, reason in (("", "no answer"), ("  ", "no answer"), (7, "wanted a text"), ("x" * 5001, "at most 5000")):
            (missing,) = parse_answers([question], {question.question_id: raw})
            assert isinstance(missing, Missing)
            assert reason in missing.reason
        (left_out,) = parse_answers(
            [replace(question, answer=replace(question.answer, required=False))],  # type: ignore[type-var]
            {question.question_id: ""},
        )
        assert isinstance(left_out, Response)
