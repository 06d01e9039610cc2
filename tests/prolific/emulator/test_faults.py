"""The emulated platform's bad days: each fault does what its name says, and switches change what is unverified."""

from __future__ import annotations

from pathlib import Path

import httpx2
import pytest

from tests import patience
from tests.prolific.conftest import Emulator, running
from tests.prolific.emulator.drafts import created, draft, move, published, review, status_of, submission
from tests.warm import WarmProcess

USER = "/api/v1/users/me/"


def test_emulator_429_has_no_effect(fresh_emulator: Emulator) -> None:
    """A refusal for too many requests does nothing and may say how long to wait."""
    api, people = fresh_emulator.api, fresh_emulator.people
    people.plan("CreateStudy", "429", retry_after=3)
    people.plan("CreateStudy", "429")
    first, second = (api.post("/api/v1/studies/", json=draft()) for _ in range(2))
    assert (first.status_code, first.headers.get("Retry-After")) == (429, "3")
    assert (second.status_code, second.headers.get("Retry-After")) == (429, None)
    assert api.get("/api/v1/studies/").json()["meta"]["count"] == 0
    assert created(api)


@pytest.mark.parametrize(
    ("kind", "came", "studies"),
    [
        ("drop", "RemoteProtocolError", 0),
        ("drop_after_effect", "RemoteProtocolError", 1),
        ("timeout_after_effect", "ReadTimeout", 1),
        ("500_after_effect", "500", 1),
    ],
)
def test_emulator_lost_reply_hides_effect(fresh_emulator: Emulator, kind: str, came: str, studies: int) -> None:
    """Whether there is a study afterwards depends on the fault, and the client cannot know."""
    api, people = fresh_emulator.api, fresh_emulator.people
    people.plan("CreateStudy", kind)
    try:
        outcome = str(
            api.post(
                "/api/v1/studies/", json=draft(), timeout=1 if came == "ReadTimeout" else patience.SECONDS
            ).status_code
        )
    except httpx2.HTTPError as error:
        outcome = type(error).__name__
    assert outcome == came
    assert api.get("/api/v1/studies/").json()["meta"]["count"] == studies
    (request,) = people.requests("CreateStudy")
    assert (request["fault"], request["status"]) == (kind, 500 if came == "500" else None)


def test_faults_wait_are_counted_and_end(fresh_emulator: Emulator) -> None:
    """A fault passes some requests, happens so many times, and is over; ``*`` is any operation."""
    api, people = fresh_emulator.api, fresh_emulator.people
    people.plan("*", "500", count=2, skip=1)
    assert [api.get(USER).status_code for _ in range(5)] == [200, 500, 500, 200, 200]
    (fault,) = people.do("GET", "faults/")["results"]
    assert (fault["happened"], fault["remaining"]) == (2, 0)
    with pytest.raises(AssertionError, match="no operation"):
        people.plan("GetNothing", "500")


def test_a_bonus_paid_twice_because_an_answer_was_lost_is_seen(fresh_emulator: Emulator) -> None:
    """The dearest mistake: a client that resends the payment pays again, and the records show it."""
    api, people = fresh_emulator.api, fresh_emulator.people
    study = published(api)
    visit = people.enter(study)
    people.complete(visit["id"], "DONE")
    lines = {"study_id": study, "csv_bonuses": f"{visit['id']},1.00"}
    bonus = api.post("/api/v1/submissions/bonus-payments/", json=lines).json()["id"]
    people.plan("PayBonusPayments", "drop_after_effect")
    for _ in range(2):
        try:
            api.post(f"/api/v1/bulk-bonus-payments/{bonus}/pay/")
        except httpx2.RemoteProtocolError:
            continue
    people.advance(minutes=1)
    assert submission(api, visit["id"])["bonus_payments"] == [100, 100]


def test_a_wallet_that_falls_short_for_a_moment(fresh_emulator: Emulator) -> None:
    study = created(fresh_emulator.api)
    fresh_emulator.people.plan("PublishStudy", "wallet_short")
    assert move(fresh_emulator.api, study, "PUBLISH").status_code == 400
    assert status_of(fresh_emulator.api, study) == "UNPUBLISHED"
    assert move(fresh_emulator.api, study, "PUBLISH").status_code == 200


@pytest.mark.parametrize(
    ("form", "keys"),
    [("wrapped", {"error"}), ("message", {"message", "detail"}), ("documented", {"error"})],
)
def test_errors_are_told_in_each_of_their_forms(fresh_emulator: Emulator, form: str, keys: set[str]) -> None:
    fresh_emulator.people.behave(error_form=form)
    assert set(fresh_emulator.api.get(f"/api/v1/studies/{'0' * 24}/").json()) == keys


def test_a_moment_of_processing(fresh_emulator: Emulator) -> None:
    """The short-lived status that others saw hides what comes next, and nothing can be approved meanwhile."""
    api, people = fresh_emulator.api, fresh_emulator.people
    people.behave(processing_status=True)
    visit = people.enter(published(api))
    assert people.complete(visit["id"], "DONE")["status"] == "PROCESSING"
    assert review(api, visit["id"], "APPROVE").status_code == 400
    people.advance(minutes=1)
    assert submission(api, visit["id"])["status"] == "AWAITING REVIEW"


def test_a_study_that_waits_for_review_while_people_are_at_work(fresh_emulator: Emulator) -> None:
    """AWAITING REVIEW is not the end: more places bring the study back."""
    api, people = fresh_emulator.api, fresh_emulator.people
    people.behave(awaiting_review_when_full=True)
    study = published(api)
    visits = [people.enter(study) for _ in range(2)]
    assert status_of(api, study) == "AWAITING REVIEW"
    assert people.complete(visits[0]["id"], "DONE")["status"] == "AWAITING REVIEW"
    more = api.patch(f"/api/v1/studies/{study}/", json={"total_available_places": 3})
    assert more.json()["status"] == "ACTIVE"


def test_lists_lag_behind(fresh_emulator: Emulator) -> None:
    """A new submission is missing from the list at first; asked for by its id it is there."""
    api, people = fresh_emulator.api, fresh_emulator.people
    people.behave(list_lag_requests=3)
    study = published(api)
    visit = people.enter(study)
    assert submission(api, visit["id"])["status"] == "ACTIVE"
    listed = [len(api.get(f"/api/v1/studies/{study}/submissions/").json()["results"]) for _ in range(3)]
    assert (listed[0], listed[-1]) == (0, 1)


def test_deleted_groups_and_counts_of_yesterday(fresh_emulator: Emulator) -> None:
    """Deleted groups may look alive, and a count may be an old one."""
    api, people = fresh_emulator.api, fresh_emulator.people
    people.behave(deleted_groups_look_alive=True, eligible_counts_cached=True)
    workspace = api.get("/api/v1/workspaces/").json()["results"][0]["id"]
    group = api.post("/api/v1/participant-groups/", json={"name": "g", "workspace_id": workspace}).json()["id"]
    api.delete(f"/api/v1/participant-groups/{group}/")
    assert api.get(f"/api/v1/participant-groups/{group}/").json()["is_deleted"] is False
    people.join(30)
    asked = {"workspace_id": workspace, "filters": []}
    assert api.post("/api/v1/eligibility-count/", json=asked).json()["count"] == 30
    people.join(30)
    assert api.post("/api/v1/eligibility-count/", json=asked).json()["count"] == 30
    people.behave(eligible_counts_cached=False, deleted_groups_look_alive=False)
    assert api.post("/api/v1/eligibility-count/", json=asked).json()["count"] == 60
    assert api.get(f"/api/v1/participant-groups/{group}/").status_code == 404


def test_the_screening_endpoint_that_is_not_described(fresh_emulator: Emulator) -> None:
    """Not there unless switched on; it pays, gives the place to somebody else, and refuses too little."""
    api, people = fresh_emulator.api, fresh_emulator.people
    study = published(api)
    visit = people.enter(study)
    people.advance(minutes=6)
    people.complete(visit["id"], "DONE")
    path = f"/api/v1/studies/{study}/screen-out-submissions/"
    wanted = {"submission_ids": [visit["id"]], "bonus_per_submission": 0.5, "increase_places": True}
    assert api.post(path, json=wanted).status_code == 404
    people.behave(screen_out_endpoint=True)
    assert api.post(path, json=wanted).status_code == 400  # six minutes at 8.00 an hour are 0.80
    assert api.post(path, json={**wanted, "bonus_per_submission": 0.8}).status_code == 200
    after = submission(api, visit["id"])
    assert (after["status"], after["bonus_payments"]) == ("SCREENED OUT", [80])
    assert api.get(f"/api/v1/studies/{study}/").json()["total_available_places"] == 3


def test_emulator_refuses_local_addresses(fresh_emulator: Emulator) -> None:
    """Addresses of this machine can be refused as the platform refuses them."""
    fresh_emulator.people.behave(public_https_required=True)
    response = fresh_emulator.api.post("/api/v1/studies/", json=draft(external_study_url="http://127.0.0.1:1/s"))
    assert response.status_code == 400
    assert created(fresh_emulator.api)


def test_an_unknown_switch_is_refused(fresh_emulator: Emulator) -> None:
    response = fresh_emulator.people.client.patch("/emulator/behaviour/", json={"no_such_switch": True})
    assert response.status_code == 400
    assert "no_such_switch" in response.text


def test_a_store_goes_on_where_it_was(tmp_path: Path) -> None:
    """Studies, people, money, time and what was promised survive the end of the program."""
    path = tmp_path / "platform.sqlite"
    with running(path) as before:
        study = created(before.api)
        move(before.api, study, "PUBLISH")
        now = before.people.advance(days=3)
    with running(path) as after:
        assert status_of(after.api, study) == "ACTIVE"
        assert after.people.do("GET", "clock/")["now"] == now
        assert after.people.enter(study)["status"] == "ACTIVE"


def test_what_was_answered_survives_a_kill(tmp_path: Path) -> None:
    """The command listens, answers, is killed at once, and knows everything afterwards."""
    path = tmp_path / "platform.sqlite"
    program = WarmProcess(["prolific", "emulate", "--port", "0", "--store", path, "--clock", "manual"])
    try:
        assert program.stdout is not None
        url = program.stdout.readline().split(": ")[1].split(",")[0]
        header = {"Authorization": "Token any"}
        response = httpx2.post(
            f"{url}/api/v1/studies/", json=draft(), headers=header, trust_env=False, timeout=patience.SECONDS
        )
        assert response.status_code == 201
    finally:
        program.kill()
        program.communicate()
    with running(path) as after:
        assert status_of(after.api, response.json()["id"]) == "UNPUBLISHED"


def test_a_browser_walks_in_and_hands_its_code_in(fresh_emulator: Emulator) -> None:
    """The platform's own pages: open studies, a way in for somebody who fits, and the page that takes the code."""
    filters = [{"filter_id": "age", "selected_range": {"lower": 30, "upper": 40}}]
    study = published(fresh_emulator.api, name="A <b>study</b>", filters=filters)
    with httpx2.Client(base_url=fresh_emulator.url, trust_env=False) as browser:
        shown = browser.get("/emulator/")
        assert "A &lt;b&gt;study&lt;/b&gt;" in shown.text
        gone = browser.get(f"/emulator/studies/{study}/")
        assert gone.status_code == 303
        assert "SESSION_ID=" in gone.headers["location"]
        assert "AWAITING REVIEW" in browser.get("/submissions/complete?cc=DONE").text
    with httpx2.Client(base_url=fresh_emulator.url, trust_env=False) as stranger:
        assert stranger.get("/submissions/complete?cc=DONE").status_code == 400
    (row,) = fresh_emulator.api.get(f"/api/v1/studies/{study}/submissions/").json()["results"]
    assert row["study_code"] == "DONE"


def test_studies_of_a_collection_exclude_each_other(fresh_emulator: Emulator) -> None:
    """Published together, nobody takes part in two of them."""
    api, people = fresh_emulator.api, fresh_emulator.people
    project = api.get("/api/v1/workspaces/").json()["results"][0]["id"]
    project = api.get(f"/api/v1/workspaces/{project}/projects/").json()["results"][0]["id"]
    one, other = created(api), created(api)
    wanted = {"name": "c", "description": "d", "project_id": project, "study_ids": [one, other]}
    path = "/api/v1/study-collections/mutually-exclusive/"
    collection = api.post(path, json=wanted).json()["id"]
    api.post(f"{path}{collection}/transition/", json={"action": "PUBLISH"})
    people.advance(minutes=1)
    (person,) = people.join()
    people.enter(one, person)
    with pytest.raises(AssertionError, match="excludes this one"):
        people.enter(other, person)
    assert people.enter(other)["status"] == "ACTIVE"
