"""The survey server's door for annotators who come from a HIT, as their browser and as others use it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import httpx2
import pytest

from mturk import records
from mturk.door import mount
from mturk.receipts import make_receipt
from spa.annotators.loopback import served
from spa.annotators.server import create_app
from tests.mturk.studies import STUDY, Bench, make_bench

SITE = "https://frames.example.org"


@pytest.fixture
def external(bench: Bench) -> Bench:
    """Return the study published as HITs that show the survey server."""
    text = STUDY.replace("ANNOTATORS", "3").replace(
        "[mturk]", f'[mturk]\nform = "external"\npublic_url = "https://survey.example.org"\nworker_sites = ["{SITE}"]'
    )
    folder = bench.study.parent / "external"
    folder.mkdir()
    other = make_bench(folder, bench.emulator, text=text)
    other.run("publish", "--yes")
    return other


@contextmanager
def visited(bench: Bench) -> Iterator[httpx2.Client]:
    """Serve the study and yield a browser."""
    with (
        bench.open() as workspace,
        served(create_app(workspace, doors=[mount])) as url,
        httpx2.Client(base_url=url, timeout=60) as client,
    ):
        yield client


def address(bench: Bench, **changes: str) -> dict[str, str]:
    [hit] = bench.hits()
    return {"assignmentId": "3ASSIGNED", "hitId": hit["HITId"], "workerId": "AWORKER", "turkSubmitTo": SITE, **changes}


def test_a_preview_shows_everything_and_allocates_nothing(external: Bench) -> None:
    with visited(external) as client:
        for given in ({}, {"assignmentId": "ASSIGNMENT_ID_NOT_AVAILABLE", "hitId": "X"}):
            shown = client.get("/hit", params=given)
            assert shown.status_code == 200
            assert "How good is this text" in shown.text
            assert f"frame-ancestors {external.emulator.url} {SITE}" in shown.headers["content-security-policy"]
    with external.open() as workspace:
        assert list(workspace.store.visits()) == []


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
        assert client.get("/hit", params=address(external, **changes)).status_code in (403, 404)
    with external.open() as workspace:
        assert list(workspace.store.visits()) == []


def test_an_annotator_is_let_in_once_and_the_same_address_leads_back(external: Bench) -> None:
    with visited(external) as client:
        first = client.get("/hit", params=address(external)).headers["location"]
        assert client.get("/hit", params=address(external)).headers["location"] == first
        assert client.get("/hit", params=address(external, workerId="AOTHER")).status_code == 403
    with external.open() as workspace:
        [visit] = workspace.store.visits("mturk")
        assert (visit.person, visit.external_id) == ("AWORKER", "3ASSIGNED")
        assert records.find_frame(workspace.store, "3ASSIGNED") == SITE
        assert make_receipt(workspace.store, visit.submission_id) != make_receipt(workspace.store, "another")
