"""Whether people fall into two camps: two distributions of true preferences against one, by parametric bootstrap."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.special import betainc, gammaln, ndtr

from analysis.statistics.coding import Floats, Ints

POINTS = 41  # at which true preferences are taken to lie
ONE_MEANS, ONE_PRECISIONS = np.linspace(0.02, 0.98, 97), np.geomspace(1.2, 160, 24)  # of a single camp
MEANS, PRECISIONS = np.linspace(0.05, 0.95, 19), np.geomspace(4, 160, 8)  # of two
APART = 2  # standard deviations of a camp, by which two differ at least: else they have one peak together
SHARES = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9])  # of the camp nearer to x
BINS = 40  # of people's means
NOISES = 3  # sorts of people by how uncertain their means are
MOST_KINDS = 300  # of people by choices won and given, of which more are binned
DRAWS = 499


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
    edges = np.linspace(0, 1, POINTS + 1)
    middle: Floats = (edges[1:] + edges[:-1]) / 2
    return middle


def _beta(means: Floats, precisions: Floats) -> Floats:
    """Return the weights of beta distributions at the points, shape (points, precisions, means).

    Those with two peaks are left out, with weights of 0: they are two camps.
    """
    a, b = precisions[:, None] * means, precisions[:, None] * (1 - means)
    below = betainc(a[None], b[None], np.linspace(0, 1, POINTS + 1)[:, None, None])
    return np.where((a < 1) & (b < 1), 0.0, np.diff(below, axis=0))


@cache
def _one() -> Floats:
    """Return the weights of single camps, shape (points, camps)."""
    weights = _beta(ONE_MEANS, ONE_PRECISIONS).reshape(POINTS, -1)
    return weights[:, weights.sum(axis=0) > 0]


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
    extreme answers; two camps have one precision. The likelihood ratio is compared with those of answers drawn from the
    likeliest single camp, fitted over the same grid.

    Parameters
    ----------
    value : array of float, shape (n,)
        Answers mapped onto [0, 1], high for x.
    person : array of int, shape (n,)
        Whose answer each is, from 0 on, nobody left out.
    counted : bool
        Whether the answers are choices, 0 and 1.
    bounded : bool
        Whether they are chances, whose noise is smaller towards 0 and 1.
    rng : Generator

    References
    ----------
    McLachlan, G. J. (1987). On bootstrapping the likelihood ratio test statistic for the number of components in a
    normal mixture. Applied Statistics 36(3), 318-324.
    """
    turned = float(np.mean(value)) < 0.5  # so that the sides of a pair change nothing
    seen = _seen(1 - value if turned else value, person, counted=counted, bounded=bounded)
    single = seen.chance @ _one()
    weights, every_two = _two()
    camps = np.einsum("tg,grm->trm", seen.chance, weights)
    place, x, y, share = every_two.T
    both = SHARES[share] * camps[:, place, x] + (1 - SHARES[share]) * camps[:, place, y]
    of_one, of_two = (np.log(np.maximum(own, 1e-300)) for own in (single, both))
    counts = np.bincount(seen.kind, minlength=len(single)).astype(np.float64)
    drawn = _drawn(seen, single[:, int((counts @ of_one).argmax())], counts, rng)
    every = np.vstack([counts, drawn])
    ratio = (every @ of_two).max(axis=1) - (every @ of_one).max(axis=1)
    p_value = (1 + int(np.sum(ratio[1:] >= ratio[0] - 1e-9))) / (1 + len(drawn))
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
        sizes, of = np.unique(n, return_inverse=True)
        if int(np.sum(sizes + 1)) <= MOST_KINDS:
            starts = np.concatenate([[0], np.cumsum(sizes + 1)])
            won = np.concatenate([np.arange(size + 1) for size in sizes])
            given = np.repeat(sizes, sizes + 1)
            logs = won[:, None] * np.log(points) + (given - won)[:, None] * np.log1p(-points)
            times = gammaln(given + 1) - gammaln(won + 1) - gammaln(given - won + 1)
            return _Seen(
                kind=starts[of] + sums.round().astype(np.int64),
                block=np.repeat(np.arange(len(sizes)), sizes + 1),
                chance=np.exp(times[:, None] + logs),
            )
    sorts = np.array_split(np.sort(n), NOISES)
    bounds = np.array([part[-1] for part in sorts if len(part)])
    sort = np.searchsorted(np.unique(bounds), n)
    kinds = int(sort.max()) + 1
    answers = np.array([1 / np.mean(1 / n[sort == one]) if (sort == one).any() else 1.0 for one in range(kinds)])
    if counted:
        noise = np.sqrt(points * (1 - points))[None, :] / np.sqrt(answers)[:, None]
    else:
        within = float(np.sum((value - (sums / n)[person]) ** 2)) / max(len(value) - len(n), 1)
        shape = points * (1 - points) / np.mean((sums / n) * (1 - sums / n)) if bounded else np.ones(POINTS)
        noise = np.sqrt(np.maximum(within, 1e-8) * np.maximum(shape, 1e-3) / answers[:, None])
    edges = np.linspace(0, 1, BINS + 1)
    edges[0], edges[-1] = -np.inf, np.inf
    below = ndtr((edges[None, :, None] - points) / noise[:, None, :])
    chance = np.diff(below, axis=1).reshape(kinds * BINS, POINTS)
    bin_of = np.clip((sums / n * BINS - 1e-9).astype(np.int64), 0, BINS - 1)
    return _Seen(kind=sort * BINS + bin_of, block=np.repeat(np.arange(kinds), BINS), chance=chance)


def _drawn(seen: _Seen, chance: Floats, counts: Floats, rng: np.random.Generator) -> Floats:
    """Draw how many people give each answer, as many of each block as there are, shape (draws, kinds)."""
    drawn = np.zeros((DRAWS, len(counts)))
    for block in range(int(seen.block.max()) + 1):
        own = seen.block == block
        people = int(counts[own].sum())
        if people:
            drawn[:, own] = rng.multinomial(people, chance[own] / chance[own].sum(), size=DRAWS)
    return drawn
