"""Made comparisons of systems whose outputs have covariates, with a known truth."""

from __future__ import annotations

import numpy as np

from analysis.covariates.logistic import Compared
from analysis.statistics.coding import Floats, Ints

TRUTH = np.array([0.6, 0.2, -0.2, -0.6])
TASTE = np.array([0.8, -0.3])
LENGTHS = np.array([0.0, 1.0, 2.0, 3.0])  # of the systems' outputs on average: the worst writes the longest


def made(rng: np.random.Generator, n: int, *, taste: Floats = TASTE, strength: Floats = TRUTH) -> Compared:
    """Draw comparisons; the first covariate goes with the systems, against their strength."""
    k = len(strength)
    x = rng.integers(0, k, n)
    y = (x + rng.integers(1, k, n)) % k
    longer = LENGTHS[x] - LENGTHS[y] + rng.normal(size=n)
    covariates = np.column_stack([longer, rng.normal(size=n)])
    chance = 1 / (1 + np.exp(-(strength[x] - strength[y] + covariates @ taste)))
    won = (rng.random(n) < chance).astype(np.float64)
    return Compared(x=x, y=y, won=won, covariates=covariates, n_systems=k)


def design(rows: Compared) -> Floats:
    """Return the same as a plain matrix: an indicator of each system but the first, then the covariates."""
    matrix = np.zeros((len(rows), rows.n_systems))
    matrix[np.arange(len(rows)), rows.x] += 1
    matrix[np.arange(len(rows)), rows.y] -= 1
    return np.column_stack([matrix[:, 1:], rows.covariates])


def swapped(rows: Compared, which: Ints) -> Compared:
    """Return the same comparisons, some of them told from the other side."""
    turn = np.zeros(len(rows), dtype=bool)
    turn[which] = True
    return Compared(
        x=np.where(turn, rows.y, rows.x),
        y=np.where(turn, rows.x, rows.y),
        won=np.where(turn, 1 - rows.won, rows.won),
        covariates=rows.covariates * np.where(turn, -1.0, 1.0)[:, None],
        n_systems=rows.n_systems,
    )
