"""Intraclass correlations with missing cells: the restricted likelihood decides where programs disagree."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from analysis import fleiss_kappa, icc
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


def test_where_statsmodels_disagrees_ours_has_the_higher_restricted_likelihood() -> None:
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


def test_the_interval_holds_every_share_that_the_likelihood_allows_where_it_has_two_maxima() -> None:
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
def test_the_order_of_units_and_annotators_does_not_show_in_nine_digits(form: Any) -> None:
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
