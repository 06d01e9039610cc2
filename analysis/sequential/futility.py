"""Whether going on is worth while: advice, on which no error rate depends."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from scipy.special import log_ndtr, ndtr

from analysis.sequential.bets import Bets, bets_of
from analysis.sequential.rule import StoppingRule
from analysis.statistics.coding import Floats, Ints


def futile(log_e: Floats, n: Ints, rule: StoppingRule) -> npt.NDArray[np.bool_]:
    """Tell where a decision by ``rule.most`` has become unlikely.

    For "x" and "y" a mean ``rule.effect`` beyond 1/2 is taken as true, for "equal" 1/2, and the other pairs as decided:
    the most favourable case. Log-capital of the planned bet is taken as Brownian motion.

    Parameters
    ----------
    log_e : array of float, shape (..., k, 2 or 4)
        Logarithms of current e-values.
    n : array of int, shape (..., k)
        Units used.
    """
    if rule.most is None:
        return np.zeros(n.shape, dtype=np.bool_)
    left = np.maximum(rule.most - n, 0)
    level, others = 1 / rule.error_rate, 0 if rule.margin is None else n.shape[-1] - 1
    amount = abs(bets_of(rule).amount[:, 0])
    goal = math.log((2 + others) * level)
    chance = np.maximum(*(reach(goal - log_e[..., side], left, amount[side], rule.effect, rule.sd) for side in (0, 1)))
    if rule.margin is not None:
        lacking = math.log((1 + others) * level) - np.minimum(log_e[..., 2], log_e[..., 3])
        chance = np.maximum(chance, reach(lacking, left, amount[2], rule.margin, rule.sd))
    return np.asarray(chance < rule.futility)


def reach(lacking: Floats, left: Ints, amount: float, distance: float, sd: float) -> Floats:
    """Return the chance that log-capital rises by ``lacking`` within ``left`` units.

    A bet ``amount`` on values whose mean lies ``distance`` beyond the null grows by g = amount * distance -
    amount^2 (sd^2 + distance^2) / 2 a unit, with variance v = (amount * sd)^2. The first passage of Brownian motion
    over a gap b within r units has the chance Phi((g r - b) / sqrt(v r)) + exp(2 g b / v) Phi((-b - g r) / sqrt(v r)).

    References
    ----------
    Siegmund, D. (1985). Sequential Analysis, Springer, equation 3.15.
    """
    growth, variance = log_growth(amount, distance, sd), (amount * sd) ** 2
    gap, drift, scale = np.maximum(lacking, 0.0), growth * left, np.sqrt(variance * np.maximum(left, 1e-9))
    reflected = np.exp(np.minimum(2 * growth * gap / variance + log_ndtr((-gap - drift) / scale), 0.0))
    return np.where(lacking <= 0, 1.0, np.minimum(ndtr((drift - gap) / scale) + reflected, 1.0))


def expected_units(lacking: Floats, values: Floats, bets: Bets, place: int, sd: float) -> Floats:
    """Return how many further units bring log-capital up by ``lacking``, on average, shape (k,).

    The gap over the growth of the best bet at the mean and spread of the values so far, with one unit of SD ``sd`` at
    the null added (Wald's equation without the excess over the boundary). Infinite where no bet would grow.

    Parameters
    ----------
    lacking : array of float, shape (k,)
    values : array of float, shape (n_units, k)
    bets : Bets
    place : int
        Which of the one-sided hypotheses.
    sd : float
        As planned.
    """
    beyond = values - bets.null[place]
    count = np.isfinite(values).sum(axis=0) + 1
    mean, square = np.nansum(beyond, axis=0) / count, (np.nansum(beyond**2, axis=0) + sd**2) / count
    amount = bets.amount[place][:, None]
    growth = (amount * mean - amount**2 * square / 2).max(axis=0)
    return np.where(growth > 0, np.maximum(lacking, 0.0) / np.maximum(growth, 1e-12), np.inf)


def log_growth(amount: float, distance: float, sd: float) -> float:
    """Return by how much log-capital is expected to grow in a unit, to second order."""
    return amount * distance - amount**2 * (sd**2 + distance**2) / 2
