"""``spa settle-review``: from explanations that two people judged to what stands after a third, with who and when."""

from __future__ import annotations

import tomllib
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from statsmodels.stats.inter_rater import cohens_kappa, to_table

from analysis.commands.settling import agreement_lines, answers_of_reviewers, two_of
from spa.commands.workspace import open_workspace
from spa.errors import SpaError
from tests.spa.rehearsed import built_example, spa
from tests.spa.test_review_command import RATER, review


@pytest.fixture(scope="module")
def reviewed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("settled")
    study = built_example(folder, annotators=1)
    (folder / "judge.toml").write_text(RATER, encoding="utf-8")
    spa("rate", study, "--rater", folder / "judge.toml", "--simulate", "--json")
    options = ("--variant", "why", "--number", 6, "--reviewer", "Ana", "--reviewer", "Ben Bo")
    told = review(study, folder / "review", *options, rater=folder / "judge.toml")
    assert "Ben Bo opens the study's link with ?reviewer=Ben%20Bo" in told
    path = folder / "review" / "study.toml"
    spa("build", path)
    spa("simulate", path, "--seed", 3)
    return path


def test_two_judge_everything_and_a_third_settles_what_they_differ_on(reviewed: Path, tmp_path: Path) -> None:
    spa("settle-review", reviewed, "--out", tmp_path)
    table = pl.read_csv(tmp_path / "settled.csv")
    assert table.height == 6 * 6  # five errors and the agreement, of each explanation
    conflicts = table.filter(status="conflict")
    assert conflicts.height == table.filter(pl.col("score_x") != pl.col("score_y")).height > 0
    assert conflicts["score"].null_count() == conflicts.height
    third = tmp_path / "third" / "study.toml"
    written = tomllib.loads(third.read_text(encoding="utf-8"))
    assert written["design"]["items"] == conflicts["item_id"].n_unique()
    assert (written["people"], written["id"][-6:]) == ({"annotators": 1}, "-third")
    spa("build", third)
    spa("simulate", third, "--seed", 4)
    spa("settle-review", reviewed, "--third", third, "--out", tmp_path / "all")
    after = pl.read_csv(tmp_path / "all" / "settled.csv")
    assert after["score"].null_count() == 0
    assert set(after["status"]) == {"agreed", "adjudicated"}
    assert after.filter(status="agreed").select("adjudicator").null_count().item() == table.height - conflicts.height
    assert after.select(pl.exclude("score", "status", "adjudicator", "adjudicated_at")).equals(
        table.select(pl.exclude("score", "status", "adjudicator", "adjudicated_at"))
    )
    spa("report", "--ratings", tmp_path / "all" / "settled.csv", "--out", tmp_path / "report")


def test_kappa_is_that_of_statsmodels(reviewed: Path) -> None:
    with open_workspace(reviewed) as workspace:
        first, second = two_of(answers_of_reviewers(workspace), "review")
    places = [place for place in first.scores if place[2] == "agreement"]
    pairs = np.array([[first.scores[place], second.scores[place]] for place in places], dtype=int)
    known = cohens_kappa(to_table(pairs)[0], return_results=False)
    (line,) = [line for line in agreement_lines(first, second) if line.startswith("agreement")]
    assert f"kappa {known:.2f}".replace("-", "\N{MINUS SIGN}") in line


def test_one_reviewer_alone_cannot_be_settled(reviewed: Path) -> None:
    with open_workspace(reviewed) as workspace:
        found = answers_of_reviewers(workspace)
    with pytest.raises(SpaError, match="review: expected the complete answers of two reviewers, got those of 1"):
        two_of(found[:1], "review")
