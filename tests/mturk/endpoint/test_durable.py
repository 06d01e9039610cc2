"""What was acknowledged is on disk: a process is traced, killed at random moments, and served again."""

from __future__ import annotations

import random
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import httpx2
import pytest
from botocore.exceptions import ClientError, EndpointConnectionError, HTTPClientError

from mturk.endpoint.keys import VARIABLE
from mturk.endpoint.store import open_store, server_lock
from spa.errors import ResponseError
from tests.conftest import missing_part
from tests.mturk.emulated import HIT, pages_of
from tests.mturk.serving import Server, serving

PEOPLE = 3
ROUNDS = 2


def post(server: Server, route: str, **given: Any) -> dict[str, Any]:
    answer = httpx2.post(f"{server.url}/emulator/{route}", json=given, timeout=60)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


class Acknowledged:
    """What the endpoint has said yes to."""

    def __init__(self) -> None:
        self.hits: list[str] = []
        self.submitted: list[str] = []
        self.approved: list[str] = []
        self.bonuses: list[str] = []

    def go_on(self, server: Server, worker: str) -> None:
        """Create, submit, approve and give a bonus, over and over, until the connection breaks."""
        client = server.client()
        try:
            while True:
                hit_id = client.create_hit(**{**HIT, "MaxAssignments": 1, "Reward": "0.01"})["HIT"]["HITId"]
                self.hits.append(hit_id)
                (work,) = post(server, "work", hit_ids=[hit_id], worker_ids=[worker], fields={"a": "1"})[
                    "assignment_ids"
                ]
                self.submitted.append(work)
                client.approve_assignment(AssignmentId=work)
                self.approved.append(work)
                client.send_bonus(WorkerId=worker, BonusAmount="0.01", AssignmentId=work, Reason="r")
                self.bonuses.append(work)
        except (httpx2.HTTPError, EndpointConnectionError, HTTPClientError, ClientError):
            return
        finally:
            client.close()


def test_endpoint_survives_a_kill(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A kill at any moment loses nothing that was acknowledged."""
    known, rng = Acknowledged(), random.Random(11)
    if "://" in database:  # no file lies beside it
        monkeypatch.setenv(VARIABLE, rng.randbytes(32).hex())
    for _ in range(ROUNDS):
        with serving(database) as server:
            people = post(server, "workers", count=PEOPLE)["worker_ids"]
            threads = [threading.Thread(target=known.go_on, args=(server, worker)) for worker in people]
            wanted = len(known.bonuses) + PEOPLE
            for thread in threads:
                thread.start()
            deadline = time.monotonic() + 60
            while len(known.bonuses) < wanted and time.monotonic() < deadline:
                time.sleep(0.01)
            time.sleep(rng.uniform(0, 0.2))
            server.end()
            for thread in threads:
                thread.join()
    with serving(database) as server:
        check(server, known)
        assert server.end(signal.SIGINT) == 0


def check(server: Server, known: Acknowledged) -> None:
    """Compare what was acknowledged with what is there now."""
    assert len(known.bonuses) >= ROUNDS * PEOPLE
    client = server.client()
    hits = {hit["HITId"]: hit for hit in pages_of(client, "list_hits", "HITs")}
    assert set(known.hits) <= set(hits)
    entries = httpx2.get(f"{server.url}/emulator/ledger").json()["entries"]
    rewards = Counter(entry["assignment_id"] for entry in entries if entry["kind"] == "reward")
    bonuses = Counter(entry["assignment_id"] for entry in entries if entry["kind"] == "bonus")
    assert set(known.approved) <= set(rewards)
    assert set(known.bonuses) <= set(bonuses)
    assert set(rewards.values()) | set(bonuses.values()) == {1}
    assert len(hits) - len(known.hits) <= ROUNDS * PEOPLE  # at most one call of each was under way
    found = {}
    for hit_id in hits:
        for work in client.list_assignments_for_hit(HITId=hit_id)["Assignments"]:
            found[work["AssignmentId"]] = work["AssignmentStatus"]
    assert set(known.submitted) <= set(found)
    assert {name for name, status in found.items() if status == "Approved"} == set(rewards)
    spent = sum(round(100 * (float(entry["amount"]) + float(entry["fee"]))) for entry in entries)
    balance = client.get_account_balance()
    held, available = (round(100 * float(balance[name])) for name in ("OnHoldBalance", "AvailableBalance"))
    assert available + held + spent == 1_000_000
    client.close()


def test_endpoint_fsync_before_acknowledgement(tmp_path: Path) -> None:
    """The disk is synchronised before a submission is acknowledged."""
    if shutil.which("strace") is None:
        missing_part("strace is not installed")
    trace = tmp_path / "trace"
    calls = "trace=fsync,fdatasync,pwrite64,sendto,sendmsg,writev,write,recvfrom,read"
    command = ("strace", "-f", "--seccomp-bpf", "-y", "-s", "200", "-e", calls, "-o", str(trace))
    tried = subprocess.run(
        ["strace", "-o", str(tmp_path / "probe"), "true"], capture_output=True, text=True, check=False
    )
    if tried.returncode != 0:
        pytest.skip("this system lets no process be traced")
    with serving(tmp_path / "lab.sqlite", before=command) as server:
        client = server.client()
        hit_id = client.create_hit(**HIT)["HIT"]["HITId"]
        client.close()
        (worker,) = post(server, "workers")["worker_ids"]
        work = post(server, "accept", worker_id=worker, hit_id=hit_id)["assignment_id"]
        post(server, "submit", worker_id=worker, assignment_id=work, fields={"a": "1"})
        server.end(signal.SIGINT)
    lines = trace.read_text(errors="replace").splitlines()
    asked = next(number for number, line in enumerate(lines) if "POST /emulator/submit" in line)
    said = next(
        number for number, line in enumerate(lines) if number > asked and '\\"status\\":\\"Submitted\\"' in line
    )
    kinds = [kind for line in lines[asked:said] if (kind := log_or_sync(line))]
    assert "log" in kinds
    assert kinds[::-1].index("sync") < kinds[::-1].index("log")


def log_or_sync(line: str) -> str | None:
    """Return what a traced call did to the write-ahead log."""
    if re.search(r"\bpwrite64\(\d+<[^>]*-wal>", line):
        return "log"
    return "sync" if re.search(r"\bf(data)?sync\(\d+<[^>]*-wal>", line) else None


def test_an_emulators_clock_goes_on_where_it_stood(tmp_path: Path) -> None:
    with serving(tmp_path / "lab.sqlite") as server:
        post(server, "clock", freeze=True)
        before = post(server, "clock", advance=86_400.0)["now"]
        key = server.key
        server.end()
    with serving(tmp_path / "lab.sqlite") as server:
        assert httpx2.get(f"{server.url}/emulator/state").json()["now"] == before
        assert server.key == key
        assert httpx2.get(f"{server.url}/health").json() == {"status": "ok"}
        refused_second(tmp_path / "lab.sqlite")


def refused_second(store: Path) -> None:
    """Start a second server on the same store, which must not run."""
    command = [sys.executable, "-c", "from spa.cli import run; run()", "mturk", "serve", str(store), "--port", "0"]
    second = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert second.returncode == 1
    assert "another `spa mturk serve` is running on this store" in second.stderr


def test_postgresql_has_one_server_too(postgres_url: str) -> None:
    with open_store(postgres_url, create=True) as store, server_lock(store, postgres_url):
        with pytest.raises(ResponseError, match="another `spa mturk serve`"), server_lock(store, postgres_url):
            pass
