"""Choices of one group and criterion as arrays, one value a cell."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import polars as pl

from analysis.answers.order import Order
from analysis.statistics.coding import Floats, Ints, code, fold
from analysis.strengths.strength_table import Judgements
from analysis.sums.units import unit_codes


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ChoiceCells:
    """Choices of one group and criterion, one value a cell: the share that x won (x before y in the order).

    ``block`` numbers what one annotator judged of an item in one assignment and variant.
    """

    group: str
    criterion: str
    llm: bool
    systems: tuple[str, ...]
    x: Ints
    y: Ints
    annotator: Ints
    assignment: Ints
    item: Ints
    block: Ints
    value: Floats
    row: Ints  # the first row of each cell, among those with an answer
    bad: npt.NDArray[np.bool_] | None = None  # ties of two that are bad
    answers: int | None = None  # choices before repeats were averaged; ``None``: as many as cells
    sampled: bool = False  # whether there are several samples of outputs


def choice_cells(table: pl.DataFrame, order: Order) -> Iterator[ChoiceCells]:
    """Yield the answered cells of each group and criterion, repeats averaged, turned to the order of systems."""
    table = table.filter(pl.col("value").is_not_null())
    if table.is_empty():
        return
    group, criterion = code(table["group"], order.groups).of, code(table["criterion"], order.criteria).of
    x, y = code(table["system_x"], order.systems).of, code(table["system_y"], order.systems).of
    units = unit_codes(table)
    annotator, assignment, item = units.annotator.of, units.assignment.of, units.item.of
    variant = code(table["variant"]).of
    sample = fold(*(code(table[name]).of for name in ("sample", "sample_x", "sample_y"))).of
    llm = (table["annotator_kind"] == "llm").to_numpy()
    cells = fold(group, criterion, assignment, variant, item, sample, x, y)
    first = cells.first
    bad = None
    if "both_bad" in table.columns and table["both_bad"].any():
        said = table["both_bad"].fill_null(False).to_numpy().astype(np.float64)
        bad = cells.mean(said) == 1  # each time that it was asked
    turned = x[first] > y[first]
    share = cells.mean(table["value"].to_numpy())
    share = np.where(turned, 1 - share, share)
    block = fold(*(column[first] for column in (group, criterion, assignment, variant, item))).of
    times = np.bincount(cells.of, minlength=len(cells))
    ends: list[int] = np.cumsum(np.bincount(fold(group[first], criterion[first]).of)).tolist()
    for start, end in pairwise((0, *ends)):
        rows = slice(start, end)  # folds are sorted by their columns
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
            block=block[rows],
            value=share[rows],
            row=own,
            bad=None if bad is None else bad[rows],
            answers=int(times[rows].sum()),
            sampled=bool(np.ptp(sample[own])),
        )


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
