"""Long tables are worked through part by part and as categories: the numbers are those of the short way."""

from __future__ import annotations

from functools import partial
from hashlib import sha256
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis import Plan, Reading, check_frames, read_tables
from analysis.answers import input_files, reading
from analysis.answers.order import order_of
from analysis.answers.units import UnitRule
from analysis.comparisons import score_totals
from analysis.comparisons.rated_parts import rated_parts
from analysis.comparisons.rating_cells import rating_cells, rating_differences
from analysis.comparisons.rating_judgements import judgements_of_counts, rating_judgements
from analysis.comparisons.ratings import clustered_mean
from analysis.statistics import cell_sums, coding, differences
from analysis.statistics.cell_sums import CellSums
from analysis.statistics.coding import FEW, Different, all_differ, code, fold, number, rows_in_order, tally, translate
from analysis.strengths.strength_table import strength_table
from analysis.sums.criterion_sums import counted_outcomes
from tests.analysis.made_answers import analyse


def ratings(annotators: int = 12, items: int = 7, systems: int = 4, seed: int = 3) -> pl.DataFrame:
    """Return shuffled ratings with gaps."""
    rng = np.random.default_rng(seed)
    who, item, system = (part.ravel() for part in np.indices((annotators, items, systems)))
    frame = pl.DataFrame(
        {
            "annotator_id": [f"p{number}" for number in who.tolist()],
            "item_id": [f"i{number}" for number in item.tolist()],
            "system": [f"s{number}" for number in system.tolist()],
            "score": rng.integers(1, 6, len(who)) / 10,
        }
    )
    return frame.sample(fraction=0.9, shuffle=True, seed=seed)


def in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(differences, "AT_ONCE", 20)
    monkeypatch.setattr(cell_sums, "DENSE", 5)
    monkeypatch.setattr(cell_sums, "PENDING", 30)
    monkeypatch.setattr(coding, "DENSE", 0)


@pytest.mark.parametrize("unit", ["auto", "item"])
def test_parts_give_the_numbers_of_the_whole(monkeypatch: pytest.MonkeyPatch, unit: str) -> None:
    tables = check_frames({"ratings": ratings()}, Reading())
    plan = Plan(unit=unit)  # type: ignore[arg-type]
    whole = analyse(tables, plan)
    in_parts(monkeypatch)
    assert analyse(tables, plan) == whole


def test_the_parts_of_the_differences_make_up_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    table = check_frames({"ratings": ratings()}, Reading()).ratings
    assert table is not None
    (cells,) = rating_cells(table, order_of(table, ["human"], None))
    whole = rating_differences(cells)
    monkeypatch.setattr(differences, "AT_ONCE", 20)
    parts = list(rating_differences(cells).parts())
    assert len(parts) > 5
    names = ("x", "y", "value", "annotator", "assignment", "item")
    rows = sorted(zip(*(getattr(whole, name).tolist() for name in names), strict=True))
    assert sorted(row for part in parts for row in zip(*(getattr(part, name) for name in names), strict=True)) == rows


@pytest.mark.parametrize("unit", ["auto", "annotator", "item"])
@pytest.mark.parametrize("annotators", [5, 12])
def test_counted_judgements_fit_as_their_rows_do(unit: str, annotators: int) -> None:
    table = check_frames({"ratings": ratings(annotators)}, Reading()).ratings
    assert table is not None
    order, plan = order_of(table, ["human"], None), Plan(unit=unit)  # type: ignore[arg-type]
    (part,) = rated_parts(table, order)
    assert part.cells is not None
    outcomes = judgements_of_counts(partial(counted_outcomes, part.sums), plan, llm=False)
    by_row, counted = (
        strength_table("ratings_bt", "human", "overall", judged, order.systems, plan)
        for judged in (rating_judgements(part.cells, part.differences), outcomes)
    )
    assert counted is not None
    assert by_row is not None
    assert counted.rows == by_row.rows


@pytest.mark.parametrize("unit", ["auto", "annotator", "item"])
@pytest.mark.parametrize("annotators", [5, 12])
@pytest.mark.parametrize("widest", [1 << 22, 150])
def test_means_of_counted_scores_are_those_of_rows(
    monkeypatch: pytest.MonkeyPatch, unit: str, annotators: int, widest: int
) -> None:
    frame = ratings(annotators, items=20).with_columns((pl.col("score") * 10).round().cast(pl.Int64) - 3)
    table = check_frames({"ratings": frame}, Reading()).ratings
    assert table is not None
    (cells,) = rating_cells(table, order_of(table, ["human"], None))
    columns = {name: cells.column(name) for name in ("annotator", "item")}
    rule, about = (
        UnitRule(planned=unit, llm=False),
        (cells.system, cells.value, columns, len(cells.systems), cells.scale),
    )
    plain = score_totals.total_scores(*about)
    monkeypatch.setattr(score_totals, "LONG", 1)
    monkeypatch.setattr(score_totals, "CHUNK", 7)
    monkeypatch.setattr(score_totals, "WIDEST", widest)
    counted = score_totals.total_scores(*about)
    for system in np.unique(cells.system).tolist():
        one, other = (clustered_mean(totals, system, rule, 0.95) for totals in (plain, counted))
        for name, wanted in one.items():
            assert other[name] == (pytest.approx(wanted, rel=1e-12) if isinstance(wanted, float) else wanted)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(-4, 4)), min_size=1), st.integers(1, 5))
def test_sums_do_not_depend_on_parts_or_on_the_way_they_are_kept(rows: list[tuple[int, int]], size: int) -> None:
    key, value = np.array([row[0] for row in rows]), np.array([float(row[1]) for row in rows])
    dense, sparse = CellSums(10), CellSums(cell_sums.DENSE + 1)
    for start in range(0, len(rows), size):
        for sums in (dense, sparse):
            sums.add(key[start : start + size], value[start : start + size])
    for one, other in zip(dense.found(), sparse.found(), strict=True):
        assert one.tolist() == other.tolist()
    assert dense.found()[0].tolist() == sorted(set(key.tolist()))


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 30)), min_size=1))
def test_folding_by_counting_is_folding_by_sorting(rows: list[tuple[int, int]]) -> None:
    columns = np.array(rows).T
    key = columns[0] * 31 + columns[1]
    _, first, of = np.unique(key, return_index=True, return_inverse=True)
    found = fold(*columns)
    assert (found.of.tolist(), found.first.tolist()) == (of.tolist(), first.tolist())


@given(st.lists(st.one_of(st.none(), st.text(max_size=3))), st.lists(st.text(max_size=3), unique=True))
def test_categories_are_coded_as_strings_are(names: list[str | None], order: list[str]) -> None:
    strings = pl.Series(names, dtype=pl.String)
    plain, coded = code(strings, order), code(strings.cast(pl.Categorical), order)
    assert [plain.ids[number] for number in plain.of.tolist()] == [name or "" for name in names]
    assert (coded.ids, coded.of.tolist()) == (plain.ids, plain.of.tolist())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("analysis.statistics.coding.FEW", -1)  # as where rows are many
        for column in (strings, strings.cast(pl.Categorical)):
            assert (code(column, order).ids, code(column, order).of.tolist()) == (plain.ids, plain.of.tolist())
    turned = translate(strings.cast(pl.Categorical), lambda seen: seen.str.to_uppercase())
    assert turned.to_list() == strings.str.to_uppercase().to_list()


def test_different_values_are_those_of_each_column() -> None:
    """What is known of a column is said of no other, of equal length or in the room of one that is gone."""
    different, rng = Different(), np.random.default_rng(4)
    for _ in range(200):
        numbers = pl.Series(rng.integers(0, 5, 2 * FEW))
        for column in (numbers, numbers.cast(pl.String).cast(pl.Categorical), numbers.set(numbers == 3, None)):
            wanted = column.unique(maintain_order=True)
            assert different.of(column).equals(wanted, check_names=False)
            assert different.of(pl.DataFrame([column.alias("a")])["a"]).equals(wanted, check_names=False)
            assert different.of(column[FEW - 1 :]).equals(column[FEW - 1 :].unique(maintain_order=True))


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 3)), max_size=30), st.integers(0, 80))
def test_rows_differ_as_folds_say(rows: list[tuple[int, int]], marked: int) -> None:
    columns = [np.array([row[place] for row in rows], dtype=np.int64) for place in range(2)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("analysis.statistics.coding.MARKED", marked)
        assert all_differ(*columns) == (len({*rows}) == len(rows))
    found = rows_in_order(*columns)
    assert (found is None) == (len({*rows}) < len(rows) or not rows)
    assert found is None or [rows[place] for place in found[0]] == sorted(rows)
    assert found is None or [*zip(*(column.tolist() for column in found[1]), strict=True)] == sorted(rows)
    folded = fold(*(column[np.lexsort(columns[::-1])] for column in columns))  # in order already
    assert [sorted(rows)[place] for place in folded.first] == sorted({*rows})
    assert [sorted({*rows})[place] for place in folded.of] == sorted(rows)


@pytest.mark.parametrize("values", [[1.0, 2.0, 5.0], [0.5, 1.5, -2.0], [0.1, 0.25, 1e9], [3.0], [1.0, None, 2.0]])
def test_rows_are_counted_as_polars_groups_them(values: list[float | None]) -> None:
    """Whatever numbers stand in a column, and also where texts are empty or all alike."""
    rng, n = np.random.default_rng(2), 3 * FEW
    names = pl.Series(["b", "a", None, "c"], dtype=pl.Categorical)
    table = pl.DataFrame(
        {
            "who": names.gather(rng.integers(0, 4, n)),
            "what": "x",
            "value": pl.Series(values).gather(rng.integers(0, len(values), n)),
        }
    )
    for columns in (("who", "what", "value"), ("value",), ("what",), ("what", "who")):
        wanted = table.group_by(columns, maintain_order=True).agg(n=pl.len())
        assert tally(table, *columns).rows() == wanted.rows()


@given(st.lists(st.sampled_from([None, "a", "b", "c"])))
def test_numbers_of_categories_are_equal_where_the_strings_are(names: list[str | None]) -> None:
    numbers = number(pl.Series(names, dtype=pl.Categorical))
    assert len(fold(numbers, code(pl.Series(names, dtype=pl.String)).of)) == len(set(names))
    assert np.unique(numbers).size == len(set(names))


@pytest.mark.parametrize("kind", [pl.String, pl.Categorical, pl.Enum(["1", "2 ", " x", ""])])
def test_parquet_strings_in_any_encoding(tmp_path: Path, kind: type[pl.DataType]) -> None:
    """However a Parquet file holds strings the table is the same."""
    path = tmp_path / "t.parquet"
    item = pl.Series(["1", "2 ", " x", "1"], dtype=pl.String).cast(kind)
    frame = pl.DataFrame({"annotator_id": ["a", "a", "a", "b"], "item_id": item, "system": "s", "score": [1, 2, 3, 4]})
    frame.write_parquet(path)
    table = read_tables({"ratings": path}, Reading()).ratings
    assert table is not None
    assert table.select("item_id", "text", "value").rows() == [
        ("1", "1", 1.0),
        ("2", "2", 2.0),
        ("x", "3", 3.0),
        ("1", "4", 4.0),
    ]


def test_many_different_scores_stay_strings_and_read_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = ratings().with_columns(pl.col("score").cast(pl.String))
    few = check_frames({"ratings": frame}, Reading()).ratings
    monkeypatch.setattr(reading, "WIDE", 2)
    many = check_frames({"ratings": frame}, Reading()).ratings
    assert few is not None
    assert many is not None
    assert (few["score"].dtype, many["score"].dtype) == (pl.Categorical, pl.String)
    assert few["value"].to_list() == many["value"].to_list()


def test_hash_of_slices_that_of_the_whole_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """The hash of a frame is that of its rows as CSV, however many are written at once."""
    table = ratings().with_columns(item_id=pl.format('"{}", {}', "item_id", "system"))
    hashes = []
    for rows in (5, input_files.HASHED):
        monkeypatch.setattr(input_files, "HASHED", rows)
        hashes.append([one.sha256 for one in check_frames({"ratings": table}, Reading()).inputs])
    known = table.select("annotator_id", "item_id", "system", pl.col("score").cast(pl.String))
    assert hashes == [[sha256(known.write_csv().encode()).hexdigest()]] * 2
