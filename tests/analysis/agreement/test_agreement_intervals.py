"""Mixed models for missing cells, and how often intervals cover the truth in small simulations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from statsmodels.regression.mixed_linear_model import MixedLM

from analysis import exact_agreement, icc, krippendorff_alpha

FORMS: tuple[Any, ...] = ("icc1", "icc2", "icc3", "icc1k", "icc2k", "icc3k")


def crossed(rng: np.random.Generator, units: int, annotators: int, *, missing: float = 0.0) -> np.ndarray:
    """Return answers with variances 1 (units), 0.25 (annotators) and 1 (error): ICC2 is 4/9."""
    table = rng.normal(0, 1, (units, 1)) + rng.normal(0, 0.5, (1, annotators)) + rng.normal(0, 1, (units, annotators))
    table[rng.random(table.shape) < missing] = np.nan
    return table


def long(table: np.ndarray) -> pd.DataFrame:
    unit, annotator = np.nonzero(~np.isnan(table))
    return pd.DataFrame({"unit": unit, "annotator": annotator, "y": table[unit, annotator]})


@pytest.mark.filterwarnings("ignore")
def test_missing_cells_match_statsmodels() -> None:
    table = crossed(np.random.default_rng(1), 50, 4, missing=0.3)
    frame = long(table)
    one_way = MixedLM.from_formula("y ~ 1", frame, groups="unit").fit()
    fixed = MixedLM.from_formula("y ~ C(annotator)", frame, groups="unit").fit()
    for form, model in (("icc1", one_way), ("icc3", fixed)):
        between = float(model.cov_re.iloc[0, 0])
        found = icc(table, form=form)  # type: ignore[arg-type]
        assert found.value == pytest.approx(between / (between + model.scale), abs=1e-4)
        assert found.settings["estimator"] == "mixed model (REML)"


def test_crossed_effects_match_a_dense_likelihood() -> None:
    """The textbook way, with the whole covariance matrix written out."""
    frame = long(crossed(np.random.default_rng(1), 40, 4, missing=0.3))
    y = frame["y"].to_numpy()
    same_unit = np.equal.outer(frame["unit"].to_numpy(), frame["unit"].to_numpy())
    same_annotator = np.equal.outer(frame["annotator"].to_numpy(), frame["annotator"].to_numpy())

    def deviance(logs: np.ndarray) -> float:
        unit, annotator, error = np.exp(logs)
        covariance = unit * same_unit + annotator * same_annotator + error * np.eye(len(y))
        inverse = np.linalg.inv(covariance)
        weight = inverse.sum()
        rest = y - inverse.sum(axis=0) @ y / weight
        return float(np.linalg.slogdet(covariance)[1] + np.log(weight) + rest @ inverse @ rest)

    best = minimize(deviance, np.zeros(3), method="Nelder-Mead", options={"xatol": 1e-7, "fatol": 1e-10})
    unit, annotator, error = np.exp(best.x)
    table = np.full((40, 4), np.nan)
    table[frame["unit"], frame["annotator"]] = y
    assert icc(table, form="icc2").value == pytest.approx(unit / (unit + annotator + error), abs=1e-5)


def test_without_a_missing_cell_the_model_gives_the_mean_squares(monkeypatch: pytest.MonkeyPatch) -> None:
    """A unit that nobody paired makes the table incomplete; where the unit carries nothing, both ways agree."""
    from analysis.agreement.data import reliability_data
    from analysis.agreement.variance_components import fit_share, sufficient_sums

    table = crossed(np.random.default_rng(2), 80, 4)
    for form, annotators in (("icc1", "absent"), ("icc2", "random"), ("icc3", "fixed")):
        exact = icc(table, form=form)  # type: ignore[arg-type]
        found = fit_share(sufficient_sums(reliability_data(table)), annotators, confidence=0.95)  # type: ignore[arg-type]
        assert found.value == pytest.approx(exact.value, abs=1e-10)


@pytest.mark.parametrize("form", FORMS)
def test_missing_cells_move_an_icc_little(form: Any) -> None:
    rng = np.random.default_rng(3)
    table = crossed(rng, 300, 5)
    holes = table.copy()
    holes[rng.random(table.shape) < 0.1] = np.nan
    full, part = icc(table, form=form), icc(holes, form=form)
    assert part.value == pytest.approx(full.value, abs=0.05)
    assert part.ci_low is not None
    assert part.ci_low < part.value < part.ci_high  # type: ignore[operator]


def test_an_icc_with_missing_cells_recovers_the_truth() -> None:
    rng = np.random.default_rng(4)
    found = [icc(crossed(rng, 120, 12, missing=0.5), form="icc2").value for _ in range(15)]
    assert np.mean([value for value in found if value is not None]) == pytest.approx(4 / 9, abs=0.05)


def steps(rng: np.random.Generator, units: int) -> np.ndarray:
    return np.clip(np.round(3 + rng.normal(0, 1, (units, 1)) + rng.normal(0, 1, (units, 4))), 1, 5)


def covers(low: float | None, high: float | None, truth: float) -> bool:
    return low is not None and high is not None and low <= truth <= high


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval"])
def test_intervals_of_alpha_cover(level: Any) -> None:
    """95 % intervals over 60 units, 200 runs: fewer than 90 % would be no luck (p < .002)."""
    rng = np.random.default_rng(5)
    truth = krippendorff_alpha(steps(rng, 200_000), level=level).value
    assert truth is not None
    hits = 0
    for _ in range(200):
        found = krippendorff_alpha(steps(rng, 60), level=level, replicates=400, rng=rng)
        hits += covers(found.ci_low, found.ci_high, truth)
    assert 180 <= hits <= 199


def test_few_units_are_left_out_one_by_one() -> None:
    """Against leaving each row out of the table by hand."""
    table = steps(np.random.default_rng(8), 12)
    found = krippendorff_alpha(table, level="ordinal", rng=np.random.default_rng(1))
    value = found.value
    parts = [krippendorff_alpha(np.delete(table, row, axis=0), level="ordinal").value for row in range(12)]
    se = np.sqrt(11 * np.var([part for part in parts if part is not None]))
    assert value is not None
    half = 2.200985 * se / (1 - value**2)  # t(11) at .975
    assert [found.ci_low, found.ci_high] == pytest.approx(np.tanh(np.arctanh(value) + np.array([-half, half])))
    assert found.settings["replicates"] == 0


def test_variation_in_one_unit_only_gives_no_interval() -> None:
    table = np.ones((20, 3))
    table[0] = [2, 2, 1]
    found = krippendorff_alpha(table, level="nominal", rng=np.random.default_rng(1))
    assert found.value is not None
    assert found.ci_low is None
    assert str(found.reason) == "no interval: without one of the units every answer is the same"


@pytest.mark.parametrize(("units", "annotators"), [(10, 3), (20, 5)])
def test_intervals_of_alpha_cover_with_few_units(units: int, annotators: int) -> None:
    """300 runs: fewer than 87 % where 92 % are covered would be no luck (p < .001); resampling covers 86 %."""
    rng = np.random.default_rng(7)
    truth = krippendorff_alpha(steps(rng, 200_000)[:, :3], level="nominal").value
    assert truth is not None
    hits = 0
    for _ in range(300):
        table = np.clip(np.round(3 + rng.normal(0, 1, (units, 1)) + rng.normal(0, 1, (units, annotators))), 1, 5)
        found = krippendorff_alpha(table, level="nominal", rng=rng)
        hits += covers(found.ci_low, found.ci_high, truth)
    assert hits >= 0.87 * 300


def test_intervals_of_icc_and_exact_agreement_cover() -> None:
    rng = np.random.default_rng(6)
    share = exact_agreement(steps(rng, 200_000)).value
    assert share is not None
    hits = {"icc1": 0, "holes": 0, "exact": 0}
    for _ in range(200):
        table = rng.normal(0, 1, (40, 1)) + rng.normal(0, 1, (40, 3))
        full = icc(table, form="icc1")
        hits["icc1"] += covers(full.ci_low, full.ci_high, 0.5)
        table[rng.random(table.shape) < 0.2] = np.nan
        part = icc(table, form="icc1")
        hits["holes"] += covers(part.ci_low, part.ci_high, 0.5)
        same = exact_agreement(steps(rng, 60))
        hits["exact"] += covers(same.ci_low, same.ci_high, share)
    assert all(180 <= count <= 200 for count in hits.values()), hits
