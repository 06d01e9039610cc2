"""A plan: assumptions in, annotators, cost, detectable differences, a simulated check and curves out."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cache, lru_cache, partial
from itertools import product
from typing import Literal

import numpy as np

from analysis.answers.units import ENOUGH_ANNOTATORS
from analysis.planning.assumptions import CHANCE, Assumptions
from analysis.planning.contributions import answers, spread_of_mean, staying
from analysis.planning.crossed_power import crossed_detectable
from analysis.planning.engines import engine_for
from analysis.planning.power import LEAST
from analysis.planning.simulate import FamilySimulation, simulate_family
from analysis.planning.solve import (
    MOST,
    Detectable,
    Need,
    detectable_difference,
    lasting_number,
    normal_need,
    smallest_found,
)
from analysis.planning.units import ALIKE, drawn_units, tested_over

Truth = Literal["all differ", "unequal", "one differs"]
CURVE_POINTS = 40
SEARCHES = 256  # results that are kept: a study is planned, checked and shown more than once
NOT_DRAWN = (
    f"no check, as fewer than {ENOUGH_ANNOTATORS} annotators may stay, who are tested over items: the power reached is "
    "the mean over who stays"
)
TESTS, FEWEST_STUDIES = 2_000_000, 200  # simulated for one row; of so many pairs fewer studies
CLEAR = 5  # annotators who find a winner of whom all are about as sure


@dataclass(frozen=True, slots=True, kw_only=True)
class NeedRow:
    """One difference and power: what the whole family needs, what a lone test would, and the check by drawing.

    Attributes
    ----------
    need : Need
        At the level fwer / n_tests: enough whatever the other tests show.
    lone : Need
        At the level fwer: what Holm's last step, or a family of one, needs.
    alone, together : FamilySimulation or None
        Power drawn for ``need.annotators`` where only this pair differs, and where all pairs do.
    reason : str or None
        Why nothing was drawn.
    few : int or None
        Smaller number, below ten, that finds it over items, for these annotators only.
    by_annotator : int or None
        Number below ten that would find it if the report tested so few over annotators.
    """

    need: Need
    lone: Need
    cost: Decimal | None
    alone: FamilySimulation | None = None
    together: FamilySimulation | None = None
    reason: str | None = None
    few: int | None = None
    by_annotator: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CurvePoint:
    """Power of one difference with so many annotators recruited."""

    difference: float
    shown: str
    annotators: int
    power: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveCost:
    """Expected cost of a study that ends when its pairs are decided, beside the fixed number that finds as much.

    Attributes
    ----------
    difference, power : float
        To be found, and the mean chance that a pair that differs so much is found, by either design.
    truth : {"all differ", "unequal", "one differs"}
        Whether every pair differs by ``difference``, by this to ``largest_difference``, or one by this and the others
        not at all.
    most : int
        Annotators at most, such that the power is reached; as all counts, those included who will be excluded.
    annotators : float
        Expected until every pair is decided or given up.
    fixed : int
        Annotators of a study of fixed size with Holm's correction that has this power.
    questions, fixed_questions, minutes, fixed_minutes : float or None
        Of all annotators together; reading that is spared is not counted. ``None`` where unknown.
    """

    difference: float
    power: float
    largest_difference: float
    truth: Truth
    studies: int
    most: int
    annotators: float
    fixed: int
    questions: float | None
    fixed_questions: float | None
    minutes: float | None
    fixed_minutes: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RaterAssumptions:
    """What a plan takes for granted of an LLM.

    Attributes
    ----------
    rater : str
        Its name.
    explained : float
        Rho^2: share of the variance of people's answers, over units, that its answers explain.
    explained_low, explained_high : float or None
        Interval, where it was measured.
    measured : bool
        Whether it was measured in answers of this study; else stated.
    price : float
        Of its answers to one form.
    price_source : str
        Where the price comes from, in words.
    items_a_form : int
        Items that a form holds.
    """

    rater: str
    explained: float
    explained_low: float | None = None
    explained_high: float | None = None
    measured: bool
    price: float
    price_source: str
    items_a_form: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class WithRater:
    """One row of a plan, with the cheaper of people alone and people beside an LLM.

    Attributes
    ----------
    difference, power : float
        As in the plan.
    unit : {"form", "item"}
        What both answer.
    annotators, cost : int, float
        People alone.
    with_annotators, with_units, with_cost : int or None, int or None, float or None
        People, units that the LLM answers (people's among them), and the price of both; ``None`` where no number of
        these can stand in for people.
    more_items : int
        Where people judge every item: how many more, answered by the LLM alone, save half of what it can save at most.
    cheaper : {"people", "both"}
        Of what the study can do as it stands.
    """

    difference: float
    power: float
    unit: Literal["form", "item"]
    annotators: int
    cost: float
    with_annotators: int | None = None
    with_units: int | None = None
    with_cost: float | None = None
    more_items: int = 0
    cheaper: Literal["people", "both"] = "people"


@dataclass(frozen=True, slots=True, kw_only=True)
class BesideRater:
    """People alone or beside an LLM: what is assumed of it, and each row."""

    rater: RaterAssumptions
    rows: tuple[WithRater, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerPlan:
    """A whole plan for one elicitation.

    ``items_floor`` holds, for each power, the smallest difference that could be found for items
    like the study's in general, however many annotators read them; empty where items have no
    common part or their number is unknown. ``elsewhere`` is what the crossed test finds with the number of
    annotators given: whether other annotators, on other items, would find the same. ``beside`` sets an LLM beside
    people, where one was named.
    """

    assumptions: Assumptions
    rows: tuple[NeedRow, ...]
    detectable: tuple[Detectable, ...]
    items_floor: tuple[Detectable, ...]
    curve: tuple[CurvePoint, ...]
    live: tuple[LiveCost, ...] = ()
    elsewhere: tuple[Detectable, ...] = ()
    beside: BesideRater | None = None


def make_plan(
    assumptions: Assumptions,
    *,
    differences: Sequence[float],
    powers: Sequence[float],
    annotators: int | None = None,
    replicates: int = 0,
    rng: np.random.Generator,
    done: Callable[[], None] = lambda: None,
) -> PowerPlan:
    """Reckon a plan.

    Parameters
    ----------
    assumptions : Assumptions
        What is taken for granted.
    differences : sequence of float
        Share minus 0.5; Likert: points; spans: weighted errors an output.
    powers : sequence of float
        Powers: chances to find a difference.
    annotators : int, optional
        Number of annotators whose detectable differences are given, too.
    replicates : int
        Studies drawn to check each row; 0 for none. Of very many tests fewer are.
    rng : numpy.random.Generator
        Source of randomness of the check.
    done : callable, optional
        Called after each difference and power.
    """
    rows, replicates = [], min(replicates, max(FEWEST_STUDIES, TESTS // assumptions.n_tests))
    for difference, power in product(differences, powers):
        rows.append(_plan_row(assumptions, difference, power, replicates, rng))
        done()
    found: tuple[Detectable, ...] = ()
    elsewhere: tuple[Detectable, ...] = ()
    if annotators is not None:
        found = tuple(detectable(assumptions, annotators, power) for power in powers)
        crossed = (crossed_detectable(assumptions, annotators, power) for power in powers)
        elsewhere = tuple(one for one in crossed if one is not None)
    return PowerPlan(
        assumptions=assumptions,
        rows=tuple(rows),
        detectable=found,
        items_floor=_items_floor(assumptions, powers),
        elsewhere=elsewhere,
        curve=_curve(assumptions, differences, [*(row.need.annotators for row in rows), annotators]),
    )


def _plan_row(
    assumptions: Assumptions, difference: float, power: float, replicates: int, rng: np.random.Generator
) -> NeedRow:
    need = annotators_for(assumptions, difference, power, assumptions.alpha)
    lone = need if assumptions.n_tests == 1 else annotators_for(assumptions, difference, power, assumptions.fwer)
    other, reason = None, None
    drawn = None if need.annotators is None else drawn_units(assumptions, need.annotators)
    try:
        if drawn is not None:
            same, other = answers(drawn.assumptions, 0.0), answers(drawn.assumptions, difference)
    except ValueError as error:
        reason = str(error)
    if replicates and drawn is None and need.annotators is not None and assumptions.own_items is None:
        reason = NOT_DRAWN
    alone, together = None, None
    if replicates and drawn is not None and other is not None:
        n_tests = assumptions.n_tests
        alone, together = (
            simulate_family(
                family,
                null=CHANCE[assumptions.kind],
                annotators=drawn.n,
                exclusion_rate=drawn.assumptions.absent,
                staying=staying(drawn.assumptions, drawn.n),
                bounded=assumptions.kind != "spans",
                fwer=assumptions.fwer,
                replicates=replicates,
                rng=rng,
                correction=assumptions.correction,
                spread=partial(spread_of_mean, drawn.assumptions, recruited=drawn.n),
            )
            for family in ([other] + [same] * (n_tests - 1), [other] * n_tests)
        )
    few, by_annotator = _below_ten(assumptions, need)
    return NeedRow(
        need=need,
        lone=lone,
        cost=assumptions.cost(need.annotators),
        alone=alone,
        together=together,
        reason=need.reason or reason,
        few=few,
        by_annotator=by_annotator,
    )


def _below_ten(assumptions: Assumptions, need: Need) -> tuple[int | None, int | None]:
    """Return the fewest annotators below ten that are enough: tested over items as they are, and over annotators."""
    switch = engine_for(assumptions).switch
    if switch is None or assumptions.unknown is not None or (need.annotators or switch) < switch:
        return None, None
    alpha, difference = assumptions.alpha, need.difference
    few = (n for n in range(LEAST, switch) if power_at(assumptions, n, difference, alpha) >= need.power)
    by_annotator = None
    if need.annotators == switch:
        named = replace(assumptions, unit="annotator")
        by_annotator = annotators_for(named, difference, need.power, alpha).annotators
    below = by_annotator is not None and by_annotator < switch
    return next(few, None), by_annotator if below else None


def power_at(assumptions: Assumptions, annotators: int, difference: float, alpha: float) -> float:
    """Return the chance to find a difference with so many annotators recruited, by the design's own test.

    The one place where power is reckoned: numbers of annotators, differences that are found, and curves ask it.
    """
    return engine_for(assumptions).power(annotators, difference, alpha)


@lru_cache(maxsize=SEARCHES)
def annotators_for(assumptions: Assumptions, difference: float, power: float, alpha: float) -> Need:
    """Return the smallest number of annotators from which on a difference is found with a power at a level."""
    if assumptions.unknown is not None:
        return Need(difference=difference, power=power, annotators=None, reached=None, reason=assumptions.unknown)
    engine, start = engine_for(assumptions), MOST + 1.0
    reason = engine.too_few(difference, power, alpha) if difference else "no difference: there is nothing to find"
    if reason is None:
        start = normal_need(difference / assumptions.sd, alpha=alpha, power=power) / (1 - assumptions.absent)
        reason = f"more than {MOST:,} annotators" if start > MOST else None
    if reason is not None:
        return Need(difference=difference, power=power, annotators=None, reached=None, reason=reason)
    by_number = cache(partial(power_at, assumptions, difference=difference, alpha=alpha))
    sawtooth_span = partial(engine.sawtooth_span, difference=difference, alpha=alpha)
    switch, start = engine.switch or LEAST, math.ceil(start)
    number = lasting_number(by_number, power, start=start, most=engine.most, sawtooth_span=sawtooth_span, least=switch)
    while number is not None and LEAST < number <= switch and by_number(number - 1) >= power:
        number -= 1
    if number is None:
        reason = f"more than {engine.most:,} annotators"
        return Need(difference=difference, power=power, annotators=None, reached=None, reason=reason)
    return Need(difference=difference, power=power, annotators=number, reached=by_number(number))


@lru_cache(maxsize=SEARCHES)
def detectable(assumptions: Assumptions, annotators: int, power: float) -> Detectable:
    """Return the smallest difference that so many annotators find in a family's worst case.

    Null with a reason where no difference that answers with this SD can have is found often enough.
    """
    engine, found = engine_for(assumptions, annotators), None
    tested, reason = tested_over(assumptions, annotators), assumptions.unknown
    if reason is not None:
        return Detectable(annotators=annotators, power=power, difference=None, reason=reason)
    if tested.unit == "item" and tested.n and not tested.sd:
        reason = ALIKE
    elif annotators < LEAST:
        reason = f"fewer than {LEAST} annotators"
    elif annotators > engine.most:
        reason = f"more than {engine.most:,} annotators"
    else:
        by_difference = cache(partial(_power_of, assumptions, annotators))
        found = smallest_found(by_difference, power, largest=assumptions.largest, possible=engine.possible)
        if found is None:
            absent = 0.0 if tested.unit == "item" else assumptions.absent
            scatter = f"{tested.sd:.3g}"
            reason = f"too few for {100 * power:g}% power if answers scatter by SD {scatter}"
            reason += "; clear winners can still be found" if tested.n * (1 - absent) >= CLEAR else ""
    return Detectable(
        annotators=annotators,
        power=power,
        difference=found,
        reason=reason,
        unit=tested.unit,
        n=tested.n,
        sd=tested.sd,
    )


def _power_of(assumptions: Assumptions, annotators: int, difference: float) -> float:
    return power_at(assumptions, annotators, difference, assumptions.alpha)


def _items_floor(assumptions: Assumptions, powers: Sequence[float]) -> tuple[Detectable, ...]:
    shared, pool = assumptions.components.item_sd, assumptions.pool
    if shared == 0 or pool is None or assumptions.unknown is not None:
        return ()
    return tuple(
        detectable_difference(pool, sd=shared, alpha=assumptions.alpha, power=power, largest=assumptions.largest)
        for power in powers
    )


def _curve(
    assumptions: Assumptions, differences: Sequence[float], annotator_counts: Sequence[int | None]
) -> tuple[CurvePoint, ...]:
    if assumptions.unknown is not None:
        return ()
    end = max([20, *(count for count in annotator_counts if count is not None)])
    roots = np.linspace(math.sqrt(2), math.sqrt(1.1 * end), CURVE_POINTS)  # closer where the curve is steep
    counts = np.unique(np.rint(roots**2).astype(int)).tolist()
    return tuple(
        CurvePoint(
            difference=difference,
            shown=assumptions.shown(difference),
            annotators=count,
            power=power_at(assumptions, count, difference, assumptions.alpha),
        )
        for difference in differences
        for count in counts
    )
