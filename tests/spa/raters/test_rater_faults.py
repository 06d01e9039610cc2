"""What can go wrong at an endpoint: the table of docs/llm-raters.md, a row a test, over real connections."""

from __future__ import annotations

import asyncio
import gzip
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from email.utils import formatdate
from pathlib import Path

import numpy as np
import pytest

from spa.errors import PlatformError
from spa.raters.endpoints import bounded_replies
from spa.raters.endpoints.chat_completions import CHAT_API
from spa.raters.endpoints.failures import LONGEST_WAIT, backoff
from spa.raters.endpoints.http_endpoint import HTTPEndpoint
from spa.raters.endpoints.rate_limit_headers import retry_after_seconds
from spa.raters.endpoints.rate_limiter import RateLimiter
from spa.raters.summary import RatingSummary
from spa.records.raters import Rater
from tests import patience
from tests.spa.rater_bench import KEY, NOW, Bench
from tests.spa.rater_bench import bench as bench
from tests.spa.scripted_server import Asked, Said, chat, http, middle, scripted

DOCS = Path(__file__).parents[3] / "docs" / "llm-raters.md"


def error(status: int, message: str = "on purpose", code: str | None = None, **headers: str) -> Said:
    return http({"error": {"message": message, "type": "x", "param": None, "code": code}}, status=status, **headers)


async def hanging() -> Said:
    await asyncio.sleep(30)
    return Said()


@dataclass(frozen=True)
class Fault:
    """A row of the table: what comes, what it is called, and what the run does."""

    row: str  # as the table names it
    said: Callable[[Asked], object]
    outcome: str
    requests: int  # for one assignment, where the fault stays
    told: str = ""  # in the line that the user reads
    does: str = "again"  # "again": tried again and a rerun asks; "stop"; "rerun"; "missing"


LACKS = "a server's failure that names what it lacks (400, 500)"
CUT = json.dumps(chat("{}")).encode()
FAULTS = [
    Fault("too many requests (429)", lambda a: error(429), "http_429", 10, "says so again"),
    Fault("quota used up (429 `insufficient_quota`, 402)", lambda a: error(429, code="insufficient_quota"),
          "quota", 1, "quota is used up", "stop"),
    Fault("quota used up (429 `insufficient_quota`, 402)", lambda a: error(402), "quota", 1, "top it up", "stop"),
    Fault("a server's failure (500 to 599)", lambda a: error(503), "http_503", 4, "503"),
    Fault("a server's failure (500 to 599)", lambda a: http("<html><title>502 Bad Gateway</title></html>", status=502),
          "http_502", 4, "(502 Bad Gateway)"),
    Fault("no answer in time", lambda a: hanging(), "timeout", 1, "did not answer in time", "rerun"),
    Fault("nobody is there", lambda a: Said(), "connection", 0, "cannot be reached", "stop"),
    Fault("the connection breaks off", lambda a: Said(close=True), "dropped", 4, "closed the connection"),
    Fault("the connection breaks off",
          lambda a: Said(raw=b"HTTP/1.1 200 OK\r\ncontent-length: 900\r\n\r\n" + CUT, close=True), "dropped", 4),
    Fault("the connection breaks off",
          lambda a: Said(raw=b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nff\r\n{", close=True),
          "dropped", 4),
    Fault("a success that is no JSON", lambda a: http(CUT[:40]), "garbled", 4, "did not answer with JSON"),
    Fault("a success that is no JSON", lambda a: http(""), "garbled", 4, "(the response is empty"),
    Fault("a success that is no JSON", lambda a: http("<html>Please log in</html>"), "garbled", 4, "API itself"),
    Fault("an error in a success (200)", lambda a: http({"error": {"message": "upstream died"}}), "failed", 4,
          "upstream died"),
    Fault("an error in a success (200)", lambda a: http({"error": {"code": 502, "message": "m"}}), "http_502", 4),
    Fault("wrong key (401, 403)", lambda a: error(401), "http_401", 1, "JUDGE_KEY", "stop"),
    Fault("wrong address (404, 405)", lambda a: error(404), "http_404", 1, "correct base_url or model", "stop"),
    Fault("wrong model (`model_not_found`)", lambda a: error(400, code="model_not_found"), "no_model", 1,
          "correct model", "stop"),
    Fault("a redirect (301, 302, 303, 307, 308)", lambda a: http("", status=307, location="http://127.0.0.1:9/v2"),
          "http_307", 1, "go to http://127.0.0.1:9/v2", "stop"),
    Fault("no JSON schema (400 about `response_format`)",
          lambda a: error(400, "'response_format' of type 'json_schema' is not supported"), "no_schema", 1,
          'set answer_format = "json"', "stop"),
    Fault(LACKS, lambda a: error(500, "response_format.type: Input should be 'text' or 'json_object'"), "no_schema", 1,
          'set answer_format = "json"', "stop"),
    Fault("any other refusal of the request (400, 413, 422)", lambda a: error(400, "context too long"), "http_400", 1,
          "(context too long); change what it names in the rater, a retry would be refused too", "rerun"),
    Fault("any other refusal of the request (400, 413, 422)",
          lambda a: error(400, "Use 'max_completion_tokens' instead."), "http_400", 1,
          "set max_completion_tokens instead of max_tokens", "rerun"),
    Fault("content filter", lambda a: error(400, "flagged", code="content_filter"), "refused", 1, does="missing"),
    Fault("content filter", lambda a: http(chat("", finish="content_filter")), "refused", 1, does="missing"),
    Fault("content filter", lambda a: error(400, "litellm.BadRequestError: AzureException: The response was filtered "
          "due to the prompt triggering Azure OpenAI's content management policy.", code="400"), "refused", 1,
          does="missing"),
    Fault("content filter", lambda a: error(400, "m", code="content_policy_violation"), "refused", 1, does="missing"),
    Fault("refusal", lambda a: http(chat("", refusal="I cannot.")), "refused", 1, does="missing"),
    Fault("the answer breaks off at `max_tokens`", lambda a: http(chat('{"q1":', finish="length")), "truncated", 1,
          does="missing"),
    Fault("an answer that cannot be read", lambda a: http(chat("Both are fine.")), "unreadable", 2, does="missing"),
    Fault("a success without a message", lambda a: http({"status": "ok"}), "unreadable", 2, does="missing"),
]  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS, ids=[f"{fault.row}-{number}" for number, fault in enumerate(FAULTS)])
def test_each_fault_has_its_outcome(bench: Bench, fault: Fault) -> None:
    with scripted(fault.said) as server:  # type: ignore[arg-type]
        url = server.url if fault.requests else "http://127.0.0.1:9/v1"
        summary = bench.rate(url, limit=1, timeout=0.4 if fault.outcome == "timeout" else patience.SECONDS)
    outcomes = {call.outcome for call in bench.calls()}
    assert outcomes == {fault.outcome}
    assert summary.outcomes == {fault.outcome: len(server.asked) or 4}
    assert len(server.asked) == fault.requests
    assert bool(summary.missing) == (fault.does == "missing")
    if fault.does == "missing":
        assert (summary.finished, summary.problem) == (1, None)
        return
    assert summary.unfinished == {fault.outcome: 1}
    assert fault.told in (summary.problem or "")
    assert "run the command again" not in (summary.problem or "") or fault.outcome != "http_400"
    assert KEY not in (summary.problem or "")
    with scripted(lambda asked: http(middle(asked))) as server:  # no failure is kept as an answer
        again = bench.rate(server.url, limit=1)
    assert (again.finished, again.missing) == (1, {})


def test_answers_without_end_are_left(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Too many bytes, packed or not, and bytes that are never late and never all: no run waits or keeps them."""
    small = http(gzip.compress(b" " * 50_000), content_encoding="gzip")
    monkeypatch.setattr(bounded_replies, "LARGEST", 20_000)
    for said in (http(" " * 50_000), small, http(" " * 50_000, status=400)):
        with scripted(lambda asked, said=said: said) as server:  # type: ignore[misc]
            summary = bench.rate(server.url, limit=1)
        assert summary.outcomes == {"dropped": 4}
        assert "(more than 20,000 bytes)" in (summary.problem or "")
    monkeypatch.setattr(bounded_replies, "LONGER", 0.2 / patience.SECONDS)
    with scripted(lambda asked: Said(raw=b"HTTP/1.1 200 OK\r\ncontent-length: 900\r\n\r\n" + CUT)) as server:
        summary = bench.rate(server.url, limit=1, timeout=patience.SECONDS)
    assert summary.outcomes == {"timeout": 1}
    assert "(no end within 0.2 s)" in (summary.problem or "")


@pytest.mark.parametrize("fault", [fault for fault in FAULTS if fault.does == "stop" and fault.requests])
def test_what_no_repetition_mends_stops_the_run_at_once(bench: Bench, fault: Fault) -> None:
    with scripted(fault.said) as server:  # type: ignore[arg-type]
        bench.rate(server.url, concurrency=1)
    assert len(server.asked) == 1


def test_the_documented_table_names_every_fault_and_outcome() -> None:
    table = DOCS.read_text().split("## What can go wrong", 1)[1]
    rows = {line.split("|")[1].strip(): line for line in table.splitlines() if line.startswith("| ")}
    for fault in FAULTS:
        assert fault.row in rows
        outcome = fault.outcome if not fault.outcome.startswith("http_") else "http_"
        assert f"`{outcome}" in rows[fault.row], fault


@pytest.mark.parametrize(
    ("headers", "wanted"),
    [
        ({"retry_after": "7"}, 7.0),
        ({"retry_after_ms": "2500"}, 2.5),
        ({"retry_after": formatdate(NOW + 20, usegmt=True)}, 20.0),
        ({"x_ratelimit_limit_requests": "60", "x_ratelimit_remaining_requests": "0",
          "x_ratelimit_reset_requests": "700ms"}, 0.7),
    ],
)  # fmt: skip
def test_a_wait_that_is_asked_for_is_kept(
    bench: Bench, headers: dict[str, str], wanted: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(RateLimiter.__init__.__kwdefaults__, "clock", lambda: 0.0)
    with scripted(lambda a: error(429, **headers) if a.number == 1 else http(middle(a))) as server:
        summary = bench.rate(server.url, limit=1)
    assert summary.finished == 1
    assert pytest.approx(wanted) in bench.waits
    assert max(bench.waits) <= max(wanted, 1.0)  # no other but that between two tries


@pytest.mark.parametrize("asks", [{}, {"retry_after": "0"}, {"retry_after_ms": "1"}])
def test_too_many_requests_for_ever_has_a_floor_and_an_end(bench: Bench, asks: dict[str, str]) -> None:
    with scripted(lambda a: error(429, **asks) if a.number > 1 else http(middle(a))) as server:
        summary = bench.rate(server.url, concurrency=1)
    assert len(server.asked) == 1 + 10  # one visit is tried, not eight
    assert [wait for wait in bench.waits if wait >= 0.5] >= [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0, 30.0]
    assert (summary.finished, summary.unfinished["http_429"]) == (1, 1)
    assert "too many requests" in str(summary.problem)


def test_a_wait_that_is_too_long_ends_the_run(bench: Bench) -> None:
    for seconds in (61, 3600):
        with scripted(lambda a, seconds=seconds: error(429, retry_after=str(seconds))) as server:  # type: ignore[misc]
            summary = bench.rate(server.url, concurrency=1)
        assert len(server.asked) == 1
        assert f"asks to wait {seconds} s" in (summary.problem or "")


def test_a_missing_key_is_told_before_anything_is_sent(bench: Bench) -> None:
    with pytest.raises(PlatformError, match="got none"):
        HTTPEndpoint(Rater(id="judge", model="m", base_url="https://example.org/v1"), CHAT_API, environment={})
    assert bench.calls() == ()


@pytest.mark.parametrize("text", ["", "soon", "-1", "inf", "nan", "Thu, 99 Jan 1970"])
def test_an_odd_wait_counts_as_none(text: str) -> None:
    assert retry_after_seconds({"retry-after": text}) is None


def test_waits_grow_and_are_never_the_same() -> None:
    rng = np.random.default_rng(5)
    waits = [[backoff(trial, rng) for _ in range(200)] for trial in range(9)]
    for trial, drawn in enumerate(waits):
        whole = min(2.0**trial, LONGEST_WAIT)
        assert whole / 2 <= min(drawn) < max(drawn) <= whole
        assert len(set(drawn)) == 200


def test_the_summary_counts_every_fault(bench: Bench) -> None:
    script = [error(500), http(""), Said(close=True)]
    with scripted(lambda a: script[a.number - 1] if a.number <= 3 else http(middle(a))) as server:
        summary: RatingSummary = bench.rate(server.url, concurrency=1)
    assert summary.finished == 3
    assert summary.outcomes == {"http_500": 1, "garbled": 1, "dropped": 1, "ok": 3}


def test_form_too_long_is_told_with_the_tokens_of_shorter_ways(bench: Bench) -> None:
    """What each way of putting it would take, the shortest last."""
    with scripted(lambda asked: error(400, "This model's maximum context length is 4096 tokens")) as server:
        told = str(bench.rate(server.url, limit=1).problem)
        by_question = str(bench.rate(server.url, limit=1, conversation="question").problem)
    numbers = [int(number.replace(",", "")) for number in re.findall(r"about ([0-9,]+) tokens", told)]
    assert len(numbers) == 3
    assert numbers == sorted(numbers, reverse=True)
    assert numbers[0] > numbers[2]
    assert 'or set conversation = "page" (about' in told
    assert len(told) < 500
    assert by_question.endswith("allow the server a longer context")


def test_address_without_version_is_told_with_it(bench: Bench) -> None:
    """A root that answers with a page or with 404."""
    for said in (http("<html>It works</html>"), error(404)):
        with scripted(lambda asked, said=said: said) as server:
            root = server.url.removesuffix("/v1")
            assert f"base_url usually ends in /v1: {root}/v1" in str(bench.rate(root, limit=1).problem)


def test_free_text_is_asked_for_in_the_same_words_again(bench: Bench) -> None:
    """A second attempt never asks for JSON, and is counted."""
    ways = {"conversation": "question", "answer_format": "text"}
    with scripted(lambda asked: http(chat("Hm." if asked.number == 1 else "4"))) as server:
        summary = bench.rate(server.url, limit=1, concurrency=1, **ways)
    assert server.asked[0].body["messages"] == server.asked[1].body["messages"]
    assert summary.further == 1
