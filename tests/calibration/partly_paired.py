"""Tests of ratings of which some are side by side, most of them of different annotators.

``python -m tests.calibration.partly_paired --out FILE`` writes the tables, as ``make calibrate`` does.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from scipy.special import stdtr

from analysis import Plan
from analysis.answers.units import ENOUGH_ANNOTATORS
from analysis.comparisons.rating_cells import RatingCells
from analysis.statistics.clustered_difference import SystemClusters, clustered_t
from analysis.statistics.coding import Floats, Ints
from tests.calibration.command import write_table
from tests.calibration.two_systems import TwoSystems, empty_cells

LEVEL, PROMISED = 0.05, 0.06
How = Literal["draw", "turn", "uneven", "apart"]
HEAD = """# Ratings of which few are side by side

Each item has one rating of each of two systems; `shared` of the items have one annotator for both (`make calibrate`,
seed {seed}). The others are dealt by `draw`: annotators drawn for each rating; `turn`: in turn; `uneven`: the first
annotators more often for x, the last for y; `apart`: one half of them for x, the other for y.

Scores are 3.3 + annotator (SD 0.6) + annotator's liking of the system (0.4) + item (0.6) + item's favour of the system
(0.4) + noise (0.8), rounded to 1 to 5; columns say which of these differ. True nulls are of what a row claims: in tests
by item likings are equal on average over the annotators, in tests by annotator favours over the items; in tests over
both, both are drawn.

## How often equal systems are said to differ at 5 %

{runs} studies a cell, shared 10 / 70 %. In {kept} of {n} cells at most 6 % and three Monte-Carlo standard errors
({bound:.1f} %), at most {most:.1f} %.
"""
POWER = """
## Four tests

All of these differ; {runs} studies a cell, shared 10 / 70 %. Found, where x is {better} better: by the `report`;
by annotator and item at once (`crossed`); by the paired t of the `shared` items alone; with annotators and items held
constant by least squares (`constant`). In brackets how often under the null of the report's test. `shared` and
`constant` do not hold for other annotators. Where one annotator gave all ratings of x and four of y, `constant` is the
difference of these four; the means of all ratings move little with one rating more.
"""
NULLS = {
    "annotators": (0.6, 0.4, 0.0, 0.0),
    "both": (0.6, 0.4, 0.6, 0.4),
}
SHARED = (0.1, 0.7)
OTHER = ("report", "crossed", "shared", "constant")
BETTER = 0.4


@dataclass(frozen=True, slots=True, kw_only=True)
class Rotation:
    """How outputs are dealt to annotators: the same one for both systems on ``shared`` of the items."""

    annotators: int
    items: int
    shared: float
    how: How = "draw"

    def draw(self, rng: np.random.Generator) -> tuple[Ints, Ints]:
        """Return who rates x and who rates y, by item."""
        n, place = self.annotators, np.arange(self.items)
        if self.how == "turn":
            x, y = place % n, (place + 1 + place // n % (n - 1)) % n
        elif self.how == "apart":
            x, y = rng.integers(0, (n + 1) // 2, self.items), rng.integers((n + 1) // 2, n, self.items)
        else:
            chance = np.linspace(1.6, 0.4, n) / n if self.how == "uneven" else np.full(n, 1 / n)
            x, y = (rng.choice(n, self.items, p=own) for own in (chance, chance[::-1]))
        same = rng.permutation(self.items) < round(self.shared * self.items)
        return x.astype(np.int64), np.where(same, x, y).astype(np.int64)


def designs() -> Iterator[tuple[int, int, How]]:
    """Yield annotators, items, and how they are dealt."""
    yield from ((3, 40, "draw"), (3, 40, "uneven"), (4, 120, "draw"), (6, 40, "apart"))
    yield from ((9, 40, "draw"), (12, 48, "draw"), (30, 60, "turn"))


def shares(
    rotation: Rotation, spread: tuple[float, ...], *, runs: int, seed: int, better: float = 0.0, others: bool = False
) -> dict[str, float]:
    """Return the share of studies in which each test finds a difference; the ``others`` than the report's if asked."""
    rng, found = np.random.default_rng(seed), dict.fromkeys(OTHER if others else OTHER[:1], 0)
    n, testing = rotation.items, TwoSystems(Plan())
    system, item = np.repeat(np.arange(2), n), np.tile(np.arange(n), 2)
    for _ in range(runs):
        who = np.concatenate(rotation.draw(rng))
        order = np.lexsort((system, item, who))
        design = empty_cells(system[order], who[order], item[order])
        annotators, items = (rng.normal(0, 1, (3, size)) for size in (rotation.annotators, n))
        noise = rng.normal(0, 0.8, 2 * n)
        few = rotation.annotators < ENOUGH_ANNOTATORS
        fixed = annotators if few else items  # as a test by unit takes them: equal on average
        centred = fixed.copy()
        centred[:2] -= centred[:2].mean(axis=1, keepdims=True)
        held = (centred, items) if few else (annotators, centred)
        cells = _scores(design, *held, spread, noise, better)
        row = testing.test(cells)
        if row.n_items is not None:
            cells = _scores(design, annotators, items, spread, noise, better)
            row = testing.test(cells)
        p_values = {"report": row.p_value}
        if others:
            p_values |= _others(cells)
        for name in found:
            p_value = p_values[name]
            found[name] += p_value is not None and p_value <= LEVEL
    return {name: count / runs for name, count in found.items()}


def _scores(
    design: RatingCells, annotators: Floats, items: Floats, spread: tuple[float, ...], noise: Floats, better: float
) -> RatingCells:
    value = 3.3 + noise + better * (design.system == 0)
    for ids, effects, (common, own) in (
        (design.annotator, annotators, spread[:2]),
        (design.item, items, spread[2:]),
    ):
        value = value + common * effects[2][ids] + own * effects[design.system, ids]
    return replace(design, value=np.clip(np.round(value), 1, 5))


def _others(cells: RatingCells) -> dict[str, float | None]:
    sums = SystemClusters(cells.system, cells.value, cells.annotator, cells.item, scale=cells.scale)
    order = np.lexsort((cells.item, cells.system))
    n = int(cells.item.max()) + 1
    x, y = cells.value[order][:n], cells.value[order][n:]
    by_x, by_y = cells.annotator[order][:n], cells.annotator[order][n:]
    same = by_x == by_y
    own = x[same] - y[same]
    fits = len(own) > 1 and own.std() > 0
    return {
        "crossed": clustered_t(sums[0], sums[1], confidence=0.95).test.p_value,
        "shared": _p(own.mean(), own.var(ddof=1) / len(own), len(own) - 1) if fits else None,
        "constant": _constant(x - y, by_x, by_y),
    }


def _constant(difference: Floats, by_x: Ints, by_y: Ints) -> float | None:
    """Test the difference with annotators and items as effects: least squares of the items' differences."""
    n, k = len(difference), int(max(by_x.max(), by_y.max())) + 1
    design = np.zeros((n, k))
    np.add.at(design, (np.arange(n), by_x), 1.0)
    np.add.at(design, (np.arange(n), by_y), -1.0)
    design = np.column_stack([np.ones(n), design])
    rank = int(np.linalg.matrix_rank(design))
    alone = np.linalg.matrix_rank(design[:, 1:]) < rank
    if not alone or n <= rank:
        return None
    inverse = np.linalg.pinv(design.T @ design)
    fit = inverse @ (design.T @ difference)
    rest = difference - design @ fit
    return _p(float(fit[0]), float(inverse[0, 0] * (rest @ rest) / (n - rank)), n - rank)


def _p(estimate: float, variance: float, df: int) -> float:
    return float(2 * stdtr(df, -abs(estimate) / np.sqrt(variance))) if variance > 0 else 1.0


def write(runs: int, seed: int) -> Iterator[str]:
    """Run all designs and yield the document with each that is done."""
    first = ["annotators", "items", "dealt"]
    levels = [_row([*first, *NULLS]), _row(["---"] * (len(first) + len(NULLS)))]
    power = [_row([*first, *OTHER]), _row(["---"] * (len(first) + len(OTHER)))]
    bound = PROMISED + 3 * (PROMISED * (1 - PROMISED) / runs) ** 0.5
    few, seen = max(runs // 10, 1), list[float]()
    for annotators, items, how in designs():
        sys.stderr.write(f"{annotators} annotators, {how}\n")
        rotations = [Rotation(annotators=annotators, items=items, shared=shared, how=how) for shared in SHARED]
        named = [str(annotators), str(items), how]
        found = [
            [shares(one, spread, runs=runs, seed=seed)["report"] for one in rotations] for spread in NULLS.values()
        ]
        seen += [share for own in found for share in own]
        levels.append(_row([*named, *(_percent(own) for own in found)]))
        effects = [
            [shares(one, NULLS["both"], runs=few, seed=seed + 1, better=better, others=True) for one in rotations]
            for better in (BETTER, 0.0)
        ]
        cells = [
            f"{_percent([one[name] for one in effects[0]])} ({_percent([one[name] for one in effects[1]])})"
            for name in OTHER
        ]
        power.append(_row([*named, *cells]))
        head = HEAD.format(
            seed=seed,
            runs=runs,
            kept=sum(share <= bound for share in seen),
            n=len(seen),
            bound=100 * bound,
            most=100 * max(seen),
        )
        yield "\n".join([head, *levels, POWER.format(runs=few, better=BETTER), *power]) + "\n"


def _percent(values: Iterable[float]) -> str:
    return " / ".join(f"{100 * value:.1f}" for value in values)


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    write_table("partly_paired", __doc__, write, runs=5000)
