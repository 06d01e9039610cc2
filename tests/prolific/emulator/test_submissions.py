"""The emulated platform's people: places, codes, time, review, and what is paid."""

from __future__ import annotations

import pytest

from tests.prolific.conftest import Emulator
from tests.prolific.emulator.drafts import MESSAGE, code, created, published, review, status_of, submission


def test_the_address_is_filled_in_and_names_the_submission(emulator: Emulator) -> None:
    """SESSION_ID is the submission, and the API shows whose it is; lists use other names for the same things."""
    study = published(emulator.api)
    (person,) = emulator.people.join()
    visit = emulator.people.enter(study, person)
    wanted = f"https://example.org/s?PROLIFIC_PID={person}&STUDY_ID={study}&SESSION_ID={visit['id']}"
    assert visit["study_url"] == wanted
    single = submission(emulator.api, visit["id"])
    assert (single["participant"], single["study_id"], single["status"]) == (person, study, "ACTIVE")
    (row,) = emulator.api.get(f"/api/v1/studies/{study}/submissions/").json()["results"]
    assert (row["id"], row["participant_id"]) == (visit["id"], person)


def test_a_reservation_ends_and_an_hour_runs_out(emulator: Emulator) -> None:
    """A held place ends after ten minutes, a person's time after the time allowed; both places are free again."""
    api, people = emulator.api, emulator.people
    study = published(api)
    held, working = people.take(study, people.join()[0]), people.enter(study)
    with pytest.raises(AssertionError, match="full"):
        people.enter(study)
    people.advance(minutes=9.9)
    assert people.see(held["id"])["status"] == "RESERVED"
    people.advance(minutes=0.2)
    assert people.see(held["id"])["status"] == "TIMED-OUT"
    assert people.see(working["id"])["status"] == "ACTIVE"
    people.advance(minutes=35)
    assert people.see(working["id"])["status"] == "TIMED-OUT"
    assert people.enter(study)["status"] == "ACTIVE"


@pytest.mark.parametrize(("accepted", "status"), [(True, "AWAITING REVIEW"), (False, "TIMED-OUT")])
def test_a_late_code_is_taken_or_not_as_switched(fresh_emulator: Emulator, accepted: bool, status: str) -> None:
    """What the platform does with a code after the time was up is not verified, so both can be had."""
    people = fresh_emulator.people
    people.behave(late_code_accepted=accepted)
    visit = people.enter(published(fresh_emulator.api))
    people.advance(minutes=46)
    response = people.client.post(f"/emulator/submissions/{visit['id']}/complete/", json={"code": "DONE"})
    assert response.is_success == accepted
    assert people.see(visit["id"])["status"] == status


@pytest.mark.parametrize(("entered", "kept"), [("DONE", "DONE"), ("WRONG", "WRONG"), (None, "NOCODE")])
def test_every_code_waits_for_a_review(emulator: Emulator, entered: str | None, kept: str) -> None:
    """A right code, a wrong one and none at all wait for the researcher, who sees what was entered."""
    visit = emulator.people.enter(published(emulator.api))
    assert emulator.people.complete(visit["id"], entered)["status"] == "AWAITING REVIEW"
    assert submission(emulator.api, visit["id"])["entered_code"] == kept


def test_codes_do_what_they_say(emulator: Emulator) -> None:
    """Approval at once, a group that the person joins, a request to return, and a paid screen-out that runs dry."""
    api, people = emulator.api, emulator.people
    workspace = api.get("/api/v1/workspaces/").json()["results"][0]["id"]
    group = api.post("/api/v1/participant-groups/", json={"name": "seen", "workspace_id": workspace}).json()["id"]
    screen_out = {"action": "FIXED_SCREEN_OUT_PAYMENT", "fixed_screen_out_reward": 20, "slots": 1}
    study = published(
        api,
        total_available_places=9,
        completion_codes=[
            code("PAID", "COMPLETED", {"action": "AUTOMATICALLY_APPROVE"}),
            code("JOIN", "OTHER", {"action": "ADD_TO_PARTICIPANT_GROUP", "participant_group": group}),
            code("BACK", "NO_CONSENT", {"action": "REQUEST_RETURN", "return_reason": "no consent"}),
            code("OUT", "FIXED_SCREENOUT", screen_out),
        ],
    )
    visits = {text: people.enter(study) for text in ("PAID", "JOIN", "BACK", "OUT")}
    ends = {text: people.complete(visit["id"], text) for text, visit in visits.items()}
    assert (ends["PAID"]["status"], ends["PAID"]["reward"]) == ("APPROVED", 180)
    listed = api.get(f"/api/v1/participant-groups/{group}/participants/").json()["results"]
    assert [one["participant_id"] for one in listed] == [visits["JOIN"]["participant_id"]]
    assert ends["BACK"]["status"] == "AWAITING REVIEW"
    assert ends["BACK"]["return_requested"] is not None
    assert people.give_back(visits["BACK"]["id"])["status"] == "RETURNED"
    assert (ends["OUT"]["status"], ends["OUT"]["reward"]) == ("SCREENED OUT", 20)
    assert status_of(api, study) == "PAUSED"  # the one slot is used


def test_the_same_person_once(emulator: Emulator) -> None:
    """Nobody takes part twice, also not after returning; a study may allow more."""
    api, people = emulator.api, emulator.people
    once = published(api, total_available_places=5)
    (person,) = people.join()
    people.give_back(people.enter(once, person)["id"])
    with pytest.raises(AssertionError, match="taken part already"):
        people.enter(once, person)
    twice = published(api, total_available_places=5, submissions_config={"max_submissions_per_participant": 2})
    first = people.enter(twice, person)
    with pytest.raises(AssertionError, match="taking part already"):
        people.enter(twice, person)
    people.complete(first["id"], "DONE")
    assert people.enter(twice, person)["id"] != first["id"]


def test_who_is_taken_out_of_a_group_is_no_member_any_more(emulator: Emulator) -> None:
    """Taken out by name, or left out of the list that replaces all members; others stay."""
    api, (one, two, three) = emulator.api, emulator.people.join(3)
    workspace = api.get("/api/v1/workspaces/").json()["results"][0]["id"]
    asked = {"name": "g", "workspace_id": workspace, "participant_ids": [one, two]}
    group = f"/api/v1/participant-groups/{api.post('/api/v1/participant-groups/', json=asked).json()['id']}/"

    def members() -> set[str]:
        return {member["participant_id"] for member in api.get(f"{group}participants/").json()["results"]}

    assert members() == {one, two}
    api.request("DELETE", f"{group}participants/", json={"participant_ids": [one]})
    assert members() == {two}
    api.patch(group, json={"participant_ids": [two, three]})
    assert members() == {two, three}
    api.patch(group, json={"participant_ids": [one]})
    assert members() == {one}


def test_filters_select_and_groups_are_read_as_they_are(emulator: Emulator) -> None:
    """Choices, ranges and blocked groups decide who may come; a group counts from the moment somebody is in it."""
    api, people = emulator.api, emulator.people
    workspace = api.get("/api/v1/workspaces/").json()["results"][0]["id"]
    group = api.post("/api/v1/participant-groups/", json={"name": "x", "workspace_id": workspace}).json()["id"]
    filters = [
        {"filter_id": "fluent-languages", "selected_values": ["0"]},
        {"filter_id": "approval_rate", "selected_range": {"lower": 95, "upper": 100}},
        {"filter_id": "participant_group_blocklist", "selected_values": [group]},
    ]
    study = published(api, total_available_places=9, filters=filters)
    (fits,) = people.join(**{"fluent-languages": ["0", "3"], "approval_rate": 99.5})
    (other,) = people.join(**{"fluent-languages": ["3"], "approval_rate": 99.5})
    (unknown,) = people.join()
    (blocked,) = people.join(**{"fluent-languages": ["0"], "approval_rate": 95})
    api.post(f"/api/v1/participant-groups/{group}/participants/", json={"participant_ids": [blocked]})
    assert people.enter(study, fits)["status"] == "ACTIVE"
    for person in (other, unknown, blocked):
        with pytest.raises(AssertionError, match="not eligible"):
            people.enter(study, person)


def test_earlier_studies_are_read_when_a_study_is_published(emulator: Emulator) -> None:
    """Whoever takes part in the earlier study afterwards comes in: parallel studies do not exclude each other."""
    api, people = emulator.api, emulator.people
    before, after = people.join(2)
    first = published(api, total_available_places=9)
    people.enter(first, before)
    blocklist = [{"filter_id": "previous_studies_blocklist", "selected_values": [first]}]
    second = published(api, total_available_places=9, filters=blocklist)
    people.enter(first, after)
    with pytest.raises(AssertionError, match="not eligible"):
        people.enter(second, before)
    assert people.enter(second, after)["status"] == "ACTIVE"


def test_few_eligible_people_are_counted_as_none(emulator: Emulator) -> None:
    """A count below 25 is told as 0."""
    filters = [{"filter_id": "age", "selected_range": {"lower": 97, "upper": 97}}]
    emulator.people.join(24, age=97)
    asked = {"filters": filters}
    assert emulator.api.post("/api/v1/eligibility-count/", json=asked).json()["count"] == 0
    emulator.people.join(1, age=97)
    assert emulator.api.post("/api/v1/eligibility-count/", json=asked).json()["count"] == 25


def test_a_review_waits_for_the_person_and_is_made_once(emulator: Emulator) -> None:
    """Somebody at work cannot be approved; a second approval changes nothing; nothing paid is taken back."""
    api, people = emulator.api, emulator.people
    visit = people.enter(published(api))
    assert review(api, visit["id"], "APPROVE").status_code == 400
    people.complete(visit["id"], "DONE")
    assert review(api, visit["id"], "APPROVE").json()["status"] == "APPROVED"
    assert review(api, visit["id"], "APPROVE").status_code == 200
    assert people.see(visit["id"])["reward"] == 180
    refused = review(api, visit["id"], "REJECT", message=MESSAGE, rejection_category="FAILED_CHECK")
    assert refused.status_code == 400


def test_a_rejection_says_why(emulator: Emulator) -> None:
    """A short message or a missing category is refused; a rejection pays nothing and can be taken back."""
    api, people = emulator.api, emulator.people
    visit = people.enter(published(api))
    people.complete(visit["id"], "DONE")
    short = review(api, visit["id"], "REJECT", message="No.", rejection_category="OTHER")
    assert short.status_code == 400
    assert "100" in short.json()["error"]["detail"]["message"][0]
    assert review(api, visit["id"], "REJECT", message=MESSAGE).status_code == 400
    done = review(api, visit["id"], "REJECT", message=MESSAGE, rejection_category="FAILED_CHECK")
    assert done.json()["status"] == "REJECTED"
    assert people.see(visit["id"])["reward"] == 0
    assert review(api, visit["id"], "UNREJECT").json()["status"] == "AWAITING REVIEW"


def test_emulator_replaces_rejected_place_on_restart(emulator: Emulator) -> None:
    """While the study is AWAITING REVIEW nothing reopens by itself."""
    api, people = emulator.api, emulator.people
    study = published(api)
    visits = [people.enter(study) for _ in range(2)]
    for visit in visits:
        people.complete(visit["id"], "DONE")
    assert status_of(api, study) == "AWAITING REVIEW"
    review(api, visits[0]["id"], "REJECT", message=MESSAGE, rejection_category="LOW_EFFORT")
    assert status_of(api, study) == "AWAITING REVIEW"
    with pytest.raises(AssertionError, match="AWAITING REVIEW"):
        people.enter(study)
    assert api.post(f"/api/v1/studies/{study}/transition/", json={"action": "START"}).json()["status"] == "ACTIVE"
    people.complete(people.enter(study)["id"], "DONE")
    rows = api.get(f"/api/v1/studies/{study}/submissions/").json()["results"]
    waiting = [row["id"] for row in rows if row["status"] == "AWAITING REVIEW"]
    for one in waiting:
        review(api, one, "APPROVE")
    assert status_of(api, study) == "COMPLETED"


def test_bulk_approval_is_done_a_little_later(emulator: Emulator) -> None:
    """The answer comes before the work; a list that mixes both ways of naming is refused."""
    api, people = emulator.api, emulator.people
    study = published(api)
    visit = people.enter(study)
    people.complete(visit["id"], "DONE")
    path = "/api/v1/submissions/bulk-approve/"
    assert api.post(path, json={"study_id": study, "submission_ids": [visit["id"]]}).status_code == 400
    assert api.post(path, json={"submission_ids": [visit["id"]]}).status_code == 200
    seen = [submission(api, visit["id"])["status"] for _ in range(4)]
    assert (seen[0], seen[-1]) == ("AWAITING REVIEW", "APPROVED")


def test_what_nobody_reviews_is_approved_after_three_weeks(emulator: Emulator) -> None:
    """Twenty-one days after the code was entered, not a day earlier; and it is paid."""
    people = emulator.people
    visit = people.enter(published(emulator.api))
    people.complete(visit["id"], "DONE")
    people.advance(days=20.99)
    assert people.see(visit["id"])["status"] == "AWAITING REVIEW"
    people.advance(days=0.02)
    assert people.see(visit["id"])["status"] == "APPROVED"
    assert people.see(visit["id"])["reward"] == 180


def test_bonuses_are_priced_first_and_paid_as_often_as_asked(fresh_emulator: Emulator) -> None:
    """Amounts are whole units with decimals; fees as in the published example; a repeated payment pays again."""
    api, people = fresh_emulator.api, fresh_emulator.people
    study = published(api)
    visits = [people.enter(study) for _ in range(2)]
    for visit in visits:
        people.complete(visit["id"], "DONE")
    lines = f"{visits[0]['id']},4.25\n{visits[1]['participant_id']},4.25"
    stranger = api.post("/api/v1/submissions/bonus-payments/", json={"study_id": study, "csv_bonuses": f"{study},1"})
    assert stranger.status_code == 400
    assert study in str(stranger.json()["error"]["detail"])
    asked = api.post("/api/v1/submissions/bonus-payments/", json={"study_id": study, "csv_bonuses": lines})
    assert asked.status_code == 201
    priced = asked.json()
    assert (priced["amount"], priced["fees"], priced["total_amount"]) == (850, 283.34, 1133.34)
    pay = f"/api/v1/bulk-bonus-payments/{priced['id']}/pay/"
    assert api.post(pay).status_code == 202
    people.advance(minutes=1)
    assert submission(api, visits[0]["id"])["bonus_payments"] == [425]
    assert api.post(pay).status_code == 202
    people.advance(minutes=1)
    assert submission(api, visits[1]["id"])["bonus_payments"] == [425, 425]
    assert len(people.payments()) == 4


def test_a_list_is_paged_and_ends(emulator: Emulator) -> None:
    """The link to the next page leads through all rows once; past the end there is nothing."""
    api, people = emulator.api, emulator.people
    study = published(api, total_available_places=7)
    wanted = [people.take(study, person)["id"] for person in people.join(7)]
    for query in ("page=1&page_size=3", "limit=3&offset=0"):
        url, seen = f"/api/v1/studies/{study}/submissions/?{query}", []
        while url is not None:
            page = api.get(url).json()
            seen += [row["id"] for row in page["results"]]
            assert page["meta"]["count"] == 7
            url = page["_links"]["next"]["href"]
        assert seen == wanted
    assert api.get(f"/api/v1/studies/{study}/submissions/?page=4&page_size=3").status_code == 404


def test_test_participants_take_part_in_test_studies_only(emulator: Emulator) -> None:
    """A draft can be tried without money by a test participant, and by nobody else."""
    api, people = emulator.api, emulator.people
    email = {"email": "tester@example.org"}
    tester = api.post("/api/v1/researchers/participants/", json=email).json()["participant_id"]
    draft_id = created(api)
    test = api.post(f"/api/v1/studies/{draft_id}/test-study").json()
    assert people.enter(test["study_id"], tester)["status"] == "ACTIVE"
    with pytest.raises(AssertionError, match="Test studies"):
        people.enter(test["study_id"])
    with pytest.raises(AssertionError, match="Test studies"):
        people.enter(published(api), tester)
