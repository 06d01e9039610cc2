"""Put small faults into the product code, one at a time, and count those that a test notices.

``python -m tests.mutants --sample 60 --seed 1`` draws lines, and one fault in each, from the functions of the product.
In a copy of the tree the suite runs once, with a probe at each drawn statement: that says which tests reach it. Then
each fault is put in, and the tests that reach it run, the quickest first, until one fails or the seconds are over:
seconds of the processor, so that another program beside it changes nothing, and five times as many by the clock.
``--keep`` writes the drawn faults to a file, and ``--these`` tries them again, in another tree for instance.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tests.mutants.operators import Mutant, all_mutants

ROOT = Path(__file__).resolve().parents[2]
PARALLEL = ("-p", "tests.forked_workers", "--processes", "auto")
FEW = 20  # tests that one process runs sooner than two start
LEFT_OUT = shutil.ignore_patterns(".git", ".venv*", "__pycache__", "dist", "demo-out", ".*_cache")


class Copy:
    """A copy of a tree, in which tests run."""

    def __init__(self, tree: Path, folder: Path) -> None:
        self.root, self.notes = folder / "project", folder
        shutil.copytree(tree, self.root, ignore=LEFT_OUT)
        shutil.copytree(Path(__file__).parent, self.root / "tests" / "mutants", dirs_exist_ok=True)
        if (tree.parent / "shared").exists():
            (folder / "shared").symlink_to((tree.parent / "shared").resolve())

    def pytest(self, *words: str, seconds: float | None = None) -> tuple[int | None, str]:
        """Run tests; the exit code is None where the time was over."""
        paths = {"PYTHONPATH": str(self.root), "OMP_NUM_THREADS": "1"}
        notes = {"MUTANTS_REACHED": str(self.notes / "reached"), "MUTANTS_TOOK": str(self.notes / "took")}
        command = [sys.executable, "-m", "pytest", "-q", "--timeout", "240", "-p", "no:cacheprovider", *words]
        with subprocess.Popen(
            command, cwd=self.root, env={**os.environ, **paths, **notes}, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, start_new_session=True,
            preexec_fn=None if seconds is None else lambda: limit(seconds),
        ) as running:  # fmt: skip
            try:
                said, _ = running.communicate(timeout=None if seconds is None else 5 * seconds)
            except subprocess.TimeoutExpired:
                os.killpg(running.pid, signal.SIGKILL)
                return None, running.communicate()[0]
        over = "ended with -24" in said or running.returncode == -signal.SIGXCPU
        return None if seconds is not None and over else running.returncode, said

    def tests_that_reach(self, mutants: Mapping[int, Mutant], where: Sequence[str]) -> dict[int, list[str]]:
        """Run the suite with probes; return the tests of each mutant, the quickest first, without those that failed."""
        for number, mutant in sorted(mutants.items(), key=lambda each: (each[1].line, each[1].column), reverse=True):
            path = self.root / mutant.path
            path.write_text(mutant.probed(path.read_text(), number))
        _, said = self.pytest(*PARALLEL, "-p", "tests.mutants.probe", *where)
        sys.stdout.write(said.splitlines()[-1] + "\n")
        took: Counter[str] = Counter()
        failed = set()
        for test, seconds, bad in read(self.notes / "took"):
            took[test] += seconds
            failed |= {test} if bad else set()
        sys.stdout.writelines(f"fails with the probes: {test}\n" for test in sorted(failed))
        reached: dict[int, list[str]] = defaultdict(list)
        for test, number in read(self.notes / "reached"):
            if test not in failed and test not in reached[number]:
                reached[number].append(test)
        return {number: sorted(tests, key=lambda test: took[test]) for number, tests in reached.items()}

    def try_out(self, mutant: Mutant, tests: Sequence[str], seconds: float) -> str:
        """Put a fault in, run its tests and take it out again; return what became of it."""
        path = self.root / mutant.path
        source = path.read_text()
        path.write_text(mutant.applied(source))
        listed = self.notes / "tests"
        listed.write_text("\n".join(tests))
        parallel = PARALLEL if len(tests) > FEW else ()
        code, said = self.pytest("-x", *parallel, f"@{listed}", seconds=seconds)
        path.write_text(source)
        fates = {None: "time is over", 0: "survives", 1: "killed", 2: "killed"}  # 2: one of two processes stops
        return fates.get(code) or f"not run ({said.splitlines()[-1][:60]})"


def limit(seconds: float) -> None:
    """Let a process and each that it starts use the processor so long at most."""
    resource.setrlimit(resource.RLIMIT_CPU, (int(seconds), int(seconds) + 5))


def read(path: Path) -> list[list[Any]]:
    """Return the rows that the probes wrote."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def drawn(tree: Path, sample: int, seed: int) -> list[Mutant]:
    """Draw lines, and one fault of each; one statement has one fault."""
    chance = random.Random(seed)
    of_line: dict[tuple[str, int], list[Mutant]] = defaultdict(list)
    for mutant in all_mutants(tree):
        of_line[mutant.path, mutant.line].append(mutant)
    found: dict[tuple[str, int], Mutant] = {}
    for path, line in chance.sample(sorted(of_line), len(of_line)):
        mutant = chance.choice(of_line[path, line])
        lines = {(path, each) for each in range(mutant.line, mutant.last_line + 1)}
        if len(set(found.values())) < sample and not lines & found.keys() and mutant.is_python(tree):
            found |= dict.fromkeys(lines, mutant)
    return list(dict.fromkeys(found.values()))


def main() -> None:
    """Draw, run the suite once, and try each fault."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--sample", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=60.0, help="for the tests of one fault")
    parser.add_argument("--tree", type=Path, default=ROOT, help="a checkout; the default is this one")
    parser.add_argument("--keep", type=Path, help="a file for the drawn faults (JSON); nothing is run")
    parser.add_argument("--these", type=Path, help="a file of drawn faults (JSON)")
    parser.add_argument("--reached", type=Path, help="a file of which tests reach each (JSON); made where it is absent")
    parser.add_argument("tests", nargs="*", help="tests to choose from; the default is all")
    given = parser.parse_args()
    tree = given.tree.resolve()
    mutants = drawn(tree, given.sample, given.seed)
    if given.keep:
        given.keep.write_text(json.dumps([asdict(mutant) for mutant in mutants], indent=1))
        return
    if given.these:
        mutants = [Mutant(**row) for row in json.loads(given.these.read_text())]
    found = {number: mutant.found_in(tree) for number, mutant in enumerate(mutants)}
    here = {number: mutant for number, mutant in found.items() if mutant is not None}  # numbers hold for every tree
    counts = Counter({"no longer there": len(mutants) - len(here)})
    with tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as second:
        if given.reached is None or not given.reached.exists():
            tests = Copy(tree, Path(first)).tests_that_reach(here, given.tests)
            if given.reached is not None:
                given.reached.write_text(json.dumps(tests))
                return
        else:
            tests = {int(number): names for number, names in json.loads(given.reached.read_text()).items()}
        copy = Copy(tree, Path(second))
        for number, mutant in here.items():
            begun, reaching = time.monotonic(), tests.get(number, [])
            fate = copy.try_out(mutant, reaching, given.seconds) if reaching else "reached by no test"
            counts[fate] += 1
            took = f"{len(reaching)} tests, {time.monotonic() - begun:.0f} s"
            change = f"{mutant.before[:50]}  ->  {mutant.after[:50]}"
            sys.stdout.write(f"{fate}: {mutant.path}:{mutant.line}: {change} ({took})\n")
            sys.stdout.flush()
    sys.stdout.write(json.dumps(counts) + "\n")


if __name__ == "__main__":
    main()
