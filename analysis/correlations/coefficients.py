"""Pearson's r, Spearman's rho and Kendall's tau-b of two lists of numbers, with ties as in exact arithmetic."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt
from scipy.special import betainc, ndtr, stdtr

from analysis.statistics.coding import DIGITS, Floats, Ints
from analysis.statistics.reasons import Reason, why

Method = Literal["kendall", "spearman", "pearson"]
METHODS: tuple[Method, ...] = get_args(Method)
FEWEST = 3  # a line through two points always fits
EXACT_UP_TO = 33  # values without ties: Kendall's p-value is counted, not approximated
DENSE = 64  # cells of a contingency table per value up to which the table is the faster way
PERFECT = 1e-15  # a coefficient this close to 1 differs from it by rounding only
NOT_FINITE = why("not_finite")
CONSTANT = why("one_side_constant")


@dataclass(frozen=True, slots=True, kw_only=True)
class Correlation:
    """A coefficient in [-1, 1] with its two-sided p-value; ``reason`` says why one is ``None``."""

    method: Method
    value: float | None
    p_value: float | None
    n: int
    reason: Reason | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Series:
    """One side: values rounded to 12 significant digits, the place of each among the distinct ones, their counts."""

    values: Floats
    codes: Ints
    counts: Ints
    reason: Reason | None = None

    def __len__(self) -> int:
        """Return the number of values."""
        return len(self.values)


def correlate(x: npt.ArrayLike, y: npt.ArrayLike, *, method: Method = "kendall") -> Correlation:
    """Correlate two lists of numbers; positive where high goes with high.

    Values are rounded to 12 significant digits first: means that are equal in exact arithmetic
    differ in the last bit, and a tie must not depend on the order of a sum.

    * pearson: r = Σ(x - x̄)(y - ȳ) / sqrt(Σ(x - x̄)² Σ(y - ȳ)²); p from r's distribution under
      normality (beta).
    * spearman: Pearson's r of the average ranks; p from t = r sqrt((n - 2) / (1 - r²)), n - 2
      degrees of freedom.
    * kendall: tau-b = (C - D) / sqrt((P - T_x)(P - T_y)) with C concordant, D discordant, P all
      pairs and T those tied on a side; p counted exactly without ties up to n = 33 (or where at most
      one pair is out of order), else normal with the variance corrected for ties.

    All agree with ``scipy.stats`` (``pearsonr``, ``spearmanr``, ``kendalltau``). O(n log n).

    Parameters
    ----------
    x, y : array_like of float, shape (n,)
        Paired values.
    method : {"kendall", "spearman", "pearson"}
        Coefficient.

    Returns
    -------
    Correlation
        With ``reason`` instead of numbers for n < 3, a constant side, or a value that is not finite.

    Raises
    ------
    ValueError
        When the lists are not one-dimensional or of different length.

    References
    ----------
    Kendall, M. G. (1945). The treatment of ties in ranking problems. Biometrika, 33(3), 239-251.
    Kendall, M. G. (1970). Rank Correlation Methods, 4th ed., chapters 4 and 5. Griffin.
    Spearman, C. (1904). The proof and measurement of association between two things. American
    Journal of Psychology, 15(1), 72-101.

    >>> found = correlate([1, 2, 3, 4], [1, 3, 2, 4])
    >>> round(found.value, 4), round(found.p_value, 4)
    (0.6667, 0.3333)
    """
    return correlate_series(prepare(x), prepare(y), method)


def correlate_series(x: Series, y: Series, method: Method) -> Correlation:
    """Correlate two prepared sides; see :func:`correlate`."""
    n = len(x)
    if n != len(y):
        raise ValueError(f"expected two lists of the same length, got {n} and {len(y)} values")
    if method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(METHODS)}, got {method!r}")
    reason = x.reason or y.reason
    if reason is not None:
        return Correlation(method=method, value=None, p_value=None, n=n, reason=reason)
    if method == "kendall":
        value, p_value = _kendall(x, y)
    elif method == "spearman":
        value = _product_moment(average_ranks(x), average_ranks(y))
        p_value = _p_of_t(value, n)
    else:
        value = _product_moment(x.values, y.values)
        p_value = min(1.0, 2 * float(betainc(n / 2 - 1, n / 2 - 1, (1 - abs(value)) / 2)))
    return Correlation(method=method, value=value, p_value=p_value, n=n)


def prepare(values: npt.ArrayLike) -> Series:
    """Round one side, find its ties, and say why nothing can be correlated with it."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1:
        raise ValueError(f"expected a list of numbers, got an array of shape {array.shape}")
    none = np.zeros(0, dtype=np.int64)
    if not np.isfinite(array).all():
        return Series(values=array, codes=none, counts=none, reason=NOT_FINITE)
    rounded = round_significant(array)
    distinct, codes, counts = np.unique(rounded, return_inverse=True, return_counts=True)
    reason = None
    if len(array) < FEWEST:
        reason = few(len(array))
    elif len(distinct) == 1:
        reason = CONSTANT
    return Series(values=rounded, codes=codes.astype(np.int64), counts=counts.astype(np.int64), reason=reason)


def few(n: int) -> Reason:
    """Say that there are too few values."""
    return why("few_in_common", n=n, needed=FEWEST)


def round_significant(values: Floats, digits: int = DIGITS) -> Floats:
    """Round each value to significant digits of its own: 1e-16 keeps its digits beside 1.

    >>> round_significant(np.array([0.1 + 0.2, 1.23456789012345e-16])).tolist()
    [0.3, 1.23456789012e-16]
    """
    array = np.asarray(values, dtype=np.float64)
    size = np.abs(array)
    if size.max(initial=0.0) < 10.0 ** (digits - 1) and np.array_equal(array, np.rint(array)):
        return array + 0.0
    usual = (size >= 1e-10) & (size < 1e11)
    power = np.floor(np.log10(np.where(usual, size, 1.0)))
    factor = 10.0 ** (digits - 1 - power)  # exact: a power of ten below 1e22
    rounded: Floats = np.where(usual, np.round(np.where(usual, array, 0.0) * factor) / factor, array) + 0.0
    for place in np.flatnonzero(~usual & (size > 0) & np.isfinite(size)).tolist():
        rounded.flat[place] = float(f"{array.flat[place]:.{digits}g}")
    return rounded


def average_ranks(side: Series) -> Floats:
    """Return ranks from 1, tied values sharing the mean of theirs.

    >>> average_ranks(prepare([5.0, 1.0, 5.0])).tolist()
    [2.5, 1.0, 2.5]
    """
    ranks: Floats = (np.cumsum(side.counts) - (side.counts - 1) / 2)[side.codes]
    return ranks


def _product_moment(x: Floats, y: Floats) -> float:
    scaled = [np.ldexp(side, -math.frexp(float(np.abs(side).max()))[1]) for side in (x, y)]  # no overflow in squares
    (u, norm_u), (v, norm_v) = ((side - side.mean(), _norm(side - side.mean())) for side in scaled)
    value = float((u / norm_u) @ (v / norm_v))
    return math.copysign(1.0, value) if abs(value) > 1 - PERFECT else value


def _norm(values: Floats) -> float:
    return float(np.sqrt((values * values).sum()))


def _p_of_t(value: float, n: int) -> float:
    if abs(value) == 1:
        return 0.0
    t = value * math.sqrt((n - 2) / ((1 + value) * (1 - value)))
    return min(1.0, 2 * float(stdtr(n - 2, -abs(t))))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ties:
    pairs: int  # t(t - 1) / 2 summed over ties of t
    triples: int  # t(t - 1)(t - 2)
    weighted: int  # t(t - 1)(2t + 5)


def _ties(side: Series) -> _Ties:
    counts = side.counts[side.counts > 1].astype(object)  # whole numbers of any size
    return _Ties(
        pairs=sum(t * (t - 1) // 2 for t in counts),
        triples=sum(t * (t - 1) * (t - 2) for t in counts),
        weighted=sum(t * (t - 1) * (2 * t + 5) for t in counts),
    )


def _kendall(x: Series, y: Series) -> tuple[float, float]:
    n = len(x)
    pairs = n * (n - 1) // 2
    ties_x, ties_y = _ties(x), _ties(y)
    discordant, tied_in_both = discordant_pairs(x, y)
    concordant = pairs - discordant - ties_x.pairs - ties_y.pairs + tied_in_both
    surplus = concordant - discordant
    value = surplus / math.sqrt(pairs - ties_x.pairs) / math.sqrt(pairs - ties_y.pairs)
    if not ties_x.pairs and not ties_y.pairs and (n <= EXACT_UP_TO or min(discordant, pairs - discordant) <= 1):
        p_value = _exact_p(n, min(discordant, pairs - discordant))
    else:
        twice = 2 * pairs
        variance = (
            (twice * (2 * n + 5) - ties_x.weighted - ties_y.weighted) / 18
            + 2 * ties_x.pairs * ties_y.pairs / twice
            + ties_x.triples * ties_y.triples / (9 * twice * (n - 2))
        )
        p_value = min(1.0, 2 * float(ndtr(-abs(surplus) / math.sqrt(variance))))
    return max(-1.0, min(1.0, value)), p_value


def discordant_pairs(x: Series, y: Series) -> tuple[int, int]:
    """Count the pairs that the two sides order differently, and those tied on both.

    By a cumulated contingency table where it is small, else by counting inversions; O(n log n).
    """
    wide, high = len(x.counts), len(y.counts)
    key = x.codes * high + y.codes
    if wide * high <= DENSE * len(x):
        table = np.bincount(key, minlength=wide * high).reshape(wide, high)
        before = np.cumsum(np.cumsum(table, axis=0), axis=1)
        earlier_and_higher = before[:-1, -1:] - before[:-1, :-1]
        both = int((table * (table - 1)).sum()) // 2
        return int((table[1:, :-1] * earlier_and_higher).sum()), both
    key = np.sort(key)
    together = np.diff(np.flatnonzero(np.concatenate(([True], key[1:] != key[:-1], [True]))))
    return _inversions(key % high, high), int((together * (together - 1)).sum()) // 2


def _inversions(sequence: Ints, levels: int) -> int:
    """Count i < j with sequence[i] > sequence[j], one binary digit after the other from the highest.

    Two numbers are out of order at the first digit in which they differ: among numbers with the same
    digits before it, count the ones that stand before a zero, then sort stably by that digit too.
    """
    found = 0
    for bit in reversed(range((levels - 1).bit_length())):
        head = sequence >> bit
        one = head & 1
        ones_before = np.cumsum(one) - one
        zeros, ones = np.bincount(head, minlength=2 * (int(head.max() >> 1) + 1)).reshape(-1, 2).T
        found += int(ones_before.sum() - ones_before @ one) - int((np.cumsum(ones) - ones) @ zeros)
        if bit:
            short = head.astype(np.uint16) if levels >> bit < 2**16 else head  # sorted by radix
            sequence = sequence[np.argsort(short, kind="stable")]
    return found


@lru_cache(maxsize=1024)
def _exact_p(n: int, discordant: int) -> float:
    """Share of the n! orders that are at least as far from chance, both ends (Kendall 1970, section 5.2)."""
    pairs = n * (n - 1) // 2
    if 2 * discordant >= pairs:
        return 1.0
    if discordant <= 1:
        return 2 * (1 if discordant == 0 else n) / math.factorial(n)
    orders = [1] + [0] * discordant  # orders of one value by number of inversions, in whole numbers
    for size in range(2, n + 1):
        running = 0
        grown = []
        for inversions in range(discordant + 1):
            running += orders[inversions] - (orders[inversions - size] if inversions >= size else 0)
            grown.append(running)
        orders = grown
    return min(1.0, 2 * sum(orders) / math.factorial(n))
