"""Variance components: analysis of variance by hand, published ratings, recovery, what items leave over."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import stdtr

from analysis.planning.assumptions import DEFAULTS
from analysis.planning.variance import CONFOUNDED, TOO_FEW, Components, estimate_components, fit_exposures

sds = st.floats(0.01, 3)


def simulate_crossed(
    components: Components,
    *,
    difference: float,
    annotators: int,
    n_items: int,
    pool: int,
    alpha: float,
    replicates: int,
    rng: np.random.Generator,
) -> float:
    """Return how often the annotators' t-test rejects where annotators and items are drawn anew.

    Annotator j reads items j * n_items, ..., modulo ``pool``, so items are seen equally often. With a
    difference of 0 this shows how far the test may be generalised to other items: it may where nobody
    shares an item, and rejects too often where the same few items are read by many.
    """
    shown = np.arange(annotators * n_items).reshape(annotators, n_items) % pool
    own = math.sqrt(components.annotator_sd**2 + components.residual_sd**2 / n_items + components.answer_sd**2)
    values = difference + own * rng.standard_normal((replicates, annotators))
    effects = components.item_sd * rng.standard_normal((replicates, pool))
    for column in shown.T:
        values += effects[:, column] / n_items
    t = values.mean(axis=1) / (values.std(axis=1, ddof=1) / math.sqrt(annotators))
    return float(np.mean(2 * stdtr(annotators - 1, -np.abs(t)) <= alpha))


def crossed(table: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    annotators, items = np.indices(table.shape)
    return table.ravel(), annotators.ravel(), items.ravel()


def test_planning_variance_of_complete_table():
    """A complete table gives the estimates of the analysis of variance."""
    table = np.random.default_rng(3).normal(size=(4, 7)) + np.arange(4)[:, None]
    a, b = table.shape
    rows, columns = table.mean(axis=1), table.mean(axis=0)
    within = np.sum((table - rows[:, None] - columns + table.mean()) ** 2) / ((a - 1) * (b - 1))
    found = estimate_components(*crossed(table))
    assert found.residual_variance == pytest.approx(within)
    assert found.annotator_variance == pytest.approx(rows.var(ddof=1) - within / b)
    assert found.item_variance == pytest.approx(columns.var(ddof=1) - within / a)


def test_components_of_an_incomplete_table_are_recovered():
    """Henderson's method is unbiased: the mean over many tables with holes comes back."""
    rng = np.random.default_rng(5)
    truth = Components(annotator_sd=0.5, item_sd=0.9, residual_sd=1.2)
    found = []
    for _ in range(400):
        annotators, items = (index.ravel() for index in np.indices((12, 20)))
        seen = rng.random(240) < 0.5
        annotators, items = annotators[seen], items[seen]
        values = 0.3 + 0.5 * rng.normal(size=12)[annotators] + 0.9 * rng.normal(size=20)[items]
        one = estimate_components(values + 1.2 * rng.normal(size=len(values)), annotators, items)
        found.append((one.annotator_variance, one.item_variance, one.residual_variance))
    mean, error = np.mean(found, axis=0), np.std(found, axis=0) / math.sqrt(len(found))
    wanted = np.square([truth.annotator_sd, truth.item_sd, truth.residual_sd])
    assert np.all(np.abs(mean - wanted) < 4 * error)


@settings(deadline=None)
@given(st.floats(-5, 5), st.floats(0.1, 5), st.permutations(range(12)))
def test_shift_order_and_names_do_not_matter(shift: float, scale: float, order: list[int]):
    values, annotators, items = crossed(np.random.default_rng(1).normal(size=(3, 4)))
    plain = estimate_components(values, annotators, items)
    moved = estimate_components((scale * values + shift)[order], 7 * annotators[order] + 2, -items[order])
    assert moved.item_variance == pytest.approx(scale**2 * (plain.item_variance or 0), abs=1e-9)
    assert moved.residual_variance == pytest.approx(scale**2 * (plain.residual_variance or 0), abs=1e-9)


def test_what_cannot_be_estimated_has_a_reason():
    one = estimate_components(np.array([1.0, 2.0]), np.array([0, 0]), np.array([0, 1]))
    own_items = estimate_components(np.array([1.0, 2.0, 4.0]), np.array([0, 1, 2]), np.array([0, 1, 2]))
    assert (one.reason, one.components) == (TOO_FEW, None)
    assert (own_items.reason, own_items.components) == (CONFOUNDED, None)
    flat = estimate_components(*crossed(np.ones((3, 3))))
    assert (flat.reason, flat.components) == (None, None)


@settings(deadline=None)
@given(sds, sds, sds, sds, st.integers(1, 50))
def test_reading_more_never_spreads_contributions(a: float, b: float, c: float, d: float, n_items: int):
    parts = Components(annotator_sd=a, item_sd=b, residual_sd=c, answer_sd=d)
    assert parts.contribution_sd(n_items + 1) <= parts.contribution_sd(n_items)
    assert parts.contribution_sd(n_items, directions=2) <= parts.contribution_sd(n_items)
    assert parts.contribution_sd(10**9, directions=2) == pytest.approx(math.hypot(a, d / math.sqrt(2)), rel=1e-4)


@pytest.mark.parametrize("wrong", [{"annotator_sd": -1}, {"annotator_sd": 0}, {"annotator_sd": math.nan}])
def test_wrong_components_are_refused(wrong: dict[str, float]):
    with pytest.raises(ValueError, match="must"):
        Components(**wrong)


def test_an_exposure_study_tells_the_parts_apart():
    exposures = (1, 2, 4, 8)
    found = fit_exposures(exposures, [math.sqrt(0.04 + 0.08 / m) for m in exposures], [30, 30, 25, 28])
    assert (found.annotator_variance, found.item_variance) == pytest.approx((0.04, 0.08))
    assert fit_exposures([4, 4], [0.3, 0.3], [30, 30]).reason


def test_the_usual_split_of_likert_is_that_of_published_ratings(shared_data: Path):
    """Differences of two systems' scores, three people and a hundred items each, mean over pairs and criteria.

    Read as orders they give the SD between annotators that the default of rankings is held against.
    """
    found, as_orders = [], []
    for task in ("summarization", "simplification"):
        rows = pl.read_csv(shared_data / "sottana" / f"{task}_ratings.csv", infer_schema_length=None).filter(
            pl.col("rater") != "gpt4"
        )
        for _, own in rows.group_by("criterion"):
            wide = own.pivot("system", index=["rater", "item_id"], values="score")
            for x, y in itertools.combinations(wide.columns[2:], 2):
                codes = [wide[name].cast(pl.Categorical).to_physical().to_numpy() for name in ("rater", "item_id")]
                difference = (wide[x] - wide[y]).to_numpy().astype(float)
                as_orders.append(estimate_components((np.sign(difference) + 1) / 2, *codes).annotator_variance)
                one = estimate_components(difference, *codes)
                found.append((one.annotator_variance, one.item_variance, one.residual_variance))
    share = np.mean(found, axis=0) / np.sum(np.mean(found, axis=0))
    usual = DEFAULTS["likert"][0]
    ours = np.square([usual.annotator_sd, usual.item_sd, usual.residual_sd])
    assert np.abs(share - ours / ours.sum()) == pytest.approx(0, abs=0.02)
    between = math.sqrt(float(np.mean(as_orders)))
    assert between == pytest.approx(0.07, abs=0.005)
    assert between < DEFAULTS["ranking"][0].annotator_sd


def test_the_test_of_annotators_is_about_these_items_only():
    """Shared items leave a variance that annotators do not reduce; own items leave none."""
    parts = Components(annotator_sd=0.5, item_sd=0.9, residual_sd=1.2)
    settings = {"difference": 0.0, "annotators": 60, "n_items": 5, "alpha": 0.05, "replicates": 3000}
    own = simulate_crossed(parts, pool=300, rng=np.random.default_rng(1), **settings)
    shared = simulate_crossed(parts, pool=5, rng=np.random.default_rng(1), **settings)
    assert own == pytest.approx(0.05, abs=4 * math.sqrt(0.05 * 0.95 / 3000))
    assert shared > 0.5
    assert parts.standard_error(60, 5, 300) == pytest.approx(parts.contribution_sd(5) / math.sqrt(60))
    assert parts.standard_error(10**9, 5, 5) == pytest.approx(0.9 / math.sqrt(5), rel=1e-6)
