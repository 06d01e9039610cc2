"""The survey server: what it acknowledges is on disk, and nothing that arrives makes it fail."""

from __future__ import annotations

import json
import signal
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, urlencode, urlsplit

import httpx2
import pytest
from click.testing import CliRunner
from fastapi import Request
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spa.cli import main
from spa.commands.workspace import Workspace, open_workspace
from spa.forms.texts import load_texts
from spa.records.form import CheckTarget, Form, Page, ScreeningTarget
from spa.records.submission import Missing, Response
from spa.responses.store import Store
from spa.server.app import create_app
from spa.server.page_responses import find_shown, send_shown
from spa.server.preview import create_preview
from spa.simulation.survey_client import read_page, visit
from tests import patience
from tests.spa.served_pages import ReadPage
from tests.spa.small_study import STUDY, raw_answer, write_study
from tests.spa.store_steps import lease_assignment
from tests.spa.web_forms import small_form

FORM_TYPE = {"content-type": "application/x-www-form-urlencoded"}


@dataclass
class Place:
    """A study that is being served."""

    path: Path
    workspace: Workspace
    client: TestClient

    def token(self, number: int = 0) -> str:
        """Return one of the personal links."""
        return self.workspace.store.tokens()[number]

    def form(self, token: str) -> Form:
        """Return the form of a person, whose visit begins with this."""
        return self.workspace.form(self.lease(token).assignment_id)

    def lease(self, token: str):  # type: ignore[no-untyped-def]
        """Return the lease of a person."""
        store = self.workspace.store
        return lease_assignment(store, store.keyed(token), source="link", annotator_kind="human", token=token)

    def send(self, token: str, page: Page, go: str = "", **answers: str):  # type: ignore[no-untyped-def]
        """Post a page with good answers, or these."""
        fields = {q.question_id: raw_answer(q) for q in page.questions} | answers
        return self.client.post(f"/a/{token}/p/{page.page_id}{go}", data=fields, follow_redirects=False)


def build(folder: Path, text: str = STUDY) -> Path:
    path = write_study(folder, text)
    result = CliRunner().invoke(main, ["build", str(path)])
    assert result.exit_code == 0, result.output
    return path


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("study"))


def opened(path: Path, store: Path) -> Place:
    with sqlite3.connect(path.with_suffix(".sqlite")) as source, sqlite3.connect(store) as copy:
        source.backup(copy)
    source.close()
    copy.close()
    workspace = open_workspace(path, str(store))
    return Place(path, workspace, TestClient(create_app(workspace)))


@pytest.fixture
def place(built: Path, tmp_path: Path) -> Iterator[Place]:
    found = opened(built, tmp_path / "answers.sqlite")
    with found.workspace:
        yield found


def finish(place: Place, token: str) -> str:
    for page in place.form(token).pages:
        answer = place.send(token, page)
        assert answer.status_code == 303, answer.text
    return str(answer.headers["location"])


def code_on(html: str) -> str:
    (code,) = ReadPage(html).all("code")
    assert "data-completion-code" in code.attributes
    return code.text


def test_server_person_gets_own_code(place: Place) -> None:
    """A person goes through the form and gets a code of their own."""
    codes = []
    for number in range(2):
        token = place.token(number)
        assert finish(place, token) == f"/a/{token}/done"
        codes.append(code_on(place.client.post(f"/a/{token}").text))
    assert len(set(codes)) == 2
    submissions = list(place.workspace.store.submissions())
    assert [len(s.answers) for s in submissions] == [len(list(place.form(place.token()).questions("people")))] * 2
    assert all(isinstance(answer, Response) for s in submissions for answer in s.answers)
    assert {(s.annotator_kind, s.source) for s in submissions} == {("human", "link")}
    assert all(s.seconds is not None and 0 <= s.seconds < 60 for s in submissions)


def test_a_browser_without_script_gets_through(place: Place) -> None:
    token = place.token()
    form = place.form(token)
    answers = {question.question_id: raw_answer(question) for question in form.questions("people")}
    browser = TestClient(place.client.app, follow_redirects=False)
    done = visit(browser, "http://testserver", token, lambda assignment_id: (form, answers))
    assert done.completion_code is not None
    assert done.pages == len(form.pages)


def test_the_answer_is_on_disk_before_it_is_acknowledged(place: Place) -> None:
    token = place.token()
    for page in place.form(token).pages:
        if len(page.questions) > 1:
            break
        place.send(token, page)
    place.send(token, page, **{page.questions[0].question_id: "  7 0\x00"})
    with sqlite3.connect(place.workspace.store.name) as other:
        bodies = other.execute("select body from payloads").fetchall()
    other.close()
    assert json.loads(bodies[-1][0])[page.questions[0].question_id] == "  7 0\x00"


def test_a_gap_is_stored_told_and_filled(place: Place) -> None:
    token = place.token()
    form = place.form(token)
    for page in form.pages:
        if page.kind == "comparison":
            break
        place.send(token, page)
    first = page.questions[0].question_id
    answer = place.send(token, page, **{first: ""})
    assert answer.status_code == 422
    assert f'href="#{first}"' in answer.text
    assert place.client.get(f"/a/{token}/p/{page.page_id}").text.count('value="70"') == len(page.questions) - 1
    assert place.client.post(f"/a/{token}").url.path == f"/a/{token}/p/{page.page_id}"
    assert place.send(token, page, **{first: "101"}).status_code == 422
    assert place.send(token, page, **{first: "100"}).status_code == 303
    assert len(place.workspace.store.visits.payloads(place.lease(token).submission_id)) == form.pages.index(page) + 3


def test_a_reload_another_device_and_a_new_server_lose_nothing(place: Place) -> None:
    token = place.token()
    pages = place.form(token).pages
    for page in pages[:2]:
        place.send(token, page)
    again = TestClient(create_app(place.workspace))
    assert again.post(f"/a/{token}").url.path == f"/a/{token}/p/{pages[2].page_id}"
    assert "checked" in again.get(f"/a/{token}/p/{pages[0].page_id}").text


def test_server_back_keeps_entries(place: Place) -> None:
    """Back and leaving keep what was entered without pointing at gaps."""
    token = place.token()
    pages = place.form(token).pages
    for page in pages:
        if page.kind == "comparison":
            break
        place.send(token, page)
    first, *_, last = page.questions
    back = place.send(token, page, "?go=back", **{first.question_id: "35", last.question_id: ""})
    assert (back.status_code, back.headers["location"]) == (303, f"/a/{token}/p/{pages[pages.index(page) - 1].page_id}")
    assert 'value="35"' in place.client.get(f"/a/{token}/p/{page.page_id}").text
    left = place.send(token, page, "?go=stay", **{first.question_id: "36"})
    assert (left.status_code, left.content) == (204, b"")
    assert 'value="36"' in place.client.get(f"/a/{token}/p/{page.page_id}").text


def test_a_tab_shown_before_takes_nothing_from_another(place: Place) -> None:
    """Of what two tabs or devices send for a page, each question keeps what was changed last; all is kept verbatim."""
    token = place.token()
    for page in place.form(token).pages:
        if len(page.questions) > 1:
            break
        place.send(token, page)
    first, second = (question.question_id for question in page.questions[:2])
    everything = {question.question_id: "70" for question in page.questions}

    def sent(seen: int, go: str, **changed: str) -> dict[str, str]:
        answer = place.send(token, page, f"?seen={seen}&go={go}", **(dict.fromkeys(everything, "") | changed))
        assert answer.headers.get("seen") == (str(len(bodies())) if go == "stay" else None)
        return dict(bodies()[-1])

    def bodies() -> list[dict[str, str]]:
        payloads = place.workspace.store.visits.payloads(place.lease(token).submission_id)
        return [json.loads(payload.body) for payload in payloads if payload.page_id == page.page_id]

    def shown() -> str:
        return place.client.get(f"/a/{token}/p/{page.page_id}").text

    assert f'action="/a/{token}/p/{page.page_id}?seen=0"' in shown()
    assert sent(0, "on", **everything) == everything
    assert f'formaction="/a/{token}/p/{page.page_id}?seen=1&amp;go=back"' in shown()
    assert sent(0, "back") == everything  # from a tab that was shown while the page was empty
    assert [body[first] for body in bodies()] == ["70", "", "70"]
    assert sent(0, "stay", **{first: "20"}) == everything | {first: "20"}
    assert sent(1, "stay", **(everything | {second: "30"})) == everything | {first: "20", second: "30"}
    assert sent(len(bodies()), "stay")[first] == ""  # who saw it may take it away
    assert all(f'value="{value}"' not in shown() for value in ("20", "30"))


def test_a_page_to_read_counts_only_when_left_forward(place: Place) -> None:
    token = place.token()
    pages = place.form(token).pages
    for page in pages:
        if page.kind == "reading":
            break
        place.send(token, page)
    place.send(token, page, "?go=back")
    assert place.client.post(f"/a/{token}").url.path.endswith(f"/{page.page_id}")
    place.send(token, page)
    assert not place.client.post(f"/a/{token}").url.path.endswith(f"/{page.page_id}")


def test_a_page_that_lies_ahead_leads_back_and_cannot_finish(place: Place) -> None:
    token = place.token()
    pages = place.form(token).pages
    place.client.post(f"/a/{token}")
    ahead = place.client.get(f"/a/{token}/p/{pages[-1].page_id}", follow_redirects=False)
    assert (ahead.status_code, ahead.headers["location"]) == (303, f"/a/{token}/p/{pages[0].page_id}")
    assert place.send(token, pages[-1]).headers["location"] == f"/a/{token}/p/{pages[0].page_id}"
    done = place.client.get(f"/a/{token}/done", follow_redirects=False)
    assert (done.status_code, done.headers["location"]) == (303, f"/a/{token}/p/{pages[0].page_id}")
    assert list(place.workspace.store.submissions()) == []


def test_sending_twice_changes_nothing(place: Place) -> None:
    token = place.token()
    finish(place, token)
    code = code_on(place.client.get(f"/a/{token}/done").text)
    before = (
        list(place.workspace.store.submissions()),
        place.workspace.store.visits.payloads(place.lease(token).submission_id),
    )
    last = place.form(token).pages[-1]
    again = place.send(token, last, **{question.question_id: "1" for question in last.questions})
    assert (again.status_code, again.headers["location"]) == (303, f"/a/{token}/done")
    assert place.send(token, place.form(token).pages[0], "?go=stay").status_code == 204
    after = (
        list(place.workspace.store.submissions()),
        place.workspace.store.visits.payloads(place.lease(token).submission_id),
    )
    assert after == before
    assert code_on(place.client.get(f"/a/{token}/done").text) == code


def test_a_double_click_on_the_last_button_makes_one_submission(place: Place) -> None:
    token = place.token()
    *pages, last = place.form(token).pages
    for page in pages:
        place.send(token, page)
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: place.send(token, last), range(4)))
    assert {(answer.status_code, answer.headers["location"]) for answer in answers} == {(303, f"/a/{token}/done")}
    assert len(list(place.workspace.store.submissions())) == 1


def test_people_at_the_same_moment_get_assignments_of_their_own(place: Place) -> None:
    tokens = place.workspace.store.tokens()
    with ThreadPoolExecutor(6) as pool:
        served = list(pool.map(lambda token: place.client.post(f"/a/{token}").text, tokens))
    forms = [ReadPage(html).all("form")[0].attributes["data-assignment"] for html in served]
    assert sorted(forms, key=str) == [f"a{number:05d}" for number in range(1, 7)]


def test_whoever_is_not_eligible_is_stored_and_thanked(place: Place) -> None:
    token = place.token()
    for page in place.form(token).pages:
        if page.kind == "screening":
            break
        place.send(token, page)
    (question,) = page.questions
    assert isinstance(question.target, ScreeningTarget)
    answer = place.send(token, page, **{question.question_id: "No"})
    assert answer.headers["location"] == f"/a/{token}/done"
    end = place.client.post(f"/a/{token}")
    assert end.status_code == 200
    (code,) = ReadPage(end.text).all("code")
    assert "data-completion-code" not in code.attributes
    assert code.text == place.workspace.store.visits.outcome_codes("link")["screened_out"]
    (submission,) = place.workspace.store.submissions()
    given = [answer for answer in submission.answers if isinstance(answer, Response)]
    assert [answer.value for answer in given if answer.target == question.target] == ["No"]
    rest = [answer for answer in submission.answers if isinstance(answer, Missing)]
    assert {answer.reason for answer in rest} == {"screened out"}
    assert len(given) + len(rest) == len(list(place.form(token).questions("people")))


def test_a_failed_attention_check_does_not_end_the_study(place: Place) -> None:
    token = place.token()
    for page in place.form(token).pages:
        wrong = (
            {question.question_id: "table" for question in page.questions if isinstance(question.target, CheckTarget)}
            if page.kind == "check"
            else {}
        )
        assert place.send(token, page, **wrong).status_code == 303
    assert code_on(place.client.post(f"/a/{token}").text)


def test_open_link_until_no_place_is_left(place: Place) -> None:
    """The open link makes a person and ends politely when none is left."""
    assert ReadPage(place.client.get("/").text).all("form", method="post", action="/")
    for _ in range(6):
        place.client.cookies.clear()
        started = place.client.post("/")
        assert started.status_code == 200
        assert ReadPage(started.text).all("form")
    place.client.cookies.clear()
    full = place.client.post("/")
    assert full.status_code == 410
    assert "All places are taken" in full.text


def test_nobody_is_served_under_an_unknown_link(place: Place) -> None:
    for path in (
        "/a/nobody",
        "/a/%00",
        "/a/%F0%9F%98%80",
        "/a/nobody/done",
        "/a/nobody/p/p1",
        "/nowhere",
        "/static/x.css",
    ):
        answer = place.client.get(path)
        assert answer.status_code == 404
        assert "This link does not work" in answer.text
    assert list(place.workspace.store.visits.leases()) == []


def test_health(place: Place) -> None:
    answer = place.client.get("/health")
    known = {"study": "small", "fingerprint": place.workspace.store.fingerprint, "rehearsal": False}
    assert answer.json() == {"status": "ok", **known}


def test_a_head_answers_like_a_get_without_its_body(place: Place) -> None:
    token = place.token()
    for path in ("/", "/health", f"/a/{token}", f"/a/{token}/p/p1", "/a/nobody"):
        head, get = (place.client.request(method, path, follow_redirects=False) for method in ("HEAD", "GET"))
        assert (head.status_code, head.content) == (get.status_code, b"")
        assert head.headers["content-security-policy"] == get.headers["content-security-policy"]


def test_every_answer_carries_the_headers_and_no_cookie(place: Place) -> None:
    token = place.token()
    paths = ("/", "/health", f"/a/{token}", "/a/nobody", "/nowhere")
    answers = [place.client.get(path) for path in paths] + [place.client.post(f"/a/{token}/p/p1", content=b"%ff")]
    for answer in answers:
        policy = answer.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:;")
        assert "form-action 'self'; frame-ancestors 'none'; base-uri 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "same-origin"
        assert answer.headers["cache-control"] == "no-store"
        assert "set-cookie" not in answer.headers


def test_style_and_script_may_be_kept_for_ever(place: Place) -> None:
    read = ReadPage(place.client.post(f"/a/{place.token()}").text)
    style = place.client.get(str(read.all("link", rel="stylesheet")[0].attributes["href"]))
    script = place.client.get(str(read.all("script")[0].attributes["src"]))
    assert [answer.headers["content-type"] for answer in (style, script)] == [
        "text/css; charset=utf-8",
        "text/javascript; charset=utf-8",
    ]
    assert "immutable" in style.headers["cache-control"]


@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        (b"q1=yes&q1=no", FORM_TYPE, 400),
        (b"q1=%ff%fe", FORM_TYPE, 400),
        ("q1=é".encode(), FORM_TYPE, 400),
        (b"elsewhere=1", FORM_TYPE, 400),
        (b"&" * 2_000, FORM_TYPE, 400),
        (b'{"q1": "yes"}', {"content-type": "application/json"}, 415),
        (b"q1=" + b"x" * 1_000_001, FORM_TYPE, 413),
        (b"q1=" + b"x" * 900_000, FORM_TYPE, 413),  # no field of the page takes so much
        (b"q1=" + b"x" * 900, FORM_TYPE, 422),
        (b"q1=%00", FORM_TYPE, 422),
        (b"q1=%ed%a0%80", FORM_TYPE, 400),
        (b"", FORM_TYPE, 422),
    ],
)
def test_what_is_no_answer_of_ours_is_refused(place: Place, body: bytes, headers: dict[str, str], status: int) -> None:
    token = place.token()
    page = next(page for page in place.form(token).pages if page.questions)
    address = f"/a/{token}/p/{page.page_id}"
    answer = place.client.post(address, content=body, headers=headers)
    assert answer.status_code == status
    assert answer.headers["content-type"] == "text/html; charset=utf-8"


def test_server_ignores_repeated_unasked_fields(place: Place) -> None:
    """A program that repeats what no page asked for does not fill the store."""
    token = place.token()
    page = next(page for page in place.form(token).pages if page.questions)
    answers = [{"elsewhere": "1"}] * 5 + [{"elsewhere": "2"}] * 2 + [{"elsewhere": "1"}]
    for fields in answers:
        assert place.client.post(f"/a/{token}/p/{page.page_id}", data=fields).status_code == 400
    kept = place.workspace.store.visits.payloads(place.lease(token).submission_id)
    assert [json.loads(payload.body) for payload in kept] == [{"elsewhere": word} for word in ("1", "2", "1")]


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("PUT", "/", 405),
        ("POST", "/a/{token}/p/p999", 404),
        ("POST", "/a/{token}/p/p1?go=away", 400),
        ("DELETE", "/a/{token}", 405),
    ],
)
def test_a_wrong_way_of_asking_is_told(place: Place, method: str, path: str, status: int) -> None:
    place.lease(place.token())
    assert place.client.request(method, path.format(token=place.token())).status_code == status


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    st.dictionaries(
        st.one_of(st.sampled_from(["q1", "q2", "q3", "go"]), st.text(max_size=5)), st.text(max_size=40), max_size=4
    ),
    st.sampled_from(["p1", "p2", "p3", "p4", "p0", "%00", "p1%2f..", "é"]),
    st.sampled_from(["", "?go=back", "?go=stay", "?go=%00", "?go=on&go=back"]),
)
def test_nothing_that_is_sent_makes_the_server_fail(place: Place, fields: dict[str, str], page: str, go: str) -> None:
    address = f"/a/{place.token()}/p/{quote(page, safe='%')}{go}"
    answer = place.client.post(address, content=urlencode(fields), headers=FORM_TYPE, follow_redirects=False)
    assert answer.status_code < 500
    assert place.client.post(f"/a/{place.token()}").status_code == 200


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.binary(max_size=200))
def test_no_bytes_make_the_server_fail(place: Place, body: bytes) -> None:
    answer = place.client.post(f"/a/{place.token()}/p/p1", content=body, headers=FORM_TYPE, follow_redirects=False)
    assert answer.status_code < 500


def test_no_name_of_a_system_is_served(place: Place) -> None:
    token = place.token()
    for page in place.form(token).pages:
        html = place.client.get(f"/a/{token}/p/{page.page_id}").text
        assert not [name for name in ('"alpha"', ">alpha<", "beta<", "gamma<") if name in html]
        place.send(token, page)


def test_server_locked_store_saves_nothing(place: Place) -> None:
    """A store that is locked is told and nothing counts as saved."""
    token = place.token()
    page = place.form(token).pages[0]
    patient = place.workspace.store
    with Store.open(patient.name, wait=0.05) as hasty:
        object.__setattr__(place.workspace, "store", hasty)
        client = TestClient(create_app(place.workspace))
        with sqlite3.connect(patient.name, isolation_level=None) as other:
            other.execute("begin immediate")
            answer = client.post(f"/a/{token}/p/{page.page_id}", data={"q1": "yes"})
            other.execute("rollback")
        other.close()
        assert answer.status_code == 503
        assert "try again" in answer.text
        assert hasty.visits.payloads(place.lease(token).submission_id) == ()
    object.__setattr__(place.workspace, "store", patient)


def test_people_are_sent_on_where_the_study_says(tmp_path: Path) -> None:
    text = STUDY.replace("annotators = 6", 'completion_url = "https://platform.example/done?cc=C1"')
    with (found := opened(build(tmp_path, text), tmp_path / "answers.sqlite")).workspace:
        token = found.token()
        finish(found, token)
        done = found.client.get(f"/a/{token}/done", follow_redirects=False)
        assert done.headers["location"] == "https://platform.example/done?cc=C1"
        # browsers hold a form to its form-action through all redirects
        assert "form-action 'self' https://platform.example;" in done.headers["content-security-policy"]


@pytest.mark.parametrize("elsewhere", ["", 'completion_url = "https://platform.example/done?cc=C1"'])
def test_server_debriefs_at_the_end(tmp_path: Path, elsewhere: str) -> None:
    """People are debriefed when nothing can be changed any more."""
    debriefing = 'debriefing.text = "They were **programs**."'
    text = STUDY.replace("annotators = 6", elsewhere or "annotators = 2").replace("[spa]", f"{debriefing}\n[spa]")
    with (found := opened(build(tmp_path, text), tmp_path / "answers.sqlite")).workspace:
        token = found.token()
        form = found.workspace.form(found.lease(token).assignment_id)
        before = [found.client.get(f"/a/{token}/p/{page.page_id}").text for page in form.pages]
        assert not any("programs" in page for page in before)
        finish(found, token)
        told = found.client.get(f"/a/{token}/done", follow_redirects=False)
        assert (told.status_code, "They were <strong>programs</strong>." in told.text) == (200, True)
        page = read_page(told.text)
        assert (page.onward is None, page.completion_code is None) == (not elsewhere, bool(elsewhere))
        if page.onward is not None:
            left = found.client.get(page.onward, follow_redirects=False)
            assert left.headers["location"] == "https://platform.example/done?cc=C1"


def test_the_code_of_the_study_is_shown_where_it_has_one(tmp_path: Path) -> None:
    text = STUDY.replace("annotators = 6", 'annotators = 2, completion_code = "LIGHT-7"')
    with (found := opened(build(tmp_path, text), tmp_path / "answers.sqlite")).workspace:
        finish(found, found.token())
        assert code_on(found.client.get(f"/a/{found.token()}/done").text) == "LIGHT-7"


def test_images_are_served_without_a_trace_of_their_file(tmp_path: Path) -> None:
    file = tmp_path / "davinci_1.png"
    file.write_bytes(b"\x89PNG\r\n\x1a\n")
    form = small_form(image=file)
    answer = send_shown(Request({"type": "http"}), form, find_shown(form, "e2"))
    assert (answer.body, answer.media_type) == (file.read_bytes(), "image/png")
    assert "davinci" not in str(answer.headers)
    assert "last-modified" not in answer.headers
    client = TestClient(create_preview(form, load_texts("en", {})))
    assert client.get("/image/e2").headers["content-security-policy"].endswith("sandbox")
    assert client.get("/image/e1").status_code == 404  # the item text
    assert client.get("/image/davinci_1.png").status_code == 404


def test_a_preview_can_be_paged_through_without_answers() -> None:
    form = small_form()
    client = TestClient(create_preview(form, load_texts("en", {})))
    page = client.get("/")
    seen = []
    while ReadPage(page.text).all("form"):
        assert "nothing is saved" in page.text
        seen.append(ReadPage(page.text).all("form")[0].attributes["data-page"])
        page = client.post(f"/p/{seen[-1]}", data={})
    assert seen == [each.page_id for each in form.pages]
    assert client.post("/p/p3?go=back", data={}).url.path == "/p/p2"
    assert client.get("/p/p99").status_code == 404


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(main, arguments)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.output


def test_preview_writes_the_form_of_the_build_as_one_page(built: Path, place: Place, tmp_path: Path) -> None:
    out = tmp_path / "form.html"
    code, output = run("preview", str(built), "--form", "a00002", "--out", str(out))
    assert (code, output.strip()) == (
        0,
        f"wrote {out}: {len(place.workspace.form('a00002').pages)} pages of assignment a00002",
    )
    for page in place.workspace.form("a00002").pages:
        assert all(question.text in out.read_text() for question in page.questions)
    assert [path.name for path in tmp_path.glob("form*")] == ["form.html"]


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        (("preview", "--page", "p99", "--out", "x.html"), "--page expected one of p1, "),
        (("preview", "--form", "b1"), "--form expected a name such as a00001, got 'b1'"),
        (("preview", "--form", "a1"), "has no assignment 'a1'"),
        (("serve", "--store", "absent.sqlite"), "spa build"),
        (("serve", "--host", "256.1.1.1"), "cannot listen here"),
    ],
)
def test_a_mistake_is_told_in_one_line(built: Path, arguments: tuple[str, ...], wanted: str) -> None:
    command, *options = arguments
    code, output = run(command, str(built), *options)
    assert code == 1
    assert len(output.strip().splitlines()) == 1
    assert wanted in output


def test_a_port_in_use_is_told_in_one_line(built: Path) -> None:
    from spa.server.http_server import listen

    with listen("127.0.0.1", 0) as taken:
        port = taken.address.rpartition(":")[2]
        code, output = run("serve", str(built), "--port", port)
    assert code == 1
    assert f"127.0.0.1:{port}: cannot listen here (Address already in use)" in output


def test_serve_refuses_unwritable_store(built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store that cannot be written is told before anybody answers."""
    store = tmp_path / "answers.sqlite"
    opened(built, store).workspace.close()
    open_patiently = Store.open
    monkeypatch.setattr(Store, "open", lambda target, **options: open_patiently(target, **options | {"wait": 0.05}))
    with sqlite3.connect(store, isolation_level=None) as other:
        other.execute("begin immediate")
        code, output = run("serve", str(built), "--store", str(store), "--port", "0")
        other.execute("rollback")
    other.close()
    assert code == 1
    assert len(output.strip().splitlines()) == 1
    assert "locked" in output


@pytest.mark.parametrize("told", [signal.SIGINT, signal.SIGTERM])
def test_serve_prints_links_and_closes_store(built: Path, tmp_path: Path, told: signal.Signals) -> None:
    """Serve prints its links and closes its store when told to stop."""
    store, links = tmp_path / "answers.sqlite", tmp_path / "links.txt"
    with opened(built, store).workspace as workspace:
        taken = workspace.store.new_token()  # as somebody got it who came by the open link
    command = [
        str(Path(sys.executable).with_name("spa")),
        "serve",
        str(built),
        "--store",
        str(store),
        "--port",
        "0",
        "--links",
        str(links),
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as served:
        try:
            assert served.stdout is not None
            lines = [served.stdout.readline() for _ in range(4)]
            assert lines[1].startswith("open link: closed, 6 places are reserved for personal links")
            personal = links.read_text().splitlines()
            assert len(personal) == 6
            address = personal[0].partition("a/")[0]
            assert all(link.startswith(f"{address}a/") for link in personal)
            assert not any(taken in link for link in personal)
            page = httpx2.get(personal[0], follow_redirects=True, trust_env=False, timeout=patience.SECONDS)
            assert ReadPage(page.text).all("form")
            assert "server" not in page.headers
            with socket.create_connection(("127.0.0.1", urlsplit(address).port or 0)) as slow:
                slow.sendall(b"POST /x HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\nabc")  # and no more
                served.send_signal(told)
                _, errors = served.communicate(timeout=9)
        finally:
            served.kill()  # a failed assertion must not wait for a server that nobody stops
    assert (served.returncode, errors) == (0, "")
    assert not store.with_name(f"{store.name}-wal").exists()  # a copy of the one file has all
