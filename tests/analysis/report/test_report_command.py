"""``spa report`` on tables: options, one line a mistake, nothing half written."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from spa.cli import main

PREFERENCES = "rater,system_x,system_y,preference\n" + "".join(
    f"p{who},x,y,{0.6 + who % 3 / 10:.1f}\np{who},y,x,{0.2 + who % 2 / 10:.1f}\n" for who in range(12)
)


def spa(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["report", *(str(argument) for argument in arguments)])


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "preferences.csv"
    path.write_text(PREFERENCES)
    return path


def test_a_report_from_a_table(table: Path, tmp_path: Path) -> None:
    shown = spa(
        "--preferences", table, "--map", "rater=annotator_id", "--out", tmp_path / "report", "--expected", "x > y"
    )
    assert shown.exit_code == 0, shown.output
    assert "x > y" in shown.output
    assert str(tmp_path / "report" / "report.html") in shown.output.replace("\n", "")
    results = json.loads((tmp_path / "report" / "results.json").read_text())
    assert results["expected"][0]["recovered"] is True
    assert (tmp_path / "report" / "report.html").stat().st_size > 1000
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_a_direction_that_is_assumed_is_printed_with_the_option(table: Path, tmp_path: Path) -> None:
    ratings = tmp_path / "ratings.csv"
    rows = [
        f"p{who},{item},s{one},{who % 2 + one},number of errors" for who in range(4) for item in "ab" for one in (1, 2)
    ]
    ratings.write_text("annotator_id,item_id,system,score,criterion\n" + "\n".join(rows))
    words = (
        "Higher ratings are assumed to be better; where lower ones are, add e.g. --lower-is-better 'number of errors'"
    )
    shown = spa("--ratings", ratings, "--out", tmp_path / "one")
    assert words in " ".join(shown.output.split())
    assert "(assumed: higher is better)" in _first_column(shown.output)
    shown = spa("--ratings", ratings, "--out", tmp_path / "two", "--lower-is-better", "number of errors")
    assert "--lower-is-better" not in shown.output
    assert "(lower is better)" in _first_column(shown.output)


def _first_column(output: str) -> str:
    return " ".join(" ".join(line.split("\u2502")[1] for line in output.splitlines() if "\u2502" in line).split())


def test_rankings_are_named_in_the_terminal(tmp_path: Path) -> None:
    orders = tmp_path / "orders.csv"
    rows = [f"p{who},{item},s{place},{place}" for who in range(3) for item in "abc" for place in (1, 2, 3)]
    orders.write_text("annotator_id,item_id,system,rank\n" + "\n".join(rows))
    shown = spa("--orders", orders, "--out", tmp_path / "report")
    assert re.search(r"overall\W+rankings\W+human", shown.output), shown.output


def test_the_appendix_can_be_put_into_the_report(table: Path, tmp_path: Path) -> None:
    arguments = ("--preferences", table, "--map", "rater=annotator_id", "--out", tmp_path / "report")
    assert spa(*arguments).exit_code == 0
    assert "How to cite" in (tmp_path / "report" / "appendix.md").read_text()
    assert spa(*arguments, "--full").exit_code == 0
    assert not (tmp_path / "report" / "appendix.md").exists()
    assert "## How to cite" in (tmp_path / "report" / "report.md").read_text()
    shown = spa("--preferences", table, "--json", "--full")
    assert "--full, --pdf: expected --out DIRECTORY, too" in shown.stderr


def test_json_prints_the_results_and_needs_no_folder(table: Path) -> None:
    arguments = (
        "--preferences",
        table,
        "--map",
        "rater=annotator_id",
        "--json",
        "--fwer",
        "0.1",
        "--consistency-tau",
        "1.05",
    )
    shown = spa(*arguments, "--family", "all", "--unit", "item", "--seed", "3", "--confidence", "0.9")
    settings = json.loads(shown.output)["settings"]
    chosen = {key: settings[key] for key in ("fwer", "consistency_tau", "family", "unit", "seed", "confidence")}
    assert chosen == {
        "fwer": 0.1, "consistency_tau": 1.05, "family": "all", "unit": "item", "seed": 3, "confidence": 0.9,
    }  # fmt: skip
    assert settings["inputs"][0]["file"] == "preferences.csv"
    kept = json.loads(
        spa("--preferences", table, "--map", "rater=annotator_id", "--json", "--keep-inconsistent").output
    )
    assert kept["settings"]["consistency_tau"] is None


def test_a_mistake_is_one_line_and_writes_nothing(table: Path, tmp_path: Path) -> None:
    shown = spa("--preferences", table, "--out", tmp_path / "report")
    assert shown.exit_code == 1
    (line,) = shown.stderr.splitlines()
    assert line.startswith(f"spa: {table}: column annotator_id is missing")
    assert not (tmp_path / "report").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "expected a STUDY, files of answers, or at least one of --preferences"),
        (("--out", "r"), "files of answers, or at least one of"),
        (("--ratings", "r.csv", "--systems", "a,=b"), "expected --systems COLUMN or COLUMN=NAME"),
        (("--out", "r", "--metrics", "m.csv"), "at least one of"),
        (("--out", "r", "--ratings", "r.csv", "--map", "a"), "expected --map OLD=NEW"),
        (
            ("--out", "r", "--ratings", "r.csv", "--map", "a=annotator_id", "--map", "a=item_id"),
            "--map a: expected one name, got annotator_id and item_id; a column is one thing",
        ),
        (("--out", "r", "--ratings", "r.csv", "--value", "A"), "expected --value WORD=VALUE"),
        (("--out", "r", "--ratings", "r.csv", "--value", "A=?"), "expected --value WORD=VALUE"),
        (("--out", "r", "--ratings", "r.csv", "--value", "A=x", "--value", "A=y"), "--value A: expected one value"),
        (("--out", "r", "--choices", "r.csv", "--numbers", "1"), "expected --numbers X:Y, two numbers"),
        (("--out", "r", "--choices", "r.csv", "--numbers", "2:2"), "expected --numbers X:Y, two numbers"),
        (("--out", "r", "--ratings", "r.csv", "--scale", "5:1"), "--scale LOW:HIGH"),
        (("--out", "r", "--ratings", "r.csv", "--scale", "15"), "--scale LOW:HIGH"),
        (("--out", "r", "--ratings", "r.csv", "--consistency-tau", "3"), "expected a number from 1 to 2"),
        (("--out", "r", "--ratings", "r.csv", "--consistency-tau", "nan"), "expected a number from 1 to 2"),
        (("--out", "r", "--ratings", "r.csv", "--consistency-tau", "1.1", "--keep-inconsistent"), "not both"),
        (("study.toml", "--out", "r", "--fwer", "0.1"), "--fwer: not with a STUDY"),
    ],
)
def test_wrong_usage_exits_with_2(arguments: tuple[str, ...], said: str) -> None:
    shown = spa(*arguments)
    assert shown.exit_code == 2
    assert said in shown.stderr


def test_a_folder_that_holds_no_report_is_refused(table: Path, tmp_path: Path) -> None:
    folder = tmp_path / "thesis"
    (folder / "figures").mkdir(parents=True)
    (folder / "figures" / "mine.svg").write_text("mine")
    shown = spa("--preferences", table, "--map", "rater=annotator_id", "--out", folder)
    assert shown.exit_code == 1
    (line,) = shown.stderr.splitlines()
    assert "expected a new or empty folder or one with an earlier report" in line
    assert [path.name for path in folder.rglob("*")] == ["figures", "mine.svg"]


def test_report_replaces_an_earlier_one(table: Path, tmp_path: Path) -> None:
    """An earlier report leaves nothing behind and notes beside it stay."""
    folder, ratings = tmp_path / "report", tmp_path / "ratings.csv"
    ratings.write_text("annotator_id,item_id,system,score\n" + "".join(f"a,{i},{i % 2},{i % 5}\n" for i in range(9)))

    def files() -> set[str]:
        return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}

    assert spa("--ratings", ratings, "--out", folder).exit_code == 0
    alone = files()
    (folder / "notes.txt").write_text("mine")
    assert spa("--preferences", table, "--map", "rater=annotator_id", "--out", folder).exit_code == 0
    assert "figures/preferences.svg" in files()
    assert spa("--ratings", ratings, "--out", folder).exit_code == 0
    assert files() == alone | {"notes.txt"}


def test_a_new_folder_is_as_readable_as_any(table: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    assert spa("--preferences", table, "--map", "rater=annotator_id", "--out", tmp_path / "report").exit_code == 0
    assert (tmp_path / "report").stat().st_mode == other.stat().st_mode


@pytest.mark.parametrize(("small", "threads"), [(1 << 26, "1"), (0, None)])
def test_small_tables_are_read_by_one_thread(
    small: int, threads: str | None, table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POLARS_MAX_THREADS", "")  # so that it is put back
    monkeypatch.delenv("POLARS_MAX_THREADS")
    monkeypatch.setattr("analysis.commands.report.SMALL", small)
    assert spa("--preferences", table, "--map", "rater=annotator_id", "--out", tmp_path / "report").exit_code == 0
    assert os.environ.get("POLARS_MAX_THREADS") == threads


def test_a_name_too_long_for_a_file_is_one_line(tmp_path: Path) -> None:
    shown = spa("--ratings", "x" * 5000, "--out", tmp_path / "report")
    assert (shown.exit_code, shown.output.count("\n")) == (1, 1)
    assert "no such file" in shown.output
    assert len(shown.output) < 500


def test_a_folder_that_cannot_be_written_is_one_line(table: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    shown = spa("--preferences", table, "--map", "rater=annotator_id", "--out", tmp_path / "file" / "report")
    assert shown.exit_code == 1
    assert "cannot be written" in shown.stderr
    assert len(shown.stderr.splitlines()) == 1


def test_hostile_names_reach_no_script(tmp_path: Path) -> None:
    names = ("<script>alert(1)</script>", "{{7*7}}", "a]]>b", "null\x00char")
    rows = ["annotator_id,item_id,system,score"]
    rows += [f'p,i{item},"{name}",{1 + (item + place) % 5}' for item in range(6) for place, name in enumerate(names)]
    path = tmp_path / "ratings.csv"
    path.write_text("\n".join(rows) + "\n")
    shown = spa("--ratings", path, "--out", tmp_path / "report")
    assert shown.exit_code == 0, shown.output
    assert "<script>alert" not in (tmp_path / "report" / "report.html").read_text()
    results = json.loads((tmp_path / "report" / "results.json").read_text())
    assert {row["system"] for row in results["ratings"]["means"]} == set(names)
