"""An audit as HITs: one for each form that was drawn, and another where its worker gave no answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner

from mturk.idempotent_calls import IdempotentMTurkCalls
from spa.cli import main
from tests.audited_study import audit
from tests.load.killed_audits import KILLED, Ended, dying_at, play
from tests.mturk.emulated import Emulator
from tests.mturk.studies import STUDY, make_bench
from tests.mturk.test_hits_exactly_once import Killed
from tests.mturk.test_hits_waves import open_hits


def test_a_form_of_an_audit_is_offered_until_it_is_answered(
    tmp_path: Path, emulated: Emulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One worker is not eligible, and one HIT expires; a later wave comes when all before are answered."""
    monkeypatch.setitem(IdempotentMTurkCalls.__init__.__kwdefaults__, "sleep", lambda seconds: None)
    bench = make_bench(tmp_path, emulated, annotators=14, text=STUDY + audit(7))
    workers = iter(emulated.workers(16, country="US"))
    assert len(bench.json("publish", "--yes")["made"]) == 3
    first, second, third = open_hits(bench)
    form = bench.form_of(first)
    (native,) = (one.question_id for one in form.questions("people") if type(one.target).__name__ == "ScreeningTarget")
    bench.answer(first, next(workers), **{native: "No"})
    bench.answer(second, next(workers), **bench.preferring(second))
    emulated.client.update_expiration_for_hit(HITId=third, ExpireAt=0)
    again = bench.json("advance", "--yes")
    assert (again["completed"], again["reason"], len(again["made"])) == (2, "open", 2)
    assert {bench.form_of(hit).assignment_id for hit in again["made"]} == {
        bench.form_of(hit).assignment_id for hit in (first, third)
    }
    made = 5
    while found := [hit["HITId"] for hit in bench.hits() if hit["HITStatus"] == "Assignable"]:
        assert bench.json("advance", "--yes")["made"] == []  # a place is free
        with bench.open() as workspace:  # forms count in their order
            found.sort(key=lambda hit: workspace.store.assignments.ids().index(bench.form_of(hit).assignment_id))
        for hit in found[: 1 if made == 11 else 3]:
            bench.answer(hit, next(workers), **bench.preferring(hit))
        ended = bench.json("advance", "--yes", "--stop")
        made += len(ended["made"])
    assert (ended["reason"], ended["free"], len(ended["expired"])) == ("enough", 2, 2)
    assert len(bench.hits()) == made == 11
    status = CliRunner().invoke(main, ["status", str(bench.study)]).output
    assert "7 of 9 forms drawn are answered" in status
    assert "beta is better, decided after 7" in status


def _typed(words: Sequence[str], environment: Mapping[str, str], die_at: str | None) -> Ended:
    """Run a command in this process, which dies as far as the command can tell."""

    def die() -> None:
        raise Killed

    number, moment = (die_at or "1000000 after").split()
    with pytest.MonkeyPatch.context() as patch:
        for owner, name, method in [*dying_at(int(number), moment, die)]:
            patch.setattr(owner, name, method)
        try:
            result = CliRunner().invoke(main, [*words], env=environment, catch_exceptions=False)
        except Killed:
            return Ended(code=KILLED, output="")
    return Ended(code=result.exit_code, output=result.output)


def test_an_audit_is_the_same_however_often_it_dies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each form that was drawn is offered once, each reward and bonus paid once; ``killed_audits`` kills processes."""
    monkeypatch.setitem(IdempotentMTurkCalls.__init__.__kwdefaults__, "sleep", lambda seconds: None)
    toll = play("HITs", tmp_path / "play", trials=12, seed=5, command=_typed)
    assert toll.killed.keys() == {"publish", "advance", "approve", "bonus"}
    assert (toll.published, toll.paid, toll.bonuses) == (11, 10, 10)
    assert (toll.twice, toll.missing, toll.other_forms, toll.unfinished) == (0, 0, 0, 0)
