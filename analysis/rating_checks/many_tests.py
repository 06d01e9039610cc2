"""One test for each of many pairs at once, on arrays in which a number says to which pair a value belongs.

Values are sorted before they are added up, so that the order of the rows leaves no trace in the last bit.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy.special import stdtr, stdtrit

from analysis.statistics.coding import ROUNDED, Floats, Ints, fold
from analysis.statistics.reasons import Reason, why
from analysis.statistics.t_tests import NO_VARIATION, ONE_UNIT
from analysis.statistics.weighed_items import spread_of_items

Flags = npt.NDArray[np.bool_]
MANY = 1000  # values a part from which each part is sorted by itself
EXACT = 2.0**53  # whole numbers below are floats
NOTHING_PAIRED = why("nothing_paired")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ManyTests:
    """Results by pair; NaN where ``reasons`` says why there is none."""

    n: Ints
    estimate: Floats
    df: Floats
    p_value: Floats
    low: Floats
    high: Floats
    reasons: list[Reason | None]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class UnitMeans:
    """Means of each part's units, and how much each unit weighs in its part: see :func:`weighed_tests`.

    ``uneven`` says of each part whether its units weigh differently.
    """

    part: Ints
    unit: Ints
    mean: Floats
    share: Floats
    square: Floats
    uneven: Flags


def untested(reasons: list[Reason | None]) -> ManyTests:
    """Return no results, one a reason."""
    nothing = np.full(len(reasons), np.nan)
    none = np.zeros(len(reasons), dtype=np.int64)
    return ManyTests(n=none, estimate=nothing, df=nothing, p_value=nothing, low=nothing, high=nothing, reasons=reasons)


def chosen_tests(flags: Flags, one: ManyTests, other: ManyTests) -> ManyTests:
    """Return the results of ``one`` for the pairs that are flagged, of ``other`` for the rest."""
    names = ("n", "estimate", "df", "p_value", "low", "high")
    reasons = [
        mine if flag else yours for flag, mine, yours in zip(flags.tolist(), one.reasons, other.reasons, strict=True)
    ]
    columns = {name: np.where(flags, getattr(one, name), getattr(other, name)) for name in names}
    return ManyTests(**columns, reasons=reasons)


def sums_by(part: Ints, values: Floats, n_parts: int) -> Floats:
    """Add up the values of each part, the smallest first unless their order leaves no trace.

    So it is where none holds more than two, and of whole numbers, of which no sum is rounded.
    """
    few = len(part) <= 2 * n_parts and np.bincount(part).max(initial=0) <= 2
    if not (few or (np.array_equal(values, np.rint(values)) and np.abs(values).sum() < EXACT)):
        if MANY * n_parts <= len(part) and np.all(part[1:] >= part[:-1]):
            values = np.concatenate([np.sort(own) for own in np.split(values, np.flatnonzero(np.diff(part)) + 1)])
        else:
            order = np.argsort(values, kind="stable")  # parts may lie mixed: each still gets its values in order
            part, values = part[order], values[order]
    return np.bincount(part, weights=values, minlength=n_parts).astype(np.float64)


def unit_means(part: Ints, unit: Ints, values: Floats) -> tuple[Ints, Floats]:
    """Average the values of each part within its units: the part of each mean, and the means."""
    folded = fold(part, unit)
    return part[folded.first], sums_by(folded.of, values, len(folded)) / np.bincount(folded.of, minlength=len(folded))


def no_variation(part: Ints, values: Floats, n_parts: int) -> Flags:
    """Tell which parts hold one value only, however often."""
    least, most = np.full(n_parts, np.inf), np.full(n_parts, -np.inf)
    np.minimum.at(least, part, values)
    np.maximum.at(most, part, values)
    alike: Flags = least == most
    return alike


def one_sample_tests(
    part: Ints, values: Floats, n_parts: int, *, against: float = 0.0, confidence: float = 0.95
) -> ManyTests:
    """Run :func:`analysis.statistics.t_tests.one_sample` on the values of every part."""
    n = np.bincount(part, minlength=n_parts).astype(np.int64)
    with np.errstate(all="ignore"):
        mean = sums_by(part, values, n_parts) / n
        largest = np.zeros(n_parts)
        np.maximum.at(largest, part, np.abs(values))
        mean = np.where(np.abs(mean - against) <= ROUNDED * largest, against, mean)
        df = (n - 1).astype(np.float64)
        se = np.sqrt(sums_by(part, (values - mean[part]) ** 2, n_parts) / df / n)
        t = (mean - against) / se
        half = stdtrit(df, (1 + confidence) / 2) * se
        p_value = np.minimum(1.0, 2 * stdtr(df, -np.abs(t)))
    same = no_variation(part, values, n_parts)
    reasons = [
        NOTHING_PAIRED if count == 0 else ONE_UNIT if count == 1 else NO_VARIATION if alike else None
        for count, alike in zip(n.tolist(), same.tolist(), strict=True)
    ]
    no_test = np.array([reason is not None for reason in reasons], dtype=np.bool_)
    p_value, low, high = (np.where(no_test, np.nan, column) for column in (p_value, mean - half, mean + half))
    return ManyTests(n=n, estimate=mean, df=df, p_value=p_value, low=low, high=high, reasons=reasons)


def weighed_tests(units: UnitMeans, n_parts: int, *, against: float = 0.0, confidence: float = 0.95) -> ManyTests:
    """Run :meth:`analysis.statistics.weighed_items.WeighedItems.test` on the units of every part."""
    found = one_sample_tests(units.part, units.mean, n_parts, against=against, confidence=confidence)
    if not units.uneven.any():
        return found
    mean = np.round(sums_by(units.part, units.share * units.mean, n_parts), 12)  # of shares and standard scores
    rest = units.share * (units.mean - mean[units.part])
    variance, df = spread_of_items(units.part, units.share, units.square, rest, n_parts)
    with np.errstate(all="ignore"):
        se = np.sqrt(variance)
        half = stdtrit(df, (1 + confidence) / 2) * se
        p_value = np.minimum(1.0, 2 * stdtr(df, -np.abs(mean - against) / se))
    tested = units.uneven & np.array([reason is None for reason in found.reasons], dtype=np.bool_)
    columns = {"df": df, "p_value": p_value, "low": mean - half, "high": mean + half}
    return replace(
        found,
        estimate=np.where(units.uneven, mean, found.estimate),
        **{name: np.where(tested, column, getattr(found, name)) for name, column in columns.items()},
    )
