"""The ratings or choices of one group and criterion: their sums, and single answers where these are at hand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
import polars as pl

from analysis.answers.order import Order
from analysis.comparisons.counted_cells import CountedCells, counted_cells, counted_sums, item_sums
from analysis.comparisons.counted_weights import counted_weighed
from analysis.comparisons.rating_cells import RatingCells, rating_cells, rating_differences
from analysis.statistics.clustered_difference import SystemClusters
from analysis.statistics.differences import Differences
from analysis.statistics.record import AnnotatorKind
from analysis.sums.adding import add_up, add_weighed
from analysis.sums.building import build_sums, in_order, in_scores, weighed_in_floats
from analysis.sums.clusters import alike
from analysis.sums.criterion_sums import (
    Columns,
    CriterionSums,
    EqualSums,
    Placed,
    SumsWhenAsked,
    by_criterion,
    equal_sums,
    votes_of,
)
from analysis.sums.grid import OPTIONS, SYSTEMS, UNITS, Grid, Sums, multiples_of
from analysis.sums.totals import SummedKind
from analysis.sums.units import UnitCodes
from analysis.sums.weighing import uneven_weights


@dataclass(frozen=True, kw_only=True, eq=False)
class RatedPart:
    """Ratings of one group and criterion.

    Attributes
    ----------
    sums : CriterionSums
        What nearly all statistics follow from.
    cells : RatingCells or None
        Single ratings, for what does not follow from sums; ``None`` of a table in parts.
    """

    sums: CriterionSums
    cells: RatingCells | None = None

    @cached_property
    def differences(self) -> Differences:
        """What one annotator gave to two systems on one item."""
        assert self.cells is not None
        return rating_differences(self.cells)

    @cached_property
    def equal_pairs(self) -> EqualSums:
        """Sums of pairs with everybody weighing the same."""
        return equal_sums(self.sums, "pairs", votes_of(self.sums))

    def clusters(self, who: str, *, alike: bool) -> SystemClusters:
        """Return the sums of each system by annotator (assignment), item and both."""
        cells = self.cells
        assert cells is not None
        columns = (cells.system, cells.value, cells.column(who), cells.item)
        return SystemClusters(*columns, scale=cells.scale, annotators_alike=alike)


def rated_parts(table: pl.DataFrame, order: Order, units: UnitCodes | None = None) -> Iterator[RatedPart]:
    """Yield the groups and criteria of a table of ratings that have answers, in the order of the results.

    ``units`` are those of the answered rows, where they are known.
    """
    cells = [*rating_cells(table, order, units)]
    for part, own in zip(_sums(cells, "ratings", order), cells, strict=True):
        yield RatedPart(sums=part, cells=own)


def rated_part(cells: RatingCells) -> RatedPart:
    """Return the sums of one group and criterion beside its cells."""
    order = Order(groups=(cells.group,), criteria=(cells.criterion,), systems=cells.systems, pairs=())
    (part,) = _sums([cells], "ratings", order)
    return RatedPart(sums=part, cells=cells)


def _sums(parts: Sequence[RatingCells], kind: SummedKind, order: Order) -> Iterator[CriterionSums]:
    """Add up the cells of a table, to the last digit as parts of it are added up."""
    if not parts:
        return
    grid = grid_of_cells(parts, order)
    added = [_added_up(part, kind, grid) for part in parts]
    each = alike([own.sums for own in added])
    tables = {name: [own[name] for own in each if name in own] for name in dict.fromkeys(chain.from_iterable(each))}
    sums = {name: own[0] if len(own) == 1 else pl.concat(own, how="diagonal_relaxed") for name, own in tables.items()}
    del each, tables
    kinds: list[tuple[str, AnnotatorKind]] = [(part.group, "llm" if part.llm else "human") for part in parts]
    sampled = frozenset((part.group, part.criterion) for part in parts if part.sampled)
    names = {name: [getattr(part, name) for part in parts] for name in ("group", "criterion", "scale")}
    built = build_sums(
        sums,
        kind=kind,
        grid=grid,
        groups=tuple(dict(kinds).items()),
        scale=pl.DataFrame(names),
        sampled=sampled,
        numbers={unit: 1 + max(int(part.column(unit).max()) for part in parts) for unit in UNITS},
    )
    for found, part, own in zip(by_criterion(built), parts, [one.items for one in added], strict=True):
        whole = found if own is None else own.beside(found)
        yield whole if part.answers is None else replace(whole, answers=part.answers)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _AddedUp:
    """Sums of one group and criterion, those by item only where nothing makes them when they are asked for."""

    sums: Sums
    items: _ByItem | None = None


def _added_up(part: RatingCells, kind: SummedKind, grid: Grid) -> _AddedUp:
    """Add up one group and criterion."""
    place = grid.order.groups.index(part.group), grid.criteria[part.criterion]
    if (own := counted_cells(part, grid, place, complete=True)) is not None:
        sums = counted_sums(own, by_item=False)
        return _AddedUp(sums=sums, items=_ByItem(cells=own, weights=uneven_weights(sums, grid)))
    rows = rows_of_cells(part, grid.order)
    rows = rows.sort("annotator", "item", "assignment", "variant", *SYSTEMS[kind], "sample")
    sums = add_up(rows, kind, grid)
    return _AddedUp(sums=sums | add_weighed(rows, kind, grid, uneven_weights(sums, grid)))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _ByItem:
    """Adds cells up by item when it is asked to: few reports need all of these tables, each as large as the ratings.

    ``weights`` are those of :func:`analysis.sums.weighing.uneven_weights`.
    """

    cells: CountedCells
    weights: Mapping[str, pl.DataFrame]

    def beside(self, sums: CriterionSums) -> CriterionSums:
        """Return the sums of a group and criterion with those by item."""
        return replace(sums, scores=self._tables("scores", sums.scores), pairs=self._tables("pairs", sums.pairs))

    def _tables(self, of: str, known: Mapping[str, Columns]) -> SumsWhenAsked:
        later = {"item": lambda: self._columns(item_sums(self.cells, of), of)}
        if of in self.weights:
            later["weighed"] = lambda: self._columns(self._weighed(of), of)
        return SumsWhenAsked(known, later)

    def _weighed(self, of: str) -> pl.DataFrame:
        found = counted_weighed(self.cells, {of: self.weights[of]})
        return weighed_in_floats(found.get(f"{of}_weighed_item"), of)

    def _columns(self, frame: pl.DataFrame, of: str) -> Columns:
        grid = self.cells.grid
        placed = Placed.of(in_scores(in_order(frame, "about", "item"), of, grid), len(grid.order.systems))
        return placed.at(self.cells.place)


def grid_of_cells(parts: Sequence[RatingCells], order: Order) -> Grid:
    """Return the grid of all parts."""
    factor = np.ones((len(order.groups), len(order.criteria)))
    options = []
    for part in parts:
        place = order.groups.index(part.group), order.criteria.index(part.criterion)
        factor[place] = multiples_of(part.scale)
        values = np.unique(part.value)
        if part.answers in (None, len(part.value)) and len(values) <= OPTIONS:
            options.append((*place, values))
    columns: dict[str, Any] = {
        "group": [group for group, _, values in options for _ in values],
        "criterion": [criterion for _, criterion, values in options for _ in values],
        "value": [value for *_, values in options for value in values.tolist()],
        "option": [option for *_, values in options for option in range(len(values))],
    }
    schema = {"group": pl.Int32, "criterion": pl.Int32, "value": pl.Float64, "option": pl.Int32}
    llm = {part.group for part in parts if part.llm}
    return Grid(
        order=order,
        factor=factor,
        criteria={name: number for number, name in enumerate(order.criteria)},
        llm=tuple(number for number, name in enumerate(order.groups) if name in llm),
        options=pl.DataFrame(columns, schema=schema),
    )


def rows_of_cells(part: RatingCells, order: Order) -> pl.DataFrame:
    """Return the cells of a part as rows that are added up."""
    n = len(part.value)
    whole = {"group": order.groups.index(part.group), "criterion": order.criteria.index(part.criterion)}
    columns = {"annotator": part.annotator, "item": part.item, "assignment": part.assignment, "variant": part.block}
    return pl.DataFrame({**columns, "sample": np.arange(n), "value": part.value}).with_columns(
        **{name: pl.lit(number, dtype=pl.Int32) for name, number in whole.items()},
        system=pl.Series(part.system, dtype=pl.Int32),
        repeat=pl.lit(0, dtype=pl.Int64),
    )
