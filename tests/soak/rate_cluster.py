"""Kill workers and clients of ``spa rate --cluster`` at random: ``python -m tests.soak.rate_cluster``.

Each trial rates further forms of one study, kills, starts the command again until it ends well, and compares the
server's count of requests with the journal.
"""

from __future__ import annotations

import argparse
import random
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import psutil

from tests.spa.cluster_bench import check_asked_once
from tests.spa.rehearsed import built_example
from tests.spa.scripted_server import Served, scripted
from tests.spa.test_rater_exactly_once import CONCURRENCY, judge, slow

FORMS = 8  # of a trial
WORKERS = 2


def start(study: Path, rater: Path, limit: int) -> subprocess.Popen[str]:
    """Start the command."""
    script = [sys.executable, "-c", "from spa.cli import main; main()"]
    command = ["rate", str(study), "--rater", str(rater), "--no-probe", "--cluster", f"local:{WORKERS}"]
    return subprocess.Popen(
        [*script, *command, "--limit", str(limit)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


def workers_of(process: subprocess.Popen[str]) -> list[psutil.Process]:
    """Return the worker processes of a command."""
    with suppress(psutil.NoSuchProcess):
        return [one for one in psutil.Process(process.pid).children() if "spawn_main" in " ".join(one.cmdline())]
    return []


def trial(study: Path, rater: Path, served: Served, limit: int, rng: random.Random) -> str:
    """Kill somebody while further forms are rated, and return whom; the forms are finished on return."""
    process = start(study, rater, limit)
    before = len(served.asked)
    while len(served.asked) < before + rng.randint(1, FORMS - 1) and process.poll() is None:
        time.sleep(0.005)
    time.sleep(rng.uniform(0, 0.3))
    victim = rng.choice(["worker", "client"])
    if victim == "client":
        process.send_signal(signal.SIGKILL)
    else:
        for one in rng.sample(found := workers_of(process), min(1, len(found))):
            with suppress(psutil.NoSuchProcess):
                one.kill()
    output, _ = process.communicate(timeout=300)
    while process.returncode != 0:
        if victim == "worker":
            raise RuntimeError(f"expected the run to go on without a worker, got {output}")
        process = start(study, rater, limit)
        output, _ = process.communicate(timeout=300)
        victim = "client" if process.returncode == 0 else "worker"  # a second failure is one of ours
    return victim


def main() -> None:
    """Run the trials and say what was seen."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--trials", type=int, default=200)
    options.add_argument("--seed", type=int, default=1)
    given = options.parse_args()
    rng = random.Random(given.seed)
    killed = {"worker": 0, "client": 0}
    with tempfile.TemporaryDirectory() as folder, scripted(slow(0.2)) as served:
        study = built_example(Path(folder), annotators=FORMS * given.trials)
        rater = judge(Path(folder), served.url)
        for number in range(1, given.trials + 1):
            killed[trial(study, rater, served, FORMS * number, rng)] += 1
            more = check_asked_once(study, served, FORMS * number)
            if more > 2 * CONCURRENCY * number:
                raise RuntimeError(f"expected what was under way to be asked twice at most, got {more} repeats")
            sys.stdout.write(f"{number} trials, killed {killed}, {len(served.asked)} requests, {more} attempts more\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
