"""Decisions on a family of hypotheses such that the chance of any false one, ever, is bounded.

Which decisions can be false depends on the true mean of a hypothesis: at 1/2 "x" and "y"; elsewhere the wrong
direction, and beyond the margin "equal" too. Exactly one of these states is true of a pair, decided or
not.

Without a margin the hypotheses are the k means of 1/2. Each set of them is tested by the average of its current
e-values, an e-value under any dependence, and a hypothesis falls once every set with it has reached 1/error_rate: the
chance that any mean of 1/2 is ever decided is at most the error rate. A true difference is decided in the wrong
direction with a chance of at most a / (2 - a), about half of that rate a, each: where "y" won, "x" lost. Over the
family wrong directions are measured (``tests/calibration/sequential.md``), not proved.

With a margin every combination of the pairs' states (equal to 1/2, above, below) is tested by a weighted average of
e-values, one a pair: (x + y) / 2 with weight 2; against means above 1/2 the smaller of "y" and "not beyond the
margin", and its mirror image, with weight ``SIDE``. Every false decision needs that the e-value of the true
combination reached 1/error_rate: false differences, wrong directions and false equality together stay within it. A pair
decided as different stays in the combinations, on its side of 1/2, so thresholds fall less than without a margin.

References
----------
Vovk, V. and Wang, R. (2021). E-values: calibration, combination and applications. Annals of Statistics, 49(3),
1736-1754, proposition 3.1 (averages). Marcus, R., Peritz, E. and Gabriel, K. R.
(1976). On closed testing procedures. Biometrika, 63(3), 655-660. Finner, H. and Strassburger, K. (2002). The
partitioning principle. Annals of Statistics, 30(4), 1194-1213. Howard, S. R., Ramdas, A., McAuliffe, J. and Sekhon, J.
(2021). Time-uniform, nonparametric, nonasymptotic confidence sequences. Annals of Statistics, 49(2), 1055-1080,
lemma 3 (always-valid p-values).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from analysis.sequential.bets import LOG_MOST
from analysis.sequential.rule import StoppingRule
from analysis.statistics.coding import Floats

OPEN, X, Y, EQUAL, FUTILE = range(5)
NAMES = np.array(["", "x", "y", "equal", "futile"])
Marks = npt.NDArray[np.int8]


SIDE = 1.0  # weight of a pair whose mean is not 1/2, beside 2 of one whose mean is


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Thresholds:
    """What decides a hypothesis while the others stay as they are, shape (..., k).

    ``two_sided`` is needed of the e-value against 1/2, ``side`` of the e-values against
    each means beyond 1/2 (difference) or beyond the margin (equality); ``None`` without a margin.
    """

    two_sided: Floats
    side: Floats | None


def two_sided(log_e: Floats) -> Floats:
    """Return the logarithm of the e-value against a mean of 1/2: half of the capital on each side."""
    found: Floats = np.logaddexp(log_e[..., 0], log_e[..., 1]) - np.log(2)
    return found


def two_sided_peak(peak: Floats) -> Floats:
    """Return the logarithm of the largest e-value against a mean of 1/2 so far: half of what the better side had."""
    found: Floats = np.maximum(peak.max(axis=-1) - np.log(2), 0.0)
    return found


def thresholds(log_e: Floats, rule: StoppingRule) -> Thresholds:
    """Return the e-values that decide.

    Parameters
    ----------
    log_e : array of float, shape (..., k, 2 or 4)
        Logarithms of current e-values in the order of :func:`~analysis.sequential.bets.bets_of`.
    """
    level = 1 / rule.error_rate
    e_values = np.exp(np.minimum(log_e, LOG_MOST))
    none = (e_values[..., 0] + e_values[..., 1]) / 2 - level
    if rule.margin is None:
        return Thresholds(two_sided=level - _of_others(none), side=None)
    below = np.minimum(e_values[..., 0], e_values[..., 3]) - level
    above = np.minimum(e_values[..., 1], e_values[..., 2]) - level
    others = _of_others(np.minimum(2 * none, SIDE * np.minimum(below, above)))
    return Thresholds(two_sided=level - others / 2, side=level - others / SIDE)


def decide(log_e: Floats, rule: StoppingRule) -> Marks:
    """Return what the e-values decide of each hypothesis, ``OPEN`` where nothing.

    Parameters
    ----------
    log_e : array of float
        As for :func:`thresholds`.
    """
    needed = thresholds(log_e, rule)
    x = log_e[..., 0] > log_e[..., 1]
    differs = two_sided(log_e) >= np.log(needed.two_sided)
    if needed.side is None:
        return np.where(differs, np.where(x, X, Y), OPEN).astype(np.int8)
    bound = np.log(needed.side)
    side = np.where(x, np.minimum(log_e[..., 0], log_e[..., 3]), np.minimum(log_e[..., 1], log_e[..., 2]))
    equal = np.minimum(log_e[..., 2], log_e[..., 3]) >= bound
    marks = np.where(equal, EQUAL, OPEN)
    return np.where(differs & (side >= bound), np.where(x, X, Y), marks).astype(np.int8)


def _of_others(excess: Floats) -> Floats:
    """Return the worst sum that sets of the other hypotheses add, at most 0."""
    lacking = np.minimum(excess, 0.0)
    found: Floats = lacking.sum(axis=-1, keepdims=True) - lacking
    return found
