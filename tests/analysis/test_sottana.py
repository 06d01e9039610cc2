"""Published ratings of Sottana et al. (2023), against numbers computed with independent libraries."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner

from analysis import Plan, Reading, check_frames, read_tables
from analysis.results.files import from_plain
from spa.cli import main
from tests.analysis.figures.walked import broken
from tests.analysis.made_answers import analyse

TASKS = ("summarization", "simplification")
Results = dict[str, Any]


@pytest.fixture(scope="module")
def expected(shared_data: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((shared_data / "expected_visible.json").read_text())["sottana"]
    return found


@pytest.fixture(scope="module", params=TASKS)
def task(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def results(shared_data: Path, task: str, tmp_path_factory: pytest.TempPathFactory) -> Results:
    """Run the command as a user would."""
    folder = tmp_path_factory.mktemp(task)
    arguments = ["report", "--ratings", str(shared_data / "sottana" / f"{task}_ratings.csv")]
    arguments += ["--map", "rater=annotator_id", "--llm", "gpt4", "--scale", "1:5", "--out", str(folder / "report")]
    shown = CliRunner().invoke(main, arguments, catch_exceptions=False)
    assert shown.exit_code == 0, shown.output
    found: Results = json.loads((folder / "report" / "results.json").read_text())
    return found


def test_figures_of_sottana_keep_the_rules(results: Results) -> None:
    assert broken(from_plain(results)) == []


def close(value: float) -> Any:
    return pytest.approx(value, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize(("group", "who"), [("human", "mean_of_humans"), ("gpt4", "gpt4")])
def test_paired_t_and_holm_match(results: Results, expected: dict[str, Any], task: str, group: str, who: str) -> None:
    for criterion, block in expected[task]["per_criterion"].items():
        wanted = block["paired_t_between_systems"][who]
        found = [row for row in results["ratings"]["pairs"] if (row["group"], row["criterion"]) == (group, criterion)]
        assert [(row["system_x"], row["system_y"]) for row in found] == [(row["x"], row["y"]) for row in wanted]
        for row, want in zip(found, wanted, strict=True):
            assert (row["unit"], row["n"], row["test"]) == ("item", 100, "paired t")
            assert row["mean_difference"] == close(want["mean_diff"])
            for name, key in (("t", "t"), ("p_value", "p"), ("p_adjusted", "p_holm")):
                if want[key] is None:
                    assert row[name] is None
                    assert row["verdict"] is None
                    assert row["reason"].startswith("no variation")
                else:
                    assert row[name] == close(want[key])
                    assert row[name] == pytest.approx(want[key], rel=1e-8)


def test_welch_by_choice_matches_although_items_are_shared(shared_data: Path, expected: dict[str, Any]) -> None:
    arguments = ["report", "--ratings", str(shared_data / "sottana" / "summarization_ratings.csv"), "--json"]
    arguments += ["--map", "rater=annotator_id", "--llm", "gpt4", "--rating-test", "welch"]
    shown = CliRunner().invoke(main, arguments, catch_exceptions=False)
    pairs = json.loads(shown.stdout)["ratings"]["pairs"]
    for criterion, block in expected["summarization"]["per_criterion"].items():
        found = [row for row in pairs if (row["group"], row["criterion"]) == ("human", criterion)]
        for row, want in zip(found, block["paired_t_between_systems"]["mean_of_humans"], strict=True):
            assert (row["test"], row["t"], row["p_value"]) == (
                "Welch t",
                close(want["welch_t"]),
                close(want["welch_p"]),
            )


def test_ranks_follow_the_means_and_share_ties(results: Results, expected: dict[str, Any], task: str) -> None:
    for criterion, block in expected[task]["per_criterion"].items():
        ranking = next(
            row
            for row in results["rankings"]
            if (row["source"], row["group"], row["criterion"]) == ("ratings", "gpt4", criterion)
        )
        place, placed = 0, {}
        for tied in ranking["order"]:
            placed |= dict.fromkeys(tied, place + (len(tied) + 1) / 2)
            place += len(tied)
        assert placed == block["rank"]["gpt4"]


def test_rows_in_another_order_change_no_number(shared_data: Path, task: str, results: Results) -> None:
    path = shared_data / "sottana" / f"{task}_ratings.csv"
    table = pl.read_csv(path, infer_schema=False)
    first = table.unique(["system", "criterion", "rater"], keep="first", maintain_order=True)  # keeps orders of ids
    rest = table.join(first, on=["item_id", "system", "criterion", "rater"], how="anti").sample(
        fraction=1.0, shuffle=True, seed=4
    )
    shuffled = pl.concat([first, rest])
    reading = Reading(mapping={"rater": "annotator_id"}, llms=("gpt4",))
    again = analyse(check_frames({"ratings": shuffled}, reading), Plan())
    same = analyse(read_tables({"ratings": path}, reading), Plan())
    for key in ("ratings", "bradley_terry", "rankings", "ranking_agreement", "disagreements", "warnings"):
        assert again[key] == same[key] == results[key]
