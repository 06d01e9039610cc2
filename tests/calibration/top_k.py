"""The best five of many systems, and their whole order, by choices: comparisons asked live and by a uniform design.

``python -m tests.calibration.top_k --out FILE`` writes the table, as ``make calibrate`` does.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.sparse.csgraph import minimum_spanning_tree
from scipy.special import expit

from analysis.sequential.top_k import BordaCounts, TopRule, next_comparisons, top_state
from analysis.sequential.whole_order import OrderRule, next_order_pairs, order_state, unsettled_systems
from analysis.statistics.coding import Floats, Ints

K, BATCH, WRONG = 5, 100, 0.05
HEAD = """# The best five of many systems by choices

Comparisons until the five of highest Borda score are named, none worse by more than the tolerance than the fifth (`make
calibrate`, {runs} studies a row, seed {seed}). **Guaranteed**: until `analysis.sequential.top_k` says so, at most 5 %
wrong at every moment: live (LUCB, the contenders on each side of the border), and a uniform design that stops by the
same bounds, in which each comparison counts for both systems. `wrong` is the share of studies that named a worse
system. **By simulation**: after how many comparisons the five highest means are wrong in at most 5 % of studies,
which only who knows the truth can tell: uniform, live, and pairs of the largest information gain under a Gaussian
approximation of Bradley-Terry, in batches by minimum spanning tree (as ASAP, Mikhailiuk et al. 2020).

Live allocation by bounds is the one that is shipped: its guarantee needs no model, and its answer is the question's.
Information gain spreads over the whole order and promises no error rate. Where all others are equally far from the
best (`gap`), every system must be looked at and little is saved.

"""
ORDER_HEAD = """
## The whole order

Comparisons until no system stands before one that wins more by the tolerance (`[stopping] order`;
{orders} studies a row): **guaranteed**, until `analysis.sequential.whole_order` says so;
**by simulation**, after how many comparisons the
order of means is wrong in at most 5 % of studies. Live asks pairs of which a system is unsettled, uniform all pairs;
bounds and stopping are the same, and each comparison counts for both systems. Live saves where the tolerance is small
against the distances of systems; where most lie closer together (`SD 0.3`), all stay unsettled to the end. By
simulation alone neither design needs fewer: a whole order is as good as its worst place, which both ask about alike.

"""
ORDER_COLUMNS = "strengths (logits)|systems|tolerance|live|wrong|uniform|wrong|live / uniform|uniform, 5 %|live, 5 %"
COLUMNS = (
    "strengths (logits)|systems|tolerance|live|wrong|uniform|wrong|live / uniform|uniform, 5 %|live, 5 %|gain, 5 %"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """Systems whose strengths are drawn anew in every study."""

    name: str
    systems: int
    tolerance: float
    draw: Callable[[np.random.Generator, int], Floats]


FIELDS = (
    *(
        Field(name="normal, SD 1", systems=n, tolerance=tolerance, draw=lambda rng, n: rng.normal(0, 1, n))
        for n, tolerance in ((20, 0.05), (50, 0.05), (50, 0.1), (200, 0.05))
    ),
    Field(name="normal, SD 0.5", systems=50, tolerance=0.05, draw=lambda rng, n: rng.normal(0, 0.5, n)),
    Field(name="uniform, -2 to 2", systems=50, tolerance=0.05, draw=lambda rng, n: rng.uniform(-2, 2, n)),
    Field(
        name="gap of 0.8, five ahead",
        systems=50,
        tolerance=0.05,
        draw=lambda rng, n: np.where(np.arange(n) < K, 0.8, 0),
    ),
)


ORDERS = (
    *(
        Field(name="normal, SD 1", systems=20, tolerance=tolerance, draw=lambda rng, n: rng.normal(0, 1, n))
        for tolerance in (0.1, 0.05, 0.02)
    ),
    Field(name="normal, SD 2", systems=20, tolerance=0.05, draw=lambda rng, n: rng.normal(0, 2, n)),
    Field(name="normal, SD 0.3", systems=20, tolerance=0.1, draw=lambda rng, n: rng.normal(0, 0.3, n)),
    Field(name="normal, SD 1", systems=50, tolerance=0.1, draw=lambda rng, n: rng.normal(0, 1, n)),
)


class Truth:
    """Systems of known strength."""

    def __init__(self, strengths: Floats, tolerance: float, rng: np.random.Generator) -> None:
        self.win = expit(strengths[:, None] - strengths[None, :])
        self.borda = (self.win.sum(axis=1) - 0.5) / (len(strengths) - 1)
        self.tolerance, self.rng = tolerance, rng

    def choose(self, x: Ints, y: Ints) -> Floats:
        """Return 1 where x won, else 0."""
        return (self.rng.random(len(x)) < self.win[x, y]).astype(float)

    def is_wrong(self, leaders: Ints | tuple[int, ...]) -> bool:
        """Say whether one of the leaders is worse by more than the tolerance than the k-th best."""
        return bool(np.min(self.borda[list(leaders)]) < np.sort(self.borda)[-K] - self.tolerance)

    def is_disordered(self, order: Ints | tuple[int, ...]) -> bool:
        """Say whether a system stands before one that wins more by the tolerance."""
        named = self.borda[list(order)]
        return bool(np.max(np.maximum.accumulate(named[::-1])[::-1] - named) >= self.tolerance)


Step = tuple[int, tuple[int, ...], bool]  # comparisons so far, leaders, whether decided


def live(truth: Truth, rule: TopRule) -> Iterator[Step]:
    """Compare as the product does."""
    counts = BordaCounts.start(len(truth.borda))
    for asked in range(BATCH, sys.maxsize, BATCH):
        pairs = next_comparisons(counts, rule, count=BATCH, rng=truth.rng)
        counts = counts.after(pairs[:, 0], truth.choose(*pairs.T))
        state = top_state(counts, rule)
        yield asked, state.leaders, state.decided


def uniform(truth: Truth, rule: TopRule) -> Iterator[Step]:
    """Compare pairs drawn uniformly; each comparison counts for both."""
    n = len(truth.borda)
    counts, batch = BordaCounts.start(n), 5 * BATCH
    for asked in range(batch, sys.maxsize, batch):
        x = truth.rng.integers(0, n, batch)
        y = truth.rng.integers(0, n - 1, batch)
        y += y >= x
        won = truth.choose(x, y)
        counts = counts.after(x, won).after(y, 1 - won)
        state = top_state(counts, rule)
        yield asked, state.leaders, state.decided


def ordered(truth: Truth, rule: OrderRule, *, adaptive: bool) -> Iterator[Step]:
    """Compare as the product does, or all pairs alike."""
    n = len(truth.borda)
    counts, batch = BordaCounts.start(n), 5 * BATCH
    for asked in range(batch, sys.maxsize, batch):
        unsettled = unsettled_systems(counts, rule) if adaptive else np.ones(n, dtype=np.bool_)
        pairs = next_order_pairs(unsettled, count=batch, rng=truth.rng)
        won = truth.choose(*pairs.T)
        for side, result in ((pairs[:, 0], won), (pairs[:, 1], 1 - won)):
            counts = counts.after(side[unsettled[side]], result[unsettled[side]])
        state = order_state(counts, rule)
        yield asked, state.order, state.decided


def information_gain(truth: Truth, rule: TopRule) -> Iterator[Step]:
    """Compare the pairs of a spanning tree of largest expected information gain."""
    n, asked = len(truth.borda), 0
    won, mean = np.zeros((n, n)), np.zeros(n)
    while True:
        for _ in range(3):  # Newton steps from the last mode, prior N(0, 1)
            p = expit(mean[:, None] - mean[None, :])
            games = won + won.T
            weight = games * p * (1 - p)
            precision = np.diag(weight.sum(axis=1) + 1) - weight
            mean = mean + np.linalg.solve(precision, (won - games * p).sum(axis=1) - mean)
        covariance = np.linalg.inv(precision)
        spread = np.diag(covariance)
        p = expit(mean[:, None] - mean[None, :])
        gain = np.log1p((spread[:, None] + spread[None, :] - 2 * covariance) * p * (1 - p)) / 2
        x, y = minimum_spanning_tree(np.max(gain) * 1.01 - np.triu(gain, 1) * (np.triu(gain, 1) > 0)).nonzero()
        result = truth.choose(x, y)
        np.add.at(won, (x, y), result)
        np.add.at(won, (y, x), 1 - result)
        asked += len(x)
        yield asked, tuple(np.argsort(-mean, kind="stable")[:K].tolist()), False


Walk = tuple[int, bool, dict[int, bool]]


def walk(steps: Iterator[Step], is_wrong: Callable[[tuple[int, ...]], bool], *, until: int | None = None) -> Walk:
    """Return when it was decided, whether wrongly, and whether the leaders or the order were wrong at each step."""
    seen = {}
    for asked, leaders, decided in steps:
        seen[asked] = is_wrong(leaders)
        if decided or (until is not None and asked >= until):
            return asked, seen[asked], seen
    raise AssertionError


def enough(runs: list[dict[int, bool]]) -> str:
    """Return the first number of comparisons from which on leaders are wrong in at most 5 % of runs."""
    grid = np.geomspace(100, max(max(seen) for seen in runs), 60).astype(int)

    def wrong(seen: dict[int, bool], asked: int) -> bool:
        known = [step for step in seen if step <= asked]
        return seen[max(known)] if known else True

    share = [np.mean([wrong(seen, asked) for seen in runs]) for asked in grid]
    late = [place for place, value in enumerate(share) if value > WRONG]
    return "more" if late and late[-1] == len(grid) - 1 else f"{grid[late[-1] + 1 if late else 0]:,}"


def row(field: Field, runs: int, seed: int) -> str:
    """Simulate one row of the table."""
    rule = TopRule(k=K, tolerance=field.tolerance)
    designs = {"live": live, "uniform": uniform, "gain": information_gain}
    found: dict[str, list[Walk]] = {name: [] for name in designs}
    for run in range(runs):
        rng = np.random.default_rng((seed, run))
        truth = Truth(field.draw(rng, field.systems), field.tolerance, rng)
        for name, design in designs.items():
            until = found["live"][-1][0] if name == "gain" else None
            found[name].append(walk(design(truth, rule), truth.is_wrong, until=until))
    return as_row(cells(field, found))


def order_row(field: Field, runs: int, seed: int) -> str:
    """Simulate one row of the table of whole orders."""
    rule = OrderRule(tolerance=field.tolerance)
    found: dict[str, list[Walk]] = {"live": [], "uniform": []}
    for run in range(runs):
        for name, each in found.items():
            rng = np.random.default_rng((seed, run))
            truth = Truth(field.draw(rng, field.systems), field.tolerance, rng)
            each.append(walk(ordered(truth, rule, adaptive=name == "live"), truth.is_disordered))
    return as_row(cells(field, found))


def cells(field: Field, found: dict[str, list[Walk]]) -> tuple[str, ...]:
    """Return the cells of a row, from the studies of each design."""
    asked = {name: float(np.mean([one[0] for one in each])) for name, each in found.items()}
    wrong = {name: f"{100 * np.mean([one[1] for one in each]):.1f} %" for name, each in found.items()}
    naive = {name: enough([one[2] for one in each]) for name, each in found.items()}
    return (
        field.name,
        str(field.systems),
        f"{field.tolerance:g}",
        *(cell for name in ("live", "uniform") for cell in (f"{asked[name]:,.0f}", wrong[name])),
        f"{asked['live'] / asked['uniform']:.2f}",
        *(naive[name] for name in ("uniform", "live", "gain") if name in naive),
    )


def as_row(cells: Iterable[str]) -> str:
    """Return a line of a Markdown table."""
    return f"| {' | '.join(cells)} |\n"


def main() -> None:
    """Simulate all rows and write the table."""
    parser = argparse.ArgumentParser(prog="python -m tests.calibration.top_k", description=__doc__)
    parser.add_argument("--runs", type=int, default=60, help="simulated studies a row")
    parser.add_argument("--orders", type=int, default=20, help="simulated studies a row of whole orders")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, help="file to write; else the table is printed")
    given = parser.parse_args()
    text = HEAD.format(runs=given.runs, seed=given.seed)
    columns = COLUMNS.split("|")
    text += as_row(columns) + as_row(["---"] * len(columns))
    text += "".join(row(field, given.runs, given.seed) for field in FIELDS)
    columns = ORDER_COLUMNS.split("|")
    text += ORDER_HEAD.format(orders=given.orders) + as_row(columns) + as_row(["---"] * len(columns))
    text += "".join(order_row(field, given.orders, given.seed) for field in ORDERS)
    if given.out:
        given.out.write_text(text, encoding="utf-8")
    else:
        sys.stdout.write(text)


if __name__ == "__main__":
    main()
