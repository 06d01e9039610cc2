"""Averages by several columns, against polars' own group-by, and the numbers of ids that they rest on."""

from __future__ import annotations

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from analysis.statistics.coding import FEW, average_by, code, fold, in_order, number_together

ROW = st.tuples(st.sampled_from(["b", "a", "ä", None]), st.sampled_from([2, 10, None]), st.floats(-3, 3))


@given(st.lists(ROW, min_size=1, max_size=40), st.booleans())
def test_the_same_rows_as_a_sorted_group_by(rows: list[tuple[str | None, int | None, float]], coded: bool) -> None:
    table = pl.DataFrame(rows, schema={"name": pl.String, "place": pl.Int64, "value": pl.Float64}, orient="row")
    expected = table.group_by("name", "place").agg(pl.col("value").mean()).sort("name", "place")
    kind = pl.Categorical if coded else pl.String
    found = average_by(table.with_columns(pl.col("name").cast(kind)), ["name", "place"])
    assert found.rows() == average_by(table[::-1].with_columns(pl.col("name").cast(kind)), ["name", "place"]).rows()
    assert_frame_equal(found.with_columns(pl.col("name").cast(pl.String)), expected, abs_tol=1e-12)


@given(
    st.lists(st.sampled_from(["b", "", "a", "ä", "\U0001f600", "\uffff", None]), min_size=1, max_size=20), st.booleans()
)
def test_in_order_ranks_few_or_many(names: list[str | None], coded: bool) -> None:
    """An id's number is its place among the sorted ones, whether Python or polars sorts them."""
    place = {name: number for number, name in enumerate(sorted({name or "" for name in names}))}
    for times in (1, FEW + 1):
        column = pl.Series(names * times, dtype=pl.Categorical if coded else pl.String)
        assert in_order(column).tolist() == [place[name or ""] for name in names] * times


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2**40)), min_size=1, max_size=30), st.integers(1, 3))
def test_fold_keys_far_apart_as_unique(pairs: list[tuple[int, int]], times: int) -> None:
    """Keys that are too far apart to be counted are folded as numpy's unique finds them, the first row of each."""
    columns = [np.array(column * times, dtype=np.int64) for column in zip(*pairs, strict=True)]
    folded = fold(*columns)
    found, first, of = np.unique(np.stack(columns, axis=1), axis=0, return_index=True, return_inverse=True)
    assert (folded.of.tolist(), folded.first.tolist()) == (of.ravel().tolist(), first.tolist())
    assert len(folded) == len(found)


@given(st.lists(st.sampled_from(["b", "a", None, ""]), min_size=1, max_size=6))
def test_code_many_ids_as_few(names: list[str | None]) -> None:
    """Ids of many names are numbered as they first appear, and null is the empty one."""
    many = pl.Series([*names, *map(str, range(FEW + 1)), *names])
    place: dict[str, int] = {}
    expected = [place.setdefault(name or "", len(place)) for name in many.to_list()]
    codes = code(many.cast(pl.Categorical))
    assert codes.ids == tuple(place)
    assert codes.of.tolist() == expected


@given(st.sets(st.integers(0, 30)), st.sets(st.integers(0, 30)))
def test_number_together_as_union(one: set[int], other: set[int]) -> None:
    """Ids of two lists get their places in the sorted union."""
    lists = [np.array(sorted(ids), dtype=np.int64) for ids in (one, other)]
    union = np.union1d(*lists)
    n, places = number_together(*lists)
    assert n == len(union)
    for ids, place in zip(lists, places, strict=True):
        assert union[place].tolist() == ids.tolist()
