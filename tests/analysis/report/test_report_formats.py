"""Markdown, LaTeX and CSV: each shows names letter by letter, and numbers survive."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from analysis import Plan, Reading, read_tables
from analysis.report import latex, markdown
from analysis.report.csv_tables import render_csv
from analysis.results.files import as_plain, from_plain
from spa.responses.table_files import write_table
from spa.tables.delimited import read_csv
from tests.analysis.made_answers import analyse, choices, ratings, render_report
from tests.analysis.sample_results import CHINESE, HOSTILE, LATEX, TEMPLATE, full_results, many_results

LINE = st.text(st.characters(exclude_categories=("Cs", "Cc", "Zl", "Zp")), max_size=40)


@pytest.fixture(scope="module")
def files() -> dict[str, str]:
    return render_report(full_results())


def test_markdown_tables_have_equal_rows(files: dict[str, str]):
    tables = re.findall(r"(?:^\|.*\|\n)+", files["report.md"], re.MULTILINE)
    assert len(tables) > 10
    for table in tables:
        widths = {len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}
        assert len(widths) == 1, table


def test_markdown_runs_nothing(files: dict[str, str]):
    html = MarkdownIt("commonmark").enable("table").render(files["report.md"])
    assert "<script" not in html
    assert TEMPLATE not in files["report.md"]
    for name in (HOSTILE, TEMPLATE, LATEX, CHINESE):
        assert markdown.escape(name) in files["report.md"]


def test_markdown_names_figures_that_are_written(files: dict[str, str]):
    named = re.findall(r"!\[[^\]]*\]\(([^)]+)\)", files["report.md"])
    assert named
    assert set(named) == {name for name in files if name.startswith("figures/")}


@given(LINE)
@settings(max_examples=60, deadline=None)
def test_markdown_escape_is_undone_by_a_reader(text: str):
    """What a Markdown reader shows is the text itself (white space apart)."""
    html = MarkdownIt("commonmark").renderInline(markdown.escape(text))
    shown = html.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", '"').replace("&amp;", "&")
    assert shown.split() == text.split()


def unescaped_braces(text: str) -> int:
    """Return open minus closed braces, those with a backslash before them left out."""
    plain = re.sub(r"\\[{}]", "", text.replace(r"\\", ""))
    return plain.count("{") - plain.count("}")


def test_latex_tables_are_balanced(files: dict[str, str]):
    tables = {name: text for name, text in files.items() if name.startswith("tables/") and name.endswith(".tex")}
    assert {"tables/preferences.tex", "tables/comparison.tex", "tables/expected.tex"} <= set(tables)
    for text in tables.values():
        assert unescaped_braces(text) == 0
        begun, ended = re.findall(r"\\begin\{(\w+)\}", text), re.findall(r"\\end\{(\w+)\}", text)
        assert begun == ended[::-1]
        for rule in (r"\toprule", r"\midrule", r"\bottomrule"):
            assert text.count(rule) == 1


def test_latex_rows_fill_their_columns(files: dict[str, str]):
    for name, text in files.items():
        if not (name.startswith("tables/") and name.endswith(".tex")):
            continue
        shape = re.search(r"\\begin\{tabular\}\{([lr]+)\}", text)
        assert shape, name
        for line in text.splitlines():
            if line.endswith(r"\\"):
                assert len(re.findall(r"(?<!\\)&", line)) == len(shape[1]) - 1, line


def test_latex_holds_no_special_character_of_a_name(files: dict[str, str]):
    text = files["tables/preferences.tex"]
    assert r"a\_b \& 50\% \# \$x\$ \{y\} \textasciitilde{} \textasciicircum{} \textbackslash{}textbf" in text
    assert r"68.8\%" in text
    assert r"$<$~.001" in text
    assert "XeLaTeX" in text


def test_no_format_prints_stars(files: dict[str, str]):
    """Adjusted p and the word for the evidence say it; results.json and its CSV tables keep those of the SPA paper."""
    assert r"68.8\%" in files["tables/comparison.tex"]
    assert r"68.8\%, p~$<$~.001, recovered" in files["tables/expected.tex"]
    starred = re.compile(r"[%\d]\\?\*(?!\d)|\$\^\{\*|\bStars\b|>\*+<|\| (\\\*)+ \|")
    assert [name for name, text in files.items() if not name.endswith(".csv") and starred.search(text)] == []
    assert "***" in files["tables/preferences.csv"]


def test_long_latex_tables_break_over_pages():
    text = render_report(many_results(12))["tables/preferences-coherence.tex"]
    assert r"\begin{longtable}" in text
    assert unescaped_braces(text) == 0


@given(LINE)
@settings(max_examples=60, deadline=None)
def test_latex_escape_leaves_nothing_to_run(text: str):
    escaped = latex.escape(text)
    assert unescaped_braces(escaped) == 0
    commands = set(re.findall(r"\\([A-Za-z]+)", escaped))
    assert commands <= set(re.findall(r"\\([A-Za-z]+)", " ".join(latex.SPECIAL.values())))


def test_csv_gives_back_every_number(files: dict[str, str]):
    wanted = as_plain(from_plain(full_results()))["preferences"]
    rows = list(csv.DictReader(io.StringIO(files["tables/preferences.csv"])))
    assert len(rows) == len(wanted)
    for row, original in zip(rows, wanted, strict=True):
        assert set(original) - set(row) <= {"reason_data"}
        for key, read in row.items():
            value = original[key]
            if value is None:
                assert read == ""
            elif isinstance(value, float):
                assert float(read) == value  # the very same number
            else:
                assert read == (str(value).lower() if isinstance(value, bool) else str(value))


def test_csv_has_a_table_for_each_array_with_rows(files: dict[str, str]):
    names = {name.removeprefix("tables/") for name in files if name.endswith(".csv")}
    assert {"ratings_means.csv", "ratings_pairs.csv", "choices_pairs.csv", "rankings.csv", "disagreements.csv"} <= names
    assert "agreement.csv" not in names


@given(st.lists(st.fixed_dictionaries({"name": LINE, "value": st.floats(allow_nan=False)}), min_size=1, max_size=5))
@settings(max_examples=40, deadline=None)
def test_csv_round_trip(rows: list[dict[str, object]]):
    read = list(csv.DictReader(io.StringIO(render_csv(rows), newline="")))
    names = [re.sub(r"^'('*[=+@\-])", r"\1", row["name"]) for row in read]
    assert names == [row["name"] for row in rows]
    assert [float(row["value"]) for row in read] == [row["value"] for row in rows]


FORMULAS = ("=1+1", "+1", "-1", "@SUM(A1)", "\ttab", "\rreturn", "\n=2", "＝3", "＋3", "－3", "＠3", "'=1", "''-1")


def test_no_cell_of_any_csv_is_run_and_our_reader_gives_it_back(tmp_path: Path):
    asked = [(f"p{who}", f"i{item}") for who in range(3) for item in range(4)]
    frames = {
        "ratings": ratings([(*each, name, int(each[1][1])) for each in asked for name in FORMULAS]),
        "choices": choices([(*each, *FORMULAS[:2], "x") for each in asked]),
    }
    paths = {name: tmp_path / f"{name}.csv" for name in frames}
    for name, path in paths.items():
        write_table(frames[name], path, format="csv")
        assert read_csv(path).equals(frames[name])
    results = analyse(read_tables(paths, Reading()), Plan())
    assert {row["system"] for row in results["ratings"]["means"]} == {name.strip() for name in FORMULAS}
    tables = [text for name, text in render_report(results).items() if name.endswith(".csv")]
    cells = {cell for text in tables for row in csv.reader(io.StringIO(text, newline="")) for cell in row}
    assert {"'=1+1", "'@SUM(A1)", "'-1", "''=1"} <= cells
    assert not [cell for cell in cells if re.match(r"[=+@\t\r\n＝＋－＠]|-[^0-9]", cell)]
