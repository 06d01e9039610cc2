"""With what chance each unit is put before people: as often, or more often where the LLM is likely to be wrong."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analysis.statistics.checks import check_level
from analysis.statistics.coding import Floats

HALVINGS = 60
FEWEST = 20  # people's answers from which on errors are predicted
LEAST_SHARE = 0.05  # of the mean squared error, the least that is predicted of a unit


def predicted_errors(error: Floats, doubt: Floats, weight: Floats, ahead: Floats) -> Floats | None:
    """Predict how far the LLM will be from people on units to come, from how unsure it was on those known.

    Squared errors are fitted by a line in the doubt (weighted least squares, slope at least 0), and the root of what it
    says is returned: the chances that make the variance least are in proportion to it.

    Parameters
    ----------
    error, doubt, weight : array of float, shape (n,)
        Of units that people answered: people less LLM, the LLM's doubt (spread of its repeats, or entropy of its
        probabilities), one over the chance with which each was drawn.
    ahead : array of float, shape (m,)
        Doubt on the units to come.

    Returns
    -------
    array of float, shape (m,), or None
        ``None`` where fewer than 20 are known, or doubt says nothing about errors.

    References
    ----------
    Zrnic, T. and Candès, E. J. (2024). Active statistical inference. ICML, PMLR 235, section 3.
    """
    line = _line(error, doubt, weight)
    return None if line is None else line.of(ahead)


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorLine:
    """Squared errors by doubt: ``mean`` + ``slope`` (doubt - ``centre``)."""

    mean: float
    slope: float
    centre: float

    def of(self, doubt: Floats) -> Floats:
        """Return the errors expected at some doubts; those of the mean where there is none (NaN)."""
        squared = self.mean + self.slope * (np.where(np.isnan(doubt), self.centre, doubt) - self.centre)
        found: Floats = np.sqrt(np.maximum(squared, LEAST_SHARE * self.mean))
        return found


def _line(error: Floats, doubt: Floats, weight: Floats) -> ErrorLine | None:
    if len(error) < FEWEST or np.ptp(doubt) == 0:
        return None
    squared = error**2
    centre, mean = float(np.average(doubt, weights=weight)), float(np.average(squared, weights=weight))
    spread = float(np.average((doubt - centre) ** 2, weights=weight))
    slope = float(np.average((doubt - centre) * (squared - mean), weights=weight)) / spread
    return None if slope <= 0 or mean <= 0 else ErrorLine(mean=mean, slope=slope, centre=centre)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChanceScale:
    """Chances of the units of a wave, by their doubt and earlier waves alone: ``times`` the expected error, in bounds.

    Without a ``line`` all have the chance ``share``.
    """

    share: float
    floor: float
    line: ErrorLine | None = None
    times: float = 0.0

    def of(self, doubt: Floats) -> Floats:
        """Return the chances of units."""
        if self.line is None:
            return np.full(len(doubt), self.share)
        return np.clip(self.times * self.line.of(doubt), self.floor, 1.0)


def chance_scale(
    error: Floats, doubt: Floats, weight: Floats, before: Floats, *, share: float, floor: float
) -> ChanceScale | None:
    """Return the chances of a wave, from units known.

    What a unit's chance is multiplied by is such that the units ``before`` would have had ``share`` on average: it
    hangs on no unit of the wave, so that a unit's chance says nothing of any other.

    Parameters
    ----------
    error, doubt, weight : array of float, shape (n,)
        As for :func:`predicted_errors`.
    before : array of float, shape (m,)
        Doubt on all units before the wave, also those that people did not answer; NaN: not known.
    share, floor : float
        As for :func:`inclusion_chances`.

    Returns
    -------
    ChanceScale or None
        ``None`` where errors cannot be predicted.
    """
    line = _line(error, doubt, weight)
    if line is None or not len(before):
        return None
    errors = line.of(before)
    return ChanceScale(share=share, floor=floor, line=line, times=_times(errors, share=share, floor=floor))


def inclusion_chances(errors: Floats | None, n: int, *, share: float, floor: float) -> Floats:
    """Return with what chance each of ``n`` units is put before people.

    Parameters
    ----------
    errors : array of float, shape (n,), or None
        As :func:`predicted_errors` returns; ``None``: all have the same chance.
    n : int
        Units.
    share : float
        Mean chance: expected share of units that people answer.
    floor : float
        Least chance of any unit, at most ``share``. It bounds the weights, 1 / floor, and what a wrong prediction
        costs.

    Returns
    -------
    array of float, shape (n,)
        In proportion to the errors between ``floor`` and 1, their mean being ``share``.

    >>> inclusion_chances(np.array([1.0, 1, 2, 4]), 4, share=0.5, floor=0.1).round(3).tolist()
    [0.25, 0.25, 0.5, 1.0]
    """
    if not 0 < share <= 1:
        raise ValueError(f"share must lie above 0 and at most at 1, got {share!r}")
    check_level("floor", floor)
    if floor > share:
        raise ValueError(f"floor must be at most the share of {share:g}, got {floor!r}")
    if errors is None or not np.any(errors > 0):
        return np.full(n, share)
    found: Floats = np.clip(_times(errors, share=share, floor=floor) * errors, floor, 1)
    return found * (share / found.mean()) if found.mean() > share else found


def _times(errors: Floats, *, share: float, floor: float) -> float:
    """Return by what errors are multiplied for a mean chance of ``share``."""
    low, high = 0.0, 1 / float(errors[errors > 0].min())
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if np.clip(middle * errors, floor, 1).mean() > share else (middle, high)
    return high
