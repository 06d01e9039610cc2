"""A live study as HITs: published in waves, each once, with forms that leave out what is decided by then."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import cycle
from pathlib import Path

import pytest

from mturk import records
from mturk.hit_study import HitStudy
from mturk.idempotent_calls import IdempotentMTurkCalls
from mturk.publishing import Publisher, make_plan
from spa import live
from spa.elicitation.spa import PreferenceTarget
from spa.records.form import Form
from spa.records.study import Study
from spa.responses.begun_order import BEGUN_UNTIL
from spa.responses.store import Store
from tests.mturk.emulated import Emulator
from tests.mturk.studies import STUDY, Bench, make_bench
from tests.mturk.test_hits_exactly_once import Killed
from tests.mturk.test_hits_exactly_once import kill_at as kill_at
from tests.spa.platforms.test_waves import live_state

LIVE = f'{STUDY}\n[stopping]\nrule = "when_decided"\nleast = 2\nwave = 2\n'
CHAIN = (("beta", "alpha"), ("gamma", "beta"))


@pytest.fixture
def decide(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Return a switch: each pair is decided once so many people have completed."""

    def patch(*after: int) -> None:
        def states(study: Study, store: Store) -> tuple[live.LiveState, ...]:
            units = store.visits.count_completed()
            (pair,) = live_state(units=units, most=6).pairs
            pairs = tuple(
                replace(pair, system_x=x, system_y=y, decision="x" if units >= people else None)
                for (x, y), people in zip(CHAIN, cycle(after), strict=False)
            )
            return (replace(live_state(units=units, most=6), pairs=pairs),) if units else ()

        monkeypatch.setattr(live, "live_states", states)

    return patch


@pytest.fixture
def bench(tmp_path: Path, emulated: Emulator, monkeypatch: pytest.MonkeyPatch) -> Bench:
    monkeypatch.setitem(IdempotentMTurkCalls.__init__.__kwdefaults__, "sleep", lambda seconds: None)
    return make_bench(tmp_path, emulated, annotators=6, text=LIVE)


def pairs_in(bench: Bench, hit_id: str) -> set[frozenset[str]]:
    form: Form = bench.form_of(hit_id)
    with bench.open() as workspace:
        systems = workspace.store.assignments.key(form.assignment_id).systems
    targets = [one.target for one in form.questions("people") if isinstance(one.target, PreferenceTarget)]
    return {frozenset((systems[target.label_x], systems[target.label_y])) for target in targets}


def open_hits(bench: Bench) -> list[str]:
    return [hit["HITId"] for hit in bench.hits() if hit["NumberOfAssignmentsAvailable"]]


def answer_all(bench: Bench, workers: Iterator[str]) -> None:
    for hit_id in open_hits(bench):
        bench.answer(hit_id, next(workers))


def test_hits_are_published_in_waves_with_what_is_open_by_then(bench: Bench, decide: Callable[..., None]) -> None:
    decide(2, 5)
    workers = iter(bench.emulator.workers(6, country="US"))
    planned = bench.json("publish", "--yes")
    assert (len(planned["made"]), planned["total"], planned["at_most"]) == (2, "2.40", "7.20")
    assert bench.json("publish", "--yes")["made"] == []
    assert bench.json("advance", "--yes")["reason"] == "under way"
    answer_all(bench, workers)
    dry = bench.run("advance").stdout
    assert "1 of 2 comparisons are decided after 2 annotators; next wave: 2 places" in dry
    assert "this wave $2.40, published so far $2.40, at most $7.20" in dry
    assert "Nothing was published" in dry
    assert len(bench.json("advance", "--yes")["made"]) == 2
    second = {frozenset(CHAIN[1])}
    assert [pairs_in(bench, hit_id) for hit_id in open_hits(bench)] == [second] * 2
    answer_all(bench, workers)
    assert bench.json("advance", "--yes")["next"] == 2
    bench.answer(open_hits(bench)[0], next(workers))  # five: all is decided, and one place is free
    ended = bench.json("advance", "--yes")
    assert (ended["reason"], ended["made"], ended["expired"], ended["free"]) == ("enough", [], [], 1)
    assert len(bench.json("advance", "--yes", "--stop")["expired"]) == 1
    assert bench.json("advance")["free"] == 0
    assert open_hits(bench) == [] or bench.json("status")["available"] == 1
    assert bench.json("collect")["problems"] == 0
    assert bench.json("approve", "--yes")["approved"] == 5


def test_a_form_that_stands_in_a_hit_never_changes(bench: Bench, decide: Callable[..., None]) -> None:
    """The second of the first wave answers when the first pair is decided already."""
    decide(1, 9)
    workers = iter(bench.emulator.workers(6, country="US"))
    bench.run("publish", "--yes")
    first, second = open_hits(bench)
    whole = {frozenset(pair) for pair in CHAIN}
    bench.answer(first, next(workers))
    assert bench.json("advance", "--yes")["reason"] == "under way"  # leaves the decided pair out of further forms
    assert pairs_in(bench, second) == whole
    bench.answer(second, next(workers))
    bench.run("advance", "--yes")
    assert bench.json("collect")["problems"] == 0
    with bench.open() as workspace:
        assert workspace.store.visits.count_completed() == 2
    assert [pairs_in(bench, hit_id) for hit_id in open_hits(bench)] == [{frozenset(CHAIN[1])}] * 2


def test_hits_leave_out_pairs_decided_since(bench: Bench) -> None:
    """A HIT holds the form that answers are read with, whatever the survey server left out meanwhile."""
    with bench.open() as workspace:
        records.set_up(workspace.store)
        calls = IdempotentMTurkCalls(workspace.store, bench.endpoint())
        hit_study = HitStudy(workspace=workspace, settings=bench.settings(), idempotent_calls=calls)
        plan = make_plan(hit_study)
        workspace.store.assignments.leave_out([CHAIN[0]])
        made = list(Publisher(hit_study).publish(plan))
    for hit_id in made:
        asked = set(re.findall(r'name="(q\d+)"', bench.emulator.get(hit_id)["Question"]))
        questions = {question.question_id for question in bench.form_of(hit_id).questions("people")}
        assert asked
        assert asked <= questions
        assert pairs_in(bench, hit_id) == {frozenset(CHAIN[1])}


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_kill_while_a_wave_is_published_makes_each_hit_once(
    bench: Bench, decide: Callable[..., None], kill_at: Callable[[str, str], None], moment: str
) -> None:
    """The rest of a wave that broke off is opened with the next one."""
    decide(9, 9)
    workers = iter(bench.emulator.workers(6, country="US"))
    bench.run("publish", "--yes")
    answer_all(bench, workers)
    kill_at("create_hit_with_hit_type", moment)
    with pytest.raises(Killed):
        bench.run("advance", "--yes")
    assert len(bench.hits()) == (2 if moment == "before" else 3)
    assert bench.json("advance", "--yes")["made"] == []  # the interrupted one is made, or found, and has a free place
    assert len(bench.hits()) == 3
    answer_all(bench, workers)
    assert len(bench.json("advance", "--yes")["made"]) == 2
    assert len({hit["RequesterAnnotation"] for hit in bench.hits()}) == len(bench.hits()) == 5
    assert bench.json("status")["unfinished_calls"] == 0


def test_people_count_once_all_who_began_before_are_known(bench: Bench) -> None:
    """A HIT that holds its form says who began when it is submitted: decisions lag by the time allowed, 60 minutes."""
    workers = iter(bench.emulator.workers(6, country="US"))
    bench.run("publish", "--yes")
    answer_all(bench, workers)
    assert bench.json("collect")["problems"] == 0
    now = time.time()
    with bench.open() as workspace:
        known = float(workspace.store.meta(BEGUN_UNTIL) or "nan")
        assert now - 3700 < known < now - 3600
        order = workspace.store.visits.begun_order(now)["human"]
        assert (order.counted, order.waiting) == ((), 2)
        last = max(visit.leased_at for visit in workspace.store.visits.of_people())
        workspace.store.set_meta(BEGUN_UNTIL, repr(last + 1))  # as though collected after an hour
        counted = workspace.store.visits.begun_order(now)["human"].counted
        assert len(counted) == 2
        assert counted[0].leased_at <= counted[1].leased_at


def test_no_more_hits_than_planned_at_most(bench: Bench, decide: Callable[..., None]) -> None:
    decide(9, 9)
    workers = iter(bench.emulator.workers(6, country="US"))
    bench.run("publish", "--yes")
    for published in (2, 4, 6):
        assert len(bench.hits()) == published
        answer_all(bench, workers)
        last = bench.json("advance", "--yes", "--every", "5") if published == 6 else bench.json("advance", "--yes")
    assert (last["reason"], last["next"]) == ("enough", 0)


def test_a_study_of_fixed_size_has_no_waves(tmp_path: Path, emulated: Emulator) -> None:
    bench = make_bench(tmp_path, emulated)
    assert '[stopping] rule: expected "when_decided", got "fixed"' in bench.run("advance", code=1).stderr
