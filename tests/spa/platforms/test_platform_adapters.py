"""A door of a platform: its visitors come in, are sent to their forms, and go where the platform wants them."""

from __future__ import annotations

from pathlib import Path

import pytest
from fastapi import FastAPI, Request
from fastapi.responses import Response
from fastapi.testclient import TestClient

from spa.records.study import Words
from spa.server.app import create_app
from spa.server.survey_context import SurveyContext
from spa.simulation.survey_client import read_page
from tests.spa.server.served_study import Place, opened
from tests.spa.server.served_study import built as built


def mount(app: FastAPI, context: SurveyContext) -> None:
    """Take whoever comes to /platform at their word, as no real door may."""

    @app.api_route("/platform", methods=["GET", "HEAD", "POST"], response_model=None)
    def enter(request: Request, person: str, visit: str) -> Response:
        if request.method != "POST":
            known = context.known_visit("platform", person=person, external_id=visit)
            return known or context.first_page(request)
        return context.admit(source="platform", person=person, external_id=visit)

    context.allow_redirect_to("https://platform.example/done")
    context.on_finish(
        "platform", lambda visit, outcome: context.redirect(f"https://platform.example/done?cc={visit.completion_code}")
    )


@pytest.fixture
def place(built: Path, tmp_path: Path) -> Place:
    found = opened(built, tmp_path / "answers.sqlite")
    found.client = TestClient(create_app(found.workspace, adapters=[mount], public_url="https://here.example/"))
    return found


def come(place: Place, person: str, visit: str):  # type: ignore[no-untyped-def]
    return place.client.post(f"/platform?person={person}&visit={visit}", follow_redirects=False)


def test_platform_visitor_returns_with_outcome_code(place: Place) -> None:
    """A visitor of a platform answers and goes back with the code of the outcome."""
    store = place.workspace.store
    link = come(place, "ada", "v1").headers["location"]
    assert come(place, "ada", "v1").headers["location"] == link
    token = link.removeprefix("/a/")
    lease = store.visits.of_token(token)
    assert lease is not None
    codes = store.visits.outcome_codes("platform")
    for page in place.workspace.form(lease.assignment_id).pages:
        html = place.client.get(f"{link}/p/{page.page_id}").text
        assert not [code for code in codes.values() if code in html]
        answer = place.send(token, page)
    assert answer.headers["location"] == f"{link}/done"
    end = place.client.get(f"{link}/done", follow_redirects=False)
    assert end.headers["location"] == f"https://platform.example/done?cc={codes['completed']}"
    assert "form-action 'self' https://platform.example;" in end.headers["content-security-policy"]
    object.__setattr__(place.workspace.study, "debriefing", Words(text="Told at last."))
    told = place.client.get(f"{link}/done", follow_redirects=False)
    assert (told.status_code, "Told at last." in told.text, codes["completed"] in told.text) == (200, True, False)
    onward = place.client.get(str(read_page(told.text).onward), follow_redirects=False)
    assert onward.headers["location"] == end.headers["location"]
    visit = store.visits.find("platform", "v1")
    assert visit is not None
    assert (visit.person, visit.completed, visit.pages) == ("ada", True, len(place.workspace.form("a00001").pages))
    refused = come(place, "ada", "v2")
    assert refused.status_code == 403
    assert "You have taken part already" in refused.text


def test_a_door_says_when_all_places_are_taken(place: Place) -> None:
    for number in range(12):  # six places, and one more person beside each who holds one
        assert come(place, f"person{number}", f"v{number}").status_code == 303
    standing_by = [visit.standing_by for visit in place.workspace.store.visits.of_people()]
    assert standing_by == [False] * 6 + [True] * 6
    full = come(place, "late", "v99")
    assert full.status_code == 410
    assert "All places are taken" in full.text
    place.workspace.close()


def test_platform_leaver_is_told_and_posts_kept(place: Place) -> None:
    """Whoever left on the platform is told so and what is still sent is kept."""
    store = place.workspace.store
    link = come(place, "ada", "v1").headers["location"]
    (lease,) = store.visits.leases()
    store.visits.release(lease.submission_id, "returned", now=1.0)
    gone = place.client.get(link)
    assert (gone.status_code, "You have left this study" in gone.text) == (410, True)
    page = place.workspace.form(lease.assignment_id).pages[0]
    assert place.send(link.removeprefix("/a/"), page).status_code == 303
    assert len(store.visits.payloads(lease.submission_id)) == 1
    assert store.visits.get(lease.submission_id).seat is None  # type: ignore[union-attr]
    assert come(place, "ada", "v1").status_code == 303  # the platform sends them again
    assert place.client.get(link).status_code == 200
