"""What the survey server refuses, what it tells its administrator, and what it never writes down."""

from __future__ import annotations

import gc
import io
import json
import logging
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx2
import pytest
from click.testing import CliRunner
from fastapi import FastAPI
from fastapi.testclient import TestClient
from uvicorn.supervisors import Multiprocess

from spa.cli import main
from spa.commands.serve import ServerOptions
from spa.commands.workspace import Workspace, open_workspace
from spa.errors import ResponseError
from spa.server import request_guard
from spa.server.admin import admin_token
from spa.server.app import create_app
from spa.server.http_server import collect_rarely, listen, run_workers
from spa.server.rate_limits import Buckets, Limits, Rate
from spa.server.request_guard import host_of, parse_networks
from spa.server.request_log import JsonLines, log_as_json
from tests.conftest import missing_part
from tests.spa.small_study import STUDY, answer_form, raw_answer, write_study
from tests.spa.store_steps import save_payload

ADMIN = "a-token-of-the-administrator"
PAID = STUDY.replace("annotators = 6", 'annotators = 6, pay = "2.50", currency = "GBP"')


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    path = write_study(tmp_path, PAID)
    result = CliRunner().invoke(main, ["build", str(path)])
    assert result.exit_code == 0, result.output
    with open_workspace(path) as opened:
        yield opened


def client_of(workspace: Workspace, **settings: object) -> TestClient:
    return TestClient(create_app(workspace, **settings), follow_redirects=False)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 303),
        ({"sec-fetch-site": "same-origin"}, 303),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"sec-fetch-site": "same-site"}, 403),
        ({"origin": "http://testserver"}, 303),
        ({"origin": "http://testserver:80"}, 303),
        ({"origin": "https://study.example.org"}, 303),
        ({"origin": "https://evil.example"}, 403),
        ({"origin": "https://testserver.evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://[::"}, 403),
        ({"origin": "https://evil.example", "x-forwarded-host": "evil.example"}, 403),
    ],
)
def test_only_our_own_pages_may_post(workspace: Workspace, headers: dict[str, str], status: int) -> None:
    client = client_of(workspace, public_url="https://study.example.org")
    before = len(workspace.store.tokens())
    assert client.post("/", headers=headers).status_code == status
    assert len(workspace.store.tokens()) == before + (status == 303)


@pytest.mark.parametrize(("proxy", "status"), [("127.0.0.1", 303), ("10.0.0.0/8", 403)])
def test_what_a_proxy_says_is_believed_of_ours_only(workspace: Workspace, proxy: str, status: int) -> None:
    app = create_app(workspace, trusted_proxies=parse_networks([proxy]))
    client = TestClient(app, follow_redirects=False, client=("127.0.0.1", 50000))
    said = {"origin": "https://study.example.org", "x-forwarded-host": "a.example, study.example.org"}
    assert client.post("/", headers=said).status_code == status


def test_a_proxy_that_is_no_address_is_told(workspace: Workspace) -> None:
    with pytest.raises(ResponseError, match="expected an address or a network"):
        parse_networks(["somewhere"])
    assert host_of("http://[::") == ""


def test_rate_limit_of_one_link_spares_others(workspace: Workspace) -> None:
    """One link that asks without end is told to wait and others are not."""
    client = client_of(workspace, limits=Limits(requests=Rate(burst=5, a_second=0.01)))
    greedy, other = workspace.store.tokens()[:2]
    statuses = [client.post(f"/a/{greedy}").status_code for _ in range(8)]
    assert statuses == [303] * 5 + [429] * 3
    refused = client.post(f"/a/{greedy}")
    assert int(refused.headers["retry-after"]) > 0
    assert "One moment, please" in refused.text
    assert client.post(f"/a/{other}").status_code == 303
    assert client.get("/health").status_code == 200


def test_new_visits_are_limited_for_everybody_together(workspace: Workspace) -> None:
    client = client_of(workspace, limits=Limits.of_new_visits(3))
    assert [client.post("/").status_code for _ in range(5)] == [303, 303, 303, 429, 429]


def test_a_bucket_fills_again_and_forgets_keys_that_are_not_used() -> None:
    now = [0.0]
    buckets = Buckets(Rate(burst=2, a_second=0.5), clock=lambda: now[0], most=3)
    assert [buckets.take("a") for _ in range(3)] == [0, 0, 2]
    now[0] = 2
    assert buckets.take("a") == 0
    assert buckets.take("a") == 2
    for number in range(1000):
        buckets.take(str(number))
    assert len(buckets) == 3


def test_threads_take_no_more_from_a_bucket_than_it_holds() -> None:
    """What one thread has taken out to count is no bucket that another finds full."""
    buckets, before = Buckets(Rate(burst=50, a_second=1e-9), clock=lambda: 0.0), sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as pool:
            waits = list(pool.map(lambda _: [buckets.take("x") for _ in range(500)], range(64)))
    finally:
        sys.setswitchinterval(before)
    assert sum(wait == 0 for some in waits for wait in some) == 50


def test_admin_pages_need_the_token(workspace: Workspace) -> None:
    """The administrators pages are absent without a token and closed without it."""
    for path in ("/admin/status", "/metrics"):
        assert client_of(workspace).get(path).status_code == 404
        closed = client_of(workspace, admin_token=ADMIN)
        assert closed.get(path).status_code == 401
        assert closed.get(path, headers={"authorization": f"Bearer {ADMIN}x"}).status_code == 401
        assert closed.get(path, headers={"authorization": f"Bearer {ADMIN}"}).status_code == 200
    with pytest.raises(ResponseError, match="SPA_ADMIN_TOKEN: expected at least 16 characters, got 5"):
        admin_token({"SPA_ADMIN_TOKEN": "guess"})
    assert admin_token({}) is None


def test_the_numbers_of_the_administrator_are_those_of_the_store(workspace: Workspace) -> None:
    now = 1_000_000.0
    store = workspace.store
    done, late, _at_work = (
        store.visits.admit_link(token, now=now, minutes_allowed=minutes)
        for token, minutes in zip(store.tokens()[:3], (None, 5, None), strict=True)
    )
    save_payload(store, done.submission_id, "p1", "{}")
    store.visits.release(late.submission_id, "returned", now=now + 60)
    answered = answer_form(done, workspace.form(done.assignment_id))
    store.visits.finish(answered, "completed", "CODE", now=now + 600)  # ten minutes
    client = client_of(workspace, admin_token=ADMIN, clock=lambda: now + 700)
    headers = {"authorization": f"Bearer {ADMIN}"}
    facts = client.get("/admin/status", headers=headers).json()
    assert (facts["study"], facts["completed"], facts["at_work"], facts["places"]) == ("small", 1, 1, 6)
    assert (facts["median_minutes"], facts["hourly_pay"], facts["answers"]) == (10.0, "15.00", len(answered.answers))
    text = client.get("/metrics", headers=headers).text
    samples = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    assert samples["spa_answers_total"] == str(len(answered.answers))
    assert samples["spa_pages_received_total"] == "1"
    assert samples["spa_leases"] == "1"
    assert samples['spa_visits{source="link",group="",state="dropped"}'] == "1"
    assert samples["spa_minutes_median"] == "10.0"
    assert samples['spa_hourly_pay{currency="GBP"}'] == "15.0"
    for line in text.splitlines():  # the grammar of the text format
        assert re.fullmatch(r"# (HELP|TYPE) spa_\w+ .+|spa_\w+(\{(\w+=\"[^\"]*\",?)+\})? [0-9.]+", line), line


def test_logs_hold_patterns_and_nothing_that_leads_to_a_person(workspace: Workspace) -> None:
    written = io.StringIO()
    handler = logging.StreamHandler(written)
    handler.setFormatter(JsonLines())
    logger = logging.getLogger("spa.requests")
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        client = client_of(workspace, log_requests=True)
        token = workspace.store.tokens()[0]
        page = client.get(client.post(f"/a/{token}").headers["location"])
        client.post(f"/a/{token}/p/p1?go=stay", data={"q1": "secret answer"})
        client.get(f"/nowhere/{token}?key={token}")
        logger.info("submission 's0123456789abcdef' of %s came from 10.1.2.3", workspace.store.keyed(token))
    finally:
        logger.removeHandler(handler)
    assert page.status_code == 200
    lines = [json.loads(line) for line in written.getvalue().splitlines()]
    assert [(line.get("method"), line.get("route"), line.get("status")) for line in lines[:4]] == [
        ("POST", "/a/{token}", 303),
        ("GET", "/a/{token}/p/{page_id}", 200),
        ("POST", "/a/{token}/p/{page_id}", 204),
        ("GET", "unknown", 404),
    ]
    assert lines[4]["message"] == "submission '...' of ... came from ..."
    for secret in (token, "secret", "testclient", "testserver"):
        assert secret not in written.getvalue()


def test_each_log_is_written_as_json_once(capsys: pytest.CaptureFixture[str]) -> None:
    """What the server, its requests and the library log is a line of JSON each, without secrets."""
    loggers = [logging.getLogger(name) for name in ("spa.requests", "uvicorn", "spa", "uvicorn.error")]
    before = [(logger, logger.handlers, logger.level, logger.propagate) for logger in loggers]
    try:
        of_server = loggers[-1]  # other tests' servers make it quiet, and Streamlit in this process gives it a handler
        of_server.setLevel(logging.NOTSET)
        of_server.handlers, of_server.propagate = [], True
        log_as_json()
        for name in ("spa.requests", "uvicorn.error", "spa.live"):
            logging.getLogger(name).info("of 10.1.2.3")
    finally:
        for logger, handlers, level, propagate in before:
            logger.handlers, logger.propagate = handlers, propagate
            logger.setLevel(level)
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert [(line["logger"], line["message"]) for line in lines] == [
        ("spa.requests", "of ..."),
        ("uvicorn.error", "of ..."),
        ("spa.live", "of ..."),
    ]


def test_several_processes_want_a_database_for_several(workspace: Workspace) -> None:
    path = Path(workspace.store.name).with_suffix(".toml")
    result = CliRunner().invoke(main, ["serve", str(path), "--port", "0", "--workers", "2"])
    assert result.exit_code == 1
    assert "an SQLite file, which one process serves" in result.output


def test_application_closes_its_store(workspace: Workspace) -> None:
    """An application of one of several processes closes its store."""
    store = Path(workspace.store.name)
    workspace.store.close()
    options = ServerOptions(study=store.with_suffix(".toml"), store=None, public_url="")
    with TestClient(options()) as client:
        assert client.get("/health").status_code == 200
        assert store.with_name(f"{store.name}-shm").exists()
    assert not store.with_name(f"{store.name}-shm").exists()


def test_two_processes_serve_one_postgresql(tmp_path: Path, postgres_url: str) -> None:
    """People of both processes go through whole forms, and each page is there whichever process took it."""
    path = write_study(tmp_path)
    url = postgres_url.replace("postgresql+psycopg:", "postgresql:")
    assert CliRunner().invoke(main, ["build", str(path), "--store", url]).exit_code == 0
    command = [str(Path(sys.executable).with_name("spa")), "serve", str(path), "--store", url, "--port", "0"]
    with subprocess.Popen([*command, "--workers", "2"], stdout=subprocess.PIPE, text=True) as served:
        try:
            assert served.stdout is not None
            lines = [served.stdout.readline() for _ in range(3)]
            address = lines[1].removeprefix("open link: ").strip().rstrip("/")
            with open_workspace(path, url) as workspace:
                for token in workspace.store.tokens(personal=True):
                    lease = workspace.store.visits.admit_link(token, now=0)
                    for page in workspace.form(lease.assignment_id).pages:  # a connection each, so of either process
                        fields = {question.question_id: raw_answer(question) for question in page.questions}
                        sent = httpx2.post(
                            f"{address}/a/{token}/p/{page.page_id}", data=fields, trust_env=False, timeout=60
                        )
                        assert sent.status_code == 303, sent.text
                assert len(list(workspace.store.submissions())) == 6
        finally:
            served.send_signal(signal.SIGTERM)
            assert served.wait(10) == 0


TRACED = "trace=fsync,fdatasync,pwrite64,sendto,sendmsg,writev,write,recvfrom,read"


def test_page_fsync_before_acknowledgement(workspace: Workspace, tmp_path: Path) -> None:
    """A page is synchronised to the disk before it is acknowledged."""
    if shutil.which("strace") is None:
        missing_part("strace is not installed")
    trace = tmp_path / "trace"
    study = Path(workspace.store.name).with_suffix(".toml")
    program = [str(Path(sys.executable).with_name("spa")), "serve", str(study), "--port", "0"]
    command = ["strace", "-f", "--seccomp-bpf", "-y", "-s", "40", "-e", TRACED, "-o", str(trace), *program]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as served:
        try:
            assert served.stdout is not None
            lines = [served.stdout.readline() for _ in range(3)]
            if "open link" not in lines[1]:
                pytest.skip("this system lets no process be traced")
            address = lines[1].removeprefix("open link: ").strip()
            token = workspace.store.tokens()[0]
            assert httpx2.post(f"{address}a/{token}", trust_env=False, timeout=120).status_code == 303
            sent = httpx2.post(f"{address}a/{token}/p/p1", data={"q1": "Yes"}, trust_env=False, timeout=120)
            assert sent.status_code == 303
        finally:
            subprocess.run(["pkill", "-INT", "-P", str(served.pid)], check=False)
            served.communicate(timeout=60)
    events = [kind for line in trace.read_text(errors="replace").splitlines() if (kind := event(line))]
    arrived = events.index("arrives")
    between = events[arrived : events.index("acknowledged", arrived)]
    assert "log" in between
    assert between[::-1].index("sync") < between[::-1].index("log")  # all that was logged is synchronised


def event(line: str) -> str | None:
    """Return what a traced system call means here."""
    if re.search(r"\bpwrite64\(\d+<[^>]*-wal>", line):
        return "log"
    if re.search(r"\bf(data)?sync\(\d+<[^>]*-wal>", line):
        return "sync"
    if re.search(r'"POST /a/[^ ]+/p/', line):
        return "arrives"
    return "acknowledged" if '"HTTP/1.1 303' in line else None


def test_a_server_looks_for_garbage_among_all_objects_rarely() -> None:
    before = gc.get_threshold()
    try:
        collect_rarely()
        assert gc.get_freeze_count() > 10_000
        assert gc.get_threshold() == (*before[:2], 1000)
    finally:
        gc.unfreeze()
        gc.set_threshold(*before)


def test_each_of_several_processes_looks_for_garbage_rarely(monkeypatch: pytest.MonkeyPatch) -> None:
    before = gc.get_threshold()
    monkeypatch.setattr(Multiprocess, "__init__", lambda self, config, **_: setattr(self, "config", config))
    monkeypatch.setattr(Multiprocess, "run", lambda self: self.config.load())  # as each process begins
    try:
        with listen("127.0.0.1", 0) as listener:
            run_workers(FastAPI, listener, workers=2, when_ready=list, own_logs=True)
        assert gc.get_threshold() == (*before[:2], 1000)
    finally:
        gc.unfreeze()
        gc.set_threshold(*before)


@pytest.mark.parametrize(
    ("host", "path", "status"),
    [
        ("study.example.org", "/", 200),
        ("Study.Example.org:443", "/", 200),
        ("evil.example", "/", 421),
        ("study.example.org.evil.example", "/", 421),
        ("127.0.0.1:8000", "/", 421),
        ("localhost", "/panel", 421),
        ("", "/", 421),
        ("127.0.0.1:8000", "/health", 200),  # of a balancer or a container, which know the address alone
        ("10.1.2.3:8000", "/health/", 200),
        ("127.0.0.1:8000", "/metrics", 401),
    ],
)
def test_no_host_but_the_public_one_is_answered(workspace: Workspace, host: str, path: str, status: int) -> None:
    url = "https://study.example.org"
    client = client_of(workspace, public_url=url, only_public_host=True, admin_token=ADMIN)
    assert client.get(path, headers={"host": host}).status_code == status
    assert client_of(workspace, public_url=url).get("/", headers={"host": host}).status_code == 200


def test_host_of_trusted_proxy_counts(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """The host of a trusted proxy counts and a strange one is logged once."""
    said: list[str] = []
    monkeypatch.setattr(request_guard.log, "warning", lambda text, *values: said.append(text % values))
    more = {"public_url": "https://study.example.org", "only_public_host": True}
    app = create_app(workspace, trusted_proxies=parse_networks(["127.0.0.1"]), **more)  # type: ignore[arg-type]
    client = TestClient(app, follow_redirects=False, client=("127.0.0.1", 50000))
    assert client.get("/", headers={"x-forwarded-host": "study.example.org"}).status_code == 200
    assert not said
    for _ in range(3):
        assert client.get("/").status_code == 421
    two = [("host", "study.example.org"), ("host", "evil.example")]
    assert client.get("/", headers=two).status_code == 421
    (line,) = said
    assert "'testserver' was refused: --public-url names study.example.org" in line


def test_trailing_slash_is_served_without_redirect(workspace: Workspace) -> None:
    """A slash at the end is served and never redirected to a host of others."""
    client = client_of(workspace)
    token = workspace.store.tokens()[0]
    evil = {"host": "evil.example"}
    for path in ("/", "/health", f"/a/{token}", f"/a/{token}/p/p1", "/static/x.css"):
        plain, slashed = client.get(path, headers=evil), client.get(f"{path}//", headers=evil)
        said = [re.sub(r'name="visit" value="[^"]*"', "", each.text) for each in (slashed, plain)]  # new on each page
        assert (slashed.status_code, said[0]) == (plain.status_code, said[1])
        assert "evil" not in slashed.headers.get("location", "")
    limited = client_of(workspace, limits=Limits.of_new_visits(1))
    assert [limited.post("/" * number).status_code for number in (1, 2)] == [303, 429]


def test_a_public_url_that_leads_nowhere_is_told(workspace: Workspace) -> None:
    path = Path(workspace.store.name).with_suffix(".toml")
    result = CliRunner().invoke(main, ["serve", str(path), "--port", "0", "--public-url", "study.example.org"])
    assert result.exit_code == 1
    assert "--public-url: expected an address such as https://study.example.org, got 'study.example.org'" in (
        result.output
    )
