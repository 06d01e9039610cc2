"""Files at addresses: read from a copy, called by their addresses."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from analysis import Reading
from analysis.answers.tables import read_tables
from spa.errors import AnalysisError, NoRows, SpaError, TableError
from spa.tables.addresses import address_of, at_hand

fsspec = pytest.importorskip("fsspec", reason="needs extra cluster")
RATINGS = pl.DataFrame(
    {
        "annotator_id": ["a", "b"] * 4,
        "item_id": ["i", "i", "j", "j"] * 2,
        "system": ["x"] * 4 + ["y"] * 4,
        "score": [1] * 8,
    }
)


@pytest.fixture
def memory() -> Iterator[Any]:
    files = fsspec.filesystem("memory")
    yield files
    files.store.clear()


@pytest.mark.parametrize("name", ["r.csv", "r.parquet", "r.csv.gz"])
def test_a_table_at_an_address_is_read_whole(memory: Any, tmp_path: Path, name: str) -> None:
    contents = {"r.csv": RATINGS.write_csv().encode(), "r.csv.gz": gzip.compress(RATINGS.write_csv().encode())}
    RATINGS.write_parquet(tmp_path / "r.parquet")
    memory.pipe(f"/bucket/{name}", contents.get(name) or (tmp_path / "r.parquet").read_bytes())
    (tmp_path / "r.csv").write_bytes(contents["r.csv"])
    found = read_tables({"ratings": Path(f"memory://bucket/{name}")}, Reading())
    here = read_tables({"ratings": tmp_path / "r.csv"}, Reading())
    assert found.ratings is not None
    assert here.ratings is not None
    assert found.ratings.drop("row").equals(here.ratings.drop("row"))
    assert [one.file for one in found.inputs] == [name]


def test_problems_call_a_file_by_its_address(memory: Any) -> None:
    memory.pipe("/bucket/r.csv", RATINGS.with_columns(score=pl.lit("good")).write_csv().encode())
    memory.pipe("/bucket/e.csv", b"")
    for name, said in {
        "bucket/r.csv": "memory://bucket/r.csv, rows 2, 3, 4, 5, 6 and 3 more: score must be",
        "bucket/e.csv": "memory://bucket/e.csv: expected a header and rows, got an empty file",
        "bucket/none.csv": "memory://bucket/none.csv: cannot be read: FileNotFoundError",
    }.items():
        with pytest.raises(AnalysisError) as caught:
            read_tables({"ratings": Path(f"memory://{name}")}, Reading())
        (line,) = caught.value.problems
        assert line.startswith(said)
        assert len(line) < 500


def test_an_unknown_kind_of_address_is_told() -> None:
    with pytest.raises(TableError, match=r"nothing://x/r.csv: cannot be read: ValueError Protocol not known"):
        at_hand("nothing://x/r.csv").__enter__()


def test_address_error_keeps_its_kind() -> None:
    """An error keeps its kind and all it carries under another name."""

    class Own(NoRows):
        """An error that carries something."""

        rows = 0

    error: SpaError = Own("/tmp/x.csv: no rows")
    vars(error)["rows"] = 7
    renamed = error.called("/tmp/x.csv", "memory://x.csv")
    assert isinstance(renamed, Own)
    assert (renamed.rows, renamed.problems, str(renamed)) == (
        7,
        ("memory://x.csv: no rows",),
        "memory://x.csv: no rows",
    )


def test_an_address_is_known_also_as_a_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert address_of(Path("https://a.b/c.csv?d=e")) == "https://a.b/c.csv?d=e"
    assert address_of(Path("file:///tmp/x.csv")) == "file:///tmp/x.csv"
    assert [address_of(name) for name in ("C:/x.csv", "/a/b:c/d.csv", "a.csv", "s3:x.csv")] == [None] * 4
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s3:").mkdir()
    (tmp_path / "s3:" / "x.csv").touch()
    assert address_of(Path("s3:/x.csv")) is None
