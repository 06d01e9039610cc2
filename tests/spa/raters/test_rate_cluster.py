"""Rating on a cluster: the same answers, each question asked once, never more money or requests than one run's."""

from __future__ import annotations

import asyncio
import os
import random
import re
import shutil
import signal
import socket
import threading
import time
from dataclasses import replace
from functools import partial
from itertools import cycle, groupby
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import make_url

from spa.cli import main
from spa.commands.rating import open_endpoint
from spa.commands.rating_cluster import open_study
from spa.commands.workspace import open_workspace
from spa.errors import PlatformError
from spa.raters.budget import Price, RaterBudget
from spa.raters.cluster.batches import OpenBatches, VisitBatch, add_summary, first_item
from spa.raters.cluster.grants import BudgetGrants
from spa.raters.cluster.runs import begin_run, new_run, workers_of
from spa.raters.cluster.worker import WorkerBatch, WorkerSetup, rate_batch, stop_run, worker_id
from spa.raters.summary import RatingSummary
from spa.raters.visits import RaterVisit, rater_visits
from spa.records.raters import Rater, rater_variants
from spa.responses.export import export_tables
from spa.responses.run_lock import lock_holders, shared_run
from spa.responses.store import Store
from tests import patience
from tests.postgres import Cluster
from tests.postgres import postgres_cluster as postgres_cluster
from tests.postgres import postgres_url as postgres_url
from tests.spa.cluster_bench import FORM_COSTS, PRICES, check_asked_once, dear, rate, ready
from tests.spa.cluster_bench import two_workers as two_workers
from tests.spa.cluster_bench import workers as workers
from tests.spa.raters.test_rater_exactly_once import CONCURRENCY, judge, slow
from tests.spa.rehearsed import built_example, spa
from tests.spa.scripted_server import Asked, Said, chat, http, middle, scripted
from tests.spa.small_study import STUDY, write_study

BUDGETS = 5
COUNTS = ("visits", "finished", "answered", "shared", "missing", "requests", "prompt_tokens", "completion_tokens")
VISIT = RaterVisit(assignment_id="a1", asked=rater_variants(Rater(id="judge", model="m"))[0], repeat=1)


def exported(study: Path, store: str | None = None) -> dict[str, Any]:
    """Return the tables, without times."""
    with open_workspace(study, store, rehearsal=True) as workspace:
        tables = export_tables(workspace.store)
    found = {name: getattr(tables, name) for name in ("preferences", "ratings", "annotators") if hasattr(tables, name)}
    return {
        name: sorted(
            table.select(sorted(set(table.columns) - {"seconds", "started_at", "completed_at"})).rows(), key=str
        )
        for name, table in found.items()
    }


@pytest.mark.parametrize("where", ["sqlite", "postgresql"])
def test_answers_are_those_of_a_run_without_a_cluster(
    workers: Any, tmp_path: Path, where: str, request: pytest.FixtureRequest
) -> None:
    study = built_example(tmp_path, annotators=8, exposure=2)
    alone = tmp_path / "alone"
    shutil.copytree(study.parent, alone)
    store = ()
    if where == "postgresql":
        store = ("--store", request.getfixturevalue("postgres_url"))
        spa("build", study, *store)
    here, there = (rate(alone / "study.toml", "--simulate", cluster=False), rate(study, "--simulate", *store))
    if where == "sqlite":
        assert {name: here[name] for name in COUNTS} == {name: there[name] for name in COUNTS}
        assert exported(study) == exported(alone / "study.toml")
    assert there["finished"] == there["visits"]
    again = rate(study, "--simulate", *store)
    assert (again["requests"], again["finished_before"]) == (0, there["visits"])


def test_cluster_live_study_asks_by_waves(workers: Any, tmp_path: Path) -> None:
    """A live study asks no more than a wave of what is decided."""
    wave = 8
    text = STUDY.replace("annotators = 6", "annotators = 48")
    study = write_study(tmp_path, f'{text}\n[stopping]\nrule = "when_decided"\nleast = 4\nwave = {wave}\n')
    spa("build", study)
    shutil.copytree(tmp_path, tmp_path / "alone")
    alone = tmp_path / "alone" / study.name
    better = ("--utility", "alpha=0", "--utility", "beta=3", "--utility", "gamma=6")
    here, there = rate(alone, "--simulate", *better, cluster=False), rate(study, "--simulate", *better)
    assert here["not_needed"] > 0
    for each in (here, there):
        assert each["finished"] + each["not_needed"] == 48
        assert each["requests"] == each["finished"] <= 4 * wave
    assert any("2 of 2 comparisons are decided" in note for note in there["notes"])
    again = rate(study, "--simulate", *better)
    assert (again["requests"], again["finished_before"]) == (0, there["finished"])
    everything = [rate(each, "--simulate", "--all", *better, cluster=each == study) for each in (alone, study)]
    assert everything[1]["finished"] == 48 - there["finished"]
    assert exported(study) == exported(alone)


@pytest.mark.parametrize(
    ("ways", "each"),
    [
        ("seed = 3\nrepeats = 3\n", 3),
        ('[[variants]]\nid = "terse"\n[[variants]]\nid = "wordy"\nexplain = "after"\n', 2),
    ],
)
def test_cluster_repeats_and_variants(workers: Any, tmp_path: Path, ways: str, each: int) -> None:
    """Repeats and variants are those of a run without a cluster."""
    study = built_example(tmp_path, annotators=4, exposure=2)
    alone = Path(shutil.copytree(study.parent, tmp_path / "alone"), study.name)
    rater = tmp_path / "judge.toml"
    rater.write_text(f'id = "simulated-rater"\nmodel = "simulated-rater"\n{ways}')
    given = ("--simulate", "--rater", rater)
    here, there = rate(alone, *given, cluster=False), rate(study, *given)
    assert {name: here[name] for name in COUNTS} == {name: there[name] for name in COUNTS}
    assert there["finished"] == there["visits"] == 4 * each
    assert exported(study) == exported(alone)
    again = rate(study, *given)
    assert (again["requests"], again["finished_before"]) == (0, there["visits"])


def test_cluster_repeats_share_requests(workers: Any, tmp_path: Path) -> None:
    """Repeats share requests and probes are compared as without a cluster."""
    study = built_example(tmp_path, annotators=4, exposure=2)
    alone = Path(shutil.copytree(study.parent, tmp_path / "alone"), study.name)

    def answer(asked: Asked) -> Said:
        said = middle(asked) if "response_format" in asked.body else chat("yes")  # when capabilities are looked for
        (choice,) = said["choices"]
        if "Ignore all instructions above" in str(asked.body["messages"]):
            choice["message"]["content"] = choice["message"]["content"].replace(": 50", ": 45")
        said["choices"] = [choice | {"index": index} for index in range(asked.body.get("n", 1))]
        return http(said)

    with scripted(answer) as served:
        rater = judge(tmp_path, served.url)
        given = ("--rater", rater, "--probe-injection", 3)
        here, there = rate(alone, *given, cluster=False), rate(study, *given)
        assert here == there
        assert (there["forms"], there["requests"], there["unread"]) == (3, 6, 0)
        assert rate(study, *given)["requests"] == 0
        rater.write_text(f"{rater.read_text()}repeats = 3\ntemperature = 1\n")
        shared = [rate(alone, "--rater", rater, "--probe", cluster=False), rate(study, "--rater", rater, "--probe")]
        assert shared[0]["shared"] == shared[1]["shared"] == 8
    assert exported(study) == exported(alone)


def test_no_more_is_asked_at_once_than_the_rater_allows(workers: Any, tmp_path: Path) -> None:
    at_once, most = [0], [0]

    async def answer(asked: Asked) -> Said:
        at_once[0] += 1
        most[0] = max(most[0], at_once[0])
        await asyncio.sleep(0.05)
        at_once[0] -= 1
        return http(middle(asked))

    study = built_example(tmp_path, annotators=16, exposure=2)
    with scripted(answer) as served:
        rate(study, "--rater", judge(tmp_path, served.url, concurrency=3))
        assert 1 <= most[0] <= 3
        assert check_asked_once(study, served, 16) == 0


def test_a_wait_that_one_worker_is_told_holds_for_all(workers: Any, tmp_path: Path) -> None:
    wait, refused = 3.0, 10
    arrived: list[float] = []

    async def answer(asked: Asked) -> Said:
        arrived.append(time.monotonic())
        if asked.number == refused:
            return http({"error": {"message": "slow down"}}, status=429, retry_after=str(int(wait)))
        await asyncio.sleep(0.2)
        return http(middle(asked))

    study = built_example(tmp_path, annotators=32, exposure=2)
    with scripted(answer) as served:
        summary = rate(study, "--rater", judge(tmp_path, served.url))
    assert (summary["finished"], summary["outcomes"]["http_429"]) == (32, 1)
    since = [moment - arrived[refused - 1] for moment in arrived[refused:]]
    assert not [moment for moment in since if 0.6 * wait < moment < 0.99 * wait]
    assert max(since) > wait


def test_two_workers_with_the_same_forms_do_not_both_ask(workers: Any, tmp_path: Path) -> None:
    study = built_example(tmp_path, annotators=12, exposure=2)
    with scripted(slow(0.4)) as served, open_workspace(study) as workspace:
        rater = Rater(id="judge", model="m", base_url=served.url, concurrency=2)
        setup = WorkerSetup(
            run="run",
            fingerprint=workspace.store.fingerprint,
            rater=rater,
            price=None,
            several=False,
            open_study=partial(open_study, study, str(study.with_suffix(".sqlite"))),
            open_endpoint=partial(open_endpoint, timeout=patience.SECONDS, folder=study.parent),
        )
        visits = rater_visits(workspace.store, rater_variants(rater))
        begin_run(workspace.store, "judge", "run", say=pytest.fail)
        batch = VisitBatch(number=1, visits=tuple(visits))
        workers.run(ready)
        handed = [
            (address, WorkerBatch(batch=batch, worker_id=name, budget=None, concurrency=2))
            for address, name in workers.run(worker_id).items()
        ]
        futures = [workers.submit(rate_batch, setup, each, workers=[address], pure=False) for address, each in handed]
        ends = [future.result(timeout=60) for future in futures]
        assert "overtaken" in [end.ended for end in ends]
        assert len(served.asked) <= 12 + 2  # those under way when the other looked at what is on record
        address, last = handed[0]
        end = workers.submit(rate_batch, setup, replace(last), workers=[address], pure=False).result(timeout=60)
        assert (end.ended, end.summary.finished + end.summary.finished_before) == ("done", 12)
        other = replace(last, worker_id="another process")
        refused = workers.submit(rate_batch, setup, other, workers=[address], pure=False).result(timeout=60)
        later = workers.submit(rate_batch, replace(setup, run="later"), last, workers=[address], pure=False)
        assert (refused.ended, later.result(timeout=60).ended) == ("overtaken", "refused")
        assert check_asked_once(study, served, 12) <= 2


@pytest.mark.parametrize("where", [(), ("--cluster", "local:2")])
def test_cluster_ctrl_c_ends_own_run(workers: Any, tmp_path: Path, where: tuple[str, ...]) -> None:
    """Ctrl-C ends a run after its requests under way and no other run."""
    last = 12

    async def answer(asked: Asked) -> Said:
        if asked.number == last // 2:
            workers.run(stop_run, "another run")
        if asked.number == last:
            os.kill(os.getpid(), signal.SIGINT)
        await asyncio.sleep(0.1 if asked.number < last else 2.0)  # until all workers have heard
        return http(middle(asked))

    study = built_example(tmp_path, annotators=60, exposure=2)
    with scripted(answer) as served:
        said = spa("rate", study, "--rater", judge(tmp_path, served.url), "--no-probe", *where, code=1)
    assert "stopped with Ctrl-C; run the command again to resume" in " ".join(said.output.split())
    assert last <= len(served.asked) < last + CONCURRENCY
    assert f"{len(served.asked)} of 60 assignments finished" in said.output


def test_a_run_waits_for_the_workers_of_an_earlier_one(tmp_path: Path) -> None:
    study = built_example(tmp_path, annotators=1, exposure=2)
    said: list[str] = []
    with open_workspace(study) as workspace:
        store = workspace.store
        with shared_run(store.name, workers_of("judge"), store.reading):
            with pytest.raises(PlatformError, match="expected no worker of an earlier run, got one at work"):
                begin_run(store, "judge", say=said.append, wait=0.0)
            release = threading.Event()
            waiting = threading.Thread(target=begin_run, args=(store, "judge"), kwargs={"say": lambda _: release.set()})
            waiting.start()
            assert release.wait(10)
        waiting.join(10)
        assert not waiting.is_alive()


def test_cluster_budget_is_used_and_not_passed(workers: Any, tmp_path: Path) -> None:
    """No budget is passed and none is left that a form could use."""
    rng = random.Random(2)
    prices = tmp_path / "prices.toml"
    prices.write_text(PRICES)
    study = built_example(tmp_path, annotators=10)
    with scripted(dear) as served:
        command = ("rate", study, "--rater", judge(tmp_path, served.url), "--no-probe", "--prices", prices, "--budget")
        limit = 0.0
        for _ in range(BUDGETS):
            limit += rng.uniform(0.0, 200 / BUDGETS)
            for where in (("--cluster", "local:2"), ()):
                CliRunner().invoke(main, [*map(str, (*command, limit, *where))], catch_exceptions=False)
                if where:
                    asked = len(served.asked)
                    assert FORM_COSTS * asked <= limit
            assert len(served.asked) == asked  # one process would have asked nothing more
        assert 2 <= asked <= 10


@given(st.lists(st.tuples(st.integers(0, 3), st.floats(0, 1), st.sampled_from(["end", "lose", "wait"])), max_size=30))
def test_what_is_spent_and_granted_never_passes_the_budget(steps: list[tuple[int, float, str]]) -> None:
    rater_budget = RaterBudget(Price(input=1, output=1), budget=10.0)
    grants = BudgetGrants(rater_budget, 1.0)
    granted: dict[int, float] = {}
    for number, (stopped, used, then) in enumerate(steps):
        batch = VisitBatch(number=number, visits=(VISIT, VISIT), stopped=stopped)
        grant = grants.grant(batch)
        assert grant is not None
        granted[number] = grant
        assert rater_budget.spent + sum(granted.values()) <= 10.0 + 1e-9
        if then == "end":
            grants.settle(batch, used * granted.pop(number), finished=1)
        elif then == "lose":
            grants.lose(batch)  # may be spent still
    lost = sum(granted[number] for number in grants.lost)
    grants.reclaim(rater_budget.spent)
    assert grants.available == pytest.approx(10.0 - rater_budget.spent - sum(granted.values()) + lost)


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("--simulate", "--cluster", "tcp://host:1"), "expected a store that all machines reach, got the SQLite file"),
        (("--rater", "batch.toml", "--cluster", "local:2"), 'got provider = "batch"; rate without it'),
    ],
)
def test_what_a_cluster_cannot_do_is_a_line(tmp_path: Path, arguments: tuple[str, ...], line: str) -> None:
    study = built_example(tmp_path, annotators=1, exposure=2)
    (tmp_path / "batch.toml").write_text('id = "judge"\nmodel = "m"\nprovider = "batch"\n')
    given = [str(tmp_path / word) if word.endswith(".toml") else word for word in arguments]
    said = spa("rate", study, *given, code=1).output
    assert line in " ".join(said.split())


def test_a_password_is_not_sent_to_workers(postgres_url: str, tmp_path: Path) -> None:
    study = built_example(tmp_path, annotators=1, exposure=2)
    url = make_url(postgres_url).set(password="very secret").render_as_string(hide_password=False)  # of no use here
    spa("build", study, "--store", url)
    said = spa(
        "rate", study, "--rater", judge(tmp_path, "http://h/v1"), "--store", url, "--cluster", "tcp://h:1", code=1
    )
    assert "expected --store without a password, which would be sent to all workers" in said.output
    assert "~/.pgpass" in said.output
    assert "secret" not in said.output


def test_workers_on_another_database_are_not_named(postgres_cluster: Cluster) -> None:
    """PostgreSQL shows the locks of all databases of a server, which are apart."""
    with postgres_cluster.database() as one, postgres_cluster.database() as other:
        with Store.create(one) as here, Store.create(other) as there:
            with shared_run(there.name, workers_of("judge"), there.reading):
                assert len(lock_holders(there.name, workers_of("judge"), there.reading)) == 1
                assert lock_holders(here.name, workers_of("judge"), here.reading) == []


@pytest.mark.parametrize("where", ["sqlite", "postgresql"])
def test_cluster_names_workers_of_earlier_run(where: str, request: Any, tmp_path: Path) -> None:
    """Workers of an earlier run are named with machine, process and time."""
    study = built_example(tmp_path, annotators=1, exposure=2)
    url = request.getfixturevalue("postgres_url") if where == "postgresql" else None
    if url:
        spa("build", study, "--store", url)
    said: list[str] = []
    with open_workspace(study, url) as workspace:
        store = workspace.store
        begin_run(store, "judge", new_run(), say=said.append)
        with shared_run(store.name, workers_of("judge"), store.reading), pytest.raises(PlatformError) as caught:
            begin_run(store, "judge", say=said.append, wait=0.0)
    process = f"process {os.getpid()} on {socket.gethostname()}"
    when = r"\d{4}-\d\d-\d\d \d\d:\d\d"
    held = rf"{process} since {when}:\d\d UTC" if url else f"{process}$|{process}; end"  # no file knows since when
    for line in (*said, str(caught.value)):
        assert re.search(rf"run \w{{8}} of {process}, begun {when} UTC; ({held})", line)
        assert len(line) < 500
    assert str(caught.value).endswith("or the SLURM jobs or dask workers of that run, and start again")


def test_a_key_that_a_worker_lacks_is_named_with_the_worker(workers: Any, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("KEY_OF_JUDGE", "sk-very-secret-1234")  # here alone
    study = built_example(tmp_path, annotators=1, exposure=2)
    rater = tmp_path / "judge.toml"
    rater.write_text('id = "judge"\nmodel = "m"\nbase_url = "http://192.0.2.1/v1"\napi_key_env = "KEY_OF_JUDGE"\n')
    said = spa("rate", study, "--rater", rater, "--no-probe", "--cluster", "local:2", code=1).output
    assert "worker tls://127.0.0.1" in said
    assert "environment variable KEY_OF_JUDGE" in " ".join(said.split())


def test_a_worker_gets_assignments_that_begin_with_the_same_item(tmp_path: Path) -> None:
    study = built_example(tmp_path, annotators=40, exposure=2)
    with open_workspace(study) as workspace:
        rater = Rater(id="judge", model="m", repeats=2)
        visits = rater_visits(workspace.store, rater_variants(rater))
        opened = OpenBatches(workspace.store, visits, RatingSummary(rater="judge"), None)
        drawn = workspace.store.assignments.draws([visit.assignment_id for visit in visits], "llm")
        taken: dict[str, list[RaterVisit]] = {"a": [], "b": []}
        for worker in cycle(taken):
            if (batch := opened.take(4, worker)) is None:
                break
            assert len({visit.assignment_id for visit in batch.visits}) == len(batch.visits) / 2
            taken[worker] += batch.visits
    both = [visit.submission_id for visits in taken.values() for visit in visits]
    assert sorted(both) == sorted(visit.submission_id for visit in visits)
    items = {
        worker: [item for item, _ in groupby(first_item(drawn[visit.assignment_id][0]) for visit in visits)]
        for worker, visits in taken.items()
    }
    assert all(len(each) == len(set(each)) for each in items.values())  # who leaves an item never comes back to it
    assert len({*items["a"]} & {*items["b"]}) <= 1  # the last one
    assert len({*items["a"], *items["b"]}) > 3


def test_cluster_batch_counts_once() -> None:
    """What a batch finished is counted once however often it is handed out."""
    total, batch = RatingSummary(rater="judge", visits=4), VisitBatch(number=1, visits=())
    batch = add_summary(total, RatingSummary(rater="judge", finished=2), batch)  # then its store was away
    assert total.finished == 2
    add_summary(total, RatingSummary(rater="judge", finished=1, finished_before=3), replace(batch, lost=1))
    assert (total.finished, total.finished_before) == (4, 0)  # one more was saved and not counted
