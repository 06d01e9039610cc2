"""Pairwise choices: which of two outputs of one item is better."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

from analysis.answers.order import Order
from analysis.answers.plan import Plan
from analysis.answers.units import UnitRule, average_by_unit, count_by
from analysis.statistics.coding import Floats, Ints, code, fold, split_by
from analysis.statistics.corrections import Verdict
from analysis.statistics.t_tests import one_sample, sign_test
from analysis.strengths.rows import Judgements

CHANCE = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoiceTest:
    """Share of choices that x won (a tie is half), averaged within the unit and tested against 0.5."""

    group: str
    criterion: str
    system_x: str
    system_y: str
    unit: str
    unit_note: str | None
    n: int
    wins_x: int
    wins_y: int
    ties: int
    win_rate: float
    ci_low: float | None
    ci_high: float | None
    t: float | None
    df: float | None
    p_value: float | None
    p_adjusted: float | None = None
    n_tests: int | None = None
    p_binomial: float | None = None
    stars: str = ""
    verdict: Verdict | None = None
    p_equivalence: float | None = None
    p_equivalence_adjusted: float | None = None
    equivalent: bool | None = None
    lopsided: bool = False
    reason: str | None = None

    @property
    def effect(self) -> float:
        """How far the win rate lies from chance; positive speaks for x."""
        return self.win_rate - CHANCE


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ChoiceCells:
    """Choices of one group and criterion, one value a cell: the share that x won (x before y in the order)."""

    group: str
    criterion: str
    llm: bool
    systems: tuple[str, ...]
    x: Ints
    y: Ints
    annotator: Ints
    assignment: Ints
    item: Ints
    value: Floats


def choice_cells(table: pl.DataFrame, order: Order) -> Iterator[ChoiceCells]:
    """Yield the answered cells of each group and criterion, repeats averaged, turned to the order of systems."""
    table = table.filter(pl.col("value").is_not_null())
    if table.is_empty():
        return
    group, criterion = code(table["group"], order.groups).of, code(table["criterion"], order.criteria).of
    x, y = code(table["system_x"], order.systems).of, code(table["system_y"], order.systems).of
    annotator = code(table["annotator_id"]).of
    assignment = fold(annotator, code(table["assignment_id"]).of).of
    item, variant = code(table["item_id"]).of, code(table["variant"]).of
    sample = fold(*(code(table[name]).of for name in ("sample", "sample_x", "sample_y"))).of
    llm = (table["annotator_kind"] == "llm").to_numpy()
    cells = fold(group, criterion, assignment, variant, item, sample, x, y)
    first = cells.first
    turned = x[first] > y[first]
    share = cells.mean(table["value"].to_numpy())
    share = np.where(turned, 1 - share, share)
    ends = np.cumsum(np.bincount(fold(group[first], criterion[first]).of))
    for number, end in enumerate(ends.tolist()):
        rows = slice(ends[number - 1] if number else 0, end)  # folds are sorted by their columns
        own = first[rows]
        yield ChoiceCells(
            group=order.groups[group[own[0]]],
            criterion=order.criteria[criterion[own[0]]],
            llm=bool(llm[own[0]]),
            systems=order.systems,
            x=np.minimum(x[own], y[own]),
            y=np.maximum(x[own], y[own]),
            annotator=annotator[own],
            assignment=assignment[own],
            item=item[own],
            value=share[rows],
        )


def compare_choices(cells: ChoiceCells, plan: Plan) -> list[ChoiceTest]:
    """Test for every pair whether x wins as often as y.

    The share won is averaged within the unit and a one-sample t against 0.5 is taken over units;
    ``p_binomial`` is the exact two-sided sign test over the untied choices, which takes them as independent.
    """
    k = len(cells.systems)
    pair = cells.x * k + cells.y
    rule = UnitRule(wanted=plan.unit, llm=cells.llm)
    units = average_by_unit(
        pair,
        cells.value,
        annotator=cells.annotator,
        assignment=cells.assignment,
        item=cells.item,
        units=[rule.choose(count) for count in count_by(pair, cells.annotator, k * k).tolist()],
        scale=1.0,
    )
    rows = []
    for number, (unit, own) in enumerate(zip(units, split_by(pair, cells.value, k * k), strict=True)):
        if unit is None:
            continue
        wins, losses = int(np.sum(own > CHANCE)), int(np.sum(own < CHANCE))
        result = one_sample(unit.values, against=CHANCE, confidence=plan.confidence)
        rows.append(
            ChoiceTest(
                group=cells.group,
                criterion=cells.criterion,
                system_x=cells.systems[number // k],
                system_y=cells.systems[number % k],
                unit=unit.unit,
                unit_note=unit.note,
                wins_x=wins,
                wins_y=losses,
                ties=len(own) - wins - losses,
                win_rate=result.mean,
                p_binomial=sign_test(wins, losses),
                **result.columns(),
            )
        )
    return rows


def choice_judgements(cells: ChoiceCells) -> Judgements:
    """Return each cell as one comparison for Bradley-Terry; a tie is half for each."""
    return Judgements(
        x=cells.x,
        y=cells.y,
        won=cells.value,
        unit="assignment" if cells.llm else "annotator",
        of_unit=cells.assignment if cells.llm else cells.annotator,
        item=cells.item,
    )
