"""Who comes in: only whom the platform knows, whatever the address says; and its webhooks, each once."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from click.testing import CliRunner

from prolific.verification import last_found
from prolific.webhooks import signature
from spa.cli import main
from spa.journal import Journal
from tests.prolific.conftest import running
from tests.prolific.running_study import Running, running_study


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Running, str]]:
    folder = tmp_path_factory.mktemp("door")
    with running(folder / "platform.sqlite") as emulator, running_study(folder, emulator, places=40) as study:
        yield study, study.publish()


def found(study: Running, submission_id: str) -> str | None:
    return last_found(study.workspace.store, submission_id)


def address(study: Running, **given: str) -> str:
    return str(httpx2.URL(f"{study.url}/prolific", params=given))


def test_participant_verified_returns_to_same_form(study: tuple[Running, str]) -> None:
    """A participant comes in verified and comes back to the same form."""
    running, study_id = study
    visitor = running.arrive(study_id)
    first = visitor.open()
    token = visitor.token
    asked = len(running.emulator.people.requests("GetSubmission"))
    again = visitor.open()
    assert (first.status_code, again.status_code) == (303, 303)
    assert visitor.token == token
    assert found(running, visitor.submission_id) == "verified"
    assert len(running.emulator.people.requests("GetSubmission")) == asked, "asked once, then remembered"


def test_adapter_look_takes_no_place(study: tuple[Running, str]) -> None:
    """A look at the address takes no place and asks the platform nothing."""
    running, study_id = study
    visitor = running.arrive(study_id)
    asked = len(running.emulator.people.requests("GetSubmission"))
    for method in ("GET", "HEAD"):
        assert httpx2.request(method, visitor.address, trust_env=False).status_code == 200
    assert running.workspace.store.visits.find("prolific", visitor.submission_id) is None
    assert len(running.emulator.people.requests("GetSubmission")) == asked
    visitor.open()
    assert httpx2.get(visitor.address, trust_env=False).headers["location"] == f"/a/{visitor.token}"


def test_another_persons_submission_lets_nobody_in(study: tuple[Running, str]) -> None:
    running, study_id = study
    visitor = running.arrive(study_id)
    visitor.person = running.emulator.people.join()[0]
    url = address(running, PROLIFIC_PID=visitor.person, STUDY_ID=study_id, SESSION_ID=visitor.submission_id)
    assert httpx2.post(url, trust_env=False).status_code == 403
    assert running.workspace.store.visits.find("prolific", visitor.submission_id) is None
    assert visitor.open().status_code == 303, "and keeps the true participant out of nothing"


@pytest.mark.parametrize(
    ("person", "study_id", "submission", "status"),
    [
        ("5ce69ff9b1e73b000146186d", None, "60f25f799fbd8a136cc6a9b0", 403),  # no such submission
        ("5ce69ff9b1e73b000146186d", "60f25f799fbd8a136cc6a9b1", "60f25f799fbd8a136cc6a9b0", 403),  # no study of ours
        ("{{%PROLIFIC_PID%}}", None, "{{%SESSION_ID%}}", 400),
        ("' OR 1=1 --", None, "../../users/me", 400),
    ],
)
def test_addresses_that_are_made_up_are_refused(
    study: tuple[Running, str], person: str, study_id: str | None, submission: str, status: int
) -> None:
    running, own = study
    url = address(running, PROLIFIC_PID=person, STUDY_ID=study_id or own, SESSION_ID=submission)
    assert httpx2.post(url, trust_env=False).status_code == status


def test_adapter_bare_address_answers(study: tuple[Running, str]) -> None:
    """The bare address answers so that the platform can try it."""
    assert httpx2.get(f"{study[0].url}/prolific", trust_env=False).status_code == 200


def test_adapter_verifies_later_when_platform_is_silent(study: tuple[Running, str]) -> None:
    """While the platform is silent people are let in and verified later."""
    running, study_id = study
    honest = running.arrive(study_id)
    running.emulator.people.plan("GetSubmission", "500", count=50)
    asked = len(running.emulator.people.requests("GetSubmission"))
    honest.answer()
    running.emulator.people.do("DELETE", "faults/")
    running.emulator.people.advance(seconds=20)  # for so long the platform is left alone
    assert found(running, honest.submission_id) == "unverified"
    assert len(running.emulator.people.requests("GetSubmission")) == asked + 2, "nobody waits for it again and again"
    honest.hand_in()
    assert running.json("collect")[0]["verified"] == 1
    assert found(running, honest.submission_id) == "verified"
    visit = running.workspace.store.visits.find("prolific", honest.submission_id)
    assert visit is not None
    assert (visit.completed, visit.extra) == (True, False)


def test_adapter_false_claim_counts_for_nothing(study: tuple[Running, str]) -> None:
    """A false claim made while the platform is silent counts for nothing."""
    running, study_id = study
    honest = running.arrive(study_id)
    liar = running.emulator.people.join()[0]
    honest.address = address(running, PROLIFIC_PID=liar, STUDY_ID=study_id, SESSION_ID=honest.submission_id)
    running.emulator.people.plan("GetSubmission", "500", count=50)
    honest.answer()
    running.emulator.people.do("DELETE", "faults/")
    running.emulator.people.advance(seconds=20)  # for so long the platform is left alone
    honest.hand_in()
    assert running.json("collect")[0]["refuted"] == 1
    assert honest.submission_id in running.json("approve")[0]["to_look_at"], "and is not approved by itself"
    visit = running.workspace.store.visits.find("prolific", honest.submission_id)
    assert visit is not None
    assert visit.extra, "kept, and left out of the analysis"
    kinds = [one["kind"] for one in running.json("reconcile")[0]["differences"]]
    assert "false_claim" in kinds


def test_no_code_is_shown_before_the_answers_are_stored(study: tuple[Running, str]) -> None:
    running, study_id = study
    codes = set(running.workspace.store.visits.outcome_codes("prolific").values())
    visitor = running.arrive(study_id)
    assert visitor.open().status_code == 303
    page = httpx2.get(f"{running.url}/a/{visitor.token}", follow_redirects=True, trust_env=False)
    assert not any(code in page.text for code in codes)
    early = httpx2.get(f"{running.url}/a/{visitor.token}/done", trust_env=False)
    assert not any(code in early.headers["location"] for code in codes)


@pytest.mark.parametrize(
    ("answers", "outcome"),
    [({}, "completed"), ({"screening": "No"}, "screened_out"), ({"check": "table"}, "completed")],
)
def test_each_outcome_leaves_with_its_own_code(
    study: tuple[Running, str], answers: dict[str, str], outcome: str
) -> None:
    running, study_id = study
    visitor = running.arrive(study_id)
    visitor.answer(**answers)
    assert visitor.code == running.workspace.store.visits.outcome_codes("prolific")[outcome]
    visit = running.workspace.store.visits.find("prolific", visitor.submission_id)
    assert visit is not None
    assert visit.outcome == outcome


def send(study: Running, event: dict[str, str], **changes: str) -> httpx2.Response:
    """Send a webhook, signed as the platform does, with changes to its headers."""
    body = json.dumps(event).replace('": "', '"  :"').encode()  # spaced as no program would space it again
    now = str(study.emulator.people.do("GET", "clock/")["now"])
    api, key = study.emulator.api, "/api/v1/hooks/secrets/"
    workspace = api.get("/api/v1/workspaces/").json()["results"][0]["id"]
    listed = api.get(key, params={"workspace_id": workspace}).json()["results"]
    secret = listed[0]["value"] if listed else api.post(key, json={"workspace_id": workspace}).json()["value"]
    timestamp = changes.get("timestamp", now)
    headers = {
        "X-Prolific-Request-Timestamp": timestamp,
        "X-Prolific-Request-Signature": changes.get("signature", signature(secret, timestamp, body)),
        "X-Event-ID": changes.get("event_id", "event-1"),
        "Content-Type": "application/json",
    }
    return httpx2.post(f"{study.url}/prolific/hooks", content=body, headers=headers, trust_env=False)


def test_webhook_frees_place_once(study: tuple[Running, str]) -> None:
    """A webhook frees the place of somebody who left and is taken once."""
    running, study_id = study
    visitor = running.arrive(study_id)
    visitor.open()
    running.emulator.people.give_back(visitor.submission_id)
    event = {"event_type": "submission.status.change", "resource_id": visitor.submission_id, "status": "RETURNED"}
    assert send(running, event, event_id="left-1").status_code == 204
    visit = running.workspace.store.visits.find("prolific", visitor.submission_id)
    assert visit is not None
    assert (visit.released, visit.release_reason) == (True, "returned")
    asked = len(running.emulator.people.requests("GetSubmission"))
    assert send(running, event, event_id="left-1").status_code == 204
    assert len(running.emulator.people.requests("GetSubmission")) == asked
    calls = Journal(running.workspace.store).calls("prolific event", "event", "left-1")
    assert [call.outcome for call in calls] == ["released"]


def test_a_webhook_that_lies_changes_nothing(study: tuple[Running, str]) -> None:
    """What it says of the submission is not believed: the platform is asked."""
    running, study_id = study
    visitor = running.arrive(study_id)
    visitor.open()
    event = {"event_type": "submission.status.change", "resource_id": visitor.submission_id, "status": "RETURNED"}
    assert send(running, event, event_id="lie").status_code == 204
    visit = running.workspace.store.visits.find("prolific", visitor.submission_id)
    assert visit is not None
    assert not visit.released


@pytest.mark.parametrize("changes", [{"signature": "AAAA"}, {"timestamp": "1000000000"}, {"timestamp": "soon"}])
def test_a_webhook_that_is_not_signed_or_old_is_refused(study: tuple[Running, str], changes: dict[str, str]) -> None:
    response = send(study[0], {"event_type": "submission.status.change", "resource_id": "x"}, event_id="bad", **changes)
    assert response.status_code == 403
    assert Journal(study[0].workspace.store).calls("prolific event", "event", "bad") == ()


def test_subscribing_twice_leaves_one_subscription_of_each_event(study: tuple[Running, str], tmp_path: Path) -> None:
    running, _ = study
    for _ in range(2):
        told = running.json("hooks", "--public-url", running.url)
        assert set(told["subscriptions"]) > {"study.status.change"}
        assert told["ended"] == 0
    workspace = running.emulator.api.get("/api/v1/workspaces/").json()["results"][0]["id"]
    api = running.emulator.api
    listed = api.get("/api/v1/hooks/subscriptions/", params={"workspace_id": workspace}).json()["results"]
    events = sorted(one["event_type"] for one in listed if one["target_url"].startswith(running.url))
    assert events == ["study.status.change", "submission.status.change"]
    visitor = running.arrive(study[1])
    visitor.open()
    running.emulator.people.give_back(visitor.submission_id)
    store = running.workspace.store
    limit = time.monotonic() + 60
    visit = store.visits.find("prolific", visitor.submission_id)
    while visit is None or not visit.released:
        assert time.monotonic() < limit
        time.sleep(0.05)  # deliveries are made in a thread of their own
        running.emulator.people.advance(seconds=1)
        visit = store.visits.find("prolific", visitor.submission_id)
    assert visit.release_reason == "returned"


def test_journal_of_calls_names_nobody(study: tuple[Running, str]) -> None:
    """The record of calls names nobody and who is forgotten is no difference."""
    running, study_id = study
    visitor = running.complete(study_id)
    event = {"event_type": "submission.status.change", "resource_id": visitor.submission_id, "status": "ACTIVE"}
    assert send(running, {**event, "participant_id": visitor.person}, event_id="names").status_code == 204
    sent = running.json("message", "--to", visitor.submission_id, "--text", "Thank you.", yes=True)
    assert (sent["sent"], sent["messages"][0]["participant_id"]) == (1, visitor.person)
    journal = Journal(running.workspace.store)
    calls = [call for kind in ("prolific", "prolific visit", "prolific event") for call in journal.every(kind)]
    assert len(calls) > 4
    assert [call for call in calls if visitor.person in f"{call.scope} {call.key} {call.request} {call.response}"] == []
    forgotten = CliRunner().invoke(main, ["forget", str(running.path), "--person", visitor.person, "--yes"])
    assert forgotten.exit_code == 0, forgotten.output
    told = running.json("reconcile")[0]["differences"]
    assert [one for one in told if visitor.submission_id in one["submission_id"]] == []
    assert visitor.submission_id in running.json("approve")[0]["to_approve"], "and is paid all the same"
