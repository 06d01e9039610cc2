"""How often the interval of what goes round holds the truth; ``--out FILE`` writes it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from analysis.circles.flows import Answers, PairGraph, cyclic_intervals
from tests.calibration.command import write_table

LARGE = 60_000  # people whose answers are taken for the truth
HEAD = """# The share that goes round

How often the 95 % interval of the share of [circles](../../docs/judges.md) holds its true value (`make calibrate`,
{runs} studies a row, seed {seed}; standard error at 95 %: {error:.1f} points), and its mean width. Systems have fixed
utilities (SD 0.6), people others about them (SD 0.5); in three systems a *circle* adds so many log odds. Chances: one a
pair and person, to 5 %, with an error of 0.6 log odds; choices: five. Truth: the share among {large} people.

{parts}

## Curl and harmonic part together

| systems | circle | answers | truth | people | holds | too low | too high | width |
| ---: | ---: | :-- | ---: | ---: | ---: | ---: | ---: | ---: |
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """Systems, how far three of them go round in log odds, and whether chances are stated or choices made."""

    k: int
    circle: float
    stated: bool
    longer: float | None = None
    """Log odds that a circle of the first and the last four of six systems adds; else all pairs are compared."""

    @property
    def graph(self) -> PairGraph:
        """Return the pairs: all, or one triangle and a circle of five, which share the pair of systems 0 and 2."""
        if self.longer is None:
            low, high = np.triu_indices(self.k, 1)
            return PairGraph(k=self.k, low=low, high=high)
        return PairGraph(k=6, low=np.array([0, 0, 0, 1, 2, 3, 4]), high=np.array([1, 2, 5, 2, 3, 4, 5]))

    def study(self, n: int, rng: np.random.Generator) -> Answers:
        """Simulate the answers of ``n`` people; the systems' utilities are the same in each study."""
        low, high = self.graph.low, self.graph.high
        own = np.random.default_rng(self.k).normal(0, 0.6, self.k) + rng.normal(0, 0.5, (n, self.k))
        log_odds = own[:, low] - own[:, high]
        log_odds += self.circle * (((high == low + 1) & (high < 3)).astype(float) - ((low == 0) & (high == 2)))
        if self.longer is not None:
            log_odds += self.longer * (((high == low + 1) & (low > 1)).astype(float) - ((low == 0) & (high == 5)))
        if self.stated:
            value = np.round(20 / (1 + np.exp(-log_odds - rng.normal(0, 0.6, log_odds.shape)))) / 20
        else:
            value = rng.binomial(5, 1 / (1 + np.exp(-log_odds))) / 5
        n_answers = np.full(len(low), float(n if self.stated else 5 * n))
        return Answers(graph=self.graph, value=value, n_answers=n_answers, stated=self.stated)

    def truth(self, part: str = "cyclic") -> float:
        """Return the share of curl, harmonic part or both together among very many people."""
        answers = self.study(LARGE, np.random.default_rng(0))
        shares = answers.graph.shares(answers.flow, answers.n)
        assert shares is not None
        return {"cyclic": 1 - shares.gradient, "curl": shares.curl, "harmonic": shares.harmonic}[part]


def missed(
    design: Design, n: int, *, runs: int, seed: int, part: str = "cyclic", draws: int = 399
) -> tuple[float, float, float]:
    """Return how often the truth lies above the interval and below it, and the mean width."""
    rng = np.random.default_rng([seed, design.k, n, int(10 * design.circle), design.stated])
    truth = design.truth(part)
    found = np.array([getattr(cyclic_intervals(design.study(n, rng), rng=rng, draws=draws), part) for _ in range(runs)])
    above, below = np.mean(found[:, 1] < truth - 1e-9), np.mean(found[:, 0] > truth + 1e-9)
    return float(above), float(below), float(np.mean(found[:, 1] - found[:, 0]))


def _row(design: Design, n: int, part: str, runs: int, seed: int) -> str:
    above, below, width = missed(design, n, runs=runs, seed=seed, part=part)
    asked = "chances" if design.stated else "choices"
    return (
        f"{asked} | {100 * design.truth(part):.1f} % | {n} | {100 * (1 - above - below):.1f} % | {100 * above:.1f} % "
        f"| {100 * below:.1f} % | {100 * width:.0f} points |\n"
    )


def _parts(runs: int, seed: int) -> Iterator[str]:
    """Yield the table of each part, row by row."""
    yield """## Each part alone

Six systems, of which three make a triangle and five a longer circle, no others compared. Circle and longer: log odds
added around them.

| part | circle | longer | answers | truth | people | holds | too low | too high | width |
| :-- | ---: | ---: | :-- | ---: | ---: | ---: | ---: | ---: | ---: |
"""
    for circle, longer in ((0.0, 0.0), (0.5, 0.0), (0.0, 0.5), (0.5, 0.5)):
        for stated in (True, False):
            design = Design(k=6, circle=circle, stated=stated, longer=longer)
            for n in (20, 40, 100):
                for part in ("curl", "harmonic"):
                    yield f"| {part} | {circle:g} | {longer:g} | {_row(design, n, part, runs, seed)}"


def write(runs: int, seed: int) -> Iterator[str]:
    """Yield the document, row by row."""
    parts = "".join(_parts(runs, seed)).rstrip()
    error = 100 * np.sqrt(0.95 * 0.05 / runs)
    text = HEAD.format(runs=f"{runs:,}", seed=seed, error=error, large=f"{LARGE:,}", parts=parts)
    for k in (3, 4, 6):
        for circle in (0.0, 0.2, 0.5):
            for stated in (True, False):
                for n in (20, 40, 100):
                    design = Design(k=k, circle=circle, stated=stated)
                    text += f"| {k} | {circle:g} | {_row(design, n, 'cyclic', runs, seed)}"
                    yield text


if __name__ == "__main__":
    write_table("circle_shares", __doc__, write, runs=1000, each="a row")
