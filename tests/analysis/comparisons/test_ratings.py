"""Ratings: means with clustered intervals, paired and Welch tests, units, direction, exact ties."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
import statsmodels.api as sm
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from analysis import Plan, rating_tests
from analysis.statistics.t_tests import one_sample
from tests.analysis.made_answers import Results, ratings, run


def pair(results: Results, **wanted: object) -> dict[str, Any]:
    (row,) = [row for row in results["ratings"]["pairs"] if all(row[key] == value for key, value in wanted.items())]
    found: dict[str, Any] = row
    return found


def crossed(
    annotators: int, items: int, seed: int = 0
) -> tuple[list[tuple[str, str, str, object]], np.ndarray[Any, Any]]:
    scores = np.random.default_rng(seed).integers(1, 6, size=(annotators, items, 2))
    rows: list[tuple[str, str, str, object]] = [
        (f"p{a}", f"i{i}", "xy"[s], scores[a, i, s]) for a in range(annotators) for i in range(items) for s in range(2)
    ]
    return rows, scores


def test_ten_annotators_are_the_unit_and_nine_are_not() -> None:
    rows, scores = crossed(10, 7)
    ten = pair(run(ratings=ratings(rows)))
    assert (ten["unit"], ten["n"], ten["unit_note"]) == ("annotator", 10, None)
    by_annotator = (scores[..., 0] - scores[..., 1]).mean(axis=1)
    assert ten["p_value"] == pytest.approx(stats.ttest_1samp(by_annotator, 0).pvalue, rel=1e-9)
    nine = pair(run(ratings=ratings([row for row in rows if row[0] != "p9"])))
    assert (nine["unit"], nine["n"], nine["unit_note"]) == ("item", 7, "these annotators only")
    by_item = (scores[:9, :, 0] - scores[:9, :, 1]).mean(axis=0)
    assert nine["p_value"] == pytest.approx(stats.ttest_1samp(by_item, 0).pvalue, rel=1e-9)


def test_annotators_are_counted_for_the_pair_that_they_rated() -> None:
    """Eleven annotators rated x, only nine of them y: the nine decide."""
    rows, _ = crossed(11, 3)
    rows = [row for row in rows if not (row[2] == "y" and row[0] in {"p9", "p10"})]
    row = pair(run(ratings=ratings(rows)))
    assert (row["unit"], row["n"]) == ("item", 3)


def test_the_plan_may_fix_the_unit() -> None:
    rows, _ = crossed(4, 5)
    assert pair(run(ratings=ratings(rows), plan=Plan(unit="annotator")))["n"] == 4
    rows, _ = crossed(12, 5)
    assert pair(run(ratings=ratings(rows), plan=Plan(unit="item")))["n"] == 5


def test_ratings_without_pairs_use_welch() -> None:
    """Where nothing pairs each rating alone is Welch's test and the report says so."""
    x, y = [1, 2, 4, 5, 3], [4, 4, 5, 2, 2]
    rows: list[tuple[str, str, str, object]] = [(f"a{i}", f"i{i}", "x", v) for i, v in enumerate(x)]
    rows += [(f"b{i}", f"j{i}", "y", v) for i, v in enumerate(y)]
    results = run(ratings=ratings(rows))
    row = pair(results)
    wanted = stats.ttest_ind(x, y, equal_var=False)
    assert (row["test"], row["unit"], row["n"], row["n_items"]) == ("clustered t", "annotator", 10, 10)
    assert (row["t"], row["p_value"], row["df"]) == tuple(
        pytest.approx(value, rel=1e-9) for value in (wanted.statistic, wanted.pvalue, wanted.df)
    )
    assert any("cannot be paired" in line for line in results["warnings"])


@pytest.mark.parametrize(("unit", "axis"), [("item", 0), ("annotator", 1)])
def test_the_plan_may_ask_for_welch_although_items_are_shared(unit: Any, axis: int) -> None:
    """Three teachers rate both stories of each prompt, as in Chiang and Lee (2023): scipy's Welch test over stories."""
    rows, scores = crossed(3, 20, seed=4)
    plan = Plan(unit=unit, rating_test="welch")
    row = pair(run(ratings=ratings(rows), plan=plan))
    wanted = stats.ttest_ind(*(scores[..., side].mean(axis=axis) for side in (0, 1)), equal_var=False)
    assert (row["test"], row["unit"], row["d_z"]) == ("Welch t", unit, None)
    assert "Welch" in row["effect_reason"]
    assert (row["t"], row["p_value"], row["df"]) == tuple(
        pytest.approx(value, rel=1e-9) for value in (wanted.statistic, wanted.pvalue, wanted.df)
    )
    apart = ratings([(who, f"{item}{system}", system, score) for who, item, system, score in rows])
    alone = pair(run(ratings=apart, plan=plan))
    assert unit == "annotator" or (alone["t"], alone["n"]) == (row["t"], row["n"])  # item ids do not matter


def test_ratings_paired_test_leaves_out_a_tenth() -> None:
    """Of a paired test up to a tenth of the ratings is left out."""
    rows, scores = crossed(3, 6, seed=2)
    alone: list[tuple[str, str, str, object]] = [(f"p{a}", f"i{7 + a}", "x", 1) for a in range(3)]
    row = pair(run(ratings=ratings([*rows, *alone])))
    assert (row["test"], row["n"]) == ("paired t", 6)
    assert row["mean_difference"] == pytest.approx((scores[..., 0] - scores[..., 1]).mean())
    assert (row["n_answers"], row["n_paired"], row["n_used"]) == (39, 36, 36)


def test_repeats_are_averaged_before_anything_else() -> None:
    rows: list[tuple[str, str, str, object]] = [("a", "i", "x", 1), ("a", "i", "x", 2), ("a", "j", "x", 5)]
    (mean,) = run(ratings=ratings(rows, repeat=["1", "2", "1"]))["ratings"]["means"]
    assert (mean["n"], mean["mean"]) == (2, 3.25)


def test_the_interval_of_a_mean_is_clustered_by_unit() -> None:
    """Equal to statsmodels' cluster-robust covariance with the factor G/(G-1) and t(G-1)."""
    rows, scores = crossed(12, 6, seed=3)
    results = run(ratings=ratings(rows))
    for place, row in enumerate(results["ratings"]["means"]):
        values = scores[..., place].reshape(-1).astype(float)
        clusters = np.repeat(np.arange(12), 6)
        fit = sm.OLS(values, np.ones(len(values))).fit(
            cov_type="cluster", cov_kwds={"groups": clusters, "use_correction": False}
        )
        half = stats.t.ppf(0.975, 11) * fit.bse[0] * np.sqrt(12 / 11)
        assert (row["unit"], row["n_units"], row["n"]) == ("annotator", 12, 72)
        assert (row["ci_low"], row["ci_high"]) == (
            pytest.approx(values.mean() - half, rel=1e-9),
            pytest.approx(values.mean() + half, rel=1e-9),
        )
        assert row["sd"] == pytest.approx(values.std(ddof=1), rel=1e-9)
        assert row["sd_population"] == pytest.approx(values.std(), rel=1e-9)


def test_one_rating_a_unit_gives_the_plain_t_interval() -> None:
    values = [1, 2, 4, 5, 3, 3]
    (row,) = run(ratings=ratings([("a", f"i{i}", "x", v) for i, v in enumerate(values)]))["ratings"]["means"]
    low, high = stats.ttest_1samp(values, 0).confidence_interval(0.95)
    assert (row["ci_low"], row["ci_high"]) == (pytest.approx(low, rel=1e-9), pytest.approx(high, rel=1e-9))


def test_lower_is_better_turns_verdict_and_rank_and_nothing_else() -> None:
    rng = np.random.default_rng(2)
    rows: list[tuple[str, str, str, object]] = []
    for item in range(30):
        rows += [("a", f"i{item}", "x", int(rng.integers(2, 6))), ("a", f"i{item}", "y", int(rng.integers(1, 5)))]
    plain = run(ratings=ratings(rows))
    turned = run(ratings=ratings(rows), plan=Plan(lower_is_better=frozenset({"overall"})))
    assert (pair(plain)["verdict"], pair(turned)["verdict"]) == ("x", "y")
    same = ("mean_difference", "t", "p_value", "p_adjusted", "stars")
    assert [pair(plain)[key] for key in same] == [pair(turned)[key] for key in same]
    assert plain["ratings"]["means"] == turned["ratings"]["means"]
    orders = {row["source"]: row["order"] for row in turned["rankings"]}
    assert orders == {"ratings": [["y"], ["x"]], "ratings_bt": [["y"], ["x"]]}
    strengths = [{row["system"]: row["strength"] for row in results["bradley_terry"]} for results in (plain, turned)]
    assert strengths[0] == strengths[1]


def test_means_equal_in_exact_arithmetic_are_tied() -> None:
    """0.1 + 0.2 against 0.3 + 0: equal on paper, not in floating point."""
    rows: list[tuple[str, str, str, object]] = [
        ("a", "i", "x", 0.1), ("a", "j", "x", 0.2), ("a", "k", "x", 0.3),
        ("a", "i", "y", 0.3), ("a", "j", "y", 0.3), ("a", "k", "y", 0),
        ("a", "i", "z", 0.3), ("a", "j", "z", 0.2), ("a", "k", "z", 0.1),
    ]  # fmt: skip
    results = run(ratings=ratings(rows))
    ranking = next(row for row in results["rankings"] if row["source"] == "ratings")
    assert ranking["order"] == [["x", "y", "z"]]
    assert pair(results, system_x="x", system_y="z")["mean_difference"] == 0


@pytest.mark.parametrize("step", [1.0, 0.1, 0.7])
@pytest.mark.parametrize("plan", [Plan(), Plan(unit="item"), Plan(rating_test="welch")])
def test_no_difference_is_exactly_none(step: float, plan: Plan) -> None:
    """Shuffled scores of one multiset: the means are equal on paper, the averages by unit are thirds and sevenths."""
    rng, tables = np.random.default_rng(5), []
    for study in range(20):
        scores = rng.integers(0, 6, size=(3, 7)) * step
        shuffled = rng.permutation(scores.ravel()).reshape(3, 7)
        rows: list[tuple[str, str, str, object]] = [
            (f"p{a}", f"i{i}", system, float(values[a, i]))
            for a in range(3)
            for i in range(7)
            for system, values in (("x", scores), ("y", shuffled))
        ]
        tables.append(ratings(rows, criterion=f"study {study}"))
    found = rating_tests(pl.concat(tables), plan=plan)
    assert len(found) == 20
    for row in found:
        assert (row.mean_difference, row.t, row.hedges_g) == (0, 0, 0)
        assert row.d_z in (0, None)
        assert row.ci_high is not None
        assert row.ci_low == -row.ci_high


@given(st.lists(st.integers(-50, 50), min_size=2, max_size=30), st.sampled_from([3, 7, 10, 11]))
def test_means_that_cancel_are_zero(values: list[int], parts: int) -> None:
    listed = np.array([value / parts for value in [*values, *(-value for value in values[::-1]), 1, -1]])
    assert one_sample(listed, against=0.0, confidence=0.95).mean == 0
    assert one_sample(listed + 0.5, against=0.5, confidence=0.95).mean == 0.5


def test_ratings_bt_counts_who_was_rated_higher() -> None:
    rows: list[tuple[str, str, str, object]] = []
    for place, (x, y) in enumerate([(5, 1), (4, 4), (3, 2), (1, 5)]):
        rows += [("a", f"i{place}", "x", x), ("a", f"i{place}", "y", y)]
    strength = {row["system"]: row["strength"] for row in run(ratings=ratings(rows))["bradley_terry"]}
    assert strength["x"] - strength["y"] == pytest.approx(np.log(2.5 / 1.5))


def test_people_who_rate_nothing_usable_leave_no_row() -> None:
    results = run(ratings=ratings([("a", "i", "x", ""), ("a", "i", "y", "NA")]))
    assert not any(results["ratings"].values())
    assert [(row["reason"], row["n"]) for row in results["missing"]] == [("NA", 1), ("empty", 1)]


def test_ratings_paired_annotators_with_few_items() -> None:
    """Twelve annotators rated x and y, three of them on different items: the annotator is the unit of nine."""
    rows, _ = crossed(9, 4, seed=1)
    for who in ("p9", "p10", "p11"):
        rows += [(who, "i0", "x", 3), (who, "i1", "y", 4)]
    row = pair(run(ratings=ratings(rows)))
    assert (row["unit"], row["n"], row["test"]) == ("annotator", 9, "paired t")


def test_where_nobody_has_both_systems_annotators_are_the_units() -> None:
    rows: list[tuple[str, str, str, object]] = [
        (f"{side}{who}", f"i{item}", side, (who * 7 + item * item + len(side)) % 5)
        for side in ("x", "yy")
        for who in range(12)
        for item in range(4)
    ]
    row = pair(run(ratings=ratings(rows)))
    assert (row["test"], row["unit"], row["n"], row["n_items"]) == ("clustered t", "annotator", 24, 4)
    apart = [(who[-2:], f"{item}{system}", system, score) for who, item, system, score in rows]
    both = pair(run(ratings=ratings([(f"p{int(who.strip('xy'))}", *rest) for who, *rest in apart])))  # type: ignore[misc]
    assert (both["test"], both["unit"], both["n"], both["n_items"]) == ("clustered t", "annotator", 12, 8)


def test_ten_llms_in_one_group_are_ten_annotators() -> None:
    rows, _ = crossed(10, 3)
    frame = ratings(rows, annotator_kind="llm", group="llms", assignment_id=[row[1] for row in rows])
    assert (pair(run(ratings=frame))["unit"], pair(run(ratings=frame))["n"]) == ("annotator", 10)
    few = ratings(rows[:12], annotator_kind="llm", group="llms", assignment_id=[row[1] for row in rows[:12]])
    row = pair(run(ratings=few, plan=Plan(unit="annotator")))
    assert (row["unit"], row["n"]) == ("assignment", 6)
