"""Repeats that share a request: asked once, paid once, nothing lost, and each with a record of its own."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from spa.raters.budget import Price, RaterBudget
from spa.raters.endpoints.chat_completions import CHAT_API
from spa.raters.endpoints.http_endpoint import HTTPEndpoint
from spa.raters.run import rate_visits
from spa.raters.summary import RatingSummary
from spa.raters.visits import rater_visits
from spa.records.raters import Rater, rater_variants
from spa.records.submission import Response
from tests.spa.rater_bench import Bench, Killed, PlainPrompts, killed_while_asking, rater_bench
from tests.spa.raters.test_rater_capabilities import EVERYTHING, Server
from tests.spa.rehearsed import built_example, spa
from tests.spa.scripted_server import Asked, Said, Served, chat, http, middle, scripted


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    with rater_bench(tmp_path, assignments=2) as made:
        yield made


def several(asked: Asked, give: Callable[[int], int] = int, bad: int = -1) -> Said:
    """Answer with ``give(n)`` samples, one of which may be unreadable."""
    number = asked.body.get("n", 1)
    choices = [middle(asked)["choices"][0] for _ in range(give(number))]
    if number > 1 and bad >= 0:
        choices[bad] = chat("Both are fine.")["choices"][0]
    tokens = {"prompt_tokens": 1000, "completion_tokens": 10 * len(choices)}
    return http({"choices": choices, "usage": tokens, "model": "scripted"})


def rate(
    bench: Bench, url: str, *, rater_budget: RaterBudget | None = None, repeats: int = 3, **fields: Any
) -> RatingSummary:
    rater = Rater(id="judge", model="m", base_url=url, repeats=repeats, **fields)

    async def sleep(seconds: float) -> None:
        await asyncio.sleep(0)

    visits = rater_visits(bench.store, rater_variants(rater))
    endpoint = HTTPEndpoint(rater, CHAT_API, environment={})
    return rate_visits(
        bench, visits, PlainPrompts(), endpoint=endpoint, rater_budget=rater_budget, several=True, sleep=sleep
    )


def sizes(server: Served) -> list[int]:
    return sorted(asked.body.get("n", 1) for asked in server.asked)


def answered(bench: Bench, visits: int) -> bool:
    found = list(bench.store.submissions())
    whole = all(isinstance(answer, Response) for visit in found for answer in visit.answers)
    return whole and len(found) == len({one.submission_id for one in found}) == visits


@pytest.mark.parametrize("conversation", ["form", "question", "page"])
def test_repeats_share_a_request_and_a_prompt(bench: Bench, conversation: Any) -> None:
    rater_budget = RaterBudget(Price(input=1000, output=0))
    with scripted(several) as server:
        summary = rate(bench, server.url, rater_budget=rater_budget, conversation=conversation)
        asked = len(server.asked)
        assert rate(bench, server.url, conversation=conversation).requests == 0
    assert len(server.asked) == asked == summary.requests
    if conversation != "page":  # there the second page follows what was said to the first
        assert set(sizes(server)) == {3}
    assert answered(bench, 6)
    assert summary.prompt_tokens == 1000 * asked
    assert rater_budget.spent == summary.cost == pytest.approx(1.0 * asked)
    records = [bench.calls(f"judge/{repeat}/a00001")[0] for repeat in (1, 2, 3)]
    assert [json.loads(record.request)["parameters"]["n"] for record in records] == [3, 3, 3]
    assert [len(json.loads(str(record.response))["choices"]) for record in records] == [1, 1, 1]
    assert [record.facts.get("prompt_tokens", 0) for record in records] == [1000, 0, 0]


@pytest.mark.parametrize(
    ("script", "asked"),
    [
        (lambda a: several(a, lambda n: 1), [1] * 4 + [3] * 2),  # n is ignored
        (lambda a: several(a, lambda n: min(n, 2)), [1] * 2 + [3] * 2),
        (lambda a: several(a, bad=1), [1] * 2 + [3] * 2),  # an unreadable one is asked again, alone
        (
            lambda a: several(a) if "n" not in a.body else http({"error": {"message": "n"}}, status=400),
            [1] * 6 + [3] * 2,
        ),
        (lambda a: several(a) if a.number > 1 else http("", status=503), [3] * 3),
        (lambda a: several(a) if a.number > 1 else Said(close=True), [3] * 3),
    ],
    ids=["ignored", "fewer", "unreadable", "refused", "busy", "dropped"],
)
def test_what_does_not_come_together_is_asked_alone(bench: Bench, script: Any, asked: list[int]) -> None:
    with scripted(script) as server:
        summary = rate(bench, server.url, concurrency=1)
        again = rate(bench, server.url)
    assert (summary.finished, summary.missing, summary.problem is None) == (
        6,
        {},
        503 not in asked and summary.problem is None,
    )
    assert again.requests == 0
    assert (sizes(server), summary.requests) == (asked, len(asked))
    assert answered(bench, 6)


def test_samples_rerun_asks_what_is_open(bench: Bench) -> None:
    """A run that ended in between asks what is open and no more."""
    with scripted(lambda a: several(a, lambda n: 2) if a.number == 1 else http("", status=401)) as server:
        first = rate(bench, server.url, concurrency=1)
    assert (first.finished, first.unfinished["http_401"]) == (2, 1)
    with scripted(several) as server:
        assert rate(bench, server.url).finished == 4
    assert sizes(server) == [1, 3]
    assert answered(bench, 6)


def test_samples_killed_mid_request_stay_on_record(bench: Bench) -> None:
    """A kill while a shared request is under way leaves every call on record."""
    with killed_while_asking(), pytest.raises(Killed):
        rate(bench, "http://127.0.0.1:9/v1", concurrency=1)
    assert [bench.calls(f"judge/{repeat}/a00001")[0].outcome for repeat in (1, 2, 3)] == ["started"] * 3
    with scripted(several) as server:
        assert rate(bench, server.url).finished == 6
    assert sizes(server) == [1, 1, 1, 3]
    assert [call.attempt for call in bench.calls("judge/2/a00001")] == [1, 2]


def test_seeds_and_many_repeats_divide_what_is_shared(bench: Bench) -> None:
    with scripted(several) as server:
        rate(bench, server.url, seed=7)
        assert sizes(server) == [1] * 6
    folder = Path(bench.store.name).with_name("more")
    folder.mkdir()
    with rater_bench(folder, assignments=1) as other, scripted(several) as server:
        rate(other, server.url, repeats=11)
        assert sizes(server) == [3, 8]


def test_the_command_shares_requests_where_the_probe_saw_several(tmp_path: Path) -> None:
    for name, does, requests in (("able", EVERYTHING, 1), ("unable", ("schema", "usage", "temperature"), 3)):
        study = built_example(tmp_path / name, annotators=1)
        with scripted(lambda asked: several(asked) if "q1" in str(asked.body) else Server(*does)(asked)) as server:  # noqa: B023
            rater = tmp_path / f"{name}.toml"
            rater.write_text(f'id = "judge"\nmodel = "m"\nbase_url = "{server.url}"\nrepeats = 3\n')
            told = json.loads(spa("rate", study, "--rater", rater, "--json").output)
        assert (told["finished"], told["requests"], told["endpoint"]["requests"]) == (3, requests, 3)
