"""A plan: assumptions in, annotators, cost, detectable differences, a simulated check and curves out."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache, partial
from itertools import product
from typing import Any, Literal

import numpy as np

from analysis.planning.power import expected_power
from analysis.planning.ranked import share_answers, share_components
from analysis.planning.scale_power import ScaleTest, smallest_need
from analysis.planning.simulate import FamilySimulation, count_answers, scale_answers, simulate_family
from analysis.planning.solve import Detectable, Need, annotators_needed, detectable_difference
from analysis.planning.unpaired import OwnItems, UnpairedTest, unpaired_detectable, unpaired_need
from analysis.planning.variance import Components
from analysis.statistics.coding import Floats

Kind = Literal["spa", "likert", "spans", "ranking", "choices"]
Truth = Literal["all differ", "unequal", "one differs"]
CHANCE = {"spa": 0.5, "likert": 0.0, "spans": 0.0, "ranking": 0.5, "choices": 0.5}
CURVE_POINTS = 40
FINEST = 80  # steps of the scale of drawn Likert answers
HALVINGS = 20  # of the scale, in search of the smallest difference that is found


@dataclass(frozen=True, slots=True, kw_only=True)
class Assumptions:
    """What a plan takes for granted.

    Attributes
    ----------
    kind : {"spa", "likert", "spans", "ranking", "choices"}
        SPA: the mean preference against 0.5; Likert, spans: the mean difference of two systems' scores, or of their
        weighted errors an output, against 0; ranking: the share of orders in which one stands before the other against
        0.5; choices: the share that one wins.
    components : Components
        Why contributions differ; ``source`` says where the numbers come from.
    n_items : int
        SPA: outputs of each system read (exposure); Likert, spans: outputs of each system rated; ranking: orders with
        both; choices: choices between both.
    directions : int
        Directions of SPA that are asked, 1 or 2.
    n_tests : int
        Size of the Holm family.
    pool : int or None
        Items of the study, where known.
    points : int
        Points of the Likert scale.
    own_items : OwnItems or None
        Likert, spans: how items are dealt where annotators rate other items of each system, so that nothing pairs.
    ties : float
        Choices: share of ties, each half a win.
    errors : float
        Spans: weighted errors that one annotator marks in one output, mean of two systems.
    meets : float
        Ranking, choices: share of annotators who judge a pair at all, where pairs are dealt.
    pay : Decimal or None
        For one completed submission, also of those who are excluded from the analysis.
    """

    kind: Kind
    components: Components
    source: str
    n_items: int
    n_tests: int
    fwer: float
    exclusion_rate: float
    directions: int = 1
    pool: int | None = None
    points: int = 5
    own_items: OwnItems | None = None
    ties: float = 0.0
    errors: float = 4.0
    meets: float = 1.0
    pay: Decimal | None = None
    currency: str = "USD"

    @property
    def sd(self) -> float:
        """SD of one annotator's contribution to a test."""
        return self.components.contribution_sd(self.n_items, self.directions)

    @property
    def alpha(self) -> float:
        """Level of the first step of Holm, which is Bonferroni's for every test."""
        return self.fwer / self.n_tests

    @property
    def largest(self) -> float:
        """Largest difference that the scale allows; of errors the one where a system has none."""
        return {"likert": self.points - 1.0, "spans": 2 * self.errors}.get(self.kind, 0.5)

    @property
    def in_points(self) -> bool:
        """Whether differences are points, of ratings or of errors' weights, and not shares."""
        return CHANCE[self.kind] == 0

    @property
    def absent(self) -> float:
        """Share of the recruited who contribute nothing to a test: excluded, or asked about other pairs."""
        return self.exclusion_rate + (1 - self.exclusion_rate) * (1 - self.meets)

    def shown(self, difference: float) -> str:
        """Say a difference as a reader of the report would: 60% preferred, or 0.3 points.

        >>> assumed("spa").shown(0.1)
        '60%'
        """
        if not self.in_points:
            return f"{100 * (0.5 + difference):.4g}%"
        return f"{difference:.3g} point{'' if difference == 1 else 's'}"

    def cost(self, annotators: int | None) -> Decimal | None:
        """Pay for so many annotators, without a platform's fee."""
        return None if self.pay is None or annotators is None else self.pay * annotators


# Their sources and reasons stand in docs/planning.md.
DEFAULTS: dict[Kind, tuple[Components, str]] = {
    "spa": (
        Components(annotator_sd=0.3),
        "Table 1 of Ethayarajh & Jurafsky (2022) allows SDs from about 0.2 to 0.4; not split by exposure",
    ),
    "likert": (
        Components(annotator_sd=0.5, item_sd=0.8, residual_sd=1.25),
        "Table 1 of Ethayarajh & Jurafsky (2022) allows about 1.5 to 1.7 for one output; split as in the "
        "ratings of Sottana et al. (2023)",
    ),
    "spans": (
        Components(annotator_sd=2.2, item_sd=3.6, residual_sd=5.6),
        "one annotator of Kocmi et al. (2024) has a mean of 4.2 and an SD of 5.7 an output; split as ratings",
    ),
    "ranking": (share_components(0.1), "ratings of Sottana et al. (2023), read as orders, have 0.07"),
    "choices": (share_components(0.1), "ratings of Sottana et al. (2023), read as choices, have 0.07"),
}


def assumed(kind: Kind, **changes: Any) -> Assumptions:
    """Return the usual assumptions about an elicitation, with changes."""
    components, source = DEFAULTS[kind]
    usual: dict[str, Any] = {
        "kind": kind,
        "components": components,
        "source": source,
        "n_items": 5 if kind == "spa" else 1,
        "n_tests": 1,
        "fwer": 0.05,
        "exclusion_rate": 0.1,
    }
    return Assumptions(**{**usual, **changes})


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
    """

    need: Need
    lone: Need
    cost: Decimal | None
    alone: FamilySimulation | None = None
    together: FamilySimulation | None = None
    reason: str | None = None


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
class PowerPlan:
    """A whole plan for one elicitation.

    ``items_floor`` holds, for each power, the smallest difference that could be found for items
    like the study's in general, however many annotators read them; empty where items have no
    common part or their number is unknown.
    """

    assumptions: Assumptions
    rows: tuple[NeedRow, ...]
    detectable: tuple[Detectable, ...]
    items_floor: tuple[Detectable, ...]
    curve: tuple[CurvePoint, ...]
    live: tuple[LiveCost, ...] = ()


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
        Studies drawn to check each row; 0 for none.
    rng : numpy.random.Generator
        Source of randomness of the check.
    done : callable, optional
        Called after each difference and power.
    """
    rows, seed = [], int(rng.integers(2**32))
    for difference, power in product(differences, powers):
        rows.append(_row(assumptions, difference, power, replicates, seed, rng))
        done()
    found: tuple[Detectable, ...] = ()
    if annotators is not None:
        found = tuple(detectable(assumptions, annotators, power) for power in powers)
    return PowerPlan(
        assumptions=assumptions,
        rows=tuple(rows),
        detectable=found,
        items_floor=_items_floor(assumptions, powers),
        curve=_curve(assumptions, differences, [*(row.need.annotators for row in rows), annotators]),
    )


def _row(
    assumptions: Assumptions, difference: float, power: float, replicates: int, seed: int, rng: np.random.Generator
) -> NeedRow:
    need = annotators_for(assumptions, difference, power, assumptions.alpha, seed)
    lone = need if assumptions.n_tests == 1 else annotators_for(assumptions, difference, power, assumptions.fwer, seed)
    other, reason = None, None
    try:
        if assumptions.own_items is None:  # else the need itself was simulated
            same, other = answers(assumptions, 0.0), answers(assumptions, difference)
    except ValueError as error:
        reason = str(error)
    alone, together = None, None
    if replicates and need.annotators is not None and other is not None:
        n_tests = assumptions.n_tests
        alone, together = (
            simulate_family(
                family,
                null=CHANCE[assumptions.kind],
                annotators=need.annotators,
                exclusion_rate=assumptions.absent,
                fwer=assumptions.fwer,
                replicates=replicates,
                rng=rng,
            )
            for family in ([other] + [same] * (n_tests - 1), [other] * n_tests)
        )
    cost = assumptions.cost(need.annotators)
    return NeedRow(need=need, lone=lone, cost=cost, alone=alone, together=together, reason=need.reason or reason)


def annotators_for(assumptions: Assumptions, difference: float, power: float, alpha: float, seed: int) -> Need:
    """Return the smallest number of annotators that finds a difference at a level, on the scale.

    Where no answers on the scale have such a mean and SD, or nothing pairs, it is that of normal answers.
    """
    if unpaired := _unpaired(assumptions):
        return unpaired_need(unpaired, difference, power, alpha)
    rate = assumptions.absent
    need = annotators_needed(difference, sd=assumptions.sd, alpha=alpha, power=power, exclusion_rate=rate)
    try:
        drawn = answers(assumptions, difference)
    except ValueError:
        return need
    return smallest_need(scale_test(assumptions, drawn, alpha, seed), need)


@lru_cache(maxsize=8)  # its draws serve all differences, powers and levels
def unpaired_test(components: Components, items: OwnItems, exclusion_rate: float) -> UnpairedTest:
    """Return the test of ratings of which nothing pairs, with the draws that were made for it."""
    return UnpairedTest(components=components, items=items, exclusion_rate=exclusion_rate, seed=0)


def _unpaired(assumptions: Assumptions) -> UnpairedTest | None:
    items = assumptions.own_items
    return None if items is None else unpaired_test(assumptions.components, items, assumptions.exclusion_rate)


def scale_test(assumptions: Assumptions, drawn: tuple[Floats, Floats], alpha: float, seed: int) -> ScaleTest:
    """Return the test of these answers against no difference; ``drawn`` as from :func:`answers`."""
    points, chances = drawn
    null, rate = CHANCE[assumptions.kind], assumptions.absent
    return ScaleTest(points=points, chances=chances, null=null, alpha=alpha, exclusion_rate=rate, seed=seed)


def detectable(assumptions: Assumptions, annotators: int, power: float) -> Detectable:
    """Return the smallest difference that so many annotators find in a family's worst case, on the scale.

    Null with a reason where no difference that answers with this SD can have is found often enough.
    """
    if unpaired := _unpaired(assumptions):
        return unpaired_detectable(unpaired, annotators, power, assumptions.alpha, assumptions.largest)
    formula = detectable_difference(
        annotators,
        sd=assumptions.sd,
        alpha=assumptions.alpha,
        power=power,
        exclusion_rate=assumptions.absent,
        largest=assumptions.largest,
    )
    if formula.difference is None:
        return formula
    low, high, found = 0.0, assumptions.largest, None
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        try:
            test = scale_test(assumptions, answers(assumptions, middle), assumptions.alpha, seed=0)
        except ValueError:  # no answers of this SD lie so far from the middle of the scale
            high = middle
            continue
        if test.power(annotators, runs=0) >= power:
            high = found = middle
        else:
            low = middle
    reason = None if found else f"even the largest difference that answers of SD {assumptions.sd:.3g} allow is missed"
    return Detectable(annotators=annotators, power=power, difference=found, reason=reason)


def answers(assumptions: Assumptions, difference: float) -> tuple[Floats, Floats]:
    """Return the contributions that the check draws: on the scale, in the steps in which people answer.

    SPA: 5% steps, 2.5% where two directions are averaged; Likert: whole points over the items rated; ranking: orders;
    choices: wins and ties; spans: weighted errors over the outputs marked.
    """
    if assumptions.kind in ("ranking", "choices"):
        return share_answers(assumptions.components, assumptions.n_items, difference, assumptions.ties)
    if assumptions.kind == "spans":
        return count_answers(assumptions.n_items, mean=assumptions.errors, difference=difference, sd=assumptions.sd)
    mean = CHANCE[assumptions.kind] + difference
    if assumptions.kind == "spa":
        return scale_answers(0.0, 1.0, 20 * assumptions.directions, mean=mean, sd=assumptions.sd)
    ends = assumptions.points - 1
    steps = 2 * ends * max(1, min(assumptions.n_items, FINEST // (2 * ends)))
    return scale_answers(-ends, ends, steps, mean=mean, sd=assumptions.sd)


def _items_floor(assumptions: Assumptions, powers: Sequence[float]) -> tuple[Detectable, ...]:
    shared, pool = assumptions.components.item_sd, assumptions.pool
    if shared == 0 or pool is None:
        return ()
    return tuple(
        detectable_difference(pool, sd=shared, alpha=assumptions.alpha, power=power, largest=assumptions.largest)
        for power in powers
    )


def _curve(
    assumptions: Assumptions, differences: Sequence[float], annotator_counts: Sequence[int | None]
) -> tuple[CurvePoint, ...]:
    end = max([20, *(count for count in annotator_counts if count is not None)])
    roots = np.linspace(math.sqrt(2), math.sqrt(1.1 * end), CURVE_POINTS)  # closer where the curve is steep
    counts = np.unique(np.rint(roots**2).astype(int)).tolist()
    return tuple(
        CurvePoint(
            difference=difference,
            shown=assumptions.shown(difference),
            annotators=count,
            power=power(count),
        )
        for difference in differences
        for power in (_power(assumptions, difference),)
        for count in counts
    )


def _power(assumptions: Assumptions, difference: float) -> Callable[[int], float]:
    """Return power by annotators, on the scale where answers on it have such a mean and SD."""
    alpha, rate = assumptions.alpha, assumptions.absent
    if unpaired := _unpaired(assumptions):
        return partial(unpaired.power, difference=difference, alpha=alpha)
    try:
        test = scale_test(assumptions, answers(assumptions, difference), alpha, seed=0)
    except ValueError:
        return partial(expected_power, difference / assumptions.sd, alpha=alpha, exclusion_rate=rate)
    return partial(test.power, runs=0)
