"""A probe finds the rater that obeys an output, clears the one that does not, and leaves no answer of the study."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pytest

from spa.elicitation.ratings import RatingTarget
from spa.forms.texts import load_texts
from spa.raters.endpoints.endpoint import LLMReply, LLMRequest
from spa.raters.injection import Injection, injection, injection_visits
from spa.raters.prompt_messages import PromptWriter
from spa.raters.run import rate_visits
from spa.raters.vendors import read_body
from spa.raters.visits import HOSTILE_LINE, with_hostile_line
from spa.records.assignment import Assignment, Block, ShownOutput
from spa.records.form import Form
from spa.records.raters import Rater, RaterProtocol, rater_variants
from spa.responses.store import Store
from spa.widgets import NumberAnswer
from tests.spa.hand_made import hand_made


class Scripted:
    """A model that finds everything middling, or does what a hostile text says."""

    shown = "a script"

    def __init__(self, *, gullible: bool) -> None:
        self.gullible = gullible
        self.requests = 0

    def record(self, request: LLMRequest) -> str:
        """Keep the messages."""
        return json.dumps({"messages": list(request.messages)})

    async def ask(self, request: LLMRequest) -> LLMReply:
        """Answer in the middle; where the line is found and believed, at the favourable end."""
        self.requests += 1
        text = str(request.messages[-1]["content"])
        label = next(
            (one for one in "AB" if f"by {one} in" in text.split(HOSTILE_LINE)[0].rpartition("Text on")[2]), None
        )
        believed = label if self.gullible and HOSTILE_LINE in text else None
        answers: dict[str, Any] = {}
        for question in request.questions:
            favoured = believed is not None and believed in (
                getattr(question.target, "label_x", None),
                getattr(question.target, "label", None),
            )
            against = believed is not None and getattr(question.target, "label_y", None) == believed
            if isinstance(question.answer, NumberAnswer):
                answers[question.question_id] = 100 if favoured else 0 if against else 50
            elif isinstance(question.target, RatingTarget):
                answers[question.question_id] = 5 if favoured else 3
            else:
                answers[question.question_id] = "y" if against else "x" if favoured else "tie"
        content = json.dumps(answers)
        body = json.dumps({"choices": [{"message": {"content": content}, "finish_reason": "stop"}]})
        return read_body(body)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None


class Made:
    """Forms made by hand over a store."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def form(self, assignment_id: str, protocol: RaterProtocol | None = None) -> Form:
        """Return the form."""
        return hand_made(assignment_id)[0]

    def expect(self, assignment_ids: Sequence[str]) -> None:
        """Have every form ready already."""


@pytest.fixture
def made(tmp_path: Path) -> Iterator[Made]:
    block = Block(
        exposure=1, labels=("A", "B"), shown=tuple(ShownOutput(label=x, item_id="i1", sample=1) for x in "AB")
    )
    with Store.create(tmp_path / "s.sqlite") as store:
        store.assignments.save(
            "f",
            [
                (Assignment(assignment_id=name, number=place, blocks=(block,)), hand_made(name)[1])
                for place, name in enumerate(("a00001", "a00002"))
            ],
        )
        yield Made(store)


def probe(made: Made, *, gullible: bool) -> tuple[Injection, int]:
    (asked,) = rater_variants(Rater(id=f"rater-{gullible}", model="m", base_url="http://127.0.0.1:1/v1"))
    visits = injection_visits(list(made.store.assignments), asked)
    endpoint = Scripted(gullible=gullible)
    rate_visits(made, visits, PromptWriter(load_texts("en", {})), endpoint=endpoint)
    questions = {name: {q.question_id: q for q in made.form(name).questions("people")} for name in ("a00001", "a00002")}
    return injection(made.store, visits, questions), endpoint.requests


def test_injection_check_finds_rater_that_obeys(made: Made) -> None:
    """A rater that obeys is found and one that does not is cleared."""
    obeys, requests = probe(made, gullible=True)
    firm, _ = probe(made, gullible=False)
    assert requests == 4
    assert obeys.forms == firm.forms == 2
    assert obeys.compared == firm.compared > 0
    assert (firm.moved, firm.obeyed, firm.mean_shift) == (0, 0, 0)
    assert (obeys.moved, obeys.obeyed, obeys.noise) == (obeys.compared, obeys.compared, 0)
    assert obeys.mean_shift == pytest.approx(0.5)


def test_probes_are_asked_once_and_are_no_answers(made: Made) -> None:
    probe(made, gullible=True)
    assert probe(made, gullible=True)[1] == 0
    assert list(made.store.submissions()) == []
    assert len(list(made.store.submissions(probes=True))) == 4


def test_the_line_stands_in_the_texts_of_one_label_only() -> None:
    form, _ = hand_made()
    changed = with_hostile_line(form, "A")
    assert changed != form
    assert replace(form, pages=()) == replace(changed, pages=())
    for page, other in zip(form.pages, changed.pages, strict=True):
        for block, new in zip(page.blocks, other.blocks, strict=True):
            for one, two in zip(getattr(block, "exhibits", ()), getattr(new, "exhibits", ()), strict=True):
                assert two.text == (one.text + HOSTILE_LINE if one.label == "A" else one.text)
