"""A rater of a live study is asked until its own answers decide, a wave at a time, each group by itself."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from spa import live
from spa.cli import main
from spa.raters import batch
from spa.raters.endpoints.chat_completions import CHAT_API
from spa.raters.endpoints.http_endpoint import HTTPEndpoint
from spa.raters.run import rate_visits
from spa.raters.stopping import RaterStopping, stopping_of
from spa.raters.summary import RatingSummary, stop_if_unfinished
from spa.raters.visits import rater_visits
from spa.records.raters import Rater, Variant, rater_variants
from spa.records.study import Study
from spa.responses.store import Store
from spa.study.load import load_study
from tests import patience
from tests.spa.batch_server import BatchServer
from tests.spa.platforms.test_waves import live_state
from tests.spa.rater_bench import Bench, PlainPrompts, rater_bench
from tests.spa.scripted_server import scripted
from tests.spa.small_study import STUDY, write_study

LIVE = f'{STUDY}\n[stopping]\nrule = "when_decided"\nleast = 2\nwave = 3\n'


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    with rater_bench(tmp_path, assignments=12) as made:
        yield made


@pytest.fixture
def stopping(tmp_path: Path, bench: Bench) -> RaterStopping:
    found = stopping_of(load_study(write_study(tmp_path, LIVE)), bench.store)
    assert found is not None
    return found


def group_of(lease: Any) -> str:
    variant = None if lease.asked is None else lease.asked.variant
    return "judge" if variant is None else f"judge/{variant}"


def decide(monkeypatch: pytest.MonkeyPatch, **after: int) -> list[int]:
    """Let each group be decided after so many assignments; returns how many each look saw."""
    looks: list[int] = []

    def states(study: Study, store: Store) -> tuple[live.LiveState, ...]:
        done = Counter(group_of(lease) for lease in store.visits.leases() if lease.completed)
        looks.append(done.total())
        return tuple(
            live_state(units=units, most=99, decided=units >= after[group.rpartition("/")[2]], group=group)
            for group, units in done.items()
        )

    monkeypatch.setattr(live, "live_states", states)
    return looks


def rate(bench: Bench, stopping: RaterStopping | None, **fields: Any) -> RatingSummary:
    rater = Rater(id="judge", model="m", base_url=bench.endpoint()[0], **fields)
    visits = rater_visits(bench.store, rater_variants(rater))
    endpoint = HTTPEndpoint(rater, CHAT_API, environment={})
    return rate_visits(bench, visits, PlainPrompts(), endpoint=endpoint, stopping=stopping)


def test_a_rater_stops_at_the_look_after_it_is_decided(
    bench: Bench, stopping: RaterStopping, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = decide(monkeypatch, judge=5)
    found = rate(bench, stopping, concurrency=1)
    assert (found.finished, found.not_needed, looks) == (6, 6, [0, 3, 6])
    assert found.notes == [
        "judge: 1 of 1 comparisons are decided after 6 assignments, which is enough; --all asks the rest too"
    ]
    stop_if_unfinished(found)
    again = rate(bench, RaterStopping(stopping._study, bench.store), concurrency=1)
    assert (again.finished_before, again.finished, again.not_needed, again.requests) == (6, 0, 6, 0)
    everything = rate(bench, None, concurrency=1)
    assert (everything.finished_before, everything.finished) == (6, 6)


def test_what_is_under_way_is_finished(bench: Bench, stopping: RaterStopping, monkeypatch: pytest.MonkeyPatch) -> None:
    decide(monkeypatch, judge=3)
    found = rate(bench, stopping, concurrency=4)
    assert 3 <= found.finished <= 3 + 2 * 4
    assert found.finished + found.not_needed == 12
    assert not found.unfinished


def test_variants_stop_each_by_itself(bench: Bench, stopping: RaterStopping, monkeypatch: pytest.MonkeyPatch) -> None:
    decide(monkeypatch, short=2, long=99)
    variants = (Variant(id="short"), Variant(id="long"))
    found = rate(bench, stopping, concurrency=1, variants=variants)
    done = Counter(group_of(lease) for lease in bench.store.visits.leases() if lease.completed)
    assert done == {"judge/short": 2, "judge/long": 12}  # a look after three visits in all
    assert found.not_needed == 10


def test_batch_files_hold_a_wave(bench: Bench, stopping: RaterStopping, monkeypatch: pytest.MonkeyPatch) -> None:
    decide(monkeypatch, judge=5)
    with scripted(BatchServer()) as served:
        rater = Rater(id="judge", model="m", base_url=served.url, provider="batch")
        visits = rater_visits(bench.store, rater_variants(rater))

        def run(*, wait: bool) -> RatingSummary:
            return batch.rate_in_batches(
                bench,
                visits,
                PlainPrompts(),
                endpoint=HTTPEndpoint(rater, CHAT_API, environment={}, timeout=patience.SECONDS),
                wait=wait,
                stopping=RaterStopping(stopping._study, bench.store),
                sleep=lambda seconds: asyncio.sleep(0),
            )

        first = run(wait=False)
        assert (first.waiting, first.later, first.notes[-1]) == (
            3,
            9,
            "9 assignments wait for the results of this wave",
        )
        stop_if_unfinished(first)
        rest = run(wait=True)
    assert (rest.finished, rest.not_needed, rest.later) == (6, 6, 0)
    stop_if_unfinished(rest)


def test_the_command_says_so_and_all_asks_everything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study = write_study(tmp_path, LIVE)
    state = live_state(units=4, most=6, decided=True, group="simulated-rater")
    monkeypatch.setattr(live, "live_states", lambda study, store, exported=None: (state,))

    def spa(*words: str) -> str:
        result = CliRunner().invoke(main, [words[0], str(study), *words[1:]])
        assert result.exit_code == 0, result.output + result.stderr
        return result.stdout

    spa("build")
    printed = spa("rate", "--simulate")
    assert "0 of 6 assignments finished, 6 not needed" in printed
    assert "1 of 1 comparisons are decided after 4 assignments, which is enough; --all asks the rest too" in printed
    assert "6 of 6 assignments finished" in spa("rate", "--simulate", "--all")
