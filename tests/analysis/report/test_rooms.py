"""A room of the analysis goes from answers to the printed line by its contribution, with nothing else touched."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import polars as pl
import pytest
from click.testing import CliRunner

import tests.toys
from analysis import Plan, Reading, analyse, read_tables, rooms
from analysis.contamination.contribution import CONTAMINATION, CONTAMINATION_OF_OTHERS
from analysis.contribution import Analysis, Contribution, SectionEntry, Shown
from analysis.planning.contribution import OBSERVED_POWER
from analysis.printing.document import Section
from analysis.printing.names import Names
from analysis.records.results import Key, rows
from analysis.report import closing
from analysis.report.sections import section_ids
from analysis.results import conventions
from analysis.results.files import read_results, results_schema, to_json
from analysis.results.records import KEYS, keys_of
from spa.cli import main
from tests.toys.top_box.contribution import CONTRIBUTION, TOP_BOX
from tests.toys.top_box.shares import TopBoxShare

SCORES = {"ann": {"x": [5, 5, 3], "y": [2, 4, 1]}, "ben": {"x": [5, 4, 4], "y": [5, 3, 2]}}


@pytest.fixture
def with_toy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rooms, "CONTRIBUTIONS", (*rooms.CONTRIBUTIONS, CONTRIBUTION))


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "ratings.csv"
    pl.DataFrame(
        [
            {"annotator_id": who, "item_id": f"i{item}", "system": system, "criterion": "style", "score": score}
            for who, systems in SCORES.items()
            for system, scores in systems.items()
            for item, score in enumerate(scores)
        ]
    ).write_csv(path)
    return path


def report(table: Path, out: Path, *more: str) -> str:
    given = ["report", "--ratings", str(table), "--out", str(out), *more]
    done = CliRunner().invoke(main, given, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return (out / "results.json").read_text()


def test_toy_room_from_answers_to_the_printed_line(with_toy: None, table: Path, tmp_path: Path) -> None:
    """Its rows stand in results.json and its schema, its table and words in all that is made of them."""
    content = json.loads(report(table, tmp_path / "out", "--paper", "generic"))
    assert [(row["system"], row["n"], row["share"]) for row in content["top_box"]] == [
        ("x", 6, 0.5),
        ("y", 6, 0.166666666667),
    ]
    jsonschema.validate(content, results_schema())
    again = read_results(tmp_path / "out" / "results.json")
    assert json.loads(to_json(again)) == content
    first = TOP_BOX.of(again)[0]
    assert isinstance(first, TopBoxShare)
    assert again.top_box.frame()["share"].to_list() == [0.5, 0.166666666667]
    assert "top_box (2 TopBoxShare)" in repr(again)
    assert (tmp_path / "out" / "tables" / "top_box.csv").read_text().splitlines()[1].endswith(",x,6,0.5")
    appendix = (tmp_path / "out" / "appendix.md").read_text()
    assert "| x | people | style | 50.0% |" in appendix
    assert "The highest answer that a group gave." in appendix
    assert "where a scale has its highest answer." in appendix
    assert "Top boxes" in (tmp_path / "out" / "report.md").read_text()  # a link to it
    page = (tmp_path / "out" / "appendix.html").read_text()
    assert "Share of the highest answer" in page
    assert "The highest answer that a group gave." in page
    for latex in ("tables/top_box.tex", "paper/appendix.tex"):
        assert r"50.0\%" in (tmp_path / "out" / latex).read_text().partition("label{tab:top_box}")[2]
    assert "top-box" in section_ids()  # of which the dashboard draws the section


def test_without_the_toy_nothing_of_it_is_there(table: Path, tmp_path: Path) -> None:
    content = json.loads(report(table, tmp_path / "out"))
    assert "top_box" not in content
    assert "where a scale has its highest answer." not in (tmp_path / "out" / "appendix.md").read_text()
    assert [key.name for key in keys_of(rooms.CONTRIBUTIONS)] == [key.name for key in KEYS]


def test_words_of_rooms_have_a_place() -> None:
    """What the rooms explain stands in the order of the report, each term once."""
    for words, order in (("words", conventions.ORDER), ("terms", closing.TERMS)):
        own = [one.term for room in rooms.CONTRIBUTIONS for one in getattr(room, words)]
        assert len(own) == len(set(own))
        assert not set(own) - set(order), "add them to ORDER of results/conventions.py, TERMS of report/closing.py"


def test_toy_changes_no_other_row(table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = json.loads(report(table, tmp_path / "before"))
    monkeypatch.setattr(rooms, "CONTRIBUTIONS", (CONTRIBUTION, *rooms.CONTRIBUTIONS))
    after = json.loads(report(table, tmp_path / "after"))
    del after["top_box"]
    after["conventions"] = [row for row in after["conventions"] if row["term"] != "top box"]
    assert after == before


def test_every_key_has_one_room() -> None:
    names = [key.name for one in rooms.CONTRIBUTIONS for key in (*one.keys, *one.between)]
    assert len(names) == len(set(names))


def test_a_room_that_needs_itself_is_found() -> None:
    own = rows("own", TopBoxShare)
    circle = Contribution(keys=(own,), compute=lambda analysis: {"own": analysis.of(own)})
    with pytest.raises(KeyError, match="own"):
        Analysis(None, (circle,)).of(own)  # type: ignore[arg-type]


def test_recipe_names_what_the_toy_room_brings() -> None:
    """The recipe's list of files is that of the toy's folder."""
    recipe = (Path(__file__).resolve().parents[3] / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = re.search(r"^\| room of the analysis \| ([^|]*) \|", recipe, flags=re.M)
    assert named is not None
    toy = Path(tests.toys.__file__).parent / "top_box"
    files = sorted(one.name for one in toy.glob("*.py") if one.name != "__init__.py")
    kinds = sorted(Path(one).name for one in re.findall(r"`([\w/.]+\.py)`", named[1]))
    assert len(kinds) == len(files)
    assert {"contribution.py", "section.py"} <= set(kinds) & set(files)


def test_stages_are_told_in_order(table: Path) -> None:
    """Who waits for a report is told what is done, each stage as it begins."""
    told: list[str] = []
    analyse(read_tables({"ratings": table}, Reading(), told=told.append), Plan(), told=told.append)
    assert told == [
        "reading the answers",
        "checking the answers",
        "testing differences",
        "measuring agreement",
        "fitting strengths",
    ]


def test_section_stands_where_any_key_says_something(table: Path) -> None:
    """No rows are nothing to say, unless null would say that they were not looked for."""
    results = analyse(read_tables({"ratings": table}, Reading()), Plan())
    shown = Shown(replace(results, contamination=None, contamination_of_others=(), observed_power=()), Names(results))

    def make(*values: object) -> Section:
        return Section(id="made", title=f"{len(values) - 1} values", blocks=())

    def title(key: Key[Any], *also: Key[Any]) -> str | None:
        section = SectionEntry("made", key, make, also).section(shown)
        return None if section is None else section.title

    assert title(CONTAMINATION, CONTAMINATION_OF_OTHERS) is None
    assert title(OBSERVED_POWER) == "1 values"
    assert title(CONTAMINATION_OF_OTHERS, OBSERVED_POWER) == "2 values"
