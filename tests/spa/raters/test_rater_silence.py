"""A rater that says nothing readable stops after a few forms, says what to change, and can be asked again."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from spa.errors import PlatformError, ResponseError
from spa.raters import batch
from spa.raters.endpoints.chat_completions import CHAT_API
from spa.raters.endpoints.http_endpoint import HTTPEndpoint
from spa.raters.silence import MAX_FAILED_VISITS
from spa.raters.summary import RatingSummary, stop_if_unfinished
from spa.raters.visits import KIND, rater_visits
from spa.records.raters import Rater, rater_variants
from spa.records.submission import Response
from spa.responses.set_apart import count_apart, set_apart
from tests import patience
from tests.spa.batch_server import BatchServer
from tests.spa.rater_bench import Bench, PlainPrompts, rater_bench
from tests.spa.rehearsed import built_example, spa
from tests.spa.scripted_server import Asked, Said, chat, http, middle, scripted

FORMS = 24
ONE = {"concurrency": 1}


@pytest.fixture
def many(tmp_path: Path) -> Iterator[Bench]:
    with rater_bench(tmp_path, assignments=FORMS) as made:
        yield made


def thinking(**message: Any) -> dict[str, Any]:
    return chat("", **message)


SILENT = [
    (thinking(reasoning_content='{"q1": 70}'), {}, "reasoning_content is filled; switch thinking off"),
    (thinking(reasoning="70"), {}, "reasoning is filled; switch thinking off"),
    (chat("", finish="tool_calls", tool_calls=[{"id": "1", "type": "function"}]), {},
     'tool_calls is filled; set answer_format = "json"'),
    (chat('{"q', finish="length"), {"max_tokens": 9}, "break off at max_tokens = 9; raise max_tokens"),
    (chat("", finish="length", reasoning_content="Hm"), {"max_completion_tokens": 9},
     "break off within reasoning_content at max_completion_tokens = 9"),
    (chat("", refusal="I cannot."), {}, "the model refuses (I cannot.)"),
    (chat("Both are fine."), {}, "such as 'Both are fine.'; set answer_format = \"json\""),
    (chat("Fine."), {"answer_format": "json"}, 'or set answer_format = "text"'),
    (chat(""), {}, "the content is empty"),
]  # fmt: skip


@pytest.mark.parametrize(("reply", "fields", "told"), SILENT, ids=[told for *_, told in SILENT])
def test_silent_rater_stops_and_names_the_key(
    many: Bench, reply: dict[str, Any], fields: dict[str, Any], told: str
) -> None:
    """Not after all forms, and not with exit code 0; the next run asks nothing either."""
    with scripted(lambda asked: http(reply)) as server:
        summary = many.rate(server.url, attempts=1, **ONE, **fields)
        assert summary.finished == len(server.asked) == MAX_FAILED_VISITS
        assert told in (summary.problem or "")
        with pytest.raises(PlatformError, match=f"{FORMS - MAX_FAILED_VISITS} of {FORMS} assignments are not") as stop:
            stop_if_unfinished(summary)
        assert len(stop.value.problems[0]) < 500
        again = many.rate(server.url, attempts=1, **ONE, **fields)
        assert len(server.asked) == MAX_FAILED_VISITS
    assert "8 forms in a row hold no readable answer" in (again.problem or "")


def test_silence_in_parallel_ends_with_those_under_way(many: Bench) -> None:
    """No form is begun once the eighth is known to be empty."""
    with scripted(lambda asked: http(chat(""))) as server:
        many.rate(server.url, attempts=1, concurrency=4)
    assert MAX_FAILED_VISITS <= len(server.asked) < MAX_FAILED_VISITS + 4


def test_silence_counts_in_a_row_and_by_variant(many: Bench) -> None:
    """One readable answer in eight goes on; a variant without one stops though the other answers."""
    with scripted(lambda asked: http(middle(asked) if asked.number % 8 == 0 else chat(""))) as server:
        assert many.rate(server.url, attempts=1, **ONE).finished == FORMS
    variants = [{"id": "well"}, {"id": "mute", "temperature": 0.5}]
    with scripted(lambda asked: http(chat("") if "temperature" in asked.body else middle(asked))) as server:
        rater = Rater(id="two", model="m", base_url=server.url, attempts=1, variants=variants, **ONE)  # type: ignore[arg-type]
        summary = many.rate_with(HTTPEndpoint(rater, CHAT_API, environment={}))
    assert 0 <= summary.finished - 2 * MAX_FAILED_VISITS <= 1
    assert "rater 'two/mute': 8 forms in a row" in (summary.problem or "")


def test_few_silent_forms_end_with_a_line_too(many: Bench) -> None:
    """Where a trial of two forms is all that was asked."""
    with scripted(lambda asked: http(chat(""))) as server:
        summary = many.rate(server.url, limit=2, attempts=1)
    assert (summary.finished, summary.problem) == (2, None)
    with pytest.raises(PlatformError, match="2 forms in a row hold no readable answer: the content is empty"):
        stop_if_unfinished(summary)


def test_silent_rater_repaired_is_asked_anew_once(many: Bench) -> None:
    """What it gave stays on record, out of every table; answered visits are left alone."""
    with scripted(lambda asked: http(middle(asked) if asked.number == 1 else chat(""))) as server:
        many.rate(server.url, attempts=1, **ONE)
    names = [f"judge/1/a{number:05}" for number in range(1, FORMS + 1)]
    assert set_apart(many.store, names, kind=KIND, every=False) == MAX_FAILED_VISITS
    assert set_apart(many.store, names, kind=KIND, every=False) == 0
    assert count_apart(many.store, "judge") == MAX_FAILED_VISITS
    assert [visit.submission_id for visit in many.store.submissions()] == ["judge/1/a00001"]
    with scripted(lambda asked: http(middle(asked))) as server:
        summary = many.rate(server.url, answer_format="schema", attempts=1, **ONE)
        assert (summary.finished, summary.finished_before, summary.missing) == (FORMS - 1, 1, {})
        assert len(server.asked) == FORMS - 1
        assert many.rate(server.url, attempts=1).finished_before == FORMS
    assert [(call.attempt, call.outcome) for call in many.calls("judge/1/a00002")] == [
        (1, "apart: unreadable"),
        (2, "ok"),
    ]
    assert len(list(many.store.submissions())) == FORMS
    assert set_apart(many.store, names, kind=KIND, every=True) == FORMS
    assert count_apart(many.store, "judge") == FORMS + MAX_FAILED_VISITS


def test_truncated_silence_ends_with_a_larger_limit(many: Bench) -> None:
    """The way back that there was: no answers need be set apart."""
    with scripted(lambda asked: http(chat("{", finish="length"))) as server:
        many.rate(server.url, attempts=1, max_tokens=9, **ONE)
    with scripted(lambda asked: http(middle(asked))) as server:
        assert many.rate(server.url, attempts=1, max_tokens=99, concurrency=16).finished == FORMS


def test_other_settings_are_named_from_what_to_what(many: Bench) -> None:
    """Each that differs; after its answers are set apart, the rater is asked with the new ones."""
    with scripted(lambda asked: http(middle(asked))) as server:
        many.rate(server.url, limit=1)
        told = r'\(persona: not set then, "A critic." now; temperature: not set then, 0.5 now\).*--again all'
        with pytest.raises(ResponseError, match=told):
            many.rate(server.url, limit=1, temperature=0.5, persona="A critic.")
        set_apart(many.store, ["judge/1/a00001"], kind=KIND, every=True)
        assert many.rate(server.url, limit=1, temperature=0.5).finished == 1
        assert server.asked[-1].body["temperature"] == 0.5


def in_batches(many: Bench, url: str, *, wait: bool = True, **fields: Any) -> RatingSummary:
    rater = Rater(id="judge", model="m", base_url=url, provider="batch", **fields)
    endpoint = HTTPEndpoint(rater, CHAT_API, environment={}, timeout=patience.SECONDS)

    async def sleep(seconds: float) -> None:
        many.waits.append(seconds)

    visits = rater_visits(many.store, rater_variants(rater))
    return batch.rate_in_batches(many, visits, PlainPrompts(), endpoint=endpoint, wait=wait, sleep=sleep)


def test_batch_rater_sends_a_few_forms_first(many: Bench) -> None:
    """Until one answer is readable; then all others, and nothing twice."""
    server = BatchServer()
    with scripted(server) as served:
        first = in_batches(many, served.url, wait=False)
        assert (first.waiting, first.later) == (MAX_FAILED_VISITS, FORMS - MAX_FAILED_VISITS)
        stop_if_unfinished(first)
        summary = in_batches(many, served.url)
    assert (summary.finished, summary.later, len(server.batches)) == (FORMS, 0, 2)
    assert summary.notes[-1] == "all results are collected"
    assert not any("run the command again" in note for note in summary.notes)
    assert set(server.lines.values()) == {1}


def test_silent_batch_rater_sends_no_second_file(many: Bench) -> None:
    """Also while it waits, and in the next run; set apart, its forms are sent as other requests."""
    server = BatchServer()
    server.says = dict.fromkeys(range(1, FORMS + 1), chat("", tool_calls=[{"id": "1"}]))
    with scripted(server) as served:
        summary = in_batches(many, served.url, attempts=1)
        assert "tool_calls is filled" in (summary.problem or "")
        assert in_batches(many, served.url, attempts=1).finished == 0
        assert len(server.batches) == 1
        set_apart(many.store, [f"judge/1/a{number:05}" for number in range(1, 9)], kind=KIND, every=False)
        server.says = {}
        assert in_batches(many, served.url, attempts=1).finished == FORMS
    assert sum(isinstance(one, Response) for visit in many.store.submissions() for one in visit.answers) > FORMS
    assert set(server.lines.values()) == {1}


def refused(code: str, message: str) -> dict[str, Any]:
    return {"status_code": 400, "request_id": "x", "body": {"error": {"message": message, "code": code}}}


def test_batch_line_of_a_content_filter_is_an_answer(many: Bench) -> None:
    """As over HTTP: missing with the reason, and never sent again."""
    server = BatchServer()
    server.says = {1: refused("content_filter", "filtered"), 2: refused("400", "content management policy")}
    with scripted(server) as served:
        summary = in_batches(many, served.url)
    assert (summary.finished, summary.outcomes) == (FORMS, {"ok": FORMS - 2, "refused": 2})
    assert summary.missing == {"the model refused to answer": summary.missing.total()}
    assert set(server.lines.values()) == {1}
    stop_if_unfinished(summary)


def test_batch_line_refused_twice_is_not_sent_again(many: Bench) -> None:
    """The rater ends, also under --wait; with what it names changed, the request is another."""
    server = BatchServer()
    always = refused("invalid", "Unsupported parameter: top_k")
    server.always = {"judge/1/a00003": always}
    with scripted(server) as served:
        summary = in_batches(many, served.url, extra_body={"top_k": 3})
        with pytest.raises(PlatformError, match="top_k"):
            stop_if_unfinished(summary)
        before = len(server.batches)
        assert [call.outcome for call in many.calls("judge/1/a00003")] == ["http_400", "http_400"]
        for _ in range(2):
            last = in_batches(many, served.url, extra_body={"top_k": 3})
            assert "top_k" in str(last.problem)
        assert [call.outcome for call in many.calls("judge/1/a00003")] == ["http_400", "http_400"]
        assert len(server.batches) <= before + 1
    assert last.finished_before == FORMS - 1


def test_the_command_sets_apart_and_counts(tmp_path: Path) -> None:
    """``--again`` by itself means visits without an answer; a rater's forms are not a person's."""
    study = built_example(tmp_path, annotators=2)
    rater = tmp_path / "judge.toml"
    silent = {"is": True}

    def script(asked: Asked) -> Said:
        return http(chat("") if silent["is"] else middle(asked))

    with scripted(script) as server:
        rater.write_text(f'id = "judge"\nmodel = "m"\nbase_url = "{server.url}"\nattempts = 1\n')
        rate = ("rate", study, "--rater", rater, "--no-probe")
        assert "hold no readable answer" in spa(*rate, code=1).output
        silent["is"] = False
        told = spa(*rate, "--again").output
        assert "2 visits without an answer set apart: kept on record" in told
        assert "2 of 2 assignments finished" in told
        assert "2 earlier visits are set apart" in spa(*rate).output
        assert "2 visits of LLM raters are set apart" in spa("export", study, "--out", tmp_path / "out").output
        assert "--again all" in spa("forget", study, "--person", "judge", code=1).output


def test_sigterm_ends_a_run_as_ctrl_c_does(many: Bench) -> None:
    """Requests under way are finished, nothing new is begun, and the next run goes on."""

    def script(asked: Asked) -> Said:
        if asked.number == 2:
            os.kill(os.getpid(), signal.SIGTERM)
        return http(middle(asked))

    with scripted(script) as server:
        summary = many.rate(server.url, **ONE)
        assert 2 <= summary.finished < FORMS
        assert "run the command again to resume" in str(summary.problem)
        assert many.rate(server.url).finished == FORMS - summary.finished


def test_first_picture_goes_out_alone(tmp_path: Path) -> None:
    """A server that takes no pictures is asked once, however many requests may be under way."""
    study = built_example(tmp_path, annotators=3, example="images")
    rater = tmp_path / "judge.toml"
    message = "image input is not supported - hint: you may need to provide the mmproj"
    with scripted(lambda asked: http({"error": {"message": message}}, status=500)) as server:
        rater.write_text(f'id = "judge"\nmodel = "m"\nbase_url = "{server.url}"\nconcurrency = 8\n')
        told = spa("rate", study, "--rater", rater, "--no-probe", code=1).output
        assert len(server.asked) == 1
    assert "takes no images" in told
    assert "--mmproj" in told
