"""The survey server: people go their way through a form, and what is acknowledged is on disk."""

from __future__ import annotations

import json
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from fastapi import Request
from fastapi.testclient import TestClient

from spa.forms.texts import load_texts
from spa.records.form import CheckTarget, ScreeningTarget
from spa.records.submission import Missing, Response
from spa.responses.store import Store
from spa.server.app import create_app
from spa.server.page_responses import find_shown, send_shown
from spa.server.preview import create_preview
from spa.simulation.survey_client import read_page, visit
from tests.spa.served_pages import ReadPage
from tests.spa.server.served_study import Place, build, code_on, finish, opened
from tests.spa.server.served_study import built as built
from tests.spa.server.served_study import place as place
from tests.spa.small_study import STUDY, raw_answer
from tests.spa.web_forms import small_form


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
    seen, were = len(bodies()), bodies()[-1]
    assert sent(seen, "stay", **(were | {first: "25"}))[first] == "25"
    assert sent(seen, "stay", **(were | {second: "40"})) == were | {first: "25", second: "40"}  # shown with 20 and 30
    once = len(bodies()) + 1
    blank = dict.fromkeys(everything, "")
    assert place.send(token, page, "?seen=0&go=stay", **blank, unknown="x").status_code == 400
    assert len(bodies()) == once  # what is no form of ours is kept alone
    assert sent(len(bodies()), "stay")[first] == ""  # who saw it may take it away
    assert all(f'value="{value}"' not in shown() for value in ("20", "25", "30", "40"))


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
