"""Ratings of one group and criterion as arrays, one value a cell, and their differences side by side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from analysis.answers.order import Order
from analysis.answers.tables import answered_rows
from analysis.statistics.coding import Floats, Ints, all_differ, code, fold, rows_in_order, scale_of
from analysis.statistics.differences import Differences
from analysis.sums.units import UnitCodes, unit_codes


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RatingCells:
    """Ratings of one group and criterion, one value a cell (repeats averaged).

    ``block`` numbers what was rated side by side: one annotator's (assignment's, variant's) item.
    """

    group: str
    criterion: str
    llm: bool
    systems: tuple[str, ...]
    system: Ints
    annotator: Ints
    assignment: Ints
    item: Ints
    block: Ints
    value: Floats
    scale: float
    answers: int | None = None  # ratings before repeats were averaged; ``None``: as many as cells
    once: bool = False  # known that an annotator answered about an item in one block, once about each output

    @property
    def sampled(self) -> bool:
        """Whether some output was rated in several samples."""
        block, system = self.block, self.system  # sorted by both
        return bool(np.any((block[1:] == block[:-1]) & (system[1:] == system[:-1])))

    def column(self, unit: str) -> Ints:
        """Return the ids of a unit."""
        return {"annotator": self.annotator, "assignment": self.assignment, "item": self.item}[unit]


def rating_cells(table: pl.DataFrame, order: Order, units: UnitCodes | None = None) -> Iterator[RatingCells]:
    """Yield the answered cells of each group and criterion, in the order of the results.

    ``units`` are those of the answered rows, where they are known.
    """
    table = answered_rows(table)
    if table.is_empty():
        return
    units = unit_codes(table) if units is None else units
    columns: dict[str, npt.NDArray[Any]] = {
        "group": code(table["group"], order.groups).of,
        "criterion": code(table["criterion"], order.criteria).of,
        "system": code(table["system"], order.systems).of,
        "annotator": units.annotator.of,
        "assignment": units.assignment.of,
        "item_id": units.item.of,
        "llm": (table["annotator_kind"] == "llm").to_numpy(),
        **{name: code(table[name]).of for name in ("variant", "sample")},
    }
    yield from cells_of(columns, table["value"].to_numpy(), order)


def cells_of(columns: Mapping[str, npt.NDArray[Any]], value: Floats, order: Order) -> Iterator[RatingCells]:
    """Do the same of rows as numbers.

    ``group``, ``criterion``, ``system``, ``annotator``, ``assignment``, ``item_id``, ``variant`` and ``sample`` are
    whole numbers, ``llm`` a bool.
    """
    alike = {name for name, column in columns.items() if column[0] == column[-1] and np.all(column == column[0])}
    names = ("group", "criterion", "assignment", "variant", "item_id", "system", "sample")
    varied = [name for name in names if name not in alike]
    found, times, there = rows_in_order(*(columns[name] for name in varied)) if varied else None, None, {}
    if found is None:
        cells = fold(*(columns[name] for name in names))
        averaged, first, times = cells.mean(value), cells.first, np.bincount(cells.of)
    else:
        first, ordered = found
        averaged = value[first]
        averaged += 0.0
        there = {id(columns[name]): column for name, column in zip(varied, ordered, strict=True)}
    for name in columns.keys() - alike:
        if id(columns[name]) not in there:
            there[id(columns[name])] = columns[name][first]
    columns = {name: column[: len(first)] if name in alike else there[id(column)] for name, column in columns.items()}
    once = times is None and columns["assignment"] is columns["annotator"] and {"variant", "sample"} <= alike
    del first, there, found
    begins = np.zeros(len(averaged), dtype=np.bool_)
    for own in [
        columns[name] for name in ("group", "criterion", "assignment", "variant", "item_id") if name not in alike
    ]:
        begins[1:] |= own[1:] != own[:-1]
    block: Ints = np.cumsum(begins)
    ends = [len(averaged)]
    if not {"group", "criterion"} <= alike:
        ends = np.cumsum(np.bincount(fold(columns["group"], columns["criterion"]).of)).tolist()
    for start, end in pairwise((0, *ends)):
        rows = slice(start, end)  # folds are sorted by their columns
        yield RatingCells(
            group=order.groups[columns["group"][start]],
            criterion=order.criteria[columns["criterion"][start]],
            llm=bool(columns["llm"][start]),
            systems=order.systems,
            system=columns["system"][rows],
            annotator=columns["annotator"][rows],
            assignment=columns["assignment"][rows],
            item=columns["item_id"][rows],
            block=block[rows],
            value=averaged[rows],
            scale=scale_of(averaged[rows]),
            answers=None if times is None else int(times[rows].sum()),
            once=once,
        )


def cells_as_they_stand(columns: Mapping[str, npt.NDArray[Any]], value: Floats, order: Order) -> list[RatingCells]:
    """Do the same without sorting, where all rows are of one group and criterion and stand block by block.

    None where they do not, or some cell has several rows. O(rows) time but for O(blocks log blocks).
    """
    units = [columns[name] for name in ("assignment", "variant", "item_id")]
    if not len(value) or any(np.ptp(columns[name]) for name in ("group", "criterion", "sample")):
        return []
    begins = np.zeros(len(value), dtype=np.bool_)
    begins[0] = True
    for own in units:
        begins[1:] |= own[1:] != own[:-1]
    system = columns["system"]
    starts = np.flatnonzero(begins)
    if not np.all((system[1:] > system[:-1]) | begins[1:]) or not all_differ(*(own[starts] for own in units)):
        return []
    return [
        RatingCells(
            group=order.groups[columns["group"][0]],
            criterion=order.criteria[columns["criterion"][0]],
            llm=bool(columns["llm"][0]),
            systems=order.systems,
            system=system,
            annotator=columns["annotator"],
            assignment=columns["assignment"],
            item=columns["item_id"],
            block=np.cumsum(begins),
            value=value + 0.0,
            scale=scale_of(value),
            once=columns["assignment"] is columns["annotator"] and not np.ptp(columns["variant"]),
        )
    ]


def rating_differences(cells: RatingCells) -> Differences:
    """Pair the ratings that one annotator gave to two systems on one item (samples of a system averaged)."""
    outputs = fold(cells.block, cells.system)
    alone = outputs.first is outputs.of  # sorted by block and system, and each cell is an output as it stands
    first: Any = slice(None) if alone else outputs.first
    value = cells.value if alone else outputs.mean(cells.value)
    return Differences(
        block=cells.block[first],
        system=cells.system[first],
        score=value,
        annotators=cells.annotator[first],
        assignments=cells.assignment[first],
        items=cells.item[first],
        scale=cells.scale,
        times=None if alone else np.bincount(outputs.of),
    )
