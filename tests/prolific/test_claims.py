"""Visits that the platform has not confirmed: few come in, and none keeps out a participant whom it confirms."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from prolific.routes import mount_with
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
    """Open the study's door, in this process."""

    def mount(app: FastAPI, context: SurveyContext) -> None:
        mount_with(app, context, {**os.environ, **study.environment})

    app = create_app(study.workspace, adapters=[mount])
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


def test_while_the_platform_is_silent_few_come_in_and_a_participant_takes_their_place(
    study: tuple[Running, str],
) -> None:
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


def test_who_hands_the_code_in_late_counts_where_the_place_is_free(tmp_path: Path) -> None:
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
