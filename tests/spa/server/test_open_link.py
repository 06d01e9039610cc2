"""The open link beside personal links: what it leaves to them, how it is closed, and that it takes nobody twice."""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import ceil
from pathlib import Path

import pytest
from click.testing import CliRunner
from fastapi import FastAPI
from fastapi.testclient import TestClient

from spa.cli import main
from spa.commands.workspace import Workspace, open_workspace
from spa.forms.effort import estimate_effort
from spa.responses.admission import AdmissionRules, NoneLeft
from spa.responses.store import Store
from spa.server.app import create_app
from tests.spa.responses.test_store import draws
from tests.spa.small_study import STUDY, raw_answer, write_study

OPEN = "/"


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    """Return a study with six places."""
    with built(tmp_path) as opened:
        yield opened


def built(folder: Path, *links: str | Path, text: str = STUDY) -> Workspace:
    path = write_study(folder, text)
    result = CliRunner().invoke(main, ["build", str(path), *map(str, links)])
    assert result.exit_code == 0, result.output
    return open_workspace(path)


def browser(workspace: Workspace, **settings: object) -> TestClient:
    return TestClient(create_app(workspace, **settings))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("reserved", "used", "let_in"),
    [(0, 0, 6), (2, 0, 4), (6, 0, 0), (6, 2, 0), (2, 1, 4), (2, 3, 3), (1, 6, 0)],
)
def test_the_open_link_leaves_places_to_personal_links(
    workspace: Workspace, reserved: int, used: int, let_in: int
) -> None:
    links = workspace.store.tokens(personal=True)
    app = browser(workspace, reserved=reserved).app
    for token in links[:used]:
        assert TestClient(app).post(f"/a/{token}").status_code == 200
    came = [TestClient(app).post(OPEN).status_code for _ in range(19)]
    assert came == [200] * let_in + [410] * (19 - let_in)
    later = [TestClient(app).post(f"/a/{token}").status_code for token in links[used:]]
    left = 6 - used - let_in
    assert later == [200] * left + [410] * (6 - used - left)
    assert left >= min(reserved - used, 6 - used)


def test_open_link_reserves_places_per_assignment(database: str) -> None:
    """Places are reserved where several people answer an assignment."""
    rules = AdmissionRules(per_assignment=2, reserved=3)
    with Store.create(database) as store:
        store.assignments.save("fingerprint", draws(3), seed=3)
        for _ in range(3):
            store.visits.admit_link(store.new_token(), now=0, rules=rules)
        late = store.new_token()
        with pytest.raises(NoneLeft, match="3 places left are reserved"):
            store.visits.admit_link(late, now=0, rules=rules)
        assert store.visits.admit(
            source="prolific", person="ada", now=0, rules=rules
        ).seat  # a platform's person is promised
        first, *_ = store.tokens(personal=True)
        assert store.visits.admit_link(first, now=0, rules=rules).seat


@pytest.mark.parametrize("closed_by", ["option", "study file"])
def test_the_open_link_can_be_closed(tmp_path: Path, closed_by: str) -> None:
    key = "annotators = 6, links_only = true"
    text = STUDY.replace("annotators = 6", key) if closed_by == "study file" else STUDY
    with built(tmp_path, text=text) as workspace:
        client = browser(workspace, links_only=closed_by == "option")
        before = workspace.store.tokens()
        assert [client.get(OPEN).status_code, client.post(OPEN).status_code] == [404, 404]
        assert workspace.store.tokens() == before
        assert client.post(f"/a/{before[0]}").status_code == 200
        assert not client.cookies


@pytest.mark.parametrize("first", ["open link", "personal link"])
def test_open_link_same_browser_same_assignment(workspace: Workspace, first: str) -> None:
    """The same browser gets one assignment and another device the same."""
    client = browser(workspace)
    mine = workspace.store.tokens()[0]
    began = client.post(OPEN) if first == "open link" else client.post(f"/a/{mine}")
    again = client.post(OPEN)
    assert again.url == began.url
    assert len(list(workspace.store.visits.of_people())) == 1
    elsewhere = TestClient(client.app).get(str(began.url.path).partition("/p/")[0])
    assert elsewhere.url == began.url
    assert len(list(workspace.store.visits.of_people())) == 1
    assert TestClient(client.app).post(OPEN).url != began.url  # another browser is another person
    client.cookies.clear()
    cookie = TestClient(create_app(workspace, public_url="https://x.example"), follow_redirects=False).post(
        f"/a/{mine}"
    )
    assert re.search("(?i)httponly.*samesite=strict.*secure", cookie.headers["set-cookie"])


@pytest.mark.parametrize("repeat", [False, True])
def test_open_link_takes_people_again(tmp_path: Path, repeat: bool) -> None:
    """A browser begins anew where the study takes people again."""
    key = f"annotators = 6, repeat = {str(repeat).lower()}"
    with built(tmp_path, text=STUDY.replace("annotators = 6", key)) as workspace:
        client = browser(workspace)
        began = client.post(OPEN)
        (visit,) = workspace.store.visits.of_people()
        for page in workspace.form(visit.assignment_id).pages:
            fields = {question.question_id: raw_answer(question) for question in page.questions}
            client.post(f"{began.url.path.partition('/p/')[0]}/p/{page.page_id}", data=fields)
        assert client.post(OPEN).url.path.endswith("/done") != repeat
        assert len(list(workspace.store.visits.of_people())) == 1 + repeat


@pytest.mark.parametrize("cookie", ["nobody", "\x7f", "x" * 5000, "é"])
def test_a_strange_cookie_is_that_of_nobody(workspace: Workspace, cookie: str) -> None:
    client = browser(workspace)
    client.post(f"/a/{workspace.store.tokens()[0]}")
    ((name, _),) = client.cookies.items()
    started = TestClient(client.app).post(OPEN, headers=[(b"cookie", f"{name}={cookie}".encode())])  # type: ignore[arg-type]
    assert started.status_code == 200


@pytest.mark.parametrize(
    ("built_with", "served_with", "said", "statuses"),
    [
        ([], [], "open link: http", [200] * 6 + [410]),
        (["--links", "l.txt"], [], "6 places are reserved for personal links; --reserve N changes that", [410] * 7),
        ([], ["--links", "l.txt"], "6 places are reserved", [410] * 7),
        (["--links", "l.txt"], ["--reserve", "0"], "open link: http", [200] * 6 + [410]),
        ([], ["--reserve", "2"], "2 places are reserved", [200] * 4 + [410] * 3),
        ([], ["--reserve", "7"], "--reserve: expected at most 6, the personal links of", []),
        (["--links", "l.txt"], ["--links-only"], "open link: closed, personal links only", [404] * 7),
    ],
)
def test_what_serve_says_and_keeps(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    built_with: list[str],
    served_with: list[str],
    said: str,
    statuses: list[int],
) -> None:
    monkeypatch.chdir(tmp_path)
    came: list[int] = []

    def visit(app: FastAPI, *listener: object, **settings: object) -> None:
        came.extend(TestClient(app).post(OPEN).status_code for _ in range(7))

    monkeypatch.setattr("spa.server.http_server.run", visit)
    built(tmp_path, *built_with).close()
    result = CliRunner().invoke(main, ["serve", str(tmp_path / "study.toml"), "--port", "0", *served_with])
    assert said in result.output
    assert ("reserved for" in result.output) == (0 < statuses.count(410) - 1)
    assert came == statuses


@pytest.mark.parametrize("own", [None, 7.5])
def test_the_first_page_says_how_long_the_form_takes(tmp_path: Path, own: float | None) -> None:
    minutes = "" if own is None else f"minutes = {own}, "
    with built(tmp_path, text=STUDY.replace("annotators", f"{minutes}annotators")) as workspace:
        form = workspace.form(workspace.store.assignments.ids()[0])
        expected = f"about {ceil(own or estimate_effort(form).minutes)} min<"
        client = browser(workspace)
        assert expected in client.get("/").text
        first = client.post(OPEN)
        assert expected in first.text
        second = f"{str(first.url).rpartition('/')[0]}/{form.pages[1].page_id}"
        client.post(str(first.url), data={one.question_id: raw_answer(one) for one in form.pages[0].questions})
        assert " min<" not in client.get(second).text


def test_server_failure_in_study_language(tmp_path: Path) -> None:
    """A failure of the server is told in the language of the study."""

    def mount(app: FastAPI, context: object) -> None:
        @app.get("/broken")
        def broken() -> None:
            raise RuntimeError("secret")

    with built(tmp_path, text=f'language = "zh"\n{STUDY}') as workspace:
        client = TestClient(create_app(workspace, adapters=[mount]), raise_server_exceptions=False)
        answer = client.get("/broken")
    assert answer.status_code == 500
    assert workspace.texts.say("page.unavailable_title") in answer.text
    assert "secret" not in answer.text
