"""Names of columns that R takes, the codebook, and both read back."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from analysis.answers.columns import KNOWN
from analysis.answers.conversion import NOT_IN_R
from spa.cli import main
from spa.responses.export import export_tables
from spa.responses.table_files import TYPES, codebook, with_own_names, write_codebook, write_tables
from spa.responses.tidy_tables import ANNOTATORS, DASHBOARD_LOG, DECISIONS, EXCLUSIONS, Tables, row_tables
from spa.tables.r_names import FITS, LONGEST, RESERVED, r_names
from tests.spa.responses.test_export import PREFERENCE, SCREENING, answered, build_by_hand, hand_in

SCHEMAS = {
    **row_tables(),
    "annotators": ANNOTATORS,
    "exclusions": EXCLUSIONS,
    "decisions": DECISIONS,
    "dashboard_log": DASHBOARD_LOG,
}
ADDED = ("complete", "screening:native-speaker", "interview:why?", "demographic:Ethnicity (simplified) of the person")


def fits(name: str) -> bool:
    return FITS.fullmatch(name) is not None and len(name) <= LONGEST and name not in RESERVED


@pytest.mark.parametrize("table", SCHEMAS)
def test_every_exported_column_has_a_name_in_r(table: str) -> None:
    columns = [*SCHEMAS[table], *ADDED]
    named = r_names(columns)
    assert [*named] == columns
    assert all(map(fits, named.values()))
    assert len({name.lower() for name in named.values()}) == len(columns)
    assert {own for own, name in named.items() if own != name} <= {*NOT_IN_R, *ADDED}
    assert {str(kind()) if isinstance(kind, type) else str(kind) for kind in SCHEMAS[table].values()} <= {*TYPES}


def test_what_the_analysis_reads_is_known_by_both_names() -> None:
    own = {name for columns in KNOWN.values() for name in columns}
    assert {name for name, alias in r_names(sorted(own)).items() if name != alias} == {*NOT_IN_R}


@given(st.lists(st.text(max_size=60), unique=True, max_size=12))
def test_any_names_become_different_names_that_fit(columns: list[str]) -> None:
    named = r_names(columns)
    assert all(map(fits, named.values()))
    assert all(named[name] == name for name in columns if fits(name))


def test_words_of_r_are_all_known() -> None:
    assert r_names(["repeat", "in", "NA_real_", "TRUE"]) == {
        "repeat": "repeat_",
        "in": "in_",
        "NA_real_": "NA_real__",
        "TRUE": "TRUE_",
    }


@pytest.mark.parametrize("suffix", ["csv", "parquet", "jsonl"])
def test_tables_with_names_in_r_are_read_back(tmp_path: Path, suffix: str) -> None:
    with build_by_hand(tmp_path / "s.sqlite") as store:
        hand_in(store, "ann", answered(SCREENING, "Yes"), answered(PREFERENCE, 0.25))
        tables = export_tables(store)
    paths = write_tables(tables, tmp_path, format=suffix, names="r")  # type: ignore[arg-type]
    book = pl.read_csv(write_codebook(tables, tmp_path), separator="\t", infer_schema=False)
    assert_frame_equal(book, codebook(tables.files))
    read = {"csv": pl.read_csv, "parquet": pl.read_parquet, "jsonl": pl.read_ndjson}[suffix]
    for path in paths:
        if suffix == "jsonl" and not path.stat().st_size:
            continue
        table = read(path)
        assert all(map(fits, table.columns))
        assert with_own_names(table, path.stem, book).columns == tables.files[path.stem].columns
    types = dict(book.filter(table="preferences").select("column", "r_class").iter_rows())
    assert (types["preference"], types["repeat"], types["criterion"]) == ("numeric", "integer", "character")
    assert "screening:native" in book["column"].to_list()


def test_names_in_r_give_the_same_report(tmp_path: Path) -> None:
    """Answers with repeats, which are told apart by a column that R calls otherwise."""
    rows = [
        {"annotator_id": "gpt", "annotator_kind": "llm", "item_id": f"i{item}", "system": system, "score": score}
        | {"repeat": repeat, "criterion": "c"}
        for item in range(4)
        for repeat in (1, 2)
        for system, score in (("a", 1 + (item + repeat) % 5), ("b", 1 + (2 * item + repeat) % 5))
    ]
    table = pl.DataFrame(rows)
    texts = []
    for name, frame in (("own", table), ("r", table.rename(r_names(table.columns)))):
        (tmp_path / name).mkdir()
        frame.write_csv(tmp_path / name / "ratings.csv")
        command = ["report", str(tmp_path / name / "ratings.csv"), "--json", "--no-verify"]
        done = CliRunner().invoke(main, command)
        assert done.exit_code == 0, done.output
        texts.append(re.sub(r'"sha256": *"[^"]*"|"notes": *\[[^]]*\]', "", done.stdout))
    assert texts[0] == texts[1]
    assert "repeat_" in (tmp_path / "r" / "ratings.csv").read_text().splitlines()[0]


def test_other_formats_have_names_of_their_own(tmp_path: Path) -> None:
    study = str(tmp_path / "study.toml")
    arguments = ["export", study, "--out", str(tmp_path), "--format", "arena", "--column-names", "r"]
    done = CliRunner().invoke(main, arguments)
    assert done.exit_code == 2
    assert "--column-names r: expected --format csv, parquet, jsonl, got arena" in done.output


def test_the_codebook_has_every_file_written() -> None:
    empty = {name: pl.DataFrame(schema=SCHEMAS[name]) for name in SCHEMAS}
    fields = {name: frame for name, frame in empty.items() if name in Tables.__dataclass_fields__}
    tables = Tables(**fields)
    assert set(codebook(tables.files)["table"]) == set(tables.files)
