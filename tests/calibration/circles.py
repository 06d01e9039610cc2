"""How often a fitted order is rejected where one is true, and where systems go round; ``--out FILE`` writes it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from analysis.circles.circles import FEWEST
from analysis.circles.flows import Answers, PairGraph, against_one_order
from tests.calibration.command import write_table

LEVEL = 0.05
HEAD = """# One order, or circles

How often the test of [circles](../../docs/statistics.md) rejects the fitted order at 5 % (`make calibrate`, {runs}
studies a row, seed {seed}; standard error at 5 %: {error:.1f} points). Systems have normal utilities with an SD of 0.6,
everybody has utilities of their own about them (SD 0.5) and, in three systems, a *circle* adds so many log odds to a
over b, b over c and c over a. Choices: so many a pair and person. Chances: one a pair and person, to 5 %, with an
error of 0.6 log odds. *Partly*: everybody judges two fifths of the
pairs; below {fewest} people a pair (median) there is no test, which rejected up to 9 % there.
"""


def studied(
    *,
    k: int,
    n: int,
    circle: float,
    stated: bool,
    rng: np.random.Generator,
    each: int = 5,
    share: float = 1.0,
    spread: float = 0.5,
) -> Answers:
    """Simulate one study of ``n`` annotators and ``k`` systems, of whose first three each goes round by ``circle``."""
    low, high = np.triu_indices(k, 1)
    own = rng.normal(0, 0.6, k) + rng.normal(0, spread, (n, k))
    log_odds = own[:, low] - own[:, high]
    log_odds += circle * (((high == low + 1) & (high < 3)).astype(float) - ((low == 0) & (high == 2)))
    if stated:
        told = 1 / (1 + np.exp(-log_odds - rng.normal(0, 0.6 if spread < 1 else 0, log_odds.shape)))
        value, answers = np.round(told * 20) / 20 if spread < 1 else told, 1
    else:
        value, answers = rng.binomial(each, 1 / (1 + np.exp(-log_odds))) / each, each
    value = np.where(rng.random(value.shape) < share, value, np.nan)
    met = ~np.isnan(value).all(axis=0)
    graph = PairGraph(k=k, low=low[met], high=high[met])
    given = (~np.isnan(value[:, met])).sum(axis=0)
    return Answers(graph=graph, value=value[:, met], n_answers=given * float(answers), stated=stated)


def rejections(
    *,
    k: int,
    n: int,
    circle: float,
    stated: bool,
    runs: int,
    seed: int,
    draws: int = 199,
    each: int = 5,
    share: float = 1.0,
) -> float | None:
    """Return the share of studies whose fitted order is rejected at 5 %; ``None`` where most have too few a pair."""
    rng = np.random.default_rng([seed, k, n, int(100 * circle), each])
    found, tested = 0, 0
    for _ in range(runs):
        answers = studied(k=k, n=n, circle=circle, stated=stated, rng=rng, each=each, share=share)
        if np.median(answers.n) < FEWEST:
            continue
        tested += 1
        found += answers.graph.n_cycles > 0 and against_one_order(answers, rng=rng, draws=draws).p_value <= LEVEL
    return found / tested if 2 * tested >= runs else None


def write(runs: int, seed: int) -> Iterator[str]:
    """Yield the document, row by row."""
    text = HEAD.format(fewest=FEWEST, runs=f"{runs:,}", seed=seed, error=100 * np.sqrt(LEVEL * (1 - LEVEL) / runs))
    text += """
| systems | annotators | circle | chances | 5 choices | 1 choice | chances, partly |
| ---: | ---: | ---: | ---: | ---: | ---: | ---: |
"""
    for k, n, circle in (
        *((k, n, 0.0) for k in (3, 4, 6, 10) for n in (8, 12, 30, 100)),
        *((3, n, circle) for circle in (0.2, 0.4, 0.8) for n in (8, 12, 30)),
    ):
        cells = (
            rejections(k=k, n=n, circle=circle, runs=runs, seed=seed, stated=stated, each=each, share=share)
            for stated, each, share in ((True, 1, 1.0), (False, 5, 1.0), (False, 1, 1.0), (True, 1, 0.4))
        )
        said = ("not tested" if cell is None else f"{100 * cell:.1f} %" for cell in cells)
        text += f"| {k} | {n} | {circle:g} | {' | '.join(said)} |\n"
        yield text


if __name__ == "__main__":
    write_table("circles", __doc__, write, runs=1000, each="a row")
