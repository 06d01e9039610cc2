"""Whatever a visitor meets outside the form is said in the language of the study."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from spa.commands.workspace import Workspace
from spa.errors import ResponseError
from spa.server.app import create_app
from spa.server.form_posts import LARGEST_BODY
from spa.server.rate_limits import Limits, Rate
from spa.server.survey_context import SurveyContext
from tests.spa.responses.test_reading import READ, opened
from tests.spa.served_pages import ReadPage
from tests.spa.small_study import STUDY, raw_answer

TITLE = "دراسة صغيرة"
LATIN = re.compile(r"[A-Za-z]{2,}")
Ask = Callable[[TestClient, str, Workspace], Any]


def in_arabic(text: str) -> str:
    """Return a study in Arabic, its own words included."""
    before, _, after = text.replace('"A small study"', f'"{TITLE}"').partition("\nseed")
    return f'{before}\nlanguage = "ar"\nconsent.text = "شارك بحرية."\nseed{after}'


def finished(client: TestClient, token: str, workspace: Workspace) -> Any:
    lease = workspace.store.visits.of_token(token)
    assert lease is not None
    for page in workspace.form(lease.assignment_id).pages:
        fields = {question.question_id: raw_answer(question) for question in page.questions}
        client.post(f"/a/{token}/p/{page.page_id}", data=fields, follow_redirects=False)
    return client.get(f"/a/{token}/done")


def declined(client: TestClient, token: str, workspace: Workspace) -> Any:
    return client.post(f"/a/{token}/p/p1?go=decline")


def screened_out(client: TestClient, token: str, workspace: Workspace) -> Any:
    client.post(f"/a/{token}/p/p1", data={"q1": "yes"})
    return client.post(f"/a/{token}/p/p2", data={"q2": "No"})


def late(client: TestClient, token: str, workspace: Workspace) -> Any:
    lease = workspace.store.visits.of_token(token)
    assert lease is not None
    workspace.store.visits.release(lease.submission_id, reason="returned", now=1.0)
    return client.post(f"/a/{token}")


def full(client: TestClient, token: str, workspace: Workspace) -> Any:
    for other in workspace.store.tokens()[1:]:
        client.post(f"/a/{other}")
    client.cookies.clear()
    return client.post("/")


def busy(client: TestClient, token: str, workspace: Workspace) -> Any:
    for _ in range(9):
        answer = client.post(f"/a/{token}")
    return answer


PLACES: dict[str, tuple[int, Ask]] = {
    "start": (200, lambda client, token, workspace: client.get("/")),
    "done": (200, finished),
    "declined": (200, declined),
    "screened": (200, screened_out),
    "unknown link": (404, lambda client, token, workspace: client.get("/a/nobody")),
    "unknown page": (404, lambda client, token, workspace: client.get(f"/a/{token}/p/p999")),
    "unknown address": (404, lambda client, token, workspace: client.get("/admin")),
    "another method": (405, lambda client, token, workspace: client.put(f"/a/{token}")),
    "foreign fields": (400, lambda client, token, workspace: client.post(f"/a/{token}/p/p1", data={"zz": "1"})),
    "a file": (415, lambda client, token, workspace: client.post(f"/a/{token}/p/p1", files={"q1": b"x"})),
    "too large": (
        413,
        lambda client, token, workspace: client.post(f"/a/{token}/p/p1", data={"q1": "x" * LARGEST_BODY}),
    ),
    "another site": (
        403,
        lambda client, token, workspace: client.post(f"/a/{token}/p/p1", headers={"sec-fetch-site": "cross-site"}),
    ),
    "gone": (410, late),
    "full": (410, full),
    "busy": (429, busy),
}


@pytest.mark.parametrize("place", PLACES)
def test_notice_pages_in_study_language(tmp_path: Path, place: str) -> None:
    """Every page outside the form is in the language of the study."""
    status, ask = PLACES[place]
    limits = Limits(requests=Rate(burst=5, a_second=0.001)) if place == "busy" else None
    with opened(tmp_path, in_arabic(STUDY)) as workspace:
        client = TestClient(create_app(workspace, limits=limits))
        token = workspace.store.tokens()[0]
        client.post(f"/a/{token}")
        answer = ask(client, token, workspace)
        assert answer.status_code == status
        assert_arabic(answer.text)


def test_missing_answers_listed_in_study_language(tmp_path: Path) -> None:
    """What is missing on a page is listed in the language of the study."""
    with opened(tmp_path, in_arabic(READ)) as workspace:
        client = TestClient(create_app(workspace))
        token = workspace.store.tokens()[0]
        client.post(f"/a/{token}")
        answer = client.post(f"/a/{token}/p/p1")
        assert answer.status_code == 422
        assert_arabic(answer.text)


@pytest.mark.parametrize(("error", "status"), [(ResponseError("locked"), 503), (RuntimeError("a mistake"), 500)])
def test_a_failure_is_explained_in_the_language_of_the_study(tmp_path: Path, error: Exception, status: int) -> None:
    def mount(app: FastAPI, context: SurveyContext) -> None:
        @app.get("/fail")
        def fail() -> None:
            raise error

    with opened(tmp_path, in_arabic(STUDY)) as workspace:
        client = TestClient(create_app(workspace, adapters=[mount]), raise_server_exceptions=False)
        answer = client.get("/fail")
        assert answer.status_code == status
        assert_arabic(answer.text)


def assert_arabic(html: str) -> None:
    page = ReadPage(html)
    (root,) = page.all("html")
    assert (root.attributes["lang"], root.attributes["dir"]) == ("ar", "rtl")
    said = re.sub(r"<code.*?</code>|<script.*?</script>|<style.*?</style>", "", html, flags=re.DOTALL)
    assert not LATIN.findall(re.sub(r"<[^>]*>", " ", said).replace("&#34;", ""))
