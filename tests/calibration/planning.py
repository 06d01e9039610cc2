"""Whether planned studies have the power they were planned for; ``make calibrate`` writes ``planning.md``.

Every study is drawn answer by answer and tested by its mean and standard deviation: none of the code that plans
but the chances of the answers themselves.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from scipy.stats import t as student

from analysis.planning.assumptions import Assumptions, assumed
from analysis.planning.contributions import answers, scale_test
from analysis.planning.plan import annotators_for
from analysis.planning.ranked import share_components
from analysis.planning.scale_power import ScaleTest
from analysis.planning.simulate import Share
from analysis.planning.solve import annotators_needed
from analysis.planning.unpaired import OwnItems
from analysis.planning.variance import Components
from analysis.statistics.clustered_difference import SystemClusters, clustered_t
from analysis.statistics.coding import Floats
from spa.study.balanced_draws import Deck

TOLERATED = 0.005  # of power: below the one asked for, and from the one printed
BATCH = 2_000_000  # answers in memory
POPULATION = 400_000  # annotators of error spans, from whom studies are drawn
RECALL = PRECISION = 0.8  # of their marks
INTRODUCTION = """# Power of planned studies

Whether `spa plan` keeps its promise (`make calibrate`): each design is planned, and {runs:,} studies with as many
annotators, and with one fewer, are drawn answer by answer with another seed. "Formula" is the number of annotators
that the non-central t distribution alone would say. Alone, a pair that differs is tested at the level of the first
step of Holm. "Own items": annotators rate other items of each system, dealt as assignments are, so nothing pairs;
scores are normal and tested by the report's `clustered_t`, and "formula" takes them for pairs. Error spans: annotators
mark true errors of an output, and other words, with severities of different weight; a plan knows mean and SD alone.
Of {number} designs, {kept} keep the promise: simulated power is at most {tolerated:g} points below the one asked for
and at most {tolerated:g} points from the one reached.

| design | SD | exclusions | tests | difference | asked | formula | planned | reached | simulated | SE | one fewer |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedDesign:
    """A design, and what it was planned to find."""

    assumptions: Assumptions
    difference: float
    power: float
    answers: Floats | None = None  # from which studies draw, where not from those that are planned with


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedLine:
    """A design as planned, and the power of simulated studies with as many annotators."""

    design: PlannedDesign
    by_formula: int
    planned: int
    reached: float
    simulated: Share
    one_fewer: float

    @property
    def promise_kept(self) -> bool:
        """Whether simulated power is neither below the one asked for nor away from the one reached."""
        seen = self.simulated.value
        return seen >= self.design.power - TOLERATED and abs(seen - self.reached) <= TOLERATED


def planned_designs() -> Iterator[PlannedDesign]:
    """Yield 20 designs: usual ones, skewed answers of few annotators, coarse scales."""
    usual = {"directions": 2, "n_tests": 6}
    for kind, differences, changes in (
        ("spa", (0.05, 0.1, 0.15), usual),
        ("likert", (0.3, 0.5), {"n_tests": 6}),
    ):
        for difference in differences:
            for power in (0.8, 0.9):
                yield PlannedDesign(assumptions=assumed(kind, **changes), difference=difference, power=power)
    for sd, difference, power, rate in (
        (0.25, 0.2, 0.8, 0.1),
        (0.25, 0.2, 0.9, 0.1),
        (0.2, 0.3, 0.8, 0.1),
        (0.2, 0.3, 0.9, 0.0),
        (0.4, 0.1, 0.9, 0.3),
        (0.15, 0.1, 0.8, 0.0),
    ):
        components = Components(annotator_sd=sd)
        design = replace(assumed("spa"), components=components, exclusion_rate=rate)
        yield PlannedDesign(assumptions=design, difference=difference, power=power)
    yield PlannedDesign(assumptions=assumed("spa", directions=1, n_tests=15), difference=0.1, power=0.9)
    yield PlannedDesign(assumptions=assumed("likert", points=3), difference=0.5, power=0.8)
    yield PlannedDesign(assumptions=assumed("likert", points=7, n_items=4, n_tests=3), difference=0.5, power=0.9)
    yield PlannedDesign(assumptions=assumed("likert", n_tests=6), difference=1.0, power=0.8)


def unpaired_designs() -> Iterator[PlannedDesign]:
    """Yield designs in which each system has items of its own: few items and many, one rated or several."""
    for items, difference, power, n_tests in (
        (OwnItems(n_items=8, dealt=32, pool=36), 0.8, 0.8, 6),
        (OwnItems(n_items=4, dealt=8, pool=100), 0.5, 0.9, 1),
        (OwnItems(n_items=1, dealt=4, pool=100), 0.5, 0.8, 1),
        (OwnItems(n_items=2, dealt=4, pool=500), 0.5, 0.8, 3),
    ):
        design = assumed("likert", n_items=items.n_items, own_items=items, pool=items.pool, n_tests=n_tests)
        yield PlannedDesign(assumptions=design, difference=difference, power=power)


def choice_designs() -> Iterator[PlannedDesign]:
    """Yield designs of choices: one of each annotator or several, with ties and without."""
    for n_items, ties, difference, power, n_tests in (
        (1, 0.0, 0.1, 0.8, 6),
        (1, 0.0, 0.2, 0.9, 1),
        (1, 0.3, 0.1, 0.9, 3),
        (4, 0.3, 0.1, 0.8, 6),
        (10, 0.0, 0.1, 0.9, 3),
    ):
        parts = {"components": share_components(0.1, ties), "ties": ties}
        design = assumed("choices", judged=((n_items, 1.0),), n_tests=n_tests, **parts)
        yield PlannedDesign(assumptions=design, difference=difference, power=power)


def span_designs() -> Iterator[PlannedDesign]:
    """Yield designs of error spans: of severities that count 1 and 5, one output or several, rare errors and many."""
    rng = np.random.default_rng(7)
    for n_items, rates, weights, power, n_tests in (
        (1, (0.08, 0.05), (1, 5), 0.8, 3),
        (4, (0.06, 0.04), (1, 5), 0.9, 3),
        (1, (0.02, 0.01), (1, 5), 0.8, 1),
        (1, (0.03, 0.015), (1,), 0.9, 1),
    ):
        x, y = (marked_weights(rate, n_items, weights, rng) for rate in rates)
        mean, difference = float((x + y).mean()) / 2, float((x - y).mean())
        components = Components(annotator_sd=float((x - y).std()))
        design = assumed("spans", components=components, errors=mean, n_items=n_items, n_tests=n_tests)
        yield PlannedDesign(assumptions=design, difference=difference, power=power, answers=x - y)


def marked_weights(rate: float, n_items: int, weights: Sequence[int], rng: np.random.Generator) -> Floats:
    """Return the mean weight of errors that annotators mark in outputs of 25 words, as simulated annotators do."""
    shape = (POPULATION, n_items)
    true = rng.binomial(25, np.minimum(1, rate * rng.lognormal(-0.18, 0.6, shape)))
    of_weight = rng.multinomial(true, [1 / len(weights)] * len(weights))
    marked = rng.binomial(of_weight, RECALL) @ np.array(weights)
    other = rng.poisson(RECALL * true * (1 - PRECISION) / PRECISION)
    return np.asarray((marked + other * weights[0]).mean(axis=1))


def simulated_unpaired_power(design: PlannedDesign, annotators: int, *, runs: int, rng: np.random.Generator) -> Share:
    """Deal items, draw every score and count the studies whose clustered t-test finds x above y."""
    made, items = design.assumptions, design.assumptions.own_items
    assert items is not None
    parts, found, k = made.components, 0, items.n_items
    for _ in range(runs):
        deck = Deck(range(items.pool), rng)
        hands = np.array([deck.deal(items.dealt)[: 2 * k] for _ in range(annotators)])
        who = np.flatnonzero(rng.random(annotators) >= made.exclusion_rate)
        item, system = hands[who], np.repeat([0, 1], k)
        score = rng.normal(0, parts.residual_sd, item.shape)
        score += rng.normal(0, parts.annotator_sd, (len(who), 2))[:, system]
        score += rng.normal(0, parts.item_sd, (2, items.pool))[system, item]
        value = score / math.sqrt(2) + np.where(system == 0, design.difference, 0.0)
        codes = np.broadcast_to(system, item.shape).ravel(), np.repeat(np.arange(len(who)), 2 * k)
        sums = SystemClusters(codes[0], value.ravel(), codes[1], item.ravel(), scale=made.points)
        test = clustered_t(sums[0], sums[1], confidence=0.95).test
        found += test.p_value is not None and test.t is not None and test.p_value <= made.alpha and test.t > 0
    value_found = found / runs
    return Share(value=value_found, standard_error=math.sqrt(value_found * (1 - value_found) / runs))


def simulated_power(
    test: ScaleTest, annotators: int, *, runs: int, rng: np.random.Generator, population: Floats | None = None
) -> Share:
    """Draw every annotator's answer and count the studies whose t-test finds the mean above the null value."""
    found, left = 0, runs
    while left:
        number = min(left, max(1, BATCH // annotators))
        size = (number, annotators)
        values = (
            rng.choice(test.points, p=test.chances, size=size) if population is None else rng.choice(population, size)
        )
        values[rng.random(values.shape) < test.exclusion_rate] = np.nan
        n = np.count_nonzero(~np.isnan(values), axis=1)
        values = values[n >= 2]
        n = n[n >= 2]
        mean, sd = np.nanmean(values, axis=1), np.nanstd(values, axis=1, ddof=1)
        varied = sd > 1e-12
        t = (mean[varied] - test.null) / (sd[varied] / np.sqrt(n[varied]))
        found += int(np.sum(t >= student.isf(test.alpha / 2, n[varied] - 1)))
        left -= number
    value = found / runs
    return Share(value=value, standard_error=math.sqrt(value * (1 - value) / runs))


def check_plan(design: PlannedDesign, *, runs: int, rng: np.random.Generator) -> PlannedLine:
    """Plan a design as ``spa plan`` does and simulate it."""
    assumptions, difference = design.assumptions, design.difference
    by_formula = annotators_needed(
        difference,
        sd=assumptions.sd,
        alpha=assumptions.alpha,
        power=design.power,
        exclusion_rate=assumptions.exclusion_rate,
    )
    test = None
    if assumptions.own_items is None:
        test = scale_test(assumptions, answers(assumptions, difference), assumptions.alpha)
    need = annotators_for(assumptions, difference, design.power, assumptions.alpha)
    assert by_formula.annotators is not None
    assert need.annotators is not None
    assert need.reached is not None
    simulated, fewer = (
        simulated_unpaired_power(design, need.annotators - less, runs=runs, rng=rng)
        if test is None
        else simulated_power(test, need.annotators - less, runs=runs, rng=rng, population=design.answers)
        for less in (0, 1)
    )
    return PlannedLine(
        design=design,
        by_formula=by_formula.annotators,
        planned=need.annotators,
        reached=need.reached,
        simulated=simulated,
        one_fewer=fewer.value,
    )


def write(runs: int, seed: int) -> str:
    """Return the table."""
    rng = np.random.default_rng(seed)
    lines = [check_plan(design, runs=runs, rng=rng) for design in planned_designs()]
    lines += [
        check_plan(design, runs=runs, rng=np.random.default_rng([seed, place]))
        for place, design in enumerate(unpaired_designs())
    ]
    lines += [
        check_plan(design, runs=runs, rng=np.random.default_rng([seed, 100 + place]))
        for place, design in enumerate(choice_designs())
    ]
    lines += [
        check_plan(design, runs=runs, rng=np.random.default_rng([seed, 200 + place]))
        for place, design in enumerate(span_designs())
    ]
    kept = sum(line.promise_kept for line in lines)
    head = INTRODUCTION.format(runs=runs, number=len(lines), kept=kept, tolerated=100 * TOLERATED)
    return head + "".join(f"{_row(line)}\n" for line in lines)


def _row(line: PlannedLine) -> str:
    design = line.design
    made = design.assumptions
    what = f"SPA, {made.directions} direction{'s' if made.directions == 2 else ''}"
    if made.kind == "likert":
        what = f"Likert, {made.points} points, {made.n_items} output{'' if made.n_items == 1 else 's'}"
    if made.kind == "choices":
        what = f"Choices, {made.judged[0][0]} a pair, {100 * made.ties:g} % ties"
    if made.kind == "spans":
        what = f"Error spans, {made.errors:.1f} points in {made.n_items} output{'' if made.n_items == 1 else 's'}"
    if made.own_items is not None:
        what += f", own items of {made.own_items.pool}"
    cells = (
        what,
        f"{made.sd:.2f}",
        f"{100 * made.exclusion_rate:g} %",
        made.n_tests,
        made.shown(design.difference),
        f"{100 * design.power:g} %",
        line.by_formula,
        line.planned,
        f"{100 * line.reached:.1f} %",
        f"{100 * line.simulated.value:.1f} %",
        f"{100 * line.simulated.standard_error:.1f}",
        f"{100 * line.one_fewer:.1f} %",
    )
    return f"| {' | '.join(str(cell) for cell in cells)} |"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.calibration.planning", description=__doc__)
    parser.add_argument("--runs", type=int, default=40_000, help="simulated studies a design")
    parser.add_argument("--seed", type=int, default=20)
    parser.add_argument("--out", type=Path, required=True, help="file to write")
    given = parser.parse_args()
    given.out.write_text(write(given.runs, given.seed), encoding="utf-8")
