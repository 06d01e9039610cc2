"""Parquet files: columns of every type as texts, and as the values of JSON."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest

from spa.errors import TableError
from spa.tables.options import TableOptions
from spa.tables.reading import open_slices, open_table
from spa.tables.source import Number, Source, Wanted
from spa.tables.typed_columns import as_texts

WANTED = Wanted(columns=frozenset())
MIDNIGHT = datetime.datetime(2026, 1, 2, tzinfo=datetime.UTC)
JSON = pl.Extension("arrow.json", pl.String())


def stored(path: Path, column: pl.Series) -> Source:
    pl.DataFrame([column.alias("c")]).write_parquet(path)
    return open_table(path, WANTED, TableOptions())


@pytest.mark.parametrize(
    ("column", "values", "texts"),
    [
        (lambda: pl.Series(["a", None], dtype=pl.Categorical), ["a", None], ["a", None]),
        (lambda: pl.Series(["a", None], dtype=pl.Enum(["b", "a"])), ["a", None], ["a", None]),
        (lambda: pl.Series([b"a", None]), ["a", None], ["a", None]),
        (lambda: pl.Series([7, None]), [Number("7"), None], ["7", None]),
        (lambda: pl.Series([2**63, None], dtype=pl.UInt64), [Number(2**63), None], [str(2**63), None]),
        (lambda: pl.Series([1.0, None, 2.5, float("nan")]), [Number("1.0"), None, Number("2.5"), None], None),
        (lambda: pl.Series([Decimal("1.10"), None]), [Number("1.10"), None], ["1.10", None]),
        (lambda: pl.Series([True, None]), [True, None], ["true", None]),
        (lambda: pl.Series([None, None]), [None, None], [None, None]),
        (lambda: pl.Series([datetime.date(2026, 1, 2)]), ["2026-01-02"], ["2026-01-02"]),
        (lambda: pl.Series([MIDNIGHT]), ["2026-01-02"], ["2026-01-02"]),
        (lambda: pl.Series([MIDNIGHT.replace(tzinfo=None)], dtype=pl.Datetime("ns")), ["2026-01-02"], ["2026-01-02"]),
        (lambda: pl.Series([['4', "a"], None], dtype=pl.List(pl.String)), [["4", "a"], None], None),
        (lambda: pl.Series([{"n": 3, "of": [MIDNIGHT, None]}]), [{"n": Number("3"), "of": ["2026-01-02", None]}], None),
    ],
    ids=range(14),
)  # fmt: skip
def test_a_column_is_read_as_json_would_hold_it(
    tmp_path: Path, column: Callable[[], pl.Series], values: list[object], texts: list[str | None] | None
) -> None:
    source = stored(tmp_path / "t.parquet", column())
    found = source.values("c")
    assert found == values
    assert [*map(type, found)] == [*map(type, values)]
    if texts is not None:
        assert as_texts(source.column("c")).to_list() == texts


def test_a_time_of_day_stays(tmp_path: Path) -> None:
    at_one = stored(tmp_path / "t.parquet", pl.Series([MIDNIGHT + datetime.timedelta(hours=1), MIDNIGHT]))
    assert as_texts(at_one.column("c")).to_list() == ["2026-01-02 01:00:00.000000+00:00", "2026-01-02"]


def test_cells_of_json_are_taken_out_of_their_quotes(tmp_path: Path) -> None:
    """As the library of the hub writes a column that mixes numbers and texts."""
    texts = ["4", '"4"', '"NA"', "null", None, "true", "1.50", "NaN"]
    source = stored(tmp_path / "t.parquet", pl.Series(texts).ext.to(JSON))
    expected = [Number("4"), "4", "NA", None, None, True, Number("1.50"), None]
    assert source.values("c") == expected
    assert [*map(type, source.values("c"))] == [*map(type, expected)]
    assert source.schema == {"c": pl.String()}
    assert source.column("c").to_list() == ["4", "4", "NA", None, None, "true", "1.50", None]
    slices = open_slices(tmp_path / "t.parquet", WANTED, TableOptions(), rows=3)
    assert [value for one in slices for value in one.column("c").to_list()] == source.column("c").to_list()


def test_lists_in_cells_of_json_are_values_but_no_texts(tmp_path: Path) -> None:
    source = stored(tmp_path / "t.parquet", pl.Series(["1", '{"a": [2]}']).ext.to(JSON))
    assert source.values("c") == [Number("1"), {"a": [Number("2")]}]
    with pytest.raises(TableError, match=r"t.parquet, row 2: c: expected one value, got an object"):
        source.column("c")


@pytest.mark.parametrize(
    ("column", "said"),
    [
        (lambda: pl.Series([b"\xff"]), "column c: expected texts, got bytes that are not UTF-8"),
        (lambda: pl.Series(["1", "{"]).ext.to(JSON), "row 2: c: expected JSON in the cell, got a mistake"),
        (lambda: pl.Series(["[" * 5000]).ext.to(JSON), "row 1: c: expected JSON in the cell, got a mistake"),
        (lambda: pl.Series([datetime.timedelta(1)]), "column c: expected texts or numbers, got durations"),
    ],
    ids=["bytes", "broken", "deep", "durations"],
)
def test_a_column_that_cannot_be_read_is_named(tmp_path: Path, column: Callable[[], pl.Series], said: str) -> None:
    source = stored(tmp_path / "t.parquet", column())
    with pytest.raises(TableError) as caught:
        source.values("c")
    (line,) = caught.value.problems
    assert said in line
    assert len(line) < 500


@pytest.mark.parametrize("read", ["values", "column"])
def test_a_damaged_column_is_one_line(tmp_path: Path, read: str) -> None:
    """The schema at the end is whole; only reading the column shows that its pages are not."""
    path = tmp_path / "a.parquet"
    pl.DataFrame({"name": [f"person {n}" for n in range(5_000)]}).write_parquet(path)
    content = path.read_bytes()
    middle = len(content) // 2
    path.write_bytes(content[:middle] + bytes(200) + content[middle + 200 :])
    source = open_table(path, WANTED, TableOptions())
    with pytest.raises(TableError, match="name: cannot be read as parquet: "):
        getattr(source, read)("name")
