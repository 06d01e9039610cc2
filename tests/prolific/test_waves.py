"""A live study on the platform: its places are opened in waves, each once, and none once it is enough."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from spa import live
from spa.cli import main
from spa.commands.workspace import open_workspace
from spa.journal import Journal
from spa.records.study import Study
from spa.responses.store import Store
from spa.study.stopping import planned_annotators
from tests.prolific.conftest import Emulator, running
from tests.prolific.running_study import Running, running_study
from tests.prolific.studies import study_text
from tests.prolific.test_crashes import FEW, Killed, dying
from tests.spa.platforms.test_waves import live_state
from tests.spa.small_study import write_study

LIVE = '[stopping]\nrule = "when_decided"\nleast = 2\nwave = 2\nmost = 6'


@contextmanager
def deciding_after(people: int) -> Iterator[None]:
    """Let the only pair be decided once so many people have completed."""

    def states(study: Study, store: Store, *, now: float | None = None) -> tuple[live.LiveState, ...]:
        units = store.visits.count_completed()
        return (live_state(units=units, most=planned_annotators(study), decided=units >= people),) if units else ()

    import_module("analysis.answers.live_rows")  # which keeps the function that it finds
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(live, "live_states", states)
        yield


@pytest.fixture
def study(tmp_path: Path, fresh_emulator: Emulator) -> Iterator[Running]:
    with running_study(tmp_path, fresh_emulator, places=6, stopping=LIVE) as study:
        yield study


def places_of(study: Running, study_id: str) -> int:
    return int(study.emulator.api.get(f"/api/v1/studies/{study_id}/").json()["total_available_places"])


def test_places_are_opened_wave_by_wave_until_it_is_enough(study: Running) -> None:
    with deciding_after(4):
        printed = study.spa("plan", "--public-url", study.url).stdout
        assert "rewards: 2 places x USD 2.00 = USD 4.00" in printed
        assert "at most 6 places, USD 16.00 with fees" in printed
        study_id = study.publish()
        assert places_of(study, study_id) == 2
        first = study.complete(study_id)
        at_work = study.arrive(study_id)
        waiting = study.json("advance")  # nobody waits for the slowest
        assert (waiting["next"], waiting["reason"], waiting["wave_amount"]) == (1, "open", "2.67")
        assert (waiting["so_far_amount"], waiting["at_most_amount"]) == ("5.33", "16.00")
        assert "Nothing was opened; add --yes" in study.spa("advance").stdout
        assert places_of(study, study_id) == 2
        assert "opened: 1 places, 3 in all" in study.spa("advance", yes=True).stdout
        assert study.json("advance", yes=True)["opened"] == 0  # a place is free
        at_work.answer()
        at_work.hand_in()
        study.complete(study_id)
        assert study.json("advance", yes=True)["opened"] == 2
        last = study.arrive(study_id)
        last.open()
        study.complete(study_id)  # four have completed: decided
        ended = study.json("advance", yes=True)
        assert (ended["places"], ended["opened"], ended["reason"]) == (5, 0, "enough")
        last.answer()  # who is at work is not cut off
        last.hand_in()
        assert study.json("advance", "--every", "5", yes=True)["reason"] == "enough"  # returns at once
        study.spa("approve", yes=True)
        rows = study.emulator.api.get(f"/api/v1/studies/{study_id}/submissions/").json()["results"]
        assert [row["status"] for row in rows] == ["APPROVED"] * 5
        assert first.submission_id in {row["id"] for row in rows}


def test_recruitment_stops_only_where_it_is_asked_for(study: Running) -> None:
    with deciding_after(1):
        study_id = study.publish()
        study.complete(study_id)
        assert study.json("advance", yes=True)["free"] == 1

        def status() -> str:
            return str(study.emulator.api.get(f"/api/v1/studies/{study_id}/").json()["status"])

        assert not study.json("advance", "--stop")["stopped"]
        assert status() == "ACTIVE"
        assert "recruitment is stopped" in study.spa("advance", "--stop", yes=True).stdout
        assert status() == "AWAITING REVIEW"
        assert not study.json("advance", "--stop", yes=True)["stopped"]


def test_what_was_stopped_by_hand_stays_stopped(study: Running) -> None:
    with deciding_after(9):
        study_id = study.publish()
        for _ in range(2):
            study.complete(study_id)
        study.spa("stop", yes=True)
        refused = study.spa("advance", yes=True, code=1)
        assert "was paused or stopped while pairs were undecided" in refused.stderr
        assert places_of(study, study_id) == 2
        study.spa("stop", "--resume")
        assert study.json("advance", yes=True)["opened"] == 2


def test_waves_refill_places_returned_late(study: Running) -> None:
    """Places returned after the study was full are filled again."""
    study.emulator.people.behave(awaiting_review_when_full=True)
    with deciding_after(9):
        study_id = study.publish()
        study.complete(study_id)
        study.emulator.people.give_back(study.arrive(study_id).submission_id)
        if study.json("advance")["status"] == "AWAITING REVIEW":
            assert "were returned after the study was full" in study.spa("advance").stdout
            study.spa("advance", yes=True)
        found = study.json("advance", yes=True)
        assert (found["status"], found["places"], found["free"]) == ("ACTIVE", 2, 1)


def test_no_more_than_planned_and_not_without_the_money(study: Running) -> None:
    with deciding_after(9):
        study_id = study.publish()
        for places in (2, 4, 6):
            assert places_of(study, study_id) == places
            for _ in range(2):
                study.complete(study_id)
            opened = study.json("advance", yes=True)
        assert (opened["opened"], opened["reason"]) == (0, "enough")  # as many as planned at most


def test_a_wave_that_cannot_be_paid_is_not_opened(study: Running) -> None:
    with deciding_after(9):
        study_id = study.publish()
        for _ in range(2):
            study.complete(study_id)
        study.emulator.people.plan("UpdateStudy", "wallet_short")
        refused = study.spa("advance", yes=True, code=1)
        assert refused.stderr.count("\n") == 1
        assert places_of(study, study_id) == 2
        assert study.json("advance", yes=True)["opened"] == 2


def test_a_wave_without_assignments_is_not_opened(study: Running) -> None:
    with deciding_after(99):
        study_id = study.publish()
        study.path.write_text(study.path.read_text().replace("most = 6", "most = 9"))
        for _ in range(3):
            for _ in range(2):
                study.complete(study_id)
            refused = study.spa("advance", yes=True, code=None)
        assert "expected 8 assignments for so many places, got 6; run `spa build` with --annotators 9" in refused.stderr
        assert places_of(study, study_id) == 6
        built = CliRunner().invoke(main, ["build", str(study.path), "--annotators", "9"])
        assert built.exit_code == 0
        assert study.json("advance", yes=True)["opened"] == 2


def test_a_study_of_fixed_size_has_no_waves(tmp_path: Path, fresh_emulator: Emulator) -> None:
    with running_study(tmp_path, fresh_emulator, places=2) as study:
        study_id = study.publish()
        assert places_of(study, study_id) == 2
        assert '[stopping] rule: expected "when_decided", got "fixed"' in study.spa("advance", code=1).stderr


@pytest.fixture(scope="module")
def crashing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Running, str]]:
    folder = tmp_path_factory.mktemp("waves")
    stopping = LIVE.replace("most = 6", "most = 600")
    with (
        running(folder / "platform.sqlite") as emulator,
        running_study(folder, emulator, places=600, stopping=stopping) as study,
    ):
        workspace = emulator.api.get("/api/v1/workspaces/").json()["results"][0]["id"]
        emulator.people.do("POST", "wallet/", {"workspace_id": workspace, "pay_in": 10_000_000})
        yield study, study.publish()


@FEW
@given(
    deaths=st.lists(st.tuples(st.integers(0, 14), st.sampled_from(["before", "after"])), min_size=1, max_size=4),
    fault=st.sampled_from([None, "drop_after_effect", "drop", "429"]),
)
def test_a_wave_is_opened_once_however_often_opening_it_dies(
    crashing: tuple[Running, str], deaths: list[Any], fault: str | None
) -> None:
    study, study_id = crashing
    with deciding_after(10_000):
        before = places_of(study, study_id)
        while (seen := study.emulator.api.get(f"/api/v1/studies/{study_id}/").json())["places_taken"] < before:
            assert seen["status"] == "ACTIVE"
            study.complete(study_id)
        if fault is not None:
            study.emulator.people.plan("UpdateStudy", fault)
        with pytest.MonkeyPatch.context() as monkeypatch:
            for point, moment in deaths:
                with dying(monkeypatch, point, moment):
                    try:
                        study.spa("advance", "--yes", code=None)
                    except Killed:
                        pass
        study.spa("advance", "--yes", code=None)
        study.spa("advance", "--yes")
        assert places_of(study, study_id) == before + 2
        assert [call for call in study.json("journal") if call["outcome"] == "started"] == []


@pytest.mark.parametrize(("most", "more"), [(8, ["--share=drops-out=0.2"]), (12, ["--faults"])])
def test_a_live_study_is_rehearsed_in_waves(tmp_path: Path, most: int, more: list[str]) -> None:
    """Rewards of 2.50 and a third for each who is paid; the study of fixed size would pay all places."""
    stopping = f'[stopping]\nrule = "when_decided"\nleast = 4\nwave = 4\neffect = 0.2\nmost = {most}'
    project = "5f0c1d2e3a4b5c6d7e8f9a0b"
    text = study_text(top='consent.text = "I."', annotators=6, pay="2.50", project=project, stopping=stopping)
    study, out = write_study(tmp_path, text), tmp_path / "out"
    command = ["rehearse", str(study), "--out", str(out), "--seed", "3", "--json", *more]
    result = CliRunner().invoke(main, command, catch_exceptions=False)
    assert result.exit_code == 0, result.output + result.stderr
    found = json.loads(result.stdout)
    assert 4 <= found["paid"] <= most
    assert float(found["bill_amount"]) == pytest.approx(found["paid"] * 2.50 * 4 / 3, abs=0.01)
    assert (found["estimate_amount"], float(found["fixed_amount"])) == ("13.33", pytest.approx(most * 10 / 3, abs=0.01))
    with open_workspace(out / "study.toml") as workspace:
        state = live.live_state(workspace.study, workspace.store, "simulated")
        assert state is not None
        assert state.enough or found["paid"] == most
        calls = Journal(workspace.store).every("prolific")
        opened = [call.facts["places"] for call in calls if call.key.startswith("open places")]
    assert opened == sorted(set(opened))
    assert all(4 < places <= most for places in opened)
    page = (out / "rehearsal.html").read_text()
    assert f"A study of fixed size, with {most} places" in page
    assert f"spa prolific advance {study} --every 60 --yes --stop" in page
