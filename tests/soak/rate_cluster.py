"""Kill workers, schedulers and clients of ``spa rate --cluster`` at random: ``python -m tests.soak.rate_cluster``.

Each trial rates further forms of one study while processes are killed, and compares the server's count of requests with
the journal: first on PostgreSQL with a scheduler of its own, then of ``--cluster local:2`` with SQLite. At last
PostgreSQL is stopped for ten seconds in the middle of a run.
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
from tests.spa.raters.test_rate_cluster_killed import FORMS as FORMS_OF_TEN_KILLS
from tests.spa.raters.test_rate_cluster_killed import KILLED, kill_at_random, killable_run
from tests.spa.raters.test_rater_exactly_once import CONCURRENCY, judge, slow
from tests.spa.rehearsed import built_example, spa
from tests.spa.scripted_server import Served, scripted

LOCAL = 8  # kills with a scheduler of its own for one with --cluster local:2, where workers take seconds to come back
FORMS = 24  # of a run
KILLS = 4  # of workers in a run, at most
WORKERS = 2
AWAY_FORMS = 60


def start(study: Path, rater: Path, limit: int, *more: str) -> subprocess.Popen[str]:
    """Start the command."""
    script = [sys.executable, "-c", "from spa.cli import run; run()"]
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


def kill_on_scheduler(folder: Path, kills: int, rng: random.Random) -> None:
    """Kill workers, schedulers and clients, ten in each run."""
    with postgres.cluster(synced=True) as running, scripted(slow(0.4)) as served:
        running.run("CREATE DATABASE study")
        store = running.url("study")
        study = built_example(folder, annotators=1)
        spa("build", study, "--store", store, "--annotators", FORMS_OF_TEN_KILLS * (kills // len(KILLED) + 1))
        words = [study, "--store", store, "--rater", judge(folder, served.url), "--no-probe", "--limit"]
        killed: Counter[str] = Counter()
        limit = 0
        while killed.total() < kills:
            limit += FORMS_OF_TEN_KILLS
            (trial := folder / f"trial-{limit}").mkdir()
            with killable_run(trial, [*words, limit]) as run:
                kill_at_random(run, served, rng)
                run.client.join(300)
                if run.client.exitcode != 0:
                    raise RuntimeError(f"expected the run to end, got {run.output.read_text()}")
            killed.update(KILLED)
            report(killed, served, limit, check_asked_once(study, served, limit, store))


def kill_local(folder: Path, kills: int, rng: random.Random) -> None:
    """Kill workers of ``--cluster local:2``, and clients with their schedulers."""
    with scripted(slow(0.2)) as served:
        study = built_example(folder, annotators=FORMS * kills)
        rater = judge(folder, served.url)
        killed: Counter[str] = Counter()
        limit = 0
        while killed.total() < kills:
            limit += FORMS
            killed += trial(study, rater, served, limit, rng)
            report(killed, served, limit, check_asked_once(study, served, limit))


def report(killed: Counter[str], served: Served, limit: int, more: int) -> None:
    """Say what was seen so far."""
    if more > CONCURRENCY * killed.total():
        raise RuntimeError(f"expected what was under way to be asked twice at most, got {more} repeats")
    sys.stdout.write(f"killed {dict(killed)}, {limit} forms, {len(served.asked)} requests, {more} repeats\n")
    sys.stdout.flush()


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
    for kill, kills in ((kill_on_scheduler, given.kills), (kill_local, given.kills // LOCAL)):
        with tempfile.TemporaryDirectory() as folder:
            kill(Path(folder), kills, rng)
    with tempfile.TemporaryDirectory() as folder:
        more = stop_database(Path(folder), given.away)
    if more > 2 * CONCURRENCY:
        raise RuntimeError(f"expected what was under way to be asked twice at most, got {more} repeats")
    sys.stdout.write(f"PostgreSQL away for {given.away:g} s: {AWAY_FORMS} forms, {more} repeats\n")


if __name__ == "__main__":
    main()
