"""How often intervals of strengths of many systems hold the truth, without and with adjusted residuals.

``python -m tests.calibration.many_systems --out FILE`` writes the table, as ``make calibrate`` does.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from analysis.statistics.coding import Floats, Ints
from analysis.strengths import sparse_sandwich
from analysis.strengths.bounds import LEAST_DF
from analysis.strengths.many_systems import estimate_many

K = 320
SPREAD, TASTE = 0.7, 0.5
FLATTER = 1 / np.sqrt(1 + 2 * TASTE**2 * (16 * np.sqrt(3) / (15 * np.pi)) ** 2)  # of logits averaged over tastes
DESIGNS = ((20, 40, 0.0), (10, 40, 0.0), (40, 12, 0.0), (20, 40, 0.3))  # comparisons a system, annotators, of the first
HEAD = """# Intervals of strengths of many systems

How often 95 % intervals of {k} systems' strengths hold the truth ({runs} studies a design, seed {seed};
`make calibrate`). Strengths are normal (SD {spread:g}); annotators have tastes of their own (SD {taste:g} a system, in
logits). `first`: share of the comparisons that the first annotator gives, others by chance. `t(G - 1)`: the factor
G / (G - 1) and as many degrees of freedom, as above 300 systems where no annotator holds a third of a system's
leverage; `CR2`: residuals adjusted, with degrees of freedom of their own, as elsewhere (in brackets the share of
systems that have an interval). `width`: of the first over the second.

| comparisons a system | annotators | first | t(G - 1) | CR2 | width |
| --- | --- | --- | --- | --- | --- |
"""


def drawn(
    rng: np.random.Generator, each: int, n_annotators: int, first: float
) -> tuple[Ints, Ints, Floats, Ints, Floats]:
    """Draw comparisons, by whom, and the strengths that infinitely many annotators would give."""
    strength, taste = rng.normal(0, SPREAD, K), rng.normal(0, TASTE, (n_annotators, K))
    n = K * each // 2
    x = rng.integers(0, K, n)
    y = (x + rng.integers(1, K, n)) % K
    who = np.where(rng.random(n) < first, 0, rng.integers(0, n_annotators, n))
    gap = strength[x] + taste[who, x] - strength[y] - taste[who, y]
    won = (rng.random(n) < 1 / (1 + np.exp(-gap))).astype(np.float64)
    return x, y, won, who, strength * FLATTER


def bounds(x: Ints, y: Ints, won: Floats, who: Ints, much: float) -> tuple[Floats, Floats, Floats]:
    """Return strengths and their bounds, with the share of leverage from which residuals are adjusted."""
    kept, sparse_sandwich.MUCH = sparse_sandwich.MUCH, much
    found = estimate_many(
        x,
        y,
        won,
        [*map(str, range(K))],
        clusters={"annotator": who},
        weights=None,
        confidence=0.95,
        alike=None,
        least_df=LEAST_DF,
    )
    sparse_sandwich.MUCH = kept
    columns = np.full((4, K), np.nan) if found.columns is None else found.columns
    return found.strength, columns[2], columns[3]


def lines(runs: int, seed: int) -> Iterator[str]:
    """Yield a row of the table for each design."""
    for design in DESIGNS:
        each, n_annotators, first = design
        covered: dict[float, list[tuple[float, float, float]]] = {1.0: [], 0.0: []}
        for run in range(runs):
            x, y, won, who, truth = drawn(np.random.default_rng([seed, run, *map(int, design[:2])]), *design)
            for much, rows in covered.items():
                strength, low, high = bounds(x, y, won, who, much)
                known, own = np.isfinite(strength), np.isfinite(low)
                aim = truth - truth[known].mean()
                rows.append(
                    (
                        float(np.mean((low <= aim)[own] & (aim <= high)[own])),
                        float(np.mean(high[own] - low[own])),
                        float(own.sum() / known.sum()),
                    )
                )
        one, two = (100 * np.mean(rows, axis=0) for rows in covered.values())
        known = f"{two[0]:.1f} ({two[2]:.0f}%)"
        yield f"| {each} | {n_annotators} | {first:g} | {one[0]:.1f} | {known} | {one[1] / two[1]:.2f} |"


def main() -> None:
    """Run the designs."""
    parser = argparse.ArgumentParser(prog="python -m tests.calibration.many_systems", description=__doc__)
    parser.add_argument("--runs", type=int, default=40, help="simulated studies a design")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, required=True, help="file to write")
    given = parser.parse_args()
    head = HEAD.format(k=K, runs=given.runs, seed=given.seed, spread=SPREAD, taste=TASTE)
    given.out.write_text(head + "\n".join(lines(given.runs, given.seed)) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
