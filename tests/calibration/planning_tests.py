"""The report's tests of many simulated studies at once, and by the functions that the report calls."""

from __future__ import annotations

from typing import Literal

import numpy as np
from scipy.special import stdtr

from analysis import Plan
from analysis.answers.units import ENOUGH_ANNOTATORS
from analysis.comparisons.choice_cells import ChoiceCells
from analysis.comparisons.choices import compare_choices
from analysis.comparisons.chosen_parts import chosen_part
from analysis.comparisons.rating_cells import RatingCells
from analysis.planning.assumptions import Kind
from analysis.statistics.coding import Floats, Ints, fold, scale_of
from analysis.statistics.t_tests import one_sample
from tests.calibration.planning_answers import Booleans, there
from tests.calibration.planning_studies import Layout
from tests.calibration.two_systems import Tested, TwoSystems

CHANCE = {"likert": 0.0, "spans": 0.0}
ALIKE = 1e-12  # of averages that are equal but for rounding
PlannedUnit = Literal["auto", "annotator", "item"]
WHOLE = ("s0", "s1")


def tested_by_item(layout: Layout, stay: Booleans, kind: Kind, unit: PlannedUnit) -> Booleans:
    """Return in which studies the report tests over items: where planned, or where fewer than ten judge the pair."""
    if kind == "spa" or unit != "auto":
        return np.full(len(stay), kind != "spa" and unit == "item")
    return np.asarray((stay & there(layout.x, layout)).sum(axis=1) < ENOUGH_ANNOTATORS)


def found(
    values: Floats, layout: Layout, stay: Booleans, by_item: Booleans, *, kind: Kind, unit: PlannedUnit, alpha: float
) -> tuple[Booleans, Floats]:
    """Return in which studies the report finds x before y at a level, and p (1: no test).

    Values are those of ``draw_answers``.

    Over annotators it is Student's t of their averages. Over items where planned, of items' averages; else everybody
    who stays weighs the same: with u = W (item's mean - mean), W an item's weights, c their squares added up,
    V = Σ u² / (1 - 2 W + W² Σc / c) with (Σc)² / Σc² - 1 degrees of freedom.
    """
    p_values, above = np.ones(len(stay)), np.zeros(len(stay))
    for over_items in np.unique(by_item).tolist():
        rows = by_item == over_items
        if not over_items:
            tested = _over_annotators(values[rows], layout, stay[rows], CHANCE.get(kind, 0.5))
        else:
            weighed = unit == "auto"
            tested = _over_items(values[rows], layout, stay[rows], CHANCE.get(kind, 0.5), weighed=weighed)
        p_values[rows], above[rows] = tested
    return (p_values <= alpha) & (above > 0), p_values


def _added(values: Floats, codes: Ints, width: int) -> Floats:
    """Add up columns by their codes, shape (studies, width)."""
    order = np.argsort(codes, kind="stable")
    kinds, first = np.unique(codes[order], return_index=True)
    total = np.zeros((len(values), width))
    if len(kinds):
        total[:, kinds] = np.add.reduceat(values[:, order], first, axis=1)
    return total


def _over_annotators(values: Floats, layout: Layout, stay: Booleans, null: float) -> tuple[Floats, Floats]:
    who = layout.x.who
    times = np.bincount(who, minlength=layout.annotators)
    means = _added(values, who, layout.annotators) / np.maximum(times, 1)
    return _student(means - null, stay & (times > 0))


def _student(means: Floats, here: Booleans) -> tuple[Floats, Floats]:
    n = here.sum(axis=1)
    mean = np.where(here, means, 0.0).sum(axis=1) / np.maximum(n, 1)
    rest = np.where(here, means - mean[:, None], 0.0)
    varied = (n > 1) & (np.abs(rest).max(axis=1) > ALIKE)
    error = np.sqrt(np.where(varied, (rest**2).sum(axis=1), 1.0) / np.maximum(n - 1, 1) / np.maximum(n, 1))
    return np.where(varied, 2 * stdtr(np.maximum(n - 1, 1), -np.abs(mean / error)), 1.0), mean


def _over_items(values: Floats, layout: Layout, stay: Booleans, null: float, *, weighed: bool) -> tuple[Floats, Floats]:
    asked = layout.x
    here = stay[:, asked.who].astype(np.float64)
    if not weighed:
        counts = _added(here, asked.item, layout.items)
        return _student(_added(values * here, asked.item, layout.items) / np.maximum(counts, 1) - null, counts > 0)
    times = np.bincount(asked.who, minlength=layout.annotators)
    people = (stay & (times > 0)).sum(axis=1, keepdims=True)
    weight = here / times[asked.who] / np.maximum(people, 1)
    share, square, total = (_added(column, asked.item, layout.items) for column in (weight, weight**2, weight * values))
    seen = share > 0
    mean = total.sum(axis=1, keepdims=True)
    of_item = total / np.where(seen, share, 1.0)
    rest = np.where(seen, share * (of_item - mean), 0.0)
    squares, fourth = square.sum(axis=1, keepdims=True), (square**2).sum(axis=1)
    left = np.where(seen, 1 - 2 * share + share**2 * squares / np.where(seen, square, 1.0), 1.0)
    variance = np.where(left > 1e-9, rest**2 / np.maximum(left, 1e-9), 0.0).sum(axis=1)
    df = np.maximum(squares[:, 0] ** 2 / np.where(fourth > 0, fourth, 1.0) - 1, 1.0)
    spread = np.where(seen, np.abs(of_item - mean), 0.0).max(axis=1)
    varied = (seen.sum(axis=1) > 1) & (spread > ALIKE)
    t = (mean[:, 0] - null) / np.sqrt(np.where(varied, variance, 1.0))
    return np.where(varied, 2 * stdtr(df, -np.abs(t)), 1.0), mean[:, 0] - null


def reported(values: Floats, layout: Layout, stay: Booleans, *, kind: Kind, plan: Plan) -> tuple[float | None, float]:
    """Return p and the difference of one study, by the functions of the report; values of shape (questions,)."""
    asked = layout.x
    kept = np.flatnonzero(stay[asked.who])
    if not len(kept):
        return None, 0.0
    who, visit, item, value = (column[kept] for column in (asked.who, asked.visit, asked.item, values))
    if kind == "spa":
        test = one_sample(fold(who).mean(value), against=0.5, confidence=plan.confidence)
        return test.p_value, test.mean - 0.5
    if kind in ("choices", "ranking"):
        zeros = np.zeros(len(kept), dtype=np.int64)
        assignment = fold(who, visit).of
        choices = ChoiceCells(
            group="human",
            criterion="c0",
            llm=False,
            systems=WHOLE,
            x=zeros,
            y=zeros + 1,
            annotator=who,
            assignment=assignment,
            item=item,
            block=fold(assignment, item).of,
            value=value,
            row=np.arange(len(value)),
        )
        row = compare_choices(chosen_part(choices), plan)[0]
        return row.p_value, row.effect
    test = rated((who, visit, item, value), (who, visit, item, np.zeros(len(kept))), TwoSystems(plan))
    return test.p_value, test.difference


Rated = tuple[Ints, Ints, Ints, Floats]


def rated(x: Rated, y: Rated, testing: TwoSystems) -> Tested:
    """Test ratings of two systems: who, in which visit, about which item, and the score."""
    who, visit, item, value = (np.concatenate(columns) for columns in zip(x, y, strict=True))
    system = np.repeat([0, 1], [len(x[0]), len(y[0])])
    block = fold(who, visit, item).of
    order = np.lexsort((system, block))
    who, visit, item, value, system, block = (c[order] for c in (who, visit, item, value, system, block))
    cells = RatingCells(
        group="human",
        criterion="c0",
        llm=False,
        systems=WHOLE,
        system=system,
        annotator=who,
        assignment=fold(who, visit).of,
        item=item,
        block=block,
        value=value,
        scale=scale_of(value),
    )
    return testing.test(cells)
