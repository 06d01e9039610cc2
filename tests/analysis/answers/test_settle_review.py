"""``spa settle-review``: from explanations that two people judged to what stands after a third, with who and when."""

from __future__ import annotations

import json
import shutil
import tomllib
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from statsmodels.stats.inter_rater import cohens_kappa, to_table

from analysis.commands.settling import agreement_line
from analysis.explanations import two_reviewers
from analysis.explanations.two_reviewers import (
    ExplanationReview,
    Place,
    agreement_by_criterion,
    answers_of_reviewers,
    explanation_review,
    settle,
)
from spa.commands.workspace import open_workspace
from spa.errors import SpaError
from spa.responses.decisions import Decision, read_decisions, visit_decisions
from spa.responses.export import export_tables
from spa.responses.store import Store
from spa.responses.two_reviewers import decide, let_decide
from tests.spa.commands.test_review_command import RATER, review
from tests.spa.rehearsed import built_example, spa


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


def copied(study: Path, folder: Path) -> Path:
    return Path(shutil.copytree(study.parent, folder / "study")) / study.name


def test_review_settled_by_a_third(reviewed: Path, tmp_path: Path) -> None:
    """Two judge everything and a third settles what they differ on."""
    study = copied(reviewed, tmp_path)
    spa("settle-review", study, "--out", tmp_path)
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
    spa("settle-review", study, "--third", third, "--out", tmp_path / "all")
    after = pl.read_csv(tmp_path / "all" / "settled.csv")
    assert after["score"].null_count() == 0
    assert set(after["status"]) == {"agreed", "adjudicated"}
    assert after.filter(status="agreed").select("adjudicator").null_count().item() == table.height - conflicts.height
    assert after.select(pl.exclude("score", "status", "adjudicator", "adjudicated_at")).equals(
        table.select(pl.exclude("score", "status", "adjudicator", "adjudicated_at"))
    )
    spa("report", "--ratings", tmp_path / "all" / "settled.csv", "--out", tmp_path / "report")
    with open_workspace(study, rehearsal=True) as workspace, workspace.store.transaction() as connection:
        review = explanation_review(workspace.store, "review")  # as the dashboard reads it
        assert {review.status(place) for place in review.places} == {"agreed", "adjudicated"}
        place = review.conflicts[0]
        back = review.settlements[place]
        visit = review.first.submission_id
        undo = Decision(submission_id=visit, action="undo", reviewer=back.reviewer, decided_at=2e9, undoes=back.number)
        decide(connection, undo)
    said = spa("settle-review", study, "--third", third, "--out", tmp_path / "again", "--json")  # keeps nothing twice
    counts = json.loads(said.stdout)
    assert (counts["conflict"], counts["agreed"] + counts["adjudicated"]) == (1, table.height - 1)
    assert len(counts["agreement"]) == 6
    again = pl.read_csv(tmp_path / "again" / "settled.csv")
    assert again.filter(status="conflict").select("item_id", "system", "criterion").rows() == [place]


@pytest.fixture
def found(reviewed: Path) -> ExplanationReview:
    with open_workspace(reviewed, rehearsal=True) as workspace:
        return explanation_review(workspace.store, "review")


def test_kappa_is_that_of_statsmodels(found: ExplanationReview, reviewed: Path) -> None:
    places = [place for place in found.places if place[2] == "agreement"]
    pairs = np.array([[found.first.scores[place], found.second.scores[place]] for place in places], dtype=int)
    known = cohens_kappa(to_table(pairs)[0], return_results=False)
    with open_workspace(reviewed, rehearsal=True) as workspace:
        rows = agreement_by_criterion(found, workspace.study)
        options = next(one.options for one in workspace.study.criteria if one.id == "agreement")
    (row,) = [row for row in rows if row.criterion == "agreement"]
    assert row.ac1.settings["categories"] == len(options)  # used or not
    assert row.kappa.value == pytest.approx(known)
    assert f"kappa {known:.2f}".replace("-", "\N{MINUS SIGN}") in agreement_line(row)


def test_one_reviewer_alone_cannot_be_settled(reviewed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_workspace(reviewed, rehearsal=True) as workspace:
        alone = answers_of_reviewers(workspace.store)[:1]
        monkeypatch.setattr(two_reviewers, "answers_of_reviewers", lambda store: alone)
        with pytest.raises(SpaError, match="review: expected the complete answers of two reviewers, got those of 1"):
            explanation_review(workspace.store, "review")


def test_review_third_settles_conflicts_alone(reviewed: Path, tmp_path: Path) -> None:
    """Only a third settles only conflicts and only they take it back."""
    study = copied(reviewed, tmp_path)
    with Store.open(study.with_suffix(".rehearsal.sqlite")) as store:

        def review() -> ExplanationReview:
            return explanation_review(store, "review")

        def say(reviewer: str, score: float, place: Place) -> None:
            with store.transaction() as connection:
                settle(connection, found, place, score=score, reviewer=reviewer, now=1e9)

        found = review()
        place = found.conflicts[0]
        for reviewer, where, expected in (
            (found.second.reviewer, place, "expected somebody other than"),
            ("Cem", next(one for one in found.places if one not in found.conflicts), "do not differ"),
        ):
            with pytest.raises(SpaError, match=expected):
                say(reviewer, 1.0, where)
        say("Cem", 1.0, place)
        for reviewer in ("Dee", "Cem"):
            with pytest.raises(SpaError, match="Cem has settled it and can undo that; nobody else can"):
                say(reviewer, 0.0, place)
        third = review().settlements[place]
        assert (third.reviewer, third.score, review().status(place)) == ("Cem", 1.0, "adjudicated")
        undo = Decision(
            submission_id=found.first.submission_id, action="undo", reviewer="Dee", decided_at=2e9, undoes=third.number
        )
        with store.transaction() as connection:
            with pytest.raises(SpaError, match="expected an undo by Cem, who settled, got Dee"):
                decide(connection, undo)
            decide(connection, replace(undo, reviewer="Cem"))
        assert review().status(place) == "conflict"
        say("Dee", 0.0, place)
        with store.transaction() as connection:
            let_decide(connection, 2)
        assert export_tables(store).decisions.select("reviewer", "action", "stands").rows() == [
            ("Cem", "settle", 0),
            ("Cem", "undo", 0),
            ("Dee", "settle", 1),
        ]
        with store.reading() as connection:
            assert visit_decisions(read_decisions(connection))[found.first.submission_id].decisions == ()
    spa("settle-review", study, "--out", tmp_path / "out")
    row = pl.read_csv(tmp_path / "out" / "settled.csv").filter(status="adjudicated")
    assert row.select("item_id", "system", "criterion").rows() == [place]
    assert row.select("score", "adjudicator", "adjudicated_at").rows() == [(0.0, "Dee", "2001-09-09T01:46:40+00:00")]
