"""The test over annotators and items at once: against an independent computation, properties, calibration."""

from __future__ import annotations

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.sandwich_covariance import cov_cluster_2groups

from analysis import Plan, crossed_test
from analysis.rating_checks.crossed import crossed_tests
from tests.analysis.made_answers import choices, ratings, run


def sparse(rng: np.random.Generator, annotators: int, items: int, each: int) -> tuple[np.ndarray, np.ndarray]:  # type: ignore[type-arg]
    """Let ``each`` annotators judge every item."""
    who = np.concatenate([rng.choice(annotators, size=each, replace=False) for _ in range(items)])
    return who, np.repeat(np.arange(items), each)


def test_the_variance_is_that_of_statsmodels_two_way_clusters() -> None:
    rng = np.random.default_rng(0)
    who, what = sparse(rng, 20, 30, 4)
    value = rng.normal(size=20)[who] + rng.normal(size=30)[what] + rng.normal(size=len(who))
    _, whose, times = np.unique(who, return_inverse=True, return_counts=True)
    fit = sm.WLS(value, np.ones(len(value)), weights=1 / (20 * times[whose])).fit()  # annotators weigh the same
    _, by_who, by_what = cov_cluster_2groups(fit, who, what, use_correction=False)
    both = cov_cluster_2groups(fit, who, what, use_correction=False)[0] - by_who - by_what
    parts = (by_who[0, 0] * 20 / 19, by_what[0, 0] * 30 / 29, both[0, 0] * 120 / 119)
    found = crossed_test(value, who, what)
    assert found.se == pytest.approx(np.sqrt(sum(parts)))
    assert found.df == pytest.approx(sum(parts) ** 2 / (parts[0] ** 2 / 19 + parts[1] ** 2 / 29))
    assert found.p_value == pytest.approx(2 * stats.t.sf(abs(found.mean / found.se), found.df))
    assert (found.n, found.n_annotators, found.n_items) == (120, 20, 30)


def test_three_annotators_by_hand() -> None:
    """Complete table: V_a and V_i are the mean squares of the margins, V never below either."""
    table = np.array([[2.0, 1, 0, 1], [3, 1, 2, 2], [1, 0, 0, 0]])
    who, what = (part.ravel() for part in np.indices(table.shape))
    found = crossed_test(table.ravel(), who, what)
    of_who = table.mean(axis=1).var(ddof=1) / 3
    of_what = table.mean(axis=0).var(ddof=1) / 4
    of_both = table.var(ddof=1) / 12
    variance = max(of_who + of_what - of_both, of_who, of_what)
    assert found.se == pytest.approx(np.sqrt(variance))
    assert found.df == pytest.approx(variance**2 / (of_who**2 / 2 + of_what**2 / 3))


@given(st.integers(0, 2**16), st.floats(-3, 3))
def test_order_names_and_sign_do_not_matter(seed: int, shift: float) -> None:
    rng = np.random.default_rng(seed)
    who, what = sparse(rng, 5, 6, 3)
    value = rng.integers(-3, 4, len(who)) + shift
    found = crossed_test(value, who, what)
    order = rng.permutation(len(value))
    other = crossed_test(-value[order], [f"p{9 - number}" for number in who[order]], [f"i{n}" for n in what[order]])
    assert other.p_value == (None if found.p_value is None else pytest.approx(found.p_value, rel=1e-9))
    assert other.mean == pytest.approx(-found.mean)


DESIGNS = {"3 annotators, 100 items": (3, 100, 3), "20 annotators, 20 items": (20, 20, 20), "sparse": (20, 60, 3)}


@pytest.mark.parametrize("design", list(DESIGNS))
@pytest.mark.parametrize("spread", [(1.0, 1.0), (0.3, 0.3), (1.0, 0.0)])
def test_no_difference_is_found_as_rarely_as_promised(design: str, spread: tuple[float, float]) -> None:
    """Both annotators and items random: 5 %, with three annotators up to 7.5 %; by item alone it is above 50 %."""
    rng = np.random.default_rng(11)
    annotators, items, each = DESIGNS[design]
    who, what = sparse(rng, annotators, items, each)
    runs, n = 500, len(who)
    tastes = spread[0] * rng.normal(size=(runs, annotators))[:, who]
    values = tastes + spread[1] * rng.normal(size=(runs, items))[:, what] + rng.normal(size=(runs, n))
    study = np.repeat(np.arange(runs), n)
    found = crossed_tests(
        study,
        values.ravel(),
        np.tile(who, runs),
        np.tile(what, runs),
        runs,
        against=0.0,
        confidence=0.95,
        scale=4.0,
    )
    share = np.mean(found.p_value < 0.05)
    assert 0.02 < share < (0.075 if annotators == 3 else 0.06) + 2 * np.sqrt(0.05 * 0.95 / runs)


def test_crossed_item_test_exceeds_its_level() -> None:
    """A test by item does not hold its level where annotators differ."""
    rng = np.random.default_rng(6)
    found = [
        stats.ttest_1samp((rng.normal(size=(3, 1)) + rng.normal(size=(3, 100))).mean(axis=0), 0).pvalue < 0.05
        for _ in range(200)
    ]
    assert np.mean(found) > 0.5


def test_crossed_degrees_of_freedom() -> None:
    """Two of a kind leave one degree of freedom and one leaves none."""
    assert crossed_test([1, 2, 1, 3], ["a", "a", "b", "b"], ["i", "j", "i", "j"]).df == 1
    assert "one annotator" in str(crossed_test([1, 2], ["a", "a"], ["i", "j"]).reason)
    assert "one item" in str(crossed_test([1, 2], ["a", "b"], ["i", "i"]).reason)
    assert "no variation" in str(crossed_test([1, 1], ["a", "b"], ["i", "j"]).reason)
    with pytest.raises(ValueError, match="finite"):
        crossed_test([1, np.nan], ["a", "b"], ["i", "j"])
    with pytest.raises(ValueError, match="one annotator and one item"):
        crossed_test([], [], [])


def test_a_verdict_of_three_annotators_who_differ_is_flagged() -> None:
    """Three rate x higher by two points, one and none: by item clear, for other annotators not."""
    rows: list[tuple[str, str, str, object]] = []
    for who, item in np.ndindex(3, 40):
        rows += [
            (f"p{who}", f"i{item}", "x", 2 + (2 - who) + item % 2),
            (f"p{who}", f"i{item}", "y", 2 - (item * (who + 1)) % 3 % 2),
        ]
    results = run(ratings=ratings(rows))
    (row,) = results["ratings"]["pairs"]
    assert (row["unit"], row["verdict"], row["crossed_verdict"], row["disagree"]) == ("item", "x", "indifferent", True)
    values = {"x": [], "y": []}  # type: ignore[var-annotated]
    for who, item, system, score in rows:
        values[system].append((who, item, score))
    difference = [x[2] - y[2] for x, y in zip(values["x"], values["y"], strict=True)]
    wanted = crossed_test(difference, [x[0] for x in values["x"]], [x[1] for x in values["x"]])
    assert (row["p_crossed"], row["crossed_df"]) == (pytest.approx(wanted.p_value), pytest.approx(wanted.df))


def test_choices_are_tested_in_the_same_way() -> None:
    rng = np.random.default_rng(1)
    picks = [
        (f"p{who}", f"i{item}", "x", "y", str(rng.choice(["x", "x", "y", "tie"])))
        for who in range(4)
        for item in range(15)
    ]
    (row,) = run(choices=choices(picks))["choices"]["pairs"]
    share = [{"x": 1.0, "tie": 0.5, "y": 0.0}[pick[4]] for pick in picks]
    wanted = crossed_test(share, [pick[0] for pick in picks], [pick[1] for pick in picks], against=0.5)
    assert row["p_crossed"] == row["p_crossed_adjusted"] == pytest.approx(wanted.p_value)
    assert row["disagree"] is (row["crossed_verdict"] != row["verdict"])


def test_crossed_test_of_an_llm_and_lower_is_better() -> None:
    """An LLM without assignments has no crossed test and lower is better turns its verdict."""
    rng = np.random.default_rng(2)
    rows: list[tuple[str, str, str, object]] = [
        (f"p{who}", f"i{item}", system, int(rng.integers(1, 4)) + 2 * (system == "x"))
        for who in range(12)
        for item in range(6)
        for system in "xy"
    ]
    (row,) = run(ratings=ratings(rows), plan=Plan(lower_is_better=frozenset({"overall"})))["ratings"]["pairs"]
    assert (row["verdict"], row["crossed_verdict"], row["disagree"]) == ("y", "y", False)
    llm = run(ratings=ratings([("g", *rest[1:]) for rest in rows if rest[0] == "p0"]), llms=("g",))
    (row,) = llm["ratings"]["pairs"]
    assert row["p_crossed"] is row["disagree"] is None
    assert "one annotator" in row["crossed_reason"]
