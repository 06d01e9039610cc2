"""Rows of buckets added up as cells are those added up as rows, also where keys are spread over 64 bits."""

from __future__ import annotations

import polars as pl
from polars.testing import assert_frame_equal

from analysis.answers.groups import group_order
from analysis.answers.order import order_of
from analysis.answers.tables import answered_rows
from analysis.parts.counted_buckets import counted_rows
from analysis.sums.adding import add_up, add_weighed, described, in_cells, keyed_rows, merged, numbered
from analysis.sums.clusters import with_clusters
from analysis.sums.grid import grid_of
from analysis.sums.weighing import uneven_weights
from tests.analysis.comparisons.test_counted_cells import checked


def test_rows_counted_as_cells_give_the_same_sums() -> None:
    compared = 0
    for seed in range(12):
        if (tables := checked(seed)) is None or tables.ratings is None:
            continue
        table = tables.ratings
        groups = group_order([table])
        order = order_of(table, [group for group, _ in groups], None)
        keys = keyed_rows(table, "ratings")
        grid = grid_of(order, groups, described(table, keys), {})
        rows = numbered(answered_rows(keys), "ratings", grid)
        if (counted := counted_rows(rows.sample(fraction=1, shuffle=True, seed=seed), grid)) is None:
            continue
        compared += 1
        sorted_rows = in_cells(rows, "ratings")
        whole = add_up(sorted_rows, "ratings", grid)
        weights = uneven_weights(whole, grid)
        found = {**with_clusters(counted.sums()), **counted.weighed(weights)}
        whole |= add_weighed(sorted_rows, "ratings", grid, weights)
        assert found.keys() == whole.keys()
        for name, frame in whole.items():
            assert_frame_equal(merged([{name: found[name]}])[name], frame, check_row_order=False)
    assert compared > 3


def test_rows_that_are_asked_twice_are_not_counted() -> None:
    tables = checked(0)
    assert tables is not None
    assert tables.ratings is not None
    keys = keyed_rows(tables.ratings, "ratings")
    groups = group_order([tables.ratings])
    order = order_of(tables.ratings, [group for group, _ in groups], None)
    grid = grid_of(order, groups, described(tables.ratings, keys), {})
    rows = numbered(answered_rows(keys), "ratings", grid)
    assert counted_rows(pl.concat([rows, rows]), grid) is None
