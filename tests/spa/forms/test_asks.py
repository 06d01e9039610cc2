"""However a form is cut for an LLM, the parts are the form's own words, in its order, and nothing is lost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest
from hypothesis import given, settings

from spa.elicitation.choices import ChoiceTarget
from spa.elicitation.ratings import RatingTarget
from spa.forms.prompt import TextPart, render_prompt, render_turn
from spa.forms.prompt_turns import PromptTurn, turns_of
from spa.records.form import ExhibitsBlock
from spa.records.outputs import Outputs
from spa.records.study import Study
from tests.spa.form_words import form_text
from tests.spa.forms.test_build_form import forms_of
from tests.strategies import studies

WAYS = ("form", "page", "question")


def own_words(ask: PromptTurn) -> list[str]:
    return [part.text for part in render_turn(ask).parts if isinstance(part, TextPart) and part.wrapper is None]


def is_within(part: Sequence[str], whole: Sequence[str]) -> bool:
    rest: Iterator[str] = iter(whole)
    return all(one in rest for one in part)


@pytest.mark.parametrize("way", WAYS)
@given(case=studies())
@settings(max_examples=30, deadline=None)
def test_every_question_is_asked_once_in_the_order_of_the_form(way: str, case: tuple[Study, Outputs]) -> None:
    for form in forms_of(*case, 2):
        asks = turns_of(form, way)  # type: ignore[arg-type]
        asked = [question for ask in asks for question in ask.questions]
        assert asked == list(form.questions("everybody"))
        assert asks[0].alone
        assert [page for ask in asks for page in ask.pages if page.audience != "everybody"] == []


@given(studies())
@settings(max_examples=30, deadline=None)
def test_page_by_page_says_what_the_whole_form_says(case: tuple[Study, Outputs]) -> None:
    for form in forms_of(*case, 2):
        whole = [part for part in render_prompt(form).parts if not (isinstance(part, TextPart) and part.text == "\n")]
        cut = [
            part
            for ask in turns_of(form, "page")
            for part in render_turn(ask).parts
            if not (isinstance(part, TextPart) and part.text == "\n")
        ]
        assert cut == whole[: len(cut)]
        assert not [
            part for part in whole[len(cut) :] if isinstance(part, TextPart) and part.wrapper == "question marker"
        ]


@given(studies())
@settings(max_examples=30, deadline=None)
def test_asks_single_question_comes_last(case: tuple[Study, Outputs]) -> None:
    """A question alone comes last after what it is about and no other output."""
    for form in forms_of(*case, 2):
        said = list(form_text(form, "everybody"))
        for ask in turns_of(form, "question"):
            (question,) = ask.questions
            assert ask.alone
            assert ask.pages[-1].blocks[-1] == question
            assert is_within([text for text in own_words(ask) if text], said)
            if not isinstance(question.target, RatingTarget | ChoiceTarget):
                continue
            shown = {
                (one.label, one.item_id, one.sample)
                for block in ask.pages[-1].blocks
                if isinstance(block, ExhibitsBlock)
                for one in block.exhibits
                if one.label is not None
            }
            target = question.target
            wanted = (
                {(target.label, target.item_id, target.sample)}
                if isinstance(target, RatingTarget)
                else {
                    (target.label_x, target.item_id, target.sample_x),
                    (target.label_y, target.item_id, target.sample_y),
                }
            )
            assert shown == wanted
