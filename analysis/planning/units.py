"""Engines of tests over items, and of those whose unit depends on how many annotators stay."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal

import numpy as np

from analysis.answers.units import ENOUGH_ANNOTATORS
from analysis.planning.assumptions import Assumptions
from analysis.planning.contributions import FINEST, Contributions, impossible, staying
from analysis.planning.dealt import DealtItems
from analysis.planning.item_power import JudgedItems, judged_items, uneven_power
from analysis.planning.power import LEAST, chances_to_stay, expected_power, t_power
from analysis.planning.ranked import share_components
from analysis.planning.solve import MOST

ALIKE = "everybody is taken to judge all items alike, so that nothing varies: give --residual-sd"
NODES = 5  # numbers of annotators between which power over items is interpolated
MIXED = 0.01  # chance that few annotators stay, above which a check would have to draw both units
RARE = 1e-4  # chance that few annotators stay, which is not looked at
SMALLEST = 1e-3  # SD between items' shares, as a beta distribution needs one


@dataclass(frozen=True, slots=True, kw_only=True)
class OverItems:
    """The engine of tests over items, for these annotators only; ``recruited`` where their number is given."""

    assumptions: Assumptions
    recruited: int | None = None
    most: int = MOST
    switch: int | None = None

    def possible(self, difference: float) -> bool:
        """Whether items' means of this SD can differ so much; where the number of annotators is not given, they can."""
        if self.recruited is None:
            return True
        judged = self.judged(round(self.recruited * (1 - self.assumptions.exclusion_rate)), self.recruited)
        return judged is not None and Contributions(assumptions=_turned(self.assumptions, judged)).possible(difference)

    def too_few(self, difference: float, power: float, alpha: float) -> str | None:
        """Return why no number of annotators is enough: infinitely many would not find it on so few items."""
        made = self.assumptions
        if made.hands is not None and tested_over(made, ENOUGH_ANNOTATORS - 1).sd == 0:
            return ALIKE
        if not made.components.item_sd or made.pool is None:
            return None
        if float(t_power(difference / made.components.item_sd, made.pool, alpha=alpha)) > power:
            return None
        return f"more items than the study's {made.pool:,}, as the test is over items"

    def power(self, annotators: int, difference: float, alpha: float) -> float:
        """Return the power with so many recruited, averaged over who stays."""
        kept, chances = chances_to_stay(annotators, self.assumptions.exclusion_rate)
        likely = (kept > 0) & (chances > 1e-5 * chances.max())
        kept, chances = kept[likely], chances[likely]
        if not len(kept):
            return 0.0
        nodes = np.unique(
            np.linspace(kept[0], kept[-1], NODES if kept[-1] > ENOUGH_ANNOTATORS else len(kept)).astype(int)
        )
        found = [self.of_kept(int(n), annotators, difference, alpha) for n in nodes]
        return float(chances @ np.interp(kept, nodes, found))

    def of_kept(self, kept: int, recruited: int, difference: float, alpha: float) -> float:
        """Return the power of so many who stay: that of normal means, and what the scale of answers changes."""
        judged = self.judged(kept, recruited)
        if judged is None:
            return 0.0
        dealt = self.assumptions.hands
        if dealt is not None and dealt.items == 1 and recruited <= dealt.pool and judged.counts == (1,):
            once = np.array([kept]), np.ones(1)  # each annotator has an item: the test is that over annotators
            return Contributions(assumptions=self.assumptions).averaged(*once, recruited, difference, alpha)
        made = self.assumptions
        times = tuple((often, share / made.meets) for often, share in made.judged if often)
        if made.kind in ("ranking", "choices") and made.unit == "auto" and len(times) > 1:
            number = max(1, round(kept * made.meets))
            over = {"annotators": number, "pool": judged.pool}
            return uneven_power(made.components, times, **over, difference=difference, alpha=alpha)
        found, n = judged.power(difference, alpha), round(judged.n)
        if n < LEAST:
            return found
        by_scale = Contributions(assumptions=_turned(self.assumptions, judged))
        if by_scale.assumptions.sd < _coarsest(by_scale.assumptions) or not by_scale.possible(difference):
            return found
        changed = by_scale.power(n, difference, alpha)
        changed -= expected_power(difference / by_scale.assumptions.sd, n, alpha=alpha)
        return min(1.0, max(0.0, found + changed))

    def sawtooth_span(self, annotators: int, difference: float, alpha: float) -> int:
        """Return among how many more annotators power can step down, as evenness of the items comes and goes."""
        return 2

    def judged(self, kept: int, recruited: int) -> JudgedItems | None:
        """Return the items as so many judge them; without a known pool each answer is about another item."""
        made = self.assumptions
        dealt = made.hands
        if dealt is None:
            each = max(1, math.ceil(made.items_judged))
            dealt = DealtItems(rated=each, dealt=each, pool=max(recruited * each, LEAST))
        return _judged(made, dealt, kept, recruited)


def _coarsest(turned: Assumptions) -> float:
    """Return the step of the scale of ratings where it is wider than the answers' own, which are drawn on no finer."""
    ends = turned.points - 1
    return ends / (FINEST // 2) if turned.kind == "likert" and turned.items_judged > FINEST // (2 * ends) else 0.0


@lru_cache(maxsize=256)
def _judged(made: Assumptions, dealt: DealtItems, kept: int, recruited: int) -> JudgedItems | None:
    named = made.unit == "item"
    drawn = named and recruited >= ENOUGH_ANNOTATORS
    return judged_items(made.components, dealt, kept=kept, recruited=recruited, alike=named, drawn=drawn)


@lru_cache(maxsize=256)
def _turned(made: Assumptions, judged: JudgedItems) -> Assumptions:
    """Return the plan of items as if they were annotators, each of whom judges a pair once for each annotator."""
    left: dict[str, Any] = {"exclusion_rate": 0.0, "pool": None, "sessions": 1, "unit": "annotator", "directions": 1}
    if made.kind in ("ranking", "choices"):
        total = sum(judged.shares)
        times = tuple((count, share / total) for count, share in zip(judged.counts, judged.shares, strict=True))
        components = share_components(max(made.components.item_sd, SMALLEST), made.ties)
        return replace(made, components=components, judged=times, **left)
    shared, number = made.components.item_sd, judged.typical
    rest = math.sqrt(max(judged.variance - shared**2, 0.0) * number)
    components = replace(made.components, annotator_sd=shared, item_sd=0.0, residual_sd=rest, answer_sd=0.0)
    return replace(made, components=components, n_items=number, **left)


@dataclass(frozen=True, slots=True, kw_only=True)
class FewOrMany:
    """The engine of tests over annotators where ten of them or more stay, else over items."""

    assumptions: Assumptions
    most: int = MOST
    switch: int | None = ENOUGH_ANNOTATORS

    def possible(self, difference: float) -> bool:
        """Whether answers of this SD can differ so much."""
        return Contributions(assumptions=self.assumptions).possible(difference)

    def too_few(self, difference: float, power: float, alpha: float) -> str | None:
        """Return why no number of annotators is enough: no answers such as assumed differ so much."""
        return impossible(self.assumptions, difference)

    def power(self, annotators: int, difference: float, alpha: float) -> float:
        """Return the power with so many recruited, averaged over who stays and so over the unit."""
        made, many = self.assumptions, Contributions(assumptions=self.assumptions)
        kept, chances = staying(made, annotators)
        few = kept < ENOUGH_ANNOTATORS
        if chances[few].sum() < RARE:
            return many.power(annotators, difference, alpha)
        items, found = OverItems(assumptions=made), 0.0
        for n, chance in zip(kept[few].tolist(), chances[few].tolist(), strict=True):
            if chance > RARE * chances.max():
                judges = min(annotators, round(n / made.meets))
                found += chance * items.of_kept(judges, annotators, difference, alpha)
        if few.all():
            return found
        return found + many.averaged(kept[~few], chances[~few], annotators, difference, alpha)

    def sawtooth_span(self, annotators: int, difference: float, alpha: float) -> int:
        """Return among how many more annotators power can step down."""
        return Contributions(assumptions=self.assumptions).sawtooth_span(annotators, difference, alpha)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tested:
    """What a test with so many annotators is over: how many units, and the SD between them."""

    unit: Literal["annotator", "item"]
    n: int
    sd: float


def tested_over(assumptions: Assumptions, annotators: int) -> Tested:
    """Return what the report tests over where as many of the annotators stay as is expected.

    The SD between items is that of the mean of their variances over who stays.
    """
    expected = annotators * (1 - assumptions.absent)
    over_items = assumptions.unit == "item" or (assumptions.unit == "auto" and round(expected) < ENOUGH_ANNOTATORS)
    if not over_items or assumptions.own_items is not None:
        return Tested(unit="annotator", n=annotators, sd=assumptions.sd)
    items = OverItems(assumptions=assumptions)
    kept, chances = chances_to_stay(annotators, assumptions.exclusion_rate)
    likely = chances > 0.001 * chances.max()
    found = [(items.judged(int(n), annotators), c) for n, c in zip(kept[likely], chances[likely], strict=True)]
    there = [(judged, chance) for judged, chance in found if judged is not None]
    if not there:
        return Tested(unit="item", n=0, sd=assumptions.components.contribution_sd(1))
    total = sum(chance for _, chance in there)
    variance = sum(chance * judged.variance for judged, chance in there) / total
    n = sum(chance * judged.n for judged, chance in there) / total
    return Tested(unit="item", n=round(n), sd=math.sqrt(variance))


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnUnits:
    """What a check draws: so many contributions of a plan over annotators; items are turned into such a plan."""

    assumptions: Assumptions
    n: int


def drawn_units(assumptions: Assumptions, annotators: int) -> DrawnUnits | None:
    """Return the units of the test that a check draws; ``None`` where they may be both, or nothing pairs."""
    if assumptions.own_items is not None:
        return None
    if tested_over(assumptions, annotators).unit == "annotator":
        kept, chances = staying(assumptions, annotators)
        mixed = assumptions.unit == "auto" and chances[kept < ENOUGH_ANNOTATORS].sum() > MIXED
        return None if mixed else DrawnUnits(assumptions=assumptions, n=annotators)
    number = round(annotators * (1 - assumptions.exclusion_rate))
    judged = OverItems(assumptions=assumptions).judged(number, annotators)
    certain = number == annotators or assumptions.unit == "item"
    if judged is None or round(judged.n) < LEAST or not certain:
        return None
    return DrawnUnits(assumptions=_turned(assumptions, judged), n=round(judged.n))
