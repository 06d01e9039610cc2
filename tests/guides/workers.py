"""Annotators who do the HITs that a guide has published: through the survey server's door, as in a frame."""

from __future__ import annotations

from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import httpx2

from mturk import records
from spa.commands.workspace import Workspace, open_workspace
from spa.simulation.survey_client import fill_in, read_page
from tests.guides.reader import GuideReader
from tests.mturk.rehearsal import HIDDEN
from tests.mturk.studies import answers_to
from tests.reading_evidence import evidence_of

MOST_PAGES = 50


def answer_hits(reader: GuideReader, study: Path) -> None:
    """Let as many annotators take each HIT of the study as it has places."""
    endpoint, survey = reader.server(("mturk", "serve")), reader.server(("serve",))
    assert endpoint is not None
    assert survey is not None
    with (
        httpx2.Client(base_url=f"{endpoint.url}/emulator/", timeout=60, trust_env=False) as control,
        httpx2.Client(base_url=survey.url, timeout=60, trust_env=False, follow_redirects=True) as frame,
        open_workspace(study) as workspace,
    ):

        def do(route: str, **given: object) -> dict[str, Any]:
            answer = control.post(route, json=given)
            assert answer.status_code == 200, answer.text
            return dict(answer.json())

        for hit in records.all_hits(workspace.store, endpoint.url):
            for worker in do("workers", count=hit.max_assignments, country="US")["worker_ids"]:
                taken = do("accept", worker_id=worker, hit_id=hit.hit_id)["assignment_id"]
                given = {"assignmentId": taken, "hitId": hit.hit_id, "workerId": worker, "turkSubmitTo": endpoint.url}
                handed_in = _answered(frame, given, workspace)
                do("submit", worker_id=worker, assignment_id=taken, fields=handed_in)


def _answered(frame: httpx2.Client, given: dict[str, str], workspace: Workspace) -> dict[str, str]:
    """Answer page by page and return what the last page hands in."""
    response = frame.post("/hit", params=given)  # as the first page's button does
    for _ in range(MOST_PAGES):
        shown = read_page(response.text).form
        if shown is None:
            fields = {unescape(name): unescape(value) for name, value in HIDDEN.findall(response.text)}
            return {name: value for name, value in fields.items() if name != "assignmentId"}
        form = workspace.form(shown.assignment_id)
        page = next(page for page in form.pages if page.page_id == shown.page_id)
        payload = {**fill_in(shown, form, answers_to(form)), **evidence_of(page)}
        response = frame.post(urljoin(str(response.url), shown.action), data=payload)
        assert response.status_code == 200, response.text
    raise AssertionError(f"{given} leads to no end")
