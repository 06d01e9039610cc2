"""Bradley-Terry from a million rows with intervals, and its bootstrap: ratios to peers and to plain numpy.

Targets: 8 x evalica's fit alone and 100 x statsmodels' GLM with HC0 at 1e6 rows and 20 systems, at
most 2 x the bound; 3 x arenakit and 20 x evalica for 1000 replicates of 100 systems and 1e5 rows. Of many systems,
fit and report by CPU seconds and the kernel's peak memory, medians of five: the fit at most 3 x evalica's and below
choix's, ``spa report`` at most 1.2, 2 and 3 x the demo's at 600, 1,000 and 1,500 systems, 250, 300 and 400 MB.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Any

import numpy as np

from analysis.statistics.coding import Floats, Ints
from analysis.strengths import bootstrap_strengths, bradley_terry
from analysis.strengths.counting import count_pairs
from analysis.strengths.fit import fit_pairs
from tests.benchmarks.measure import Figure

SCRIPT = Path(__file__).parent / "peers" / "strengths.py"


def figures(peers: str | None) -> Iterator[Figure]:
    """Yield our times and, where there is a Python with the peers, how many times longer each takes."""
    x, y, won = _comparisons(1_000_000, 20)
    systems = [str(number) for number in range(20)]
    ours = _best(lambda: bradley_terry(x, y, won, systems=systems), 9)
    bound = _best(lambda: _bound(x, y, won, 20), 9)
    what = "BT with sandwich, 1e6 rows, 20 systems"
    yield Figure(name=what, value=1000 * ours, unit="ms", note="best of 9")
    yield Figure(name=f"{what} / plain numpy", value=ours / bound, unit="x", note=f"bound {1000 * bound:.1f} ms; <= 2")
    yield from _ratios(what, ours, ("evalica_fit", "statsmodels_glm"), (8, 100), (x, y, won, 20), peers)
    x, y, won = _comparisons(100_000, 100)
    ours = _best(lambda: bootstrap_strengths(x, y, won, 100, rng=np.random.default_rng(1)), 3)
    what = "BT bootstrap, B = 1000, 1e5 rows, 100 systems"
    yield Figure(name=what, value=ours, unit="s", note="best of 3")
    yield from _ratios(what, ours, ("arenakit_bootstrap", "evalica_bootstrap"), (3, 20), (x, y, won, 100), peers)
    yield from many_systems(peers)


MANY = ((600, 6_000, 1.2, 250), (1_000, 20_000, 2.0, 300), (1_500, 6_000, 3.0, 400))
REPORT = """
import resource, sys
from spa.cli import run
sys.argv[0] = "spa"
try:
    run()
except SystemExit:
    pass
used = resource.getrusage(resource.RUSAGE_SELF)
print(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, file=sys.stderr)
"""


def many_systems(peers: str | None) -> Iterator[Figure]:
    """Yield CPU of the fit and of the whole report of choices among many systems, as ratios in the same run."""
    with tempfile.TemporaryDirectory() as folder:
        demo = Path(folder) / "demo"
        _report(["demo", "--out", str(demo), "--seed", "1"], folder)
        study = str(demo / "study" / "study.toml")
        for k, n, most, megabytes in MANY:
            x, y, won = _comparisons(n, k)
            what, table = f"BT of {k} systems, {n} comparisons", Path(folder) / f"choices{k}.csv"
            names = [str(number) for number in range(k)]
            ours = _cpu(lambda x=x, y=y, won=won, k=k, names=names: fit_pairs(count_pairs(x, y, won, k), names))
            yield Figure(name=f"{what}, fit", value=1000 * ours, unit="ms", note="CPU, median of 5")
            yield from _cpu_ratios(what, ours, (x, y, won, k), peers)
            _write(table, x, y, won)
            runs = [
                (_report(["report", "--choices", str(table)], folder), _report(["report", study], folder))
                for _ in range(5)
            ]
            ratio, peak = median(own[0] / other[0] for own, other in runs), median(own[1] for own, _ in runs)
            note = f"CPU, median of 5; <= {most:g}; kernel's peak {peak:.0f} MB, <= {megabytes}"
            yield Figure(name=f"{what}: spa report / the demo's", value=ratio, unit="x", peak_mib=peak, note=note)


def _report(arguments: list[str], folder: str) -> tuple[float, float]:
    """Run a command as a process of its own; return its CPU seconds and its peak memory in MB."""
    with tempfile.TemporaryDirectory(dir=folder) as place:
        out = ["--out", str(Path(place) / "report")] if arguments[0] == "report" else []
        command = [sys.executable, "-c", REPORT, *arguments, *out]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    seconds, peak = done.stderr.split()[-2:]
    return float(seconds), float(peak)


def _write(file: Path, x: Ints, y: Ints, won: Floats) -> None:
    rows = zip(x.tolist(), y.tolist(), won.tolist(), strict=True)
    lines = [f"j{n % 40},{n},s{one},s{two},{'x' if first else 'y'}" for n, (one, two, first) in enumerate(rows)]
    file.write_text("\n".join(["annotator_id,item_id,system_x,system_y,winner", *lines, ""]))


def _cpu(work: Callable[[], Any]) -> float:
    work()
    seconds = []
    for _ in range(5):
        start = process_time()
        work()
        seconds.append(process_time() - start)
    return median(seconds)


def _cpu_ratios(what: str, ours: float, data: tuple[Any, ...], peers: str | None) -> Iterator[Figure]:
    if peers is None:
        return
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "comparisons.npz"
        np.savez(file, **dict(zip(("x", "y", "won", "k"), data, strict=True)))
        for job, most in (("evalica_cpu", 3), ("choix_cpu", 1)):
            done = subprocess.run([peers, str(SCRIPT), str(file), job], capture_output=True, text=True, check=True)
            found = json.loads(done.stdout.splitlines()[-1])
            note = f"{found['version']}: {found['seconds']:.3g} s CPU, median of 5; <= {most}"
            yield Figure(
                name=f"{what}, fit: ours / {found['peer']}", value=ours / found["seconds"], unit="x", note=note
            )


def _comparisons(n: int, k: int) -> tuple[Ints, Ints, Floats]:
    rng = np.random.default_rng(1)
    strength = rng.normal(0, 0.5, k)
    x = rng.integers(0, k, n)
    y = (x + rng.integers(1, k, n)) % k
    won = rng.random(n) < 1 / (1 + np.exp(strength[y] - strength[x]))
    return x, y, won.astype(np.float64)


def _bound(x: Ints, y: Ints, won: Floats, k: int) -> tuple[Floats, Floats]:
    """Do what must be done, in plain numpy and without a check: count, five Newton steps, sandwich."""
    key = x * k + y
    played = np.bincount(key, minlength=k * k).reshape(k, k)
    first = np.bincount(key, weights=won, minlength=k * k).reshape(k, k)
    second = np.bincount(key, weights=won * won, minlength=k * k).reshape(k, k)
    wins, squares = first + (played - first).T, second + (played - 2 * first + second).T
    both, s = wins + wins.T, np.zeros(k)
    for _ in range(5):
        p = 1 / (1 + np.exp(s[None, :] - s[:, None]))
        weight = both * p * (1 - p)
        s = s + np.linalg.solve(np.diag(weight.sum(1)) - weight + 1, wins.sum(1) - (both * p).sum(1))
    bread = np.linalg.inv(np.diag(weight.sum(1)) - weight + 1)
    rest = squares - 2 * p * wins + p * p * both
    return s, bread @ (np.diag(rest.sum(1)) - rest) @ bread


def _ratios(
    what: str, ours: float, jobs: tuple[str, ...], wanted: tuple[int, ...], data: tuple[Any, ...], peers: str | None
) -> Iterator[Figure]:
    if peers is None:
        return
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "comparisons.npz"
        np.savez(file, **dict(zip(("x", "y", "won", "k"), data, strict=True)))
        for job, least in zip(jobs, wanted, strict=True):
            done = subprocess.run([peers, str(SCRIPT), str(file), job], capture_output=True, text=True, check=True)
            found = json.loads(done.stdout.splitlines()[-1])
            yield Figure(
                name=f"{what}: {found['peer']} / ours",
                value=found["seconds"] / ours,
                unit="x",
                note=f"{job} {found['version']}: {found['seconds']:.3g} s; >= {least}",
            )


def _best(work: Callable[[], Any], times: int) -> float:
    seconds = []
    for _ in range(times):
        start = perf_counter()
        work()
        seconds.append(perf_counter() - start)
    return min(seconds)
