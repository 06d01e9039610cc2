"""Agreement on stated preferences and on choices: units, raters, directions."""

from __future__ import annotations

from typing import Any

import jsonschema
import numpy as np
import polars as pl
import pytest

from analysis import Plan, cohen_kappa, fleiss_kappa, gwet_ac1, krippendorff_alpha, results_schema
from tests.analysis.answers import Results, choices, preferences, render_report, run

PAIRS = (("a", "b"), ("b", "c"), ("c", "a"), ("a", "d"))
STATED = {  # four pairs (rows) by three people: P(x preferred to y)
    "p": (0.8, 0.6, 0.3, 0.9),
    "q": (0.7, 0.6, 0.4, 0.7),
    "r": (0.9, 0.5, 0.2, 0.6),
}
ALPHA = 0.7623456790123455  # package krippendorff 0.9.0 (interval level) on the four pairs by three people above
KEEP = Plan(consistency_tau=None)


def stated() -> pl.DataFrame:
    """Each person answers both directions; they lie 0.1 above and below the mean that counts."""
    rows: list[tuple[str, str, str, object]] = []
    for who, shares in STATED.items():
        for (x, y), share in zip(PAIRS, shares, strict=True):
            rows += [(who, x, y, round(share + 0.1, 2)), (who, y, x, round(1 - share + 0.1, 2))]
    return preferences(rows, exposure="2")


def of(results: Results, source: str, group: str = "human") -> dict[str, Any]:
    return {row["measure"]: row for row in results["agreement"] if (row["source"], row["group"]) == (source, group)}


def test_alpha_of_preferences_is_that_of_pairs_by_people() -> None:
    results = run(preferences=stated(), plan=KEEP)
    jsonschema.validate(results, results_schema())
    (row,) = of(results, "preferences").values()
    assert row["measure"] == "krippendorff_alpha_interval"
    assert row["value"] == pytest.approx(ALPHA, rel=1e-9)
    assert (row["n_items"], row["n_annotators"], row["fits_scale"]) == (4, 3, True)
    assert row["ci_low"] is None or row["ci_low"] < row["value"] <= row["ci_high"]
    assert "Agreement on stated preferences" in render_report(results)["report.md"]


def picked(seed: int = 4, people: int = 3, items: int = 40, noise: float = 0.6) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    rows: list[tuple[str, str, str, str, str]] = []
    for item in range(items):
        lead = rng.normal(0, 1)
        for person in range(people):
            felt = lead + rng.normal(0, noise)
            winner = "tie" if abs(felt) < 0.2 else "x" if felt > 0 else "y"
            turned = {"x": "y", "y": "x", "tie": "tie"}[winner]
            rows.append((f"p{person}", f"i{item}", *(("a", "b", winner) if person else ("b", "a", turned))))
    return choices(rows)


def matrix(table: pl.DataFrame) -> np.ndarray:
    coded = {"x": 1.0, "tie": 0.5, "y": 0.0}
    value = pl.col("winner").replace_strict(coded, return_dtype=pl.Float64)
    forward = table.with_columns(value=pl.when(pl.col("system_x") == "a").then(value).otherwise(1 - value))
    wide = forward.pivot("annotator_id", index="item_id", values="value", sort_columns=True)
    return wide.drop("item_id").to_numpy()


def test_choices_have_nominal_alpha_ac1_kappa_and_exact_agreement() -> None:
    table = picked()
    results = run(choices=table)
    jsonschema.validate(results, results_schema())
    found, answers = of(results, "choices"), matrix(table)
    assert list(found) == ["krippendorff_alpha_nominal", "exact_agreement", "gwet_ac1", "fleiss_kappa"]
    assert found["krippendorff_alpha_nominal"]["value"] == pytest.approx(
        krippendorff_alpha(answers, level="nominal").value
    )
    assert found["gwet_ac1"]["value"] == pytest.approx(gwet_ac1(answers).value)
    assert found["fleiss_kappa"]["ci_low"] == pytest.approx(fleiss_kappa(answers).ci_low)
    assert found["exact_agreement"]["value"] == pytest.approx(np.mean(np.ptp(answers, axis=1) == 0))
    assert {row["n_items"] for row in found.values()} == {40}
    two = table.filter(pl.col("annotator_id") != "p2")
    assert of(run(choices=two), "choices")["cohen_kappa"]["value"] == pytest.approx(cohen_kappa(matrix(two)).value)
    assert "Agreement on choices" in render_report(results)["report.md"]


def test_repeats_and_forms_of_an_llm_are_raters() -> None:
    table = picked()
    times = table["annotator_id"].replace_strict({"p0": "1", "p1": "2", "p2": "3"})
    repeated = table.with_columns(times.alias("repeat"), annotator_id=pl.lit("gpt"))
    by_person = of(run(choices=table), "choices")
    by_repeat = of(run(choices=repeated, llms=("gpt",)), "choices", "gpt")
    by_form = of(run(choices=repeated.rename({"repeat": "assignment_id"}), llms=("gpt",)), "choices", "gpt")
    for measure, row in by_person.items():
        assert by_repeat[measure]["value"] == by_form[measure]["value"] == row["value"]
        assert by_repeat[measure]["n_annotators"] == 3
    forms = stated()["annotator_id"]
    said = stated().with_columns(forms.alias("assignment_id"), annotator_id=pl.lit("gpt"))
    (row,) = of(run(preferences=said, plan=KEEP, llms=("gpt",)), "preferences", "gpt").values()
    assert (row["value"], row["n_annotators"]) == (pytest.approx(ALPHA, rel=1e-9), 3)


def test_neither_direction_nor_names_nor_order_matter() -> None:
    table = picked()
    once = of(run(choices=table), "choices")
    winner = pl.col("winner").replace({"x": "y", "y": "x"})
    mirrored = table.with_columns(winner, system_x=pl.col("system_y"), system_y=pl.col("system_x"))
    renamed = table.with_columns(pl.col("annotator_id").replace({"p0": "z"}), pl.col("system_x", "system_y") + "9")
    shuffled = table.sample(fraction=1.0, shuffle=True, seed=1)
    for other in (mirrored, renamed, shuffled):
        again = of(run(choices=other), "choices")
        assert {name: row["value"] for name, row in again.items()} == pytest.approx(
            {name: row["value"] for name, row in once.items()}
        )


def test_people_who_choose_at_random_agree_as_by_chance() -> None:
    found = of(run(choices=picked(items=400, noise=1000.0)), "choices")
    assert abs(found["krippendorff_alpha_nominal"]["value"]) < 0.08
    sure = of(run(choices=picked(items=100, noise=0.001)), "choices")
    assert sure["krippendorff_alpha_nominal"]["value"] > 0.95


def test_who_shares_no_unit_has_a_reason() -> None:
    rows = run(choices=choices([("p", "i", "a", "b", "x"), ("q", "j", "a", "b", "y")]))["agreement"]
    assert [(row["measure"], row["value"]) for row in rows] == [("krippendorff_alpha_nominal", None)]
    assert rows[0]["reason"] == "no unit was answered by two annotators"
