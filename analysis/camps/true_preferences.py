"""How much people differ in what they prefer, apart from the noise of their answers; profile likelihoods on grids."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np
from scipy.special import betainc, betaincinv, gammaln, ndtr, ndtri

from analysis.statistics.coding import Floats, Ints
from analysis.statistics.reasons import Reason, why
from analysis.statistics.t_tests import t_bound

FEWEST = 20  # people with two answers about separate outputs, from whom on intervals were seen to hold
EVEN = 0.5
SAME = 1e-6  # log likelihood by which no spread is as likely as some
Model = Literal["normal", "beta-binomial"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TruePreferences:
    """A distribution of people's true preferences.

    Attributes
    ----------
    mean, variance : float
        Over people; of choices that of the fitted beta distribution.
    noise : float or None
        Variance of one answer about its person's true preference; of choices none of its own.
    share_x, low, high : float
        Share of people whose true preference lies on the side of x, with its interval.
    own, own_low, own_high : array of float, shape (people,)
        Each person's preference, drawn to the mean as far as it is uncertain, and its band.
    """

    model: Model
    mean: float
    variance: float
    noise: float | None
    share_x: float
    low: float
    high: float
    own: Floats
    own_low: Floats
    own_high: Floats


def true_preferences(
    value: Floats, person: Ints, *, even: float, counted: bool, confidence: float
) -> TruePreferences | Reason:
    """Estimate the distribution of true preferences from answers about separate outputs.

    Answers of one person are independent about his or her true preference. ``counted``: they are 0 and 1, of which
    each person's chance comes from a beta distribution; else answers and true preferences are normal. The share on the
    side of x is read off the fitted distribution. Its interval holds what a profile likelihood allows, by t with one
    less than the people instead of the normal distribution.

    Parameters
    ----------
    value : array of float, shape (n,)
        High is for x.
    person : array of int, shape (n,)
        Whose answer each is, from 0 on, nobody left out.
    even : float
        Where nobody prefers either.
    counted : bool
        Whether the answers are choices.
    confidence : float
        Of interval and bands.

    Returns
    -------
    TruePreferences or Reason
        A reason where fewer than 20 people answered twice, or their answers do not vary.

    References
    ----------
    Patterson, H. D. and Thompson, R. (1971). Recovery of inter-block information when block sizes are unequal.
    Biometrika 58(3), 545-554. Griffiths, D. A. (1973). Maximum likelihood estimation for the beta-binomial distribution
    and an application to the household distribution of the total number of cases of a disease. Biometrics 29(4),
    637-648. Venzon, D. J. and Moolgavkar, S. H. (1988). A method for computing profile-likelihood-based confidence
    intervals. Applied Statistics 37(1), 87-94.
    """
    n = np.bincount(person).astype(np.float64) if len(person) else np.zeros(0)
    twice = int(np.sum(n > 1))
    if twice < FEWEST:
        return why("few_people_twice", n=twice, needed=FEWEST)
    bound = t_bound(len(n) - 1, confidence) ** 2
    if counted:
        return _beta(np.bincount(person, weights=value).astype(np.float64), n, bound, confidence)
    sums = np.bincount(person, weights=value - even)
    own = sums / n
    within = float(np.sum((value - even - own[person]) ** 2))
    if not within > 1e-12 * max(1.0, float(np.abs(value).max()) ** 2):
        return why("annotators_constant" if np.ptp(own) else "no_variation")
    return _normal(own, n, within, even, bound, confidence)


def _profile_interval(z: Floats, likelihood: Floats, bound: float) -> tuple[float, float, float]:
    """Return where a profile is highest and the ends of what lies within ``bound`` of that, on the way between points.

    An end that is not reached is infinite.
    """
    away = 2 * (likelihood.max() - likelihood)
    best, inside = int(away.argmin()), np.flatnonzero(away <= bound)

    def end(within: int, beyond: int) -> float:
        if not 0 <= beyond < len(z):
            return float(np.sign(beyond)) * np.inf if beyond else np.inf
        part = (bound - away[within]) / (away[beyond] - away[within])
        return float(z[within] + part * (z[beyond] - z[within]))

    low = -np.inf if inside[0] == 0 else end(int(inside[0]), int(inside[0]) - 1)
    high = np.inf if inside[-1] == len(z) - 1 else end(int(inside[-1]), int(inside[-1]) + 1)
    return float(z[best]), low, high


@cache
def _normal_grid() -> tuple[Floats, Floats]:
    """Return mean over spread, and the squared ratio of spread and noise."""
    half = np.geomspace(0.02, 5000, 110)
    return np.concatenate([-half[::-1], [0.0], half]), np.geomspace(1e-6, 1e3, 101)


def _normal(own: Floats, n: Floats, within: float, even: float, bound: float, confidence: float) -> TruePreferences:
    """Fit y = mean + person + noise: variances by REML, the share by the profile over mean / spread.

    With g the ratio of the variances, w = n / (1 + g n) and the mean z times the spread, the noise that is likeliest
    solves a quadratic equation.
    """
    z, ratio = _normal_grid()
    sizes, of = np.unique(n, return_inverse=True)
    columns = (np.ones_like(own), own, own**2)
    people, first, second = (np.bincount(of, weights=column).astype(np.float64) for column in columns)
    total = float(n.sum())

    def parts(g: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        weight = sizes[:, None] / (1 + sizes[:, None] * g)
        logs: Floats = people @ np.log1p(sizes[:, None] * g)
        return people @ weight, first @ weight, within + second @ weight, logs

    with_none = np.concatenate([[0.0], ratio])
    found = 0.0
    for last in (False, True):  # finer about the best, then between points
        weights, sums, squares, logs = parts(with_none)
        left = squares - sums**2 / weights
        restricted = -0.5 * ((total - 1) * np.log(left) + logs + np.log(weights))
        best = int(restricted.argmax())
        if best == 0 or restricted[best] - restricted[0] < SAME:
            found = 0.0
            break
        if last or best == len(with_none) - 1:
            found = float(with_none[best])
            if 1 < best < len(with_none) - 1:
                found = math.exp(_between(np.log(with_none[1:]), restricted[1:], best - 1))
            break
        ends = with_none[best - 1] or ratio[0] / 10, with_none[best + 1]
        with_none = np.concatenate([[0.0], np.geomspace(*ends, 60)])
    weights, sums, squares, _ = parts(np.array([found]))
    mean, noise = float(sums[0] / weights[0]), float((squares - sums**2 / weights)[0] / (total - 1))
    variance = found * noise
    weights, sums, squares, logs = parts(ratio)
    away = z[:, None] * np.sqrt(ratio)
    precision = (away * sums + np.sqrt((away * sums) ** 2 + 4 * squares * total)) / (2 * squares)
    likelihood = (
        total * np.log(precision)
        - 0.5 * precision**2 * squares
        + precision * away * sums
        - 0.5 * away**2 * weights
        - 0.5 * logs
    ).max(axis=1)
    _, low, high = _profile_interval(z, likelihood, bound)
    spread = variance**0.5
    kept = variance / (variance + noise / n) if variance > 0 else np.zeros_like(n)
    shrunken = even + mean + kept * (own - mean)
    half: Floats = float(ndtri((1 + confidence) / 2)) * np.sqrt(kept * noise / n)
    share = float(ndtr(mean / spread)) if spread > 0 else (1 + float(np.sign(mean))) / 2
    return TruePreferences(
        model="normal",
        mean=even + mean,
        variance=variance,
        noise=noise,
        share_x=share,
        low=min(float(ndtr(low)), share),
        high=max(float(ndtr(high)), share),
        own=shrunken,
        own_low=shrunken - half,
        own_high=shrunken + half,
    )


@cache
def _beta_grid() -> tuple[Floats, Floats, Floats, Floats]:
    """Return z, precisions, and both parameters of the beta distribution of which P(chance > 1/2) is the normal of z.

    The parameters have shape (z, precisions).
    """
    half = np.geomspace(0.05, 35, 40)
    z, precision = np.concatenate([-half[::-1], [0.0], half]), np.geomspace(0.15, 3000, 41)
    odds = np.linspace(-9, 9, 1441)
    mean = 1 / (1 + np.exp(-odds))
    found = np.empty((len(z), len(precision)))
    for place, one in enumerate(precision.tolist()):
        a, b = mean * one, (1 - mean) * one
        above, below = betainc(b, a, EVEN), betainc(a, b, EVEN)
        normal = np.where(above < EVEN, ndtri(np.maximum(above, 1e-300)), -ndtri(np.maximum(below, 1e-300)))
        rising = np.concatenate([[True], np.diff(normal) > 0])
        found[:, place] = np.interp(z, normal[rising], odds[rising])
    means = 1 / (1 + np.exp(-found))
    return z, precision, means * precision, (1 - means) * precision


def _beta(won: Floats, n: Floats, bound: float, confidence: float) -> TruePreferences:
    """Fit the beta-binomial distribution to how many of each person's choices x won."""
    z, precision, a, b = _beta_grid()
    likelihood = np.zeros_like(a)
    for counts, start, sign in ((won, a, 1.0), (n - won, b, 1.0), (n, precision[None, :], -1.0)):
        values, people = np.unique(counts[counts > 0], return_counts=True)
        for value, times in zip(values.tolist(), people.tolist(), strict=True):
            likelihood = likelihood + sign * times * (gammaln(start + value) - gammaln(start))
    profile = likelihood.max(axis=1)
    best, low, high = _profile_interval(z, profile, bound)
    flat = np.flatnonzero(profile.max() - profile[[0, -1]] < SAME)  # all on one side are as likely as nearly all
    row = int(profile.argmax()) if not len(flat) else int([0, len(z) - 1][flat[0]])
    column = int(np.flatnonzero(likelihood[row] > likelihood[row].max() - SAME)[0])
    best = _between(z, profile, row)
    alpha, beta = float(a[row, column]), float(b[row, column])
    mean = alpha / (alpha + beta)
    first, second = alpha + won, beta + n - won
    levels = ((1 - confidence) / 2, (1 + confidence) / 2)
    ends = [np.asarray(betaincinv(first, second, level), dtype=np.float64) for level in levels]
    share = float(ndtr(best))
    return TruePreferences(
        model="beta-binomial",
        mean=mean,
        variance=mean * (1 - mean) / (alpha + beta + 1),
        noise=None,
        share_x=share,
        low=min(float(ndtr(low)), share),
        high=max(float(ndtr(high)), share),
        own=first / (first + second),
        own_low=ends[0],
        own_high=ends[1],
    )


def _between(z: Floats, profile: Floats, row: int) -> float:
    """Return the top of the parabola through the best point and its neighbours."""
    if row in (0, len(z) - 1):
        return float(z[row])
    left, middle, right = profile[row - 1 : row + 2]
    before, after = z[row] - z[row - 1], z[row + 1] - z[row]
    slopes = (middle - left) / before, (right - middle) / after
    bend = (slopes[1] - slopes[0]) / (before + after)
    if not bend < 0:
        return float(z[row])
    top = (z[row - 1] + z[row]) / 2 - slopes[0] / (2 * bend)
    return float(np.clip(top, z[row - 1], z[row + 1]))
