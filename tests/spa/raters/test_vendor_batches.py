"""The batches of every vendor: each request is worked on once an attempt, wherever a run is broken off."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from spa.errors import PlatformError
from spa.journal import Journal
from spa.raters import batch, vendors
from spa.raters.endpoints import sdk_endpoint
from spa.raters.summary import RatingSummary
from spa.raters.vendors.batches import KIND
from spa.raters.visits import rater_visits
from spa.records.raters import Rater, rater_variants
from spa.records.submission import Response
from tests import patience
from tests.conftest import missing_part
from tests.spa.batch_server import BatchServer
from tests.spa.rater_bench import Bench, PlainPrompts
from tests.spa.rater_bench import bench as bench
from tests.spa.rehearsed import built_example, spa
from tests.spa.scripted_server import chat, scripted


@dataclass(frozen=True)
class Kind:
    """A vendor's counterpart."""

    serve: Callable[..., Any]
    worked: Callable[[Any], Counter[str]]  # how often each request was worked on
    calls: tuple[str, ...]  # that are broken off, each after its effect
    sends: str  # the call that submits
    unreadable: Callable[[], Any]
    failed: Callable[[], Any]
    needs: str = "openai"
    fields: dict[str, Any] = field(default_factory=dict)


def _anthropic(*drop: str) -> Any:
    from tests.spa.anthropic_server import AnthropicServer

    return AnthropicServer(*drop)


def _anthropic_said(text: str) -> Any:
    from tests.spa.anthropic_server import message

    return message(text)


def _anthropic_failed() -> Any:
    from tests.spa.anthropic_server import error

    return error("overloaded_error", "Overloaded")


def _gemini(*drop: str) -> Any:
    from tests.spa.gemini_server import GeminiServer

    return GeminiServer(*drop)


def _gemini_said(text: str) -> Any:
    from tests.spa.gemini_server import response

    return response(text)


def _gemini_failed() -> Any:
    from tests.spa.gemini_server import error

    info = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "1s"}
    return error(429, "RESOURCE_EXHAUSTED", "Quota exceeded", info)


def there(key: str) -> None:
    """Skip (fail on CI) where a vendor's library is not installed."""
    try:
        found = find_spec(KINDS[key].needs)
    except ModuleNotFoundError:
        found = None
    if found is None:
        missing_part(f"{KINDS[key].needs} is not installed")


KINDS = {
    "chat": Kind(
        serve=BatchServer,
        worked=lambda server: server.lines,
        calls=("POST files", "POST batches", "GET batches/batch", "GET files/file/content"),
        sends="POST files",
        unreadable=lambda: chat("Both are fine."),
        failed=lambda: {"error": {"code": "server_error", "message": "broke"}},
    ),
    "anthropic": Kind(
        serve=_anthropic,
        worked=lambda server: server.worked,
        calls=("POST /batches", "GET /batches/one", "GET /batches/one/results"),
        sends="POST /batches",
        unreadable=lambda: _anthropic_said("Both are fine."),
        failed=_anthropic_failed,
        needs="anthropic",
        fields={"max_tokens": 500},
    ),
    "gemini": Kind(
        serve=_gemini,
        worked=lambda server: server.worked,
        calls=("POST batchGenerateContent", "GET batches/batch"),
        sends="POST batchGenerateContent",
        unreadable=lambda: _gemini_said("Both are fine."),
        failed=_gemini_failed,
        needs="google.genai",
    ),
}
each = pytest.mark.parametrize("key", KINDS)


def rate(bench: Bench, key: str, url: str, **options: Any) -> RatingSummary:
    own = {"id": "judge", "model": "m", "provider": key, "batch": True, "api_key_env": "none"}
    rater = Rater.model_validate({**own, "base_url": url, **KINDS[key].fields})
    visits = rater_visits(bench.store, rater_variants(rater))
    endpoint = vendors.vendor_of(rater).open(rater, timeout=patience.SECONDS, folder=Path(), keep=False)

    async def sleep(seconds: float) -> None:
        bench.waits.append(seconds)

    return batch.rate_in_batches(bench, visits, PlainPrompts(), endpoint=endpoint, sleep=sleep, **options)


def served(key: str, *drop: str) -> Any:
    there(key)
    return KINDS[key].serve(*drop)


def all_answered(bench: Bench) -> bool:
    found = list(bench.store.submissions())
    return len(found) == 3 and all(isinstance(answer, Response) for visit in found for answer in visit.answers)


def test_every_vendor_with_batches_is_here() -> None:
    assert set(KINDS) == {vendor.key for vendor in vendors.VENDORS if vendor.batches is not None}


@each
def test_batches_are_submitted_then_collected(bench: Bench, key: str) -> None:
    server = served(key)
    with scripted(server) as served_:
        first = rate(bench, key, served_.url)
        assert (first.waiting, first.finished, first.requests) == (3, 0, 0)
        assert [call.outcome for call in bench.calls()] == ["started"]
        second = rate(bench, key, served_.url)
        assert (second.finished, second.waiting, second.requests, second.missing) == (3, 0, 3, {})
        before = len(served_.asked)
        assert rate(bench, key, served_.url).finished_before == 3
        assert len(served_.asked) == before
    assert all_answered(bench)
    assert set(KINDS[key].worked(server).values()) == {1}


@each
def test_partial_failures_are_asked_again(bench: Bench, key: str) -> None:
    server = served(key)
    server.says = {2: KINDS[key].unreadable(), 3: KINDS[key].failed()}
    with scripted(server) as served_:
        summary = rate(bench, key, served_.url, wait=True)
    assert summary.finished == 3
    assert (summary.outcomes["ok"], summary.outcomes["unreadable"], summary.outcomes.total()) == (3, 1, 5)
    assert all_answered(bench)


@each
@pytest.mark.parametrize("which", ["first", "second", "third", "last", "all"])
def test_broken_off_anywhere_asks_nothing_twice(bench: Bench, key: str, which: str) -> None:
    calls = KINDS[key].calls
    names = {"first": calls[:1], "second": calls[1:2], "third": calls[2:3], "last": calls[-1:], "all": calls}
    server = served(key, *names[which])
    with scripted(server) as served_:
        for _ in range(12):
            try:
                if rate(bench, key, served_.url).finished_before == 3:
                    break
            except PlatformError:
                continue
    assert server.drop == []
    assert all_answered(bench)
    assert set(KINDS[key].worked(server).values()) == {1}


@each
def test_what_never_arrived_is_sent_again(bench: Bench, key: str) -> None:
    server = served(key, f"LOST {KINDS[key].sends}")
    with scripted(server) as served_:
        with pytest.raises(PlatformError, match="closed the connection"):
            rate(bench, key, served_.url)
        assert rate(bench, key, served_.url, wait=True).finished == 3
    assert [call.outcome for call in bench.calls()] == ["not_sent", "ok"]
    assert set(KINDS[key].worked(server).values()) == {1}


class Killed(BaseException):
    """The process ends."""


@each
@pytest.mark.parametrize("number", range(8))
def test_killed_between_a_call_and_its_record(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, key: str, number: int
) -> None:
    """A process dies as it is about to write any of its records of batches, the call or what came of it."""
    begin, finish = Journal.begin, Journal.finish
    left = number

    def dying(write: Any) -> Any:
        def written(self: Journal, *given: Any, **more: Any) -> Any:
            nonlocal left
            kind = given[0] if write is begin else given[0].kind
            left -= kind == KIND
            if left == -1 and kind == KIND:
                raise Killed
            return write(self, *given, **more)

        return written

    server = served(key)
    with scripted(server) as served_:
        with monkeypatch.context() as patched:
            patched.setattr(Journal, "begin", dying(begin))
            patched.setattr(Journal, "finish", dying(finish))
            try:
                rate(bench, key, served_.url, wait=True)
            except Killed:
                pass
        rate(bench, key, served_.url, wait=True)
    assert all_answered(bench)
    assert set(KINDS[key].worked(server).values()) == {1}
    assert len(server.batches) == 1


@pytest.mark.parametrize(("key", "library"), [("anthropic", "anthropic"), ("gemini", "google-genai")])
def test_a_missing_library_names_its_extra(monkeypatch: pytest.MonkeyPatch, key: str, library: str) -> None:
    monkeypatch.setattr(sdk_endpoint, "find_spec", lambda name: None)
    rater = Rater(id="judge", model="m", provider=key, max_tokens=9)
    with pytest.raises(PlatformError) as told:
        vendors.vendor_of(rater).open(rater, timeout=patience.SECONDS, folder=Path(), keep=False)
    line = f'rater \'judge\': provider = "{key}" needs {library}; pip install ".[{key}]" in the checkout'
    assert str(told.value).startswith(line)


@pytest.mark.parametrize("key", ["anthropic", "gemini"])
def test_the_command_tries_the_endpoint_then_asks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    """The probe holds on every provider; then the forms are submitted, and collected by the next run."""
    server = served(key)
    monkeypatch.setenv(f"{key.upper()}_API_KEY", "a-key-of-some-length")
    study = built_example(tmp_path, annotators=2)
    file = tmp_path / "judge.toml"
    with scripted(server) as served_:
        own = f'id = "judge"\nmodel = "m"\nprovider = "{key}"\nbatch = true\nmax_tokens = 900\n'
        file.write_text(f'{own}base_url = "{served_.url}"\n')
        assert "2 requests submitted" in spa("rate", study, "--rater", file).output
        done = json.loads(spa("rate", study, "--rater", file, "--wait", "--json").output)
    assert (done["finished"], done["missing"]) == (2, {})
    assert (done["endpoint"]["schema"], done["endpoint"]["usage"]) == ("yes", "yes")


def test_a_strangers_batch_of_that_minute_is_left_alone(bench: Bench) -> None:
    """Anthropic's batches have no name: one of the same size is read before anything is sent, and is not taken."""
    server = served("anthropic", "LOST POST /batches")
    strangers = [{"custom_id": f"theirs-{number}", "params": json.loads(STRANGER)} for number in range(3)]
    server.batch(strangers)
    server.worked.clear()
    with scripted(server) as served_:
        with pytest.raises(PlatformError, match="closed the connection"):
            rate(bench, "anthropic", served_.url)
        server.looks = 1  # nobody can read it yet
        before = len(server.batches)
        assert rate(bench, "anthropic", served_.url).waiting == 3
        assert len(server.batches) == before
        server.looks = 0
        assert rate(bench, "anthropic", served_.url, wait=True).finished == 3
    assert len(server.batches) == 2
    assert set(server.worked.values()) == {1}


STRANGER = json.dumps(
    {
        "model": "m",
        "max_tokens": 9,
        "messages": [{"role": "user", "content": "theirs"}],
        "output_config": {"format": {"type": "json_schema", "schema": {"type": "object", "properties": {}}}},
    }
)
