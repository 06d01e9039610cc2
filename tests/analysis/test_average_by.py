"""Averages by several columns, against polars' own group-by."""

from __future__ import annotations

import polars as pl
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from analysis.statistics.coding import average_by

ROW = st.tuples(st.sampled_from(["b", "a", "ä", None]), st.sampled_from([2, 10, None]), st.floats(-3, 3))


@given(st.lists(ROW, min_size=1, max_size=40), st.booleans())
def test_the_same_rows_as_a_sorted_group_by(rows: list[tuple[str | None, int | None, float]], coded: bool) -> None:
    table = pl.DataFrame(rows, schema={"name": pl.String, "place": pl.Int64, "value": pl.Float64}, orient="row")
    expected = table.group_by("name", "place").agg(pl.col("value").mean()).sort("name", "place")
    kind = pl.Categorical if coded else pl.String
    found = average_by(table.with_columns(pl.col("name").cast(kind)), ["name", "place"])
    assert found.rows() == average_by(table[::-1].with_columns(pl.col("name").cast(kind)), ["name", "place"]).rows()
    assert_frame_equal(found.with_columns(pl.col("name").cast(pl.String)), expected, abs_tol=1e-12)
