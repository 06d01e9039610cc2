"""The simulated rater's endpoint speaks the protocol, says what it is, and knows only its own forms."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from typing import Any

import httpx2
import jsonschema
import numpy as np
import pytest

from spa.forms.prompt_turns import PromptTurn, turns_of
from spa.records.form import Form
from spa.records.submission import SIMULATED_RATER, Response
from spa.responses.answers import answer_schema, parse_answers
from spa.server.http_server import serve_on_loopback
from spa.simulation.simulated_annotators import SimulatedAnnotator
from spa.simulation.simulated_endpoint import (
    STEADY,
    SimulatedModel,
    assignment_rng,
    create_endpoint,
)
from spa.simulation.true_utilities import TrueUtilities
from tests.spa.faulty_endpoint import SimulatedFaults, faulty_endpoint
from tests.spa.hand_made import hand_made

TRUTH = TrueUtilities(utilities={"good": 0.5, "poor": -0.5})
FORMS = [hand_made(name) for name in ("a00001", "a00002")]


def opening(form: Form) -> list[dict[str, Any]]:
    return [
        {"role": "system", "content": "Answer."},
        {"role": "user", "content": f"[p1] This is {form.assignment_id}."},
    ]


def put(form: Form) -> Iterator[tuple[PromptTurn, list[dict[str, Any]]]]:
    for ask in turns_of(form, "form"):
        yield ask, opening(form)


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with serve_on_loopback(create_endpoint(SimulatedModel(FORMS, put, TRUTH, seed=3))) as url:
        yield url


def request(form: Form, names: list[str] | None = None, more: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    questions = [q for q in form.questions("everybody") if names is None or q.question_id in names]
    schema = {
        "type": "json_schema",
        "json_schema": {"name": "form", "strict": True, "schema": answer_schema(questions)},
    }
    return {"model": "any", "messages": opening(form) + (more or []), "response_format": schema}


def said(response: httpx2.Response) -> dict[str, Any]:
    assert response.status_code == 200, response.text
    content: dict[str, Any] = json.loads(response.json()["choices"][0]["message"]["content"])
    return content


def test_simulated_answers_fit_the_schema(address: str) -> None:
    """Answers fit the schema and are those of the annotator behind."""
    for form, key in FORMS:
        body = request(form)
        response = httpx2.post(f"{address}/v1/chat/completions", json=body)
        answers = said(response)
        jsonschema.validate(answers, body["response_format"]["json_schema"]["schema"])
        questions = list(form.questions("everybody"))
        assert all(isinstance(answer, Response) for answer in parse_answers(questions, answers))
        rng = assignment_rng(3, form.assignment_id, {"persona": ["Answer."]})
        annotator = SimulatedAnnotator(TRUTH, STEADY, rng=rng)
        wanted = annotator.answers(form, key)
        assert {name: str(value) for name, value in answers.items()} == {name: wanted[name] for name in answers}
        assert list(answers) == [question.question_id for question in questions]


def test_simulated_endpoint_later_turn(address: str) -> None:
    """A later turn is about the same form and only what it names."""
    form, _ = FORMS[0]
    first = said(httpx2.post(f"{address}/v1/chat/completions", json=request(form)))
    name = list(first)[-1]
    more = [{"role": "assistant", "content": "Hm."}, {"role": "user", "content": "Again, please."}]
    second = said(httpx2.post(f"{address}/v1/chat/completions", json=request(form, [name], more)))
    assert second == {name: first[name]}


def test_it_says_that_it_is_simulated(address: str) -> None:
    completion = httpx2.post(f"{address}/v1/chat/completions", json=request(FORMS[0][0])).json()
    assert completion["model"] == SIMULATED_RATER == "simulated-rater"
    assert completion["usage"]["total_tokens"] == sum(
        completion["usage"][name] for name in ("prompt_tokens", "completion_tokens")
    )
    assert [model["id"] for model in httpx2.get(f"{address}/v1/models").json()["data"]] == [SIMULATED_RATER]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\xff",
        b"[]",
        b'{"messages": null}',
        b'{"messages": [1, {"role": []}]}',
        json.dumps({"messages": [{"role": "user", "content": "Which is better?"}]}).encode(),
    ],
)
def test_an_unknown_prompt_is_a_bad_request(address: str, body: bytes) -> None:
    response = httpx2.post(f"{address}/v1/chat/completions", content=body)
    assert response.status_code == 400
    assert response.json()["error"]["message"]


def test_faults_come_as_ordered_and_then_pass() -> None:
    faults = SimulatedFaults(statuses=(500, 429), retry_after="3", error_code="slow_down")
    with serve_on_loopback(faulty_endpoint(SimulatedModel(FORMS, put, TRUTH), faults)) as address:
        body = request(FORMS[0][0])
        answers = [httpx2.post(f"{address}/v1/chat/completions", json=body) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [500, 429, 200]
    assert answers[1].headers["retry-after"] == "3"
    assert answers[1].json()["error"]["code"] == "slow_down"


def test_simulated_endpoint_repeats_variants_raters(address: str) -> None:
    """Repeats variants and raters answer differently and each the same again."""
    form = FORMS[0][0]
    ways: list[dict[str, Any]] = [{}, {"seed": 3}, {"seed": 4}, {"temperature": 0.5}]
    bodies = [{**request(form), **way} for way in ways]
    bodies.append({**request(form), "messages": [{"role": "system", "content": "A critic."}, opening(form)[1]]})
    told = [said(httpx2.post(f"{address}/v1/chat/completions", json=body)) for body in bodies]
    assert told[0] == told[1]  # the seed of the first repeat is that of the simulation
    assert all(one != other for one, other in itertools.combinations(told[1:], 2))
    backwards = [said(httpx2.post(f"{address}/v1/chat/completions", json=body)) for body in reversed(bodies)]
    assert backwards[::-1] == told
    with serve_on_loopback(create_endpoint(SimulatedModel(FORMS, put, TRUTH, seed=3, rater_id="other"))) as elsewhere:
        assert said(httpx2.post(f"{elsewhere}/v1/chat/completions", json=bodies[0])) != told[0]


def test_simulated_endpoint_draws_by_assignment() -> None:
    """An assignment draws the same numbers whoever comes first."""
    first, again, other, reseeded = (
        assignment_rng(seed, name).random(3)
        for seed, name in ((1, "a00001"), (1, "a00001"), (1, "a00002"), (2, "a00001"))
    )
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    assert not np.array_equal(first, reseeded)
