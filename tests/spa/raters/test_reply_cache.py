"""Answers kept across studies: asked once, at no cost after, never where an answer is one of several that are drawn."""

from __future__ import annotations

import asyncio
import json
import stat
from pathlib import Path
from typing import Any, Self

import pytest
from click.testing import CliRunner

from spa.cli import main
from spa.commands.rating import print_summary
from spa.errors import StudyError
from spa.raters.budget import Price, RaterBudget
from spa.raters.endpoints.chat_completions import CHAT_API
from spa.raters.endpoints.endpoint import LLMReply, LLMRequest
from spa.raters.endpoints.http_endpoint import HTTPEndpoint
from spa.raters.reply_cache import ReplyCache, with_cache
from spa.raters.run import rate_visits
from spa.raters.summary import RatingSummary
from spa.raters.vendors import read_body
from spa.raters.visits import rater_visits
from spa.records.raters import Rater, RaterProtocol, may_be_cached, rater_variants
from spa.study.load import check_study
from tests.spa.rater_bench import Bench, PlainPrompts, rater_bench
from tests.spa.scripted_server import Asked, Said, chat, http, middle, scripted
from tests.spa.study_files import write_study

PRICE = Price(input=1.0, output=1.0)


def rate(
    bench: Bench,
    url: str,
    folder: Path,
    *,
    rater_budget: RaterBudget | None = None,
    renew: bool = False,
    **fields: Any,
) -> RatingSummary:
    """Let a rater with a cache answer all assignments of a store."""
    rater = Rater(id="judge", model="m", base_url=url, cache=Path("replies.sqlite"), **{"temperature": 0, **fields})

    async def sleep(seconds: float) -> None:
        await asyncio.sleep(0)

    endpoint = with_cache(HTTPEndpoint(rater, CHAT_API, environment={}), folder, renew=renew)
    visits = rater_visits(bench.store, rater_variants(rater))
    return rate_visits(bench, visits, PlainPrompts(), endpoint=endpoint, rater_budget=rater_budget, sleep=sleep)  # type: ignore[arg-type]


def rated(folder: Path, name: str, url: str, **fields: Any) -> tuple[RatingSummary, list[Any]]:
    """Rate a new store of that name; return the counts and the answers."""
    (folder / name).mkdir()
    with rater_bench(folder / name, assignments=2) as bench:
        summary = rate(bench, url, folder, **fields)
        answers = [one for visit in bench.store.submissions() for one in visit.answers]
        return summary, answers


def test_a_second_study_takes_answers_from_the_cache(tmp_path: Path) -> None:
    """Nothing is sent, the answers are the same, and they cost nothing."""
    with scripted(lambda asked: http(middle(asked))) as server:
        first, answers = rated(tmp_path, "one", server.url)
        sent = len(server.asked)
        second, again = rated(tmp_path, "two", server.url, rater_budget=RaterBudget(PRICE))
        assert len(server.asked) == sent
    assert sent == first.requests - first.from_cache
    assert second.from_cache == second.requests == 2
    assert again == answers
    assert (second.cost, second.prompt_tokens, second.cut_prompts) == (0.0, 0, 0)
    assert stat.S_IMODE((tmp_path / "replies.sqlite").stat().st_mode) == 0o600


def test_what_is_asked_again_is_renewed(tmp_path: Path) -> None:
    """A server that is mended under the same name is asked, and its answers take the place of those kept."""
    mended: list[str] = []
    with scripted(lambda asked: http(middle(asked) if mended else chat("I cannot tell."))) as server:
        rated(tmp_path, "one", server.url, attempts=1)
        mended.append("now")
        kept, _ = rated(tmp_path, "two", server.url, attempts=1)
        renewed, _ = rated(tmp_path, "three", server.url, attempts=1, renew=True)
        later, _ = rated(tmp_path, "four", server.url, attempts=1)
    assert kept.missing
    assert not renewed.missing
    assert renewed.from_cache == 0
    assert (later.missing, later.from_cache) == ({}, 2)


def test_a_reply_without_a_word_is_not_kept(tmp_path: Path) -> None:
    """It is a fault, which need not come again."""
    with scripted(lambda asked: http(chat(""))) as server:
        rated(tmp_path, "one", server.url, attempts=1)
        second, _ = rated(tmp_path, "two", server.url, attempts=1)
    assert second.from_cache == 0


def test_the_summary_tells_what_came_from_the_cache(capsys: pytest.CaptureFixture[str]) -> None:
    """In one line, with thousands told apart."""
    summary = RatingSummary(rater="judge", from_cache=412)
    summary.outcomes["ok"] = 1824
    print_summary(summary, "USD", as_json=False)
    assert "  412 of 1,824 requests from the cache\n" in capsys.readouterr().out


class Counted:
    """An endpoint that counts what it is asked."""

    def __init__(self, text: str = '{"q1": 4}', *, shown: str = "here", **rater: Any) -> None:
        keys = {"temperature": 0, "cache": Path("replies.sqlite"), **rater}
        self.rater = Rater(id="judge", **{"model": "m", **keys})
        self.shown, self.text, self.asked = shown, text, 0

    def body(self, request: LLMRequest) -> dict[str, Any]:
        """Return what is sent."""
        return {"model": self.rater.model, "messages": list(request.messages)}

    def record(self, request: LLMRequest) -> str:
        """Return it as JSON."""
        return json.dumps(self.body(request))

    async def ask(self, request: LLMRequest) -> LLMReply:
        """Answer and count."""
        self.asked += 1
        return read_body(json.dumps(chat(self.text)))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        pass


def asked_of(endpoint: Counted, folder: Path, *words: str) -> int:
    """Ask through the cache, once for each message; return how often the endpoint was asked."""
    [variant] = rater_variants(endpoint.rater)

    async def ask() -> None:
        async with with_cache(endpoint, folder) as cached:
            for said in words:
                message = {"role": "user", "content": said}
                await cached.ask(LLMRequest(messages=(message,), questions=(), protocol=variant.protocol))

    asyncio.run(ask())
    return endpoint.asked


@pytest.mark.parametrize("changed", [{"model": "other"}, {"shown": "elsewhere"}, {"provider": "responses"}])
def test_another_request_is_asked(tmp_path: Path, changed: dict[str, Any]) -> None:
    """Model, endpoint and every word that is sent belong to a request."""
    assert asked_of(Counted(), tmp_path, "one") == 1
    assert asked_of(Counted(), tmp_path, "one") == 0
    assert asked_of(Counted(), tmp_path, "two", "one") == 1
    assert asked_of(Counted(**changed), tmp_path, "one") == 1


def count(cache: ReplyCache) -> int:
    return int(cache._connection.execute("SELECT count(*) FROM replies").fetchone()[0])


def test_failures_and_refusals_are_not_kept(tmp_path: Path) -> None:
    """What is no answer is asked again by the next study."""

    def refused(asked: Asked) -> Said:
        return http({"error": {"code": "content_filter", "message": "filtered"}}, status=400)

    with scripted(refused) as server:
        rated(tmp_path, "one", server.url)
    assert count(ReplyCache(tmp_path / "replies.sqlite")) == 0


@pytest.mark.parametrize(
    ("protocol", "sampled", "cached"),
    [
        ({"temperature": 0}, False, True),
        ({"temperature": 0.5}, False, False),
        ({}, False, False),
        ({"readout": "logit"}, False, True),
        ({"temperature": 0, "repeats": 2}, False, False),
        ({"temperature": 1}, True, True),
        ({"temperature": 1, "repeats": 2}, True, False),
        ({"temperature": 1, "repeats": 2, "seed": 1}, True, True),
    ],
)
def test_which_answers_are_kept(protocol: dict[str, Any], sampled: bool, cached: bool) -> None:
    """Repeats and temperatures above 0 only where that is said, repeats with seeds."""
    assert may_be_cached(RaterProtocol(**protocol), sampled=sampled) is cached


def test_sampled_answers_are_taken_once_a_run(tmp_path: Path) -> None:
    """The same request of a second form is asked: its answer is a draw of its own."""
    sampled = {"temperature": 1, "cache_sampled": True}
    assert asked_of(Counted(**sampled), tmp_path, "one", "one") == 2
    assert asked_of(Counted(**sampled), tmp_path, "one", "one", "one") == 2
    assert asked_of(Counted(temperature=1), tmp_path, "one") == 1
    assert asked_of(Counted(), tmp_path, "one", "one", "one") == 0


def test_a_file_that_is_no_cache_is_told(tmp_path: Path) -> None:
    """In one line, with the key to change."""
    (tmp_path / "replies.sqlite").write_text("outputs, no answers" * 99)
    with pytest.raises(StudyError, match=r"expected the cache of a rater, or no file yet, got: .*; name another in"):
        ReplyCache(tmp_path / "replies.sqlite")


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        ('cache = "c.sqlite"', "cache: expected a rater that answers the same request alike"),
        ('cache = "c.sqlite"\ntemperature = 0\nrepeats = 2', "cache: expected a rater that answers"),
        ('cache = "c.sqlite"\nrepeats = 2\ncache_sampled = true', "got repeats without a seed"),
        ("cache_sampled = true", "cache_sampled: expected cache beside it"),
        ('cache = "c.sqlite"\nprovider = "local"\nanswer_format = "json"', "cache: expected none in batches"),
    ],
)
def test_mistakes_in_a_study_file_are_told(tmp_path: Path, keys: str, told: str) -> None:
    """Each in one line with the place and what to do."""
    rest = f'[spa]\nexposure = 1\n[[raters]]\nid = "judge"\nmodel = "m"\n{keys}\n'
    problems = check_study(write_study(tmp_path, rest=rest)).problems
    assert any(told in line and len(line) < 500 for line in problems), problems


def test_a_cluster_takes_no_cache(tmp_path: Path) -> None:
    """A file of one machine is none of a cluster."""
    rest = '[spa]\nexposure = 1\n[[raters]]\nid = "judge"\nmodel = "m"\ntemperature = 0\ncache = "c.sqlite"\n'
    study = write_study(tmp_path, rest=rest)
    assert CliRunner().invoke(main, ["build", str(study)]).exit_code == 0
    done = CliRunner().invoke(main, ["rate", str(study), "--cluster", "local:2"])
    assert (done.exit_code, "--cluster: not with a rater that has a cache" in done.output) == (2, True)
