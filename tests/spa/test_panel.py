"""A panel: people come in by a link with their id and are redirected with the code of their outcome."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from click.testing import CliRunner
from fastapi.testclient import TestClient

from spa.cli import main
from spa.forms.form import ScreeningTarget
from spa.platforms.panel import mount
from spa.server.app import create_app
from tests.spa.small_study import STUDY, write_study
from tests.spa.test_server import Place, build, opened

PANEL = """
[panel]
name = "connect"
participant = "participantId"
session = "assignmentId"
study = "projectId"
study_id = "P1"

[panel.redirects]
completed = "https://panel.example/done?cc={code}&who={participant}&part={session}"
screened_out = "https://out.example:8443/{code}"
"""
PLAIN = """
[panel]
name = "sona"
participant = "id"
redirects.completed = "https://sona.example/credit?survey_code={participant}"
"""


def serve(folder: Path, panel: str) -> Place:
    place = opened(build(folder, STUDY + panel), folder / "answers.sqlite")
    place.client = TestClient(create_app(place.workspace, adapters=[mount]), follow_redirects=False)
    return place


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return serve(tmp_path, PANEL)


def come(place: Place, who: str = "ada", part: str = "v1", study: str = "P1"):  # type: ignore[no-untyped-def]
    given = {"participantId": who, "assignmentId": part, "projectId": study}
    return place.client.post("/panel", params=given)


def answer_all(place: Place, link: str) -> None:
    token = link.removeprefix("/a/")
    lease = place.workspace.store.visits.of_token(token)
    assert lease is not None
    for page in place.workspace.form(lease.assignment_id).pages:
        assert place.send(token, page).status_code == 303


def screen_out(place: Place, link: str) -> None:
    token = link.removeprefix("/a/")
    form = place.workspace.form(place.workspace.store.visits.of_token(token).assignment_id)  # type: ignore[union-attr]
    page, asked = next((p, q) for p in form.pages for q in p.questions if isinstance(q.target, ScreeningTarget))
    for earlier in form.pages[: form.pages.index(page)]:
        place.send(token, earlier)
    assert place.send(token, page, **{asked.question_id: "No"}).headers["location"] == f"{link}/done"


def test_people_come_in_with_their_id_and_leave_with_the_code(place: Place) -> None:
    link = come(place).headers["location"]
    assert come(place).headers["location"] == link  # a second visit resumes the first
    answer_all(place, link)
    end = place.client.get(f"{link}/done")
    address = urlsplit(end.headers["location"])
    assert (end.status_code, address.netloc) == (303, "panel.example")
    code = place.workspace.store.visits.outcome_codes("connect")["completed"]
    assert parse_qs(address.query) == {"cc": [code], "who": ["ada"], "part": ["v1"]}
    sites = "form-action 'self' https://out.example:8443 https://panel.example;"
    assert sites in end.headers["content-security-policy"]
    (visit,) = place.workspace.store.visits.of_people()
    assert (visit.source, visit.person, visit.external_id, visit.completed) == ("connect", "ada", "v1", True)
    again = come(place, part="v2")
    assert (again.status_code, "You have taken part already" in again.text) == (403, True)
    other = come(place, who="eve")
    assert (other.status_code, "location" in other.headers) == (403, False)  # v1 is ada's


def test_who_is_screened_out_goes_where_the_panel_says(place: Place) -> None:
    link = come(place).headers["location"]
    screen_out(place, link)
    code = place.workspace.store.visits.outcome_codes("connect")["screened_out"]
    assert place.client.get(f"{link}/done").headers["location"] == f"https://out.example:8443/{code}"


@pytest.mark.parametrize(
    "hostile", ["", "<script>alert(1)</script>", "a\r\nset-cookie: x=1", "a b", "x" * 101, "claimed 1", "../a", "é"]
)
@pytest.mark.parametrize("at", ["participantId", "assignmentId"])
def test_a_hostile_id_is_refused_and_shown_nowhere(place: Place, hostile: str, at: str) -> None:
    given = {"participantId": "ada", "assignmentId": "v1", "projectId": "P1", at: hostile}
    refused = place.client.post("/panel", params=given)
    assert (refused.status_code, [*place.workspace.store.visits.of_people()]) == (400, [])
    assert not hostile or hostile not in refused.text
    assert "set-cookie" not in refused.headers


def test_another_study_of_the_panel_is_refused(place: Place) -> None:
    assert come(place, study="P2").status_code == 403
    assert place.client.post("/panel").status_code == 400


def test_without_a_session_the_participant_is_the_visit(tmp_path: Path) -> None:
    place = serve(tmp_path, PLAIN)
    link = place.client.post("/panel?id=1.2@x").headers["location"]
    answer_all(place, link)
    assert place.client.post("/panel?id=1.2@x").headers["location"] == link
    assert place.client.get(f"{link}/done").headers["location"].endswith("?survey_code=1.2%40x")


def test_an_outcome_without_an_address_ends_on_the_study_page(tmp_path: Path) -> None:
    place = serve(tmp_path, PANEL.replace("screened_out", "quota_full"))
    link = come(place).headers["location"]
    screen_out(place, link)
    assert "Thank you for your interest" in place.client.get(f"{link}/done").text


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ('name = "connect"', 'name = "prolific"', "[panel] name: expected a name other than"),
        ('study_id = "P1"\n', "", "[panel] study: expected study_id beside it"),
        ('session = "assignmentId"\n', "", "[panel.redirects]: expected session in [panel] where {session} is used"),
        ("{code}&", "{codes}&", "[panel.redirects] completed: expected an address whose only braces are"),
        ("https://panel.example", "https://{participant}.example", "[panel.redirects] completed: expected an address"),
        ("https://panel.example", "javascript:alert(1)", "[panel.redirects] completed: expected an address"),
        ("screened_out", "screenedout", "screened_out"),
        ('participant = "participantId"', 'participant = "projectId"', "projectId"),
    ],
)
def test_check_reports_a_mistake_in_one_line(tmp_path: Path, before: str, after: str, told: str) -> None:
    assert before in PANEL
    path = write_study(tmp_path, STUDY + PANEL.replace(before, after, 1))
    result = CliRunner().invoke(main, ["check", str(path)])
    assert result.exit_code == 1
    assert told in result.output.replace("\n", " ")
