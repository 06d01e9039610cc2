"""Decimal commas: read in columns of numbers, in files whose cells no comma parts, and nowhere else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spa.cli import main
from spa.errors import TableError
from spa.tables.delimited import delimited_slices, open_delimited
from spa.tables.options import TableOptions
from spa.tables.source import Source, Wanted

WANTED = Wanted(columns=frozenset({"id", "score"}), coded=frozenset({"id"}), numbers=frozenset({"score"}))


def opened(tmp_path: Path, scores: list[str], separator: str = ";") -> Source:
    rows = [f"3,5{separator}{score}" for score in scores]
    path = tmp_path / "t.csv"
    path.write_text("\n".join([f"id{separator}score", *rows]) + "\n")
    source = open_delimited(path, WANTED, TableOptions())
    assert source.values("id") == ["3,5"] * len(scores)  # a name, whatever it looks like
    return source


@pytest.mark.parametrize(
    ("scores", "read"),
    [
        (["2,5", "3", "-0,25", " 4,0", "", "1,5e-3"], ["2.5", "3", "-0.25", "4.0", None, "1.5e-3"]),
        (["1.234,5", "2,5", "1.234"], ["1234.5", "2.5", "1234"]),
        (["2,5", "n/a", "-"], ["2.5", "n/a", "-"]),
        (["2,5", "4b"], ["2,5", "4b"]),
        (["2.5", "3"], ["2.5", "3"]),
        (["1,234.5", "2"], ["1,234.5", "2"]),
        (["Good", "Bad"], ["Good", "Bad"]),
    ],
)
@pytest.mark.parametrize("separator", [";", "\t", "|"])
def test_a_column_that_fits_is_read(tmp_path: Path, scores: list[str], read: list[str], separator: str) -> None:
    source = opened(tmp_path, scores, separator)
    assert source.values("score") == read
    assert ("decimal commas in score" in source.notes) == (scores != read)


@pytest.mark.parametrize("scores", [["1.234,5", "1,234.5"], ["2,5", "2.5"], ["2,5", "1.234"]])
def test_two_decimal_signs_in_a_column_are_refused(tmp_path: Path, scores: list[str]) -> None:
    with pytest.raises(TableError, match="column score: expected one decimal sign, got"):
        opened(tmp_path, scores)
    with pytest.raises(TableError, match="column score: expected one decimal sign, got"):
        opened(tmp_path, scores[::-1])
    with pytest.raises(TableError, match="expected one decimal sign"):
        list(delimited_slices(tmp_path / "t.csv", WANTED, TableOptions(), 1))


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(st.decimals(-99, 99, places=2), min_size=1, max_size=9))
def test_any_numbers_are_the_same_with_commas_and_points(tmp_path: Path, numbers: list[object]) -> None:
    points = opened(tmp_path, [str(one) for one in numbers]).values("score")
    assert opened(tmp_path, [str(one).replace(".", ",") for one in numbers]).values("score") == points


def test_report_of_semicolons_equals_commas(tmp_path: Path) -> None:
    """A report of a file with semicolons is that of one with commas."""
    rows = [
        f"a{who},{item},{system},{1 + (who * item) % 7 / 2 + (system == 'x')}"
        for who in range(4)
        for item in range(5)
        for system in "xy"
    ]
    table = "\n".join(["annotator_id,item_id,system,points", *rows]) + "\n"
    german = table.replace(",", ";").replace(".", ",")
    found = []
    for name, content in (("t.csv", table), ("g.csv", german), ("t.tsv", german.replace(";", "\t"))):
        (tmp_path / name).write_bytes(content.encode("utf-16" if name == "t.tsv" else "utf-8"))
        arguments = ["report", "--ratings", str(tmp_path / name), "--map", "points=score", "--json"]
        done = CliRunner().invoke(main, [*arguments, "--out", str(tmp_path / "report")])
        assert done.exit_code == 0, done.output
        read = json.loads(done.stdout)
        said = read["settings"].pop("inputs")
        assert ("decimal commas in points" in str(said)) == (name != "t.csv")
        found.append(read)
    assert found[0] == found[1] == found[2]
