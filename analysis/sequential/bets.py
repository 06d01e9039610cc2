"""Bets on means of values in [0, 1]: capital that grows where a hypothesis is false, and limits from it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from analysis.sequential.rule import StoppingRule
from analysis.statistics.coding import Floats

FRACTIONS = np.array([1.0, 0.4, 2.0])  # of the planned bet
SHARES = np.array([0.7, 0.1, 0.2])  # of the capital on each
LARGEST = 0.9  # of the capital at stake in one unit: a bet that can lose all ends in ruin
STEPS = 24  # halvings of [0, 1] by which a limit is found
CHUNK = 50  # units multiplied before a logarithm is taken, which costs more
LOG_MOST = 500.0  # beyond it evidence is as good as infinite, and its exponential still a number


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Bets:
    """Hypotheses on a mean, one-sided, and what is staked on their falsehood.

    Attributes
    ----------
    null : array of float, shape (n_hypotheses, 1)
        The bound: "mean <= null" where the amounts are positive, "mean >= null" where they are negative.
    amount : array of float, shape (..., n_hypotheses, n_bets)
        lambda of each bet; leading axes: of each value.
    """

    null: Floats
    amount: Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Range:
    """Where values lie for certain, and what SD the bets on them are planned for, all fixed before each is known.

    Each array has the shape of the values, or is broadcast to it.
    """

    low: Floats
    high: Floats
    sd: Floats


@cache
def bets_of(rule: StoppingRule) -> Bets:
    """Return the bets against mean <= 1/2, mean >= 1/2 and, with a margin, mean >= 1/2 + margin, mean <= 1/2 - margin.

    The planned bet lambda = d / (sd^2 + d^2) makes the expected log-capital largest, to second order, where the mean
    lies ``d`` beyond the null: the effect, and for the margin the whole margin. A smaller and a larger one stand
    beside it: they cost little, and save what a wrong guess of effect or SD would cost.

    References
    ----------
    Waudby-Smith, I. and Ramdas, A. (2024). Estimating means of bounded random variables by betting. Journal of the
    Royal Statistical Society B, 86(1), 1-27, section 4 and appendix B (GRAPA and its approximation).
    """
    return bets_within(rule, Range(low=np.array(0.0), high=np.array(1.0), sd=np.array(rule.sd)))


def bets_within(rule: StoppingRule, values: Range) -> Bets:
    """Return the bets of :func:`bets_of` on values of other ranges and SDs, each for itself."""
    null = [0.5, 0.5] if rule.margin is None else [0.5, 0.5, 0.5 + rule.margin, 0.5 - rule.margin]
    distances = [rule.effect, -rule.effect] + ([] if rule.margin is None else [-rule.margin, rule.margin])
    plans = np.sign(distances) * _planned(np.abs(distances), values.sd[..., None])
    nulls = np.array(null)[:, None]
    low, high = (bound[..., None, None] for bound in (values.low, values.high))
    return Bets(null=nulls, amount=_truncated(plans[..., None] * FRACTIONS, nulls, low, high))


def log_factors(values: Floats, bets: Bets) -> Floats:
    """Return by what each bet multiplies its capital, as a logarithm: log(1 + lambda (value - null)).

    Parameters
    ----------
    values : array of float, shape (...)
        In [0, 1]; NaN = not asked, which leaves capital as it is.

    Returns
    -------
    array of float, shape (..., n_hypotheses, n_bets)
    """
    factors = np.log1p(bets.amount * (values[..., None, None] - bets.null))
    return np.where(np.isnan(factors), 0.0, factors)


def log_e_values(log_capital: Floats) -> Floats:
    """Return the logarithm of the capital of all bets on a hypothesis together, its e-value.

    Each product of factors 1 + lambda (X - m) is a nonnegative supermartingale from 1 while the hypothesis is true and
    lambda keeps to [0, 1/m) (upwards) or (-1/(1 - m), 0] (downwards), and so is their mixture: the chance that it ever
    reaches 1/a is at most a (Ville's inequality).

    Parameters
    ----------
    log_capital : array of float, shape (..., n_bets)
        Sums of :func:`log_factors` over units.

    Returns
    -------
    array of float, shape (...)

    References
    ----------
    Waudby-Smith and Ramdas (2024), section 4. Ville, J. (1939). Étude critique de la notion de
    collectif.

    >>> log_e_values(np.log([[2.0, 2.0, 2.0], [1.0, 5.0, 4.0]])).round(6).tolist()
    [0.693147, 0.693147]
    """
    most = log_capital.max(axis=-1)
    found: Floats = most + np.log((SHARES * np.exp(log_capital - most[..., None])).sum(axis=-1))
    return found


def confidence_limits(
    values: Floats, rule: StoppingRule, *, error_rate: float | Floats, within: Range | None = None
) -> tuple[Floats, Floats]:
    """Return a confidence sequence's current limits: the means that no bet refutes.

    The lower limit is the largest m at which the capital betting on a larger mean is 2 / ``error_rate`` or more, the
    upper one its mirror image. It holds the mean at all times with 1 - ``error_rate``, and always the mean of the
    values (log(1 + y) <= y): current limits, unlike intersections over time, are never empty.

    Parameters
    ----------
    values : array of float, shape (n_units, k)
        In [0, 1]; NaN = not asked.
    rule : StoppingRule
        Names effect and SD for the bets.
    error_rate : float or array of float, shape (k,)
        Of each confidence sequence.
    within : Range, optional
        Of values whose mean lies in [0, 1], though they may not.

    Returns
    -------
    low, high : array of float, shape (k,)

    References
    ----------
    Waudby-Smith and Ramdas (2024), theorem 3 (hedged capital, with the same bets at each m, truncated at
    c / m and c / (1 - m)): capital falls with m, so the limit is found by halving.
    """
    bound, chunks, absent = np.log(2 / error_rate), range(0, len(values), CHUNK), np.isnan(values)
    if not len(values):
        return np.zeros(values.shape[1]), np.ones(values.shape[1])

    sd = rule.sd if within is None else within.sd

    def lower(given: Floats, least: float | Floats) -> Floats:
        low, high = np.zeros(values.shape[1]), np.ones(values.shape[1])
        for _ in range(STEPS):
            null = (low + high) / 2
            beyond = np.where(absent, 0.0, given - null)
            each = (_planned(rule.effect, sd) * fraction for fraction in FRACTIONS)
            amounts = [_truncated(amount, null, least, 1.0) for amount in each]
            products = [np.multiply.reduceat(1 + amount * beyond, chunks, axis=0) for amount in amounts]
            refuted = log_e_values(np.log(products).sum(axis=1).T) >= bound
            low, high = np.where(refuted, null, low), np.where(refuted, high, null)
        return low

    if within is None:
        return lower(values, 0.0), 1 - lower(1 - values, 0.0)
    return lower(values, within.low), 1 - lower(1 - values, 1 - within.high)


def _planned(distance: Any, sd: Any) -> Any:
    return distance / (sd**2 + distance**2)


def _truncated(amount: Any, null: Floats, low: Any, high: Any) -> Floats:
    """Keep stakes within ``LARGEST`` of what ruins: 1 / (null - low) upwards, 1 / (high - null) downwards."""
    up, down = np.minimum(amount, LARGEST / (null - low)), np.maximum(amount, -LARGEST / (high - null))
    found: Floats = np.where(amount > 0, up, down)
    return found
