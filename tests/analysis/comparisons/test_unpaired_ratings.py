"""Ratings of two systems that nobody rated on one item: against independent computations, properties, simulation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.sandwich_covariance import cov_cluster_2groups

from analysis import Plan
from analysis.statistics.clustered_difference import SystemClusters, clustered_t
from tests.analysis.made_answers import ratings, run
from tests.calibration.table import most_by_luck
from tests.calibration.unpaired import SPREADS, Layout, shares

Codes = list[Any]


def difference(value: Codes, system: Codes, annotator: Codes, item: Codes) -> Any:
    ids = [np.unique(np.asarray(codes), return_inverse=True)[1].astype(np.int64) for codes in (system, annotator, item)]
    sums = SystemClusters(ids[0], np.asarray(value, dtype=np.float64), ids[1], ids[2], scale=5.0)
    return clustered_t(sums[0], sums[1], confidence=0.95)


def test_the_variance_is_that_of_statsmodels_two_way_clusters() -> None:
    """Six annotators and four items of each system, complete and apart: statsmodels' parts, each times G / (G - 1)."""
    rng = np.random.default_rng(3)
    system, who, what = (part.ravel() for part in np.indices((2, 6, 4)))
    who, what = who + 6 * system, what + 4 * system
    value = rng.normal(size=12)[who] + rng.normal(size=8)[what] + rng.normal(size=48)
    fit = sm.OLS(value, sm.add_constant(1 - system)).fit()
    both, by_who, by_what = (cov[1, 1] for cov in cov_cluster_2groups(fit, who, what, use_correction=False))
    of_both = by_who + by_what - both
    of_who, of_what = by_who * 6 / 5, by_what * 4 / 3
    variance = max(of_who + of_what - of_both * 24 / 23, of_who, of_what)
    found = difference(value.tolist(), system.tolist(), who.tolist(), what.tolist())
    assert found.test.mean == pytest.approx(fit.params[1])
    assert found.test.t == pytest.approx(fit.params[1] / np.sqrt(variance))
    assert (found.n_annotators, found.n_items, found.test.n) == (12, 8, 12)
    half = stats.t.isf(0.025, found.test.df) * np.sqrt(variance)
    assert (found.test.ci_low, found.test.ci_high) == pytest.approx((fit.params[1] - half, fit.params[1] + half))


def test_unpaired_sandwich_of_shared_annotators() -> None:
    """Uneven, with annotators of x alone, of y alone and of both: weighted least squares and its df by hand."""
    rng = np.random.default_rng(5)
    who = np.array([0, 0, 0, 1, 2, 2, 3, 0, 2, 2, 3, 3, 4, 5, 5, 5])
    system = np.repeat([0, 1], [7, 9])
    what = np.array([0, 1, 2, 0, 1, 2, 3, 10, 10, 11, 11, 12, 12, 10, 11, 12])
    value = rng.integers(1, 6, 16).astype(float)
    found = difference(value.tolist(), system.tolist(), who.tolist(), what.tolist())
    design = np.stack([system == 0, system == 1], axis=1).astype(float)
    alike = np.array([1 / np.sum((who == one) & (system == side)) for one, side in zip(who, system, strict=True)])
    inverse = np.linalg.inv(design.T @ (alike[:, None] * design))
    hat = design @ inverse @ (design.T * alike)  # of least squares in which annotators of a system weigh the same
    weight = alike * (design @ inverse @ np.array([1.0, -1.0]))
    rest = value - hat @ value
    variances, squares = [], []
    for codes in (who, what, who * 100 + what):
        parts: dict[tuple[bool, bool], list[tuple[float, float, float]]] = {}
        for one in np.unique(codes):
            own = codes == one
            s = np.where(own, weight, 0)
            left = np.sum((s - hat.T @ s) ** 2) / (s @ s)
            sizes = np.array([abs(s[system == side].sum()) for side in (0, 1)])
            entry = ((s @ rest) ** 2 / left, left, float(sizes @ sizes))
            parts.setdefault((bool(sizes[0]), bool(sizes[1])), []).append(entry)
        columns = {key: np.array(rows).T for key, rows in parts.items()}
        columns["all"] = np.concatenate(list(columns.values()), axis=1)  # type: ignore[index]
        df = {key: (w @ left) ** 2 / (w**2 @ left) for key, (_, left, w) in columns.items()}
        total = {key: part[0].sum() for key, part in columns.items()}
        variances.append(total["all"])  # type: ignore[index]
        satterthwaite = sum(total[key] ** 2 / df[key] for key in parts)
        squares.append(max(satterthwaite, total["all"] ** 2 / df["all"]))  # type: ignore[index]
    variance = max(variances[0] + variances[1] - variances[2], *variances[:2])
    assert found.test.t == pytest.approx((weight @ value) / np.sqrt(variance))
    assert found.test.df == pytest.approx(variance**2 / (squares[0] + squares[1]))


@given(st.lists(st.tuples(st.integers(1, 5), st.integers(1, 5)), min_size=2, max_size=8))
def test_one_rating_a_cluster_is_welchs_test(scores: list[tuple[int, int]]) -> None:
    """With equal numbers; with unequal ones the standard error is, and the degrees of freedom are no larger."""
    x, y = zip(*scores, strict=True)
    assume(len({*x}) > 1 and len({*y}) > 1)
    wanted = stats.ttest_ind(x, y, equal_var=False)
    ids = list(range(2 * len(scores)))
    found = difference([*x, *y], [0] * len(x) + [1] * len(y), ids, ids).test
    assert (found.t, found.df, found.p_value) == pytest.approx((wanted.statistic, wanted.df, wanted.pvalue))
    longer = difference([*x, *y, 1, 5], [0] * len(x) + [1] * (len(y) + 2), [*ids, 97, 98], [*ids, 97, 98]).test
    wanted = stats.ttest_ind(x, [*y, 1, 5], equal_var=False)
    assert longer.t == pytest.approx(wanted.statistic)
    assert longer.df <= wanted.df + 1e-9


def test_unpaired_errors_clustered_by_annotator() -> None:
    """Equally many ratings each: Welch's test of annotators' means."""
    rng = np.random.default_rng(1)
    value = rng.integers(1, 6, (2, 5, 4))
    system, who, _ = (part.ravel().tolist() for part in np.indices(value.shape))
    who = [one + 5 * side for one, side in zip(who, system, strict=True)]
    found = difference(value.ravel().tolist(), system, who, list(range(40)))
    wanted = stats.ttest_ind(*value.mean(axis=2), equal_var=False)
    assert (found.test.t, found.test.df) == pytest.approx((wanted.statistic, wanted.df))
    assert found.over_annotators
    assert found.over_items


@pytest.mark.parametrize("skewed", [False, True])
@pytest.mark.parametrize("same", [(True, False), (False, False), (False, True), (True, True)], ids=str)
def test_no_difference_is_found_as_rarely_as_promised(same: tuple[bool, bool], skewed: bool) -> None:
    layout = Layout(annotators=(10, 10), items=(20, 20), same_annotators=same[0], same_items=same[1])
    found = shares(layout, SPREADS["both"], skewed=skewed, runs=200, seed=4)
    assert found["clustered"] <= most_by_luck(200, 0.07)
    if not (same[0] or skewed):
        assert found["Welch by item"] > most_by_luck(200, 0.07)


def test_welch_by_item_fails_where_annotators_differ() -> None:
    """What the default was: annotators of their own are taken for systems."""
    layout = Layout(annotators=(10, 10), items=(30, 30))
    assert shares(layout, SPREADS["annotators"], skewed=False, runs=100, seed=1)["Welch by item"] > 0.2


def rated(annotators: tuple[list[str], list[str]], items: tuple[list[str], list[str]]) -> dict[str, Any]:
    rng = np.random.default_rng(2)
    rows = [
        (who, item, system, int(rng.integers(1, 6)))
        for side, system in enumerate("xy")
        for who in annotators[side]
        for item in items[side]
    ]
    found = run(ratings=ratings(rows))
    return {**found, "pair": found["ratings"]["pairs"][0]}


FOUR = [f"a{who}" for who in range(4)]
SIX = [f"i{item}" for item in range(6)]


def others(names: list[str]) -> list[str]:
    return [f"{name}'" for name in names]


def test_the_row_names_what_it_holds_for() -> None:
    row = rated((FOUR, FOUR), (SIX, others(SIX)))["pair"]
    assert (row["test"], row["unit"], row["n"], row["n_items"]) == ("clustered t", "annotator", 4, 12)
    assert row["unit_note"] is row["level_problem"] is None
    alone = rated((["a"], ["a"]), (SIX, others(SIX)))["pair"]
    assert (alone["unit"], alone["n"], alone["n_items"], alone["unit_note"]) == (
        "item",
        12,
        None,
        "these annotators only",
    )
    assert alone["level_problem"] is None


@pytest.mark.parametrize(
    ("annotators", "items", "words"),
    [
        ((["a"], FOUR[1:]), (SIX, others(SIX)), "all ratings of x are by one annotator"),
        ((FOUR, others(FOUR)), (SIX, ["j"]), "all ratings of y are of one item"),
        ((FOUR[:2], others(FOUR) + SIX), (SIX, others(SIX)), "x has 2 annotators, y 10"),
    ],
)
def test_unpaired_design_without_valid_test(
    annotators: tuple[list[str], list[str]], items: tuple[list[str], list[str]], words: str
) -> None:
    """A design on which no test keeps its level is pointed out."""
    found = rated(annotators, items)
    assert words in found["pair"]["level_problem"]
    assert [row["kind"] for row in found["warning_rows"]].count("level_not_held") == 1
    assert any("no test holds its level" in one["text"] for one in found["headline"]["problems"])
    assert found["headline"]["claims"][0]["strength"] in ("these_only", "not_clear")


@pytest.mark.parametrize(
    ("column", "annotators", "items", "advice"),
    [
        ("item_id", (FOUR, FOUR), (SIX, others(SIX)), "item_id names outputs"),
        ("annotator_id", (FOUR, others(FOUR)), (SIX, SIX), "annotator_id does not say so"),
    ],
)
def test_the_column_that_keeps_ratings_apart_is_named(
    column: str, annotators: tuple[list[str], list[str]], items: tuple[list[str], list[str]], advice: str
) -> None:
    found = rated(annotators, items)
    assert found["pair"]["separated_by"] == column
    (text,) = [row["text"] for row in found["warning_rows"] if row["kind"] == "unpaired_ratings"]
    assert advice in text
    assert "1 of 1 tests" in text
    assert "--map COLUMN=" in text


def test_unpaired_assignments_are_named() -> None:
    """Assignments that keep ratings of one person and item apart are named."""
    rows = [(who, item, system, len(item + who) % 5) for who in FOUR for item in SIX for system in "xy"]
    found = run(ratings=ratings(rows, assignment_id=[system for *_, system, _ in rows]))
    assert found["ratings"]["pairs"][0]["separated_by"] == "assignment_id"
    assert any("in different assignments" in line for line in found["warnings"])
    beside = run(ratings=ratings(rows))
    assert beside["ratings"]["pairs"][0]["separated_by"] is None
    assert "unpaired_ratings" not in {row["kind"] for row in beside["warning_rows"]}


def test_a_planned_unit_keeps_welchs_test() -> None:
    rows = [(f"{system}{who}", f"{system}{who % 3}", system, who % 5 + 1) for system in "xy" for who in range(9)]
    for unit in ("annotator", "item"):
        row = run(ratings=ratings(rows), plan=Plan(unit=unit))["ratings"]["pairs"][0]
        assert (row["test"], row["unit"], row["n_items"]) == ("Welch t", unit, None)
        assert ("17%" in (row["level_problem"] or "")) == (unit == "item")


def test_an_llm_is_clustered_by_assignment_and_item() -> None:
    rng = np.random.default_rng(6)
    rows = [("llm", f"i{item}", system, int(rng.integers(1, 6))) for item in range(8) for system in "xy"]
    table = ratings(rows, assignment_id=[f"{system}{int(item[1:]) % 4}" for _, item, system, _ in rows])
    row = run(ratings=table, llms=("llm",))["ratings"]["pairs"][0]
    assert (row["test"], row["unit"], row["n"], row["n_items"]) == ("clustered t", "assignment", 8, 8)
