"""The cumulative logit model, against statsmodels and against known odds."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.miscmodels.ordinal_model import OrderedModel

from analysis import fit_ordinal
from analysis.rating_checks.ordinal import NO_SPREAD
from tests.analysis.made_answers import ratings, run

Array = np.ndarray[Any, Any]


def fit_of_statsmodels(scores: Array, systems: Array, clusters: Array) -> tuple[Array, Array, float]:
    """Return log-odds of all systems but the first, their standard errors, and the log-likelihood."""
    dummies = (systems[:, None] == np.arange(1, systems.max() + 1)).astype(float)
    k, n, parameters = dummies.shape[1], len(scores), dummies.shape[1] + len(np.unique(scores)) - 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the optimiser, which stops at the last digits
        given = {"groups": clusters, "use_correction": True}
        model = OrderedModel(scores, dummies, distr="logit")
        found = model.fit(method="bfgs", disp=0, gtol=1e-8, maxiter=500, cov_type="cluster", cov_kwds=given)
    extra = np.sqrt((n - 1) / (n - parameters))  # statsmodels' second factor, which is left out here
    return np.asarray(found.params)[:k], np.asarray(found.bse)[:k] / extra, float(found.llf)


def test_estimates_and_clustered_errors_are_those_of_statsmodels() -> None:
    rng = np.random.default_rng(0)
    systems, clusters = np.tile(np.arange(4), 80), np.repeat(np.arange(80), 4)
    scores = np.clip(rng.integers(1, 5, 320) + (systems == 1) + rng.integers(0, 2, 80)[clusters], 1, 5)
    log_odds, errors, likelihood = fit_of_statsmodels(scores, systems, clusters)
    found = fit_ordinal(scores, systems, clusters)
    assert found.log_odds[1:] == pytest.approx(log_odds, abs=1e-5)
    assert np.sqrt(np.diag(found.covariance))[1:] == pytest.approx(errors, rel=1e-3)
    assert found.log_likelihood == pytest.approx(likelihood, rel=1e-9)


def test_sottana_is_fitted_as_by_statsmodels(shared_data: Path) -> None:
    table = pl.read_csv(shared_data / "sottana" / "summarization_ratings.csv").filter(pl.col("criterion") == "fluency")
    table = table.filter(pl.col("rater") != "gpt4")
    systems = table["system"].unique(maintain_order=True).to_list()
    system = np.array([systems.index(name) for name in table["system"]])
    item = np.unique(table["item_id"].to_numpy(), return_inverse=True)[1]
    log_odds, errors, _ = fit_of_statsmodels(table["score"].to_numpy(), system, item)
    found = fit_ordinal(table["score"].to_numpy(), system, item)
    assert found.log_odds[1:] == pytest.approx(log_odds, abs=1e-4)
    assert np.sqrt(np.diag(found.covariance))[1:] == pytest.approx(errors, rel=1e-3)


def test_two_categories_are_a_logistic_regression() -> None:
    """x: 6 of 8 high, y: 3 of 9: log-odds ratio log(3) - log(1/2)."""
    scores = [2] * 6 + [1] * 2 + [2] * 3 + [1] * 6
    found = fit_ordinal(scores, [0] * 8 + [1] * 9, range(17))
    estimate, _, reason = found.difference(0, 1)
    assert (estimate, reason) == (pytest.approx(np.log(6)), None)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**16))
def test_ordinal_odds_under_turned_scale(seed: int) -> None:
    """Turning the scale turns the odds and relabelling permutes them."""
    rng = np.random.default_rng(seed)
    systems, clusters = np.tile(np.arange(3), 12), np.repeat(np.arange(12), 3)
    scores = rng.integers(1, 5, 36)
    found, turned = fit_ordinal(scores, systems, clusters), fit_ordinal(6 - scores, systems, clusters)
    moved = fit_ordinal(scores * 10, (systems + 1) % 3, [f"a{number}" for number in clusters])
    for x, y in ((0, 1), (1, 2)):
        estimate, error, reason = found.difference(x, y)
        back, same, _ = turned.difference(y, x)
        assert reason is not None or (back, same) == (pytest.approx(estimate, abs=1e-7), pytest.approx(error))
        renamed = moved.difference((x + 1) % 3, (y + 1) % 3)
        assert reason == renamed[2]
        assert reason is not None or renamed[0] == pytest.approx(estimate, abs=1e-7)


def test_known_odds_are_recovered() -> None:
    rng = np.random.default_rng(3)
    systems, clusters = np.repeat([0, 1, 2], 4000), np.tile(np.arange(400), 30)
    noise = rng.logistic(size=12000) + np.array([0.0, 0.8, -0.5])[systems]
    found = fit_ordinal(np.digitize(noise, [-1, 0, 1.5]), systems, clusters)
    assert found.log_odds == pytest.approx([0, 0.8, -0.5], abs=0.12)
    assert found.thresholds[0] == pytest.approx([-1, 0, 1.5], abs=0.1)


def test_ordinal_systems_without_overlap() -> None:
    """Here z got nothing but the best rating, as some LLMs give: x and y are fitted without it."""
    scores = [1, 2, 3, 2, 3, 3, 2, 4, 5, 5, 5, 5] * 2
    systems = [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2] * 2
    found = fit_ordinal(scores, systems, list(range(24)))
    assert found.difference(0, 2)[0] is None
    assert "separation" in str(found.difference(1, 2)[2])
    alone = fit_ordinal(*(np.array(column)[np.array(systems) < 2] for column in (scores, systems)), range(16))
    assert found.difference(0, 1)[0] == pytest.approx(alone.difference(0, 1)[0])


def test_ordinal_reasons() -> None:
    """Too many or too few categories and too few clusters have a reason."""
    values = np.arange(24) / 2
    assert "more than 11" in str(fit_ordinal(values, [0, 1] * 12, range(24)).reason)
    assert str(fit_ordinal([3, 3], [0, 1], [0, 1]).reason) == "every rating is the same"
    found = fit_ordinal([1, 2, 3, 2, 3, 1], [0, 0, 0, 1, 1, 1], [0, 0, 0, 1, 1, 1])
    assert "2 units are too few" in str(found.difference(0, 1)[2])


def test_a_reason_that_holds_for_all_pairs_is_said_once() -> None:
    rows: list[tuple[str, str, str, object]] = [
        (f"p{who}", f"i{item}", system, who * 7.5 + item * 3.1 + len(system) * who % 5)
        for who in range(4)
        for item in range(5)
        for system in ("x", "yy", "zzz")
    ]
    checks = run(ratings=ratings(rows))["ratings"]["robustness"]
    (row,) = [check for check in checks if check["method"] == "ordinal"]
    assert (row["system_x"], row["system_y"], row["p_value"]) == (None, None, None)
    assert "more than 11" in row["reason"]
    assert len([check for check in checks if check["method"] == "wilcoxon"]) == 3


@pytest.mark.parametrize(
    ("scores", "systems"),
    [
        ([1, 3, 2, 3, 2, 2], [0, 0, 1, 0, 0, 2]),
        ([1, 1, 3, 2, 2, 3], [0, 2, 2, 1, 2, 0]),
        ([1, 2, 2, 2, 3], [0, 1, 2, 1, 0]),
    ],
)
def test_units_that_do_not_differ_are_no_test(scores: list[int], systems: list[int]) -> None:
    units = [number % 5 for number in range(len(scores))]
    fit = fit_ordinal(scores, systems, units)
    told = [fit.difference(x, y) for x in range(3) for y in range(x)]
    assert NO_SPREAD in [reason for *_, reason in told]
    assert all(se is None or se > 1e-9 for _, se, _ in told)
    rows = [(f"a{unit}", f"i{n}", "xyz"[systems[n]], scores[n]) for n, unit in enumerate(units)]
    robust = [row for row in run(ratings=ratings(rows))["ratings"]["robustness"] if row["method"] == "ordinal"]
    assert len(robust) == 3
    assert all(row["reason"] if row["p_value"] is None else 0 <= row["p_value"] <= 1 for row in robust)
