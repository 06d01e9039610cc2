"""Intraclass correlations with missing cells: the restricted likelihood decides where programs disagree."""

from __future__ import annotations

import tracemalloc
from dataclasses import astuple
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from analysis import fleiss_kappa, icc
from analysis.agreement.data import from_codes
from analysis.agreement.icc import every_icc
from analysis.agreement.variance_components import fit_share, sufficient_sums
from analysis.statistics.coding import Floats

NAN = float("nan")
# Eight units by three annotators, five cells missing. statsmodels 0.15.0 (MixedLM, vc_formula, REML) reports that it
# has converged at the components below, with an ICC(2,1) of .250 where ours is .331.
TABLE = [
    [3.0, 0.0, 3.0],
    [1.0, 2.0, 2.0],
    [3.0, 4.0, 4.0],
    [3.0, 4.0, NAN],
    [3.0, NAN, 2.0],
    [2.0, NAN, 3.0],
    [NAN, 3.0, NAN],
    [4.0, 4.0, NAN],
]
OF_STATSMODELS = (0.31611329279086187, 0.05613564150788566, 0.8927604058249399)  # units, annotators, error


def deviance(table: Floats, of_unit: float, of_annotator: float, of_error: float) -> float:
    """-2 log restricted likelihood up to a constant, by the full covariance matrix of the answers."""
    return float(deviances(table, of_unit, of_annotator, of_error, np.ones(1))[0])


def deviances(table: Floats, of_unit: float, of_annotator: float, of_error: float, scales: Floats) -> Floats:
    """Of covariances that are multiples of one another: the inverse is divided by the scale."""
    unit, annotator = np.nonzero(~np.isnan(table))
    y = table[unit, annotator]
    together = of_unit * (unit[:, None] == unit) + of_annotator * (annotator[:, None] == annotator)
    inverse = np.linalg.inv(together + of_error * np.eye(len(y)))
    information = float(inverse.sum())
    rest = y - float(inverse.sum(axis=0) @ y) / information
    log_determinant = len(y) * np.log(scales) - np.linalg.slogdet(inverse)[1]
    return np.asarray(log_determinant + np.log(information / scales) + rest @ inverse @ rest / scales)


def best_at(table: Floats, share: float, parts: Floats, scales: Floats) -> float:
    """Least deviance over a grid of the annotators' part and the scale, with the units' share held."""
    return min(
        float(deviances(table, share, (1 - share) * part, (1 - share) * (1 - part), scales).min())
        for part in parts.tolist()
    )


def test_reml_beats_statsmodels_where_they_differ() -> None:
    """Where statsmodels disagrees ours has the higher restricted likelihood."""
    table = np.array(TABLE)
    found = icc(table, form="icc2")
    assert found.value == pytest.approx(0.3313, abs=5e-4)
    of_unit = OF_STATSMODELS[0] / sum(OF_STATSMODELS)
    assert of_unit == pytest.approx(0.2499, abs=5e-4)
    ours = best_at(table, found.value, np.linspace(0, 0.3, 31), np.linspace(0.8, 2.4, 81))
    theirs = deviance(table, *OF_STATSMODELS)
    assert ours == pytest.approx(21.953, abs=2e-3)
    assert theirs == pytest.approx(22.571, abs=2e-3)
    assert ours < theirs


def test_reml_interval_with_two_maxima() -> None:
    """At a share of 0.1 it has one where annotators have no part of the rest, and a higher one where nearly all."""
    rng = np.random.default_rng(11)
    table = rng.normal(0, 3, (20, 1)) + rng.normal(0, 0.5, (1, 2)) + rng.normal(0, 1, (20, 2))
    table[rng.random(table.shape) < 0.3] = np.nan
    found = icc(table, form="icc2")
    parts, scales = np.linspace(0, 0.995, 200), np.geomspace(1, 200, 100)
    least = best_at(table, found.value, parts, scales)
    assert best_at(table, 0.1, parts, scales) - least < 3.841
    assert found.ci_low < 0.1


@pytest.mark.parametrize("form", ["icc1", "icc2", "icc3"])
def test_reml_is_free_of_row_order(form: Any) -> None:
    """A search by values of the likelihood alone leaves the last eight digits to rounding: it is flat at its top."""
    rng = np.random.default_rng(9)
    for _ in range(5):
        table = rng.normal(0, 1, (40, 1)) + rng.normal(0, 0.5, (1, 6)) + rng.normal(0, 1, (40, 6))
        table[rng.random(table.shape) < 0.2] = np.nan
        found, again = icc(table, form=form), icc(table[rng.permutation(40)][:, rng.permutation(6)], form=form)
        assert again.value == pytest.approx(found.value, rel=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_no_other_share_has_a_higher_restricted_likelihood(seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = np.round(rng.normal(3, 1, (7, 1)) + rng.normal(0, 0.3, (1, 3)) + rng.normal(0, 1, (7, 3)))
    table[rng.random((7, 3)) < 0.2] = np.nan
    found = icc(table, form="icc2")
    assert found.value is not None
    assert found.settings["estimator"] == "mixed model (REML)"
    spread = float(np.nanvar(table))
    grid = (np.linspace(0, 0.9, 19), spread * np.linspace(0.4, 3, 40))
    best = best_at(table, found.value, *grid)
    for share in (0.02, 0.1, 0.3, 0.5, 0.7, 0.9):
        assert best < best_at(table, share, *grid) + 0.02  # the grid is coarse


@pytest.mark.parametrize("seed", range(4))
def test_reml_share_where_annotators_differ_much(seed: int) -> None:
    """The share is the most likely one where annotators differ much."""
    rng = np.random.default_rng(seed)
    table = rng.normal(3, 1, (12, 1)) + rng.normal(0, 2, (1, 4)) + rng.normal(0, 1, (12, 4))
    table[rng.random(table.shape) < 0.2] = np.nan
    found = icc(table, form="icc2").value
    assert found is not None

    def least(share: float) -> float:
        def with_part(part: float) -> float:
            scale = minimize_scalar(lambda log: deviance_of(part, np.exp(log)), bounds=(-3, 4), method="bounded")
            return float(scale.fun)

        def deviance_of(part: float, scale: float) -> float:
            return deviance(table, scale * share, scale * (1 - share) * part, scale * (1 - share) * (1 - part))

        return float(minimize_scalar(with_part, bounds=(0, 1 - 1e-6), method="bounded").fun)

    assert least(found) < min(least(found - 0.01), least(found + 0.01))


def test_ten_subjects_by_fourteen_raters() -> None:
    """A table of counts that is often reprinted, kappa .210; statsmodels (fleiss_kappa) gives .20993."""
    counts = [
        (0, 0, 0, 0, 14),
        (0, 2, 6, 4, 2),
        (0, 0, 3, 5, 6),
        (0, 3, 9, 2, 0),
        (2, 2, 8, 1, 1),
        (7, 7, 0, 0, 0),
        (3, 2, 6, 3, 0),
        (2, 5, 3, 2, 2),
        (6, 5, 2, 1, 0),
        (0, 2, 2, 3, 7),
    ]
    ratings = np.array([np.repeat(range(1, 6), row) for row in counts])
    assert fleiss_kappa(ratings).value == pytest.approx(0.20993070442195522, rel=1e-12)


@pytest.mark.parametrize("form", ["icc1", "icc2", "icc3", "icc2k", "icc3k"])
def test_without_an_error_there_is_no_estimate(form: str) -> None:
    """Unit plus annotator explain every answer (icc1: the unit alone), whatever the order of the units."""
    unit, annotator = np.array([0.0, 3.0, 1.0, 2.0, 3.0]), np.array([0.0, 1.0, 2.0])
    table = np.add.outer(unit, 0 * annotator if form == "icc1" else annotator)
    table[0, 2] = table[3, 0] = NAN
    for rows in ([0, 1, 2, 3, 4], [4, 2, 0, 3, 1]):
        found = icc(table[rows], form=form)  # type: ignore[arg-type]
        assert (found.value, found.ci_low) == (None, None)
        assert found.reason is not None
        assert "no error is left" in str(found.reason)


@given(st.integers(2, 30), st.integers(2, 40), st.integers(0, 10_000))
def test_share_without_annotators_same_sums(k: int, n: int, seed: int) -> None:
    """Where annotators are absent from the model, its sums need none of theirs."""
    rng = np.random.default_rng(seed)
    unit, annotator = np.nonzero(rng.random((n, k)) < 0.6)
    if len(unit) < 3:
        return
    value = rng.integers(1, 6, len(unit)) + rng.normal(size=n)[unit]
    present = np.unique(annotator)
    data = from_codes(unit, np.searchsorted(present, annotator), value, tuple(map(str, present)))
    shares = [fit_share(sufficient_sums(data, annotators=one), "absent", confidence=0.9) for one in (True, False)]
    assert astuple(shares[0]) == astuple(shares[1])


def test_icc_memory_many_annotators() -> None:
    """Of 1,500 annotators, too many to be modelled, no table of 18 MB is made for each number of answers."""
    rng = np.random.default_rng(2)
    unit, annotator = np.nonzero(rng.random((2_000, 1_500)) < rng.choice([0.002, 0.01], 2_000)[:, None])
    present = np.unique(annotator)
    data = from_codes(
        unit, np.searchsorted(present, annotator), rng.integers(1, 6, len(unit)).astype(float), tuple(map(str, present))
    )
    tracemalloc.start()
    found = {one.measure: one for one in every_icc(data, confidence=0.95)}
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found["icc1"].value is not None
    assert found["icc2"].value is None
    assert peak < 16e6
