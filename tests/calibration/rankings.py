"""How often the interval of Kendall's tau between two rankings holds the tau of the true orders."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.stats import rankdata

from analysis.answers.plan import Plan
from analysis.ranking.agreement import FEWEST_UNITS, agreement_of_rankings
from analysis.ranking.replicates import ReplicateSums
from analysis.ranking.sources import RankingSources, rank_systems
from analysis.statistics.coding import Floats
from analysis.statistics.rank_orders import Ranking, kendall_tau, order_systems
from analysis.strengths.strength_table import Judgements
from tests.calibration.table import Line

LEVEL = 0.95
TASTE = 0.5  # spread of an annotator's liking of one system, the same in both rankings
NOISE = 1.0  # of one answer
ITEMS = 2  # that each annotator orders
ORDERS = {  # true order of the systems in the second ranking
    "the same order": (0, 1, 2, 3, 4),
    "tau 0.8": (1, 0, 2, 3, 4),
    "tau 0.2": (1, 3, 0, 2, 4),
    "the reverse order": (4, 3, 2, 1, 0),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """True values of the systems in two rankings that the same annotators give, by means over annotators.

    ``ordered``: instead of answers to single systems the second are two orders of all systems by each annotator.
    """

    name: str
    first: Floats
    second: Floats
    annotators: int
    ordered: Literal["", "without ties", "with ties", "best two"] = ""


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
    close = 0.15 * even
    for ordered in ("without ties", "with ties", "best two"):
        for named in ("the same order", "the reverse order"):
            for annotators in (5, 10, 20, 30, 40):
                yield Design(
                    name=f"orders of 5 systems {ordered}, {named}, {annotators} annotators",
                    first=close,
                    second=0.15 * np.array(ORDERS[named], dtype=np.float64),
                    annotators=annotators,
                    ordered=ordered,
                )


def coverage(design: Design, runs: int, seed: int) -> Line:
    """Simulate a design and count the intervals that hold the true tau."""
    rng = np.random.default_rng(seed)
    truth = kendall_tau(design.first, design.second)
    assert truth is not None
    held, width, lost = 0, 0.0, 0
    for run in range(runs):
        taste = rng.normal(0, TASTE, (len(design.first), design.annotators))
        (first, one), (second, two) = _sides(design)
        made = [_ranking(first, one, taste, rng)]
        made += [_ordered(two, taste, design.ordered, rng) if design.ordered else _ranking(second, two, taste, rng)]
        (found,) = agreement_of_rankings(
            [ranking for ranking, _ in made],
            [sums for _, sums in made],
            confidence=LEVEL,
            seed=run,
            fewest_units=2,  # the report gives none below FEWEST_UNITS
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
        promised=design.annotators >= FEWEST_UNITS,
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


def _ordered(values: Floats, taste: Floats, kind: str, rng: np.random.Generator) -> tuple[Ranking, ReplicateSums]:
    """Draw two orders of all systems by each annotator, and rank the systems by what every two of each imply."""
    k, people = taste.shape
    utility = (values[:, None] + taste)[None] + rng.normal(0, NOISE, (ITEMS, k, people))
    rank = rankdata(-(np.round(utility) if kind == "with ties" else utility), axis=1, method="min")
    rank = np.minimum(rank, 3) if kind == "best two" else rank
    x, y = np.triu_indices(k, 1)
    won = 0.5 + np.sign(rank[:, y] - rank[:, x]) / 2  # orders, pairs, people
    judged = Judgements(
        x=np.broadcast_to(x[None, :, None], won.shape).ravel(),
        y=np.broadcast_to(y[None, :, None], won.shape).ravel(),
        won=won.ravel(),
        unit="annotator",
        of_unit=np.broadcast_to(np.arange(people)[None, None], won.shape).ravel(),
        item=None,
    )
    sources = RankingSources(plan=Plan())
    names = {"annotator": [f"{number:03}" for number in range(people)]}
    sources.add_comparisons("choices", "human", "overall", judged, [str(number) for number in range(k)], names)
    (ranking,) = rank_systems(sources, (), ())
    return ranking, sources.sums[0]
