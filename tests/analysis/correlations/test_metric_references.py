"""A system that a metric compares the others with is at its end, and does not decide the metric's correlations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from scipy import stats

from analysis import Plan, analyse, read_tables
from analysis.answers.options import Reading
from analysis.correlations.references import reference_systems
from analysis.frames.measures import rating_correlations
from spa.cli import main
from spa.errors import AnalysisError
from tests.analysis.made_answers import ratings, render_report, run

SYSTEMS = ("a", "b", "c", "d", "e", "human")
ITEMS = range(12)


def rated() -> pl.DataFrame:
    """Draw ratings of five generators and of people's texts, which are the best."""
    rng = np.random.default_rng(6)
    rows = [
        (f"p{who}", f"i{item}", system, int(np.clip(rng.normal(2.5 + (2 if system == "human" else 0), 0.8), 1, 5)))
        for who in range(3)
        for item in ITEMS
        for system in SYSTEMS
    ]
    return ratings(rows)


def scored(**end: float) -> pl.DataFrame:
    """Draw a metric without relation to the ratings; systems named have one value everywhere."""
    rng = np.random.default_rng(7)
    rows = [
        (f"i{item}", system, "bleu", end.get(system, round(float(rng.uniform(0.2, 1.1)), 4)))
        for item in ITEMS
        for system in SYSTEMS
    ]
    names = ["item_id", "system", "metric", "score"]
    return pl.DataFrame(rows, names, orient="row").with_columns(pl.col("score").cast(pl.String))


def of_metric(results: dict[str, Any]) -> dict[tuple[str, str], dict[str, Any]]:
    rows = results["correlations"]
    return {(row["level"], row["method"]): row for row in rows if row["a"].startswith("metrics:")}


def by_hand(without: tuple[str, ...]) -> tuple[float, float]:
    """Return Pearson's r of single outputs and of systems, by scipy."""
    people = rated().group_by("item_id", "system").agg(pl.col("score").cast(pl.Float64).mean().alias("people"))
    both = scored(human=100.0).with_columns(pl.col("score").cast(pl.Float64)).join(people, on=["item_id", "system"])
    both = both.filter(~pl.col("system").is_in(without))
    means = both.group_by("system").agg(pl.col("score").mean(), pl.col("people").mean())
    return stats.pearsonr(both["score"], both["people"])[0], stats.pearsonr(means["score"], means["people"])[0]


def test_a_reference_among_the_systems_is_left_out_and_named() -> None:
    results = run(ratings=rated(), metrics=scored(human=100.0))
    found = of_metric(results)
    outputs, systems = by_hand(("human",))
    with_it = by_hand(())
    assert found["overall", "pearson"]["value"] == pytest.approx(outputs, rel=1e-9)
    assert found["system", "pearson"]["value"] == pytest.approx(systems, rel=1e-9)
    assert with_it[1] > 0.9 > 0.6 > abs(systems)
    assert (found["overall", "pearson"]["n"], found["system", "pearson"]["n"]) == (60, 5)
    assert {tuple(row["without"]) for row in found.values()} == {("human",)}
    assert found["within_system", "kendall"]["n"] == 5
    (line,) = (row["text"] for row in results["warning_rows"] if row["kind"] == "metric_reference")
    assert "human has the best value of bleu in every item" in line
    assert "--reference" in line
    assert "Correlations of bleu leave out human" in render_report(results)["report.html"]


def test_the_order_beside_that_of_people_leaves_it_out_too() -> None:
    metrics = scored(human=100.0).with_columns(higher_is_better=pl.lit("true"))
    (row,) = (row for row in run(ratings=rated(), metrics=metrics)["metrics"]["beside_people"])
    assert (row["n"], row["without"]) == (5, ["human"])


def test_low_values_are_the_end_of_a_metric_that_is_better_low() -> None:
    metrics = scored(human=0.0, a=9.0)
    lower = metrics.with_columns(higher_is_better=pl.lit("false"))
    assert {tuple(row["without"]) for row in of_metric(run(ratings=rated(), metrics=lower)).values()} == {("human",)}
    higher = metrics.with_columns(higher_is_better=pl.lit("true"))
    assert {tuple(row["without"]) for row in of_metric(run(ratings=rated(), metrics=higher)).values()} == {("a",)}


def checked(rows: list[tuple[str, str, float]]) -> pl.DataFrame:
    return pl.DataFrame([(*row, "m") for row in rows], ["item_id", "system", "value", "metric"], orient="row")


def test_where_nothing_varies_nothing_is_an_end() -> None:
    """All systems constant; one item only; right or wrong; a constant that is not the best; a best that varies."""
    assert reference_systems(checked([(i, s, v) for i in "12" for s, v in (("x", 1.0), ("y", 2.0), ("z", 3.0))])) == {}
    assert reference_systems(checked([("1", "x", 1.0), ("1", "y", 2.0), ("1", "z", 3.0)])) == {}
    right = [("1", "x", 1.0), ("2", "x", 1.0), ("1", "y", 0.0), ("2", "y", 1.0)]
    assert reference_systems(checked(right)) == {}
    varied = [("1", "y", 0.1), ("2", "y", 0.5)]
    assert reference_systems(checked([("1", "x", 0.2), ("2", "x", 0.2), *varied])) == {}
    assert reference_systems(checked([("1", "x", 0.9), ("2", "x", 0.91), *varied])) == {}
    assert reference_systems(checked([("1", "x", 0.9), ("2", "x", 0.9), *varied])) == {"m": ("x",)}
    near = [("1", "x", 0.99999994), ("2", "x", 1.0)]  # single precision
    assert reference_systems(checked([*near, *varied])) == {"m": ("x",)}


def test_a_reference_that_is_named_is_left_out_without_a_warning() -> None:
    results = run(ratings=rated(), metrics=scored(), plan=Plan(references=("human",)))
    assert {tuple(row["without"]) for row in of_metric(results).values()} == {("human",)}
    assert "metric_reference" not in {row["kind"] for row in results["warning_rows"]}
    assert results["settings"]["references"] == ["human"]
    rows = rating_correlations(rated(), scored(), plan=Plan(references=("human",)))
    assert {row.without for row in rows if row.a == "metrics:bleu"} == {("human",)}


def test_a_reference_that_no_metric_scores_is_told_in_a_line(tmp_path: Path) -> None:
    with pytest.raises(AnalysisError, match="no metric scores this system"):
        run(ratings=rated(), metrics=scored(), plan=Plan(references=("Human",)))
    rated().write_csv(tmp_path / "ratings.csv")
    arguments = ["report", "--ratings", str(tmp_path / "ratings.csv"), "--reference", "human", "--json"]
    result = CliRunner().invoke(main, arguments)
    assert (result.exit_code, len(result.stderr.splitlines())) == (1, 1)
    assert "--reference human: no metric scores this system (there are: no metrics)" in result.stderr


def test_the_published_metrics_of_hanna(shared_data: Path, tmp_path: Path) -> None:
    """Relevance: r of systems with the human stories, which are the reference, is .942 and .958, without .799, .699."""
    published = {"BLEU": (0.942, 0.799), "BERTScore F1": (0.958, 0.699)}
    names = tuple(published)
    metrics = pl.read_csv(shared_data / "hanna" / "automatic_metrics.csv").filter(pl.col("metric").is_in(names))
    rows = pl.read_csv(shared_data / "hanna" / "ratings.csv")
    rows = rows.filter(pl.col("rater").str.starts_with("human"), criterion="RE")
    for name, table in (("metrics", metrics), ("ratings", rows)):
        table.with_columns(item_id=pl.col("story_id") % 96).drop("story_id").write_csv(tmp_path / f"{name}.csv")
    paths = {name: tmp_path / f"{name}.csv" for name in ("ratings", "metrics")}
    found = analyse(read_tables(paths, Reading(mapping={"rater": "annotator_id"})), Plan()).correlations
    people, scores = (
        frame.group_by("system", *more).agg(pl.col("score").cast(pl.Float64).mean())
        for frame, more in ((rows, ()), (metrics, ("metric",)))
    )
    for name in names:
        both = people.join(scores.filter(metric=name), on="system")
        (row,) = (r for r in found if (r.a, r.level, r.method) == (f"metrics:{name}", "system", "pearson"))
        without = both.filter(pl.col("system") != "Human")
        assert row.without == ("Human",)
        assert row.value is not None
        assert row.value == pytest.approx(stats.pearsonr(without["score"], without["score_right"])[0], rel=1e-9)
        with_it = stats.pearsonr(both["score"], both["score_right"])[0]
        assert (round(with_it, 3), round(row.value, 3)) == published[name]
