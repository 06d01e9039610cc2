"""Kill a survey server at random moments under load and count what it had acknowledged and lost.

One *trial* is one ``kill -9``. The server runs in a child that is forked with everything imported, so
that a trial costs its work and not its start; the socket stays open in between, as behind systemd. The parent is a
program of its own without threads: one that is forked while another thread holds a lock never gets it.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from spa.commands.workspace import Workspace, open_workspace
from spa.responses.store import Store
from spa.server.app import create_app
from spa.server.http_server import Listener, run
from spa.server.rate_limits import Limits
from tests.load.studies import build_load_study

MOST_WORK = 6000  # bytes of acknowledgements, some forty pages, after which a server is killed at the latest
MOST_WAIT = 30.0  # seconds that this may take on the busiest machine
AFTER = 0.02  # seconds that it may live on, so that a kill falls anywhere between two acknowledgements
PAGES = 2  # rated in a form, so that many forms are completed between two kills
NEW_VISITS = 1_000_000  # a minute
REST = 0.7  # seconds that the last server lives, so that everybody who waits is served
START_LIMIT = 60.0  # seconds within which a server must answer on the busiest machine


@dataclass(frozen=True, slots=True, kw_only=True)
class Toll:
    """What came of a run."""

    database: str
    trials: int
    pages: int  # acknowledged
    forms: int  # acknowledged to the end
    lost_pages: int
    lost_forms: int
    changed: int  # on disk, but not as they were sent
    broken_requests: int  # that annotators saw and made again
    seconds: float
    intact: bool  # SQLite's own check; true for PostgreSQL


def kill_often(database: str, *, trials: int, annotators: int, seed: int, folder: Path) -> Toll:
    """Build a study into ``database`` ("sqlite" or the URL of an empty one), run the trials, compare."""
    target = str(folder / "study.sqlite") if database == "sqlite" else database
    study = build_load_study(folder, target, assignments=200 + 30 * trials, pages=PAGES)
    acknowledged = folder / "acknowledged.jsonl"
    acknowledged.touch()
    chance = random.Random(seed)
    begun = time.monotonic()
    with open_workspace(study, target) as opened:  # read once, and closed before any child is forked
        serving = opened
    with listening() as (bound, url), annotators_at(url, acknowledged, annotators, seed) as crowd:
        for _ in range(trials):
            with forked_server(serving, target, bound) as child:
                wait_for_answer(url, child)
                wait_for_work(acknowledged, chance.randrange(MOST_WORK))
                time.sleep(chance.uniform(0, AFTER))
        with forked_server(serving, target, bound) as child:
            wait_for_answer(url, child)
            time.sleep(REST)
            crowd.send_signal(signal.SIGTERM)
            said, _ = crowd.communicate(timeout=START_LIMIT)
    broken = sum(json.loads(said)["errors"].values())
    pages, forms, lost_pages, lost_forms, changed = compare(target, acknowledged)
    return Toll(
        database="SQLite" if database == "sqlite" else "PostgreSQL",
        trials=trials,
        pages=pages,
        forms=forms,
        lost_pages=lost_pages,
        lost_forms=lost_forms,
        changed=changed,
        broken_requests=broken,
        seconds=time.monotonic() - begun,
        intact=is_intact(target),
    )


@contextlib.contextmanager
def listening() -> Iterator[tuple[socket.socket, str]]:
    """Yield a socket that outlives the servers, and its address."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        bound.listen(1024)
        yield bound, f"http://127.0.0.1:{bound.getsockname()[1]}/"


@contextlib.contextmanager
def annotators_at(url: str, acknowledged: Path, annotators: int, seed: int) -> Iterator[subprocess.Popen[str]]:
    """Let annotators work from a process of their own until they are told to stop."""
    command = [sys.executable, "-m", "tests.load.annotators", "--url", url, "--annotators", str(annotators)]
    more = ["--seconds", "1e6", "--warmup", "0", "--patient", "--acknowledged", str(acknowledged), "--seed", str(seed)]
    crowd = subprocess.Popen([*command, *more], stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2])
    try:
        yield crowd
    finally:
        crowd.kill()
        crowd.wait()


@contextlib.contextmanager
def forked_server(serving: Workspace, target: str, bound: socket.socket) -> Iterator[int]:
    """Run a server in a child of this process and kill it at the end of the block."""
    child = os.fork()
    if child == 0:
        try:
            serve(serving, target, bound)
        finally:
            traceback.print_exc()
            os._exit(1)  # never back into the parent's code
    try:
        yield child
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def serve(serving: Workspace, target: str, bound: socket.socket) -> None:
    """Serve as `spa serve` does, with a store of this process's own."""
    with Store.open(target) as store:
        own = Workspace(
            study=serving.study, outputs=serving.outputs, texts=serving.texts, store=store, chosen=serving.chosen
        )
        crowd = Limits.of_new_visits(NEW_VISITS)  # all come from one address
        run(create_app(own, limits=crowd), Listener(socket=bound, address=""))


def wait_for_answer(url: str, child: int) -> None:
    """Wait until the server of a child answers, however busy the machine is."""
    host, _, port = url.removeprefix("http://").rstrip("/").partition(":")
    deadline = time.monotonic() + START_LIMIT
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError), socket.create_connection((host, int(port)), timeout=2) as asking:
            asking.sendall(b"GET /health HTTP/1.0\r\nhost: x\r\n\r\n")
            if b" 200 " in asking.recv(100):
                return
    raise AssertionError(f"{url}: no answer within {START_LIMIT} s; {state_of(child)}")


def state_of(child: int) -> str:
    """Return what Linux says a process is doing: whether it lives, and what it waits for."""
    try:
        lines = Path(f"/proc/{child}/status").read_text().splitlines()
        waits = Path(f"/proc/{child}/wchan").read_text()
    except OSError as error:
        return f"process {child}: {error}"
    said = [" ".join(line.split()) for line in lines if line.startswith(("State", "Threads"))]
    return f"process {child}: {', '.join(said)}, waits in {waits}"


def wait_for_work(acknowledged: Path, growth: int) -> None:
    """Wait until annotators have noted so many bytes more of what was acknowledged to them."""
    wanted = acknowledged.stat().st_size + growth
    deadline = time.monotonic() + MOST_WAIT
    while acknowledged.stat().st_size < wanted and time.monotonic() < deadline:
        time.sleep(0.002)


def compare(target: str, acknowledged: Path) -> tuple[int, int, int, int, int]:
    """Look up every acknowledged page: pages, forms, lost pages, lost forms, changed pages."""
    lines = [json.loads(line) for line in acknowledged.read_text().splitlines() if line.endswith("}")]
    counts = [len(lines), 0, 0, 0, 0]
    with Store.open(target, read_only=True) as store:
        leases = {lease.token: lease for lease in store.visits.leases()}
        submitted = {submission.submission_id for submission in store.submissions()}
        bodies: dict[str, set[tuple[str, str]]] = {}
        for line in lines:
            page, done = line.pop("page"), line.pop("done") == "1"
            lease = leases.get(line.pop("token"))
            counts[1] += done
            if lease is None:
                counts[2] += 1
                counts[3] += done
                continue
            if lease.token not in bodies:
                sent = store.visits.payloads(lease.submission_id)
                bodies[str(lease.token)] = {(payload.page_id, normal(json.loads(payload.body))) for payload in sent}
            kept = bodies[str(lease.token)]
            if (page, normal(line)) not in kept:
                counts[4 if any(page == known for known, _ in kept) else 2] += 1
            ended = lease.completed and lease.completion_code is not None and lease.submission_id in submitted
            counts[3] += done and not ended
    pages, forms, lost_pages, lost_forms, changed = counts
    return pages, forms, lost_pages, lost_forms, changed


def normal(fields: dict[str, str]) -> str:
    """Write fields in one order."""
    return json.dumps(fields, sort_keys=True)


def is_intact(target: str) -> bool:
    """Ask SQLite to check the whole file."""
    if "://" in target:
        return True
    with contextlib.closing(sqlite3.connect(target)) as file:
        return bool(file.execute("PRAGMA integrity_check").fetchone() == ("ok",))


def main() -> None:
    """Run and write the toll as JSON."""
    from tests import postgres

    parser = argparse.ArgumentParser(prog="python -m tests.load.killed", description=__doc__)
    parser.add_argument("--database", default="sqlite", help="sqlite, postgresql (one set up for this), or a URL")
    parser.add_argument("--trials", type=int, default=1000)
    parser.add_argument("--annotators", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    settings = {"trials": given.trials, "annotators": given.annotators, "seed": given.seed}
    with tempfile.TemporaryDirectory() as folder:
        if given.database != "postgresql":
            toll = kill_often(given.database, folder=Path(folder), **settings)
        else:
            with postgres.cluster(synced=True) as cluster, cluster.database() as url:
                toll = kill_often(url, folder=Path(folder), **settings)
    print(json.dumps(asdict(toll)))  # noqa: T201


if __name__ == "__main__":
    main()
