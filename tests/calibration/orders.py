"""How often intervals of Plackett-Luce strengths hold the strengths that very many orders give."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Literal, TypeAlias, get_args

import numpy as np
from scipy.stats import rankdata

from analysis.orders.plackett_luce import PlackettLuce, plackett_luce
from analysis.statistics.coding import Floats, Ints
from tests.calibration.table import Line

Kind: TypeAlias = Literal["without ties", "with ties", "of the best two"]
LEVEL = 0.95
TRUTH = np.linspace(0.8, -0.8, 5)
TASTE = 0.5  # spread of an annotator's liking of one system
ORDERS = 3  # by each annotator
COARSE = 1.2  # utilities are rounded to multiples of it where there are ties
MANY = 20_000  # annotators whose orders give the truth


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderDesign:
    """Orders of five systems by so many annotators."""

    kind: Kind
    annotators: int


def designs() -> Iterator[OrderDesign]:
    """Yield the designs of the table."""
    for kind in get_args(Kind):
        for annotators in (5, 10, 20, 40):
            yield OrderDesign(kind=kind, annotators=annotators)


def coverage(design: OrderDesign, runs: int, seed: int) -> Line:
    """Simulate a design and count the intervals that hold the true strengths."""
    truth, rng = _truth(design.kind), np.random.default_rng(seed)
    found = [_fitted(design.kind, design.annotators, rng) for _ in range(runs)]
    known = [one for one in found if np.isfinite(one.ci_low).all()]
    low, high = (np.array([getattr(one, name) for one in known]) for name in ("ci_low", "ci_high"))
    return Line(
        name=f"orders of 5 systems {design.kind}, {design.annotators} annotators",
        nominal=LEVEL,
        seen=float(np.mean((low <= truth) & (high >= truth))) if known else float("nan"),
        runs=runs,
        lost=runs - len(known),
        width=float(np.mean(high - low)) if known else None,
        promised=bool(known),
    )


def _fitted(kind: Kind, annotators: int, rng: np.random.Generator) -> PlackettLuce:
    ranks, who = _orders(kind, annotators, rng)
    return plackett_luce(ranks, systems="abcde", cluster=who, rng=rng)


@cache
def _truth(kind: Kind) -> Floats:
    return _fitted(kind, MANY, np.random.default_rng(0)).strength


def _orders(kind: Kind, annotators: int, rng: np.random.Generator) -> tuple[Floats, Ints]:
    who = np.repeat(np.arange(annotators), ORDERS)
    liking = rng.normal(0, TASTE, (annotators, len(TRUTH)))[who]
    utility = TRUTH + liking + rng.gumbel(size=liking.shape)
    if kind == "with ties":
        utility = np.round(utility / COARSE)
    ranks: Floats = rankdata(-utility, axis=1, method="min").astype(np.float64)
    return np.minimum(ranks, 3) if kind == "of the best two" else ranks, who
