"""Batch files: each question is worked on once an attempt, wherever a run is broken off."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from spa.errors import PlatformError, StudyError
from spa.journal import Journal
from spa.raters import batch
from spa.raters.budget import Price, RaterBudget
from spa.raters.endpoints.chat_completions import CHAT_API
from spa.raters.endpoints.http_endpoint import HTTPEndpoint
from spa.raters.summary import RatingSummary, stop_if_unfinished
from spa.raters.vendors import chat_batches
from spa.raters.visits import rater_visits
from spa.records.raters import Rater, rater_variants
from spa.records.submission import Response
from tests import patience
from tests.spa.batch_server import BatchServer
from tests.spa.rater_bench import Bench, PlainPrompts
from tests.spa.rater_bench import bench as bench
from tests.spa.rehearsed import built_example, spa
from tests.spa.scripted_server import chat, scripted


def rate(
    bench: Bench,
    url: str,
    *,
    wait: bool = False,
    limit: int | None = None,
    rater_budget: RaterBudget | None = None,
    **fields: Any,
) -> RatingSummary:
    rater = Rater(id="judge", model="m", base_url=url, provider="batch", **fields)
    visits = rater_visits(bench.store, rater_variants(rater), limit=limit)
    endpoint = HTTPEndpoint(rater, CHAT_API, environment={}, timeout=patience.SECONDS)

    async def sleep(seconds: float) -> None:
        bench.waits.append(seconds)

    return batch.rate_in_batches(
        bench, visits, PlainPrompts(), endpoint=endpoint, rater_budget=rater_budget, wait=wait, sleep=sleep
    )


def all_answered(bench: Bench, visits: int = 3) -> bool:
    found = list(bench.store.submissions())
    return len(found) == visits and all(isinstance(answer, Response) for visit in found for answer in visit.answers)


def test_the_first_run_submits_and_the_second_collects(bench: Bench) -> None:
    server = BatchServer()
    with scripted(server) as served:
        first = rate(bench, served.url)
        assert (first.waiting, first.finished, first.requests) == (3, 0, 0)
        assert "3 requests submitted" in first.notes[0]
        stop_if_unfinished(first)
        assert [call.outcome for call in bench.calls()] == ["started"]
        second = rate(bench, served.url)
        assert (second.finished, second.waiting, second.requests, second.missing) == (3, 0, 3, {})
        before = len(served.asked)
        assert rate(bench, served.url).finished_before == 3
        assert len(served.asked) == before
    assert all_answered(bench)
    assert set(server.lines.values()) == {1}
    assert sorted(server.lines) == [f"judge/1/a0000{number}|form|1" for number in (1, 2, 3)]


@pytest.mark.parametrize("conversation", ["form", "page_alone", "question"])
def test_waiting_looks_until_everything_is_there(bench: Bench, conversation: Any) -> None:
    server = BatchServer()
    with scripted(server) as served:
        assert rate(bench, served.url, wait=True, conversation=conversation).finished == 3
    assert bench.waits == [batch.POLL]
    assert all_answered(bench)
    assert set(server.lines.values()) == {1}


def test_what_cannot_be_read_is_asked_again_in_the_next_file(bench: Bench) -> None:
    server = BatchServer()
    server.says = {2: chat("Both are fine."), 3: {"error": {"code": "server_error", "message": "broke"}}}
    with scripted(server) as served:
        summary = rate(bench, served.url, wait=True)
    assert (summary.finished, summary.outcomes) == (3, {"ok": 3, "unreadable": 1, "server_error": 1})
    assert sorted(name.rsplit("|", 1)[1] for name in server.lines) == ["1", "1", "1", "2", "2"]
    assert all_answered(bench)


DROPS = [
    ("POST files",),
    ("POST batches",),
    ("LOST POST batches",),
    ("GET batches/batch",),
    ("GET files/file/content",),
    ("POST files", "POST batches", "GET batches/batch", "GET files/file/content"),
]


@pytest.mark.parametrize("drops", DROPS, ids=["; ".join(drop) for drop in DROPS])
def test_a_run_that_is_broken_off_anywhere_asks_nothing_twice(bench: Bench, drops: tuple[str, ...]) -> None:
    server = BatchServer(*drops)
    with scripted(server) as served:
        broken = 0
        for _ in range(12):
            try:
                if rate(bench, served.url).finished_before == 3:
                    break
            except PlatformError:
                broken += 1
    assert broken <= len(drops)  # the client asks again by itself where it only looks
    assert server.drop == []
    assert all_answered(bench)
    assert set(server.lines.values()) == {1}
    assert len(server.lines) == 3


def test_a_file_that_never_arrived_is_sent_as_the_next_attempt(bench: Bench) -> None:
    server = BatchServer("LOST POST files")
    with scripted(server) as served:
        with pytest.raises(PlatformError, match="closed the connection"):
            rate(bench, served.url)
        assert rate(bench, served.url, wait=True).finished == 3
    assert [call.outcome for call in bench.calls()] == ["not_sent", "ok"]
    assert set(server.lines.values()) == {1}


@pytest.mark.parametrize("where", ["upload", "create", "collect"])
def test_a_kill_between_a_call_and_its_record_is_recovered(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    """The call takes effect, and the process dies before that is on record."""

    class Killed(BaseException):
        """The process ends."""

    finish = Journal.finish

    def dying(self: Journal, call: Any, *rest: Any, **more: Any) -> Any:
        if call.kind == chat_batches.KIND and call.key.startswith(where):
            raise Killed
        return finish(self, call, *rest, **more)

    server = BatchServer()
    with scripted(server) as served:
        with monkeypatch.context() as patched:
            patched.setattr(Journal, "finish", dying)
            with pytest.raises(Killed):
                rate(bench, served.url, wait=True)
        rate(bench, served.url, wait=True)
    assert all_answered(bench)
    assert set(server.lines.values()) == {1}
    assert len(server.batches) == 1


def test_batch_lines_end_at_line_feeds_alone(bench: Bench) -> None:
    """JSON may hold other ends of lines; a line that is no JSON costs its request alone."""
    server = BatchServer()
    server.broken = {2: "{cut off"}
    server.ascii = False
    server.says = {3: chat('One\u2028two\u2029three\x85four: {"q1": 70}')}
    with scripted(server) as served:
        rate(bench, served.url, attempts=1)
        second = rate(bench, served.url, attempts=1)
        assert (second.finished, second.outcomes["ok"], second.outcomes["failed"]) == (2, 1, 1)
        assert rate(bench, served.url, wait=True, attempts=1).finished == 1
    assert sorted(server.lines.values()) == [1, 1, 1, 1]
    assert "\u2028two" in str(bench.calls("judge/1/a00003")[0].response)


@pytest.mark.parametrize("status", ["expired", "failed", "cancelled"])
def test_a_batch_that_came_to_nothing_opens_its_requests_again(bench: Bench, status: str) -> None:
    server = BatchServer(status=status)
    with scripted(server) as served:
        rate(bench, served.url)
        second = rate(bench, served.url, wait=True)
        assert status in (second.problem or "")
        with pytest.raises(PlatformError, match="3 of 3 assignments are not finished"):
            stop_if_unfinished(second)
        assert [call.outcome for call in bench.calls()] == [f"batch_{status}"]
        server.status = "completed"
        assert rate(bench, served.url, wait=True).finished == 3
    assert all_answered(bench)


def test_a_refused_batch_is_told_and_made_by_the_next_run(bench: Bench) -> None:
    server = BatchServer(refuse=("POST batches",))
    with scripted(server) as served:
        with pytest.raises(PlatformError, match="429"):
            rate(bench, served.url)
        assert rate(bench, served.url, wait=True).finished == 3
    assert len(server.files) == 2  # one up, one down


def test_a_run_with_a_limit_collects_what_another_paid_for(bench: Bench) -> None:
    server = BatchServer()
    with scripted(server) as served:
        rate(bench, served.url)
        rate(bench, served.url, limit=1)
    assert all_answered(bench)


@pytest.mark.parametrize("conversation", ["page", "page_questions"])
def test_several_turns_are_refused(bench: Bench, conversation: Any) -> None:
    with pytest.raises(StudyError, match="several turns"):
        rate(bench, "http://127.0.0.1:9/v1", conversation=conversation)


def test_a_budget_holds_what_is_under_way(bench: Bench) -> None:
    price = Price(input=10, output=10, batch_factor=0.5)
    server = BatchServer()
    with scripted(server) as served:
        small = rate(bench, served.url, rater_budget=RaterBudget(price, budget=1e-6, batch=True))
        assert "budget" in (small.problem or "")
        assert server.files == {}
        paid = RaterBudget(price, budget=1.0, batch=True)
        assert rate(bench, served.url, wait=True, rater_budget=paid).finished == 3
    assert paid.spent == pytest.approx(3 * 110 * 10 * 0.5 / 1e6)


def test_the_command_submits_then_collects(tmp_path: Path) -> None:
    study = built_example(tmp_path, annotators=2)
    file = tmp_path / "judge.toml"
    with scripted(BatchServer()) as served:
        file.write_text(f'id = "judge"\nmodel = "m"\nprovider = "batch"\nbase_url = "{served.url}"\n')
        told = spa("rate", study, "--rater", file, "--no-probe").output
        assert "2 assignments are in progress in batch files" in told
        assert "2 requests submitted" in told
        done = json.loads(spa("rate", study, "--rater", file, "--no-probe", "--wait", "--json").output)
    assert (done["finished"], done["waiting"], done["missing"]) == (2, 0, {})
