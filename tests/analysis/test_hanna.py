"""HANNA (Chhun et al. 2024): 72,864 ratings of people and of five LLMs asked in four ways; 72 metrics beside them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from analysis import AnswerTables, Plan, Reading, read_tables
from analysis.printing.document import Table, every_block
from analysis.rating_checks.section import LISTED
from analysis.report.sections import make_section
from analysis.results.files import from_plain
from tests.analysis.figures.walked import broken
from tests.analysis.made_answers import analyse

pytestmark = pytest.mark.one_process("hanna")  # its tables and results are made once
LLMS = ("Beluga-13B", "Llama-13B", "Mistral-7B", "ChatGPT", "OrcaPlatypus")


def hanna_tables(shared_data: Path, folder: Path) -> AnswerTables:
    """Read HANNA with the prompt as item (``story_id`` numbers a system's story of a prompt), and its metrics."""
    for name in ("ratings", "automatic_metrics"):
        table = pl.read_csv(shared_data / "hanna" / f"{name}.csv")
        table.with_columns((pl.col("story_id") % 96).alias("item_id")).write_csv(folder / f"{name}.csv")
    mapping = {"rater": "annotator_id", "eval_prompt": "variant"}
    paths = {"ratings": folder / "ratings.csv", "metrics": folder / "automatic_metrics.csv"}
    return read_tables(paths, Reading(mapping=mapping, llms=LLMS))


@pytest.fixture(scope="module")
def tables(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> AnswerTables:
    return hanna_tables(shared_data, tmp_path_factory.mktemp("hanna"))


@pytest.fixture(scope="module")
def results(tables: AnswerTables) -> dict[str, Any]:
    return analyse(tables, Plan())


def test_each_llm_and_way_of_asking_is_a_group(results: dict[str, Any]) -> None:
    groups = {row["group"] for row in results["groups"]}
    assert groups == {"human", *(f"{llm}/{way}" for llm in LLMS for way in range(1, 5))}
    human = results["groups"][0]
    assert (human["group"], human["annotators"]) == ("human", 3)  # slots, not people


def test_means_by_llm_and_prompt_are_those_of_all_ratings(results: dict[str, Any], shared_data: Path) -> None:
    raw = pl.read_csv(shared_data / "hanna" / "ratings.csv").filter(pl.col("rater").is_in(LLMS))
    wanted = raw.group_by("rater", "eval_prompt").agg(pl.col("score").mean()).rows()
    rows = [row for row in results["ratings"]["by_variant"] if row["criterion"] is None]
    assert {(row["rater"], row["variant"]): row["mean"] for row in rows} == {
        (llm, str(way)): pytest.approx(mean, rel=1e-9) for llm, way, mean in wanted
    }
    assert {(row["unit"], row["n_units"]) for row in rows} == {("item", 96)}


def test_every_pair_is_tested_over_the_96_prompts(results: dict[str, Any]) -> None:
    pairs = results["ratings"]["pairs"]
    assert len(pairs) == 21 * 3 * 55
    assert {(row["unit"], row["n"], row["test"]) for row in pairs} == {("item", 96, "paired t")}
    assert {row["n_tests"] for row in pairs if row["p_value"] is not None} <= set(range(50, 56))


def test_figures_of_hanna_keep_the_rules(results: dict[str, Any]) -> None:
    """Heat maps of ten LLMs, six criteria and 72 metrics among them."""
    assert broken(from_plain(results)) == []


def test_people_rank_human_stories_first(results: dict[str, Any]) -> None:
    first = [
        row["order"][0]
        for row in results["rankings"]
        if row["group"] == "human" and row["source"] in {"ratings", "ratings_bt"}
    ]
    assert first == [["Human"]] * 6


def test_hanna_pairs_checked_in_other_ways(results: dict[str, Any]) -> None:
    """Every pair is checked in other ways and the report lists few."""
    rated = results["ratings"]
    assert len(rated["pairs"]) == len(rated["respacing"]) == 21 * 3 * 55
    human = [row for row in rated["robustness"] if row["group"] == "human"]
    tested = {row["method"] for row in human if row["p_value"] is not None}
    assert tested == {"wilcoxon", "z_scores", "ordinal", "crossed"}
    assert all((row["p_value"] is None) == (row["reason"] is not None) for row in rated["robustness"])
    section = make_section(from_plain(results), "robustness")
    assert section is not None
    tables = [block for block in every_block(section.blocks) if isinstance(block, Table)]
    assert max(len(table.rows) for table in tables) <= LISTED


def test_every_correlation_is_that_of_the_reference(results: dict[str, Any], shared_data: Path) -> None:
    """All 72 metrics and 20 ways of asking LLMs, from file to rows.

    Numbers are with the human stories among them, but of metrics at whose end these are, being their reference.
    """
    rows = [row for row in results["correlations"] if not row["person_included"]]
    found = {(row["a"], row["criterion"], row["level"], row["method"]): row for row in rows}
    assert len(found) == len(rows)
    assert len(found) == (20 + 72 + 3 + 1) * 3 * 4 * 3
    expected = json.loads((shared_data / "expected_visible.json").read_text())["hanna"]
    blocks = {f"metrics:{name}": block for name, block in expected["metric_vs_mean_human"].items()}
    for llm, ways in expected["llm_vs_mean_human"].items():
        blocks |= {f"ratings:{llm}/{way}": block for way, block in ways.items()}
    blocks |= {
        f"ratings:{slot}": {
            criterion: slots[slot] for criterion, slots in expected["human_k_vs_mean_of_other_two"].items()
        }
        for slot in ("human_1", "human_2", "human_3")
    }
    for row in results["correlations"]:
        if row["person_included"] and row["level"] in ("overall", "system"):  # the paper's upper bound
            slots = expected["human_k_vs_mean_of_three"][row["criterion"]].values()
            each = [slot["all_11_systems"][row["level"]][row["method"]]["r"] for slot in slots]
            assert row["value"] == pytest.approx(sum(each) / 3, abs=1e-11)
    agreeing, ends = 0, set()
    for name, criteria in blocks.items():
        for criterion, block in criteria.items():
            without = found[name, criterion, "overall", "kendall"]["without"]
            assert without in ([], ["Human"])
            ends |= {name} if without else set()
            for level, wanted in block["without_human_system" if without else "all_11_systems"].items():
                if level not in ("overall", "system"):
                    continue
                for method in ("kendall", "spearman", "pearson"):
                    row = found[name, criterion, level, method]
                    assert row["value"] == pytest.approx(wanted[method]["r"], abs=1e-11)
                    assert row["p_value"] == pytest.approx(wanted[method]["p"], rel=1e-9)
                    assert row["n"] == wanted["n"]
                    agreeing += 3
    assert agreeing == (20 + 72 + 3) * 3 * 2 * 9
    index = pl.read_csv(shared_data / "hanna" / "automatic_metrics_index.csv")
    references = {f"metrics:{name}" for name in index.filter(reference="reference-based")["metric"]}
    assert len(ends) == 34
    assert ends <= references
    assert len(results["comparisons_of_correlations"]) == 91 * 3 * 2


def test_scores_of_minus_one_are_refused_on_their_scale(shared_data: Path, tmp_path: Path) -> None:
    """The authors count an unreadable try as -1; ``--scale 1:5`` finds these."""
    from analysis import Scale
    from spa import AnalysisError

    path = shared_data / "hanna" / "ratings.csv"
    mapping = {"rater": "annotator_id", "eval_prompt": "variant", "story_id": "item_id"}
    reading = Reading(mapping=mapping, llms=LLMS, scales=(Scale(criterion=None, low=1, high=5),))
    with pytest.raises(AnalysisError, match=r"522 more: score must lie in \[1, 5\]"):
        read_tables({"ratings": path}, reading)
