"""Certainty by outputs read: hand-worked curves, trends with a known truth, and over-confidence after one output."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from analysis import Plan
from tests.analysis.made_answers import Results, preferences, render_report, run
from tests.analysis.read_page import read_page
from tests.analysis.sample_results import ARABIC, HOSTILE, LATEX

OPEN = Plan(consistency_tau=None)
EXPOSURES = (1, 2, 4, 8)


def table(values: dict[tuple[str, int], float], pair: tuple[str, str] = ("x", "y")) -> pl.DataFrame:
    """Return one answer for each (annotator, exposure)."""
    rows = [(who, *pair, value) for (who, _), value in values.items()]
    return preferences(rows, exposure=[exposure for _, exposure in values])


def simulated(
    rng: np.random.Generator, means: tuple[float, ...], people: int = 29, *, apart: bool = False
) -> pl.DataFrame:
    """Return annotators whose expected distance from 0.5 is ``means`` by exposure; ``apart``: each saw one only."""
    values = {}
    for who in range(people):
        own = rng.normal(0, 0.05)
        for place, (exposure, mean) in enumerate(zip(EXPOSURES, means, strict=True)):
            if not apart or who % len(means) == place:
                distance = min(max(mean + own + rng.normal(0, 0.06), 0), 0.5)
                values[f"p{who}", exposure] = round(0.5 + float(rng.choice([-1, 1], p=[0.1, 0.9])) * distance, 3)
    return table(values)


def first(results: Results, exposure: int) -> dict[str, Any]:
    (row,) = [row for row in results["first_exposure"] if row["exposure"] == exposure]
    found: dict[str, Any] = row
    return found


def test_a_hand_worked_curve_and_trend() -> None:
    """Distances at 1, 2, 4: a .1 .2 .3, b .2 .2 .2, c .1 .1 .4: slopes by doubling .1, 0, .15."""
    distances = {"a": (0.1, 0.2, 0.3), "b": (0.2, 0.2, -0.2), "c": (0.1, -0.1, 0.4)}
    values = {(who, 2**step): 0.5 + each for who, own in distances.items() for step, each in enumerate(own)}
    results = run(preferences=table(values))
    last = results["exposure_curve"][-1]
    assert (last["exposure"], last["n"], last["mean_distance"]) == (4, 3, pytest.approx(0.3))
    assert last["distance_of_mean"] == pytest.approx(0.5 / 3)
    trend, later = results["exposure_trend"]
    assert (trend["exposures"], trend["test"], trend["n"]) == ([1, 2, 4], "one-sample t of slopes", 3)
    assert trend["slope"] == pytest.approx(0.25 / 3)
    assert trend["p_value"] == pytest.approx(stats.ttest_1samp([0.1, 0, 0.15], 0).pvalue)
    assert (later["exposures"], later["slope"]) == ([2, 4], pytest.approx(0.4 / 3))
    row = first(results, 4)
    assert (row["test"], row["mean_difference"]) == ("paired t", pytest.approx(-0.5 / 3))
    assert row["over_confident"] is False


def test_one_exposure_leaves_nothing_to_say() -> None:
    results = run(preferences=preferences([("a", "x", "y", 0.6), ("b", "x", "y", 0.7)], exposure=5))
    assert results["exposure_curve"] == results["exposure_trend"] == results["first_exposure"] == []
    assert run(preferences=preferences([("a", "x", "y", 0.6)]))["exposure_curve"] == []


def test_growing_certainty_is_found_and_is_no_overconfidence() -> None:
    results = run(preferences=simulated(np.random.default_rng(1), (0.1, 0.17, 0.22, 0.25)), plan=OPEN)
    assert [row["verdict"] for row in results["exposure_trend"]] == ["grows", "grows"]
    assert results["exposure_trend"][0]["slope"] == pytest.approx(0.05, abs=0.015)
    assert [row["over_confident"] for row in results["first_exposure"]] == [False, False]


def test_the_figure_of_the_paper_in_simulation() -> None:
    """Sure after one output, then less and from there growing ever less: over-confident against the next exposure."""
    results = run(preferences=simulated(np.random.default_rng(2), (0.24, 0.15, 0.22, 0.25)), plan=OPEN)
    assert first(results, 2)["over_confident"] is True
    assert first(results, 8)["over_confident"] is False
    assert results["exposure_trend"][1]["exposures"] == [2, 4, 8]
    assert results["exposure_trend"][1]["verdict"] == "grows"


def test_exposure_tests_unpaired_where_one_was_seen() -> None:
    """Where everybody saw one exposure the tests are unpaired and say so."""
    rng = np.random.default_rng(3)
    frame = simulated(rng, (0.25, 0.15, 0.25, 0.35), people=160, apart=True)
    results = run(preferences=frame, plan=OPEN)
    trend = results["exposure_trend"][1]
    assert (trend["test"], trend["n"], trend["verdict"]) == ("regression clustered by unit", 120, "grows")
    assert (first(results, 2)["test"], first(results, 2)["over_confident"]) == ("Welch t", True)
    answered = frame.with_columns(pl.col("preference").cast(pl.Float64).sub(0.5).abs().alias("d"))
    one, two = (answered.filter(pl.col("exposure") == exposure)["d"].to_numpy() for exposure in (1, 2))
    assert first(results, 2)["p_value"] == pytest.approx(stats.ttest_ind(one, two, equal_var=False).pvalue, rel=1e-8)


def test_the_clustered_regression_is_that_of_statsmodels() -> None:
    """Two pairs, some annotators with both; statsmodels multiplies the sandwich by (N - 1) / (N - K) as well."""
    from statsmodels.api import OLS

    rng = np.random.default_rng(4)
    rows, exposure = [], []
    for who in range(40):
        for place, pair in enumerate((("x", "y"), ("x", "z"))[: 1 + who % 2]):
            rows.append((f"p{who}", *pair, round(float(rng.uniform(0.3, 1)), 2)))
            exposure.append(2 ** ((who + place) % 4))
    results = run(preferences=preferences(rows, exposure=exposure), plan=OPEN)
    trend = results["exposure_trend"][0]
    assert trend["test"] == "regression clustered by unit"
    second = np.array([row[2] == "z" for row in rows], dtype=float)
    design = np.column_stack([np.ones(len(rows)), np.log2(exposure), second])
    groups = np.array([int(row[0][1:]) for row in rows])
    distance = np.array([abs(row[3] - 0.5) for row in rows])
    fitted = OLS(distance, design).fit(cov_type="cluster", cov_kwds={"groups": groups})
    n = len(rows)
    se = float(fitted.bse[1]) * math.sqrt((n - 3) / (n - 1))
    assert trend["slope"] == pytest.approx(float(fitted.params[1]), rel=1e-9)
    assert trend["t"] == pytest.approx(trend["slope"] / se, rel=1e-9)
    assert trend["df"] == 39
    assert trend["p_value"] == pytest.approx(2 * stats.t.sf(abs(trend["t"]), 39), rel=1e-9)


def test_several_pairs_are_compared_within_themselves() -> None:
    """One pair is far from chance and was read once, the other near and read four times: no trend within either."""
    rows, exposure = [], []
    for who in range(12):
        jitter = who % 3 / 100
        for m in (1, 4) if who % 2 else (1,):
            rows.append((f"p{who}", "x", "y", 0.9 + jitter * (m == 1)))
            exposure.append(m)
        for m in (1, 4):
            rows.append((f"p{who}", "x", "z", 0.6 + jitter * (m == 4)))
            exposure.append(m)
    results = run(preferences=preferences(rows, exposure=exposure), plan=OPEN)
    trend = results["exposure_trend"][0]
    assert abs(trend["slope"]) < 0.01
    scopes = [(row["system_y"], row["exposure"]) for row in results["exposure_curve"]]
    assert scopes == [(None, 1), (None, 4), ("y", 1), ("y", 4), ("z", 1), ("z", 4)]


@pytest.mark.parametrize("apart", [False, True])
def test_exposure_trend_keeps_the_level(apart: bool) -> None:
    """Equal distances at every exposure: each finding is an error; tests straight on the units, for speed."""
    from analysis.preference_checks.exposure import Distances, exposure_trends, first_exposure

    rng = np.random.default_rng(6)
    runs, wrong = 400, np.zeros(2)
    for _ in range(runs):
        unit, exposure = np.repeat(np.arange(24), 4), np.tile(np.array(EXPOSURES), 24)
        kept = unit % 4 == np.tile(np.arange(4), 24) if apart else np.ones(96, dtype=bool)
        distance = np.clip(0.2 + rng.normal(0, 0.08, 96) + np.repeat(rng.normal(0, 0.05, 24), 4), 0, 0.5)
        own = Distances(
            group="human",
            criterion="overall",
            pairs=(("x", "y"),),
            exposures=EXPOSURES,
            unit=unit[kept],
            pair=np.zeros(kept.sum(), dtype=np.int64),
            exposure=exposure[kept],
            value=0.5 + distance[kept],
            distance=distance[kept],
        )
        wrong[0] += any(row.verdict != "no clear change" for row in exposure_trends(own, OPEN))
        wrong[1] += any(row.over_confident is True for row in first_exposure(own, OPEN))
    assert np.all(wrong / runs <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / runs)), wrong


@settings(max_examples=7, deadline=None)
@given(st.lists(st.lists(st.integers(0, 100), min_size=3, max_size=3), min_size=3, max_size=6), st.randoms())
def test_names_order_and_direction_do_not_matter(answers: list[list[int]], random: Any) -> None:
    values = {(f"p{who}", 2**step): each / 100 for who, own in enumerate(answers) for step, each in enumerate(own)}
    other = {(f"q{9 - int(who[1:])}", m): round(1 - value, 2) for (who, m), value in values.items()}
    frame = table(other, ("y", "x"))
    shuffled = frame[random.sample(range(frame.height), frame.height)]
    one, two = run(preferences=table(values), plan=OPEN), run(preferences=shuffled, plan=OPEN)
    for key, names in (
        ("exposure_curve", ("n", "mean_distance", "distance_of_mean")),
        ("exposure_trend", ("slope", "p_value")),
    ):
        for row, same in zip(one[key], two[key], strict=True):
            for name in names:
                assert same[name] == (None if row[name] is None else pytest.approx(row[name], abs=1e-9))


def test_the_report_shows_the_curve_and_every_check() -> None:
    rng = np.random.default_rng(8)
    rows, exposure = [], []
    systems = (HOSTILE, ARABIC, LATEX)
    for who in range(14):
        for m in (1, 2, 8):
            for x, y in ((0, 1), (1, 2), (0, 2)):
                p = round(float(rng.uniform(0.3, 0.95)), 2)
                q = round(min(1.0, max(0.0, 1 - p + float(rng.normal(0, 0.08)))), 2)
                rows += [(f"p{who}", systems[x], systems[y], p), (f"p{who}", systems[y], systems[x], q)]
                exposure += [m, m]
    results = run(preferences=preferences(rows, exposure=exposure))
    files = render_report(results)
    page = read_page(files["report.html"])
    assert {"exposure_curve", "exposure_trend", "first_exposure", "consistency_sweep", "coherence"} <= set(page.tables)
    assert len(page.tables["exposure_curve"]) == 1 + len(results["exposure_curve"])
    assert "script" not in {tag for tag, _ in page.tags}
    assert {"figures/exposure-curve.svg", "figures/consistency-sweep.svg"} <= set(files)
    names = {"exposure_curve", "exposure_trend", "first_exposure", "consistency_sweep", "coherence"}
    assert {f"tables/{name}.csv" for name in names} <= set(files)
    for head, *body in page.tables.values():
        assert all(field.strip() or title == "Stars" for row in body for title, field in zip(head, row, strict=True))
