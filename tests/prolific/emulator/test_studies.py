"""The emulated platform's studies: what it refuses, the states it goes through, and the money it sets aside."""

from __future__ import annotations

import pytest

from tests.prolific.conftest import Emulator
from tests.prolific.emulator.drafts import code, created, draft, move, published, status_of


@pytest.mark.parametrize(
    ("changes", "field", "told"),
    [
        ({"reward": -1}, "reward", "greater than or equal to 0"),
        ({"reward": 12.5}, "reward", "whole number"),
        ({"total_available_places": 0}, "total_available_places", "greater than or equal to 1"),
        ({"maximum_allowed_time": 28}, "non_field_errors", "expected 28.3 minutes or more"),
        ({"external_study_url": "http://example.org/s"}, "non_field_errors", "https"),
        ({"external_study_url": None}, "non_field_errors", "one of them only"),
        ({"completion_codes": []}, "completion_codes", "at least 1"),
        ({"completion_codes": [code("A"), code("A", "OTHER")]}, "non_field_errors", "differ"),
        ({"filters": [{"filter_id": "shoe-size", "selected_values": ["0"]}]}, "filters", "shoe-size"),
        ({"filters": [{"filter_id": "sex", "selected_values": ["7"]}]}, "filters", "7 cannot be selected"),
        ({"eligibility_requirements": []}, "eligibility_requirements", "not permitted"),
        ({"project": "0" * 24}, "project", "does not exist"),
    ],
)
def test_a_study_that_breaks_a_rule_is_refused_by_field(
    emulator: Emulator, changes: dict[str, object], field: str, told: str
) -> None:
    """Each rule of the published description is held, and the error says which field broke it."""
    response = emulator.api.post("/api/v1/studies/", json={**draft(), **changes})
    assert response.status_code == 400
    error = response.json()  # this operation answers without the outer "error"
    assert error["status"] == 400
    assert any(told in message for message in error["detail"][field]), error["detail"]


def test_publishing_takes_a_while_and_sets_the_money_aside(fresh_emulator: Emulator) -> None:
    """A published study is PUBLISHING before it is ACTIVE; the money for all places is gone from what is available."""
    api = fresh_emulator.api
    study = created(api, total_available_places=3, reward=425)
    before = api.get("/api/v1/users/me/").json()
    assert move(api, study, "PUBLISH").json()["status"] == "PUBLISHING"
    seen = [status_of(api, study) for _ in range(4)]
    assert seen[0] == "PUBLISHING"
    assert seen[-1] == "ACTIVE"
    after = api.get("/api/v1/users/me/").json()
    assert before["available_balance"] - after["available_balance"] == 1700  # 3 x (425 + a third of it)
    assert before["balance"] == after["balance"]
    calculated = api.post("/api/v1/study-cost-calculator/", json={"reward": 425, "total_available_places": 3})
    assert calculated.json()["total_cost"] == pytest.approx(1700.01)
    assert move(api, study, "PUBLISH").status_code == 400
    assert api.delete(f"/api/v1/studies/{study}/").status_code == 400


def test_a_short_wallet_leaves_the_draft_as_it_is(fresh_emulator: Emulator) -> None:
    """Publishing fails when the money does not suffice, and works when it was paid in."""
    api = fresh_emulator.api
    workspace = api.get("/api/v1/workspaces/").json()["results"][0]["id"]
    fresh_emulator.people.do("POST", "wallet/", {"workspace_id": workspace, "available": 479})
    study = created(api)  # 2 x 180 and a third: 480
    refused = move(api, study, "PUBLISH")
    assert refused.status_code == 400
    assert "balance" in refused.json()["error"]["detail"]
    assert status_of(api, study) == "UNPUBLISHED"
    fresh_emulator.people.do("POST", "wallet/", {"workspace_id": workspace, "pay_in": 1})
    assert move(api, study, "PUBLISH").status_code == 200


def test_pausing_stopping_and_starting(emulator: Emulator) -> None:
    """A paused study takes nobody in and starts again; a stopped one starts again only with more places."""
    api, people = emulator.api, emulator.people
    study = published(api)
    assert move(api, study, "PAUSE").json()["status"] == "PAUSED"
    with pytest.raises(AssertionError, match="PAUSED"):
        people.enter(study)
    assert move(api, study, "START").json()["status"] == "ACTIVE"
    visit = people.enter(study)
    assert move(api, study, "STOP").json()["status"] == "AWAITING REVIEW"
    assert move(api, study, "START").status_code == 400
    assert people.complete(visit["id"], "DONE")["status"] == "AWAITING REVIEW"  # who was inside may finish
    more = api.patch(f"/api/v1/studies/{study}/", json={"total_available_places": 5})
    assert more.json()["status"] == "ACTIVE"
    assert people.enter(study)["status"] == "ACTIVE"


def test_of_a_published_study_little_can_be_changed(emulator: Emulator) -> None:
    """Places go up only, the internal name may change, and nothing else."""
    api = emulator.api
    study = published(api)
    path = f"/api/v1/studies/{study}/"
    assert api.patch(path, json={"internal_name": "b3"}).json()["internal_name"] == "b3"
    assert api.patch(path, json={"total_available_places": 1}).status_code == 400
    assert api.patch(path, json={"name": "Another"}).status_code == 400
    assert api.patch(path, json={"reward": 500}).status_code == 400
    move(api, study, "PAUSE")
    assert api.patch(path, json={"reward": 500}).json()["reward"] == 500


def test_drafts_can_be_changed_copied_found_and_deleted(emulator: Emulator) -> None:
    """Everything may be changed in a draft; a copy is a draft of its own; a key in the name finds it again."""
    api = emulator.api
    study = created(api, internal_name="key-1")
    changed = api.patch(f"/api/v1/studies/{study}/", json={"reward": 200, "filters": []})
    assert changed.json()["reward"] == 200
    copy = api.post(f"/api/v1/studies/{study}/clone/", json={"block_previous_participants": True}).json()
    assert copy["id"] != study
    assert copy["filters"] == [{"filter_id": "previous_studies_blocklist", "selected_values": [study]}]
    project = changed.json()["project"]
    listed = api.get(f"/api/v1/projects/{project}/studies/", params={"page_size": 100}).json()["results"]
    assert [one["id"] for one in listed if one["internal_name"] == "key-1"] == [copy["id"], study]
    assert api.delete(f"/api/v1/studies/{study}/").status_code == 204
    assert api.get(f"/api/v1/studies/{study}/").status_code == 404


def test_several_addresses_share_the_places(emulator: Emulator) -> None:
    """Allocations must add up; people are sent where most is missing; more places come with an address."""
    api, people = emulator.api, emulator.people
    urls = [{"external_url": f"https://example.org/{name}", "total_allocation": 2} for name in "ab"]
    wrong = api.post(
        "/api/v1/studies/", json=draft(external_study_url=None, access_details=urls, total_available_places=3)
    )
    assert wrong.status_code == 400
    study = published(api, external_study_url=None, access_details=urls, total_available_places=4)
    seen = sorted(people.enter(study)["study_url"] for _ in range(4))
    assert seen == ["https://example.org/a"] * 2 + ["https://example.org/b"] * 2
    (progress,) = api.get(f"/api/v1/studies/{study}/access-details-progress/").json()
    assert [one["allocated"] for one in progress["progress"]] == [2, 2]
    more = {"access_details": [{"external_url": "https://example.org/c", "total_allocation": 1}]}
    assert api.patch(f"/api/v1/studies/{study}/", json=more).json()["total_available_places"] == 5
    assert people.enter(study)["study_url"] == "https://example.org/c"


def test_nobody_without_a_token(emulator: Emulator) -> None:
    """The API wants a token, in the platform's own form; the error is told as elsewhere."""
    for header in ({"Authorization": ""}, {"Authorization": "Bearer x"}):
        response = emulator.api.get("/api/v1/users/me/", headers=header)
        assert response.status_code == 401
        assert response.json()["error"]["status"] == 401


def test_a_path_without_its_slash_is_not_found(emulator: Emulator) -> None:
    """Addresses are taken as printed; the one that is printed both ways works both ways."""
    assert emulator.api.get("/api/v1/users/me").status_code == 404
    study = created(emulator.api)
    assert emulator.api.post(f"/api/v1/studies/{study}/test-study").status_code == 200
    assert emulator.api.post(f"/api/v1/studies/{study}/test-study/").status_code == 200
