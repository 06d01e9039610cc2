"""Visits that the platform has not confirmed: few come in, and none keeps out a participant whom it confirms."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from prolific.api.client import Submissions
from prolific.api.problems import ProlificRequestRefused
from prolific.api.records import SubmissionRecord
from prolific.routes import mount_with
from prolific.verification import KIND
from spa.journal import Journal
from spa.server.app import create_app
from spa.server.survey_context import SurveyContext
from tests.prolific.conftest import running
from tests.prolific.running_study import Running, running_study

PLACES = 6


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Running, str]]:
    folder = tmp_path_factory.mktemp("claims")
    with running(folder / "platform.sqlite") as emulator, running_study(folder, emulator, places=PLACES) as made:
        yield made, made.publish()


@contextmanager
def door(study: Running) -> Iterator[FastAPI]:
    """Open the study's door, in this process; no time passes while it is open, so that no limit fills again."""
    opened = time.time()

    def mount(app: FastAPI, context: SurveyContext) -> None:
        mount_with(app, context, {**os.environ, **study.environment})

    app = create_app(study.workspace, adapters=[mount], clock=lambda: opened)
    with TestClient(app):
        yield app


def press(app: FastAPI, address: str, peer: str) -> int:
    """Press the first page's button at an address of the platform, from a machine; return the status."""
    url = httpx2.URL(address)
    client = TestClient(app, client=(peer, 1), follow_redirects=False)
    return client.post(url.path, params=dict(url.params)).status_code


def made_up(study_id: str, number: int) -> str:
    """Return an address that somebody made up."""
    person, submission = f"5{number:023x}", f"6{number:023x}"
    return f"http://s/prolific?PROLIFIC_PID={person}&STUDY_ID={study_id}&SESSION_ID={submission}"


def test_made_up_visits_use_few_requests_to_the_platform(study: tuple[Running, str]) -> None:
    running, study_id = study
    asked = len(running.emulator.people.requests("GetSubmission"))
    with door(running) as app:
        came = [press(app, made_up(study_id, number), "198.51.100.7") for number in range(60)]
        assert (came.count(403), came.count(429)) == (20, 40)
        assert press(app, made_up(study_id, 3), "203.0.113.5") == 403  # known to be false
    assert len(running.emulator.people.requests("GetSubmission")) == asked + 20


def test_claims_while_platform_is_silent(
    study: tuple[Running, str],
) -> None:
    """While the platform is silent few come in and a participant takes their place."""
    running, study_id = study
    visits = running.workspace.store.visits
    honest = [running.arrive(study_id) for _ in range(PLACES)]
    running.emulator.people.plan("GetSubmission", "429", count=400)
    with door(running) as app:
        of_one = [press(app, made_up(study_id, 100 + number), "198.51.100.7") for number in range(10)]
        assert (of_one.count(303), of_one.count(429)) == (3, 7)
        of_many = [press(app, made_up(study_id, 200 + number), f"203.0.{number}.1") for number in range(30)]
        assert of_many.count(303) == 2, "five in all, where half the places are fewer"
    running.emulator.people.do("DELETE", "faults/")
    running.emulator.people.advance(seconds=20)  # for so long the platform is left alone
    with door(running) as app:
        assert [press(app, one.address, f"192.0.{number}.2") for number, one in enumerate(honest)] == [303] * PLACES
    of_people = list(visits.of_people("prolific"))
    seated = {visit.person for visit in of_people if visit.seat is not None}
    assert seated == {one.person for one in honest}
    assert sum(visit.standing_by for visit in of_people) == 5, "who lost the place goes on"


def test_a_place_belongs_to_whom_the_platform_counts(tmp_path: Path) -> None:
    with running(tmp_path / "p.sqlite") as emulator, running_study(tmp_path, emulator, places=1) as running_one:
        study_id = running_one.publish()
        late = running_one.arrive(study_id)
        late.answer()  # and never enters the code
        visits = running_one.workspace.store.visits
        emulator.people.do("POST", f"submissions/{late.submission_id}/time-out/")
        running_one.json("collect")
        first = visits.find("prolific", late.submission_id)
        assert first is not None
        assert (first.completed, first.extra, first.seat) == (True, True, None)
        paid = running_one.complete(study_id)
        running_one.json("collect")
        second = visits.find("prolific", paid.submission_id)
        assert second is not None
        assert (second.completed, second.extra) == (True, False)


def test_claims_late_code_counts_where_place_is_free(tmp_path: Path) -> None:
    """Who hands the code in late counts where the place is free."""
    with running(tmp_path / "p.sqlite") as emulator, running_study(tmp_path, emulator, places=1) as running_one:
        late = running_one.arrive(running_one.publish())
        late.answer()
        emulator.people.do("POST", f"submissions/{late.submission_id}/time-out/")
        running_one.json("collect")
        late.hand_in()
        running_one.json("collect")
        visit = running_one.workspace.store.visits.find("prolific", late.submission_id)
        assert visit is not None
        assert (visit.completed, visit.extra) == (True, False)


@pytest.mark.parametrize("expires_here", [False, True])
def test_a_paid_participant_comes_in_after_one_who_answered_late(tmp_path: Path, expires_here: bool) -> None:
    """Nobody has run ``collect`` since: the door itself asks whom the platform counts no more."""
    with running(tmp_path / "p.sqlite") as emulator, running_study(tmp_path, emulator, places=1) as running_one:
        study_id, visits = running_one.publish(), running_one.workspace.store.visits
        late = running_one.arrive(study_id)
        late.open()
        emulator.people.do("POST", f"submissions/{late.submission_id}/time-out/")
        begun = visits.find("prolific", late.submission_id)
        assert begun is not None
        if expires_here:
            visits.release(begun.submission_id, "timed_out", now=1.0)
        late.answer()  # and never enters the code
        assert running_one.arrive(study_id).open().status_code == 303
        answered = visits.find("prolific", late.submission_id)
        assert answered is not None
        assert (answered.completed, answered.extra) == (True, True)


def test_claims_participant_replaces_made_up_visit(tmp_path: Path) -> None:
    """A participant takes the place of a made up one in the same quota group."""
    groups = ", ".join(f'{{name = "{name}", places = 3, parameter = "G", values = ["{name}"]}}' for name in "ab")
    people = f"groups = [{groups}]"
    with (
        running(tmp_path / "p.sqlite") as emulator,
        running_study(tmp_path, emulator, places=6, people=people) as grouped,
    ):
        study_id = grouped.publish()
        honest = [grouped.arrive(study_id) for _ in range(3)]
        emulator.people.plan("GetSubmission", "429", count=400)
        with door(grouped) as app:
            came = [press(app, made_up(study_id, number) + "&G=a", f"203.0.{number}.1") for number in range(10)]
        assert came.count(303) == 3
        emulator.people.do("DELETE", "faults/")
        emulator.people.advance(seconds=20)
        with door(grouped) as app:
            came = [press(app, f"{one.address}&G=a", f"192.0.{number}.2") for number, one in enumerate(honest)]
        assert came == [303] * 3


def test_claims_made_up_visits_bound_requests(tmp_path: Path) -> None:
    """Made up visits from everywhere use a bounded number of requests."""
    with running(tmp_path / "p.sqlite") as emulator, running_study(tmp_path, emulator) as made:
        study_id = made.publish()
        asked = len(emulator.people.requests("GetSubmission"))
        with door(made) as app:
            came = [press(app, made_up(study_id, number), f"203.0.{number}.1") for number in range(200)]
        assert 429 in came
        assert len(emulator.people.requests("GetSubmission")) - asked < 150


def test_who_has_to_wait_leaves_nothing_on_record(tmp_path: Path) -> None:
    with running(tmp_path / "p.sqlite") as emulator, running_study(tmp_path, emulator) as made:
        study_id = made.publish()
        emulator.people.plan("GetSubmission", "429", count=400)
        with door(made) as app:
            came = [press(app, made_up(study_id, number), "198.51.100.7") for number in range(60)]
        assert len(list(Journal(made.workspace.store).every(KIND))) == came.count(303) == 3


def test_claims_hidden_submission_blocks_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One submission that may not be seen silences nobody else."""
    fetch = Submissions.fetch

    def refusing(self: Submissions, submission_id: str) -> SubmissionRecord:
        if submission_id == f"6{1:023x}":
            raise ProlificRequestRefused("GET: HTTP 403, Forbidden", status=403)
        return fetch(self, submission_id)

    with running(tmp_path / "p.sqlite") as emulator, running_study(tmp_path, emulator, places=PLACES) as made:
        study_id = made.publish()
        honest = [made.arrive(study_id) for _ in range(PLACES)]
        monkeypatch.setattr(Submissions, "fetch", refusing)
        with door(made) as app:
            press(app, made_up(study_id, 1), "198.51.100.7")
            came = [press(app, one.address, f"192.0.{number}.2") for number, one in enumerate(honest)]
        assert came == [303] * PLACES
