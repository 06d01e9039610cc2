"""What the report says of robustness, and real studies run through all of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

from analysis import Plan, Reading, read_tables
from analysis.rating_checks import part_sums
from analysis.rating_checks.crossed import ONE_ANNOTATOR
from tests.analysis.made_answers import analyse, choices, ratings, render_report, run

Results = dict[str, Any]


def three_who_differ(systems: str = "xy") -> list[tuple[str, str, str, object]]:
    """Return ratings by three annotators who all prefer x, by two points, one and none."""
    return [
        (f"p{who}", f"i{item}", system, 2 + (2 - who if system == "x" else 0) + (item * (place + who)) % 2)
        for who in range(3)
        for item in range(40)
        for place, system in enumerate(systems)
    ]


@pytest.fixture(scope="module", params=["summarization", "simplification"])
def sottana(request: pytest.FixtureRequest, shared_data: Path) -> tuple[Results, pl.DataFrame]:
    path = shared_data / "sottana" / f"{request.param}_ratings.csv"
    reading = Reading(mapping={"rater": "annotator_id"}, llms=("gpt4",))
    return analyse(read_tables({"ratings": path}, reading), Plan()), pl.read_csv(path, infer_schema_length=None)


def test_wilcoxon_on_sottana_is_that_of_scipy(sottana: tuple[Results, pl.DataFrame]) -> None:
    results, table = sottana
    people = table.filter(pl.col("rater") != "gpt4")
    rows = [row for row in results["ratings"]["robustness"] if (row["method"], row["group"]) == ("wilcoxon", "human")]
    assert rows
    for row in rows:
        own = people.filter(pl.col("criterion") == row["criterion"])
        means = own.pivot(on="system", index="item_id", values="score", aggregate_function="mean")
        difference = np.round((means[row["system_x"]] - means[row["system_y"]]).to_numpy(), 12)
        wanted = stats.wilcoxon(difference, zero_method="pratt", method="approx", correction=False)
        assert row["p_value"] == pytest.approx(wanted.pvalue, rel=1e-9)


def test_few_annotators_take_back_differences_on_sottana(sottana: tuple[Results, pl.DataFrame]) -> None:
    """Three annotators, 100 items: clear by item, and most do not hold for other annotators."""
    pairs = [row for row in sottana[0]["ratings"]["pairs"] if row["group"] == "human"]
    by_item = [row for row in pairs if row["verdict"] != "indifferent"]
    assert sum(bool(row["disagree"]) for row in by_item) > len(by_item) / 2
    assert {row["crossed_verdict"] for row in by_item if row["disagree"]} == {"indifferent"}
    for group in ("human", "gpt4"):
        checks = [row for row in sottana[0]["ratings"]["robustness"] if row["group"] == group]
        assert all((row["p_value"] is None) == (row["reason"] is not None) for row in checks)
    alone = [row for row in sottana[0]["ratings"]["pairs"] if row["group"] == "gpt4"]
    assert {row["crossed_reason"] for row in alone} == {str(ONE_ANNOTATOR)}


def test_the_report_flags_what_does_not_hold_for_others() -> None:
    pages = render_report(run(ratings=ratings(three_who_differ())))
    page = pages["report.md"]
    assert "How robust are the rating differences?" in page
    assert "Ratings: of 1 verdict, 0 stay the same; 1 difference no longer shows." in page
    assert "≠" in page
    for name in ("ratings_robustness", "ratings_respacing", "ratings_pairs"):
        assert f"tables/{name}.csv" in pages
    assert "figures/superiority.svg" in pages


def test_choices_alone_have_their_crossed_test_in_the_report() -> None:
    picks = [(f"p{who}", f"i{item}", "x", "y", "x" if who else "y") for who in range(3) for item in range(20)]
    page = render_report(run(choices=choices(picks)))["report.md"]
    assert "How robust are the choices?" in page
    alone = render_report(run(choices=choices([pick for pick in picks if pick[0] == "p1"])))["report.md"]
    assert "Choices: not tested (one annotator only" in alone


def test_relabelling_the_systems_turns_every_check() -> None:
    rng = np.random.default_rng(8)
    rows: list[tuple[str, str, str, object]] = [
        (f"p{who}", f"i{item}", system, int(rng.integers(1, 6)))
        for who in range(11)
        for item in range(4)
        for system in "xy"
    ]
    swapped = [(who, item, "yx"["xy".index(system)], score) for who, item, system, score in rows]
    one, two = (run(ratings=ratings(table))["ratings"] for table in (rows, swapped))
    for first, second in zip(one["robustness"], two["robustness"], strict=True):
        assert first["method"] == second["method"]
        assert (first["system_x"], first["system_y"]) == (second["system_y"], second["system_x"])
        assert first["estimate"] == pytest.approx(second["estimate"], abs=1e-9)
        assert first["p_value"] == pytest.approx(second["p_value"], abs=1e-9)


def test_a_part_too_large_for_z_scores_by_item_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """All else follows from sums, and is as it is of a small one."""
    table = ratings(three_who_differ("xyz"))
    small = run(ratings=table)["ratings"]
    monkeypatch.setattr(part_sums, "MOST", 10)
    large = run(ratings=table)["ratings"]
    found, others = ([row for row in one["robustness"] if row["method"] != "z_scores"] for one in (large, small))
    (z_scores,) = (row for row in large["robustness"] if row["method"] == "z_scores")
    assert z_scores["reason"].startswith("more than")
    assert (found, large["pairs"], large["respacing"]) == (others, small["pairs"], small["respacing"])
