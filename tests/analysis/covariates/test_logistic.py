"""Strengths with covariates: statsmodels, scikit-learn, arena-rank, properties, a known truth, and what has no fit."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from statsmodels.genmod.families import Binomial
from statsmodels.genmod.generalized_linear_model import GLM

import tests.peers
from analysis.covariates.logistic import Compared, LogisticFit, fit_logistic
from analysis.statistics.coding import Floats
from analysis.statistics.reasons import why
from tests.analysis.covariates.made_comparisons import TASTE, TRUTH, design, made, swapped
from tests.conftest import need
from tests.peers.made_exports import made_battles


def mean_zero(k: int) -> Floats:
    """Return what turns strengths less the first into strengths of mean zero."""
    turn = np.vstack([np.zeros(k - 1), np.eye(k - 1)])
    found: Floats = turn - turn.mean(axis=0)
    return found


@pytest.mark.parametrize("n_clusterings", [1, 2])
def test_fit_is_that_of_statsmodels(n_clusterings: int) -> None:
    """Strengths, effects and clustered errors, of one clustering and of two, with fractional wins among them."""
    rng = np.random.default_rng(3)
    rows = made(rng, 500)
    rows = replace(rows, won=np.where(np.arange(500) % 5 == 0, 0.5 + (rows.won - 0.5) * 0.6, rows.won))
    clusters = [rng.integers(0, 20, 500), rng.integers(0, 35, 500)][:n_clusterings]
    found = fit_logistic(rows, clusters)
    given = {"groups": np.column_stack(clusters) if n_clusterings == 2 else clusters[0]}
    other = GLM(rows.won, design(rows), family=Binomial()).fit(cov_type="cluster", cov_kwds=given)
    turn, k = mean_zero(4), 3
    assert found.strength == pytest.approx(turn @ other.params[:k], abs=1e-8)
    assert found.effect == pytest.approx(other.params[k:], abs=1e-8)
    covariance = other.cov_params()
    assert found.se_effect == pytest.approx(np.sqrt(np.diag(covariance)[k:]), rel=1e-6)
    assert found.se_strength == pytest.approx(np.sqrt(np.diag(turn @ covariance[:k, :k] @ turn.T)), rel=1e-6)
    assert found.n_clusters == 20


def test_fit_is_that_of_scikit_learn() -> None:
    """Also of an LLM's taste for length in one pair: who won on tanh of the standardised difference."""
    need("sklearn")
    from sklearn.linear_model import LogisticRegression

    rows = made(np.random.default_rng(3), 400)
    other = LogisticRegression(C=np.inf, fit_intercept=False, tol=1e-10, max_iter=1000).fit(design(rows), rows.won)
    assert fit_logistic(rows).effect == pytest.approx(other.coef_[0, 3:], abs=1e-5)


def test_arena_rank_finds_the_same() -> None:
    """Its ridge at reg = 1/n pulls coefficients by half their squares in the likelihood: so the slopes there say."""
    found = json.loads((Path(tests.peers.__file__).parent / "peers.json").read_text())["arena"]["contextual"]
    battles = made_battles()
    names = sorted({one["model_a"] for one in battles})
    rows = Compared(
        x=np.array([names.index(one["model_a"]) for one in battles]),
        y=np.array([names.index(one["model_b"]) for one in battles]),
        won=np.array([{"model_a": 1.0, "model_b": 0.0}.get(one["winner"], 0.5) for one in battles]),
        covariates=np.array([[one["length"], one["headings"]] for one in battles]),
        n_systems=len(names),
    )
    own = fit_logistic(rows)
    assert found["competitors"] == names
    assert own.effect == pytest.approx(found["coefficients"], abs=0.003)
    ratings = np.array(found["strengths"])
    assert own.strength == pytest.approx(ratings - ratings.mean(), abs=0.003)
    eta = rows.eta(np.array([*ratings, *found["coefficients"]]))
    assert rows.gradient(rows.won - 1 / (1 + np.exp(-eta))) == pytest.approx(
        [0, 0, 0, 0, *found["coefficients"]], abs=0.01
    )


def same(one: LogisticFit, other: LogisticFit) -> None:
    """Compare two fits to rounding."""
    for name in ("strength", "effect", "se_strength", "se_effect"):
        assert getattr(one, name) == pytest.approx(getattr(other, name), abs=1e-9)


def test_the_side_of_a_comparison_changes_nothing() -> None:
    """Neither does the order of the rows, nor the unit of a covariate."""
    rng = np.random.default_rng(3)
    rows = made(rng, 300)
    clusters = [rng.integers(0, 15, 300), rng.integers(0, 12, 300)]
    found = fit_logistic(rows, clusters)
    same(found, fit_logistic(swapped(rows, rng.permutation(300)[:150]), clusters))
    order = rng.permutation(300)
    moved = Compared(
        x=rows.x[order], y=rows.y[order], won=rows.won[order], covariates=rows.covariates[order], n_systems=4
    )
    same(found, fit_logistic(moved, [one[order] for one in clusters]))
    wide = fit_logistic(replace(rows, covariates=rows.covariates * 1000), clusters)
    assert wide.effect * 1000 == pytest.approx(found.effect, abs=1e-9)
    assert wide.strength == pytest.approx(found.strength, abs=1e-9)


def test_names_of_systems_change_nothing() -> None:
    rng = np.random.default_rng(3)
    rows = made(rng, 300)
    other = np.array([2, 0, 3, 1])
    found, renamed = fit_logistic(rows), fit_logistic(replace(rows, x=other[rows.x], y=other[rows.y]))
    assert renamed.strength[other] == pytest.approx(found.strength, abs=1e-9)
    assert renamed.effect == pytest.approx(found.effect, abs=1e-9)


def test_controlling_recovers_the_true_order() -> None:
    """A judge likes length, and the worst system writes the longest: it comes first without, last with control."""
    rng = np.random.default_rng(5)
    sums, n = np.zeros(4), 8
    for _ in range(n):
        rows = made(rng, 20_000)
        found = fit_logistic(rows)
        sums += found.strength
        assert list(np.argsort(-found.strength)) == [0, 1, 2, 3]
    assert sums / n == pytest.approx(TRUTH, abs=0.02)
    plain = fit_logistic(replace(rows, covariates=np.zeros((len(rows), 0))))
    assert list(np.argsort(-plain.strength)) == [3, 2, 1, 0]


def test_intervals_cover_what_they_should() -> None:
    """Two annotator-like clusterings of 40 and 50 with their own tastes: close to 95%."""
    rng = np.random.default_rng(8)
    covered = total = 0
    for _ in range(60):
        rows = made(rng, 900)
        who, item = rng.integers(0, 40, 900), rng.integers(0, 50, 900)
        own = TASTE[0] + 0.4 * rng.normal(size=40)[who]
        eta = TRUTH[rows.x] - TRUTH[rows.y] + rows.covariates[:, 0] * own + rows.covariates[:, 1] * TASTE[1]
        won = (rng.random(900) < 1 / (1 + np.exp(-eta))).astype(np.float64)
        found = fit_logistic(replace(rows, won=won), [who, item])
        assert found.se_effect is not None
        covered += int(abs(found.effect[1] - TASTE[1]) < 2.02 * found.se_effect[1])
        total += 1
    assert covered / total >= 0.88


def test_what_cannot_be_told_apart_has_a_reason() -> None:
    rng = np.random.default_rng(3)
    rows = made(rng, 200)
    first = rows.covariates[:, 0]
    by_system = np.array([1.0, 5.0, 2.0, 0.5])
    columns = [np.zeros(200), by_system[rows.x] - by_system[rows.y], first, 3 * first, rows.covariates[:, 1]]
    found = fit_logistic(replace(rows, covariates=np.column_stack(columns)))
    codes = [one and one.code for one in found.dropped]
    assert codes == ["covariate_alike", "confounded_with_systems", None, "confounded_with_covariates", None]
    assert list(np.isnan(found.effect)) == [True, True, False, True, False]
    assert found.effect[[2, 4]] == pytest.approx(fit_logistic(rows).effect, abs=1e-9)


@pytest.mark.parametrize("several", [False, True], ids=["one pair", "four systems"])
def test_answers_told_with_certainty_have_no_fit(several: bool) -> None:
    """Where the longer output always wins no number is made up, also if ties are among the rest."""
    rng = np.random.default_rng(3)
    rows = made(rng, 300) if several else replace(made(rng, 300, strength=TRUTH[:2]), n_systems=2)
    rows = replace(rows, won=(rows.covariates[:, 0] > 0).astype(np.float64))
    found = fit_logistic(rows, [rng.integers(0, 20, 300)])
    assert str(found.reason) == str(why("told_with_certainty"))
    assert np.isnan([*found.strength, *found.effect]).all()
    assert found.se_effect is None
