"""The survey server's door for annotators who come from a HIT, as their browser and as others use it."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager

import httpx2
import polars as pl
import pytest
from click.testing import CliRunner
from fastapi.testclient import TestClient

from mturk import records
from mturk.records import RECEIPT_FIELD, make_receipt
from mturk.routes import mount
from spa.cli import main
from spa.responses.admission import SecondVisit
from spa.responses.study_families import StudyFamily
from spa.server.app import create_app
from spa.server.http_server import serve_on_loopback
from spa.server.rate_limits import Limits
from spa.simulation.survey_client import read_page
from tests.mturk.studies import STUDY, Bench, answer_to, make_bench
from tests.reading_evidence import evidence_of

SITE = "https://frames.example.org"
EXTERNAL = '[mturk]\nform = "external"\npublic_url = "https://survey.example.org"\n'


@pytest.fixture
def external(bench: Bench) -> Bench:
    """Return the study published as HITs that show the survey server."""
    text = STUDY.replace("ANNOTATORS", "3").replace("[mturk]", f'{EXTERNAL}worker_sites = ["{SITE}"]')
    folder = bench.study.parent / "external"
    folder.mkdir()
    other = make_bench(folder, bench.emulator, text=text)
    other.run("publish", "--yes")
    return other


@contextmanager
def visited(bench: Bench, *, ago: float = 0.0) -> Iterator[httpx2.Client]:
    """Serve the study, some seconds ago, and yield a browser."""
    with (
        bench.open() as workspace,
        serve_on_loopback(create_app(workspace, adapters=[mount], clock=lambda: time.time() - ago)) as url,
        httpx2.Client(base_url=url, timeout=60) as client,
    ):
        yield client


def finish(bench: Bench, client: httpx2.Client, **changes: str) -> dict[str, str]:
    """Answer everything in a frame with this address; returns what its last page hands in."""
    shown = client.post("/hit", params=address(bench, **changes), follow_redirects=True)
    token = shown.url.path.split("/")[2]
    with bench.open() as workspace:
        lease = workspace.store.visits.of_token(token)
        assert lease is not None
        form = workspace.form(lease.assignment_id)
    for page in form.pages:
        fields = {question.question_id: answer_to(question) for question in page.questions} | evidence_of(page)
        shown = client.post(f"/a/{token}/p/{page.page_id}", data=fields, follow_redirects=True)
    return dict(re.findall(r'name="([^"]*)" value="([^"]*)"', shown.text))


def people_of(bench: Bench) -> tuple[list[str], list[str]]:
    """Return what the exported annotators' visits were, and the places that ``spa status`` calls done."""
    folder = bench.study.parent / "tables"
    assert CliRunner().invoke(main, ["export", str(bench.study), "--out", str(folder)]).exit_code == 0
    visits = pl.read_csv(folder / "preferences.csv").unique("annotator_id")["visit"].to_list()
    told = json.loads(CliRunner().invoke(main, ["status", str(bench.study), "--json"]).stdout)
    return visits, [told["completed"], told["free"]]


def address(bench: Bench, **changes: str) -> dict[str, str]:
    [hit] = bench.hits()
    return {"assignmentId": "3ASSIGNED", "hitId": hit["HITId"], "workerId": "AWORKER", "turkSubmitTo": SITE, **changes}


def test_a_preview_shows_everything_and_allocates_nothing(external: Bench) -> None:
    with visited(external) as client:
        for given in ({}, {"assignmentId": "ASSIGNMENT_ID_NOT_AVAILABLE", "hitId": "X"}):
            shown = client.post("/hit", params=given)
            assert shown.status_code == 200
            assert "How good is this text" in shown.text
            assert f"frame-ancestors {external.emulator.url} {SITE}" in shown.headers["content-security-policy"]
    with external.open() as workspace:
        assert list(workspace.store.visits.of_people()) == []


@pytest.mark.parametrize(
    "changes",
    [
        {"hitId": "3OTHER"},
        {"hitId": "x' OR 1=1"},
        {"workerId": "WORKER"},
        {"workerId": "A<script>"},
        {"turkSubmitTo": "https://evil.example.org"},
        {"turkSubmitTo": "https://frames.example.org@evil.example.org"},
        {"turkSubmitTo": "javascript:alert(1)"},
        {"turkSubmitTo": ""},
    ],
)
def test_an_address_that_is_not_ours_gets_no_form(external: Bench, changes: dict[str, str]) -> None:
    with visited(external) as client:
        assert client.post("/hit", params=address(external, **changes)).status_code in (403, 404)
    with external.open() as workspace:
        assert list(workspace.store.visits.of_people()) == []


def test_frame_address_takes_no_place(external: Bench) -> None:
    """A look at the frame's address takes no place and its button keeps the address."""
    with visited(external) as client:
        for method in ("GET", "HEAD"):
            shown = client.request(method, "/hit", params=address(external))
            assert shown.status_code == 200
            with external.open() as workspace:
                assert list(workspace.store.visits.of_people()) == []
        begin = read_page(client.get("/hit", params=address(external)).text).begin
        assert begin is not None
        first = client.post(begin).headers["location"]  # without a cookie, which a frame of another site does not keep
        assert "set-cookie" not in client.post(begin).headers
        assert client.get("/hit", params=address(external)).headers["location"] == first


def test_hit_address_leads_back_to_its_visit(external: Bench) -> None:
    """An annotator is let in once and the same address leads back."""
    with visited(external) as client:
        first = client.post("/hit", params=address(external)).headers["location"]
        assert client.post("/hit", params=address(external)).headers["location"] == first
    with external.open() as workspace:
        [visit] = workspace.store.visits.of_people("mturk")
        claim = records.find_claim(workspace.store, str(visit.external_id))
        assert claim is not None
        assert (visit.person, claim.mturk_assignment_id, claim.submit_to) == ("AWORKER", "3ASSIGNED", SITE)
        assert make_receipt(workspace.store, visit.submission_id) != make_receipt(workspace.store, "another")


def test_hits_count_only_with_a_submission(external: Bench) -> None:
    """A worker invents three assignments and two people and answers everything; an honest one comes after."""
    honest = external.emulator.workers(1, country="US")[0]
    [hit] = external.hits()
    work = external.emulator.accept(honest, hit["HITId"])
    with visited(external, ago=7200) as client:  # longer than the HIT may be held
        for number, person in enumerate(("AFALSE", honest, "AFALSE")):
            assert finish(external, client, assignmentId=f"3INVENTED{number}", workerId=person)
    assert people_of(external) == ([], [0, 0])
    with visited(external) as client:
        sent = finish(external, client, assignmentId=work, workerId=honest)
        assert sent["assignmentId"] == work
    external.emulator.submit(honest, work, **sent)
    assert people_of(external) == ([], [0, 0])
    told = external.run("collect").stdout
    assert "3 visits were completed on the survey server but not submitted" in told
    assert "1 new submissions in 1 HITs, 0 with a problem" in told
    assert people_of(external) == (["completed"], [1, 2])
    assert external.json("collect")["unsubmitted"] == 0
    with external.open() as workspace:
        assert [visit.external_id for visit in workspace.store.visits.of_people("mturk") if visit.completed] == [work]
        assert sum(visit.extra for visit in workspace.store.visits.of_people("mturk")) == 3
    with visited(external) as client:  # known now, so another assignment is not theirs to begin
        assert client.post("/hit", params=address(external, assignmentId="3MORE", workerId=honest)).status_code == 403


@pytest.mark.parametrize(
    ("visit", "receipt", "reason"),
    [
        ("none", None, "submitted without a visit to the survey server"),
        ("open", None, "submitted before the form was finished"),
        ("finished", None, "the form is finished, but what was submitted is not its receipt"),
        ("finished", "another", "the form is finished, but what was submitted is not its receipt"),
    ],
)
def test_hits_doubtful_submission_is_looked_at(external: Bench, visit: str, receipt: str | None, reason: str) -> None:
    """A submission that its visit does not bear out is looked at."""
    worker = external.emulator.workers(1, country="US")[0]
    work = external.emulator.accept(worker, external.hits()[0]["HITId"])
    with visited(external) as client:
        if visit == "open":
            client.post("/hit", params=address(external, assignmentId=work, workerId=worker))
        elif visit == "finished":
            finish(external, client, assignmentId=work, workerId=worker)
    external.emulator.submit(worker, work, **({} if receipt is None else {RECEIPT_FIELD: receipt}))
    assert external.json("collect")["problems"] == 1
    assert external.json("approve")["left"] == {work: reason}


def test_false_hit_address_locks_nobody_out(external: Bench) -> None:
    """The same worker with an invented assignment, and the same assignment with an invented worker, both first."""
    with visited(external) as client:
        false = [
            client.post("/hit", params=address(external, **changes)).headers["location"]
            for changes in ({"assignmentId": "3INVENTED"}, {"workerId": "AFALSE"})
        ]
        finish(external, client, assignmentId="3INVENTED2")
        true = client.post("/hit", params=address(external))
        assert true.status_code == 303
        assert true.headers["location"] not in false
        for number in range(3):  # and every assignment was had under this worker's name
            client.post("/hit", params=address(external, assignmentId=f"3AGAIN{number}"))
        assert client.post("/hit", params=address(external)).headers["location"] == true.headers["location"]


def test_a_visit_that_may_still_be_submitted_keeps_its_place(external: Bench) -> None:
    with visited(external) as client:
        finish(external, client)
    assert external.json("collect")["unsubmitted"] == 0
    assert people_of(external) == ([], [0, 2])


def test_a_claim_keeps_nobody_from_another_study_of_the_family(external: Bench) -> None:
    text = external.study.read_text().replace("[people]", '[people]\nfamily = "f"\nfamily_store = "family.sqlite"')
    external.study.write_text(text)
    honest = external.emulator.workers(1, country="US")[0]
    work = external.emulator.accept(honest, external.hits()[0]["HITId"])
    with external.open() as workspace:
        other = StudyFamily(str(workspace.study.people.family_store), family="f", study="other")
    with other, visited(external) as client:
        sent = finish(external, client, assignmentId=work, workerId=honest)
        other.refuse_others("mturk", honest)
        external.emulator.submit(honest, work, **sent)
        external.run("collect")
        with pytest.raises(SecondVisit):
            other.refuse_others("mturk", honest)


def test_server_started_before_publishing_may_be_framed(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server started before publishing may be framed when HITs are there."""
    monkeypatch.delenv("MTURK_ENDPOINT_URL")
    folder = bench.study.parent / "external"
    folder.mkdir()
    text = STUDY.replace("ANNOTATORS", "3").replace("[mturk]", EXTERNAL)
    other = make_bench(folder, bench.emulator, text=text)
    with visited(other) as client:
        assert "frame-ancestors 'none'" in client.get("/hit").headers["content-security-policy"]
        monkeypatch.setenv("MTURK_ENDPOINT_URL", bench.emulator.url)
        other.run("publish", "--yes")
        given = address(other, turkSubmitTo=bench.emulator.url)
        for shown in (client.get("/hit"), client.post("/hit", params=given, follow_redirects=True)):
            policy = shown.headers["content-security-policy"]
            assert f"frame-ancestors {bench.emulator.url}" in policy
        assert f"form-action 'self' {bench.emulator.url}" in policy


def test_one_address_block_makes_few_visits_of_a_hit_up(external: Bench) -> None:
    """The protocol has no way to ask who holds an assignment, so whoever invents some is held off by address."""
    now = time.time()  # stands still, or a slow machine would let more in
    with external.open() as workspace:
        app = create_app(workspace, adapters=[mount], clock=lambda: now)

        def press(peer: str, number: int) -> int:
            client = TestClient(app, client=(peer, 1), follow_redirects=False)
            invented = {"assignmentId": f"INVENTED{number}", "workerId": f"AINVENTED{number}"}
            return int(client.post("/hit", params=address(external, **invented)).status_code)

        came = [press("198.51.100.7", number) for number in range(40)]
        assert came.count(429) == 36
        assert press("198.51.100.7", 0) == 303, "who has a visit goes on"
        assert press("203.0.113.7", 41) in (303, 410)
        limits = Limits.of_new_visits(900)  # for a class at one address
        app = create_app(workspace, adapters=[mount], clock=lambda: now, limits=limits)
        assert [press("198.51.100.7", 50 + number) for number in range(40)].count(429) == 10
