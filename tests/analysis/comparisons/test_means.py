"""Values that are means of several people: one a cell, tested by item, without any agreement."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

from analysis import Plan, Reading, check_frames
from spa import AnalysisError
from tests.analysis.made_answers import analyse, choices, ratings, render_report


def means(seed: int = 1, items: int = 20, **columns: object) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    rows = [
        ("all", f"i{item}", system, round(3 + at * 0.4 + rng.normal(0, 0.5), 2))
        for item in range(items)
        for at, system in enumerate("xy")
    ]
    return ratings(rows, **columns)


def results_of(frame: pl.DataFrame, **how: Any) -> dict[str, Any]:
    return analyse(check_frames({"ratings": frame}, Reading(means=True, **how)), Plan())


def test_means_are_tested_by_item_as_scipy_does() -> None:
    frame = means()
    [pair] = results_of(frame)["ratings"]["pairs"]
    wide = frame.with_columns(pl.col("score").cast(pl.Float64)).pivot("system", index="item_id", values="score")
    expected = stats.ttest_rel(wide["x"].to_numpy(), wide["y"].to_numpy())
    assert (pair["unit"], pair["n"]) == ("item", 20)
    assert pair["p_value"] == pytest.approx(expected.pvalue, rel=1e-9)


def test_there_is_no_agreement_and_no_annotator() -> None:
    found = results_of(means())
    assert found["agreement"] == []
    assert found["annotator_pairs"] == []
    assert [(row["annotators"], row["unnamed"]) for row in found["groups"]] == [(0, "means")]
    assert "means of several people" in found["headline"]["certainty"]
    assert "1 annotator" not in render_report(found, full=False)["report.md"]


def test_means_ignore_annotators() -> None:
    """A column of annotators is not read and need not be there."""
    plain = means()
    found = [results_of(frame) for frame in (plain, plain.drop("annotator_id"))]
    for one in found:
        one["settings"].pop("inputs")
    assert found[0] == found[1]


def test_means_refuse_several_values() -> None:
    """Several values of an output are refused with the option for lists."""
    frame = pl.concat([means(), means(2)])
    with pytest.raises(AnalysisError, match="--unnamed"):
        results_of(frame)


def test_an_llm_keeps_its_name_beside_means() -> None:
    judge = means(3).with_columns(annotator_id=pl.lit("gpt"))
    found = results_of(pl.concat([means(), judge]), llms=("gpt",))
    assert [row["group"] for row in found["groups"]] == ["human", "gpt"]
    assert found["llm_vs_people"]["alternative_annotator"] == []
    assert "nobody names the people" in found["headline"]["stand_in"]
    assert any({row["a"], row["b"]} == {"ratings:human", "ratings:gpt"} for row in found["correlations"])


def test_choices_are_no_means() -> None:
    with pytest.raises(AnalysisError, match="--choices: not with --means"):
        check_frames({"choices": choices([("a", "i", "x", "y", "x")])}, Reading(means=True))
