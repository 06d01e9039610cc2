"""Some buckets of ratings as cells, added up as those of a table in memory are: a tenth of what grouping rows takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from analysis.comparisons.counted_cells import CountedCells, counted_cells, counted_sums
from analysis.comparisons.counted_weights import counted_weighed
from analysis.comparisons.rating_cells import cells_as_they_stand, cells_of
from analysis.parts.slices import SliceRows
from analysis.statistics.coding import Floats, Ints
from analysis.sums.grid import UNITS, Grid, Sums


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CountedRows:
    """Ratings by group and criterion; ``keys`` are those of annotators, assignments and items by number."""

    cells: tuple[CountedCells, ...]
    keys: Mapping[str, pl.Series]

    def sums(self) -> Sums:
        """Return what :func:`analysis.sums.adding.add_up` does, but for clusters, in which each value is alone."""
        found = self._together([counted_sums(own) for own in self.cells])
        return {**found, "repeated": pl.DataFrame(schema={"annotator": pl.Int64})}

    def weighed(self, weights: Mapping[str, pl.DataFrame]) -> Sums:
        """Return what :func:`analysis.sums.adding.add_weighed` does."""
        own = {of: self._numbered(frame) for of, frame in weights.items()}
        return self._together([counted_weighed(one, own) for one in self.cells])

    def _numbered(self, weights: pl.DataFrame) -> pl.DataFrame:
        """Return the weights of those who are here."""
        here = [
            weights.filter(votes=unit).join(
                pl.DataFrame({"who": self.keys[unit]}).with_row_index("number"), on="who", how="inner"
            )
            for unit in weights["votes"].unique()
        ]
        return pl.concat(here).with_columns(who=pl.col("number").cast(pl.Int64)).drop("number")

    def _together(self, each: list[Sums]) -> Sums:
        """Put the sums of groups and criteria, which have no row in common, below each other, with keys of units."""
        found = {name: pl.concat([own[name] for own in each if name in own]) for own in each for name in own}
        for name, frame in found.items():
            for unit in {*UNITS} & {*frame.columns}:
                found[name] = found[name].with_columns(self.keys[unit].gather(frame[unit]).alias(unit))
        return found


def counted_rows(rows: pl.DataFrame, grid: Grid) -> CountedRows | None:
    """Return the rows of :func:`analysis.sums.adding.numbered` as cells.

    ``None`` where some cell has several rows, or some group and criterion is none of
    :func:`analysis.comparisons.counted_cells.counted_cells`. O(rows log rows) time.
    """
    if rows.is_empty():
        return None
    keys, columns = dict[str, pl.Series](), dict[str, npt.NDArray[Any]]()
    for name in ("annotator", "assignment", "item", "variant", "sample"):
        if name == "assignment" and rows["assignment"].equals(rows["annotator"]):
            keys[name], columns[name] = keys["annotator"], columns["annotator"]
        else:
            keys[name], columns[name] = _codes(rows[name])
    columns["item_id"] = columns.pop("item")
    columns |= {name: rows[name].cast(pl.Int64).to_numpy() for name in ("group", "criterion", "system")}
    columns["llm"] = rows["group"].is_in(list(grid.llm)).to_numpy()
    return _counted(columns, keys, rows["value"].to_numpy(), grid)


def _all(rows: SliceRows, name: str, each: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the entry of each row."""
    of = rows.of[name]
    found: npt.NDArray[Any] = np.broadcast_to(each[0], len(rows.value)) if of is None else each[of]
    return found


def counted_slice(rows: SliceRows, grid: Grid) -> CountedRows | None:
    """Return the rows of a slice as cells, where :func:`counted_rows` does."""
    if not len(rows.value):
        return None
    columns: dict[str, npt.NDArray[Any]] = {name: rows.column(name) for name in ("annotator", "variant", "sample")}
    columns["item_id"] = rows.column("item")
    same = rows.of["assignment"] is rows.of["annotator"]
    columns["assignment"] = columns["annotator"] if same else rows.column("assignment")
    columns |= {name: _all(rows, name, rows.each[name].astype(np.int64)) for name in ("group", "criterion", "system")}
    columns["llm"] = _all(rows, "group", np.isin(rows.each["group"], grid.llm))
    keys = {name: pl.Series(rows.each[name]) for name in UNITS}
    return _counted(columns, keys, rows.value, grid)


def _counted(
    columns: dict[str, npt.NDArray[Any]], keys: Mapping[str, pl.Series], value: Floats, grid: Grid
) -> CountedRows | None:
    found = []
    for cells in cells_as_they_stand(columns, value, grid.order) or cells_of(columns, value, grid.order):
        if cells.answers not in (None, len(cells.value)):
            return None
        place = grid.order.groups.index(cells.group), grid.order.criteria.index(cells.criterion)
        own = counted_cells(cells, grid, place)
        if own is None:
            return None
        found.append(own)
    return CountedRows(cells=tuple(found), keys=keys)


def _codes(column: pl.Series) -> tuple[pl.Series, Ints]:
    """Return the keys of a column, ascending, and the number of each row's."""
    keys = column.unique().sort()
    numbers = pl.int_range(0, len(keys), eager=True)
    return keys, column.replace_strict(keys, numbers, return_dtype=pl.Int64).to_numpy()
