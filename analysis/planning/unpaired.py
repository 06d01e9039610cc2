"""Power of ratings where nothing pairs: each annotator rates other items of one system than of the other."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from scipy.special import ndtr, ndtri, stdtrit

from analysis.planning.power import LEAST, chances_to_stay, t_power
from analysis.planning.variance import Components
from analysis.statistics.coding import Floats, Ints

MOST = 5_000  # annotators; beyond that items decide
SCORES = 600_000  # drawn at each number of annotators
SUMMED = 12  # annotators an item from which sums of scores are drawn instead, for at most 0.3 points of power
WIDEST = 400  # items of which sums are drawn
FEWEST_DRAWS, MOST_DRAWS = 200, 4_000
LAYOUTS, BALANCED = 50, 12  # dealings of the items at each number of annotators; where sums are drawn
APART, LATER = 1.3, 2.0  # ratio of neighbouring numbers of annotators that are simulated; after some decks of items
DECKS, CLOSE = 3, 15  # dealt out, and annotators, after which more annotators change little at once


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnItems:
    """How items are dealt: each annotator meets ``dealt`` different ones of ``pool`` and rates ``n_items`` a system."""

    n_items: int
    dealt: int
    pool: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DrawnErrors:
    """Of each simulated study: SD of the difference of means, and the standard error and df that its test reckons."""

    sd: Floats
    error: Floats
    df: Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class UnpairedTest:
    """The clustered t-test of two systems' mean ratings, found above no difference.

    Attributes
    ----------
    components : Components
        Of the difference of a rating of x and one of y: half of each item and residual variance is one system's.
    items : OwnItems
        How items are dealt.
    exclusion_rate : float
        Share of the recruited that the analysis leaves out, in [0, 1).
    seed : int
        Of the simulation.
    """

    components: Components
    items: OwnItems
    exclusion_rate: float
    seed: int
    drawn: dict[int, DrawnErrors] = field(default_factory=dict)
    bounds: dict[tuple[int, float], Floats] = field(default_factory=dict)  # errors times critical t, at a level
    most: int = MOST
    switch: int | None = None

    def standard_error(self, n: int) -> float:
        """Return the SD of the difference of means with n annotators who stay, averaged over dealings."""
        made, k = self.components, self.items.n_items
        each, share = 1 / (n * k), k * (1 - self.exclusion_rate) / self.items.dealt
        of_items = each * (1 - share) + max(1 / self.items.pool, each * share)  # sum of squared shares of items
        return math.sqrt((made.annotator_sd**2 + made.residual_sd**2 / k) / n + made.item_sd**2 * of_items)

    def simulated(self, n: int, difference: float, alpha: float) -> float:
        """Return the power with n annotators who stay, given the simulated standard errors.

        The difference of means is normal and nearly independent of its standard error, so that its chance to exceed
        the critical value is averaged instead of counted, which takes far fewer studies.
        """
        if n not in self.drawn:
            rng = np.random.default_rng([self.seed, n])
            self.drawn[n] = draw_errors(self.components, self.items, n, exclusion_rate=self.exclusion_rate, rng=rng)
        found = self.drawn[n]
        if (n, alpha) not in self.bounds:
            self.bounds[n, alpha] = stdtrit(found.df, alpha / 2) * found.error
        return float(np.mean(ndtr((difference + self.bounds[n, alpha]) / found.sd)))

    def power(self, annotators: int, difference: float, alpha: float) -> float:
        """Return the power with so many recruited, averaged over how many stay.

        Between the numbers simulated, the normal quantile of the power is interpolated, less difference / SD.
        """
        kept, chances = chances_to_stay(annotators, self.exclusion_rate)
        likely = (kept >= LEAST) & (chances > 1e-5 * chances.max())
        kept, chances = kept[likely], chances[likely]
        if not len(kept):
            return 0.0
        deck = (1 - self.exclusion_rate) * self.items.pool / self.items.dealt
        nodes = _nodes(int(kept[0]), int(kept[-1]), deck)
        away = [
            float(ndtri(np.clip(self.simulated(n, difference, alpha), 1e-12, 1 - 1e-12)))
            - difference / self.standard_error(n)
            for n in nodes
        ]
        shifts = np.interp(np.log(kept), np.log(nodes), away)
        effects = np.array([difference / self.standard_error(int(n)) for n in kept])
        return float(chances @ ndtr(effects + shifts))

    def sawtooth_span(self, annotators: int, difference: float, alpha: float) -> int:
        """Return 0: power rises with annotators."""
        return 0

    def possible(self, difference: float) -> bool:
        """Whether ratings can differ so much: normal ones can."""
        return True

    def too_few(self, difference: float, power: float, alpha: float) -> str | None:
        """Return why no number of annotators is enough: infinitely many would not find it on so few items."""
        pool, item_sd = self.items.pool, self.components.item_sd
        if not item_sd or t_power(difference / item_sd, pool, alpha=alpha) > power:
            return None
        return f"more than {MOST:,} annotators, or more items than the study's {pool:,}"


def _nodes(low: int, high: int, deck: float) -> list[int]:
    """Return the numbers to simulate that enclose a range, the same for every range.

    Fewer after some decks, of ``deck`` annotators who stay; some where the first ends, as no item has two annotators
    before.
    """
    grid = [LEAST]
    while grid[-1] < high:
        ratio = APART if grid[-1] < max(DECKS * deck, CLOSE) else LATER
        grid.append(max(grid[-1] + 1, round(ratio * grid[-1])))
    ends = (math.floor(deck), math.floor(deck) + 1, math.ceil(1.1 * deck) + 1)
    grid = sorted({*grid, *(end for end in ends if LEAST < end < grid[-1] and deck > CLOSE)})
    first = bisect_left(grid, low)
    return grid[first if grid[first] == low else first - 1 :]


@lru_cache(maxsize=8)  # its draws serve all differences, powers and levels
def unpaired_test(components: Components, items: OwnItems, exclusion_rate: float) -> UnpairedTest:
    """Return the test of ratings of which nothing pairs, with the draws that were made for it."""
    return UnpairedTest(components=components, items=items, exclusion_rate=exclusion_rate, seed=0)


def draw_errors(
    components: Components, items: OwnItems, n: int, *, exclusion_rate: float, rng: np.random.Generator
) -> DrawnErrors:
    """Draw studies of n annotators who stay and reckon their standard errors as ``clustered_t`` does.

    Returns
    -------
    DrawnErrors
        Arrays of shape (n_studies,). Scores are normal; time O(studies x annotators x items rated).
    """
    summed = n * items.n_items >= SUMMED * items.pool and items.pool <= WIDEST
    runs = MOST_DRAWS if summed else int(np.clip(SCORES // (2 * n * items.n_items), FEWEST_DRAWS, MOST_DRAWS))
    parts, layouts = [], min(LAYOUTS, BALANCED) if summed else LAYOUTS
    for x, y in deal_items(items, n, layouts=layouts, exclusion_rate=exclusion_rate, rng=rng):
        if summed:
            squares = draw_sums(components, x, y, items.pool, runs=runs // layouts, rng=rng)
        else:
            squares = score_sums(
                *draw_scores(components, x, y, items.pool, runs=runs // layouts, rng=rng), x, y, items.pool
            )
        error, df = standard_errors(squares, x, y, items.pool)
        shares = [np.bincount(side.ravel(), minlength=items.pool) / side.size for side in (x, y)]
        of_items = sum(float(share @ share) for share in shares) / 2
        own = (components.annotator_sd**2 + components.residual_sd**2 / items.n_items) / n
        sd = math.sqrt(own + components.item_sd**2 * of_items)
        parts.append((np.full(len(error), sd), error, df))
    sd_all, error_all, df_all = (np.concatenate(column) for column in zip(*parts, strict=True))
    return DrawnErrors(sd=sd_all, error=error_all, df=df_all)


def deal_items(
    items: OwnItems, n: int, *, layouts: int, exclusion_rate: float, rng: np.random.Generator
) -> Iterator[tuple[Ints, Ints]]:
    """Deal items as assignments do and yield those of x and of y by annotator who stays, shape (n, n_items)."""
    recruited = max(n, round(n / (1 - exclusion_rate)))
    for hands in deal_hands(items.pool, items.dealt, recruited, layouts=layouts, rng=rng):
        kept = hands[np.sort(rng.choice(recruited, n, replace=False))]
        systems = items.dealt // items.n_items  # whose items come in turn, in an order of each hand's own
        turns = rng.permuted(np.tile(np.arange(systems), (n, 1)), axis=1)
        rows = systems * np.arange(items.n_items)
        x, y = (np.take_along_axis(kept, turn[:, None] + rows, axis=1) for turn in (turns[:, 0], turns[:, 1]))
        yield x, y


def deal_hands(pool: int, dealt: int, hands: int, *, layouts: int, rng: np.random.Generator) -> Ints:
    """Deal hands as :class:`~spa.elicitation.balanced_draws.Deck` does, from several decks at once.

    Returns
    -------
    array of int, shape (layouts, hands, dealt)
        Each item in as many hands as any other, to within one; no hand has one twice.
    """
    found = np.empty((layouts, hands, dealt), dtype=np.int64)
    left = np.empty((layouts, 0), dtype=np.int64)
    for hand in range(hands):
        own = left[:, :dealt]
        left = left[:, own.shape[1] :]
        if own.shape[1] < dealt:  # what the hand has comes later in the new deck
            deck = rng.permuted(np.tile(np.arange(pool), (layouts, 1)), axis=1)
            new, missing = ~(deck[:, :, None] == own[:, None, :]).any(axis=2), dealt - own.shape[1]
            taken = new & (np.cumsum(new, axis=1) <= missing)
            deck = np.take_along_axis(deck, np.argsort(~taken, axis=1, kind="stable"), axis=1)
            own, left = np.concatenate([own, deck[:, :missing]], axis=1), deck[:, missing:]
        found[:, hand] = own
    return found


def draw_scores(
    components: Components, x: Ints, y: Ints, pool: int, *, runs: int, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Draw scores of two equal systems, shape (runs, n, n_items) each, with these components of their difference."""
    half, found = math.sqrt(0.5), []
    for rated in (x, y):
        scores = half * components.residual_sd * rng.standard_normal((runs, *rated.shape))
        scores += half * components.annotator_sd * rng.standard_normal((runs, len(rated), 1))
        scores += half * components.item_sd * rng.standard_normal((runs, pool))[:, rated]
        found.append(scores)
    return found[0], found[1]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DrawnSums:
    """What ``clustered_t`` makes of scores less their system's mean, divided by their number, study by study.

    Attributes
    ----------
    of_annotators, of_cells : array of float, shape (runs,)
        Sums of squares of annotators' differences of sums, and of single scores, each with its correction.
    of_items : array of float, shape (runs, pool)
        Differences of items' sums.
    """

    of_annotators: Floats
    of_cells: Floats
    of_items: Floats


def score_sums(x_scores: Floats, y_scores: Floats, x: Ints, y: Ints, pool: int) -> DrawnSums:
    """Sum up drawn scores, shape (runs, n, n_items); ``x`` and ``y`` as in :func:`standard_errors`."""
    n, count = len(x), x.size
    rests = [(scores - scores.mean(axis=(1, 2), keepdims=True)) / count for scores in (x_scores, y_scores)]
    by_annotator = rests[0].sum(axis=2) - rests[1].sum(axis=2)
    sums = []
    for rest, rated in zip(rests, (x, y), strict=True):
        order = np.argsort(rated.ravel(), kind="stable")
        found, first = np.unique(rated.ravel()[order], return_index=True)
        total = np.zeros((len(rest), pool))
        total[:, found] = np.add.reduceat(rest.reshape(len(rest), count)[:, order], first, axis=1)
        sums.append(total)
    return DrawnSums(
        of_annotators=np.sum(by_annotator**2, axis=1) / (1 - 1 / n),
        of_cells=sum(np.sum(rest**2, axis=(1, 2)) for rest in rests) / (1 - 1 / count),
        of_items=sums[0] - sums[1],
    )


def draw_sums(components: Components, x: Ints, y: Ints, pool: int, *, runs: int, rng: np.random.Generator) -> DrawnSums:
    """Draw what :func:`score_sums` makes of scores, without the scores; O(runs x items²), whatever the annotators.

    Items' effects and sums are drawn with their exact distribution; given these, sums of squares over annotators are
    drawn as if independent of the sums of items, and those over scores are expected values.
    """
    (n, n_items), count, half = x.shape, x.size, 0.5
    residual, own = components.residual_sd**2, components.annotator_sd**2
    rated = [(side[:, :, None] == np.arange(pool)).sum(axis=1, dtype=float) for side in (x, y)]
    sums, effects = [], []
    of_cells = np.full(runs, (count - 1) * (residual + own))
    for by_annotator in rated:
        times = by_annotator.sum(axis=0)
        spread = half * (residual * np.diag(times) + own * by_annotator.T @ by_annotator)
        items = math.sqrt(half) * components.item_sd * rng.standard_normal((runs, pool))
        values, vectors = np.linalg.eigh(spread)
        noise = rng.standard_normal((runs, pool)) @ (vectors * np.sqrt(np.maximum(values, 0))).T
        total = times * items + noise
        mean = total.sum(axis=1, keepdims=True) / count
        sums.append((total - times * mean) / count)
        effects.append(items - mean)
        of_cells = of_cells + effects[-1] ** 2 @ times
    together = np.concatenate([rated[0], -rated[1]], axis=1)
    both = np.concatenate(effects, axis=1)
    of_effects = np.maximum(((both @ (together.T @ together)) * both).sum(axis=1), 0.0)
    noise_of_one = n_items * (n_items * own + residual)
    of_annotators = of_effects + 2 * np.sqrt(of_effects * noise_of_one) * rng.standard_normal(runs)
    of_annotators += noise_of_one * rng.chisquare(n - 1, runs)
    return DrawnSums(
        of_annotators=np.maximum(of_annotators, 0.0) / count**2 / (1 - 1 / n),
        of_cells=of_cells / count**2 / (1 - 1 / count),
        of_items=sums[0] - sums[1],
    )


def standard_errors(drawn: DrawnSums, x: Ints, y: Ints, pool: int) -> tuple[Floats, Floats]:
    """Return standard errors and df of ``clustered_t`` for many studies of one dealing, in which nothing pairs.

    Parameters
    ----------
    drawn : DrawnSums
        Of the studies.
    x, y : array of int, shape (n, n_items)
        Which items the scores are about; no annotator has an item twice.
    pool : int
        How many items there are.
    """
    n, count = len(x), x.size
    of_annotators, of_cells = drawn.of_annotators, drawn.of_cells
    shares = np.stack([np.bincount(rated.ravel(), minlength=pool) / count for rated in (x, y)])
    seen = shares.sum(axis=0) > 0
    shares = shares[:, seen]
    left = 1 - (shares**2).sum(axis=0) / shares.sum(axis=0)
    squares = drawn.of_items[:, seen] ** 2 / left
    of_items = squares.sum(axis=1)
    if np.count_nonzero(seen) == 2 * count:  # no item has two annotators
        return np.sqrt(of_annotators), np.full(len(squares), n - 1.0)
    variance = np.maximum(of_annotators + of_items - of_cells, np.maximum(of_annotators, of_items))
    weight = (shares**2).sum(axis=0)
    part = (shares[0] > 0) + 2 * (shares[1] > 0)
    denominator = np.zeros(len(squares))
    for kind in np.unique(part):
        own = part == kind
        ratio = (weight[own] ** 2 * left[own]).sum() / (weight[own] * left[own]).sum() ** 2
        denominator += squares[:, own].sum(axis=1) ** 2 * ratio
    equal = of_items**2 * (weight**2 * left).sum() / (weight * left).sum() ** 2
    denominator = np.maximum(denominator, equal) + of_annotators**2 / (n - 1)
    return np.sqrt(variance), variance**2 / denominator
