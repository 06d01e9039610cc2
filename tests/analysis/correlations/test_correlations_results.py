"""Correlations in results.json and in the report: who is compared with whom, on what evidence, in which words."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

from analysis import Plan, Reading, check_frames
from spa.errors import AnalysisError
from tests.analysis.made_answers import analyse, render_report, validate

SYSTEMS = ("a", "b", "c", "d")


def invented(seed: int = 1, n_items: int = 30) -> dict[str, pl.DataFrame]:
    """Three people and two LLMs: one sees what people see, one guesses; two metrics, one of them a distance."""
    rng = np.random.default_rng(seed)
    ratings: list[dict[str, Any]] = []
    metrics: list[dict[str, Any]] = []
    for item in range(n_items):
        for place, system in enumerate(SYSTEMS):
            quality = 0.7 * place + rng.normal()
            noisy = {name: quality + rng.normal() * 0.5 for name in ("p1", "p2", "p3", "good")}
            noisy["guess"] = rng.normal()
            output = {"item_id": str(item), "system": system}
            ratings += [
                {**output, "annotator_id": name, "criterion": "fluency", "score": int(np.clip(round(3 + value), 1, 5))}
                for name, value in noisy.items()
            ]
            metrics.append({**output, "metric": "distance", "score": -quality, "higher_is_better": "false"})
            metrics.append({**output, "metric": "constant", "score": 1.0, "higher_is_better": "true"})
    return {"ratings": pl.DataFrame(ratings), "metrics": pl.DataFrame(metrics)}


def results_of(frames: dict[str, pl.DataFrame], plan: Plan | None = None) -> dict[str, Any]:
    tables = check_frames(frames, Reading(llms=("good", "guess")))
    found: dict[str, Any] = analyse(tables, plan or Plan())
    validate(found)
    return found


@pytest.fixture(scope="module")
def frames() -> dict[str, pl.DataFrame]:
    return invented()


@pytest.fixture(scope="module")
def results(frames: dict[str, pl.DataFrame]) -> dict[str, Any]:
    return results_of(frames)


def row_of(results: dict[str, Any], a: str, level: str = "overall", *, included: bool = False) -> dict[str, Any]:
    wanted = (a, level, "kendall", included)
    keys = ("a", "level", "method", "person_included")
    rows = [row for row in results["correlations"] if tuple(row[key] for key in keys) == wanted]
    assert len(rows) == 1
    found: dict[str, Any] = rows[0]
    return found


def test_each_measure_and_person_has_a_row_on_every_level(results: dict[str, Any]) -> None:
    rows = results["correlations"]
    assert {row["b"] for row in rows} == {"ratings:human"}
    measures = ["ratings:good", "ratings:guess", "metrics:distance", "metrics:constant"]
    people = ["ratings:p1", "ratings:p2", "ratings:p3", "ratings:human"]
    assert list(dict.fromkeys(row["a"] for row in rows)) == [*measures, *people]
    assert len(rows) == 9 * 4 * 3  # the average of one person also with the mean of all
    assert {row["a"] for row in rows if row["upper_bound"]} == set(people)


def test_values_are_those_of_the_table(results: dict[str, Any], frames: dict[str, pl.DataFrame]) -> None:
    wide = frames["ratings"].pivot("annotator_id", index=["item_id", "system"], values="score")
    people = wide.select(pl.mean_horizontal("p1", "p2", "p3")).to_series()
    wanted = stats.kendalltau(wide["good"], people)
    row = row_of(results, "ratings:good")
    assert (row["value"], row["p_value"], row["n"]) == (
        pytest.approx(wanted.statistic),
        pytest.approx(wanted.pvalue, rel=1e-9),
        120,
    )
    others = wide.select(pl.mean_horizontal("p2", "p3")).to_series()
    assert row_of(results, "ratings:p1")["value"] == pytest.approx(stats.kendalltau(wide["p1"], others).statistic)
    each = [row_of(results, f"ratings:p{number}")["value"] for number in (1, 2, 3)]
    average = row_of(results, "ratings:human")
    assert (average["value"], average["n"], average["p_value"]) == (pytest.approx(np.mean(each)), 3, None)
    within = [stats.kendalltau(wide[name], people).statistic for name in ("p1", "p2", "p3")]
    assert row_of(results, "ratings:human", included=True)["value"] == pytest.approx(np.mean(within))


def test_correlations_lower_is_better_and_constant(results: dict[str, Any]) -> None:
    """A lower is better metric keeps its sign and a constant one has a reason."""
    assert row_of(results, "metrics:distance")["value"] < -0.4
    constant = row_of(results, "metrics:constant")
    assert (constant["value"], constant["p_value"], constant["p_adjusted"]) == (None, None, None)
    assert "all values are the same" in constant["reason"]
    assert row_of(results, "ratings:good")["n_tests"] == 3  # the untestable metric is no member


def test_comparisons_say_who_is_closer(results: dict[str, Any]) -> None:
    rows = {(row["a"], row["b"], row["level"]): row for row in results["comparisons_of_correlations"]}
    assert len(rows) == 6 * 2  # all pairs of four measures, on two levels
    clear = rows["ratings:good", "ratings:guess", "overall"]
    assert (clear["verdict"], clear["turned"], clear["df"]) == ("a", [], 117)
    assert clear["p_value"] <= clear["p_adjusted"] <= 0.05
    turned = rows["ratings:guess", "metrics:distance", "overall"]
    assert (turned["verdict"], turned["turned"]) == ("b", ["b"])
    untested = rows["ratings:good", "metrics:constant", "overall"]
    assert (untested["verdict"], untested["p_value"]) == (None, None)
    assert untested["reason"]


def test_order_of_rows_and_names_of_systems_do_not_matter(
    results: dict[str, Any], frames: dict[str, pl.DataFrame]
) -> None:
    renamed = {"a": "z", "b": "y", "c": "x", "d": "w"}
    other = {
        "ratings": frames["ratings"].with_columns(pl.col("system").replace(renamed)),
        "metrics": frames["metrics"].with_columns(pl.col("system").replace(renamed)).reverse(),
    }
    found = results_of({**other, "ratings": other["ratings"].sample(fraction=1.0, shuffle=True, seed=3)})

    def keyed(rows: list[dict[str, Any]]) -> dict[tuple[str, ...], Any]:
        return {
            (row["a"], row["level"], row["method"]): (row["value"], row["p_value"], row["p_adjusted"]) for row in rows
        }

    one, two = keyed(results["correlations"]), keyed(found["correlations"])
    assert one.keys() == two.keys()
    for key, values in one.items():
        assert two[key] == tuple(None if value is None else pytest.approx(value, rel=1e-9) for value in values)


def test_one_family_of_criteria_where_the_plan_says_so(frames: dict[str, pl.DataFrame]) -> None:
    ratings = frames["ratings"]
    both = pl.concat([ratings, ratings.with_columns(pl.lit("truth").alias("criterion"))])
    apart = results_of({**frames, "ratings": both})
    pooled = results_of({**frames, "ratings": both}, Plan(family="all"))
    assert {row["n_tests"] for row in apart["correlations"] if row["a"] == "ratings:good" and row["p_adjusted"]} == {3}
    assert {row["n_tests"] for row in pooled["correlations"] if row["a"] == "ratings:good" and row["p_adjusted"]} == {6}


def test_a_metric_scored_twice_is_refused(frames: dict[str, pl.DataFrame]) -> None:
    doubled = pl.concat([frames["metrics"], frames["metrics"].head(1)])
    with pytest.raises(AnalysisError, match="one score of a metric for each output"):
        check_frames({**frames, "metrics": doubled}, Reading(llms=("good", "guess")))


def test_metrics_of_other_items_are_refused(frames: dict[str, pl.DataFrame]) -> None:
    elsewhere = frames["metrics"].with_columns(("other" + pl.col("item_id")).alias("item_id"))
    with pytest.raises(AnalysisError, match="expected items that have answers"):
        results_of({**frames, "metrics": elsewhere})


def test_the_report_claims_no_more_than_the_corrected_p(results: dict[str, Any]) -> None:
    page = render_report(results)["report.md"]
    assert "Do LLMs and metrics order things as people do?" in page
    assert "good (LLM): it orders single outputs as people do, to a strong degree" in page
    assert "guess (LLM): it is not clear that it orders single outputs as people do" in page
    assert "distance (metric): it orders single outputs against people" in page
    assert "One person against the mean of the others: tau" in page
    assert "Which is closer to people?" in page


def test_without_anybody_to_compare_there_is_no_section(frames: dict[str, pl.DataFrame]) -> None:
    alone = frames["ratings"].filter(pl.col("annotator_id") == "p1")
    found = analyse(check_frames({"ratings": alone}, Reading()), Plan())
    assert found["correlations"] == found["comparisons_of_correlations"] == []
    assert "order things" not in render_report(found)["report.md"]
