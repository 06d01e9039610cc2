"""Hundreds of annotators at the survey server, beside POTATO's own server in the same run.

``python -m tests.benchmarks.bench_server --potato FOLDER --out tests/benchmarks/load.md`` makes the table of the
documentation; FOLDER is where the environment of POTATO is, or will be made.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tests import postgres
from tests.benchmarks.measure import Figure
from tests.benchmarks.peers import potato
from tests.load.studies import build_load_study, write_potato_study

ROOT = Path(__file__).parents[2]
WARMUP = 10.0  # seconds before measuring begins
START_LIMIT = 120.0  # seconds
MIB = 1024.0


@dataclass
class Memory:
    """Resident memory of a server and its children, sampled while a block runs."""

    pid: int
    samples: list[float] = field(default_factory=list)  # MiB
    _over: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> Memory:
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._over.wait(1.0):
            self.samples.append(sum(resident(pid) for pid in family(self.pid)))


def family(pid: int) -> list[int]:
    """Return a process and those that it started."""
    found = [pid]
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            for child in task.read_text().split():
                found += family(int(child))
    return found


def resident(pid: int) -> float:
    """Return the memory of a process that is its own, in MiB."""
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) / MIB
    return 0.0


def free_port() -> int:
    """Return a port that is free now."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return int(bound.getsockname()[1])


@contextlib.contextmanager
def running(
    command: list[str], port: int, *, folder: Path, log: Path | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a server until the block ends; it answers when the block begins."""
    told = log or folder / "server.log"
    with told.open("wb") as stream:
        server = subprocess.Popen(command, cwd=folder, stdout=stream, stderr=stream)
    try:
        deadline = time.monotonic() + START_LIMIT
        while True:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
                break
            if server.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"the server did not start: {told.read_text()[-2000:]}")
            time.sleep(0.1)
        yield server
    finally:
        server.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            server.wait(20)
        server.kill()
        server.wait()


@contextlib.contextmanager
def ours(database: str, *, workers: int = 1, assignments: int) -> Iterator[tuple[int, int]]:
    """Serve the study of the load tests; yields the port and the process."""
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as stack:
        folder = Path(name)
        target = str(folder / "study.sqlite")
        if database == "postgresql":
            target = stack.enter_context(stack.enter_context(postgres.cluster(synced=True)).database())
        study = build_load_study(folder, target, assignments=assignments)
        port = free_port()
        program = [str(Path(sys.executable).with_name("spa")), "serve", str(study), "--store", target]
        more = ["--port", str(port), "--new-visits", "1000000", "--workers", str(workers)]
        server = stack.enter_context(running([*program, *more], port, folder=folder))
        yield port, server.pid


@contextlib.contextmanager
def theirs(program: Path) -> Iterator[tuple[int, int]]:
    """Serve a study of the same kind with POTATO."""
    with tempfile.TemporaryDirectory() as name:
        folder, port = Path(name), free_port()
        write_potato_study(folder)
        with running(potato.command(program, port), port, folder=folder) as server:
            yield port, server.pid


def load(kind: str, port: int, pid: int, *, annotators: int, seconds: float, think: float = 0.0) -> dict[str, Any]:
    """Let annotators work and return the summary, with the server's memory in MiB."""
    command = [sys.executable, "-m", "tests.load.annotators", "--kind", kind, "--url", f"http://127.0.0.1:{port}/"]
    more = ["--annotators", str(annotators), "--seconds", str(seconds), "--warmup", str(WARMUP), "--think", str(think)]
    with Memory(pid) as memory:
        told = subprocess.run([*command, *more], check=True, capture_output=True, text=True, cwd=ROOT)
    found: dict[str, Any] = json.loads(told.stdout)
    found["memory"] = memory.samples
    return found


def measured(name: str, found: dict[str, Any]) -> str:
    """Return one row of the table."""
    samples = found["memory"] or [0.0]
    third = samples[max(len(samples) // 3, 1) - 1]
    errors = sum(found["errors"].values())
    return (
        f"| {name} | {found['annotators']} | {found['measured_for']:.0f} | {found['pages']:,} | "
        f"{found['pages_per_second']:.0f} | {1000 * found['p50']:.0f} | {1000 * found['p99']:.0f} | {errors} | "
        f"{third:.0f} → {samples[-1]:.0f} |"
    )


def figures(annotators: int = 200, seconds: float = 8.0) -> Iterator[Figure]:
    """Yield what a short run says."""
    with ours("sqlite", assignments=3000) as (port, pid):
        found = load("spa", port, pid, annotators=annotators, seconds=seconds)
    note = f"{annotators} annotators, p99 {found['p99']:.2f} s, {sum(found['errors'].values())} errors"
    yield Figure(name="page submissions served", value=found["pages_per_second"], unit="1/s", note=note)


HEAD = """| server | annotators | seconds | page submissions | a second | p50, ms | p99, ms | errors | memory, MiB |
|---|---|---|---|---|---|---|---|---|"""


def table(program: Path, *, seconds: float, long: float) -> Iterator[str]:
    """Run everything, one server at a time, and yield the lines of the document."""
    began = datetime.now(UTC)
    load_before = os.getloadavg()[0]
    rows: list[str] = []
    ratios: list[tuple[float, float]] = []
    for turn in (1, 2):
        with ours("sqlite", assignments=8000) as (port, pid):
            own = load("spa", port, pid, annotators=200, seconds=seconds)
        rows.append(measured(f"spa serve, SQLite, turn {turn}", own))
        with theirs(program) as (port, pid):
            other = load("potato", port, pid, annotators=200, seconds=seconds)
        rows.append(measured(f"POTATO, turn {turn}", other))
        ratios.append((own["pages_per_second"] / other["pages_per_second"], other["p99"] / own["p99"]))
    with theirs(program) as (port, pid):
        rows.append(measured("POTATO", load("potato", port, pid, annotators=500, seconds=seconds)))
    with ours("sqlite", assignments=8000) as (port, pid):
        rows.append(measured("spa serve, SQLite", load("spa", port, pid, annotators=500, seconds=seconds)))
    with ours("postgresql", workers=2, assignments=8000) as (port, pid):
        found = load("spa", port, pid, annotators=500, seconds=seconds)
        rows.append(measured("spa serve, PostgreSQL, 2 workers", found))
    with ours("sqlite", assignments=12000) as (port, pid):
        found = load("spa", port, pid, annotators=500, seconds=long, think=5.0)
        rows.append(measured("spa serve, SQLite, 5 s of thought a page", found))
    yield from (
        f"Measured on {began:%Y-%m-%d %H:%M} UTC in one run: {os.cpu_count()} cores of {processor()}, "
        f"Linux {platform.release()}, Python {platform.python_version()}, uvicorn {version('uvicorn')}, "
        f"SQLAlchemy {version('sqlalchemy')}, POTATO {potato.version(program)}. Load average of the "
        f"machine: {load_before:.1f} before, {os.getloadavg()[0]:.1f} after.",
        "",
        HEAD,
        *rows,
        "",
        *(
            f"Turn {turn}: {speed:.0f} times the page submissions of POTATO a second, at 1/{delay:.0f} of its p99."
            for turn, (speed, delay) in enumerate(ratios, 1)
        ),
    )


def processor() -> str:
    """Return the name of the processor."""
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


MARKS = "<!-- measured: begin -->", "<!-- measured: end -->"


def main() -> None:
    """Measure and put the table between the marks of a document, or print it."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.bench_server", description=__doc__)
    parser.add_argument("--potato", type=Path, required=True, metavar="FOLDER", help="environment of POTATO")
    parser.add_argument("--out", type=Path, help="document with the two marks")
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--long", type=float, default=180.0, help="seconds of the run that watches the memory")
    given = parser.parse_args()
    text = "\n".join(table(potato.environment(given.potato.absolute()), seconds=given.seconds, long=given.long))
    print(text)  # noqa: T201
    if given.out is not None:
        before, _, rest = given.out.read_text().partition(MARKS[0])
        _, _, after = rest.partition(MARKS[1])
        given.out.write_text(f"{before}{MARKS[0]}\n\n{text}\n\n{MARKS[1]}{after}")


if __name__ == "__main__":
    main()
