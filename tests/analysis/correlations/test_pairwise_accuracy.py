"""Pairwise accuracy with ties beside tau within an item: by hand, its properties, and what the report says of items."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis import Plan, Reading, check_frames
from analysis.correlations import PairedScores, pairwise_accuracy
from tests.analysis.made_answers import analyse, render_report

SYSTEMS = ("a", "b", "c", "d")
Tables = dict[str, pl.DataFrame]


def paired(a: list[list[float]], b: list[list[float]]) -> PairedScores:
    """Lay out scores by item and system; NaN: neither has a score."""
    first, second = np.array(a), np.array(b)
    item, system = np.nonzero(np.isfinite(first))
    return PairedScores(item=item, system=system, a=first[item, system], b=second[item, system])


def test_ties_of_both_are_right_and_ties_of_one_are_errors() -> None:
    """Of (1, 1, 2) and (3, 3, 1): the tie is right, both other pairs are reversed; of (1, 2, 3) and (1, 2, 2) two."""
    assert pairwise_accuracy(paired([[1, 1, 2]], [[3, 3, 1]])).value == pytest.approx(1 / 3)
    found = pairwise_accuracy(paired([[1, 1, 2], [1, 2, 3]], [[3, 3, 1], [1, 2, 2]]))
    assert (found.value, found.n_items, found.n_pairs) == (pytest.approx(1 / 2), 2, 6)


def test_items_weigh_alike_and_one_output_is_no_pair() -> None:
    gap = float("nan")
    found = pairwise_accuracy(paired([[1, 2, gap], [1, 2, 3], [1, gap, gap]], [[1, 2, gap], [3, 2, 1], [1, gap, gap]]))
    assert (found.value, found.n_items, found.n_pairs) == (0.5, 2, 4)
    assert pairwise_accuracy(paired([[1.0]], [[1.0]])).value is None


scores = st.lists(st.lists(st.integers(0, 3), min_size=4, max_size=4), min_size=1, max_size=6)


@given(scores, st.integers(0, 2**16))
def test_it_is_what_counting_pairs_gives_in_any_order(a: list[list[int]], seed: int) -> None:
    rng = np.random.default_rng(seed)
    b = rng.integers(0, 4, size=(len(a), 4))
    one = paired(np.array(a, dtype=float).tolist(), b.astype(float).tolist())
    right = [
        [np.sign(x[i] - x[j]) == np.sign(y[i] - y[j]) for i, j in combinations(range(4), 2)]
        for x, y in zip(a, b, strict=True)
    ]
    assert pairwise_accuracy(one).value == pytest.approx(np.mean(right))
    order = rng.permutation(len(one.a))
    place = rng.permutation(4)
    mixed = PairedScores(item=one.item[order], system=place[one.system[order]], a=one.a[order], b=one.b[order])
    assert pairwise_accuracy(mixed).value == pytest.approx(pairwise_accuracy(one).value)
    assert pairwise_accuracy(PairedScores(item=one.item, system=one.system, a=one.a, b=one.a)).value == 1


def judged(n_items: int = 20, constant: int = 12) -> Tables:
    """Three people; "lazy" says 3 of all outputs of most items, "busy" errs in one pair; a distance is exact."""
    rng = np.random.default_rng(3)
    ratings: list[dict[str, Any]] = []
    metrics: list[dict[str, Any]] = []
    for item in range(n_items):
        quality = rng.permutation([1, 2, 3, 5])
        swapped = np.where(quality == 1, 2, np.where(quality == 2, 1, quality))
        for place, system in enumerate(SYSTEMS):
            given = {name: int(quality[place]) for name in ("p1", "p2", "p3")}
            given |= {"lazy": 3 if item < constant else int(quality[place]), "busy": int(swapped[place])}
            output = {"item_id": f"i{item}", "system": system}
            ratings += [{**output, "annotator_id": who, "score": score} for who, score in given.items()]
            distance = -float(quality[place])
            metrics.append({**output, "metric": "distance", "score": distance, "higher_is_better": "false"})
            if item < 4:
                metrics.append({**output, "metric": "rare", "score": 0.0, "higher_is_better": "true"})
    return {"ratings": pl.DataFrame(ratings), "metrics": pl.DataFrame(metrics)}


def results_of(tables: Tables, plan: Plan | None = None) -> dict[str, Any]:
    found: dict[str, Any] = analyse(check_frames(tables, Reading(llms=("lazy", "busy"))), plan or Plan())
    return found


def within(results: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {
        row["a"]: row
        for row in results["correlations"]
        if (row["level"], row["method"], row["upper_bound"]) == ("per_item", "kendall", False)
    }


def test_accuracy_stands_beside_tau_on_the_same_items_for_all() -> None:
    results = results_of(judged())
    rows = within(results)
    assert (rows["ratings:lazy"]["value"], rows["ratings:lazy"]["n"], rows["ratings:lazy"]["n_undefined"]) == (1, 8, 12)
    assert rows["ratings:busy"]["value"] == pytest.approx(2 / 3)
    accuracy = {name: row["pairwise_accuracy"] for name, row in rows.items()}
    assert accuracy == {
        "ratings:lazy": pytest.approx(0.4),
        "ratings:busy": pytest.approx(5 / 6),
        "metrics:distance": 1.0,  # lower is better: turned
        "metrics:rare": None,  # of a fifth of the outputs
    }
    assert {(row["accuracy_items"], row["accuracy_pairs"]) for name, row in rows.items() if "rare" not in name} == {
        (20, 120)
    }
    others = [row for row in results["correlations"] if row not in rows.values()]
    assert all(row["pairwise_accuracy"] is row["accuracy_items"] is None for row in others)


def test_a_measure_with_gaps_sets_the_items_of_all() -> None:
    tables = judged()
    some = {f"i{item}" for item in range(5, 20)}
    kept = (pl.col("annotator_id") != "busy") | pl.col("item_id").is_in(some)
    rows = within(results_of(tables | {"ratings": tables["ratings"].filter(kept)}))
    assert {row["accuracy_items"] for name, row in rows.items() if "rare" not in name} == {15}
    assert rows["ratings:lazy"]["pairwise_accuracy"] == pytest.approx(8 / 15)


def test_pairwise_accuracy_metric_without_reference() -> None:
    """Of two systems of which one is the metric's reference, the metric has no pair."""
    tables = {name: table.filter(pl.col("system").is_in(["a", "b"])) for name, table in judged().items()}
    rows = within(results_of(tables, Plan(references=("a",))))
    assert rows["metrics:distance"]["pairwise_accuracy"] is None
    assert rows["ratings:busy"]["accuracy_pairs"] == 20


def test_the_direction_of_a_criterion_turns_metrics() -> None:
    rows = within(results_of(judged(), Plan(lower_is_better=frozenset({"overall"}))))
    assert rows["metrics:distance"]["pairwise_accuracy"] == 0
    assert rows["ratings:busy"]["pairwise_accuracy"] == pytest.approx(5 / 6)


def test_pairwise_accuracy_report_of_items() -> None:
    """The report says how many items are behind a tau and warns above a tenth."""
    results = results_of(judged())
    (line,) = [row["text"] for row in results["warning_rows"] if row["kind"] == "constant_scores"]
    assert line.startswith(
        "tau within an item leaves out items whose outputs one side scores alike: rare 4 of 4; lazy 12"
    )
    headline = results["headline"]
    kinds = [one["kind"] for one in (*headline["problems"], *headline["more_problems"])]
    assert "constant_scores" in kinds
    pages = render_report(results)
    text = "".join(page for name, page in pages.items() if name.endswith(".html"))
    assert "8 of 20 items" in text
    assert "Pairwise accuracy" in text
    few = results_of(judged(constant=2) | {"metrics": judged()["metrics"].filter(metric="distance")})
    assert within(few)["ratings:lazy"]["n_undefined"] == 2
    assert "constant_scores" not in {row["kind"] for row in few["warning_rows"]}


def test_a_judge_that_says_three_is_not_the_best(shared_data: Path) -> None:
    case = shared_data.parent / "cases" / "statistics" / "per_item_constant_judge"
    if not case.is_dir():
        pytest.skip("shared cases are not here")
    tables = {"ratings": pl.read_csv(case / "ratings.csv", infer_schema=False)}
    rows = within(analyse(check_frames(tables, Reading()), Plan()))
    for name, wanted in json.loads((case / "expected.json").read_text()).items():
        row = rows[f"ratings:{name}"]
        assert row["n_undefined"] == wanted["items_constant"]
        assert row["value"] == pytest.approx(wanted["mean_tau_defined_only"], abs=1e-4)
        assert row["pairwise_accuracy"] == pytest.approx(wanted["pairwise_accuracy_with_ties"], abs=1e-4)
        assert (row["accuracy_items"], row["accuracy_pairs"]) == (wanted["items"], wanted["pairs"])
