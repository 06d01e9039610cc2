"""Kill workers and clients of ``spa rate --cluster`` at random: ``python -m tests.soak.rate_cluster``.

Each trial rates further forms of one study while processes are killed, starts the command again where it was the
client, with its scheduler, and compares the server's count of requests with the journal. At last PostgreSQL is stopped
for ten seconds in the middle of a run.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

import psutil

from tests import postgres
from tests.spa.cluster_bench import check_asked_once
from tests.spa.rehearsed import built_example, spa
from tests.spa.scripted_server import Served, scripted
from tests.spa.test_rater_exactly_once import CONCURRENCY, judge, slow

FORMS = 24  # of a run
KILLS = 4  # of workers in a run, at most
WORKERS = 2
AWAY_FORMS = 60


def start(study: Path, rater: Path, limit: int, *more: str) -> subprocess.Popen[str]:
    """Start the command."""
    script = [sys.executable, "-c", "from spa.cli import main; main()"]
    command = ["rate", str(study), "--rater", str(rater), "--no-probe", "--cluster", f"local:{WORKERS}"]
    return subprocess.Popen(
        [*script, *command, "--limit", str(limit), *more], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


def workers_of(process: subprocess.Popen[str]) -> list[psutil.Process]:
    """Return the worker processes of a command."""
    with suppress(psutil.NoSuchProcess):
        return [one for one in psutil.Process(process.pid).children() if "spawn_main" in " ".join(one.cmdline())]
    return []


def trial(study: Path, rater: Path, served: Served, limit: int, rng: random.Random) -> Counter[str]:
    """Kill workers while further forms are rated, perhaps the client at last; the forms are finished on return."""
    killed: Counter[str] = Counter()
    process = start(study, rater, limit)
    for victim in [*["worker"] * rng.randint(1, KILLS), rng.choice(["worker", "client"])]:
        before = len(served.asked)
        while len(served.asked) < before + rng.randint(1, FORMS // KILLS) and process.poll() is None:
            time.sleep(0.005)
        time.sleep(rng.uniform(0, 0.3))
        found = [process] if victim == "client" else rng.sample(there := workers_of(process), min(1, len(there)))
        for one in found:
            with suppress(psutil.NoSuchProcess):
                killed[victim] += process.poll() is None
                one.kill()
    output, _ = process.communicate(timeout=300)
    if process.returncode != 0 and not killed["client"]:
        raise RuntimeError(f"expected the run to go on without a worker, got {output}")
    if process.returncode != 0:
        finish(start(study, rater, limit))
    return killed


def finish(process: subprocess.Popen[str]) -> None:
    """Wait for the end of a run in which all is answered."""
    output, _ = process.communicate(timeout=300)
    if process.returncode != 0:
        raise RuntimeError(f"expected the run to end, got {output}")


def stop_database(folder: Path, seconds: float) -> int:
    """Stop PostgreSQL for so long while forms are rated, and return how many were asked again."""
    with postgres.cluster(synced=True) as running, scripted(slow(0.2)) as served:
        running.run("CREATE DATABASE study")
        store = running.url("study")
        study = built_example(folder, annotators=1)
        spa("build", study, "--store", store, "--annotators", AWAY_FORMS)
        process = start(study, judge(folder, served.url), AWAY_FORMS, "--store", store)
        while len(served.asked) < AWAY_FORMS // 4 and process.poll() is None:
            time.sleep(0.005)
        postgres.halt(running)
        time.sleep(seconds)
        postgres.resume(running)
        finish(process)
        return check_asked_once(study, served, AWAY_FORMS, store)


def main() -> None:
    """Run the trials and say what was seen."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--kills", type=int, default=200)
    options.add_argument("--away", type=float, default=10.0, help="seconds without PostgreSQL")
    options.add_argument("--seed", type=int, default=1)
    given = options.parse_args()
    rng = random.Random(given.seed)
    killed: Counter[str] = Counter()
    limit = 0
    with tempfile.TemporaryDirectory() as folder, scripted(slow(0.2)) as served:
        study = built_example(Path(folder), annotators=FORMS * given.kills)
        rater = judge(Path(folder), served.url)
        while killed.total() < given.kills:
            limit += FORMS
            killed += trial(study, rater, served, limit, rng)
            more = check_asked_once(study, served, limit)
            if more > CONCURRENCY * killed.total():
                raise RuntimeError(f"expected what was under way to be asked twice at most, got {more} repeats")
            sys.stdout.write(f"killed {dict(killed)}, {limit} forms, {len(served.asked)} requests, {more} repeats\n")
            sys.stdout.flush()
    with tempfile.TemporaryDirectory() as folder:
        more = stop_database(Path(folder), given.away)
    if more > 2 * CONCURRENCY:
        raise RuntimeError(f"expected what was under way to be asked twice at most, got {more} repeats")
    sys.stdout.write(f"PostgreSQL away for {given.away:g} s: {AWAY_FORMS} forms, {more} repeats\n")


if __name__ == "__main__":
    main()
