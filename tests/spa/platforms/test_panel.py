"""A panel: people come in by a link with their id and are redirected with the code of their outcome."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from click.testing import CliRunner
from fastapi.testclient import TestClient
from starlette.requests import Request
from starlette.responses import Response

from spa.cli import main
from spa.errors import StudyError
from spa.platforms.panel.routes import mount_with, signature_of
from spa.records.form import Page, ScreeningTarget
from spa.server.app import create_app
from spa.server.rate_limits import Limits
from spa.server.survey_context import SurveyContext
from spa.simulation.survey_client import read_page
from tests.spa.server.served_study import Place, build, opened
from tests.spa.small_study import STUDY, write_study

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


SECRET = "a secret that nobody knows"
SIGNED = PANEL.replace("\n[panel.redirects]", 'secret_env = "PANEL_SECRET"\n\n[panel.redirects]')


def serve(folder: Path, panel: str, **settings: object) -> Place:
    place = opened(build(folder, STUDY + panel), folder / "answers.sqlite")
    place.client = browser(place, **settings)
    return place


def browser(place: Place, **settings: object) -> TestClient:
    adapter = partial(mount_with, environment={"PANEL_SECRET": SECRET})
    return TestClient(create_app(place.workspace, adapters=[adapter], **settings), follow_redirects=False)  # type: ignore[arg-type]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return serve(tmp_path, PANEL)


def come(place: Place, who: str = "ada", part: str = "v1", study: str = "P1"):  # type: ignore[no-untyped-def]
    return place.client.post(address(who, part, study))


def address(who: str = "ada", part: str = "v1", study: str = "P1", *, secret: str | None = None) -> str:
    """Return the address that the panel gives, signed where there is a ``secret``."""
    given = {"participantId": who, "assignmentId": part, "projectId": study}
    if secret is not None:
        given["signature"] = signature_of(secret, given.items())
    return f"/panel?{urlencode(given)}"


def pages_of(place: Place, link: str) -> tuple[Page, ...]:
    lease = place.workspace.store.visits.of_token(link.removeprefix("/a/"))
    assert lease is not None
    return place.workspace.form(lease.assignment_id).pages


def answer_all(place: Place, link: str) -> None:
    for page in pages_of(place, link):
        assert place.send(link.removeprefix("/a/"), page).status_code == 303


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
    led_to = urlsplit(end.headers["location"])
    assert (end.status_code, led_to.netloc) == (303, "panel.example")
    (visit,) = place.workspace.store.visits.of_people()
    assert parse_qs(led_to.query) == {"cc": [visit.completion_code], "who": ["ada"], "part": ["v1"]}
    sites = "form-action 'self' https://out.example:8443 https://panel.example;"
    assert sites in end.headers["content-security-policy"]
    assert (visit.source, visit.person, visit.external_id, visit.completed) == ("connect", "ada", "v1", True)
    again = come(place, part="v2")
    assert (again.status_code, "You have taken part already" in again.text) == (403, True)


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
        ('name = "connect"', 'name = "connect"\nsignature = "sig"', "[panel] signature: expected secret_env beside it"),
        ('name = "connect"', 'name = "connect"\nsecret_env = "S"\nsignature = "projectId"', "projectId"),
        ('name = "connect"', 'name = "connect"\nsecret_env = "my secret"', "the name of an environment variable"),
    ],
)
def test_check_reports_a_mistake_in_one_line(tmp_path: Path, before: str, after: str, told: str) -> None:
    assert before in PANEL
    path = write_study(tmp_path, STUDY + PANEL.replace(before, after, 1))
    result = CliRunner().invoke(main, ["check", str(path)])
    assert result.exit_code == 1
    assert told in result.output.replace("\n", " ")


def test_a_look_at_the_link_takes_no_place(place: Place) -> None:
    for method in ("GET", "HEAD"):
        assert place.client.request(method, address(), headers={"sec-fetch-dest": "image"}).status_code == 200
    assert list(place.workspace.store.visits.of_people()) == []
    assert read_page(place.client.get(address()).text).begin == address()


def test_new_visits_of_the_panel_are_limited_too(place: Place) -> None:
    place.client = browser(place, limits=Limits.of_new_visits(3))
    came = [come(place, f"made-up-{number}", f"v{number}").status_code for number in range(60)]
    assert came == [303] * 3 + [429] * 57


def test_a_made_up_session_reads_nothing_and_keeps_nobody_out(place: Place) -> None:
    link = come(place).headers["location"]
    pages = pages_of(place, link)
    place.send(link.removeprefix("/a/"), pages[0])
    stranger = browser(place)
    for part in ("v1", "v2"):
        for told in (stranger.get(address(part=part)), stranger.post(address(part=part))):
            assert (told.status_code, "Somebody has begun with your link" in told.text) == (403, True)
            assert link.removeprefix("/a/") not in told.text
            assert not {"location", "set-cookie"} & set(told.headers)
    (visit,) = place.workspace.store.visits.of_people()
    assert (visit.external_id, visit.released, visit.token) == ("v1", False, link.removeprefix("/a/"))
    assert place.client.get(address()).headers["location"] == link  # the same browser
    assert place.client.get(link).headers["location"] == f"{link}/p/{pages[1].page_id}"


def test_panel_other_browser_enters_visit_address(place: Place) -> None:
    """Who comes by another browser enters the visit's own address."""
    link = come(place).headers["location"]
    theirs = come(place, who="eve", part="v2").headers["location"]
    other = browser(place)
    shown = place.client.get(f"{link}/p/{pages_of(place, link)[1].page_id}", follow_redirects=True)
    assert shown.status_code == 200
    for entered in (f"http://testserver{link}", f" {link} ", f"{link}/p/p1"):
        assert other.post(address(), data={"address": entered}).headers["location"] == link
    for entered in (theirs, "", "http://[", "/a/nobody", "é" * 200):
        refused = other.post(address(), data={"address": entered})
        assert (refused.status_code, "location" in refused.headers) == (403, False)


def test_panel_shows_the_visits_own_address(place: Place) -> None:
    """The visits own address is shown where the link proves nothing."""
    link = come(place).headers["location"]
    token = link.removeprefix("/a/")
    for page in pages_of(place, link)[:2]:
        place.send(token, page)
    due = place.client.get(place.client.get(link).headers["location"]).text
    assert f'value="http://testserver{link}"' in due


def test_who_takes_anothers_session_does_not_shut_them_out(place: Place) -> None:
    come(place, who="eve", part="v1")
    place.client.cookies.clear()
    link = come(place, who="ada", part="v1").headers["location"]
    answer_all(place, link)
    assert parse_qs(urlsplit(place.client.get(f"{link}/done").headers["location"]).query)["part"] == ["v1"]
    assert place.client.get(address()).headers["location"] == link
    named = [str(visit.external_id).split()[0] for visit in place.workspace.store.visits.of_people()]
    assert named == ["v1", "v1"]


def test_each_person_has_a_completion_code_of_their_own(place: Place) -> None:
    codes = []
    for number in range(3):
        link = come(place, f"p{number}", f"v{number}").headers["location"]
        answer_all(place, link)
        codes += parse_qs(urlsplit(place.client.get(f"{link}/done").headers["location"]).query)["cc"]
    assert len(set(codes)) == 3


def test_an_id_that_nobody_began_with_is_free_again(place: Place) -> None:
    now = [1_000_000.0]
    place.client = browser(place, clock=lambda: now[0])
    squatted = come(place).headers["location"]
    now[0] += 16 * 60
    place.client.cookies.clear()
    link = come(place).headers["location"]
    assert link != squatted
    answer_all(place, link)
    assert place.client.get(squatted).status_code == 410
    done = [(visit.external_id, visit.completed) for visit in place.workspace.store.visits.of_people()]
    assert done == [(None, False), ("v1", True)]


@pytest.mark.parametrize("repeat", [False, True])
def test_who_is_done_comes_again_only_where_people_may(tmp_path: Path, repeat: bool) -> None:
    place = opened(
        build(tmp_path, STUDY.replace("annotators = 6", f"annotators = 6, repeat = {str(repeat).lower()}") + PANEL),
        tmp_path / "answers.sqlite",
    )
    place.client = browser(place)
    link = come(place).headers["location"]
    answer_all(place, link)
    stranger = browser(place)
    assert stranger.post(address()).status_code == 403  # neither the code nor the end page of somebody else
    again = stranger.post(address(part="v2"))
    assert again.status_code == (303 if repeat else 403)
    assert again.headers.get("location") != link


def test_a_signed_link_leads_back_from_any_browser(tmp_path: Path) -> None:
    place = serve(tmp_path, SIGNED)
    mine = address(secret=SECRET)
    link = place.client.post(mine).headers["location"]
    assert "set-cookie" not in place.client.post(mine).headers
    other = browser(place)
    assert (other.get(mine).headers["location"], other.post(mine).headers["location"]) == (link, link)
    answer_all(place, link)
    assert other.get(mine).headers["location"] == link
    code = parse_qs(urlsplit(place.client.get(f"{link}/done").headers["location"]).query)["cc"]
    (visit,) = place.workspace.store.visits.of_people()
    assert (code, visit.person, visit.external_id) == ([visit.completion_code], "ada", "v1")


def test_a_link_with_another_signature_lets_nobody_in(tmp_path: Path) -> None:
    place = serve(tmp_path, SIGNED)
    good = address(secret=SECRET)
    made_up = (
        address(),
        address(secret="another secret of the panel"),
        good.replace("ada", "eve"),
        good.replace("assignmentId=v1", "assignmentId=v2"),
        f"{good}&year=1",
        f"{good}&participantId=eve",
        f"{address()}&signature=",
        f"{address()}&signature=%F0%9F%98%80",
    )
    for link in made_up:
        assert [place.client.get(link).status_code, place.client.post(link).status_code] == [403, 403], link
    assert list(place.workspace.store.visits.of_people()) == []
    assert (
        place.client.post(good.replace("signature=", "signature=").upper().replace("/PANEL", "/panel")).status_code
        == 400
    )
    name, _, signature = good.rpartition("=")
    assert place.client.post(f"{name}={signature.upper()}").status_code == 303


def test_panel_first_link_leads_to_later_session(tmp_path: Path) -> None:
    """Who went on in another session of the panel is led there by the first link."""
    place = serve(tmp_path, SIGNED)
    link = place.client.post(address(part="v1", secret=SECRET)).headers["location"]
    place.send(link.removeprefix("/a/"), pages_of(place, link)[0])
    assert place.client.post(address(part="v2", secret=SECRET)).headers["location"] == link
    for _ in range(2):
        assert place.client.post(address(part="v1", secret=SECRET)).headers["location"] == link
        assert place.client.get(place.client.get(link).headers["location"]).status_code == 200


@pytest.mark.parametrize(("environment", "got"), [({}, "got none"), ({"PANEL_SECRET": "short"}, "got 5 characters")])
def test_a_secret_that_is_not_there_is_told_before_anybody_comes(
    tmp_path: Path, environment: dict[str, str], got: str
) -> None:
    place = opened(build(tmp_path, STUDY + SIGNED), tmp_path / "answers.sqlite")
    with pytest.raises(StudyError, match=f"PANEL_SECRET.*{got}"):
        create_app(place.workspace, adapters=[partial(mount_with, environment=environment)])
    place.workspace.close()


def test_panel_button_again_leads_to_its_visit(place: Place) -> None:
    """A button that is pressed again leads to the visit that it began."""
    shown = place.client.get(address()).text
    fields = dict(re.findall(r'type="hidden" name="([^"]*)" value="([^"]*)"', shown))
    first, again = (browser(place).post(address(), data=fields) for _ in range(2))
    assert first.status_code == 303
    assert again.headers["location"] == first.headers["location"]
    assert browser(place).post(address(who="eve"), data=fields).headers["location"] != first.headers["location"]


def test_panel_cookie_wins_over_taken_session(place: Place) -> None:
    """Who is known by the cookie is not shut out by a taken session either."""
    ada, eve = browser(place), browser(place)
    link = ada.post(address("ada", "v1")).headers["location"]
    assert eve.post(address("eve", "v2")).status_code == 303
    for _ in range(2):
        assert ada.post(address("ada", "v2")).headers.get("location") == link
    assert ada.get(address("ada", "v2")).headers.get("location") == link
    named = {visit.external_id for visit in place.workspace.store.visits.of_people() if visit.token is not None}
    assert [str(name).partition(" ")[0] for name in named] == ["v2", "v2"]


def test_signed_links_of_a_whole_class_lead_in_at_once(tmp_path: Path) -> None:
    place = serve(tmp_path, SIGNED)
    people = {"client": ("192.0.2.7", 1), "follow_redirects": False}
    room = TestClient(place.client.app, **people)  # type: ignore[arg-type]
    came = [room.post(address(f"p{number}", f"v{number}", secret=SECRET)).status_code for number in range(20)]
    assert 429 not in came
    assert room.post(address("ada", "v1")).status_code == 403


def test_panel_button_twice_leads_to_one_visit(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """A button pressed twice at the same moment leads to one visit."""
    other, first, busy = browser(place), [], SurveyContext.busy
    fields = dict(re.findall(r'type="hidden" name="([^"]*)" value="([^"]*)"', place.client.get(address()).text))

    def press_meanwhile(self: SurveyContext, request: Request) -> Response | None:
        if not first:
            first.append("")
            first[0] = other.post(address(), data=fields).headers["location"]
        return busy(self, request)

    monkeypatch.setattr(SurveyContext, "busy", press_meanwhile)
    assert place.client.post(address(), data=fields).headers.get("location") == first[0]
