"""How often intervals of Bradley-Terry strengths hold the truth, in stated designs.

The truth is the strength that infinitely many annotators (and items) would give: with preferences
that scatter about a Bradley-Terry model it is the model's own, and with annotators of different
taste the strength fitted to the preference probability averaged over tastes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from analysis.statistics.coding import Floats, Ints
from analysis.strengths import bradley_terry, fit_bradley_terry
from tests.calibration.table import Line

TRUTH = np.array([0.6, 0.2, -0.1, -0.7])
K = len(TRUTH)
PAIRS = np.array(list(combinations(range(K), 2)))
TASTE = 0.8  # spread of a person's taste (and of an item) about the common strengths
Rows = tuple[Ints, Ints, Floats, dict[str, Ints]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """A way of collecting comparisons, the truth behind it, and whether it is large enough to promise the level."""

    name: str
    truth: Floats
    draw: Callable[[np.random.Generator], Rows]
    enough: bool = True
    over_rows: bool = False  # leaves the clusters out, to show what that costs


def designs() -> Iterator[Design]:
    """Yield the designs of the table."""
    plain = TRUTH - TRUTH.mean()
    yield Design(name="choices, 600 rows", truth=plain, draw=lambda rng: _rows(rng, 100))
    even = np.zeros(K)
    yield Design(name="choices, 600 rows, equal systems", truth=even, draw=lambda rng: _rows(rng, 100, truth=even))
    yield Design(name="preferences, 120 rows", truth=plain, draw=lambda rng: _rows(rng, 20, fractional=True))
    mixed = _mixed_truth(1)
    for n in (3, 5, 10, 20, 50):
        yield Design(
            name=f"choices by {n} annotators, 5 a pair, clustered by annotator",
            truth=mixed,
            draw=lambda rng, n=n: _people(rng, n, fractional=False),  # type: ignore[misc]
            enough=n >= 5,
        )
    yield Design(
        name="choices by 20 annotators, 5 a pair, rows taken as independent (wrong)",
        truth=mixed,
        draw=lambda rng: _people(rng, 20, fractional=False),
        enough=False,
        over_rows=True,
    )
    for n in (10, 20, 50):
        yield Design(
            name=f"preferences by {n} annotators, 1 a pair, clustered by annotator",
            truth=mixed,
            draw=lambda rng, n=n: _people(rng, n, fractional=True),  # type: ignore[misc]
            enough=n >= 5,
        )
    crossed = _mixed_truth(2)
    for n in (10, 30):
        yield Design(
            name=f"choices by {n} annotators on the same {n} items, clustered by both",
            truth=crossed,
            draw=lambda rng, n=n: _crossed(rng, n),  # type: ignore[misc]
            enough=n >= 10,
        )


def coverage(design: Design, runs: int, seed: int, confidence: float = 0.95) -> Line:
    """Simulate a design and count the intervals that hold the truth, and the rank intervals that hold all ranks."""
    rng = np.random.default_rng(seed)
    best = 1 + np.sum(design.truth[None, :] > design.truth[:, None], axis=1)
    worst = K - np.sum(design.truth[None, :] < design.truth[:, None], axis=1)
    held, jointly, width, lost = 0, 0, 0.0, 0
    for _ in range(runs):
        x, y, won, drawn = design.draw(rng)
        clusters = {} if design.over_rows else drawn
        names = [str(number) for number in range(K)]
        found = bradley_terry(x, y, won, systems=names, clusters=clusters, confidence=confidence, rng=rng)
        if found.interval is None or not np.isfinite(found.strength).all():
            lost += 1
            continue
        held += int(np.sum((found.ci_low <= design.truth) & (design.truth <= found.ci_high)))
        jointly += bool(np.all((found.rank_low <= best) & (worst <= found.rank_high)))
        width += float(np.mean(found.ci_high - found.ci_low))
    kept = max(runs - lost, 1)
    return Line(
        name=design.name,
        nominal=confidence,
        seen=held / (K * kept),
        joint=jointly / kept,
        width=width / kept,
        runs=runs,
        lost=lost,
        promised=design.enough,
    )


def _share(strength: Floats, x: Ints, y: Ints) -> Floats:
    found: Floats = 1 / (1 + np.exp(strength[y] - strength[x]))
    return found


def _answers(rng: np.random.Generator, share: Floats, fractional: bool) -> Floats:
    """Draw choices, or preferences with that mean that scatter less than choices."""
    if fractional:
        return rng.beta(5 * share, 5 * (1 - share))
    return (rng.random(share.shape) < share).astype(np.float64)


def _rows(rng: np.random.Generator, each: int, fractional: bool = False, truth: Floats = TRUTH) -> Rows:
    x, y = np.repeat(PAIRS[:, 0], each), np.repeat(PAIRS[:, 1], each)
    return x, y, _answers(rng, _share(truth, x, y), fractional), {}


def _people(rng: np.random.Generator, n: int, fractional: bool) -> Rows:
    each = 1 if fractional else 5
    x, y = (np.tile(np.repeat(PAIRS[:, side], each), (n, 1)) for side in (0, 1))
    taste = TRUTH + rng.normal(0, TASTE, (n, K))
    share = 1 / (1 + np.exp(np.take_along_axis(taste, y, 1) - np.take_along_axis(taste, x, 1)))
    who = np.repeat(np.arange(n), x.shape[1])
    return x.ravel(), y.ravel(), _answers(rng, share, fractional).ravel(), {"annotator": who}


def _crossed(rng: np.random.Generator, n: int) -> Rows:
    """Every annotator judges every item, one pair of systems each."""
    who, what = (part.ravel() for part in np.indices((n, n)))
    pair = PAIRS[rng.integers(0, len(PAIRS), n * n)]
    x, y = pair[:, 0], pair[:, 1]
    people, items = rng.normal(0, TASTE, (n, K)), rng.normal(0, TASTE, (n, K))
    gap = TRUTH[y] - TRUTH[x] + people[who, y] - people[who, x] + items[what, y] - items[what, x]
    won = (rng.random(n * n) < 1 / (1 + np.exp(gap))).astype(np.float64)
    return x, y, won, {"annotator": who, "item": what}


def _mixed_truth(sources: int) -> Floats:
    """Fit the preference probabilities averaged over normal tastes (Gauss-Hermite quadrature)."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    spread = TASTE * np.sqrt(2 * sources)  # of the difference of two systems
    gap = TRUTH[:, None, None] - TRUTH[None, :, None] + spread * nodes
    wins = (1 / (1 + np.exp(-gap))) @ (weights / weights.sum())
    np.fill_diagonal(wins, 0.0)
    return fit_bradley_terry(wins, [str(number) for number in range(K)]).strength
