"""A visitor reads what is served and sends what a browser would: against the real server, and against broken ones."""

from __future__ import annotations

import html
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from urllib.parse import parse_qs

import httpx2
import numpy as np
import pytest

from spa.commands.simulate import annotators_by_link, reserve_links
from spa.commands.workspace import Workspace, open_workspace
from spa.errors import ResponseError
from spa.records.form import Form, Page
from spa.records.people import People
from spa.records.submission import Response
from spa.server.app import create_app
from spa.server.http_server import serve_on_loopback
from spa.simulation.simulated_annotators import SimulatedAnnotator, Temperament
from spa.simulation.simulated_endpoint import assignment_rng
from spa.simulation.survey_client import fill_in, read_page, visit, visit_all
from spa.simulation.true_utilities import TrueUtilities
from spa.widgets import NumberAnswer, OptionsAnswer
from tests.spa.hand_made import hand_made
from tests.spa.rehearsed import built_example

BASE = "http://survey.example"
TRUTH = TrueUtilities(utilities={"good": 0.5, "poor": -0.5})
FORM, KEY = hand_made()
ANSWERS = SimulatedAnnotator(TRUTH, rng=np.random.default_rng(0)).answers(FORM, KEY)


def controls(page: Page) -> str:
    """Write the fields of a page as plain HTML."""
    found = ""
    for question in page.questions:
        name, answer = question.question_id, question.answer
        if isinstance(answer, NumberAnswer):
            found += f'<input type="number" name="{name}">'
        elif isinstance(answer, OptionsAnswer):
            found += "".join(
                f'<input type="radio" name="{name}" value="{html.escape(option.value)}">' for option in answer.options
            )
        else:
            found += f'<input type="checkbox" name="{name}" value="yes"/>'
    return found


def page_html(page: Page, fields: str | None = None) -> str:
    inside = controls(page) if fields is None else fields
    return (
        '<form><input name="search"></form>'
        f'<form method="post" action="/a/t/p/{page.page_id}" data-assignment="a00001" data-page="{page.page_id}">'
        f'<input type="hidden" name="shown" value="{page.page_id}&amp;1"><input type="radio" form="view" name="view">'
        f'{inside}<button type="submit" name="go">Next</button></form>'
    )


def client_of(handler: Callable[[httpx2.Request], httpx2.Response]) -> httpx2.Client:
    return httpx2.Client(transport=httpx2.MockTransport(handler))


def walk(sent: dict[str, dict[str, list[str]]], end: httpx2.Response) -> Callable[[httpx2.Request], httpx2.Response]:
    """Serve the pages of the hand-made form one after the other."""
    order = [page.page_id for page in FORM.pages]

    def handle(request: httpx2.Request) -> httpx2.Response:
        last = request.url.path.rpartition("/")[2]
        if request.method == "POST":
            sent[last] = parse_qs(request.content.decode())
            place = order.index(last) + 1
            target = f"/a/t/p/{order[place]}" if place < len(order) else "/a/t/done"
            return httpx2.Response(303, headers={"location": target})
        if last == "done":
            return end
        page = FORM.pages[0] if last == "t" else FORM.pages[order.index(last)]
        return httpx2.Response(200, text=page_html(page))

    return handle


def test_a_visit_sends_every_page_as_a_browser_would() -> None:
    sent: dict[str, dict[str, list[str]]] = {}
    end = httpx2.Response(200, text="<p>Thanks</p><code data-completion-code>AB12</code>")
    with closing(client_of(walk(sent, end))) as client:
        found = visit(client, BASE, "t", lambda assignment_id: (FORM, ANSWERS))
    assert (found.completion_code, found.pages, found.assignment_id) == ("AB12", len(FORM.pages), "a00001")
    assert {name: values[0] for page in sent.values() for name, values in page.items() if name != "shown"} == ANSWERS
    assert all(fields["shown"] == [f"{page_id}&1"] for page_id, fields in sent.items())


def test_a_visit_never_leaves_the_server() -> None:
    end = httpx2.Response(303, headers={"location": "https://platform.example/done?code=X"})
    with closing(client_of(walk({}, end))) as client:
        assert visit(client, BASE, "t", lambda assignment_id: (FORM, ANSWERS)).completion_code is None


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ("", "the page does not ask what the form asks"),
        ('<input type="number" name="q3"><input type="number" name="q4"><input name="email">', "got q3, q4, email"),
        ('<input type="number" name="q3"><textarea name="q9"></textarea>', "got q3, q9"),
        (
            '<input type="number" name="q3"><select name="q4"><option value="1"></select>',
            "q4: expected the values None",
        ),
    ],
)
def test_a_page_that_asks_something_else_is_found_out(fields: str, problem: str) -> None:
    page = next(page for page in FORM.pages if page.kind == "comparison")
    assert [question.question_id for question in page.questions] == ["q3", "q4"]
    shown = read_page(page_html(page, fields)).form
    assert shown is not None
    with pytest.raises(ResponseError, match=problem):
        fill_in(shown, FORM, ANSWERS)


def test_options_that_differ_from_the_form_are_found_out() -> None:
    page = next(page for page in FORM.pages if page.kind == "choice")
    shown = read_page(page_html(page).replace('value="tie"', 'value="both"')).form
    assert shown is not None
    with pytest.raises(ResponseError, match="'tie'"):
        fill_in(shown, FORM, ANSWERS)


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (httpx2.Response(404), "status 404"),
        (httpx2.Response(200, text="<p>nothing here</p>"), "without one"),
        (httpx2.Response(302, headers={"location": "/a/t"}), "more than 10 redirects"),
        (httpx2.Response(200, text=page_html(FORM.pages[0]).replace("a00001", "a00002")), "a00002"),
        (httpx2.Response(200, text=page_html(FORM.pages[0]).replace("/a/t/p", "http://evil.example")), "evil.example"),
    ],
)
def test_simulated_visits_of_another_server(answer: httpx2.Response, problem: str) -> None:
    """A server that does not serve the form is told in one line."""
    with closing(client_of(lambda request: answer)) as client, pytest.raises(ResponseError, match=problem) as caught:
        visit(client, BASE, "t", lambda assignment_id: (FORM, ANSWERS))
    assert len(caught.value.problems) == 1


def test_a_refused_page_and_a_circle_end_the_visit() -> None:
    first = page_html(FORM.pages[0])

    def refusing(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(422 if request.method == "POST" else 200, text=first)

    def circling(request: httpx2.Request) -> httpx2.Response:
        if request.method == "POST":
            return httpx2.Response(303, headers={"location": "/a/t"})
        return httpx2.Response(200, text=first)

    for handler, problem in ((refusing, "list of gaps"), (circling, "in circles")):
        with closing(client_of(handler)) as client, pytest.raises(ResponseError, match=problem):
            visit(client, BASE, "t", lambda assignment_id: (FORM, ANSWERS))


def test_an_absent_server_is_told_in_one_line() -> None:
    with pytest.raises(ResponseError, match=r"127\.0\.0\.1:9: expected the survey server's page"):
        visit_all("http://127.0.0.1:9", ["t"], lambda token: lambda assignment_id: (FORM, ANSWERS))


@pytest.fixture(scope="module")
def visited(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """Return the example study after six simulated annotators have answered on the real server."""
    study = built_example(tmp_path_factory.mktemp("visited"), annotators=6)
    workspace = open_workspace(study)
    truth = TrueUtilities(utilities={system.id: 0.0 for system in workspace.study.systems})
    temperament = SimulatedAnnotator(truth, rng=np.random.default_rng(0)).temperament
    answer = annotators_by_link(workspace, truth, temperament, seed=1)
    app = create_app(workspace, annotator_kind="simulated", source="simulated")
    with serve_on_loopback(app) as address:
        tokens = reserve_links(workspace.store, 5)
        visit_all(address, tokens, answer, threads=3)
        assert reserve_links(workspace.store, 5) == []
        last = visit_all(address, reserve_links(workspace.store, None), answer)
    assert [found.pages for found in last] == [len(workspace.form("a00006").pages)]
    return workspace


def test_what_was_sent_is_what_the_store_holds(visited: Workspace) -> None:
    with visited.store as store:
        submissions = list(store.submissions())
        assert {(one.annotator_kind, one.source) for one in submissions} == {("simulated", "simulated")}
        assert sorted(one.assignment_id for one in submissions) == [f"a{number:05}" for number in range(1, 7)]
        for submission in submissions:
            form: Form = visited.form(submission.assignment_id)
            truth = TrueUtilities(utilities={system.id: 0.0 for system in visited.study.systems})
            again = SimulatedAnnotator(truth, rng=assignment_rng(1, submission.assignment_id))
            wanted = again.answers(form, store.assignments.key(submission.assignment_id))
            assert all(isinstance(answer, Response) for answer in submission.answers)
            assert {answer.question_id: answer.raw for answer in submission.answers} == wanted


def test_simulated_visits_more_than_free_assignments(tmp_path: Path) -> None:
    """More annotators than free assignments is a mistake that books nothing."""
    with open_workspace(built_example(tmp_path, annotators=3)) as workspace:
        with pytest.raises(ResponseError, match="expected 4 free assignments"):
            reserve_links(workspace.store, 4)
        assert list(workspace.store.visits.leases()) == []


def test_simulated_visits_follow_the_seed(tmp_path: Path) -> None:
    """Annotators of one assignment differ and each comes again with the seed."""
    people = People(annotators=6, per_assignment=3)
    truth = TrueUtilities(utilities={"salad": -1, "parrot": -0.5, "formula": 0, "novelist": 0.5})
    runs: list[dict[tuple[str, str | None], tuple[str, ...]]] = []
    for folder in ("once", "again"):
        (tmp_path / folder).mkdir()
        with open_workspace(built_example(tmp_path / folder, annotators=2)) as workspace:
            annotator_of = annotators_by_link(workspace, truth, Temperament(), seed=1)
            answers = {}
            for token in reserve_links(workspace.store, None, people):
                lease = workspace.store.visits.of_token(token)
                assert lease is not None
                answers[lease.assignment_id, lease.seat] = tuple(annotator_of(token)(lease.assignment_id)[1].values())
            runs.append(answers)
    assert runs[0] == runs[1]
    assert len(runs[0]) == len(set(runs[0].values())) == 6
