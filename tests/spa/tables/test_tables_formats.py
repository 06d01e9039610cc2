"""The same table in every format of files: the same rows, and one line about what cannot be read."""

from __future__ import annotations

import bz2
import gzip
import importlib
import io
import json
import lzma
import sys
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spa.errors import SpaError, TableError
from spa.importers.foreign_files import beginning
from spa.tables import bounds
from spa.tables.options import TableOptions
from spa.tables.reading import open_slices, open_table, table_suffix
from spa.tables.source import Number, Source, Wanted

Row = Mapping[str, object]
WANTED = Wanted(columns=frozenset({"id", "text", "score"}))
ROWS: list[Row] = [
    {"id": "007", "text": 'a "quoted", text;\nof lines', "score": 4},
    {"id": "i1", "text": "Ünï", "score": None},
    {"id": "1e5", "text": "None", "score": 2.5},
]


def as_json(rows: Sequence[Row]) -> bytes:
    return json.dumps(rows, indent=1).encode()


def as_columns(rows: Sequence[Row]) -> bytes:
    return json.dumps({name: [row[name] for row in rows] for name in rows[0]}).encode()


def as_pandas_writes(rows: Sequence[Row]) -> bytes:
    return json.dumps({name: {str(n): row[name] for n, row in enumerate(rows)} for name in rows[0]}).encode()


def as_split(rows: Sequence[Row]) -> bytes:
    names = [*dict.fromkeys(name for row in rows for name in row)]
    cells = [[row.get(name) for name in names] for row in rows]
    return json.dumps({"columns": names, "index": [*range(len(rows))], "data": cells, "ncols": len(names)}).encode()


def as_lines(rows: Sequence[Row]) -> bytes:
    return "\n".join(json.dumps(row) for row in rows).encode()


def as_csv(rows: Sequence[Row]) -> bytes:
    texts = [{name: None if value is None else str(value) for name, value in row.items()} for row in rows]
    return pl.DataFrame(texts).write_csv(quote_style="non_numeric").encode()


FORMS: dict[str, tuple[str, Callable[[Sequence[Row]], bytes]]] = {
    "csv": ("t.csv", as_csv),
    "json": ("t.json", as_json),
    "columns": ("t.json", as_columns),
    "pandas": ("t.json", as_pandas_writes),
    "split": ("t.json", as_split),
    "lines": ("t.jsonl", as_lines),
    "lines under another name": ("t.json", as_lines),
}
FORMS |= {
    f"{form}, packed": (f"{name}.gz", lambda rows, make=make: gzip.compress(make(rows)))
    for form, (name, make) in FORMS.items()
}
FORMS |= {
    "arrow": ("t.feather", lambda rows: as_arrow(rows, "write_ipc")),
    "a stream of arrow": ("t.arrow", lambda rows: as_arrow(rows, "write_ipc_stream")),
    "lines, packed by zstd": ("t.jsonl.zst", lambda rows: as_zstd(as_lines(rows))),
    "csv, packed by xz": ("t.csv.xz", lambda rows: lzma.compress(as_csv(rows))),
    "csv, packed by bzip2": ("t.csv.bz2", lambda rows: bz2.compress(as_csv(rows))),
    "csv in a zip file": ("t.csv.zip", lambda rows: as_zip({"t.csv": as_csv(rows), "__MACOSX/._t.csv": b"\0"})),
}


def as_arrow(rows: Sequence[Row], write: str) -> bytes:
    texts = [{name: None if value is None else str(value) for name, value in row.items()} for row in rows]
    file = io.BytesIO()
    getattr(pl.DataFrame(texts), write)(file)
    return file.getvalue()


BROKEN = "expected a whole Arrow file, got one that breaks off or is damaged"


def as_zip(files: Mapping[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return file.getvalue()


def as_zstd(content: bytes) -> bytes:
    if sys.version_info < (3, 14):
        return bytes(pytest.importorskip("backports.zstd", reason="needs extra importers").compress(content))
    return bytes(importlib.import_module("compression.zstd").compress(content))


def opened(path: Path, content: bytes, wanted: Wanted = WANTED, options: TableOptions | None = None) -> Source:
    path.write_bytes(content)
    return open_table(path, wanted, options or TableOptions())


def columns_of(source: Source) -> dict[str, list[object]]:
    return {name: source.column(name).to_list() for name in sorted(source.schema)}


@pytest.mark.parametrize("form", FORMS)
def test_the_same_rows_in_every_format(tmp_path: Path, form: str) -> None:
    name, make = FORMS[form]
    source = opened(tmp_path / name, make(ROWS))
    assert columns_of(source) == {
        "id": ["007", "i1", "1e5"],
        "score": ["4", None, "2.5"],
        "text": ['a "quoted", text;\nof lines', "Ünï", "None"],
    }
    assert source.place == str(tmp_path / name)
    assert list(source.numbers()) == ([2, 3, 4] if "csv" in name else [1, 2, 3])
    slices = [*open_slices(tmp_path / name, WANTED, TableOptions(), rows=2)]
    assert pl.concat([one.column("id") for one in slices]).to_list() == ["007", "i1", "1e5"]
    assert [number for one in slices for number in one.numbers()] == list(source.numbers())


TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0\r"), max_size=9)
VALUES = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), TEXTS)
OBJECTS = st.dictionaries(st.sampled_from(["id", "text", "score"]), VALUES, min_size=1)


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(rows=st.lists(OBJECTS, min_size=1, max_size=9), size=st.integers(1, 4))
def test_values_of_json_come_back_as_they_were_written(tmp_path: Path, rows: list[Row], size: int) -> None:
    """In an array, in lines, packed or not, in slices or whole: numbers are known, and keep their spelling."""
    written = json.loads(json.dumps(rows), parse_int=Number, parse_float=Number)
    expected = {name: [row.get(name) for row in written] for name in {key for row in rows for key in row}}
    for form in ("json", "lines", "json, packed", "lines, packed"):
        name, make = FORMS[form]
        source = opened(tmp_path / name, make(rows))
        found = {name: source.values(name) for name in source.schema}
        assert found == expected
        kinds = {name: [*map(type, values)] for name, values in found.items()}
        assert kinds == {name: [*map(type, values)] for name, values in expected.items()}
        slices = [*open_slices(tmp_path / name, WANTED, TableOptions(), rows=size)]
        assert sum(one.height for one in slices) == len(rows)
        for name, values in expected.items():
            assert [value for one in slices for value in one.values(name)] == values


@pytest.mark.parametrize("block", [2, 3, 5, 14])
def test_long_files_are_kept_as_strings_and_what_is_nested_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int
) -> None:
    monkeypatch.setattr("spa.tables.records.BLOCK", block)
    rows: list[Row] = [{"id": str(n), "score": n} if n % 5 else {"text": [n]} for n in range(14)]
    source = opened(tmp_path / "t.jsonl", as_lines(rows))
    assert source.values("id") == [str(n) if n % 5 else None for n in range(14)]
    assert source.column("score").to_list() == [str(n) if n % 5 else None for n in range(14)]
    assert source.values("text") == [None if n % 5 else [str(n)] for n in range(14)]
    with pytest.raises(TableError, match=r"t.jsonl, line 1: text: expected one value, got a list"):
        source.column("text")


@pytest.mark.parametrize("form", ["json", "columns", "lines", "json, packed", "lines, packed"])
@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig", "cp1252"])
def test_json_in_another_encoding_is_read_or_told(tmp_path: Path, form: str, encoding: str) -> None:
    name, make = FORMS[form.partition(",")[0]]
    text = (
        json.dumps(json.loads(make(ROWS)), ensure_ascii=False)
        if "json" in name and "lines" not in form
        else "\n".join(json.dumps(row, ensure_ascii=False) for row in ROWS)
    )
    content = text.encode(encoding)
    path = tmp_path / (f"{name}.gz" if "packed" in form else name)
    written = gzip.compress(content) if "packed" in form else content
    if encoding == "cp1252":
        line = 2 if "lines" in form else 1
        said = (
            f"{path}, line {line}: expected UTF-8, got the byte 0xdc that is not UTF-8; save the file as UTF-8, or say"
        )
        assert problem_of(path, written).startswith(said)
    options = TableOptions(encoding="cp1252" if encoding == "cp1252" else None)
    source = opened(path, written, options=options)
    assert source.column("text").to_list() == [row["text"] for row in ROWS]
    assert (
        source.notes
        == ({"utf-16": "read as UTF-16", "cp1252": "read as cp1252"}.get(encoding, ""),)[: encoding != "utf-8-sig"]
    )
    assert source.place == str(path)


def test_blank_lines_are_no_rows_but_count(tmp_path: Path) -> None:
    source = opened(tmp_path / "t.jsonl", b'\n{"id": "a"}\n\n \n{"id": NaN}\n')
    assert (source.values("id"), list(source.numbers())) == (["a", None], [2, 5])


@pytest.mark.parametrize(
    ("content", "each", "ids", "named"),
    [
        ('{"version": 1, "rows": [{"id": 1}, {"id": 2}]}', "rows", ["1", "2"], None),
        ('{"wmt": [{"id": 1}], "asset": [{"id": 2}, {"id": 3}]}', "wmt", ["1"], None),
        (
            '{"wmt": [{"id": 1}], "asset": [{"id": 2}, {"id": 3}]}',
            "{text}[]",
            ["1", "2", "3"],
            ["wmt", "asset", "asset"],
        ),
        ('{"i1": {"id": 1}, "i2": {"id": 2}}', "{text}", ["1", "2"], ["i1", "i2"]),
        ('[{"of": [{"id": 1}]}, {"of": [{"id": 2}]}]', "of", ["1", "2"], None),
    ],
)
def test_an_object_is_taken_apart_where_that_is_asked_for(
    tmp_path: Path, content: str, each: str, ids: list[str], named: list[str] | None
) -> None:
    source = opened(tmp_path / "t.json", content.encode(), options=TableOptions(each=each))
    assert source.column("id").to_list() == ids
    if named is not None:
        assert source.column("text").to_list() == named


JSON = {
    "": "expected an array of objects, or an object of columns that are arrays, got an empty file",
    "[]": "expected an array of objects, or an object of columns that are arrays, got none",
    "5": "got 5",
    "[1]": "row 1: expected an object in the array, got 1",
    '[{"id": 1}, [2]]': "row 2: expected an object in the array, got a list",
    '[{"id": 1},\n{"id": }]': "row 2: expected JSON, got a mistake at line 2, column 8",
    '[{"id": 1} {"id": 2}]': "row 2: expected JSON, got a mistake at line 1, column 12: no comma or ] before it",
    '[{"id": 1}': "row 2: expected JSON, got a mistake",
    '[{"id": 1}] 2': "got a mistake at line 1, column 13: something behind the end",
    '[{"id": 1, "id": 2}]': 'row 1: expected each key once, got "id" twice',
    '[{"id": "\\ud800"}]': "row 1: expected UTF-8, got half of a surrogate pair",
    '{"id": [1, 2], "score": [1]}': "expected columns of one length, got 2 in id, 1 in score",
    '{"id": 1, "score": 2}': "got an object with single values: id, score",
    '{"wmt": [{"id": 1}], "b": [{"id": 2}]}': "(1 in wmt, 1 in b); name one with each='wmt', or all with {part}[]",
    '{"i1": {"a": 1}, "i2": {"a": 2}}': "got 2 objects (i1, i2); take them apart with each='{id}', where id is the",
    "[" * 100_000: "row 1: expected one JSON object, got lists or objects nested too deeply",
    '[{"id": ' + "[" * 200 + "]" * 200 + "}]": "got lists or objects nested too deeply, beyond 100 levels",
}


@pytest.mark.parametrize("content", JSON, ids=range(len(JSON)))
def test_json_that_is_no_table_is_told_in_one_line(tmp_path: Path, content: str) -> None:
    assert JSON[content] in problem_of(tmp_path / "t.json", content.encode())


def problem_of(path: Path, content: bytes) -> str:
    with pytest.raises(SpaError) as caught:
        columns_of(opened(path, content))
    (line,) = caught.value.problems
    assert line.startswith(str(path))
    assert "spa-unpacked" not in line
    assert len(line) < 500
    return line


PACKED = gzip.compress(b"id,text\n" + b"i1,one\n" * 99, mtime=0)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("t.csv.gz", PACKED[:-20], "expected a whole gzip file, got one that breaks off or is damaged"),
        ("t.csv.gz", PACKED[:20] + b"damage" + PACKED[26:], "got one that breaks off or is damaged"),
        ("t.csv.gz", b"id,text\n", "expected a gzip file, got another kind of file"),
        ("t.csv.gz", b"", "expected a gzip file, got an empty file"),
        ("t.csv.gz", gzip.compress(b"", mtime=0), "expected a header and rows, got an empty file"),
        ("t.csv.gz", gzip.compress(PACKED, mtime=0), "expected text, got a gzip file"),
        ("t.csv.gz", gzip.compress(b"id,text\n1\n1,2,3\n", mtime=0), "line 2: expected 2 values, got 1"),
        ("t.jsonl.gz", gzip.compress(b'{"id": 1}\n{"id": [1]}', mtime=0), "line 2: id: expected one value, got a list"),
        ("t.parquet.gz", PACKED, "expected a file ending in .csv"),
        ("t.gz", PACKED, "expected a file ending in .csv"),
        ("t.csv.zst", PACKED, "expected a zstd file, got a gzip file"),
        ("t.csv.xz", lzma.compress(PACKED)[:-20], "expected a whole xz file, got one that breaks off or is damaged"),
        ("t.csv.bz2", b"BZh9" + PACKED, "expected a whole bzip2 file, got one that breaks off or is damaged"),
        ("t.csv.zip", as_zip({"a": b""})[:20], "expected a whole zip file, got one that breaks off or is damaged"),
        ("t.csv.zip", as_zip({"t.csv": b"", "u.csv": b""}), "one file in it, got 2 (t.csv, u.csv); unpack it: unzip"),
        ("t.csv.zip", as_zip({"t.json": b"[]"}), "expected a file of that name in it, got t.json; unpack it: unzip"),
        ("t.zip", as_zip({"t.csv": b""}), "unpack it first (unzip FILE), or call it what it holds (.csv.zip)"),
        ("t.arrow", b"FEA1" + PACKED, "got one of the first kind of Feather; write it anew"),
        ("t.arrow", b"ARROW1\0\0" + PACKED, BROKEN),
        ("t.arrow", b"\xff\xff\xff\xff" + PACKED, BROKEN),
        ("t.arrow", b"ARROW1", BROKEN),
    ],
)
def test_packed_files_that_cannot_be_read_are_told(tmp_path: Path, name: str, content: bytes, said: str) -> None:
    assert said in problem_of(tmp_path / name, content)


@pytest.mark.parametrize(
    ("name", "write", "end"), [("t.feather", "write_ipc", -20), ("t.arrow", "write_ipc_stream", 200)]
)
def test_arrow_that_breaks_off_is_told(tmp_path: Path, name: str, write: str, end: int) -> None:
    assert BROKEN in problem_of(tmp_path / name, as_arrow([{"id": 1}], write)[:end])


ZIPPED = b"id,text\n" + b"".join(b"i%d,one\n" % number for number in range(300))


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_zip_files_with_any_byte_wrong_are_told(tmp_path: Path, method: int) -> None:
    """Contents, names, sizes, what it is packed by: each that can be told from a whole file is told in a line."""
    whole = as_zip({"t.csv": ZIPPED}, method)
    path, ends, refused = tmp_path / "t.csv.zip", len(whole) - 22 - 46 - len("t.csv"), 0
    for place in (*range(0, 50, 2), len(whole) // 2, ends - 9, *range(ends, len(whole), 2)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x81]) + whole[place + 1 :])
        start = beginning(path, 20)
        try:
            found = columns_of(open_table(path, WANTED, TableOptions()))
        except TableError:
            refused += 1
        else:
            assert (len(found["id"]), start) == (300, ZIPPED[:20])
    assert refused > 20


def test_files_cut_off_of_a_codec_are_told(tmp_path: Path) -> None:
    """What a codec says of a damaged block is no wrong name."""
    whole = bytearray(as_arrow([{"id": f"{number}", "text": f"{number * 7}"} for number in range(900)], "write_ipc"))
    file = io.BytesIO()
    pl.read_ipc(bytes(whole)).write_ipc(file, compression="lz4")
    content = bytearray(file.getvalue())
    content[len(content) // 2] ^= 0xFF
    assert "; make or download it again" in problem_of(tmp_path / "t.arrow", bytes(content))


def test_packed_file_that_unpacks_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that unpacks to more than its size allows is refused."""
    monkeypatch.setattr(bounds, "ALWAYS_UNPACKED", 10_000)
    rows = b"id,text\n" + b"1,2\n" * 100_000
    content = gzip.compress(rows)
    for name, packed in {
        "t.csv.gz": content,
        "t.csv.xz": lzma.compress(rows),
        "t.csv.zip": as_zip({"t.csv": rows}),
    }.items():
        assert "in a file of its size, got more" in problem_of(tmp_path / name, packed)
    monkeypatch.setattr(bounds, "ALWAYS_READ", 10)
    monkeypatch.setattr(bounds, "ROWS_A_BYTE", 0)
    stream = as_arrow([{"id": 1}] * 100, "write_ipc_stream")
    assert "as the file can hold, got a count of 11" in problem_of(tmp_path / "t.arrow", stream)  # no more is read
    monkeypatch.setattr(bounds, "UNPACKED_A_BYTE", 10_000)
    assert opened(tmp_path / "t.csv.gz", content).height == 100_000


def test_names_say_what_is_a_table() -> None:
    names = ["a.csv", "A.JSON", "a.b.ndjson.gz", "a.parquet", "a.parquet.gz", "a.gz", "a.html", "csv", ".csv"]
    assert [table_suffix(name) for name in names] == [".csv", ".json", ".ndjson.gz", ".parquet", *[None] * 5]
