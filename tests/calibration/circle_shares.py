"""How often the interval of what goes round holds the truth; ``--out FILE`` writes it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from analysis.circles.flows import Answers, PairGraph, cyclic_interval
from tests.calibration.command import write_table

LARGE = 60_000  # people whose answers are taken for the truth
HEAD = """# The share that goes round

How often the 95 % interval of the share of [circles](../../docs/judges.md) holds its true value (`make calibrate`,
{runs} studies a row, seed {seed}; standard error at 95 %: {error:.1f} points), and its mean width. Systems have fixed
utilities (SD 0.6), people others about them (SD 0.5); in three systems a *circle* adds so many log odds. Chances: one a
pair and person, to 5 %, with an error of 0.6 log odds; choices: five. Truth: the share among {large} people.

| systems | circle | answers | truth | people | holds | too low | too high | width |
| ---: | ---: | :-- | ---: | ---: | ---: | ---: | ---: | ---: |
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """Systems, how far three of them go round in log odds, and whether chances are stated or choices made."""

    k: int
    circle: float
    stated: bool

    def study(self, n: int, rng: np.random.Generator) -> Answers:
        """Simulate the answers of ``n`` people; the systems' utilities are the same in each study."""
        low, high = np.triu_indices(self.k, 1)
        own = np.random.default_rng(self.k).normal(0, 0.6, self.k) + rng.normal(0, 0.5, (n, self.k))
        log_odds = own[:, low] - own[:, high]
        log_odds += self.circle * (((high == low + 1) & (high < 3)).astype(float) - ((low == 0) & (high == 2)))
        if self.stated:
            value = np.round(20 / (1 + np.exp(-log_odds - rng.normal(0, 0.6, log_odds.shape)))) / 20
        else:
            value = rng.binomial(5, 1 / (1 + np.exp(-log_odds))) / 5
        n_answers = np.full(len(low), float(n if self.stated else 5 * n))
        graph = PairGraph(k=self.k, low=low, high=high)
        return Answers(graph=graph, value=value, n_answers=n_answers, stated=self.stated)

    def truth(self) -> float:
        """Return the share of curl and harmonic part together among very many people."""
        answers = self.study(LARGE, np.random.default_rng(0))
        shares = answers.graph.shares(answers.flow, answers.n)
        assert shares is not None
        return 1 - shares.gradient


def missed(design: Design, n: int, *, runs: int, seed: int, draws: int = 399) -> tuple[float, float, float]:
    """Return how often the truth lies above the interval and below it, and the mean width."""
    rng, truth = np.random.default_rng([seed, design.k, n, int(10 * design.circle), design.stated]), design.truth()
    found = np.array([cyclic_interval(design.study(n, rng), rng=rng, draws=draws) for _ in range(runs)])
    above, below = np.mean(found[:, 1] < truth - 1e-9), np.mean(found[:, 0] > truth + 1e-9)
    return float(above), float(below), float(np.mean(found[:, 1] - found[:, 0]))


def write(runs: int, seed: int) -> Iterator[str]:
    """Yield the document, row by row."""
    text = HEAD.format(runs=f"{runs:,}", seed=seed, error=100 * np.sqrt(0.95 * 0.05 / runs), large=f"{LARGE:,}")
    for design in (
        Design(k=k, circle=circle, stated=stated)
        for k in (3, 4, 6)
        for circle in (0.0, 0.2, 0.5)
        for stated in (True, False)
    ):
        for n in (20, 40, 100):
            above, below, width = missed(design, n, runs=runs, seed=seed)
            asked = "chances" if design.stated else "choices"
            text += f"| {design.k} | {design.circle:g} | {asked} | {100 * design.truth():.1f} % | {n} "
            text += f"| {100 * (1 - above - below):.1f} % | {100 * above:.1f} % | {100 * below:.1f} % "
            text += f"| {100 * width:.0f} points |\n"
            yield text


if __name__ == "__main__":
    write_table("circle_shares", __doc__, write, runs=1000, each="a row")
