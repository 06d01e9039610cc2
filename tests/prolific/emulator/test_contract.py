"""The emulated platform beside the published description: every operation is asked once, and held to it."""

from __future__ import annotations

import pytest

from prolific.emulator.contract import DEPARTURES, Contract
from prolific.emulator.operations import API_ROUTES, OPERATIONS, UNPUBLISHED
from tests.prolific.conftest import PUBLISHED, Emulator, contract
from tests.prolific.emulator.drafts import MESSAGE, created, draft, move, published, review


@pytest.fixture(scope="module")
def description() -> Contract:
    known = contract()
    if known is None:
        pytest.skip(f"no published description at {PUBLISHED}")
    return known


def test_the_operations_are_those_published(description: Contract) -> None:
    """Every operation has the id, the method and the address of the description."""
    for operation in OPERATIONS:
        if operation in UNPUBLISHED:
            assert operation not in description.operations
            continue
        place, _ = description.operations[operation]
        routes = {(route.method, route.path) for route in API_ROUTES if route.operation == operation}
        path, _, method = place.removeprefix("/paths/").rpartition("/")
        path = path.replace("~1", "/").replace("%7B", "{").replace("%7D", "}")
        assert (method.upper(), path) in routes


def test_departures_are_of_operations_that_are_there(description: Contract) -> None:
    """A departure that names nothing would hide nothing, and is a mistake."""
    for one in DEPARTURES:
        assert one.operation in description.operations
        if one.instead is not None:
            assert description.answer_problems(one.operation, int(one.part), {}) != []


def test_the_description_refuses_what_it_should(description: Contract) -> None:
    """The check is alive: it finds a wrong type, a wrong value, a missing field and a status that is not described."""
    assert description.request_problems("CreateStudy", {}, draft()) == []
    assert description.request_problems("CreateStudy", {}, draft(reward="180")) != []
    assert description.request_problems("CreateStudy", {}, draft(name=None)) != []
    assert description.request_problems("GetSubmissions", {"status": "AWAITING REVIEW"}, None) != []
    assert description.request_problems("GetSubmissions", {"status": "AWAITING_REVIEW"}, None) == []
    assert description.answer_problems("GetStudy", 200, draft()) != []
    assert description.answer_problems("GetStudy", 404, {"detail": "?"}) != []
    assert description.answer_problems("GetStudy", 302, None) != []


def test_every_operation_is_asked_and_held_to_the_description(fresh_emulator: Emulator, description: Contract) -> None:
    """Each operation answers as described; one that does not would be a server error here."""
    api, people = fresh_emulator.api, fresh_emulator.people
    workspace = api.get("/api/v1/workspaces/").json()["results"][0]["id"]
    project = api.get(f"/api/v1/workspaces/{workspace}/projects/").json()["results"][0]["id"]
    asked: list[tuple[str, str, object]] = []

    def ask(method: str, path: str, body: object = None, *, status: int = 200) -> dict[str, object]:
        response = api.request(method, f"/api/v1/{path}", json=body)
        assert response.status_code == status, f"{method} {path}: {response.text}"
        asked.append((method, path, body))
        return (
            dict(response.json())
            if response.headers.get("content-type") == "application/json" and isinstance(response.json(), dict)
            else {}
        )

    ask("GET", "users/me/")
    ask("POST", "workspaces/", {"title": "Second"}, status=201)
    ask("GET", f"workspaces/{workspace}/")
    ask("PATCH", f"workspaces/{workspace}/", {"id": workspace, "title": "First"})
    ask("PATCH", f"workspaces/{workspace}/", {"id": project, "title": "First"}, status=400)
    ask("PATCH", f"projects/{project}/", {"id": project, "title": "First"})
    ask("GET", f"workspaces/{workspace}/balance/")
    ask("POST", f"workspaces/{workspace}/projects/", {"title": "P"}, status=201)
    ask("GET", f"projects/{project}/")
    ask("GET", f"projects/{project}/studies/")
    ask("GET", "filters/")
    ask("GET", "filters/?detailed=true")
    ask("POST", "eligibility-count/", {"workspace_id": workspace, "filters": []})
    ask("GET", f"reward-recommendations/?workspace_id={workspace}&currency=USD")
    ask("POST", "study-cost-calculator/", {"reward": 100, "total_available_places": 5})

    one, other = created(api), created(api)
    collections = "study-collections/mutually-exclusive/"
    wanted = {"name": "c", "description": "d", "project_id": project, "study_ids": [one, other]}
    collection = ask("POST", collections, wanted, status=201)["id"]
    ask("GET", f"{collections}?project_id={project}")
    ask("GET", f"{collections}{collection}/")
    ask("PATCH", f"{collections}{collection}/", {"name": "renamed"})
    ask("POST", f"{collections}{collection}/transition/", {"action": "PUBLISH"})
    spare = ask("POST", collections, {**wanted, "study_ids": []}, status=201)["id"]
    ask("DELETE", f"{collections}{spare}/", status=204)

    study = published(api)
    visits = [people.enter(study) for _ in range(2)]
    for visit in visits:
        people.complete(visit["id"], "DONE")
    ask("GET", "studies/?state=AWAITING REVIEW")
    ask("GET", f"studies/{study}/cost/?is_projected=true")
    ask("GET", f"studies/{study}/submissions/")
    ask("GET", f"studies/{study}/submissions/counts/")
    ask("GET", f"submissions/?study={study}&status=AWAITING_REVIEW&completed=true&submitted_from=01/01/2020")
    ask("GET", f"submissions/{visits[0]['id']}/")
    ask("POST", f"submissions/{visits[0]['id']}/request-return/", {"request_return_reasons": ["Withdrew consent."]})
    assert review(api, visits[0]["id"], "APPROVE").status_code == 200
    rejection = {"message": MESSAGE, "rejection_category": "FAILED_CHECK"}
    assert review(api, visits[1]["id"], "REJECT", **rejection).status_code == 200
    ask("POST", "submissions/bulk-approve/", {"submission_ids": [visits[0]["id"]]})
    lines = {"study_id": study, "csv_bonuses": f"{visits[0]['id']},1.50"}
    bonus = ask("POST", "submissions/bonus-payments/", lines, status=201)["id"]
    ask("POST", f"bulk-bonus-payments/{bonus}/pay/", status=202)
    person = visits[0]["participant_id"]
    ask("POST", "messages/", {"recipient_id": person, "body": "Thank you", "study_id": study}, status=204)
    ask("POST", "messages/bulk/", {"ids": [person], "body": "Thank you", "study_id": study}, status=204)
    ask("GET", f"messages/?user_id={person}")
    ask("GET", "messages/unread/")
    ask("POST", f"studies/{study}/demographic-export/", {"filters": []})
    ask("GET", f"studies/{study}/demographic-export-history/")
    ask("POST", f"studies/{study}/clone/")
    ask("POST", "researchers/participants/", {"email": "t@example.org"}, status=201)
    ask("POST", f"studies/{created(api)}/test-study")

    named = {"name": "g", "workspace_id": workspace, "participant_ids": [person]}
    group = ask("POST", "participant-groups/", named, status=201)["id"]
    ask("GET", f"participant-groups/?workspace_id={workspace}")
    ask("GET", f"participant-groups/{group}/")
    ask("PATCH", f"participant-groups/{group}/", {"name": "h"})
    ask("GET", f"participant-groups/{group}/participants/")
    ask("POST", f"participant-groups/{group}/participants/", {"participant_ids": [person]})
    ask("POST", "messages/participant-group/", {"participant_group_id": group, "body": "Thank you"}, status=204)
    ask("DELETE", f"participant-groups/{group}/participants/", {"participant_ids": [person]})
    ask("DELETE", f"participant-groups/{group}/", status=204)
    ask("GET", f"participant-groups/{group}/", status=404)

    ask("GET", "hooks/event-types/")
    ask("POST", "hooks/secrets/", {"workspace_id": workspace}, status=201)
    ask("GET", f"hooks/secrets/?workspace_id={workspace}")
    target = {"workspace_id": workspace, "event_type": "study.status.change", "target_url": "https://example.org/h"}
    subscription = ask("POST", "hooks/subscriptions/", target, status=201)["id"]
    ask("GET", "hooks/subscriptions/?is_enabled=false")
    ask("GET", f"hooks/subscriptions/{subscription}/")
    ask("POST", f"hooks/subscriptions/{subscription}/", {"secret": "wrong"}, status=400)
    ask("PATCH", f"hooks/subscriptions/{subscription}/", {"target_url": "https://example.org/i"})
    ask("GET", f"hooks/subscriptions/{subscription}/events/?limit=10&status=FAILED")
    ask("DELETE", f"hooks/subscriptions/{subscription}/", status=204)
    assert move(api, created(api), "FLY").status_code == 400

    came = {one["operation"] for one in people.requests()}
    unasked = {*OPERATIONS} - came
    assert unasked <= {
        "ScreenOutSubmissions",
        "UpdateProject",
        "GetStudyAccessDetailsProgress",
        "DeleteStudy",
        "UpdateStudy",
    }


def test_what_the_description_does_not_allow_is_refused(fresh_emulator: Emulator, description: Contract) -> None:
    """A request that is understood here, and not as published, is refused, and changes nothing."""
    api = fresh_emulator.api
    workspace = api.get("/api/v1/workspaces/").json()["results"][0]
    refused = api.patch(f"/api/v1/workspaces/{workspace['id']}/", json={"title": "Without the id that is described"})
    assert refused.status_code == 400
    assert "'id' is a required property" in str(refused.json()["error"]["detail"]["published_description"])
    assert api.get(f"/api/v1/workspaces/{workspace['id']}/").json()["title"] == workspace["title"]
