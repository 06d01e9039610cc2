"""Power turned round: annotators for a given power, or the difference that a number of annotators can find."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from scipy.optimize import brentq

from analysis.planning.power import LEAST, chances_to_stay, expected_power

MOST = 1_000_000  # annotators; beyond that no plan is meant
HALVINGS = 20  # of the scale, in search of the smallest difference that is found


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """Annotators for one difference and power; null with a reason where no number will do.

    Attributes
    ----------
    annotators : int or None
        To recruit and pay, those included whom the analysis will exclude.
    reached : float or None
        Power with that many, at least ``power``.
    """

    difference: float
    power: float
    annotators: int | None
    reached: float | None
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Detectable:
    """Smallest difference that a number of annotators finds with a power; null with a reason where there is none."""

    annotators: int
    power: float
    difference: float | None
    reason: str | None = None


def annotators_needed(
    difference: float, *, sd: float, alpha: float, power: float = 0.8, exclusion_rate: float = 0.0
) -> Need:
    """Return the smallest number of annotators to recruit for a power.

    Parameters
    ----------
    difference : float
        True mean minus its value under the null hypothesis, in the unit of ``sd``.
    sd : float
        Of one annotator's contribution.
    alpha : float
        Level of the test; for a family of n tests under Holm's correction at worst fwer / n.
    power : float
        Power, the chance to find the difference, in (alpha, 1).
    exclusion_rate : float
        Share of the recruited that is expected to be excluded.

    Notes
    -----
    Power rises with the number recruited, so bisection finds the smallest.

    >>> annotators_needed(0.5, sd=1.0, alpha=0.05).annotators
    34
    """
    _check(sd, alpha, power)
    if difference == 0:
        return _none(difference, power, "no difference: there is nothing to find")
    effect = difference / sd

    def enough(annotators: int) -> bool:
        return expected_power(effect, annotators, alpha=alpha, exclusion_rate=exclusion_rate) >= power

    annotators = smallest_number(enough, MOST)
    if annotators is None:
        return _none(difference, power, f"more than {MOST:,} annotators")
    reached = expected_power(effect, annotators, alpha=alpha, exclusion_rate=exclusion_rate)
    return Need(difference=difference, power=power, annotators=annotators, reached=reached)


def smallest_number(enough: Callable[[int], bool], most: int) -> int | None:
    """Return the smallest number of annotators that is enough, where more always are; none where ``most`` are not."""
    high = LEAST
    while not enough(high):
        if high >= most:
            return None
        high = min(2 * high, most)
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def lasting_number(
    power: Callable[[int], float], wanted: float, *, start: int | None, most: int, jagged: bool
) -> int | None:
    """Return the smallest number of annotators from which on power stays at or above the one wanted.

    Parameters
    ----------
    power : callable
        Power of a number of annotators.
    wanted : float
        Power asked for.
    start : int or None
        A number near which it is expected; ``None`` where no number up to ``most`` is.
    most : int
        Largest number tried.
    jagged : bool
        Whether power can step down with one annotator more.
    """
    if start is None:
        return None
    enough = cache(lambda count: power(count) >= wanted)
    low, high, step = LEAST - 1, min(max(start, LEAST), most), max(1, start // 32)
    if enough(high):
        while high - step > LEAST - 1 and enough(high - step):
            high, step = high - step, 2 * step
        low = max(high - step, LEAST - 1)
    else:
        while not enough(high):
            if high >= most:
                return None
            low, high, step = high, min(high + step, most), 2 * step
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    if jagged:
        count, end = high, high + _teeth(high)
        while count < min(end, most):
            count += 1
            if not enough(count):
                high, end = count + 1, count + 1 + _teeth(count)
        while high > LEAST and enough(high - 1):
            high -= 1
    return high


def _teeth(annotators: int) -> int:
    """Return how far power can step down after a number of annotators that is enough."""
    return 2


def smallest_found(
    power: Callable[[float], float], wanted: float, *, largest: float, possible: Callable[[float], bool]
) -> float | None:
    """Return the smallest difference that is found with a power, none where the largest possible is not."""
    low, high, found = 0.0, largest, None
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        if not possible(middle):
            high = middle
        elif power(middle) >= wanted:
            high = found = middle
        else:
            low = middle
    return found


def detectable_difference(
    annotators: int,
    *,
    sd: float,
    alpha: float,
    power: float = 0.8,
    exclusion_rate: float = 0.0,
    largest: float = math.inf,
) -> Detectable:
    """Return the smallest difference that so many annotators find with a power.

    Parameters are those of :func:`annotators_needed`; ``largest`` is the largest difference
    that the scale allows (SPA: 0.5).

    >>> round(detectable_difference(34, sd=1.0, alpha=0.05).difference or 0, 3)
    0.495
    """
    _check(sd, alpha, power)

    def shortfall(effect: float) -> float:
        return expected_power(effect, annotators, alpha=alpha, exclusion_rate=exclusion_rate) - power

    if annotators < LEAST:
        return Detectable(annotators=annotators, power=power, difference=None, reason="fewer than 2 annotators")
    kept, chances = chances_to_stay(annotators, exclusion_rate)
    if chances[kept >= LEAST].sum() < power:
        reason = "no difference is large enough: too often fewer than 2 annotators remain"
        return Detectable(annotators=annotators, power=power, difference=None, reason=reason)
    high = 1.0
    while shortfall(high) < 0 and high * sd <= largest:
        high *= 2
    difference = float(brentq(shortfall, 0.0, high, xtol=1e-10)) * sd if shortfall(high) >= 0 else math.inf
    if difference > largest:
        reason = f"even the largest difference of the scale, {largest:g}, would be missed too often"
        return Detectable(annotators=annotators, power=power, difference=None, reason=reason)
    return Detectable(annotators=annotators, power=power, difference=difference)


def _none(difference: float, power: float, reason: str) -> Need:
    return Need(difference=difference, power=power, annotators=None, reached=None, reason=reason)


def _check(sd: float, alpha: float, power: float) -> None:
    if not (math.isfinite(sd) and sd > 0):
        raise ValueError(f"sd must be above 0, got {sd!r}")
    if not 0 < alpha < power < 1:
        raise ValueError(f"expected 0 < alpha < power < 1, got alpha {alpha!r} and power {power!r}")
