"""The server's metrics: counts kept up by what has changed are those of a full count; no answer is counted again."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Connection, event

from spa.commands.workspace import Workspace, open_workspace
from spa.responses import running_counts
from spa.responses.admission import AdmissionRefused
from spa.responses.running_counts import RunningCounts
from spa.responses.status import VisitCounts, summarise_visits
from spa.server.admin import _labels
from spa.server.app import create_app
from tests.spa.server.served_study import build
from tests.spa.small_study import STUDY, answer_form
from tests.spa.store_steps import save_payload

ADMIN = {"authorization": "Bearer a-token-of-the-administrator"}


def test_labels_of_metrics_end_where_they_should() -> None:
    """Names of sources and groups are anybody's."""
    line = VisitCounts(
        **{field.name: 0 for field in fields(VisitCounts)} | {"source": 'a"} 1\n\\', "people_group": None}
    )
    assert _labels(line, "completed") == r'source="a\"} 1\n\\",group="",state="completed"'


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    with open_workspace(build(tmp_path, STUDY.replace("annotators = 6", "annotators = 12"))) as opened:
        yield opened


def samples_of(client: TestClient) -> dict[str, str]:
    text = client.get("/metrics", headers=ADMIN).text
    for line in text.splitlines():  # the grammar of the text format
        assert re.fullmatch(r"# (HELP|TYPE) spa_\w+ .+|spa_\w+(\{(\w+=\"[^\"]*\",?)+\})? [0-9.]+", line), line
    return dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))


def client_of(workspace: Workspace) -> TestClient:
    app = create_app(workspace, admin_token="a-token-of-the-administrator")
    return TestClient(app, raise_server_exceptions=False)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_running_counts_equal_full_count(workspace: Workspace, seed: int) -> None:
    """Counts kept up by what has changed are those of a full count."""
    store, people, chance, now = workspace.store, workspace.study.people, random.Random(seed), 1000.0
    counts, sent, given = RunningCounts(store, people), 0, 0
    for step in range(40):
        now += chance.uniform(1, 200)
        open_now = [visit for visit in store.visits.of_people() if not visit.finished]
        what = chance.choice(["come", "send", "finish", "leave", "late"])
        if what == "come" or not open_now:
            try:
                store.visits.admit(source=chance.choice("ab"), person=f"p{step}", now=now, minutes_allowed=5)
            except AdmissionRefused:
                store.visits.release_overdue(now)
        elif what == "send":
            save_payload(store, chance.choice(open_now).submission_id, "p1", "{}")
            sent += 1
        elif what == "finish":
            answered = answer_form(visit := chance.choice(open_now), workspace.form(visit.assignment_id))
            store.visits.finish(answered, chance.choice(["completed", "screened_out"]), "C", now=now)
            given += len(answered.answers)
        elif what == "leave":
            store.visits.release(chance.choice(open_now).submission_id, "returned", now=now)
        else:
            store.visits.release_overdue(now)
        if chance.random() < 0.5:
            continue  # several changes between two counts
        totals = counts.totals(now)
        full = summarise_visits(store.visits.of_people(), assignments=12, people=people, now=now)
        assert (totals.status, totals.pages, totals.answers) == (full, sent, given)


def test_metrics_recount_sees_late_changes(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """A visit that changed after its end is seen when all is counted again."""
    store = workspace.store
    visit = store.visits.admit(source="a", person="ada", now=1.0)
    store.visits.finish(answer_form(visit, workspace.form(visit.assignment_id)), "completed", "C", now=2.0)
    counts = RunningCounts(store, workspace.study.people)
    store.visits.release(visit.submission_id, "returned", now=3.0, finished=True)
    assert counts.totals(3.0).status.completed == 1
    monkeypatch.setattr(running_counts, "ANEW", -1.0)
    counts.totals(3.0)
    if (thread := counts._anew) is not None:
        thread.join()
    monkeypatch.setattr(running_counts, "ANEW", 600.0)
    assert counts.totals(3.0).status.completed == 0


def test_no_statement_of_the_metrics_reads_a_whole_table(workspace: Workspace) -> None:
    store = workspace.store
    client = client_of(workspace)
    for person in ("ada", "bob"):
        visit = store.visits.admit(source="a", person=person, now=1.0)
    store.visits.finish(answer_form(visit, workspace.form(visit.assignment_id)), "completed", "C", now=2.0)
    asked: list[tuple[str, object]] = []

    def note(_: Connection, __: object, statement: str, parameters: object, *___: object) -> None:
        asked.append((statement, parameters))

    event.listen(store._engine, "before_cursor_execute", note)
    assert samples_of(client)["spa_answers_total"] != "0"
    event.remove(store._engine, "before_cursor_execute", note)
    assert len(asked) > 5
    with store.copying() as connection:
        for statement, parameters in asked:
            plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {statement}", parameters)]
            assert not [step for step in plan if step.startswith("SCAN")], (statement, plan)


def test_metrics_tell_errors_latency_disk_log_and_admission(workspace: Workspace) -> None:
    client = client_of(workspace)
    store = workspace.store
    before = samples_of(client)
    assert before["spa_places_free"] == "12"
    for _ in range(13):
        client.get("/nowhere")
    with store.transaction() as connection:
        connection.exec_driver_sql("update places set people = 1")
    for token in store.tokens()[:2]:
        assert client.post(f"/a/{token}").status_code == 410
    samples = samples_of(client)
    assert samples['spa_requests_total{status="4xx"}'] == "15"
    assert samples['spa_requests_total{status="2xx"}'] == "1"
    assert samples['spa_requests_total{status="5xx"}'] == "0"
    assert samples['spa_request_seconds_bucket{le="+Inf"}'] == samples["spa_request_seconds_count"] == "16"
    assert float(samples["spa_request_seconds_sum"]) > 0
    assert samples['spa_admissions_refused_total{reason="full"}'] == "2"
    assert int(samples["spa_store_bytes"]) > 0
    assert int(samples["spa_store_log_bytes"]) > 0
    assert int(samples["spa_disk_free_bytes"]) > 0
    with store.transaction() as connection:
        connection.exec_driver_sql("alter table tokens rename to gone")
    client.post(f"/a/{store.keyed('x')}")
    with store.transaction() as connection:
        connection.exec_driver_sql("alter table gone rename to tokens")
    assert samples_of(client)['spa_requests_total{status="5xx"}'] == "1"
