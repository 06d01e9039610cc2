"""Gemini by Google's client library: what is sent and read, held to the library's types; one request a call."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from spa.errors import PlatformError
from spa.raters.endpoints.endpoint import LLMReply, LLMRequest
from spa.raters.summary import RatingSummary
from spa.raters.vendors import top_tokens
from spa.raters.vendors.gemini import messages_of
from spa.raters.vendors.gemini.endpoint import GeminiEndpoint
from spa.records.raters import Rater, RaterProtocol
from spa.records.submission import Response
from tests import patience
from tests.spa.gemini_server import GeminiServer, error, refuses, response
from tests.spa.rater_bench import Bench
from tests.spa.rater_bench import bench as bench
from tests.spa.scripted_server import http, scripted
from tests.spa.study_files import problems_of, write_study

KEY = "AIza-very-secret-1234"


def endpoint_of(url: str, **fields: Any) -> GeminiEndpoint:
    rater = Rater.model_validate({"id": "judge", "model": "m", "provider": "gemini", "base_url": url, **fields})
    return GeminiEndpoint(rater, environment={"GEMINI_API_KEY": KEY}, timeout=patience.SECONDS)


def rate(bench: Bench, url: str, **fields: Any) -> RatingSummary:
    async def sleep(seconds: float) -> None:
        bench.waits.append(seconds)

    return bench.rate_with(endpoint_of(url, **fields), sleep=sleep)


def said_to(answer: Any, **fields: Any) -> LLMReply:
    """Return what becomes of one answer."""
    server = GeminiServer()
    server.says[1] = answer

    async def ask() -> LLMReply:
        async with endpoint_of(served.url, **fields) as endpoint:
            protocol = RaterProtocol(answer_format="json")
            messages = ({"role": "user", "content": "Which?"},)
            return await endpoint.ask(LLMRequest(messages=messages, questions=(), protocol=protocol))

    with scripted(server) as served:
        return asyncio.run(ask())


def test_forms_are_asked_and_answered(bench: Bench) -> None:
    server = GeminiServer()
    with scripted(server) as served:
        summary = rate(bench, served.url, temperature=0.5, seed=3, max_tokens=99, reasoning_effort="low")
    assert (summary.finished, summary.missing, summary.requests) == (3, {}, 3)
    assert (summary.prompt_tokens, summary.completion_tokens) == (300, 30)
    answers = [answer for one in bench.store.submissions() for answer in one.answers]
    assert all(isinstance(answer, Response) for answer in answers)
    settings = served.asked[0].body["generationConfig"]
    assert (settings["temperature"], settings["seed"], settings["maxOutputTokens"]) == (0.5, 3, 99)
    assert settings["thinkingConfig"] == {"thinking_level": "LOW"}  # the API takes both spellings
    assert "responseSchema" not in settings
    assert served.headers[0]["x-goog-api-key"] == KEY
    call = bench.calls()[0]
    assert KEY not in call.request
    assert json.loads(call.request)["versions"]["google-genai"]
    assert call.facts["cached_tokens"] == 80


ENDS = {
    "STOP": ("answered", ""),
    "MAX_TOKENS": ("truncated", ""),
    "SAFETY": ("refused", "SAFETY"),
    "PROHIBITED_CONTENT": ("refused", "PROHIBITED_CONTENT"),
    "MODEL_ARMOR": ("refused", "MODEL_ARMOR"),
    "ESCALATION": ("refused", "ESCALATION"),
    "MALFORMED_RESPONSE": ("unreadable", 'the reply ended with "MALFORMED_RESPONSE"'),
    "CONTINUATION": ("unreadable", 'the reply ended with "CONTINUATION"'),
    "": ("unreadable", 'the reply ended with "nothing"'),
}


@pytest.mark.parametrize("ended", ENDS)
def test_only_a_whole_reply_is_an_answer(ended: str) -> None:
    found = said_to(response("70", ended=ended or None))
    assert (found.outcome, found.detail) == ENDS[ended]
    assert (found.text, found.completion_tokens) == ("70", 10)


def test_an_end_that_is_newer_than_the_library_is_kept() -> None:
    found = said_to({**response("70"), "candidates": [{**response("70")["candidates"][0], "finishReason": "NOVEL"}]})
    assert (found.outcome, found.detail) == ("unreadable", 'the reply ended with "NOVEL"')


def test_thoughts_are_no_answer() -> None:
    found = said_to(response(parts=[{"text": "Perhaps 20.", "thought": True}, {"text": "70"}]))
    assert found.text == "70"


def test_a_blocked_prompt_is_a_refusal() -> None:
    found = said_to({"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {"promptTokenCount": 9}})
    assert (found.outcome, found.detail, found.prompt_tokens) == ("refused", "SAFETY", 9)


LATER = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34s"}
DAY = {"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [{"quotaId": "RequestsPerDay"}]}
BAD = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}
FAILURES = {
    "busy": (error(503, "UNAVAILABLE", "The model is overloaded."), "http_503"),
    "limit": (error(429, "RESOURCE_EXHAUSTED", "Quota exceeded", LATER), "http_429"),
    "day": (error(429, "RESOURCE_EXHAUSTED", "Quota exceeded", DAY), "quota"),
    "key": (error(400, "INVALID_ARGUMENT", "API key not valid.", BAD), "http_401"),
    "schema": (error(400, "INVALID_ARGUMENT", "response_json_schema is not supported"), "no_schema"),
    "page": (http("<html><title>Bad Gateway</title></html>", status=502), "http_502"),
    "moved": (http("", status=307, location="http://127.0.0.1:9/"), "http_307"),
}


@pytest.mark.parametrize("name", FAILURES)
def test_a_failure_is_one_request(bench: Bench, name: str) -> None:
    answer, outcome = FAILURES[name]
    server = GeminiServer()
    server.says[1] = answer
    with scripted(server) as served:
        rate(bench, served.url, concurrency=1)
    calls = [call.outcome for visit in (1, 2, 3) for call in bench.calls(f"judge/1/a0000{visit}")]
    assert calls[0] == outcome
    assert len(served.asked) == len(calls)


def test_how_long_to_wait_is_read() -> None:
    assert said_to(FAILURES["limit"][0]).retry_after == 34.0


def test_what_breaks_off_is_one_request_too(bench: Bench) -> None:
    """The library would send a second one by itself, which nobody would know of."""
    with scripted(GeminiServer("POST generateContent")) as served:
        summary = rate(bench, served.url, concurrency=1)
    assert summary.finished == 3
    assert [call.outcome for call in bench.calls()] == ["dropped", "ok"]
    assert len(served.asked) == 4
    nobody = rate(bench, "http://127.0.0.1:9", id="other")
    assert "cannot be reached" in (nobody.problem or "")


def test_probabilities_are_read() -> None:
    one = {"token": "4", "logProbability": -0.1}
    found = {"chosenCandidates": [one], "topCandidates": [{"candidates": [one, {"token": "5", "logProbability": -3}]}]}
    body = response("4")
    body["candidates"][0]["logprobsResult"] = found
    (token,) = top_tokens(body)
    assert [(each["token"], each["logprob"]) for each in token["top_logprobs"]] == [("4", -0.1), ("5", -3)]


def test_what_stands_before_the_talk_goes_apart() -> None:
    url = "data:image/png;base64,iVBORw0KGgo="
    parts = [{"type": "text", "text": "Which?"}, {"type": "image_url", "image_url": {"url": url}}]
    messages = ({"role": "system", "content": "You are a reader."}, {"role": "user", "content": parts})
    request = LLMRequest(messages=messages, questions=(), protocol=RaterProtocol(answer_format="json"))
    assert messages_of(request)["system_instruction"] == "You are a reader."
    server = GeminiServer()
    server.says[1] = response("70")

    async def ask() -> LLMReply:
        async with endpoint_of(served.url) as endpoint:
            return await endpoint.ask(request)

    with scripted(server) as served:
        assert asyncio.run(ask()).text == "70"
    sent = served.asked[0].body
    assert sent["systemInstruction"]["parts"] == [{"text": "You are a reader."}]
    assert sent["contents"][0]["parts"][1]["inlineData"] == {"mime_type": "image/png", "data": "iVBORw0KGgo="}


def test_unknown_keys_are_told_before_anything_is_sent(tmp_path: Path) -> None:
    with pytest.raises(PlatformError, match=r"extra_body.top_kk: expected a key and a value that google-genai knows"):
        endpoint_of("http://127.0.0.1:9", extra_body={"top_kk": 3})
    rest = '[spa]\n[[raters]]\nid = "j"\nmodel = "m"\nprovider = "gemini"\nextra_body = { temperature = 1 }\n'
    (line,) = problems_of(write_study(tmp_path, rest=rest))
    assert "extra_body.temperature: expected none: keys of the rater decide about it" in line


def test_a_batch_with_an_error_in_it_is_collected() -> None:
    """The library's own type refuses a result that is an error with details, and with it the whole batch."""
    assert refuses({"error": error(429, "RESOURCE_EXHAUSTED", "Quota exceeded", LATER)["error"]})
