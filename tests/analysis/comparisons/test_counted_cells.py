"""Sums in floats are those in whole numbers of 128 bits, and are refused where they could be rounded."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from analysis import Reading, check_frames
from analysis.answers.order import Order, order_of
from analysis.answers.tables import AnswerTables
from analysis.comparisons.counted_cells import counted_cells, counted_sums, item_sums
from analysis.comparisons.counted_weights import counted_weighed
from analysis.comparisons.rated_parts import grid_of_cells, rows_of_cells
from analysis.comparisons.rating_cells import RatingCells, rating_cells
from analysis.statistics import cell_sums
from analysis.sums import adding
from analysis.sums.adding import add_up, add_weighed
from analysis.sums.clusters import with_clusters
from analysis.sums.grid import Grid, Sums
from analysis.sums.weighing import uneven_weights
from spa.errors import AnalysisError
from tests.analysis.random_tables import random_table


def checked(seed: int) -> AnswerTables | None:
    table, _ = random_table("ratings", seed)
    try:
        return check_frames({"ratings": table.with_columns(pl.col("score").cast(pl.String))}, Reading())
    except AnalysisError:  # no such table in parts either
        return None


def in_whole_numbers(cells: RatingCells, order: object) -> tuple[Sums, Sums | None]:
    grid = grid_of_cells([cells], order)  # type: ignore[arg-type]
    place = grid.order.groups.index(cells.group), grid.criteria[cells.criterion]
    rows = rows_of_cells(cells, grid.order)
    rows = rows.sort("annotator", "item", "assignment", "variant", "system", "sample")
    sums = add_up(rows, "ratings", grid)
    sums |= add_weighed(rows, "ratings", grid, uneven_weights(sums, grid))
    own = counted_cells(cells, grid, place)
    if own is None:
        return sums, None
    counted = with_clusters(counted_sums(own))
    return sums, counted | counted_weighed(own, uneven_weights(counted, grid))


def complete(cells: RatingCells, grid: Grid) -> Sums:
    """Return the sums of cells to which nothing is added."""
    place = grid.order.groups.index(cells.group), grid.criteria[cells.criterion]
    own = counted_cells(cells, grid, place, complete=True)
    assert own is not None
    counted, without = counted_sums(own), counted_sums(own, by_item=False)
    assert counted.keys() == without.keys()
    for name, frame in counted.items():  # those by item are the same when they are asked for
        of, _, unit = name.partition("_")
        assert_frame_equal(item_sums(own, of) if unit == "item" else without[name], frame, check_exact=True)
    counted = with_clusters(counted)
    return counted | counted_weighed(own, uneven_weights(counted, grid))


def assert_rounded(complete: Sums, whole: Sums) -> None:
    """Assert that sums by item are those in whole numbers, rounded to floats once, and all others the same."""
    assert complete.keys() == whole.keys()
    for name, frame in whole.items():
        found = complete[name]
        large = [one for one, dtype in frame.schema.items() if dtype == pl.Int128] if name.endswith("_item") else []
        assert {found.schema[one] for one in large} <= {pl.Float64()}
        rounded = frame.with_columns(pl.col(large).cast(pl.Float64))
        assert_frame_equal(found.select(rounded.columns), rounded, check_row_order=False, check_exact=True)


def test_counted_sums_are_those_in_whole_numbers() -> None:
    compared = 0
    for seed in range(16):
        if (tables := checked(seed)) is None or tables.ratings is None:
            continue
        order = order_of(tables.ratings, tables.ratings["group"].cast(pl.String).unique().sort().to_list(), None)
        for cells in rating_cells(tables.ratings, order):
            whole, counted = in_whole_numbers(cells, order)
            if counted is None:
                continue
            compared += 1
            assert_rounded(complete(cells, grid_of_cells([cells], order)), counted)
            del whole["repeated"]
            assert counted.keys() == whole.keys()
            for name, frame in whole.items():
                columns = sorted(frame.columns)
                assert_frame_equal(counted[name].select(columns), frame.select(columns), check_row_order=False)
    assert compared > 10


@pytest.mark.parametrize("items", [2, 90])
@pytest.mark.parametrize("scores", [(1, 2, 3), (1, 2.5, 20)])
def test_whole_blocks_are_counted_as_rows(items: int, scores: tuple[float, ...]) -> None:
    """Blocks that have all systems are added up pair by pair; annotators answered about different numbers of items."""
    rng = np.random.default_rng(items)
    block = [(who, item) for who in range(4) for item in range(items) if item % (who + 1) == 0]
    who, item = (np.repeat(column, 3) for column in np.array(block).T)
    columns = {"annotator_id": who, "item_id": item, "system": np.tile(np.arange(3), len(block))}
    frame = pl.DataFrame(columns).select(pl.format(f"{name[0]}{{}}", name).alias(name) for name in columns)
    score = pl.Series([f"{own:g}" for own in rng.choice(scores, frame.height)])
    table = check_frames({"ratings": frame.with_columns(score=score)}, Reading()).ratings
    assert table is not None
    order = order_of(table, ["human"], None)
    (cells,) = rating_cells(table, order)
    own = counted_cells(cells, grid_of_cells([cells], order), (0, 0))
    assert own is not None
    assert own.side_by_side is not None
    whole, counted = in_whole_numbers(cells, order)
    assert counted is not None
    assert "pairs_weighed_item" in counted
    assert_rounded(complete(cells, grid_of_cells([cells], order)), counted)
    del whole["repeated"]
    for name, sums in whole.items():
        names = sorted(sums.columns)
        assert_frame_equal(counted[name].select(names), sums.select(names), check_row_order=False)


@pytest.mark.parametrize("seed", [1, 2])
def test_blocks_weigh_for_a_pair_what_others_left(seed: int) -> None:
    """Whole blocks beside other slices, whose answers give somebody other weights for one pair; an item in one run."""
    rng = np.random.default_rng(seed)
    item, who = (np.repeat(column, 3) for column in np.divmod(np.arange(60), 12))
    columns: Any = {"annotator": who, "assignment": who, "item": item, "block": np.arange(180) // 3}
    cells = replace(
        rated(rng.integers(1, 6, 180).astype(np.float64)), systems=("A", "B", "C"), system=np.arange(180) % 3, **columns
    )
    order = order_of(pl.DataFrame({"group": ["human"], "criterion": ["c"], "system": ["A"]}), ["human"], None)
    order = replace(order, systems=cells.systems)
    grid = grid_of_cells([cells], order)
    own = counted_cells(cells, grid, (0, 0))
    assert own is not None
    assert own.side_by_side is not None
    counted = counted_sums(own)
    frame = counted["pairs_annotator"]
    more = pl.Series([int(seed == 2 and place % 5 == 0) for place in range(frame.height)])
    uneven = frame.with_columns(n=pl.col("n") + frame["annotator"] % 2 + more)
    weights = uneven_weights(counted | {"pairs_annotator": uneven}, grid)
    rows = rows_of_cells(cells, order).sort("annotator", "item", "system")
    whole, found = add_weighed(rows, "ratings", grid, weights), counted_weighed(own, weights)
    assert found.keys() == whole.keys() == {"pairs_weighed_item"}
    expected = whole["pairs_weighed_item"]
    assert_frame_equal(found["pairs_weighed_item"].select(expected.columns), expected, check_row_order=False)


@pytest.mark.parametrize("folded", [False, True])
def test_counted_sums_do_not_depend_on_how_keys_are_kept(folded: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    cells = rated(np.array([1.0, 4.0, 2.0, 5.0, 3.0, 3.0]))
    order = order_of(pl.DataFrame({"group": ["human"], "criterion": ["c"], "system": ["A"]}), ["human"], None)
    order = replace(order, systems=("A", "B"))
    before = in_whole_numbers(cells, order)[1]
    if folded:
        monkeypatch.setattr(cell_sums, "DENSE", 0)
    after = in_whole_numbers(cells, order)[1]
    assert before is not None
    assert after is not None
    for name, frame in before.items():
        assert_frame_equal(after[name], frame, check_row_order=False)


def rated(value: np.ndarray) -> RatingCells:
    return RatingCells(
        group="human",
        criterion="c",
        llm=False,
        systems=("A", "B"),
        system=np.array([0, 1] * 3),
        annotator=np.array([0, 0, 0, 0, 1, 1]),
        assignment=np.array([0, 0, 0, 0, 1, 1]),
        item=np.array([0, 0, 1, 1, 0, 0]),
        block=np.array([0, 0, 1, 1, 2, 2]),
        value=value,
        scale=float(np.abs(value).max()),
    )


@pytest.mark.parametrize("value", [[1 / 3, 1, 2, 3, 4, 5], [1e8, 1, 2, 3, 4, 5], [0.12345, 1, 2, 3, 4, 5]])
def test_sums_that_floats_could_round_are_not_counted(value: list[float]) -> None:
    order = order_of(pl.DataFrame({"group": ["human"], "criterion": ["c"], "system": ["A"]}), ["human"], None)
    _, counted = in_whole_numbers(rated(np.array(value)), replace(order, systems=("A", "B")))
    assert counted is None


def test_sums_of_one_system_have_no_pairs() -> None:
    cells = replace(rated(np.array([1.0, 4.0, 2.0, 5.0, 3.0, 3.0])), systems=("A",), system=np.zeros(6, dtype=np.int64))
    once = slice(None, None, 2)
    columns = {name: getattr(cells, name)[once] for name in ("system", "annotator", "assignment", "item", "value")}
    cells = replace(cells, **columns, block=np.arange(3))
    order = order_of(pl.DataFrame({"group": ["human"], "criterion": ["c"], "system": ["A"]}), ["human"], None)
    whole, counted = in_whole_numbers(cells, order)
    assert counted is not None
    assert counted["pairs_item"].is_empty()
    assert_frame_equal(counted["scores_item"], whole["scores_item"], check_row_order=False)


def test_runs_are_spelt_out_as_single_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    """What long runs are about is worked out once a run."""
    order = Order(groups=("human", "gpt"), criteria=("c", "d", "e"), systems=("A", "B", "C", "D"), pairs=())
    options = pl.DataFrame()
    grid = Grid(order=order, factor=np.ones((2, 3)), criteria={}, llm=(), options=options)
    about = np.repeat(np.random.default_rng(2).permutation(96), 10)
    frame = pl.DataFrame({"about": about, "n": np.arange(len(about))})
    whole = grid.spelt_out(frame, "pairs")
    monkeypatch.setattr(adding, "FEW", 10)
    assert_frame_equal(grid.spelt_out(frame, "pairs"), whole)
    number = ((whole["group"].cast(pl.Int64) * 3 + whole["criterion"]) * 4 + whole["x"]) * 4 + whole["y"]
    assert number.to_list() == about.tolist()
