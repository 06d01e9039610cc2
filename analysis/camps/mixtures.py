"""Whether people fall into two camps: two distributions of true preferences against one, by parametric bootstrap."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt
from scipy.special import betainc, gammaln, ndtr

from analysis.statistics.coding import Floats, Ints

POINTS = 41  # in [0, 1], at which true preferences are taken to lie
OUTSIDE = np.array([-0.4, -0.25, -0.15, -0.05, 1.05, 1.15, 1.25, 1.4])  # of those whose answers are cut off at an end
CUT_MEANS, CUT_SPREADS = np.linspace(-0.2, 1.2, 57), np.geomspace(0.04, 0.5, 16)  # of a normal camp that ends cut off
EVEN_STARTS = np.linspace(-0.5, 0.5, 21)  # of a camp spread evenly; its end is as far from 1
ONE_MEANS, ONE_PRECISIONS = np.linspace(0.02, 0.98, 97), np.geomspace(1.2, 160, 24)  # of a single camp
FLAT_TO_ONE_END = np.append(np.geomspace(0.12, 0.9, 14), 1.0)  # other parameter of a single camp with one of 1
MEANS, PRECISIONS = np.linspace(0.05, 0.95, 19), np.geomspace(4, 160, 8)  # of two
APART = 2  # standard deviations of a camp, by which two differ at least: else they have one peak together
SHARES = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9])  # of the camp nearer to x
BINS = 40  # of people's means
MOST_SIZES = 5  # numbers of answers that are told apart; of more, people are sorted
NOISES = 3  # sorts of people by how many answers they gave
FINEST = 100  # steps of answers
SPREADS = np.geomspace(0.01, 0.6, 24)  # of one answer, in the middle
SOME = 7  # of so many single camps one is tried with each noise
LEAST = 1e-300
Short = npt.NDArray[np.float32]
MOST_KINDS = 300  # of people by choices won and given, of which more are binned
DRAWS = 499  # of answers, from each single camp that stands for all
FIRST, HOPELESS = 99, 0.2  # draws, after which a p-value beyond this is left at what they say
SINGLE_PRECISION = 1e-3  # log likelihood, within which that of draws is known
PLAUSIBLE = 1.0  # log likelihood below the likeliest single camp's, down to which another stands for all as well


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TwoCamps:
    """The likeliest two camps, the one nearer to x first, and the test of one camp."""

    share: float
    mean_x: float
    mean_y: float
    p_value: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Seen:
    """What people may have answered, by kind: ``chance`` at each point, shape (kinds, points).

    ``kind`` is that of each person, ``block`` which kinds are possible together (those of one number of answers).
    """

    kind: Ints
    block: Ints
    chance: Floats


@cache
def _points() -> Floats:
    """Return where true preferences lie: in [0, 1], then outside."""
    edges = np.linspace(0, 1, POINTS + 1)
    return np.concatenate([(edges[1:] + edges[:-1]) / 2, OUTSIDE])


def _beta(means: Floats, precisions: Floats) -> Floats:
    """Return the weights of beta distributions at the points, shape (points, precisions, means).

    Those with two peaks are left out, with weights of 0: they are two camps.
    """
    a, b = precisions[:, None] * means, precisions[:, None] * (1 - means)
    return np.where((a < 1) & (b < 1), 0.0, _weights(a, b))


def _weights(a: Floats, b: Floats) -> Floats:
    """Return the weights of beta distributions at the points, shape (points, ...), 0 outside of [0, 1]."""
    below = betainc(a, b, np.linspace(0, 1, POINTS + 1).reshape(-1, *(1,) * a.ndim))
    return np.concatenate([np.diff(below, axis=0), np.zeros((len(OUTSIDE), *a.shape))])


def _flat() -> Floats:
    """Return the weights of beta distributions on the border to two peaks, shape (points, camps): the even one last."""
    ones = np.ones_like(FLAT_TO_ONE_END)
    sides = _weights(FLAT_TO_ONE_END, ones), _weights(ones, FLAT_TO_ONE_END)
    return np.concatenate([sides[0][:, :-1], sides[1]], axis=1)


def _cut() -> Floats:
    """Return the weights of normal and even camps at the points, inside and outside, shape (points, camps)."""
    low, high = OUTSIDE[OUTSIDE < 0], OUTSIDE[OUTSIDE > 1]
    edges = np.concatenate(
        [[-0.5], (low[1:] + low[:-1]) / 2, np.linspace(0, 1, POINTS + 1), (high[1:] + high[:-1]) / 2, [1.5]]
    )
    means, spreads = (one.ravel() for one in np.meshgrid(CUT_MEANS, CUT_SPREADS))
    open_ended = np.concatenate([[-np.inf], edges[1:-1], [np.inf]])
    normal = np.diff(ndtr((open_ended[:, None] - means) / spreads), axis=0)
    starts, ends = (one.ravel() for one in np.meshgrid(EVEN_STARTS, 1 - EVEN_STARTS))
    starts, ends = starts[ends - starts > 0.1], ends[ends - starts > 0.1]
    even = np.diff(np.clip((edges[:, None] - starts) / (ends - starts), 0, 1), axis=0)
    weights = np.concatenate([normal, even], axis=1)
    return np.concatenate([weights[len(low) : len(low) + POINTS], weights[: len(low)], weights[len(low) + POINTS :]])


@cache
def _one(counted: bool) -> Floats:
    """Return the weights of single camps, shape (points, camps): of chances and ratings normal and even ones, too."""
    weights = _beta(ONE_MEANS, ONE_PRECISIONS).reshape(POINTS + len(OUTSIDE), -1)
    weights = np.concatenate([weights[:, weights.sum(axis=0) > 0], _flat()], axis=1)
    return weights if counted else np.concatenate([weights, _cut()], axis=1)


@cache
def _spread(counted: bool) -> Floats:
    """Return the variance of each single camp's true preferences, those beyond an end taken to lie there."""
    points, weights = np.clip(_points(), 0, 1), _one(counted)
    weights = weights / weights.sum(axis=0)
    spread: Floats = points**2 @ weights - (points @ weights) ** 2
    return spread


@cache
def _two() -> tuple[Floats, Ints]:
    """Return the weights of each of two camps, and precision, means and share of every two that are apart.

    Weights have shape (points, precisions, means).
    """
    weights = _beta(MEANS, PRECISIONS)
    spread = np.sqrt(MEANS * (1 - MEANS) / (PRECISIONS[:, None] + 1))
    found = [
        (place, x, y, share)
        for place in range(len(PRECISIONS))
        for y in range(len(MEANS))
        for x in range(y + 1, len(MEANS))
        if MEANS[x] - MEANS[y] >= APART * max(spread[place, x], spread[place, y])
        and min(weights[:, place, x].sum(), weights[:, place, y].sum()) > 0
        for share in range(len(SHARES))
    ]
    return weights, np.array(found)


def two_camps(value: Floats, person: Ints, *, counted: bool, bounded: bool, rng: np.random.Generator) -> TwoCamps:
    """Compare one and two camps of people.

    A camp's true preferences have a beta distribution with one peak, on [0, 1] for chances, or between the most
    extreme answers; two camps have one precision. A single camp's may also be normal or even, with people beyond the
    ends whose answers are cut off there. The likelihood ratio is compared with those of answers drawn from the
    likeliest single camp, fitted over the same grid, rounded and cut off as the answers are; and with those drawn from
    the widest that is nearly as likely. Of both the larger p-value holds: flat camps, on the border to two peaks, have
    the largest ratios, and those fitted to answers from them are mostly less flat.

    Parameters
    ----------
    value : array of float, shape (n,)
        Answers mapped onto [0, 1], high for x.
    person : array of int, shape (n,)
        Whose answer each is, from 0 on, nobody left out.
    counted : bool
        Whether the answers are choices, 0 and 1.
    bounded : bool
        Whether they are chances, whose noise may be smaller towards 0 and 1.
    rng : Generator

    References
    ----------
    McLachlan, G. J. (1987). On bootstrapping the likelihood ratio test statistic for the number of components in a
    normal mixture. Applied Statistics 36(3), 318-324. Berger, R. L. and Boos, D. D. (1994). P values maximized over a
    confidence set for the nuisance parameter. Journal of the American Statistical Association 89(427), 1012-1016.
    """
    turned = float(np.mean(value)) < 0.5  # so that the sides of a pair change nothing
    seen = _seen(1 - value if turned else value, person, counted=counted, bounded=bounded)
    single = seen.chance @ _one(counted)
    weights, every_two = _two()
    camps = np.einsum("tg,grm->trm", seen.chance, weights)
    place, x, y, share = every_two.T
    both = SHARES[share] * camps[:, place, x] + (1 - SHARES[share]) * camps[:, place, y]
    of_one, of_two = (np.log(np.maximum(own, LEAST)) for own in (single, both))
    short = of_one.astype(np.float32), of_two.astype(np.float32)
    counts = np.bincount(seen.kind, minlength=len(single)).astype(np.float64)
    likely = counts @ of_one
    ratio = float((counts @ of_two).max() - likely.max())
    widest = int(np.where(likely >= likely.max() - PLAUSIBLE, _spread(counted), -1.0).argmax())
    p_value = 0.0
    for camp in dict.fromkeys((int(likely.argmax()), widest)):
        if p_value <= HOPELESS:
            p_value = max(p_value, _p_value(ratio, single[:, camp], seen.block, counts, short, rng))
    likeliest = int((counts @ of_two).argmax())
    high, low, part = float(MEANS[x[likeliest]]), float(MEANS[y[likeliest]]), float(SHARES[share[likeliest]])
    if turned:
        high, low, part = 1 - low, 1 - high, 1 - part
    return TwoCamps(share=part, mean_x=high, mean_y=low, p_value=p_value)


def _seen(value: Floats, person: Ints, *, counted: bool, bounded: bool) -> _Seen:
    n = np.bincount(person)
    sums = np.bincount(person, weights=value)
    points = _points()
    if counted:
        points = np.clip(points, 1e-6, 1 - 1e-6)  # nobody is outside
        sizes, of = np.unique(n, return_inverse=True)
        if int(np.sum(sizes + 1)) <= MOST_KINDS:
            starts = np.concatenate([[0], np.cumsum(sizes + 1)])
            won = np.concatenate([np.arange(size + 1) for size in sizes])
            of_kind = np.repeat(sizes, sizes + 1)
            logs = won[:, None] * np.log(points) + (of_kind - won)[:, None] * np.log1p(-points)
            times = gammaln(of_kind + 1) - gammaln(won + 1) - gammaln(of_kind - won + 1)
            return _Seen(
                kind=starts[of] + sums.round().astype(np.int64),
                block=np.repeat(np.arange(len(sizes)), sizes + 1),
                chance=np.exp(times[:, None] + logs),
            )
    given, sort = _sizes(n)
    if counted:
        one = np.stack([1 - points, points])
    else:
        grid = _steps(value)
        one = _noise(np.rint(value * grid).astype(np.int64), person, grid, bounded=bounded)
    bin_of = _bins(sums / n)
    chance = np.concatenate([_of_means(one, size) for size in given])
    return _Seen(kind=sort * BINS + bin_of, block=np.repeat(np.arange(len(given)), BINS), chance=chance)


def _sizes(n: Ints) -> tuple[list[int], Ints]:
    """Return numbers of answers that are told apart, and which of them each person is taken to have given."""
    sizes, sort = np.unique(n, return_inverse=True)
    if len(sizes) <= MOST_SIZES:
        return sizes.tolist(), sort
    bounds = np.unique([part[-1] for part in np.array_split(np.sort(n), NOISES) if len(part)])
    sort = np.searchsorted(bounds, n)
    return [max(1, round(1 / float(np.mean(1 / n[sort == one])))) for one in range(len(bounds))], sort


def _bins(means: Floats) -> Ints:
    return np.clip((means * BINS - 1e-9).astype(np.int64), 0, BINS - 1)


def _of_means(one: Floats, n: int) -> Floats:
    """Return how likely means of n answers are, shape (bins, points), from how likely single ones are."""
    length = n * (len(one) - 1) + 1
    sums = np.maximum(np.fft.irfft(np.fft.rfft(one, length, axis=0) ** n, length, axis=0), 0)
    found = np.zeros((BINS, one.shape[1]))
    np.add.at(found, _bins(np.arange(length) / max(length - 1, 1)), sums)
    return found


def _steps(value: Floats) -> int:
    """Return into how many steps [0, 1] is divided, of which all answers are multiples; 100 where none is so coarse."""
    for steps in range(1, FINEST):
        if np.abs(value * steps - np.rint(value * steps)).max() < 1e-6:
            return steps
    return FINEST


def _noise(answer: Ints, person: Ints, grid: int, *, bounded: bool) -> Floats:
    """Return how likely each answer is at each point, shape (steps + 1, points), under the likeliest noise.

    Noise is normal about the true preference and cut off at the ends, or, of chances, a beta distribution's about it;
    how large it is, the answers say, with the likeliest of some single camps.
    """
    camps = _one(False)[:, ::SOME]
    n, best = int(person.max()) + 1, (-np.inf, np.zeros(0))
    given = np.bincount(person * (grid + 1) + answer, minlength=n * (grid + 1)).reshape(n, -1).astype(np.float64)
    for noise in _noises(grid, bounded):
        logs = given @ np.log(np.maximum(noise, 1e-12))
        top = logs.max(axis=1)
        likely = float(np.log(np.maximum(np.exp(logs - top[:, None]) @ camps, LEAST)).sum(axis=0).max() + top.sum())
        if likely > best[0]:
            best = (likely, noise)
    return best[1]


@cache
def _noises(grid: int, bounded: bool) -> list[Floats]:
    """Return how likely each answer is at each point, shape (steps + 1, points), by how much noise there is."""
    points = _points()
    edges = ((np.arange(1, grid + 1) - 0.5) / grid)[:, None]
    inside = np.clip(points, 0.002, 0.998)
    below = [ndtr((edges - points) / spread) for spread in SPREADS.tolist()]
    if bounded:
        below += [
            np.where(points < 0, 1.0, np.where(points > 1, 0.0, betainc(k * inside, k * (1 - inside), edges)))
            for k in (0.25 / SPREADS**2 - 1).tolist()
            if k > 0
        ]
    ends = np.zeros((1, len(points))), np.ones((1, len(points)))
    return [np.diff(np.concatenate([ends[0], one, ends[1]]), axis=0) for one in below]


def _p_value(
    ratio: float, chance: Floats, block: Ints, counts: Floats, logs: tuple[Short, Short], rng: np.random.Generator
) -> float:
    """Return how often answers from a single camp, of chance (kinds,), have a likelihood ratio as large or larger."""
    beyond = done = 0
    for draws in (FIRST, DRAWS - FIRST):
        drawn = _drawn(block, chance, counts, draws, rng)
        ratios = _highest(drawn, logs[1]) - _highest(drawn, logs[0])
        beyond, done = beyond + int(np.sum(ratios >= ratio - SINGLE_PRECISION)), done + draws
        if (1 + beyond) / (1 + done) > HOPELESS:
            break
    return (1 + beyond) / (1 + done)


def _drawn(block: Ints, chance: Floats, counts: Floats, draws: int, rng: np.random.Generator) -> Floats:
    """Draw how many people give each answer, as many of each block as there are, shape (draws, kinds)."""
    drawn = np.zeros((draws, len(counts)))
    for number in range(int(block.max()) + 1):
        own = block == number
        people = int(counts[own].sum())
        if people:
            drawn[:, own] = rng.multinomial(people, chance[own] / chance[own].sum(), size=draws)
    return drawn


def _highest(drawn: Floats, logs: Short) -> Floats:
    """Return the highest log likelihood of each draw; single precision, at half the cost."""
    highest: Floats = (drawn.astype(np.float32) @ logs).max(axis=1).astype(np.float64)
    return highest
