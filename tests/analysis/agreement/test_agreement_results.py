"""Agreement in results.json and in the report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from analysis import Plan, Reading, check_frames, gwet_ac1, krippendorff_alpha, results_schema
from analysis.agreement.measures import MEASURES as MEASURES_OF_AGREEMENT
from analysis.agreement.measures import markdown_table
from analysis.answers.columns import Scale
from tests.analysis.made_answers import Results, analyse, ratings, render_report, run, validate

MEASURES = [
    *(f"krippendorff_alpha_{level}" for level in ("nominal", "ordinal", "interval")),
    *("exact_agreement", "gwet_ac1", "icc1", "icc2", "icc3", "icc1k", "icc2k", "icc3k", "mean_kendall_tau"),
]


def answered(annotators: list[str], seed: int = 1, **columns: Any) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    rows = []
    for item in range(12):
        for system in ("x", "y"):
            truth = rng.integers(1, 6)
            rows += [(who, f"i{item}", system, int(np.clip(truth + rng.integers(-1, 2), 1, 5))) for who in annotators]
    return ratings(rows, **columns)


def llm(**columns: Any) -> pl.DataFrame:
    frame = answered(["a", "b", "c"], seed=2).with_columns(annotator_kind=pl.lit("llm"))
    times = frame["annotator_id"].replace_strict({"a": "1", "b": "2", "c": "3"})
    return frame.with_columns(pl.Series("repeat", times), annotator_id=pl.lit("gpt")).with_columns(**columns)


def people() -> pl.DataFrame:
    frame = answered(["p", "q", "r"])
    return frame.with_columns(annotator_kind=pl.lit("human"), repeat=pl.lit(None, dtype=pl.String))


def of_group(results: Results, group: str) -> dict[str, Any]:
    return {row["measure"]: row for row in results["agreement"] if row["group"] == group}


def test_people_and_repeats_of_an_llm_are_raters() -> None:
    results = run(ratings=pl.concat([people(), llm()]))
    validate(results)
    for group in ("human", "gpt"):
        rows = of_group(results, group)
        assert [name for name in rows if name in MEASURES] == MEASURES
        assert {(row["n_items"], row["n_annotators"]) for row in rows.values()} == {(24, 3)}
        assert [name for name, row in rows.items() if row["fits_scale"]] == ["krippendorff_alpha_ordinal"]
        bounded = [row for name, row in rows.items() if name != "mean_kendall_tau"]
        assert all(row["ci_low"] <= row["value"] <= row["ci_high"] for row in bounded)
    wanted = krippendorff_alpha(people().with_columns(pl.col("score").cast(pl.Float64)), level="ordinal").value
    assert abs(of_group(results, "human")["krippendorff_alpha_ordinal"]["value"] - (wanted or 0)) < 1e-11
    pairs = [(row["group"], row["annotator_x"], row["annotator_y"]) for row in results["annotator_pairs"]]
    assert pairs[:3] == [("human", "p", "q"), ("human", "p", "r"), ("human", "q", "r")]
    assert pairs[3:] == [("gpt", "gpt/1", "gpt/2"), ("gpt", "gpt/1", "gpt/3"), ("gpt", "gpt/2", "gpt/3")]


def test_assignments_that_ask_an_llm_the_same_are_raters() -> None:
    frame = llm().with_columns(assignment_id=pl.concat_str(pl.lit("a"), "repeat")).drop("repeat")
    by_assignment, by_repeat = (of_group(run(ratings=table), "gpt") for table in (frame, llm()))
    assert by_assignment["icc2k"]["value"] == by_repeat["icc2k"]["value"]
    assert by_assignment["krippendorff_alpha_ordinal"]["ci_low"] == by_repeat["krippendorff_alpha_ordinal"]["ci_low"]


def test_who_answers_once_has_nobody_to_agree_with() -> None:
    once = llm().filter(pl.col("repeat") == "1")
    results = run(ratings=pl.concat([people(), once]))
    assert of_group(results, "gpt") == {}
    page = render_report(results)["report.md"]
    assert "answered every question once" in page
    assert "Do the raters agree?" in page


def test_people_who_share_no_output_have_a_reason() -> None:
    frame = ratings([("p", "i", "x", 1), ("p", "i", "y", 2), ("q", "j", "x", 3), ("q", "j", "y", 3)])
    (row,) = run(ratings=frame)["agreement"]
    assert (row["measure"], row["value"]) == ("krippendorff_alpha_ordinal", None)
    assert row["reason"] == "no unit was answered by two annotators"


def test_repeats_of_a_person_are_averaged() -> None:
    twice = pl.concat([people().with_columns(repeat=pl.lit(number)) for number in ("1", "2")])
    once, again = (of_group(run(ratings=table), "human") for table in (people(), twice))
    assert once["icc2"] == again["icc2"]


def test_neither_rows_nor_other_groups_move_a_number() -> None:
    frame = pl.concat([people(), llm()])
    results = run(ratings=frame)
    shuffled = run(ratings=frame.sample(fraction=1.0, shuffle=True, seed=3))
    assert of_group(shuffled, "human") == of_group(results, "human")
    assert of_group(shuffled, "gpt") == of_group(results, "gpt")
    assert of_group(run(ratings=people()), "human") == of_group(results, "human")


def test_measure_is_one_entry() -> None:
    """A measure is one entry that the schema the report and the docs read."""
    forms = [form for measure in MEASURES_OF_AGREEMENT for form in measure.forms]
    assert len(forms) == len(set(forms))
    assert results_schema()["$defs"]["AgreementRow"]["properties"]["measure"]["enum"] == forms
    assert all(set(measure.columns) <= set(measure.forms) for measure in MEASURES_OF_AGREEMENT)
    page = render_report(run(ratings=people()))["report.md"]
    assert all(title in page for title in ("| Alpha |", "| All alike |", "| ICC2k |", "| Mean tau |"))
    assert all(measure.name in markdown_table() for measure in MEASURES_OF_AGREEMENT)
    assert "<!-- measures of agreement -->" in (Path(__file__).parents[3] / "docs" / "statistics.md").read_text()


def test_steps_of_a_declared_scale_count_used_or_not() -> None:
    """Of scores 4 and 5 alone on a scale from 1 to 5, q is 5; without a scale it is 2."""
    rng = np.random.default_rng(2)
    rows = [
        (who, f"i{item}", "a", str(4 + (rng.random() < 0.2) ^ (item % 3 == 0))) for who in "pqr" for item in range(20)
    ]
    table = ratings(rows)

    def ac1(scales: tuple[Scale, ...]) -> dict[str, Any]:
        results = analyse(check_frames({"ratings": table}, Reading(scales=scales)), Plan())
        assert "AC1 counts" in render_report(results)["report.md"]
        return next(row for row in results["agreement"] if row["measure"] == "gwet_ac1")

    answers = table.pivot("annotator_id", index="item_id", values="score").drop("item_id").cast(pl.Float64).to_numpy()
    free, declared = ac1(()), ac1((Scale(criterion=None, low=1, high=5),))
    assert (free["categories"], declared["categories"]) == (2, 5)
    assert free["value"] == pytest.approx(gwet_ac1(answers).value)
    assert declared["value"] == pytest.approx(gwet_ac1(answers, categories=range(1, 6)).value)
    assert declared["value"] > free["value"] + 0.05


def test_the_published_case_of_unused_steps(shared_data: Path) -> None:
    folder = shared_data.parent / "cases" / "statistics" / "ac1-unused-steps"
    if not folder.exists():
        pytest.skip("the case is not here")
    for name, wanted in json.loads((folder / "expected.json").read_text())["gwet_ac1"].items():
        frame = pl.read_csv(folder / name, infer_schema=False)
        reading = Reading(scales=(Scale(criterion=None, low=1, high=5),))
        rows = analyse(check_frames({"ratings": frame}, reading), Plan())["agreement"]
        assert [row["value"] for row in rows if row["measure"] == "gwet_ac1"] == [pytest.approx(wanted, abs=1e-5)]
