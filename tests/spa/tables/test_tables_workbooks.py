"""Workbooks: cells as a reader of the sheet sees them; what hides a value is told, with its cell."""

from __future__ import annotations

import datetime
import io
import re
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spa.errors import TableError
from spa.tables import workbooks
from spa.tables.options import TableOptions
from spa.tables.reading import open_slices, open_table
from spa.tables.source import Number, Source, Wanted

openpyxl = pytest.importorskip("openpyxl", reason="needs extra xlsx")
WANTED = Wanted(columns=frozenset({"id", "score", "day"}))
Rows = Sequence[Sequence[object]]
HEADER = ("id", "score", "day")


def workbook(path: Path, **sheets: Rows) -> Path:
    book = openpyxl.Workbook()
    book.remove(book.active)
    for title, rows in sheets.items():
        sheet = book.create_sheet(title)
        for row in rows:
            sheet.append(row)
    book.save(path)
    return path


def opened(path: Path, **options: Any) -> Source:
    return open_table(path, WANTED, TableOptions(**options))


def test_cells_are_what_a_reader_of_the_sheet_sees(tmp_path: Path) -> None:
    rows = [
        HEADER,
        ("007", 2.0, datetime.datetime(2026, 1, 2)),  # noqa: DTZ001
        ("a\nb", 0.1 + 0.2, datetime.date(2026, 1, 3)),
        (),
        (12345678901, None, datetime.datetime(2026, 1, 2, 3, 4)),  # noqa: DTZ001
        ("d", True, "text"),
    ]
    source = opened(workbook(tmp_path / "t.xlsx", Sheet=rows))
    assert source.values("id") == ["007", "a\nb", Number("12345678901"), "d"]
    assert source.values("score") == [Number("2"), Number("0.3"), None, True]
    assert source.values("day") == ["2026-01-02", "2026-01-03", "2026-01-02 03:04:00", "text"]
    assert source.column("score").to_list() == ["2", "0.3", None, "true"]
    assert list(source.numbers()) == [2, 3, 5, 6]
    assert source.notes == ()
    assert [one.height for one in open_slices(tmp_path / "t.xlsx", WANTED, TableOptions(), rows=3)] == [3, 1]


def test_zeros_that_a_format_shows_belong_to_an_id(tmp_path: Path) -> None:
    path = workbook(tmp_path / "t.xlsx", Sheet=[HEADER, (7, 7, None)])
    book = openpyxl.load_workbook(path)
    book.active["A2"].number_format = "000"
    book.active["B2"].number_format = "0.00"
    book.save(path)
    assert [opened(path).values(name) for name in ("id", "score")] == [["007"], ["7"]]


def test_workbook_lower_header_and_unnamed_columns(tmp_path: Path) -> None:
    """The header may stand lower and columns without a name are not lost."""
    source = opened(workbook(tmp_path / "t.xlsx", Sheet=[(), (None, "id", None, "score"), ("x", "a", "note", 1)]))
    assert [*source.schema] == ["column_0", "id", "column_2", "score"]
    assert (source.values("id"), source.values("score"), source.first_row) == (["a"], ["1"], 3)


def test_which_sheet_is_read_is_said_or_named(tmp_path: Path) -> None:
    path = workbook(tmp_path / "t.xlsx", Hidden=[HEADER, ("h",)], One=[HEADER, ("a",)], Two=[HEADER, ("b",)])
    book = openpyxl.load_workbook(path)
    book["Hidden"].sheet_state = "hidden"
    book.save(path)
    assert (opened(path).values("id"), opened(path).notes) == (["a"], ("read from the sheet 'One' of 2",))
    assert (opened(path, sheet="Hidden").values("id"), opened(path, sheet="Two").values("id")) == (["h"], ["b"])
    with pytest.raises(TableError, match="expected a sheet 'Three', got 'Hidden', 'One', 'Two'"):
        opened(path, sheet="Three")


CELLS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**14), 10**14),
    st.floats(-1e9, 1e9).map(lambda number: float(f"{number:.12g}")),
    st.text(st.characters(categories=["L", "N", "P", "S"], max_codepoint=0xFFFD), min_size=1, max_size=9).filter(
        lambda text: not text.startswith("=") and not re.search(r"_x[0-9A-F]{4}_", text) and text[0] != "#"
    ),
)


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(cells=st.lists(CELLS, min_size=1, max_size=9))
def test_what_is_written_is_read(tmp_path: Path, cells: list[object]) -> None:
    source = opened(workbook(tmp_path / "t.xlsx", Sheet=[HEADER, *(("i", cell) for cell in cells)]))
    for cell, value in zip(cells, source.values("score"), strict=True):
        if isinstance(cell, int | float) and not isinstance(cell, bool):
            assert isinstance(value, Number)
            assert float(value) == cell
        else:
            assert value == cell


def rewritten(path: Path, change: Callable[[str, bytes], bytes], method: int = zipfile.ZIP_DEFLATED) -> Path:
    """Rewrite what a workbook holds, as no spreadsheet would."""
    with zipfile.ZipFile(path) as old:
        parts: Mapping[str, bytes] = {name: change(name, old.read(name)) for name in old.namelist()}
    with zipfile.ZipFile(path, "w", method) as new:
        for name, content in parts.items():
            new.writestr(name, content)
    return path


def in_sheet(old: bytes, new: bytes) -> Callable[[str, bytes], bytes]:
    return lambda name, content: content.replace(old, new) if name.endswith("sheet1.xml") else content


def problem_of(path: Path) -> str:
    with pytest.raises(TableError) as caught:
        opened(path)
    (line,) = caught.value.problems
    assert line.startswith(str(path))
    assert len(line) < 500
    return line


ONE: Rows = [HEADER, ("a", 1, None)]


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([HEADER, ("a", "=1+1", None)], "cell B2: expected a value, got a formula without its result; open and save"),
        ([HEADER, ("a", "#N/A", None)], "cell B2: expected a value, got #N/A"),
        ([("id", "id"), ("a", "b")], "column id stands in the header twice"),
        ([], "expected a row with names of columns and rows, got an empty sheet"),
        ([HEADER], "expected a row with names of columns and rows, got an empty sheet"),
    ],
)
def test_a_sheet_that_hides_values_is_told(tmp_path: Path, rows: Rows, said: str) -> None:
    assert said in problem_of(workbook(tmp_path / "t.xlsx", Sheet=rows))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (in_sheet(b"</row>", b"</wor>"), "cannot be read as xlsx: "),
        (in_sheet(b'r="2"', b'r="4000000000"'), "expected at most 1048576 rows and"),
        (in_sheet(b't="n"', b't="s"'), "cannot be read as xlsx: "),
        (lambda name, content: b"" if name == "xl/workbook.xml" else content, "cannot be read as xlsx: "),
    ],
    ids=["no XML", "a row far below", "a text that is not there", "empty"],
)
def test_a_broken_workbook_is_told_in_one_line(
    tmp_path: Path, change: Callable[[str, bytes], bytes], said: str
) -> None:
    path = rewritten(workbook(tmp_path / "t.xlsx", Sheet=ONE), change)
    assert said in problem_of(path)


def test_a_workbook_that_is_cut_off_is_told(tmp_path: Path) -> None:
    path = workbook(tmp_path / "t.xlsx", Sheet=ONE)
    path.write_bytes(path.read_bytes()[:-100])
    assert "cannot be read as xlsx: " in problem_of(path)


def test_workbooks_with_damaged_parts_are_told(tmp_path: Path) -> None:
    """Bytes within a part that is packed, as spreadsheets and other programs pack it."""
    rows = [("id", "score"), *((f"i{number}", number) for number in range(300))]
    for method in (zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA):
        path = rewritten(workbook(tmp_path / "t.xlsx", Sheet=rows), lambda name, content: content, method)
        with zipfile.ZipFile(path) as packed:
            part = packed.getinfo("xl/worksheets/sheet1.xml")
        whole = bytearray(path.read_bytes())
        middle = part.header_offset + part.compress_size // 2
        whole[middle : middle + 9] = b"\xff" * 9
        path.write_bytes(whole)
        assert "cannot be read as xlsx: " in problem_of(path)


def test_what_unpacks_to_more_than_tables_do_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = workbook(tmp_path / "t.xlsx", Sheet=ONE)
    monkeypatch.setattr("spa.tables.bounds.ALWAYS_UNPACKED", 1000)
    monkeypatch.setattr("spa.tables.bounds.UNPACKED_A_BYTE", 1)
    assert "expected at most " in problem_of(path)
    monkeypatch.undo()
    with zipfile.ZipFile(path, "a") as packed:
        for number in range(60):
            packed.writestr(f"xl/{number}.xml", b"")
    monkeypatch.setattr(workbooks, "MOST_MEMBERS", 50)
    assert "expected at most 50 files in a workbook" in problem_of(path)
    monkeypatch.undo()
    monkeypatch.setattr(workbooks, "MOST_CELLS", 4)
    assert "rows and 4 cells, got more" in problem_of(path)


def test_other_files_under_the_name_are_told(tmp_path: Path) -> None:
    path = tmp_path / "t.xlsx"
    path.write_bytes(b"\xd0\xcf\x11\xe0" + bytes(99))
    assert "expected a workbook or zip file, got a workbook of an old kind or with a password" in problem_of(path)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as packed:
        packed.writestr("a.csv", "id\na\n")
    path.write_bytes(buffer.getvalue())
    assert "cannot be read as xlsx" in problem_of(path)


def test_a_title_above_the_names_is_told(tmp_path: Path) -> None:
    rows = [("Results of May",), (), HEADER, ("a", 1, "x")]
    with pytest.raises(
        TableError, match=r"got a title \(Results of May\); remove the rows above row 3 \(id, score, day\)"
    ):
        opened(workbook(tmp_path / "t.xlsx", Sheet=rows))
    assert opened(workbook(tmp_path / "u.xlsx", Sheet=[("id",), ("a",), ("b", "a note")])).values("id") == ["a", "b"]


def test_a_column_without_a_name_is_called_by_its_place(tmp_path: Path) -> None:
    rows = [(None, "id", None, "score"), ("ann", "i1", None, 1), ("bob", "i2", "a note", 2)]
    source = open_table(
        workbook(tmp_path / "t.xlsx", Sheet=rows), Wanted(columns=frozenset({"column_0"})), TableOptions()
    )
    assert [*source.schema] == ["column_0", "id", "score"]
    assert source.values("column_0") == ["ann", "bob"]
