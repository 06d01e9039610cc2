"""Power turned round: annotators for a given power, or the difference that a number of annotators can find."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Literal

from scipy.special import ndtri

from analysis.planning.power import LEAST, chances_to_stay, expected_power
from analysis.statistics.roots import find_root

MOST = 1_000_000  # annotators; beyond that no plan is meant
HALVINGS = 20  # of the scale, in search of the largest difference that is possible
TRIED = 12  # differences, in search of the first that is found


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
    """Smallest difference that a number of annotators finds with a power; null with a reason where there is none.

    ``n`` and ``sd`` are those of the units that the report tests; by item it holds for these annotators only.
    """

    annotators: int
    power: float
    difference: float | None
    reason: str | None = None
    unit: Literal["annotator", "item"] = "annotator"
    n: int | None = None
    sd: float | None = None


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


def normal_need(effect: float, *, alpha: float, power: float) -> float:
    """Return about how many normal answers a t-test needs: ((z of the level + z of the power) / effect)^2 and a few.

    References
    ----------
    Guenther, W. C. (1981). Sample size formulas for normal theory t tests. The American Statistician, 35(4), 243-244.
    """
    critical = float(ndtri(1 - alpha / 2))
    return ((critical + float(ndtri(power))) / effect) ** 2 + critical**2 / 2


def lasting_number(
    power: Callable[[int], float],
    wanted: float,
    *,
    start: int,
    most: int,
    sawtooth_span: Callable[[int], int],
    least: int = LEAST,
) -> int | None:
    """Return the smallest number of annotators from which on power stays at or above the one wanted.

    Parameters
    ----------
    power : callable
        Power of a number of annotators: rising but for steps down.
    wanted : float
        Power asked for.
    start : int
        A number near which it is expected.
    most : int
        Largest number tried.
    sawtooth_span : callable
        Among how many more annotators than a number that is enough power may step down again.
    least : int
        Smallest number tried.
    """
    reached = cache(power)
    low, high, step = least - 1, min(max(start, least), most), max(1, start // 32)
    if reached(high) >= wanted:
        while high - step >= least and reached(high - step) >= wanted:
            high, step = high - step, 2 * step
        low = max(high - step, least - 1)
    else:
        while reached(high) < wanted:
            if high >= most:
                return None
            low, high, step = high, min(high + step, most), 2 * step
    high = _first(reached, wanted, low, high)
    count, end = high, high + sawtooth_span(high)
    while count < min(end, most):
        count += 1
        if reached(count) < wanted:
            high, end = count + 1, count + 1 + sawtooth_span(count)
    return high if high <= most else None


def _first(power: Callable[[int], float], wanted: float, low: int, high: int) -> int:
    """Return the first number that is enough between one that is not and one that is."""
    aim, left = float(ndtri(wanted)), low
    while high - low > 1:
        ends = [float(ndtri(min(max(power(end), 1e-9), 1 - 1e-9))) for end in (low, high)] if low > left else None
        middle = (low + high) // 2
        if ends is not None and ends[1] > ends[0]:  # nearly a line over few numbers
            middle = low + math.ceil((high - low) * (aim - ends[0]) / (ends[1] - ends[0]) - 0.5)
        middle = min(max(middle, low + 1), high - 1)
        low, high = (low, middle) if power(middle) >= wanted else (middle, high)
    return high


def smallest_found(
    power: Callable[[float], float], wanted: float, *, largest: float, possible: Callable[[float], bool]
) -> float | None:
    """Return the smallest difference that is found with a power, none where no possible one is.

    Power rises with the difference but may fall again near the end of the scale, where answers are too alike to test.
    """
    low, high = 0.0, largest
    for _ in range(0 if possible(largest) else HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if possible(middle) else (low, middle)
    end = largest if possible(largest) else low
    before = 0.0
    for place in range(1, TRIED + 1):
        difference = end * place / TRIED
        if not possible(difference):
            continue
        if power(difference) >= wanted:
            shortfall = cache(lambda value: power(value) - wanted)
            return find_root(shortfall, before, difference, tolerance=1e-6 * largest)
        before = difference
    return None


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
    difference = find_root(shortfall, 0.0, high, tolerance=1e-10) * sd if shortfall(high) >= 0 else math.inf
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
