"""The Responses API: what is sent, and what of its objects counts as what."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spa.errors import StudyError
from spa.raters.endpoints.http_endpoint import HTTPEndpoint
from spa.raters.reading import read_distribution
from spa.raters.run import rate_visits
from spa.raters.summary import RatingSummary
from spa.raters.vendors import read_body
from spa.raters.vendors.responses import RESPONSES_API, as_input
from spa.raters.visits import rater_visits
from spa.records.raters import Rater, rater_variants
from spa.study.load import load_study
from tests.spa.hand_made import FIVE
from tests.spa.rater_bench import Bench, PlainPrompts
from tests.spa.rater_bench import bench as bench
from tests.spa.raters.test_rater_distribution import question
from tests.spa.scripted_server import Asked, Said, http, middle, scripted


def rate(bench: Bench, url: str, **fields: Any) -> RatingSummary:
    rater = Rater(id="judge", model="m", base_url=url, provider="responses", **fields)
    endpoint = HTTPEndpoint(rater, RESPONSES_API, environment={})
    return rate_visits(
        bench, rater_visits(bench.store, rater_variants(rater), limit=1), PlainPrompts(), endpoint=endpoint
    )


def response(*parts: dict[str, Any], status: str = "completed", **more: Any) -> dict[str, Any]:
    message = {"type": "message", "role": "assistant", "content": list(parts)}
    usage = {"input_tokens": 90, "output_tokens": 7, "input_tokens_details": {"cached_tokens": 40}}
    output = [{"type": "reasoning", "summary": []}, message] if parts else []
    return {"object": "response", "status": status, "model": "m-2", "output": output, "usage": usage, **more}


def test_a_form_is_answered_and_a_rerun_asks_nothing(bench: Bench) -> None:
    with scripted(lambda asked: http(middle(asked))) as server:
        first = rate(bench, server.url, temperature=0.0, top_p=0.5, max_tokens=300)
        again = rate(bench, server.url, temperature=0.0, top_p=0.5, max_tokens=300)
    assert (first.finished, first.missing, first.prompt_tokens) == (1, {}, 100)
    assert (again.requests, len(server.asked)) == (0, 1)
    sent = server.asked[0].body
    assert server.asked[0].path == "/v1/responses"
    assert set(sent) == {"model", "input", "text", "temperature", "top_p", "max_output_tokens", "store", "stream"}
    assert (sent["store"], sent["stream"], sent["text"]["format"]["strict"]) == (False, False, True)
    record = json.loads(bench.calls()[0].request)
    assert [message["content"] for message in record["messages"]] == [one["content"] for one in sent["input"]]


def test_a_second_turn_carries_the_first(bench: Bench) -> None:
    def script(asked: Asked) -> Said:
        said = {"type": "output_text", "text": "Both have merits."}
        return http(response(said) if asked.number == 1 else middle(asked))

    with scripted(script) as server:
        assert rate(bench, server.url).missing == {}
    assert [one["role"] for one in server.asked[1].body["input"]] == ["user", "assistant", "user"]


@pytest.mark.parametrize(
    ("body", "outcome", "text"),
    [
        (response({"type": "output_text", "text": "4"}), "answered", "4"),
        (response({"type": "output_text", "text": "a"}, {"type": "output_text", "text": "b"}), "answered", "ab"),
        (response({"type": "refusal", "refusal": "I cannot."}), "refused", ""),
        (response({"type": "output_text", "text": "{"}, status="incomplete",
                  incomplete_details={"reason": "max_output_tokens"}), "truncated", "{"),
        (response(status="incomplete", incomplete_details={"reason": "content_filter"}), "refused", ""),
        (response(status="incomplete", incomplete_details={"reason": "max_output_tokens"}), "truncated", ""),
        (response(status="failed", error={"code": "server_error", "message": "broke"}), "failed", ""),
        (response(status="queued"), "unreadable", ""),
        (response({"type": "output_text", "text": "4"}, status="cancelled"), "unreadable", "4"),
        (response({"type": "output_text", "text": "4"}, status="incomplete",
                  incomplete_details={"reason": "abort"}), "unreadable", "4"),
        (response({"type": "output_text", "text": "2"}, {"type": "output_text", "text": "4"}), "answered", "2\n4"),
        ({"object": "response"}, "unreadable", ""),
        ({"object": "response", "output": [{"type": "message", "content": 3}, 7]}, "unreadable", ""),
    ],
)  # fmt: skip
def test_every_end_of_a_response_has_its_outcome(body: dict[str, Any], outcome: str, text: str) -> None:
    reply = read_body(json.dumps(body))
    assert (reply.outcome, reply.text) == (outcome, text)


def spoken(*messages: tuple[str | None, str]) -> dict[str, Any]:
    """Return a response of several messages, each with its phase."""
    found = response({"type": "output_text", "text": ""})
    found["output"] = [
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}
        | ({} if phase is None else {"phase": phase})
        for phase, text in messages
    ]
    return found


@pytest.mark.parametrize(
    ("messages", "text"),
    [
        ((("commentary", "First impression: 2"), ("final_answer", "4")), "4"),
        ((("commentary", "Fluency first: 3."), ("final_answer", "Rating: 5")), "Rating: 5"),
        ((("commentary", '{"q1": 2}'), ("final_answer", '{"q1": 4}')), '{"q1": 4}'),
        ((("final_answer", "4"), ("commentary", "Shorter than 5 lines.")), "4"),
        ((("commentary", "2"), ("commentary", "4")), "2\n4"),
        (((None, "First: 2"), (None, "4")), "First: 2\n4"),
        (((None, "2"), ("final_answer", "4"), ("final_answer", "So be it.")), "4\nSo be it."),
    ],
)
def test_responses_final_answer_alone_is_read(messages: tuple[tuple[str | None, str], ...], text: str) -> None:
    """What a model says on its way is no answer; two messages never make one number."""
    reply = read_body(json.dumps(spoken(*messages)))
    assert (reply.outcome, reply.text) == ("answered", text)


def test_tokens_are_read_by_their_names_here() -> None:
    reply = read_body(json.dumps(response({"type": "output_text", "text": "4"})))
    assert (reply.prompt_tokens, reply.completion_tokens, reply.cached_tokens, reply.model) == (90, 7, 40, "m-2")


def test_probabilities_of_the_first_token_are_read() -> None:
    top = [{"token": "4", "logprob": -0.105360516}, {"token": "5", "logprob": -2.302585093}]
    part = {"type": "output_text", "text": "4", "logprobs": [{**top[0], "top_logprobs": top}]}
    found = read_distribution(json.dumps(response(part)), question(FIVE))
    assert found.probabilities["4"] == pytest.approx(0.9)


@given(st.recursive(st.none() | st.integers() | st.text(), lambda one: st.lists(one) | st.dictionaries(
    st.sampled_from(["output", "content", "type", "text", "usage", "error"]), one), max_leaves=12))  # fmt: skip
def test_no_response_is_too_strange(value: Any) -> None:
    body = json.dumps({**(value if isinstance(value, dict) else {"output": value}), "object": "response"})
    assert read_body(body).body == body


def test_images_and_texts_are_put_as_the_api_takes_them() -> None:
    url = "data:image/png;base64,AAAA"
    parts = [{"type": "text", "text": "See"}, {"type": "image_url", "image_url": {"url": url}}]
    assert as_input({"role": "user", "content": parts})["content"] == [
        {"type": "input_text", "text": "See"},
        {"type": "input_image", "image_url": url, "detail": "auto"},
    ]


STUDY = """
id = "s"
title = "T"
[outputs]
files = ["outputs.jsonl"]
[[systems]]
id = "a"
[[systems]]
id = "b"
[spa]
[people]
annotators = 2
[[raters]]
id = "judge"
model = "m"
"""


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ('provider = "responses"\nseed = 3', "seed: expected no seed: the Responses API takes none"),
        ('provider = "batch"\nconversation = "page"', "a batch file has no second turn"),
    ],
)
def test_responses_endpoint_refusal_comes_first(tmp_path: Path, keys: str, said: str) -> None:
    """What an endpoint does not take is told before anything is asked."""
    path = tmp_path / "study.toml"
    path.write_text(STUDY + keys)
    with pytest.raises(StudyError) as caught:
        load_study(path)
    assert said in str(caught.value)
