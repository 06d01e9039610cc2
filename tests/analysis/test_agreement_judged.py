"""Agreement on stated preferences and on choices: units, raters, directions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import polars as pl
import pytest
from statsmodels.stats.inter_rater import cohens_kappa

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


def three_people(items: int = 40) -> pl.DataFrame:
    """Let two people mostly agree on three pairs, and a third one guess; half of the pairs are shown the other way."""
    rng = np.random.default_rng(12)
    rows = []
    for item in range(items):
        for x, y in (("a", "b"), ("b", "c"), ("a", "c")):
            truth = str(rng.choice(["x", "y", "tie"]))
            for who, sure in (("ann", 0.95), ("ben", 0.9), ("cem", 0.2)):
                given = truth if rng.random() < sure else str(rng.choice(["x", "y", "tie"]))
                turned = rng.random() < 0.5 and item > 0  # the first item lists the pairs
                shown = {"x": "y", "y": "x"}.get(given, given) if turned else given
                rows.append((who, f"i{item}", *((y, x) if turned else (x, y)), shown))
    return choices(rows)


def by_hand(table: pl.DataFrame, first: str, second: str) -> tuple[int, float, float]:
    """Return units, statsmodels' kappa and irrCAC's formula of AC1 for two people over x, tie and y."""
    order = pl.col("system_x") < pl.col("system_y")
    turned = table.with_columns(
        winner=pl.when(order).then("winner").otherwise(pl.col("winner").replace({"x": "y", "y": "x"})),
        pair=pl.concat_str(pl.min_horizontal("system_x", "system_y"), pl.max_horizontal("system_x", "system_y")),
    )
    one, two = (turned.filter(annotator_id=who).select("item_id", "pair", "winner") for who in (first, second))
    both = one.join(two, on=["item_id", "pair"])
    codes = ["x", "tie", "y"]
    counts = np.zeros((3, 3))
    for a, b in both.select("winner", "winner_right").iter_rows():
        counts[codes.index(a), codes.index(b)] += 1
    shares = counts / counts.sum()
    pi = (shares.sum(axis=0) + shares.sum(axis=1)) / 2
    chance = float(np.sum(pi * (1 - pi)) / 2)
    return both.height, float(cohens_kappa(counts).kappa), (float(np.trace(shares)) - chance) / (1 - chance)


def test_every_two_people_who_chose_are_compared() -> None:
    table = three_people()
    found = {(row["annotator_x"], row["annotator_y"]): row for row in run(choices=table)["annotator_pairs"]}
    assert list(found) == [("ann", "ben"), ("ann", "cem"), ("ben", "cem")]
    for (first, second), row in found.items():
        n, kappa, ac1 = by_hand(table, first, second)
        assert (row["source"], row["n_items"], row["kendall_tau"], row["reason"]) == ("choices", n, None, None)
        assert row["cohen_kappa"] == pytest.approx(kappa, abs=1e-9)
        assert row["gwet_ac1"] == pytest.approx(ac1, abs=1e-9)
        assert row["level"] == "nominal"
    assert found["ann", "ben"]["cohen_kappa"] > 0.7 > 0.4 > found["ann", "cem"]["cohen_kappa"]


def test_pairs_of_people_stand_in_the_report_and_not_of_more_than_ten() -> None:
    page = render_report(run(choices=three_people()))["report.html"]
    assert "Agreement of every two raters on choices" in page
    assert "Kendall’s tau" not in page[page.index("Agreement of every two raters on choices") :][:2000]
    many = pl.concat([three_people(4).with_columns(pl.col("annotator_id") + str(n)) for n in range(4)])
    assert run(choices=many)["annotator_pairs"] == []


def test_a_rater_who_always_says_the_same_has_a_reason() -> None:
    rows = [(who, f"i{n}", "a", "b", "x") for who in "pq" for n in range(4)]
    (row,) = run(choices=choices(rows))["annotator_pairs"]
    assert (row["exact_agreement"], row["cohen_kappa"]) == (1.0, None)
    assert row["reason"]


def test_the_published_shape_of_three_labellers(shared_data: Path) -> None:
    """Kappas of every two annotators, with the usual formula; the third one is the poor one."""
    folder = shared_data.parent / "cases" / "published" / "choice_kappa_pairs"
    if not folder.exists():
        pytest.skip("the case is not here")
    wanted = json.loads((folder / "expected.json").read_text())["cohen_kappa"]
    found = run(choices=pl.read_csv(folder / "choices.csv", infer_schema=False))["annotator_pairs"]
    names = ["-".join(row[side].removeprefix("annotator") for side in ("annotator_x", "annotator_y")) for row in found]
    assert {name: round(row["cohen_kappa"], 4) for name, row in zip(names, found, strict=True)} == wanted
