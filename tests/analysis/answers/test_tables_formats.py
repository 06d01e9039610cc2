"""A table of answers in every format of files gives the same results."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from pathlib import Path

import polars as pl
import pytest

from analysis import Plan, Reading
from analysis.answers.tables import read_tables
from analysis.parts.reading import read_totals
from analysis.results.analyse import analyse
from analysis.results.files import to_json
from spa.errors import AnalysisError
from streamlit_app.table_files import table_files
from tests.analysis.parts.test_parts_read import assert_same

ROWS: list[dict[str, str | int | None]] = [
    {
        "annotator_id": who,
        "item_id": f"{item:03}",
        "system": system,
        "score": None if n % 29 == 7 else 1 + n * n % 7 % 5,
    }
    for n, (who, item, system) in enumerate(
        (who, item, system) for who in ("a", "b", "c", "d") for item in range(12) for system in ("x", "y", "z")
    )
]
JSON_COLUMNS = pl.Extension("arrow.json", pl.String())


def written(folder: Path, form: str) -> Path:
    """Write the rows in a format."""
    frame, array = pl.DataFrame(ROWS), json.dumps(ROWS).encode()
    path = folder / f"ratings.{form.partition(' ')[0]}"
    contents = {
        "csv": frame.write_csv().encode(),
        "csv.gz": gzip.compress(frame.write_csv().encode()),
        "tsv": frame.write_csv(separator="\t").encode(),
        "csv of semicolons": frame.write_csv(separator=";").encode(),
        "csv in UTF-16": frame.write_csv().encode("utf-16"),
        "json": array,
        "json.gz": gzip.compress(array),
        "json of columns": json.dumps(frame.to_dict(as_series=False)).encode(),
        "jsonl": frame.write_ndjson().encode(),
        "jsonl.gz": gzip.compress(frame.write_ndjson().encode()),
    }
    if form in contents:
        path.write_bytes(contents[form])
    elif form == "parquet of categories":
        frame.with_columns(pl.col("annotator_id", "item_id", "system").cast(pl.Categorical)).write_parquet(path)
    elif form == "parquet of JSON":
        cells = {name: [None if row[name] is None else json.dumps(row[name]) for row in ROWS] for name in ROWS[0]}
        pl.DataFrame([pl.Series(name, texts).ext.to(JSON_COLUMNS) for name, texts in cells.items()]).write_parquet(path)
    elif form == "xlsx":
        book = pytest.importorskip("openpyxl", reason="needs extra xlsx").Workbook()
        for row in (frame.columns, *frame.rows()):
            book.active.append(row)
        book.save(path)
    else:
        frame.write_parquet(path)
    return path


FORMS = (
    *("csv", "csv.gz", "json", "json.gz", "jsonl", "jsonl.gz", "parquet", "xlsx"),
    *("tsv", "csv of semicolons", "csv in UTF-16", "json of columns", "parquet of categories", "parquet of JSON"),
)


def results_of(path: Path) -> Mapping[str, object]:
    results = json.loads(to_json(analyse(read_tables({"ratings": path}, Reading()), Plan())))
    results["settings"].pop("inputs")
    return results


@pytest.mark.parametrize("form", FORMS[1:])
def test_results_are_the_same_in_every_format(tmp_path: Path, form: str) -> None:
    assert results_of(written(tmp_path, form)) == results_of(written(tmp_path, "csv"))


@pytest.mark.parametrize("form", FORMS)
def test_a_table_in_parts_is_read_in_every_format(tmp_path: Path, form: str) -> None:
    found = read_totals(str(written(tmp_path, form)), "ratings", Reading())
    assert_same(read_totals(str(written(tmp_path, "csv")), "ratings", Reading()), found)


@pytest.mark.parametrize("kind", [pl.Date(), pl.Datetime("ms"), pl.Datetime("ns", "UTC")])
def test_days_that_name_systems_are_days(tmp_path: Path, kind: pl.DataType) -> None:
    days = {"x": "2025-08-07", "y": "2025-05-13", "z": "2025-01-31"}
    named = pl.DataFrame(ROWS).with_columns(pl.col("system").replace_strict(days))
    named.with_columns(pl.col("system").str.to_date().cast(kind)).write_parquet(tmp_path / "r.parquet")
    named.write_csv(tmp_path / "r.csv")
    assert results_of(tmp_path / "r.parquet") == results_of(tmp_path / "r.csv")


@pytest.mark.parametrize("name", ["t.jsonl", "t.json"])
def test_rows_without_a_column_that_is_asked_for_are_counted(tmp_path: Path, name: str) -> None:
    rows = [{"rater": "a", "model": "x", "value": 3}] * 2
    text = json.dumps(rows) if name == "t.json" else "\n".join(map(json.dumps, rows))
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(AnalysisError, match=r"are missing \(there are: rater, model, value, in 2 rows\); name yours"):
        read_tables({"ratings": tmp_path / name}, Reading())


def test_a_folder_of_tables_holds_each_once_in_any_format(tmp_path: Path) -> None:
    for name in ("ratings.json.gz", "Annotators.CSV", "notes.txt", "corpus_metrics.parquet"):
        (tmp_path / name).touch()
    found = {kind: path.name for kind, path in table_files(tmp_path).items()}
    assert found == {
        "ratings": "ratings.json.gz",
        "annotators": "Annotators.CSV",
        "corpus_metrics": "corpus_metrics.parquet",
    }
    (tmp_path / "ratings.csv").touch()
    with pytest.raises(AnalysisError, match=r"expected one file of ratings, got ratings.csv and ratings.json.gz"):
        table_files(tmp_path)


def test_exported_folder_skips_empty_tables(tmp_path: Path) -> None:
    """Of a folder as it was exported tables without rows are left out."""
    (tmp_path / "ratings.csv").write_text("annotator_id,score\na1,3\n", encoding="utf-8")
    (tmp_path / "choices.csv").write_text("annotator_id,winner\n", encoding="utf-8")
    assert [*table_files(tmp_path)] == ["ratings"]
    (tmp_path / "ratings.csv").write_text("annotator_id,score\n", encoding="utf-8")
    assert {*table_files(tmp_path)} == {"ratings", "choices"}  # which are refused when they are read
