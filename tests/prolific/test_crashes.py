"""Commands that die before or after any call, and are run again: nothing made or paid twice, nothing forgotten."""

from __future__ import annotations

import os
import shutil
import sqlite3
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from prolific.api.transport import Transport
from spa.journal import Journal
from tests.prolific.conftest import Emulator, running
from tests.prolific.running_study import Running, running_study
from tests.warm import WarmProcess

POINTS = st.lists(st.tuples(st.integers(0, 12), st.sampled_from(["before", "after"])), max_size=3)
FEW = settings(
    max_examples=5,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],  # one failing run is told at once; making it smaller takes minutes
    suppress_health_check=list(HealthCheck),
)


class Killed(BaseException):
    """What a process that is killed does not live to see."""


@contextmanager
def dying(monkeypatch: pytest.MonkeyPatch, point: int, moment: str) -> Iterator[None]:
    """Let the process die before or after the so-manieth step: calls to the platform and writes to the journal."""
    count = iter(range(10_000))

    def dies(step: Any) -> Any:
        def stepping(*given: Any, **named: Any) -> Any:
            here = next(count) == point
            if here and moment == "before":
                raise Killed
            done = step(*given, **named)
            if here:
                raise Killed
            return done

        return stepping

    with monkeypatch.context() as patched:
        patched.setattr(Transport, "_once", dies(Transport._once))
        for name in ("begin", "finish"):
            patched.setattr(Journal, name, dies(getattr(Journal, name)))
        yield


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("crashes")
    with (
        running(folder / "platform.sqlite") as emulator,
        running_study(folder, emulator, places=2, people="sessions = 2") as study,
    ):
        emulator.people.do("POST", "wallet/", {"workspace_id": workspace(emulator), "pay_in": 10_000_000})
        yield study


def workspace(emulator: Emulator) -> str:
    return str(emulator.api.get("/api/v1/workspaces/").json()["results"][0]["id"])


def another(study: Running, folder: Path) -> Path:
    """Copy a built store under another secret, so that it is another study's on the platform."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    store = folder / "store.sqlite"
    with sqlite3.connect(study.path.with_suffix(".sqlite")) as source, sqlite3.connect(store) as copy:
        source.backup(copy)
        copy.execute("UPDATE meta SET value = ? WHERE name = 'secret'", (os.urandom(32).hex(),))
        copy.execute("DELETE FROM journal")
    source.close()
    copy.close()
    return store


def run(study: Running, monkeypatch: pytest.MonkeyPatch, deaths: list[tuple[int, str]], *command: str) -> None:
    """Run a command as often as it dies, and once more."""
    for point, moment in deaths:
        with dying(monkeypatch, point, moment):
            try:
                study.spa(*command, code=None)
            except Killed:
                pass
    study.spa(*command)


@FEW
@given(deaths=POINTS, deaths_of_publishing=POINTS)
def test_crashes_make_one_study_and_group(
    study: Running, tmp_path_factory: pytest.TempPathFactory, deaths: list[Any], deaths_of_publishing: list[Any]
) -> None:
    """One study and one group however often creating and publishing die."""
    store = str(another(study, tmp_path_factory.mktemp("x")))
    with pytest.MonkeyPatch.context() as monkeypatch:
        more = ("--public-url", study.url, "--store", store)
        run(study, monkeypatch, deaths, "create", *more)
        accepted = ("--accept", "eligible people", "--accept", "address", "--yes")
        run(study, monkeypatch, deaths_of_publishing, "publish", *more, *accepted)
    (calls,) = [study.json("journal", "--store", store)]
    name = next(call["request"]["internal_name"] for call in calls if call["key"].startswith("create study"))
    api = study.emulator.api
    listed = api.get("/api/v1/studies/").json()["results"]
    assert [one["status"] for one in listed if one["internal_name"] == name] == ["ACTIVE"]
    groups = api.get(
        "/api/v1/participant-groups/", params={"workspace_id": workspace(study.emulator), "page_size": 1000}
    ).json()
    own = Counter(one["name"] for one in groups["results"] if one["name"].startswith(name[:-2]))
    assert set(own.values()) == {1}
    assert len(own) == 2  # of the family, and of those who completed session 1
    assert [call for call in calls if call["outcome"] == "started"] == []


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Running, str, list[str]]]:
    """Yield a study two of whose people were approved."""
    folder = tmp_path_factory.mktemp("paying")
    with running(folder / "platform.sqlite") as emulator, running_study(folder, emulator, places=2) as study:
        study_id = study.publish()
        visitors = [study.complete(study_id) for _ in range(2)]
        study.spa("approve", yes=True)
        yield study, study_id, [one.submission_id for one in visitors]


@FEW
@given(deaths=POINTS, number=st.integers(1, 10**6))
def test_no_bonus_twice_however_often_paying_dies(
    finished: tuple[Running, str, list[str]],
    tmp_path_factory: pytest.TempPathFactory,
    deaths: list[Any],
    number: int,
) -> None:
    """After each death a person looks at the platform where the command asks for it, and says what is there."""
    study, _, ids = finished
    reason = f"reason {number} {os.urandom(4).hex()}"
    file = tmp_path_factory.mktemp("b") / "b.csv"
    file.write_text("recipient,amount,reason\n" + "".join(f"{one},0.50,{reason}\n" for one in ids))
    before = len(study.emulator.people.payments())
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr("prolific.bonuses.MOST_POLLS", 3)
        for point, moment in deaths:
            with dying(monkeypatch, point, moment):
                try:
                    study.spa("bonus", "--from", str(file), "--yes", code=None)
                except Killed:
                    pass
        again = study.spa("bonus", "--from", str(file), "--yes", code=None)
        if again.exit_code == 1:
            assert "nothing was sent again" in again.stderr
            study.settle_bonuses(file, study.spa, before)
    paid = study.emulator.people.payments()[before:]
    assert Counter(one["submission_id"] for one in paid) == Counter(ids)


@FEW
@given(deaths=POINTS)
def test_approving_that_dies_pays_each_once(study: Running, deaths: list[Any]) -> None:
    """Drawn anew for each example: two people of the module's second study come, finish and are approved."""
    store = ()
    study_id = study.create()
    if study.emulator.api.get(f"/api/v1/studies/{study_id}/").json()["status"] == "UNPUBLISHED":
        study.spa("publish", "--public-url", study.url, "--accept", "eligible people", yes=True)
        for _ in range(2):
            study.complete(study_id)
    with pytest.MonkeyPatch.context() as monkeypatch:
        run(study, monkeypatch, deaths, "approve", "--yes", *store)
    rows = study.emulator.api.get(f"/api/v1/studies/{study_id}/submissions/").json()["results"]
    assert {row["status"] for row in rows} == {"APPROVED"}


@FEW
@given(deaths=POINTS, text=st.text("abc ", min_size=1).map(str.strip).filter(bool))
def test_a_message_reaches_everybody_once(
    finished: tuple[Running, str, list[str]], deaths: list[Any], text: str
) -> None:
    study, _, ids = finished
    words = f"{text} {os.urandom(4).hex()}"
    command = ("message", *(part for one in ids for part in ("--to", one)), "--text", words, "--yes")
    with pytest.MonkeyPatch.context() as monkeypatch:
        run(study, monkeypatch, deaths, *command)
    people = study.emulator.people
    for one in ids:
        person = people.see(one)["participant_id"]
        got = [message["body"] for message in people.do("GET", f"participants/{person}/messages/")["results"]]
        assert got.count(words) == 1


@pytest.mark.parametrize("operation", ["CreateStudy", "CreateParticipantGroup"])
def test_crash_after_effect_is_found_again(study: Running, tmp_path: Path, operation: str) -> None:
    """A real process, killed by the system while it waits for an answer that never comes."""
    store = another(study, tmp_path / "copy")
    people = study.emulator.people
    before = len(people.requests(operation))
    people.plan(operation, "timeout_after_effect", seconds=30)
    command = ["prolific", "create", study.path, "--store", store, "--public-url", study.url]
    process = WarmProcess(command, environment=study.environment)
    try:
        limit = time.monotonic() + 60
        while len(people.requests(operation)) == before:
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < limit
            time.sleep(0.05)
    finally:
        process.kill()
        process.communicate()
    study.spa("create", "--store", str(store), "--public-url", study.url)
    wanted = {"CreateStudy": 1, "CreateParticipantGroup": 2}[operation]  # of the family, and of session 1
    assert len(people.requests(operation)) - before == wanted


@pytest.mark.parametrize("fault", ["drop_after_effect", "429", "drop"])
@pytest.mark.parametrize("operation", ["CreateStudy", "CreateParticipantGroup", "PublishStudy"])
def test_faults_of_the_wire_make_no_second_study(study: Running, tmp_path: Path, operation: str, fault: str) -> None:
    store = str(another(study, tmp_path / "copy"))
    people, more = study.emulator.people, ("--public-url", study.url, "--store", store)
    people.plan(operation, fault)
    accepted = ("--accept", "eligible people", "--accept", "address", "--yes")
    for command in (("create", *more), ("publish", *more, *accepted)):
        if study.spa(*command, code=None).exit_code != 0:
            study.spa(*command)
    (study_id,) = {
        call["facts"]["study_id"] for call in study.json("journal", "--store", store) if "study_id" in call["facts"]
    }
    name = study.emulator.api.get(f"/api/v1/studies/{study_id}/").json()["internal_name"]
    listed = study.emulator.api.get("/api/v1/studies/").json()["results"]
    assert [one["status"] for one in listed if one["internal_name"] == name] == ["ACTIVE"]
