"""How often the interval of Kendall's tau between two rankings holds the tau of the true orders."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from analysis.ranking.agreement import agreement_of_rankings
from analysis.ranking.replicates import ReplicateSums
from analysis.statistics.coding import Floats
from analysis.statistics.rank_orders import Ranking, kendall_tau, order_systems
from tests.calibration.table import Line

LEVEL = 0.95
TASTE = 0.5  # spread of an annotator's liking of one system, the same in both rankings
NOISE = 1.0  # of one answer
ORDERS = {  # true order of the systems in the second ranking
    "the same order": (0, 1, 2, 3, 4),
    "tau 0.8": (1, 0, 2, 3, 4),
    "tau 0.2": (1, 3, 0, 2, 4),
    "the reverse order": (4, 3, 2, 1, 0),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """True values of the systems in two rankings that the same annotators give, by means over annotators."""

    name: str
    first: Floats
    second: Floats
    annotators: int


def designs() -> Iterator[Design]:
    """Yield the designs of the table."""
    even = np.arange(5.0)
    for step, words in ((0.15, "close"), (0.5, "apart")):
        for named, order in ORDERS.items():
            for annotators in (10, 30, 100):
                yield Design(
                    name=f"5 systems {words}, {named}, {annotators} annotators",
                    first=step * even,
                    second=step * np.array(order, dtype=np.float64),
                    annotators=annotators,
                )
    for annotators in (10, 30, 100):
        ten = 0.15 * np.arange(10.0)
        yield Design(
            name=f"10 systems close, the same order, {annotators} annotators",
            first=ten,
            second=ten,
            annotators=annotators,
        )


def coverage(design: Design, runs: int, seed: int) -> Line:
    """Simulate a design and count the intervals that hold the true tau."""
    rng = np.random.default_rng(seed)
    truth = kendall_tau(design.first, design.second)
    assert truth is not None
    held, width, lost = 0, 0.0, 0
    for run in range(runs):
        taste = rng.normal(0, TASTE, (len(design.first), design.annotators))
        made = [_ranking(source, values, taste, rng) for source, values in _sides(design)]
        (found,) = agreement_of_rankings(
            [ranking for ranking, _ in made], [sums for _, sums in made], confidence=LEVEL, seed=run
        )
        if found.ci_low is None or found.ci_high is None:
            lost += 1
            continue
        held += found.ci_low - 1e-9 <= truth <= found.ci_high + 1e-9
        width += found.ci_high - found.ci_low
    kept = max(runs - lost, 1)
    return Line(
        name=design.name,
        nominal=LEVEL,
        seen=held / kept,
        runs=runs,
        lost=lost,
        width=width / kept,
        promised=design.annotators >= 30,
    )


def _sides(design: Design) -> tuple[tuple[str, Floats], ...]:
    return ("ratings", design.first), ("choices", design.second)


def _ranking(source: str, values: Floats, taste: Floats, rng: np.random.Generator) -> tuple[Ranking, ReplicateSums]:
    """Draw one answer an annotator and system, and rank the systems by their means."""
    answers = values[:, None] + taste + rng.normal(0, NOISE, taste.shape)
    systems = tuple(str(number) for number in range(len(values)))
    named = {"source": source, "group": "human", "criterion": "overall"}
    means = dict(zip(systems, answers.mean(axis=1).tolist(), strict=True))
    sums = ReplicateSums(
        **named,
        systems=systems,
        unit="annotator",
        names=tuple(f"{number:03}" for number in range(taste.shape[1])),
        sums=answers,
        counts=np.ones_like(answers),
    )
    return Ranking(**named, order=order_systems(means, tie=0.0)), sums
