"""What came of a request is written while the rater goes on: it counts when it is on disk, and none is lost unseen."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from spa import journal
from spa.errors import ResponseError
from spa.journal import STARTED, Journal
from spa.raters.endpoints.chat_completions import CHAT_API
from spa.raters.endpoints.http_endpoint import HTTPEndpoint
from spa.raters.run import rate_visits
from spa.raters.summary import RatingSummary
from spa.raters.visits import KIND, rater_visits
from spa.records.raters import Rater, rater_variants
from tests.spa.rater_bench import Bench, PlainPrompts, rater_bench
from tests.spa.scripted_server import http, middle, scripted

VISITS = 6


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    with rater_bench(tmp_path, assignments=VISITS) as made:
        yield made


@pytest.mark.parametrize("concurrency", [1, 3])
def test_rater_journal_failure_ends_the_run(bench: Bench, monkeypatch: pytest.MonkeyPatch, concurrency: int) -> None:
    """A record that cannot be kept ends the run before the next request."""
    keep, refused = journal.keep, list[str]()

    def full(connection: Any, done: journal.JournalEntry) -> None:
        if done.scope.endswith("a00002"):
            refused.append(done.scope)
            raise ResponseError("s.sqlite: the disk is full")
        keep(connection, done)

    with scripted(lambda asked: http(middle(asked))) as served:
        monkeypatch.setattr(journal, "keep", full)
        with pytest.raises(ResponseError, match="the disk is full"):
            bench.rate(served.url, concurrency=concurrency, conversation="form")
        assert refused
        assert len(served.asked) <= 2 * concurrency  # those under way; a single one begins none after the loss
        kept = [call.scope for call in Journal(bench.store).every(KIND) if call.outcome == "ok"]
        assert len(kept) == len(served.asked) - 1  # the others were kept, though they shared a transaction with it
        monkeypatch.setattr(journal, "keep", keep)
        summary = bench.rate(served.url, concurrency=concurrency, conversation="form")
    assert summary.finished + summary.finished_before == VISITS
    calls = list(Journal(bench.store).every(KIND))
    assert 1 <= sum(call.outcome == STARTED for call in calls) <= 1 + concurrency  # the one lost, and those not sent
    assert len({call.scope for call in calls if call.outcome == "ok"}) == VISITS


def test_nothing_is_counted_before_it_is_on_disk(bench: Bench) -> None:
    seen: list[tuple[int, int]] = []

    def progress(summary: RatingSummary) -> None:
        calls = Journal(bench.store).every(KIND)
        seen.append((summary.requests, sum(call.outcome != STARTED for call in calls)))
        assert summary.finished <= len(list(bench.store.submissions()))

    with scripted(lambda asked: http(middle(asked))) as served:
        rater = Rater(id="judge", model="m", base_url=served.url, concurrency=3)
        endpoint = HTTPEndpoint(rater, CHAT_API, environment={})
        rate_visits(
            bench,
            rater_visits(bench.store, rater_variants(rater)),
            PlainPrompts(),
            endpoint=endpoint,
            progress=progress,
        )
    assert seen
    assert all(told <= kept for told, kept in seen)
    assert seen[-1] == (VISITS, VISITS)
