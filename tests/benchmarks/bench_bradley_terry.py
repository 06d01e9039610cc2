"""Bradley-Terry from a million rows with intervals, and its bootstrap: ratios to peers and to plain numpy.

Targets: 8 x evalica's fit alone and 100 x statsmodels' GLM with HC0 at 1e6 rows and 20 systems, at
most 2 x the bound; 3 x arenakit and 20 x evalica for 1000 replicates of 100 systems and 1e5 rows.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from analysis.statistics.coding import Floats, Ints
from analysis.strengths import bootstrap_strengths, bradley_terry
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
