"""Ratings in standard deviations of the annotator who gave them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from analysis.rating_checks.many_tests import no_variation, sums_by
from analysis.statistics.checks import check_values
from analysis.statistics.coding import Floats, Ints, snap
from analysis.statistics.reasons import why

CONSTANT = why("no_spread_to_standardise")


def z_scores(scores: Sequence[float] | Floats, annotators: Sequence[Any] | Ints) -> Floats:
    """Standardise each annotator's scores: minus their mean, over their standard deviation (n - 1).

    This takes out how high and how widely each annotator scores. It does not make the steps of a scale
    equal (Ethayarajh and Jurafsky 2022, section 3, remark 1).

    Parameters
    ----------
    scores : array of float, shape (n,)
        All scores of one criterion.
    annotators : array of ids, shape (n,)
        Who gave each.

    Returns
    -------
    array of float, shape (n,)
        NaN for annotators whose scores are all the same: they cannot be standardised.

    Raises
    ------
    ValueError
        When there is not one annotator a score.

    Examples
    --------
    >>> z_scores([1, 3, 5, 2, 2], ["a", "a", "a", "b", "b"]).tolist()
    [-1.0, 0.0, 1.0, nan, nan]
    """
    value = np.asarray(scores, dtype=np.float64)
    who = np.unique(np.asarray(annotators), return_inverse=True)[1].astype(np.int64)
    if len(value) != len(who):
        raise ValueError(f"expected one annotator a score, got {len(who)} for {len(value)}")
    check_values("scores", value)
    if not len(value):
        return value
    mean, sd = _moments(value, who)
    standardised: Floats = (value - mean[who]) / sd[who]
    return standardised


def spread_of_annotators(values: Floats, annotator: Ints) -> Floats:
    """Return the standard deviation of each annotator number's scores; NaN where they are all the same."""
    return _moments(values, annotator)[1]


def standardised_differences(differences: Floats, annotator: Ints, spread: Floats) -> Floats:
    """Divide differences within an annotator by that annotator's standard deviation (the means cancel)."""
    scaled: Floats = differences / spread[annotator]
    known = scaled[np.isfinite(scaled)]
    return snap(scaled, scale=float(np.abs(known).max()) if len(known) else 0.0, digits=13)


def _moments(values: Floats, who: Ints) -> tuple[Floats, Floats]:
    n_parts = int(who.max()) + 1
    n = np.bincount(who, minlength=n_parts)
    with np.errstate(all="ignore"):
        mean = sums_by(who, values, n_parts) / n
        sd = np.sqrt(sums_by(who, (values - mean[who]) ** 2, n_parts) / (n - 1))
    return mean, np.where(no_variation(who, values, n_parts), np.nan, sd)
