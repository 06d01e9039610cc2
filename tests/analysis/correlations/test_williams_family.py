"""Williams's tests as Chhun et al. (2024) make them, means over criteria as measures, and the heat map."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from scipy import stats

from analysis import Plan
from analysis.answers.preregistration import planned
from analysis.correlations.williams import williams
from analysis.figures.drawing import Look
from analysis.printing.document import Figure, Fold, Table, every_block, named
from analysis.report.sections import make_section
from analysis.results.files import from_plain
from analysis.statistics.corrections import adjust
from spa.cli import main
from tests.analysis.made_answers import analyse, check
from tests.golden.hanna import COMPARED, OWN, Hanna, compared_with

CRITERIA = ("clear", "funny", "overall")
PAPER = Plan(williams_alternative="greater", williams_criteria="together")


def made(seed: int = 4, n_items: int = 25) -> dict[str, pl.DataFrame]:
    """Return ratings of three people and three LLMs by three criteria, and a metric; of ten systems."""
    rng = np.random.default_rng(seed)
    noise = {"p1": 1.0, "p2": 1.0, "p3": 1.0, "near": 0.8, "far": 2.5, "farther": 4.0}
    rows = []
    for item in range(n_items):
        for system in range(10):
            quality = {criterion: 0.2 * system + rng.normal() for criterion in CRITERIA}
            rows += [
                (who, str(item), f"s{system}", criterion, str(round(quality[criterion] + rng.normal() * spread, 3)))
                for who, spread in noise.items()
                for criterion in CRITERIA
            ]
    ratings = pl.DataFrame(rows, ["annotator_id", "item_id", "system", "criterion", "score"], orient="row")
    metrics = pl.DataFrame(
        [(str(item), f"s{system}", "M", str(rng.normal())) for item in range(n_items) for system in range(10)],
        ["item_id", "system", "metric", "score"],
        orient="row",
    )
    return {"ratings": ratings, "metrics": metrics}


@pytest.fixture(scope="module")
def frames() -> dict[str, pl.DataFrame]:
    return made()


@pytest.fixture(scope="module")
def results(frames: dict[str, pl.DataFrame]) -> dict[str, Any]:
    return analyse(check(llms=("near", "far", "farther"), **frames), PAPER)


def means(frames: dict[str, pl.DataFrame], who: tuple[str, ...], criteria: tuple[str, ...]) -> dict[Any, float]:
    """Return the mean score of each output."""
    own = frames["ratings"].filter(pl.col("annotator_id").is_in(who), pl.col("criterion").is_in(criteria))
    found = own.group_by("item_id", "system").agg(pl.col("score").cast(pl.Float64).mean())
    return {(item, system): round(value, 9) for item, system, value in found.iter_rows()}


def tau(one: dict[Any, float], other: dict[Any, float]) -> Any:
    return stats.kendalltau([one[key] for key in sorted(one)], [other[key] for key in sorted(one)])


def test_the_first_alone_is_compared_and_criteria_pooled(
    frames: dict[str, pl.DataFrame], results: dict[str, Any]
) -> None:
    """The p is that of Williams's formula on scipy's tau, one-sided; one family a level, of those that are higher."""
    rows = results["comparisons_of_correlations"]
    assert {row["a"] for row in rows} == {"ratings:near"}
    assert len(rows) == 3 * 3 * 2
    tested = [row for row in rows if row["p_value"] is not None]
    for row in rows:
        if row["level"] == "overall" and row["b"].startswith("ratings"):
            people, one, other = (
                means(frames, who, (row["criterion"],))
                for who in (("p1", "p2", "p3"), ("near",), (row["b"].partition(":")[2],))
            )
            wanted = williams(tau(one, people)[0], tau(other, people)[0], tau(one, other)[0], 250)
            assert wanted.t is not None
            assert row["p_value"] == (pytest.approx(wanted.p_one_sided, rel=1e-6) if wanted.t > 0 else None)
        assert (row["p_value"] is None) == (row["reason"] == "the first correlation is not higher than the second")
    for level in ("overall", "system"):
        own = [row for row in tested if row["level"] == level]
        wanted = stats.false_discovery_control([row["p_value"] for row in own], method="bh")
        assert [row["p_adjusted"] for row in own] == pytest.approx(list(wanted), rel=1e-9)
        assert {row["n_tests"] for row in own} == {len(own)}
    assert {row["verdict"] for row in tested} <= {"a", "indifferent"}


def test_without_the_options_all_is_as_it_was(frames: dict[str, pl.DataFrame]) -> None:
    """All pairs, two-sided, one family a criterion and level."""
    tables = check(llms=("near", "far", "farther"), **frames)
    rows = analyse(tables, Plan())["comparisons_of_correlations"]
    assert len(rows) == 6 * 3 * 2
    assert {row["alternative"] for row in rows} == {"two-sided"}
    for criterion in CRITERIA:
        own = [row for row in rows if (row["criterion"], row["level"]) == (criterion, "overall")]
        wanted = adjust([row["p_value"] for row in own], correction="bh").p_adjusted
        assert [row["p_adjusted"] for row in own] == pytest.approx(list(wanted), rel=1e-9)
    holm = analyse(tables, Plan(williams_correction="holm", williams_criteria="together"))
    level = [row for row in holm["comparisons_of_correlations"] if row["level"] == "overall"]
    assert [row["p_adjusted"] for row in level] == pytest.approx(
        list(adjust([row["p_value"] for row in level], correction="holm").p_adjusted), rel=1e-9
    )


def test_reference_figures_are_those_of_a_report(shared_data: Path) -> None:
    """One-sided, Benjamini-Hochberg over three criteria together: 66 reference numbers from raw ratings."""
    expected = json.loads((shared_data / "expected_visible.json").read_text())["hanna"]
    rows = {(row.level, row.criterion, row.b): row for row in compared_with(Hanna(shared_data), OWN, COMPARED)}
    assert len(rows) == 2 * 3 * len(COMPARED)
    agreeing = 0
    for level in ("overall", "system"):
        for wanted in expected["williams_beluga_ep1_vs_others"][level]:
            (row,) = (
                row
                for (at, criterion, other), row in rows.items()
                if (at, criterion) == (level, wanted["criterion"]) and other.endswith(place_of(wanted["other"]))
            )
            assert row.p_value == (
                None if wanted["p_one_sided"] is None else pytest.approx(wanted["p_one_sided"], rel=1e-9)
            )
            if row.p_value is not None:
                assert row.p_adjusted == pytest.approx(wanted["p_bh_within_these_criteria"], rel=1e-9)
                agreeing += 1
    assert agreeing == 55


def place_of(name: str) -> str:
    from tests.golden.hanna import shown

    return shown(name).partition(":")[2]


def test_measures_that_are_alike_differ_twice_too_often_at_most() -> None:
    """Of pairs in which neither is closer, the paper's family calls between the rate and twice the rate closer."""
    rng = np.random.default_rng(1)
    alike = 0
    studies, tests = 1500, 6
    for _ in range(studies):
        t = rng.standard_t(200, size=tests)
        p_values = [float(stats.t.sf(one, 200)) if one > 0 else None for one in t]
        alike += any(adjust(p_values, correction="bh", rate=0.05).rejected)
    assert 0.06 < alike / studies < 0.12  # found in a study without any difference


def test_means_over_criteria_are_measures(frames: dict[str, pl.DataFrame], results: dict[str, Any]) -> None:
    """Of the two criteria that are not the overall question, beside each criterion of people, by scipy."""
    rows = results["correlations_of_averages"]
    assert {row["a"] for row in rows} == {"average:near", "average:far", "average:farther"}
    assert len(rows) == 3 * 3 * 2 * 3
    for row in rows:
        if (row["level"], row["method"]) == ("overall", "kendall"):
            people = means(frames, ("p1", "p2", "p3"), (row["criterion"],))
            found = tau(means(frames, (row["a"].partition(":")[2],), CRITERIA[:2]), people)
            assert (row["value"], row["p_value"]) == pytest.approx((found.statistic, found.pvalue), rel=1e-9)
            assert row["n_tests"] == 3
    assert not any(row["a"].startswith("average") for row in results["correlations"])


def test_turning_a_criterion_and_its_sign_changes_no_average(frames: dict[str, pl.DataFrame]) -> None:
    """A criterion on which less is better counts with the other sign."""
    turned = frames["ratings"].with_columns(
        pl.when(pl.col("criterion") == "funny")
        .then((-pl.col("score").cast(pl.Float64)).cast(pl.String))
        .otherwise("score")
        .alias("score")
    )
    llms = ("near", "far", "farther")
    one = analyse(check(llms=llms, **frames), Plan())["correlations_of_averages"]
    two = analyse(check(llms=llms, ratings=turned), Plan(lower_is_better=frozenset({"funny"})))
    for row, other in zip(one, two["correlations_of_averages"], strict=True):
        sign = -1 if row["criterion"] == "funny" else 1
        assert other["value"] == pytest.approx(sign * row["value"], rel=1e-9)


def test_heat_maps_and_words(results: dict[str, Any]) -> None:
    section = make_section(from_plain(results), "correlations")
    assert section is not None
    blocks = list(every_block(section.blocks))
    drawn = {block.name: block for block in blocks if isinstance(block, Figure)}
    assert [*drawn] == [f"correlations-heat-map-human-{level}" for level in ("overall", "system")]
    svg = drawn["correlations-heat-map-human-overall"].svg
    for words in ("near (LLM), mean of", "M (metric)", "overall", "one person and all"):
        assert words in svg
    (row,) = (
        row
        for row in results["correlations"]
        if (row["a"], row["criterion"], row["level"], row["method"]) == ("ratings:near", "funny", "overall", "kendall")
    )
    draw = drawn["correlations-heat-map-human-overall"].drawing
    assert draw is not None
    assert f">{row['value']:.2f}<" in draw(look=Look(total=600))  # in a paper; on screen the tables beside it have it
    assert f">{row['value']:.2f}<" not in svg
    (table,) = (block for block in blocks if isinstance(block, Table) and block.name == "correlations_of_averages")
    assert len(table.rows) == 9
    assert any(isinstance(block, Fold) and "Means over criteria" in named(block) for block in section.blocks)
    told = " ".join(getattr(block, "text", "") for block in section.blocks)
    assert "3 criteria together" in told
    assert "one-sided; in " in told


def test_one_criterion_has_no_heat_map(frames: dict[str, pl.DataFrame]) -> None:
    one = frames["ratings"].filter(pl.col("criterion") == "clear")
    results = analyse(check(llms=("near", "far", "farther"), ratings=one), Plan())
    section = make_section(from_plain(results), "correlations")
    assert section is not None
    assert not [block for block in every_block(section.blocks) if isinstance(block, Figure)]
    assert results["correlations_of_averages"] == []


def test_options_say_what_a_study_file_says(frames: dict[str, pl.DataFrame], tmp_path: Path) -> None:
    frames["ratings"].write_csv(tmp_path / "ratings.csv")
    arguments = ["report", "--ratings", str(tmp_path / "ratings.csv"), "--json", "--llm", "near", "--llm", "far"]
    found = CliRunner().invoke(main, [*arguments, "--williams", "greater", "--williams", "together"])
    settings = json.loads(found.stdout)["settings"]
    assert (settings["williams_alternative"], settings["williams_criteria"]) == ("greater", "together")
    refused = CliRunner().invoke(main, [*arguments, "--williams", "bh", "--williams", "holm"])
    assert refused.exit_code == 2
    assert "--williams bh or --williams holm, not both" in refused.stderr


def test_plans_frozen_before_know_nothing_of_williams() -> None:
    content = planned(Plan(), fingerprint="f", annotators=3)
    assert not [name for name in content["plan"] if name.startswith("williams")]
    assert planned(PAPER, fingerprint="f", annotators=3)["plan"]["williams_alternative"] == "greater"
