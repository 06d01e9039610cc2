"""Rows kept and left out, constants, names made of several columns: in one file, in several, in parts."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from analysis import Plan, Reading, analyse, read_tables
from analysis.parts.reading import read_totals
from analysis.results.analyse_sums import analyse_totals
from spa.errors import AnalysisError

RATINGS = pl.DataFrame(
    {
        "annotator_id": [f"a{person}" for person in range(4) for _ in range(6)],
        "doc": ["d1", "d1", "d2", "d2", "d3", "d3"] * 4,
        "seg": ["1"] * 24,
        "system": ["x", "y"] * 12,
        "score": [str(1 + (7 * row + row // 5) % 5) for row in range(24)],
        "status": ["ok"] * 20 + ["spam"] * 3 + [""],
    }
)
NAMED = {"doc+seg": "item_id"}


def write(path: Path, frame: pl.DataFrame) -> Path:
    frame.write_csv(path)
    return path


def read(path: Path, **reading: object) -> pl.DataFrame:
    found = read_tables({"ratings": path}, Reading(mapping=NAMED, **reading)).ratings  # type: ignore[arg-type]
    assert found is not None
    return found


def test_several_columns_name_one_item(tmp_path: Path) -> None:
    found = read(write(tmp_path / "r.csv", RATINGS))
    assert sorted({str(item) for item in found["item_id"].to_list()}) == ["d1/1", "d2/1", "d3/1"]


def test_a_column_may_have_the_name_of_the_whole(tmp_path: Path) -> None:
    path = write(tmp_path / "r.csv", RATINGS.rename({"seg": "item_id"}))
    found = read_tables({"ratings": path}, Reading(mapping={"doc+item_id": "item_id"})).ratings
    assert found is not None
    assert found["item_id"].n_unique() == 3


def test_an_empty_part_of_a_name_is_refused(tmp_path: Path) -> None:
    broken = RATINGS.with_columns(seg=pl.Series([None, *["1"] * 23]))
    with pytest.raises(AnalysisError, match=r"row 2: expected seg as a part of doc\+seg, got nothing"):
        read(write(tmp_path / "r.csv", broken))


def test_rows_left_out_are_counted_and_keep_their_numbers(tmp_path: Path) -> None:
    path = write(tmp_path / "r.csv", RATINGS)
    tables = read_tables({"ratings": path}, Reading(mapping=NAMED, drop={"status": ("spam",), "system": ("x",)}))
    assert tables.ratings is not None
    assert tables.ratings["row"].to_list() == [row for row in range(3, 26, 2) if not 22 <= row <= 24]
    assert tables.inputs[0].notes == ("3 rows left out: status=spam", "10 rows left out: system=x")


@pytest.mark.parametrize("option", ["keep", "drop"])
def test_a_value_that_no_row_has_is_told_with_those_there_are(tmp_path: Path, option: str) -> None:
    path = write(tmp_path / "r.csv", RATINGS)
    with pytest.raises(AnalysisError, match=r"got none \(there are: .*ok, spam|there are: status: ok, spam"):
        read(path, **{option: {"status": ("Spam",)}})


def test_a_column_that_no_table_has_is_told(tmp_path: Path) -> None:
    with pytest.raises(AnalysisError, match="expected a column of that name, got none"):
        read(write(tmp_path / "r.csv", RATINGS), drop={"stats": ("spam",)})


def test_a_constant_stands_where_the_column_is_missing(tmp_path: Path) -> None:
    path = write(tmp_path / "r.csv", RATINGS.drop("annotator_id").unique(["doc", "system"], maintain_order=True))
    found = read(path, constants={"annotator_id": "all", "annotator_kind": "llm"})
    assert set(found["group"].to_list()) == {"all"}
    with pytest.raises(AnalysisError, match="every table has it"):
        read(write(tmp_path / "whole.csv", RATINGS), constants={"annotator_id": "all"})
    with pytest.raises(AnalysisError, match="there is no column of that name"):
        read(write(tmp_path / "whole.csv", RATINGS), constants={"anotator": "all"})


def test_a_table_in_parts_is_chosen_like_one_file(tmp_path: Path) -> None:
    whole = write(tmp_path / "whole.csv", RATINGS)
    (tmp_path / "parts").mkdir()
    for number, part in enumerate(RATINGS.partition_by("status", maintain_order=True)):
        write(tmp_path / "parts" / f"{number}.csv", part)  # one part has nothing but spam
    reading = Reading(mapping=NAMED, drop={"status": ("spam",)})
    one = analyse(read_tables({"ratings": whole}, reading), Plan(unit="item"))
    parts = analyse_totals(read_totals(str(tmp_path / "parts"), "ratings", reading), Plan(unit="item"))
    assert [(row.system, row.mean, row.n) for row in parts.ratings.means] == [
        (row.system, row.mean, row.n) for row in one.ratings.means
    ]
    with pytest.raises(AnalysisError, match="expected a row with that value"):
        read_totals(str(tmp_path / "parts"), "ratings", Reading(mapping=NAMED, drop={"status": ("sham",)}))


def test_composed_letters_are_the_same_value(tmp_path: Path) -> None:
    path = write(tmp_path / "r.csv", RATINGS.with_columns(status=pl.lit("cafe\N{COMBINING ACUTE ACCENT}")))
    with pytest.raises(AnalysisError, match="no row stays"):
        read(path, drop={"status": ("caf\N{LATIN SMALL LETTER E WITH ACUTE}",)})


def test_what_is_said_of_parts_stands_in_their_file(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    for number, part in enumerate(RATINGS.partition_by("status", maintain_order=True)):
        write(tmp_path / "parts" / f"{number}.csv", part)
    found = read_totals(str(tmp_path / "parts"), "ratings", Reading(mapping=NAMED, drop={"status": ("spam",)}))
    assert "3 rows left out: status=spam" in found.inputs[0].notes
    with pytest.raises(AnalysisError, match=r"keep.*got none \(there are: ok, spam"):
        read_totals(str(tmp_path / "parts"), "ratings", Reading(mapping=NAMED, keep={"status": ("zzz",)}))


def test_columns_that_look_like_scores_are_named_in_every_format(tmp_path: Path) -> None:
    both = RATINGS.with_columns(fluency=pl.col("score").cast(pl.Int64), score=pl.col("score").cast(pl.Int64))
    both.write_ndjson(tmp_path / "r.jsonl")
    notes = [
        read_tables({"ratings": path}, Reading(mapping=NAMED)).inputs[0].notes
        for path in (write(tmp_path / "r.csv", both), tmp_path / "r.jsonl")
    ]
    assert notes[0] == notes[1] != ()


def test_a_constant_that_every_part_has_is_refused(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    for number, part in enumerate(RATINGS.iter_slices(12)):
        write(tmp_path / "parts" / f"{number}.csv", part)
    for name, told in (("annotator_id", "every table has it"), ("anotator", "there is no column of that name")):
        with pytest.raises(AnalysisError, match=told):
            read_totals(str(tmp_path / "parts"), "ratings", Reading(mapping=NAMED, constants={name: "all"}))
