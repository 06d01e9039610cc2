"""Per-item Kendall over 10,000 items, one long Kendall, and HANNA's 92 measures: ratios to scipy in the same run."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import numpy as np
from scipy import stats

from analysis.correlations import PairedScores, correlate, correlate_levels, correlate_rows
from analysis.statistics.coding import Floats
from tests.benchmarks.measure import Figure

LOOPED = 500  # items that scipy's loop runs over; its cost is the same for each


def figures() -> Iterator[Figure]:
    """Yield one figure a piece of work, the best of three."""
    yield per_item()
    yield one_long()
    yield many_measures()


def per_item() -> Figure:
    """Compare 1e4 items x 15 systems of ratings with a loop over ``scipy.stats.kendalltau``."""
    rng = np.random.default_rng(1)
    a, b = (rng.integers(1, 6, size=(10_000, 15)).astype(np.float64) for _ in range(2))
    ours = _best(lambda: correlate_rows(a, b))
    peer = _best(lambda: [stats.kendalltau(x, y) for x, y in zip(a[:LOOPED], b[:LOOPED], strict=True)])
    peer *= len(a) / LOOPED
    note = f"{1000 * ours:.0f} ms for tau, rho and r of 10,000 items x 15 systems; scipy loop (tau only) {peer:.1f} s"
    return Figure(name="per-item Kendall", value=peer / ours, unit="x scipy loop", note=note)


def one_long() -> Figure:
    """Compare Kendall's tau of 1e5 ratings with scipy."""
    rng = np.random.default_rng(2)
    x = rng.integers(1, 6, size=100_000).astype(np.float64)
    y = rng.integers(1, 6, size=100_000).astype(np.float64)
    ours, peer = _best(lambda: correlate(x, y)), _best(lambda: stats.kendalltau(x, y))
    return Figure(name="Kendall, 1e5 ratings", value=peer / ours, unit="x scipy", note=f"{1000 * ours:.0f} ms")


def many_measures() -> Figure:
    """Time all levels and methods of 92 measures x 3 criteria, 96 items x 11 systems, as in HANNA."""
    rng = np.random.default_rng(3)
    item, system = np.divmod(np.arange(96 * 11), 11)
    people = rng.integers(3, 16, size=(3, 96 * 11)) / 3
    measures = rng.normal(size=(92, 96 * 11)) + people.mean(axis=0)

    def work() -> None:
        for target in people:
            for measure in measures:
                correlate_levels(PairedScores(item=item, system=system, a=measure, b=target))

    ours = _best(work)
    peer = _best(lambda: _loop(measures[0], people[0])) * 3 * len(measures)
    note = f"4 levels x 3 methods; a loop over scipy takes {peer:.0f} s"
    return Figure(name="92 measures x 3 criteria", value=ours, unit="s", note=f"{note} ({peer / ours:.0f}x)")


def _loop(a: Floats, b: Floats) -> None:
    for one, other in ((a.reshape(96, 11), b.reshape(96, 11)), (a.reshape(96, 11).T, b.reshape(96, 11).T)):
        sides = [*zip(one, other, strict=True), (a, b)] if len(one) == 96 else [*zip(one, other, strict=True)]
        for x, y in sides:
            for coefficient in (stats.kendalltau, stats.spearmanr, stats.pearsonr):
                coefficient(x, y)


def _best(work: Callable[[], object]) -> float:
    times = []
    for _ in range(3):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)
