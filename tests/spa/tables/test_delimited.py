"""Delimited text: every way in which people and programs write it comes out the same, and no row is lost."""

from __future__ import annotations

import codecs
import csv
import io
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from spa.errors import NoRows, TableError
from spa.tables.delimited import delimited_slices, open_delimited, read_csv
from spa.tables.options import TableOptions
from spa.tables.source import Source, Wanted

WANTED = Wanted(columns=frozenset({"id", "text", "score"}), guarded=False)
HERE = settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


def opened(tmp_path: Path, content: str | bytes, **options: str) -> Source:
    path = tmp_path / "t.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    source = open_delimited(path, WANTED, TableOptions(**options))  # type: ignore[arg-type]
    in_slices = list(delimited_slices(path, WANTED, TableOptions(**options), 2))  # type: ignore[arg-type]
    rows = [row for one in in_slices for row in rows_of(one)]
    assert rows == rows_of(source)
    assert in_slices[0].first_row == source.first_row
    assert {one.notes for one in in_slices} == {source.notes}
    return source


def rows_of(source: Source) -> list[tuple[object, ...]]:
    return list(zip(*(source.values(name) for name in source.schema), strict=True))


def refused(tmp_path: Path, content: str | bytes, **options: str) -> str:
    with pytest.raises(TableError) as caught:
        opened(tmp_path, content, **options)
    (problem,) = caught.value.problems
    return problem


TABLE = "id,text,score\n1,plain,2\n2,two words,3\n3,,4\n"
ROWS = [("1", "plain", "2"), ("2", "two words", "3"), ("3", None, "4")]
SEMICOLONS = "read as UTF-8, separated by semicolons"


@pytest.mark.parametrize(
    ("content", "notes", "first_row"),
    [
        (TABLE, (), 2),
        (TABLE.replace("\n", "\r\n"), (), 2),
        (codecs.BOM_UTF8 + TABLE.encode(), (), 2),
        (TABLE.replace(",", ";"), (SEMICOLONS,), 2),
        (TABLE.replace(",", "\t"), ("read as UTF-8, separated by tabs",), 2),
        (TABLE.replace(",", "|"), ("read as UTF-8, separated by bars",), 2),
        (TABLE.encode("utf-16"), ("read as UTF-16, separated by commas",), 2),
        (codecs.BOM_UTF16_BE + TABLE.encode("utf-16-be"), ("read as UTF-16, separated by commas",), 2),
        (TABLE.replace(",", "\t").encode("utf-16"), ("read as UTF-16, separated by tabs",), 2),
        ("sep=,\n" + TABLE, (), 3),
        ("sep=;\r\n" + TABLE.replace(",", ";").replace("\n", "\r\n"), (SEMICOLONS,), 3),
        (codecs.BOM_UTF8 + b'"sep=;"\n' + TABLE.replace(",", ";").encode(), (SEMICOLONS,), 3),
        ("sep=^\n" + TABLE.replace(",", "^"), ("read as UTF-8, separated by '^'",), 3),
        ("# of May, by us\n" + TABLE, ("1 comment line before the header left out",), 3),
        ("# of May\n#\n" + TABLE.replace(",", ";"), (SEMICOLONS, "2 comment lines before the header left out"), 4),
        ("sep=;\n#\n" + TABLE.replace(",", ";"), (SEMICOLONS, "1 comment line before the header left out"), 4),
    ],
)
def test_one_table_in_many_ways_is_the_same(
    tmp_path: Path, content: str | bytes, notes: tuple[str, ...], first_row: int
) -> None:
    source = opened(tmp_path, content)
    assert list(source.schema) == ["id", "text", "score"]
    assert rows_of(source) == ROWS
    assert source.notes == notes
    assert source.first_row == first_row


def test_a_header_that_begins_with_a_hash_is_one(tmp_path: Path) -> None:
    source = opened(tmp_path, "#id,text,score\n1,a,2\n")
    assert list(source.schema) == ["#id", "text", "score"]
    assert source.height == 1


def test_commas_in_texts_and_numbers_of_other_files_part_nothing(tmp_path: Path) -> None:
    source = opened(tmp_path, "id\ttext, as said\tscore\n1\ta, b\t2,5\n2\tc, d\t3,5\n")
    assert rows_of(source) == [("1", "a, b", "2,5"), ("2", "c, d", "3,5")]
    source = opened(tmp_path, "id;text;score\n1;a, b, c;2,5\n2;d;3,5\n")
    assert rows_of(source) == [("1", "a, b, c", "2,5"), ("2", "d", "3,5")]


def test_an_encoding_is_used_where_a_file_is_not_utf_8_alone(tmp_path: Path) -> None:
    table = "id,text\n1,Bär\n2,Straße\n"
    rows = [("1", "Bär"), ("2", "Straße")]
    said = refused(tmp_path, table.encode("cp1252"))
    assert "line 2: expected UTF-8, got the byte 0xe4 that is not UTF-8" in said
    assert said.endswith("encoding='cp1252'")
    source = opened(tmp_path, table.encode("cp1252"), encoding="cp1252")
    assert rows_of(source) == rows
    assert source.notes == ("read as cp1252, separated by commas",)
    assert rows_of(opened(tmp_path, table, encoding="cp1252")) == rows  # UTF-8 says itself what it is
    assert rows_of(opened(tmp_path, table.encode("utf-16"), encoding="cp1252")) == rows
    assert rows_of(opened(tmp_path, table.encode("utf-16-le"), encoding="utf-16-le")) == rows
    assert refused(tmp_path, table.encode("utf-16-le")).endswith("encoding='utf-16-le'")
    assert "got no known one" in refused(tmp_path, table.encode("cp1252"), encoding="cp125")
    assert "line 3: expected ascii" in refused(tmp_path, "id,text\n1,a\n2,ß\n".encode("cp1252"), encoding="ascii")
    assert "line 1: expected UTF-8, got the byte 0xe4" in refused(tmp_path, "ä,b\n1,2\n".encode("cp1252"))


def test_blanks_part_columns_where_each_row_then_fits(tmp_path: Path) -> None:
    for header, row in (("id text  score", "1 a 2"), ("id text score", "1\ta\t2"), ("id\ttext\tscore", "1  a  2")):
        source = opened(tmp_path, f"{header}\n{row}\n{row}\n")
        assert list(source.schema) == ["id", "text", "score"]
        assert rows_of(source) == [("1", "a", "2")] * 2
        assert source.notes == ("read as UTF-8, columns parted by blanks",)
    assert rows_of(opened(tmp_path, "id text score\n1\ta b\t2\n")) == [("1", "a b", "2")]
    said = refused(tmp_path, "id text score\n1\ta\n2\tb\n")
    assert "row 2: expected 3 fields" in said
    assert "got 2" in said
    said = refused(tmp_path, "id text score\n1 a b 2\n")
    assert "row 2: expected 3 fields" in said
    assert "got 4" in said


def test_delimited_rows_one_field_short(tmp_path: Path) -> None:
    """Rows that all have one field less are told without advice on quotes."""
    for rows in ("1,a\n2,b\n", "1,a,2,3\n2,b,3,4\n"):
        said = refused(tmp_path, "id,text,score\n" + rows)
        assert "line 2: expected 3 values, as the header has" in said
        assert "quote" not in said
    assert "semicolon in double quotes" in refused(tmp_path, "id;text;score\n1;a;2\n2;b;3;4\n")


def test_cells_of_nul_are_told_for_what_they_are(tmp_path: Path) -> None:
    assert "row 3: expected text in column text, got a cell of NUL bytes" in refused(
        tmp_path, "id,text\n1,a\n2,\0\0\0\n"
    )
    assert rows_of(opened(tmp_path, "id,text\n1,a\0b\n")) == [("1", "a\0b")]


TEXT = "double quotes that do not enclose a whole cell are read as text"


@pytest.mark.parametrize("separator", "\t;|")
def test_quotes_that_do_not_enclose_a_cell_are_text(tmp_path: Path, separator: str) -> None:
    lines = ["id\ttext\tscore", '1\t"Stay," he said, "now."\t2', '2\t"Hallo\t3', '3\ta "b" c"\t4', '4\t"""x"" y"\t5']
    source = opened(tmp_path, "\n".join(lines).replace("\t", separator))
    assert source.values("text") == ['"Stay," he said, "now."', '"Hallo', 'a "b" c"', '"x" y']
    assert source.values("score") == ["2", "3", "4", "5"]
    assert source.notes[1] == TEXT


def test_two_quotes_far_apart_swallow_no_row(tmp_path: Path) -> None:
    lines = ["id\ttext\tscore", '1\t"Hallo\t1', "2\tb\t2", '3\tWelt"\t3', "4\td\t4"]
    assert opened(tmp_path, "\n".join(lines)).values("text") == ['"Hallo', "b", 'Welt"', "d"]
    said = refused(tmp_path, "\n".join(lines).replace("\t", ","))
    assert "line 2: " in said
    assert "line 4 that hold one cell or are text of 3 rows" in said
    text = opened(tmp_path, "\n".join(lines).replace("\t", ","), quotes="text")
    assert text.values("text") == ['"Hallo', "b", 'Welt"', "d"]
    assert opened(tmp_path, "\n".join(lines).replace("\t", ","), quotes="csv").values("id") == ["1", "4"]
    unpaired = ["id,text,score", '1,"Hallo,1', "2,b,2", '3,"Welt ist,3', "4,d,4"]
    assert opened(tmp_path, "\n".join(unpaired)).values("text") == ['"Hallo', "b", '"Welt ist', "d"]


def test_cells_that_go_on_in_other_lines_are_cells(tmp_path: Path) -> None:
    source = opened(tmp_path, 'id,text,score\n1,"two\nlines, of a text",2\n2,"a ""b""",3\n')
    assert source.values("text") == ["two\nlines, of a text", 'a "b"']
    assert source.notes == ()
    source = opened(tmp_path, 'id,text\n1,"one\ntwo, three"\n2,"four, five\nsix, seven"\n')
    assert source.values("text") == ["one\ntwo, three", "four, five\nsix, seven"]
    source = opened(tmp_path, 'id,text\n"1,one\ntwo",three\n4,five\n')
    assert source.values("id") == ["1,one\ntwo", "4"]
    assert source.notes == ("lines 2 to 3 are one row, a quoted cell goes on in them",)


def test_nothing_is_no_table(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.touch()
    with pytest.raises(NoRows):
        read_csv(path)
    path.write_text("a,b\n")
    assert read_csv(path).shape == (0, 2)


CELLS = st.text(st.sampled_from(list("ab1 ,;|\t\"\n\r#='éü.")), max_size=6)
WORDS = st.text(st.sampled_from(list("ab1 \"'é.,;|")), min_size=1, max_size=7).map(lambda text: f"w{text}")


@HERE
@given(
    rows=st.lists(st.lists(CELLS, min_size=4, max_size=4), min_size=1, max_size=8),
    separator=st.sampled_from(",;\t|"),
    end=st.sampled_from(["\n", "\r\n"]),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
)
@example([["", "", "", ""], ["", "", "", "\n"]], "\t", "\n", "utf-8", csv.QUOTE_MINIMAL)
@example([["", "", "", ""], ["", "", "", '"']], "\t", "\n", "utf-8", csv.QUOTE_MINIMAL)
def test_what_a_writer_of_csv_writes_is_read_back(
    tmp_path: Path, rows: list[list[str]], separator: str, end: str, encoding: str, quoting: int
) -> None:
    if end == "\n":  # before it Python leaves the CR at the end of a cell without quotes
        rows = [[cell.replace("\r", "") for cell in row] for row in rows]
    written = io.StringIO()
    writer = csv.writer(written, delimiter=separator, lineterminator=end, quoting=quoting)  # type: ignore[arg-type]
    writer.writerow(["id", "text", "score", "more"])
    writer.writerows([["x" + row[0], *row[1:]] for row in rows])
    source = opened(tmp_path, written.getvalue().encode(encoding), quotes="csv")
    assert [list(row) for row in rows_of(source)] == [
        ["x" + row[0], *(cell or None for cell in row[1:])] for row in rows
    ]


@HERE
@given(
    rows=st.lists(
        st.lists(st.text(st.sampled_from(list("ab \"'é.,;|")), max_size=6), min_size=3, max_size=3), min_size=1
    ),
    end=st.sampled_from(["\n", "\r\n"]),
)
def test_texts_with_quotes_written_as_they_are_are_read_back(tmp_path: Path, rows: list[list[str]], end: str) -> None:
    """A cell that is in quotes by the rule loses them; all others, and all rows, come out as they went in."""
    content = end.join("\t".join(row) for row in [["id", "text", "score"], *([f"x{row[0]}", *row[1:]] for row in rows)])
    source = opened(tmp_path, content)
    assert source.height == len(rows)
    assert [list(row) for row in rows_of(source)] == [[f"x{row[0]}", *map(by_rule, row[1:])] for row in rows]


def by_rule(cell: str) -> str | None:
    if len(cell) > 1 and cell[0] == cell[-1] == '"' and '"' not in cell[1:-1].replace('""', ""):
        cell = cell[1:-1].replace('""', '"')
    return cell or None


@pytest.mark.parametrize(
    ("text", "told"),
    [("<!DOCTYPE html><html><body>Log in</body></html>", "a web page"), ('[{"item_id": "1", "score": 3}]', "got JSON")],
)
def test_other_texts_called_csv_are_told(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text(text)
    with pytest.raises(TableError, match=told):
        read_csv(path)


@pytest.mark.parametrize(
    "title", ["Model comparison 2024\n\n", "Model comparison 2024,,\n,,\n", "Results\n\n", "Results,,\n"]
)
@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_a_title_above_the_names_is_told(tmp_path: Path, title: str, separator: str) -> None:
    line = refused(tmp_path, (title + TABLE).replace(",", separator))
    assert "line 1: expected the names of columns, got a title" in line
    assert f"remove what stands above line {title.count(chr(10)) + 1} (id, text, score)" in line


@pytest.mark.parametrize("content", ["text\n\nhello\nworld\n", "text,\nhello,\n", "text,\nhello,1\nworld,\n"])
def test_a_column_alone_has_no_title(tmp_path: Path, content: str) -> None:
    assert opened(tmp_path, content).values("text")[-1] in ("hello", "world")
