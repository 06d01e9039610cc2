"""Agreement in three published studies, against numbers computed with independent libraries."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from analysis import fleiss_kappa, gwet_ac1, icc, krippendorff_alpha

LEVELS: tuple[Any, ...] = ("nominal", "ordinal", "interval")
ROUNDED = 5.001e-3  # intervals of ICCs are given to two decimals


@pytest.fixture(scope="module")
def expected(shared_data: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((shared_data / "expected_visible.json").read_text())
    return found


def same(found: float | None, wanted: float) -> None:
    assert found == pytest.approx(wanted, rel=1e-9, abs=1e-10)


def same_iccs(frame: pl.DataFrame, criterion: str, wanted: dict[str, Any]) -> None:
    for name, block in wanted.items():
        form: Any = name.lower()
        found = icc(frame, form=form, criterion=criterion)
        same(found.value, block["icc"])
        assert [found.ci_low, found.ci_high] == pytest.approx(block["ci95"], abs=ROUNDED)


@pytest.mark.parametrize("task", ["summarization", "simplification"])
def test_sottana(shared_data: Path, expected: dict[str, Any], task: str) -> None:
    path = shared_data / "sottana" / f"{task}_ratings.csv"
    frame = pl.read_csv(path, schema_overrides={"raw_label": pl.String}).rename({"rater": "annotator_id"})
    people = frame.filter(pl.col("annotator_id") != "gpt4")
    for criterion, block in expected["sottana"][task]["per_criterion"].items():
        same_iccs(people, criterion, block["icc_humans_item_scores"])
        ranks = np.array([[row[system] for row in block["rank"].values()] for system in block["rank"]["gpt4"]])
        raters = list(block["rank"])
        humans = [number for number, rater in enumerate(raters) if rater != "gpt4"]
        for level in LEVELS:
            items, of_ranks = block["alpha_of_item_scores"], block["alpha_of_ranks"]
            same(krippendorff_alpha(people, level=level, criterion=criterion).value, items[f"{level}_humans"])
            same(krippendorff_alpha(frame, level=level, criterion=criterion).value, items[f"{level}_humans_gpt4"])
            same(krippendorff_alpha(ranks[:, humans], level=level).value, of_ranks[f"{level}_humans"])
            same(krippendorff_alpha(ranks, level=level).value, of_ranks[f"{level}_humans_gpt4"])
        for pair, wanted in block["alpha_of_ranks_pairwise_interval"].items():
            own = ranks[:, [raters.index(rater) for rater in pair.split("|")]]
            same(krippendorff_alpha(own, level="interval").value, wanted)


def test_hanna(shared_data: Path, expected: dict[str, Any]) -> None:
    frame = pl.read_csv(shared_data / "hanna" / "ratings.csv").rename({"rater": "annotator_id", "story_id": "item_id"})
    people = frame.filter(pl.col("annotator_id").str.starts_with("human_")).drop("eval_prompt")
    for criterion, wanted in expected["hanna"]["human_icc_11_systems_1056_stories"].items():
        same_iccs(people, criterion, wanted)
        for level in LEVELS:
            alpha = krippendorff_alpha(people, level=level, criterion=criterion)
            same(alpha.value, expected["hanna"]["human_alpha_item_scores"][criterion][level])


def test_hannas_user_study(shared_data: Path, expected: dict[str, Any]) -> None:
    frame = pl.read_csv(shared_data / "hanna" / "user_study.csv")
    for category, block in expected["hanna_user_study"].items():
        own = frame.filter(pl.col("category") == category)
        own = own.select(item_id="explanation_id", annotator_id="annotator", score="error")
        found = gwet_ac1(own)
        if "gwet_ac1" not in block:
            assert (found.value, found.reason) == (None, "no variation: every answer is the same")
            continue
        assert [found.value, found.ci_low, found.ci_high] == pytest.approx(
            [block["gwet_ac1"], *block["gwet_ci95"]], abs=5.1e-6
        )
        assert fleiss_kappa(own).value == pytest.approx(block["fleiss_kappa"], abs=5.1e-6)
        same(krippendorff_alpha(own, level="nominal").value, block["krippendorff_alpha_nominal"])
