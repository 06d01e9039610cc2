"""Kendall's W: how far all raters put the units in one order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise

import numpy as np
import scipy.sparse as sp

from analysis.agreement.data import Answers, reliability_data
from analysis.agreement.resampling import Statistic, interval_over_units
from analysis.agreement.result import PERFECT, Agreement, at_whole, no_answer, undefined
from analysis.statistics.checks import check_level
from analysis.statistics.coding import Floats
from analysis.statistics.reasons import why

CELLS = 1_000_000  # ranks held at once
FEW = 100  # values of all raters together up to which a table of zeros and ones is multiplied faster than looked up
MOST_RANKS = 100_000_000  # that are resampled, in some ten seconds
TOO_MANY = why("no_interval_too_many")
WHOLE = 0.01  # from an end of the scale, within which a bound says nothing
TOO_FEW = why("no_interval_whole_scale")


def kendall_w(
    answers: Answers,
    *,
    criterion: str | None = None,
    mapping: Mapping[str, str] | None = None,
    confidence: float = 0.95,
    replicates: int = 1000,
    rng: np.random.Generator | None = None,
) -> Agreement:
    """Return Kendall's coefficient of concordance W, corrected for ties.

    W = 12 S / (m^2 (n^3 - n) - m sum_j T_j) over the n units that all m raters answered: S is the sum of squared
    deviations of the units' rank sums from their mean, T_j the sum of t^3 - t over the ties of length t of rater j.
    This is the variance of the units' mean ranks over the mean variance of the raters' ranks. Without ties
    W = (1 + (m - 1) r) / m, with r the mean of Spearman's rho over all pairs of raters.

    Parameters
    ----------
    answers : array of shape (n_units, n_annotators), tidy frame or ReliabilityData
        NaN, or no row, where an answer is missing; units that a rater did not answer are left out.
    criterion, mapping
        As for :func:`reliability_data`.
    confidence : float
        Level of the interval.
    replicates : int
        Resamples of units for the interval (raters are taken as they are); fewer than 50 units are left out one by
        one instead. Both are done for r, of which W is a straight line.
    rng : numpy.random.Generator, optional
        Source of randomness; without it there is no interval.

    Returns
    -------
    Agreement
        1: all raters order the units alike; 1 / m is expected of random orders, 0 is the least. ``n_items`` counts
        the units that all answered. Time O(replicates x units x raters).

    References
    ----------
    Kendall, M. G. and Babington Smith, B. (1939). The problem of m rankings. Annals of Mathematical Statistics, 10(3),
    275-287. Kendall, M. G. (1970). Rank Correlation Methods, 4th ed., chapter 6 (ties). Griffin.

    Examples
    --------
    >>> kendall_w([[1, 2, 1], [2, 1, 2], [3, 3, 3]]).value.__round__(3)
    0.778
    """
    check_level("confidence", confidence)
    data = reliability_data(answers, criterion=criterion, mapping=mapping)
    reason, m = no_answer(data), data.n_annotators
    table = np.zeros((0, m)) if reason else data.complete_rows()
    if not reason and len(table) < 2:
        reason = why("few_units_of_all", n=len(table), raters=m)
    if not reason and not np.ptp(table, axis=0).any():
        reason = why("raters_constant")
    if reason:
        return undefined("kendall_w", data, reason)
    rows, units = np.unique(_in_own_order(table), axis=0, return_counts=True)
    statistic = _mean_correlation(rows)
    mean_rho = min(1.0, float(statistic(units[None, :].astype(np.float64))[0]))
    found = None
    too_many = len(rows) * m * replicates > MOST_RANKS
    if rng is not None and mean_rho < 1 and not too_many:
        found = interval_over_units(
            statistic, units, value=mean_rho, confidence=confidence, replicates=replicates, rng=rng
        )
    ends = (found.low, found.high) if found else (None, None)
    low, high = (None if end is None else _concordance(end, m) for end in ends)
    if found and low is not None and high is not None and low <= WHOLE and high >= 1 - WHOLE:
        low, high, found = None, None, replace(found, low=None, high=None, reason=TOO_FEW)
    return Agreement(
        measure="kendall_w",
        value=_concordance(mean_rho, m),
        ci_low=None if low is None else max(0.0, low),
        ci_high=None if high is None else min(1.0, high),
        n_items=len(table),
        n_annotators=m,
        interval=found.method if found and found.low is not None else None,
        reason=found.reason if found else PERFECT if mean_rho == 1 else TOO_MANY if rng and too_many else None,
        settings={"confidence": confidence, "replicates": found.replicates if found else 0},
    )


def _in_own_order(table: Floats) -> Floats:
    """Sort raters by what they answered, so that their names do not reach what is drawn."""
    sums = table.sum(axis=1)
    keys = [sums @ table**power for power in (2, 1)] + [(table**power).sum(axis=0) for power in (3, 2, 1)]
    return table[:, np.lexsort(np.round(keys, 6))]


def _concordance(mean_rho: float, m: int) -> float:
    return float(at_whole(np.float64((1 + (m - 1) * mean_rho) / m)))


def _mean_correlation(rows: Floats) -> Statistic:
    """Return the function from weights of distinct rows of answers to r = (m W - 1) / (m - 1), one a replicate."""
    n_rows, m = rows.shape
    held, ends = np.empty(rows.shape, dtype=np.int32), [0]
    for number, column in enumerate(rows.T):
        values, place = np.unique(column, return_inverse=True)
        held[:, number] = place + ends[-1]
        ends.append(ends[-1] + len(values))
    sparse = sp.csr_array(
        (np.ones(held.size), held.ravel(), np.arange(0, held.size + 1, m, dtype=np.int32)), shape=(n_rows, ends[-1])
    )
    table = sparse.toarray() if ends[-1] <= FEW else sparse  # rows x values of each rater: which ones a row holds
    step = max(1, CELLS // n_rows)

    def statistic(weights: Floats) -> Floats:
        return np.concatenate([part(weights[start : start + step]) for start in range(0, len(weights), step)])

    def part(weights: Floats) -> Floats:
        n = weights.sum(axis=1, keepdims=True)
        counts: Floats = np.asarray(weights @ table)
        ranks = np.empty_like(counts)
        for start, end in pairwise(ends):
            own = counts[:, start:end]
            ranks[:, start:end] = np.cumsum(own, axis=1) - own / 2 - n / 2
        spread = np.sum(counts * ranks**2, axis=1)
        varied = spread > 1e-9 * n[:, 0]
        total: Floats = np.asarray(ranks @ table.T)
        concordance = np.sum(weights * total**2, axis=1) / np.where(varied, m * spread, 1.0)
        return np.asarray(np.where(varied, (m * concordance - 1) / (m - 1), np.nan), dtype=np.float64)

    return statistic
