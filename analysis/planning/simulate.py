"""Power found by drawing answers and testing them as the report will, with its Monte-Carlo error."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.special import stdtr

from analysis.statistics.coding import Floats, Ints
from analysis.statistics.corrections import Correction

RAREST = 1e-9  # chance of higher counts, which are not drawn
STEPS = 300  # in search of the distribution of largest entropy
PRECISE, TOLERATED = 1e-13, 1e-9  # of its mean and variance, as shares of the scale
RIDGE, SMALLEST = 1e-14, 1e-6
TOGETHER = 1 << 16  # answers drawn at once, which the processor's cache holds
SINGLY = 12  # answers, times different ones, up to which they are drawn one by one
FINE = 1 << 16  # equal chances of which those of such answers are sums
NEAR = 1e-9  # of a variance to the largest, or smallest, that there can be


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """A share of replicates and its Monte-Carlo standard error, sqrt(p (1 - p) / replicates)."""

    value: float
    standard_error: float


@dataclass(frozen=True, slots=True, kw_only=True)
class FamilySimulation:
    """How often Holm's correction found what was true in a family of tests.

    Attributes
    ----------
    power : Share
        Mean chance of a true difference to be found in its own direction; its error counts
        replicates, not tests, so it is on the safe side.
    found_all : Share
        Chance that every true difference is found.
    false_finding : Share or None
        Chance of any finding where there is no difference; ``None`` where every pair differs.
    """

    annotators: int
    n_tests: int
    n_different: int
    replicates: int
    power: Share
    found_all: Share
    false_finding: Share | None


def scale_answers(low: float, high: float, steps: int, *, mean: float, sd: float) -> tuple[Floats, Floats]:
    """Return answers on a scale and their chances, with exactly this mean and SD and no other structure.

    The distribution of largest entropy on the equidistant points, p(x) ~ exp(a x + b x^2): a
    normal distribution cut to the scale where the SD is small, flat or heavy at both ends
    where it is large.

    Parameters
    ----------
    low, high : float
        Ends of the scale.
    steps : int
        Number of equal steps between them.
    mean, sd : float
        Mean and standard deviation of the answers.

    Raises
    ------
    ValueError
        When no answers on this scale have that mean and SD.

    References
    ----------
    Jaynes, E. T. (1957). Information theory and statistical mechanics. Physical Review, 106(4), 620-630.
    """
    points = np.linspace(low, high, steps + 1)
    spread = (sd / (high - low)) ** 2
    unit = (points - mean) / (high - low)
    refused = ValueError(f"no answers between {low:g} and {high:g} in {steps} steps have mean {mean:g} and SD {sd:g}")
    if not low < mean < high:
        raise refused
    below = min(int((mean - low) / (high - low) * steps + 1e-9), steps - 1)
    for x, y in ((0, steps), (below, below + 1)):  # two answers alone: the largest and the smallest SD
        if abs(-unit[x] * unit[y] - spread) < NEAR * max(spread, -unit[x] * unit[y]):
            chances = np.zeros(steps + 1)
            chances[[x, y]] = unit[y] / (unit[y] - unit[x]), -unit[x] / (unit[y] - unit[x])
            return points, chances
    if not -unit[below] * unit[below + 1] < spread < -unit[0] * unit[-1]:
        raise refused
    features = np.stack([unit, unit**2 - spread])  # both are 0 on average
    weights = np.zeros(2)
    for _ in range(STEPS):  # Newton's, halved until the convex function that is least at the solution falls
        chances, level = _softmax(weights @ features)
        gradient = features @ chances
        if np.abs(gradient).max() < PRECISE:
            break
        weighted = features * chances
        curvature = weighted @ features.T - np.outer(gradient, gradient)
        move = np.linalg.solve(curvature + RIDGE * np.trace(curvature) * np.eye(2), -gradient)
        size, slope = 1.0, 0.1 * float(gradient @ move)
        while size > SMALLEST and _softmax((weights + size * move) @ features)[1] > level + size * slope:
            size /= 2
        weights = weights + size * move
    chances = _softmax(weights @ features)[0]
    if not np.abs(features @ chances).max() < TOLERATED:
        raise refused
    return points, chances


def _softmax(logs: Floats) -> tuple[Floats, float]:
    """Return chances whose logs are these plus a constant, and less that constant: the log of their sum."""
    most = float(logs.max())
    weights = np.exp(logs - most)
    total = float(weights.sum())
    return weights / total, most + math.log(total)


def count_answers(n_items: int, *, mean: float, difference: float, sd: float) -> tuple[Floats, Floats]:
    """Return differences of the mean counts of errors in two systems' outputs, and their chances.

    Each system's sum over its outputs is negative binomial, both with the same ratio of variance to mean.

    Parameters
    ----------
    n_items : int
        Outputs of each system that an annotator reads.
    mean, difference : float
        Of an output's count: over both systems, and of the first less the second.
    sd : float
        Of the difference of an annotator's mean counts.

    Raises
    ------
    ValueError
        When no such counts have that mean, difference and SD.

    References
    ----------
    Anscombe, F. J. (1949). The statistical analysis of insect counts based on the negative binomial distribution.
    Biometrics, 5(2), 165-173.
    """
    from scipy.stats import nbinom  # 0.4 s to load

    ratio = n_items * sd**2 / (2 * mean)
    if not (ratio > 1 and difference < 2 * mean):
        raise ValueError(f"no counts have mean {mean:g}, difference {difference:g} and SD {sd:.3g}")
    x, y = (
        nbinom.pmf(np.arange(nbinom.isf(RAREST, size, 1 / ratio) + 1), size, 1 / ratio)
        for size in (n_items * (mean + half) / (ratio - 1) for half in (difference / 2, -difference / 2))
    )
    chances = np.convolve(x, y[::-1])
    return np.arange(1 - len(y), len(x)) / n_items, chances / chances.sum()


def simulate_family(
    answers: Sequence[tuple[Floats, Floats]],
    *,
    null: float,
    annotators: int,
    exclusion_rate: float,
    fwer: float,
    replicates: int,
    rng: np.random.Generator,
    staying: tuple[Ints, Floats] | None = None,
    bounded: bool = True,
    correction: Correction = "holm",
    spread: Callable[[Ints], Floats] | None = None,
) -> FamilySimulation:
    """Draw every annotator's contributions, test each pair against ``null``, correct the family.

    Parameters
    ----------
    answers : sequence of (points, chances)
        One a test: the contributions and how likely each is (see :func:`scale_answers`).
        A test whose mean is ``null`` is one without a difference. Tests are independent;
        Holm's correction holds under any dependence, power of a single test hardly depends on it.
    null : float
        Mean under the null hypothesis.
    annotators : int
        Recruited; who stays is binomial with 1 - ``exclusion_rate``, the same for all tests.
    fwer : float
        Familywise error rate.
    replicates : int
        Studies drawn.
    rng : numpy.random.Generator
        Source of randomness.
    staying : tuple of arrays, optional
        How many stay, and how likely each number is, where that is not binomial.
    bounded : bool
        Whether answers lie between bounds, so that the report bounds the chance of unanimous ones.
    correction : {"holm", "bh"}
        Holm's or Benjamini-Hochberg's.
    spread : callable, optional
        From how many stay to the SD of their mean, as a share of that of independent contributions.

    Notes
    -----
    As in the report answers that are all alike are no test. They join no family, unless some are unanimous for one of
    the two: the report bounds their chance then (``p_unanimous``), for which every comparison counts.

    A t-test needs only how often each answer was given, so a replicate costs the points of the
    scale, not the annotators.
    """
    if staying is None:
        kept = rng.binomial(annotators, 1 - exclusion_rate, size=replicates)
    else:
        kept = rng.choice(staying[0], p=staying[1] / staying[1].sum(), size=replicates)
    unanimous = np.zeros(replicates, dtype=bool)
    p_values = np.empty((replicates, len(answers)))
    upward = np.empty((replicates, len(answers)), dtype=bool)
    for place, (points, chances) in enumerate(answers):
        counts = _counts(kept, chances, rng)
        shrunk = None if spread is None else (float(points @ chances) - null, spread(kept))
        p_values[:, place], upward[:, place] = _t_tests(counts, points - null, kept, shrunk)
        if bounded:
            one_sided = np.abs(points - null) > 1e-9
            unanimous |= (kept >= 2) & (counts.max(axis=1, where=one_sided, initial=0) == kept)
    rejects = holm_rejects if correction == "holm" else bh_rejects
    found = rejects(p_values, fwer=fwer, counting_all=unanimous)
    shift = np.array([float(points @ chances) - null for points, chances in answers])
    true = np.abs(shift) > 1e-9
    if not true.any():
        raise ValueError("expected at least one test with a difference")
    right = found[:, true] & (upward[:, true] == (shift[true] > 0))
    return FamilySimulation(
        annotators=annotators,
        n_tests=len(answers),
        n_different=int(true.sum()),
        replicates=replicates,
        power=_share(float(right.mean()), replicates),
        found_all=_share(float(right.all(axis=1).mean()), replicates),
        false_finding=None if true.all() else _share(float(found[:, ~true].any(axis=1).mean()), replicates),
    )


def holm_rejects(
    p_values: Floats, *, fwer: float, counting_all: np.ndarray[Any, np.dtype[np.bool_]] | None = None
) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """Reject by Holm's rule in each row.

    NaN is a test that could not be run; it joins no family, but in the rows ``counting_all``.

    >>> holm_rejects(np.array([[0.01, 0.04, 0.03, 0.005]]), fwer=0.05).tolist()
    [[True, False, False, True]]
    """
    order, ordered, size = _ascending(p_values, counting_all)
    passed = ordered * (size - np.arange(p_values.shape[1])) <= fwer
    return _put_back(np.logical_and.accumulate(passed & ~np.isnan(ordered), axis=1), order)


def _counts(kept: Ints, chances: Floats, rng: np.random.Generator) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Draw how often each answer is given in each study: answer by answer where there are few, which is faster."""
    size, most = len(chances), int(kept.max(initial=1))
    if most > SINGLY * size:
        return rng.multinomial(kept, chances)
    table = _places(np.asarray(chances, dtype=np.float64).tobytes())
    at_once, found = max(1, TOGETHER // most), []
    for first in range(0, len(kept), at_once):
        own = kept[first : first + at_once]
        place = table[rng.integers(0, FINE, size=int(own.sum()), dtype=np.uint16)]
        place += np.repeat(np.arange(len(own)) * size, own)
        found.append(np.bincount(place, minlength=len(own) * size).reshape(len(own), size))
    return np.concatenate(found)


@lru_cache(maxsize=4)
def _places(chances: bytes) -> np.ndarray[Any, np.dtype[np.intp]]:
    """Return the answer of each of ``FINE`` numbers; pairs mostly have the same chances."""
    return np.searchsorted(np.cumsum(np.frombuffer(chances))[:-1], (np.arange(FINE) + 0.5) / FINE, side="right")


def bh_rejects(
    p_values: Floats, *, fwer: float, counting_all: np.ndarray[Any, np.dtype[np.bool_]] | None = None
) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """Reject by Benjamini and Hochberg's rule in each row at a rate, else as :func:`holm_rejects`.

    >>> bh_rejects(np.array([[0.01, 0.04, 0.03, 0.005]]), fwer=0.05).tolist()
    [[True, True, True, True]]
    """
    order, ordered, size = _ascending(p_values, counting_all)
    passed = (ordered * size <= fwer * (1 + np.arange(p_values.shape[1]))) & ~np.isnan(ordered)
    return _put_back(np.logical_or.accumulate(passed[:, ::-1], axis=1)[:, ::-1], order)


def _ascending(
    p_values: Floats, counting_all: np.ndarray[Any, np.dtype[np.bool_]] | None
) -> tuple[np.ndarray[Any, np.dtype[np.intp]], Floats, np.ndarray[Any, np.dtype[np.int_]]]:
    """Return the order of each row's p-values, these in it, NaN last, and the size of its family, shape (rows, 1)."""
    order = np.argsort(p_values, axis=1, kind="stable")
    size = np.sum(~np.isnan(p_values), axis=1)[:, None]
    if counting_all is not None:
        size = np.where(counting_all[:, None], p_values.shape[1], size)
    return order, np.take_along_axis(p_values, order, axis=1), size


def _put_back(
    passed: np.ndarray[Any, np.dtype[np.bool_]], order: np.ndarray[Any, np.dtype[np.intp]]
) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    rejected = np.empty_like(passed)
    np.put_along_axis(rejected, order, passed, axis=1)
    return rejected


def _t_tests(
    counts: np.ndarray[Any, np.dtype[np.int64]],
    centred: Floats,
    kept: Ints,
    shrunk: tuple[float, Floats] | None,
) -> tuple[Floats, np.ndarray[tuple[int, ...], np.dtype[np.bool_]]]:
    testable = (np.count_nonzero(counts, axis=1) >= 2) & (kept >= 2)
    n = np.where(testable, kept, 2).astype(np.float64)
    mean = counts @ centred / n
    squares = counts @ centred**2 - n * mean**2
    error = np.sqrt(np.where(testable, squares, 1.0) / (n - 1) / n)
    if shrunk is not None:  # towards the true mean
        mean = shrunk[0] + shrunk[1] * (mean - shrunk[0])
    p_values = 2 * stdtr(n - 1, -np.abs(mean / error))
    return np.where(testable, p_values, np.nan), mean > 0


def _share(value: float, replicates: int) -> Share:
    return Share(value=value, standard_error=math.sqrt(value * (1 - value) / replicates))
