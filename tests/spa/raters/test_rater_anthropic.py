"""Anthropic by its own client library: what is sent and read, held to the library's types; a paid reply is kept."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from anthropic import transform_schema

from spa.errors import PlatformError
from spa.raters.budget import Price, RaterBudget
from spa.raters.endpoints.endpoint import LLMReply, LLMRequest
from spa.raters.summary import RatingSummary
from spa.raters.vendors import read_body
from spa.raters.vendors.anthropic import enforced, messages_of, read_message
from spa.raters.vendors.anthropic.endpoint import AnthropicEndpoint, hint_of
from spa.records.raters import Rater, RaterProtocol
from spa.records.submission import Missing, Response
from tests import patience
from tests.spa.anthropic_server import AnthropicServer, error, message
from tests.spa.rater_bench import Bench
from tests.spa.rater_bench import bench as bench
from tests.spa.scripted_server import http, scripted
from tests.spa.study_files import problems_of, write_study

KEY = "sk-ant-very-secret-1234"


def endpoint_of(url: str, **fields: Any) -> AnthropicEndpoint:
    rater = Rater.model_validate(
        {"id": "judge", "model": "m", "provider": "anthropic", "max_tokens": 500, "base_url": url, **fields}
    )
    return AnthropicEndpoint(rater, environment={"ANTHROPIC_API_KEY": KEY}, timeout=patience.SECONDS)


def rate(bench: Bench, url: str, rater_budget: RaterBudget | None = None, **fields: Any) -> RatingSummary:
    async def sleep(seconds: float) -> None:
        bench.waits.append(seconds)

    return bench.rate_with(endpoint_of(url, **fields), sleep=sleep, rater_budget=rater_budget)


def said_to(answer: Any, **fields: Any) -> LLMReply:
    """Return what becomes of one answer."""
    server = AnthropicServer()
    server.says[1] = answer

    async def ask() -> LLMReply:
        async with endpoint_of(served.url, **fields) as endpoint:
            protocol = RaterProtocol(max_tokens=fields.get("max_tokens", 500), answer_format="json")
            messages = ({"role": "user", "content": "Which?"},)
            return await endpoint.ask(LLMRequest(messages=messages, questions=(), protocol=protocol))

    with scripted(server) as served:
        return asyncio.run(ask())


def test_forms_are_asked_and_answered(bench: Bench) -> None:
    server = AnthropicServer()
    with scripted(server) as served:
        summary = rate(bench, served.url, reasoning_effort="low")
    assert (summary.finished, summary.missing, summary.requests) == (3, {}, 3)
    assert (summary.prompt_tokens, summary.completion_tokens) == (300, 30)
    answers = [answer for one in bench.store.submissions() for answer in one.answers]
    assert all(isinstance(answer, Response) for answer in answers)
    sent = served.asked[0].body
    assert sent["output_config"]["effort"] == "low"
    assert {one["role"] for one in sent["messages"]} == {"user"}
    assert not {"temperature", "top_p", "top_k", "cache_control"} & set(sent)
    headers = served.headers[0]
    assert KEY in headers.get("x-api-key", "") + headers.get("authorization", "")
    record = bench.calls()[0]
    assert KEY not in record.request
    assert json.loads(record.request)["versions"]["anthropic"]
    assert json.loads(record.response or "")["usage"]["cache_read_input_tokens"] == 90


def test_cached_tokens_have_their_prices(bench: Bench) -> None:
    price = Price(input=10, output=100, cached_input=1, cache_write=12.5)
    paid = RaterBudget(price, budget=1.0)
    with scripted(AnthropicServer()) as served:
        rate(bench, served.url, rater_budget=paid)
    assert paid.spent == pytest.approx(3 * (7 * 10 + 90 * 1 + 3 * 12.5 + 10 * 100) / 1e6)
    facts = bench.calls()[0].facts
    assert (facts["prompt_tokens"], facts["cached_tokens"], facts["cache_write_tokens"]) == (100, 90, 3)


ENDS = {
    "end_turn": ("answered", ""),
    "stop_sequence": ("answered", ""),
    "max_tokens": ("truncated", ""),
    "refusal": ("refused", "I would rather not."),
    "pause_turn": ("unreadable", 'the reply ended with "pause_turn"'),
    "tool_use": ("unreadable", 'the reply ended with "tool_use"'),
    "model_context_window_exceeded": ("unreadable", 'the reply ended with "model_context_window_exceeded"'),
}


@pytest.mark.parametrize("ended", ENDS)
def test_only_a_whole_reply_is_an_answer(ended: str) -> None:
    found = said_to(message("I would rather not.", ended=ended))
    assert (found.outcome, found.detail) == ENDS[ended]
    assert found.text == "I would rather not."
    assert found.body is not None  # paid, and kept


def test_blocks_are_read_together() -> None:
    thought = {"type": "thinking", "thinking": "Perhaps 2.", "signature": "x"}
    blocks = [thought, *message("Rating: 2", "4")["content"]]
    found = read_message({**message(), "content": blocks}, "{}")
    assert found.text == "Rating: 2\n4"
    assert found.elsewhere == ("thinking",)


def test_a_refusal_is_told_in_its_words() -> None:
    details = {"type": "refusal", "category": "bio", "explanation": "It could do harm."}
    found = said_to(message("", ended="refusal", stop_details=details))
    assert (found.outcome, found.detail) == ("refused", "It could do harm.")


FAILURES: dict[str, tuple[Mapping[str, Any], str]] = {
    "overloaded": ({**error("overloaded_error", "Overloaded"), "status": 529}, "http_529"),
    "limit": ({**error("rate_limit_error", "Slow down"), "status": 429}, "http_429"),
    "key": ({**error("authentication_error", "invalid x-api-key"), "status": 401}, "http_401"),
    "quota": ({**error("invalid_request_error", "Your credit balance is too low"), "status": 400}, "quota"),
    "billing": ({**error("billing_error", "Pay first"), "status": 402}, "quota"),
    "schema": ({**error("invalid_request_error", "output_config.format: not supported"), "status": 400}, "no_schema"),
    "model": ({**error("not_found_error", "model: m"), "status": 404}, "http_404"),
}


@pytest.mark.parametrize("name", FAILURES)
def test_a_failure_is_one_request(bench: Bench, name: str) -> None:
    """The library retries twice by default, so that three requests would stand behind one line of the journal."""
    answer, outcome = FAILURES[name]
    server = AnthropicServer()
    server.says = {number: dict(answer) for number in range(1, 2)}
    with scripted(server) as served:
        summary = rate(bench, served.url, concurrency=1)
    calls = [call.outcome for visit in (1, 2, 3) for call in bench.calls(f"judge/1/a0000{visit}")]
    assert calls[0] == outcome
    assert len(served.asked) == len(calls)
    if outcome in ("http_529", "http_429"):
        assert summary.finished == 3
    else:
        assert "judge" in (summary.problem or "")
    if outcome == "http_401":
        assert "ANTHROPIC_API_KEY" in (summary.problem or "")


def test_what_breaks_off_is_told(bench: Bench) -> None:
    with scripted(AnthropicServer("POST")) as served:
        summary = rate(bench, served.url, concurrency=1)
    assert summary.finished == 3
    assert [call.outcome for call in bench.calls()] == ["dropped", "ok"]
    nobody = rate(bench, "http://127.0.0.1:9", id="other")
    assert "cannot be reached" in (nobody.problem or "")


def test_a_long_answer_is_streamed() -> None:
    """The library raises before it sends more than 21,333 tokens in one piece."""
    started = {**message(), "content": [], "stop_reason": None}
    events = [
        {"type": "message_start", "message": started},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        *({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": part}} for part in "ab"),
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 12}},
        {"type": "message_stop"},
    ]
    lines = "".join(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n" for one in events)
    found = said_to(http(lines, content_type="text/event-stream"), max_tokens=64_000)
    assert (found.outcome, found.text, found.completion_tokens, found.prompt_tokens) == ("answered", "ab", 12, 100)
    assert read_body(found.body or "").text == "ab"
    broken = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    cut = lines.split("event: message_delta")[0] + f"event: error\ndata: {json.dumps(broken)}\n\n"
    assert said_to(http(cut, content_type="text/event-stream"), max_tokens=64_000).outcome == "http_529"


def test_bounds_leave_the_schema_without_a_word() -> None:
    asked = {"type": "object", "properties": {"q": {"type": "integer", "minimum": 0, "maximum": 100}}}
    assert enforced(asked) == {"type": "object", "properties": {"q": {"type": "integer"}}}
    library = transform_schema({"type": "integer", "minimum": 0, "maximum": 100})
    assert "minimum" in library["description"]  # new words to the model, which we do not send
    ranks = {"type": "integer", "minimum": 1, "maximum": 3}
    assert enforced({"anyOf": [{"type": "array", "items": ranks}]}) == {
        "anyOf": [{"type": "array", "items": {"type": "integer", "enum": [1, 2, 3]}}]
    }


def test_a_number_out_of_range_is_not_an_answer(bench: Bench) -> None:
    server = AnthropicServer()
    forms = [bench.form(f"a0000{number}").questions("everybody") for number in (1, 2, 3)]
    for number, questions in enumerate(forms, 1):
        server.says[number] = message(json.dumps({one.question_id: 140 for one in questions}))
    with scripted(server) as served:
        summary = rate(bench, served.url, attempts=1, concurrency=1)
    counted = {reason for reason in summary.missing if "whole number" in reason}
    assert counted == {"out of range: expected a whole number from 0 to 100"}
    answers = [answer for one in bench.store.submissions() for answer in one.answers]
    assert all(isinstance(answer, Missing) for answer in answers)


def test_what_stands_before_the_talk_goes_apart() -> None:
    messages = ({"role": "system", "content": "You are a reader."}, {"role": "user", "content": "Which?"})
    sent = messages_of(LLMRequest(messages=messages, questions=(), protocol=RaterProtocol()))
    assert sent == {"system": "You are a reader.", "messages": [{"role": "user", "content": "Which?"}]}


def test_images_go_as_their_bytes() -> None:
    part = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
    messages = ({"role": "user", "content": [{"type": "text", "text": "Which?"}, part]},)
    endpoint = endpoint_of("http://127.0.0.1:9")
    request = LLMRequest(messages=messages, questions=(), protocol=RaterProtocol(answer_format="json"))
    source = endpoint.body(request)["messages"][0]["content"][1]["source"]
    assert source == {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}
    assert "iVBOR" not in endpoint.record(request)


def test_a_long_conversation_is_kept_for_its_next_page() -> None:
    endpoint = endpoint_of("http://127.0.0.1:9")
    for letters, kept in ((4 * 4096, True), (4 * 4096 - 1, False)):
        messages = ({"role": "user", "content": "x" * letters},)
        protocol = RaterProtocol(answer_format="json", conversation="page")
        body = endpoint.body(LLMRequest(messages=messages, questions=(), protocol=protocol))
        assert ("cache_control" in body) == kept


def test_the_limiter_is_read() -> None:
    told = {
        "anthropic-ratelimit-requests-limit": "50",
        "anthropic-ratelimit-requests-remaining": "5",
        "anthropic-ratelimit-requests-reset": "2020-01-01T00:00:00Z",
    }
    hint = hint_of(told)
    assert hint is not None
    assert (hint.share_left, hint.reset) == (0.1, 0.0)
    assert hint_of({}) is None


REFUSED = ("temperature = 0.5", "top_p = 0.9", "seed = 3", "max_completion_tokens = 9", "extra_body = { top_k = 3 }")


@pytest.mark.parametrize("line", REFUSED)
def test_what_the_library_has_no_more_is_refused(tmp_path: Path, line: str) -> None:
    rest = f'[spa]\n[[raters]]\nid = "j"\nmodel = "m"\nprovider = "anthropic"\nmax_tokens = 99\n{line}\n'
    told = problems_of(write_study(tmp_path, rest=rest))
    assert any(f"[[raters]] j, {line.split()[0]}" in one for one in told)


def test_what_it_needs_is_told(tmp_path: Path) -> None:
    rest = '[spa]\n[[raters]]\nid = "j"\nmodel = "m"\nprovider = "anthropic"\n'
    (line,) = problems_of(write_study(tmp_path, rest=rest))
    assert "[[raters]] j, max_tokens: expected a number: Anthropic's API takes no request without it" in line
    logit = 'readout = "logit"\nconversation = "question"\nanswer_format = "text"\nmax_tokens = 9\n'
    (line,) = problems_of(write_study(tmp_path, rest=rest + logit))
    assert "gives no probabilities" in line


def test_a_missing_key_is_told() -> None:
    rater = Rater(id="judge", model="m", provider="anthropic", max_tokens=9)
    with pytest.raises(PlatformError, match="expected a key in the environment variable ANTHROPIC_API_KEY"):
        AnthropicEndpoint(rater, environment={})
