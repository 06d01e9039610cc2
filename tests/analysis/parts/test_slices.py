"""Rows are added up where they stand as far as no other part is about the same item and by the same annotator."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis import Reading, check_frames
from analysis.answers.order import Order
from analysis.parts import buckets, part, reading, slices
from analysis.parts.reading import read_totals
from analysis.parts.slices import Met, coded_rows
from analysis.statistics.coding import Different
from analysis.sums.adding import keyed_rows
from analysis.sums.grid import Grid
from tests.analysis.parts.test_parts_read import TABLES, assert_same, ratings, split

NAMES = ("system", "criterion", "elicitation", "annotator", "variant")  # those that are listed as they first appear


def crossed(k: int = 6) -> pl.DataFrame:
    """Return complete ratings: each of k annotators rates three systems' outputs for each of k items."""
    who, item, system = (column.ravel() for column in np.indices((k, k, 3)))
    columns = {"annotator_id": who, "item_id": item, "system": system}
    frame = pl.DataFrame(columns).select(pl.format(f"{name[0]}{{}}", name).alias(name) for name in columns)
    return frame.with_columns(score=pl.Series(1 + (who + 2 * item + system * item) % 5))


def sent_on(where: str, monkeypatch: pytest.MonkeyPatch, *, small: int = 0) -> int:
    """Return how many rows are added up elsewhere."""
    found = []
    written = buckets.write_rows

    def counted(rows: pl.DataFrame, path: Path) -> Any:
        found.append(rows.height)
        return written(rows, path)

    monkeypatch.setattr(buckets, "write_rows", counted)
    monkeypatch.setattr(reading, "SMALL", small)
    read_totals(where, "ratings", Reading())
    monkeypatch.setattr(buckets, "write_rows", written)
    return sum(found)


def test_what_stands_in_one_part_is_not_sent_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table, rows = crossed(), 6 * 6 * 3
    for by in ("item_id", "annotator_id"):
        where = split(table.sort(by), tmp_path / by, [rows // 3, 2 * rows // 3])
        assert sent_on(where, monkeypatch) == 0
    where = split(table.sort("item_id"), tmp_path / "cut", [rows // 2 + 4])  # within the fourth item
    assert sent_on(where, monkeypatch) == 6 * 3
    assert sent_on(where, monkeypatch, small=rows // 2) == rows // 2  # four of the first part, all of the second


@pytest.mark.parametrize("kind", ["ratings", "choices"])
@given(seed=st.integers(0, 999), data=st.data())
@settings(max_examples=4, deadline=None)
def test_rows_dealt_at_random_change_no_digit(
    kind: str, seed: int, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Whichever parts rows stand in, and in which order, all sums are the same to the last digit.

    Names are listed as they first appear, so that the first rows, which name all, stay.
    """
    table = TABLES[kind](seed)
    named = [name for name in table.columns if name.startswith(NAMES)]
    first = table.with_row_index("at").unique(named, keep="first").sort("at")["at"].to_list()
    rest = np.setdiff1d(np.arange(table.height), first)
    dealt = table[[*first, *np.random.default_rng(seed).permutation(rest).tolist()]]
    table = table[[*first, *rest.tolist()]]
    cuts = sorted(data.draw(st.sets(st.integers(1, table.height - 1), max_size=4)))
    folder = tmp_path_factory.mktemp("parts")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(part, "ROWS", data.draw(st.integers(30, 2000)))
        patch.setattr(slices, "CROWDED", data.draw(st.integers(1, 100)))
        found = read_totals(split(dealt, folder / "dealt", cuts), kind, Reading())  # type: ignore[arg-type]
    assert_same(read_totals(split(table, folder / "whole", []), kind, Reading()), found)  # type: ignore[arg-type]


def test_numbers_of_rows_stand_for_their_keys() -> None:
    table = check_frames({"ratings": ratings()}, Reading()).ratings
    assert table is not None
    coded, keys = coded_rows(table, "ratings", Different()), keyed_rows(table, "ratings")
    for name, of in coded.of.items():
        wanted = table[name].cast(pl.String) if name == "annotator_id" else keys[name]
        assert coded.each[name].gather([0] * table.height if of is None else of).to_list() == wanted.to_list()
    for names in (("annotator",), ("group", "criterion"), ("annotator", "sample"), ("assignment", "assigned")):
        found, wanted_rows = coded.combinations(*names), keys.select(names).unique()
        assert found.sort(names).rows() == wanted_rows.cast(found.schema).sort(names).rows()


@pytest.mark.parametrize("scores", [(-3, 0, 5), (1.0, 2.5), (-0.0, 1.0), (0, 255), (0, 256), (1e9, 1e9 + 3)])
@pytest.mark.parametrize("every", [1, 2])
def test_slices_hold_values_and_rows(scores: tuple[float, ...], every: int, tmp_path: Path) -> None:
    """Written as bytes or not, all rows or every second one, they are read as they were."""
    different, kind = Different(), pl.Categorical()
    named = {"group": "human", "criterion": "overall", "annotator_kind": "human", "system": "A"}
    columns = {name: pl.repeat(word, 2000, dtype=pl.String, eager=True).cast(kind) for name, word in named.items()}
    columns |= {name: pl.Series([str(n % 50) for n in range(2000)], dtype=kind) for name in ("annotator_id", "item_id")}
    columns |= {name: pl.Series([None] * 2000, dtype=kind) for name in ("variant", "repeat", "sample", "assignment_id")}
    value = pl.Series([*map(float, scores)] * 2000).head(2000)
    different.of(value)
    table = pl.DataFrame({**columns, "value": value, "row": pl.int_range(7, 2007, eager=True, dtype=pl.UInt32)})
    where = slices.SliceFile(part=0, rows=0, file=str(tmp_path / "slice"), scratch=tmp_path)
    kept = np.arange(2000) % every == 0
    slices.write_slice(coded_rows(table, "ratings", different), table, kept, "ratings", where, different)
    order = Order(groups=("human",), criteria=("overall",), systems=("A",), pairs=())
    grid = Grid(order=order, factor=np.ones((1, 1)), criteria={"overall": 0}, llm=(), options=pl.DataFrame())
    rows = slices.read_rows(where, "ratings", grid)
    assert rows.row.tolist() == table["row"].to_numpy()[kept].tolist()
    assert [repr(one) for one in rows.value.tolist()] == [repr(one) for one in value.to_numpy()[kept].tolist()]
    assert (pl.read_ipc(where.file).schema["value"] == pl.UInt8) == (scores in [(-3, 0, 5), (0, 255), (1e9, 1e9 + 3)])
    assert ("row" in pl.read_ipc(where.file).columns) == (every > 1)


@given(st.lists(st.sets(st.integers(0, 20)), max_size=8), st.integers(1, 30))
def test_keys_of_several_slices_are_known(each: list[set[int]], crowded: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(slices, "CROWDED", crowded)
        met = Met()
        for keys in each:
            met.add(np.array(sorted(keys), dtype=np.int64))
    assert met.several().tolist() == [key for key in range(21) if sum(key in keys for keys in each) > 1]


def test_options_with_decimals_are_counted_where_others_lack(tmp_path: Path) -> None:
    """A part of whole scores beside one with halves counts each score under its own option."""
    table = crossed().sort("item_id").with_columns(pl.col("score").cast(pl.Float64))
    half = pl.when(pl.int_range(pl.len()) % 2 == 0).then(pl.col("score") / 2).otherwise("score")
    rows = table.height // 2
    both = pl.concat([table[:rows], table[rows:].with_columns(half.alias("score"))])
    whole = read_totals(split(both, tmp_path / "whole", []), "ratings", Reading())
    assert_same(whole, read_totals(split(both, tmp_path / "parts", [rows]), "ratings", Reading()))
