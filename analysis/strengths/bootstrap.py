"""Bootstrap of strengths on counts: rows, annotators, or annotators and items at once.

Replicates never touch the rows again: rows are drawn as counts of distinct outcomes, clusters as
weights on their sums. Replicates share one factorisation, that of the fit to the data, but for the few far from it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from analysis.statistics.coding import Floats, Ints, fold
from analysis.statistics.graphs import connected_parts
from analysis.statistics.reasons import Reason, why
from analysis.strengths.counting import Codes, PairCounts, count_cells, count_pairs, count_wins
from analysis.strengths.fit import DENSE, fit_pairs, fit_strengths, newton
from analysis.strengths.sandwich import bread
from analysis.strengths.sparse_newton import Inverse, newton_of_pairs

BATCH = 64  # replicates solved together
STEPS = 60
CHORD_STEPS = 12  # beyond them Newton's, each as dear as fifteen
RIDGE = 1e-9  # of a replicate's curvature, far too little to slow its steps
TOLERANCE = 1e-8  # largest gap between wins and expected wins, relative to the comparisons of a replicate
DISCONNECTED = "the comparisons fall apart"
ONE_SIDED = "a system or a set of systems won or lost everything"

Marks = npt.NDArray[np.bool_]
Draw = Callable[[int], tuple[Floats, Floats]]  # replicates -> played and won, each (pairs, replicates)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Bootstrap:
    """Strengths of the replicates that have them, shape (replicates kept, k), and why the others have none.

    ``degenerate`` counts replicates without finite strengths by reason. They are left out of
    ``strength``; where they are more than 1 - confidence of all, the interval is NaN and
    ``reason`` says so, since what is left out are the extremes.
    """

    strength: Floats
    ci_low: Floats
    ci_high: Floats
    resampled: str
    n_replicates: int
    degenerate: dict[str, int]
    confidence: float
    reason: Reason | None

    @property
    def se(self) -> Floats:
        """Standard deviation over the replicates kept."""
        found: Floats = self.strength.std(axis=0, ddof=1)
        return found

    @property
    def ranks(self) -> Ints:
        """Rank of each system in each replicate kept, 1 = best."""
        return (np.argsort(np.argsort(-self.strength, axis=1), axis=1) + 1).astype(np.int64)


def bootstrap_strengths(
    x: Codes,
    y: Codes,
    won: Floats,
    n_systems: int,
    *,
    rng: np.random.Generator,
    annotator: Codes | None = None,
    item: Codes | None = None,
    n_replicates: int = 1000,
    confidence: float = 0.95,
    weights: Floats | None = None,
) -> Bootstrap:
    """Resample comparisons and refit, with percentile intervals.

    Of few clusters, or where one has most comparisons, they are too narrow; :func:`analysis.bradley_terry` is not.

    Parameters
    ----------
    x, y, won, n_systems
        Coded comparisons (:func:`analysis.strengths.counting.count_wins`).
    rng : numpy.random.Generator
        Source of the replicates.
    annotator, item : array of int, shape (n,), optional
        Neither: rows are drawn. One: its clusters are drawn whole. Both: annotators and items are
        drawn independently and a row counts by the product, which errs on the wide side.
    n_replicates : int
        Number of replicates B.
    confidence : float
        Level of the intervals.
    weights : array of float, shape (n,), optional
        Frequency weights: a row of weight 2 is that row twice, in its cluster. Whole numbers where
        rows are drawn, since a part of a row cannot be.

    Returns
    -------
    Bootstrap
        Counting O(n); a replicate costs O(min(n, cells)) to draw rows, O(cells) to draw clusters,
        and O(pairs) a step of the fit.

    Raises
    ------
    ValueError
        When the data themselves determine no strength for some system; weights in parts where rows are drawn.

    References
    ----------
    Efron, B. (1979). Bootstrap methods: another look at the jackknife. Annals of Statistics, 7(1), 1-26.
    Owen, A. B. (2007). The pigeonhole bootstrap. Annals of Applied Statistics, 1(2), 386-411 (both at once).
    """
    counts = count_pairs(x, y, won, n_systems, weights)
    names = [str(number) for number in range(n_systems)]
    if n_systems > DENSE:
        fit = fit_pairs(counts, names)
    else:
        fit = fit_strengths(count_wins(x, y, won, n_systems, weights).wins, names)
    if len(fit.fitted) < n_systems:
        raise ValueError(f"the data give no strengths to resample: {next(filter(None, fit.reasons))}")
    own = counts.played > 0
    low, high = counts.x[own], counts.y[own]
    pairs = ComparedPairs.of(low, high, counts.played[own], fit.strength)
    pair = pairs.numbers(x, y)
    share = np.where(x < y, won, 1 - won)
    given = {name: of for name, of in (("annotator", annotator), ("item", item)) if of is not None}
    if not given:
        rows = slice(None) if weights is None else np.repeat(np.arange(len(pair)), _whole(weights))
        draw = _draw_rows(pair[rows], share[rows], len(low), rng)
    elif len(given) == 1:
        draw = _draw_clusters(x, y, won, pairs, next(iter(given.values())), rng, weights)
    else:
        draw = _draw_crossed(pair, share, len(low), given["annotator"], given["item"], rng, weights)
    kept: list[Floats] = []
    degenerate = {DISCONNECTED: 0, ONE_SIDED: 0}
    for size in _batches(n_replicates):
        played, sums = draw(size)
        weak, strong = pairs.connected(played, sums)
        degenerate[DISCONNECTED] += int(np.sum(~weak))
        degenerate[ONE_SIDED] += int(np.sum(weak & ~strong))
        kept.append(pairs.solve(played[:, strong], sums[:, strong]))
    strength = np.concatenate(kept)
    lost = sum(degenerate.values())
    reason = None
    if lost > (1 - confidence) * n_replicates or len(strength) < 2:
        reason = why("replicates_lost", lost=lost, replicates=n_replicates)
    tail = (1 - confidence) / 2
    ends = np.full((2, n_systems), np.nan) if reason else np.quantile(strength, [tail, 1 - tail], axis=0)
    return Bootstrap(
        strength=strength,
        ci_low=ends[0],
        ci_high=ends[1],
        resampled=" and ".join(given) or "rows",
        n_replicates=n_replicates,
        degenerate={why: times for why, times in degenerate.items() if times},
        confidence=confidence,
        reason=reason,
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class ComparedPairs:
    """The pairs that were compared (sorted), how often, the fit to the data, and the inverse information there."""

    low: Ints
    high: Ints
    k: int
    centre: Floats
    weight: Floats  # information of each pair
    inverse: Floats | None  # none for many systems

    @staticmethod
    def of(low: Ints, high: Ints, played: Floats, centre: Floats) -> ComparedPairs:
        """Take the pairs at the fit to the data."""
        k, inverse = len(centre), None
        share = 1 / (1 + np.exp(centre[high] - centre[low]))
        if k <= DENSE:
            table = np.zeros((k, k))
            table[low, high] = table[high, low] = played
            inverse = bread(table, centre)
        return ComparedPairs(
            low=low, high=high, k=k, centre=centre, weight=played * share * (1 - share), inverse=inverse
        )

    @property
    def many(self) -> bool:
        """Say whether systems are too many for a table of systems by systems."""
        return self.inverse is None

    @cached_property
    def factors(self) -> Inverse:
        """Return the inverse information as sparse factors."""
        return Inverse(self.low, self.high, self.weight, self.k)

    def numbers(self, x: Codes, y: Codes) -> Ints:
        """Return the number of the pair of each x and y, 0 where it is none."""
        known = self.low * np.int64(self.k) + self.high
        wanted = np.minimum(x, y) * np.int64(self.k) + np.maximum(x, y)
        place = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
        return np.where(known[place] == wanted, place, 0).astype(np.int64)

    @cached_property
    def incidence(self) -> csr_array:
        """Return systems x pairs: +1 for the lower, -1 for the higher."""
        n = len(self.low)
        signs = np.concatenate([np.ones(n), -np.ones(n)])
        place = (np.concatenate([self.low, self.high]), np.tile(np.arange(n), 2))
        return csr_array((signs, place), shape=(self.k, n))

    def solve(self, played: Floats, sums: Floats, *, tolerance: float = TOLERANCE) -> Floats:
        """Fit all replicates by chord steps: s += B · gap(s), B fixed at the fit to the data; shape (replicates, k).

        The few that these leave open go on by Newton's steps.
        """
        n = played.shape[1]
        strength = np.repeat(self.centre[:, None], n, axis=1)
        incidence = self.incidence
        bound = tolerance * np.maximum(played.sum(axis=0), 1e-300)
        todo = np.arange(n)
        own_played, own_sums = played, sums
        for taken in range(CHORD_STEPS if self.many else STEPS):
            if not len(todo):
                break
            own = strength[:, todo]
            gap = own[self.high] - own[self.low]
            np.clip(gap, -700, 700, out=gap)
            np.exp(gap, out=gap)
            gap += 1
            np.divide(own_played, gap, out=gap)
            np.subtract(own_sums, gap, out=gap)
            score = incidence @ gap
            open_ = np.abs(score).max(axis=0) > bound[todo]
            if self.inverse is None:
                step = self.factors(score)
            elif taken < CHORD_STEPS:
                step = self.inverse @ score
            else:
                step = self._newton_step(own_played, own, score)
            strength[:, todo] = own + np.clip(step, -2, 2)
            if not open_.all():
                todo, own_played, own_sums = todo[open_], own_played[:, open_], own_sums[:, open_]
        for replicate in todo.tolist():  # so uneven that a step must be checked
            if self.many:
                start = np.clip(strength[:, replicate], -20, 20)
                strength[:, replicate] = newton_of_pairs(self._counts(played[:, replicate], sums[:, replicate]), start)
                continue
            wins = np.zeros((self.k, self.k))
            wins[self.low, self.high] = sums[:, replicate]
            wins[self.high, self.low] = played[:, replicate] - sums[:, replicate]
            strength[:, replicate] = newton(np.maximum(wins, 0.0), np.clip(strength[:, replicate], -20, 20))
        strength -= strength.mean(axis=0)
        return strength.T

    def _newton_step(self, played: Floats, strength: Floats, score: Floats) -> Floats:
        """Return each replicate's step by its own curvature; a trace of ridge keeps the curvature invertible."""
        share = 1 / (1 + np.exp(np.clip(strength[self.high] - strength[self.low], -700, 700)))
        weight, step = played * share * (1 - share), np.empty_like(score)
        for own in (slice(start, start + BATCH) for start in range(0, played.shape[1], BATCH)):
            curve = np.zeros((weight[:, own].shape[1], self.k, self.k))
            curve[:, self.low, self.high] = curve[:, self.high, self.low] = -weight[:, own].T
            sums = -curve.sum(axis=2)
            size = sums.sum(axis=1)[:, None, None]
            curve += size / self.k**2 + (sums[:, :, None] + RIDGE * size) * np.eye(self.k)  # a constant fixes the mean
            step[:, own] = np.linalg.solve(curve, score[:, own].T[:, :, None])[:, :, 0].T
        return step

    def _counts(self, played: Floats, sums: Floats) -> PairCounts:
        own = played > 0
        return PairCounts(
            x=self.low[own], y=self.high[own], played=played[own], won=sums[own], squares=sums[own], n_systems=self.k
        )

    def connected(self, played: Floats, sums: Floats) -> tuple[Marks, Marks]:
        """Say of each replicate whether its comparisons hang together, and whether its wins do both ways."""
        if self.many:
            wins = [self._counts(*columns).wins for columns in zip(played.T, sums.T, strict=True)]
            weak, both = (
                np.array([connected_parts(own, both_ways=way).max() == 0 for own in wins], dtype=np.bool_)
                for way in (False, True)
            )
            return weak, both
        beats = np.zeros((played.shape[1], self.k, self.k), dtype=bool)
        floor = 1e-9  # rounding of sums of fractions
        beats[:, self.low, self.high] = sums.T > floor
        beats[:, self.high, self.low] = (played - sums).T > floor
        backward = np.swapaxes(beats, 1, 2)
        weak = _reaches_all(beats | backward)
        return weak, _reaches_all(beats) & _reaches_all(backward)


def _reaches_all(edges: Marks) -> Marks:
    """Say of each graph (n, k, k) whether the first system reaches all others."""
    reached = np.zeros(edges.shape[:2], dtype=bool)
    reached[:, 0] = True
    count = -1
    while (found := int(reached.sum())) > count:
        count = found
        reached |= np.matmul(reached[:, None, :], edges)[:, 0]
        if reached.all():
            break
    whole: Marks = np.all(reached, axis=1)
    return whole


def _batches(n: int) -> Iterator[int]:
    for start in range(0, n, BATCH):
        yield min(BATCH, n - start)


def _draw_rows(pair: Ints, share: Floats, n_pairs: int, rng: np.random.Generator) -> Draw:
    """Draw rows as counts of distinct outcomes: row by row where that is cheaper, else multinomially."""
    n = len(pair)
    of = np.unique(share, return_inverse=True)[1]
    cells = fold(pair, of)
    cell, n_cells = cells.of, len(cells)
    of_pair, of_share = pair[cells.first], share[cells.first]  # cells are in the order of their pairs
    starts = np.searchsorted(of_pair, np.arange(n_pairs))
    size = np.bincount(cell, minlength=n_cells)
    direct = n < 40 * n_cells  # measured: a row 4 ns, a multinomial cell 160 ns
    small = cell.astype(np.int32) if n_cells < 2**31 else cell

    def draw(replicates: int) -> tuple[Floats, Floats]:
        if direct:
            times = np.empty((replicates, n_cells))
            for replicate in range(replicates):
                times[replicate] = np.bincount(small[rng.integers(0, n, n, dtype=np.int32)], minlength=n_cells)
        else:
            times = rng.multinomial(n, size / n, size=replicates).astype(np.float64)
        played = np.add.reduceat(times, starts, axis=1)
        won = np.add.reduceat(times * of_share, starts, axis=1)
        return np.ascontiguousarray(played.T), np.ascontiguousarray(won.T)

    return draw


def _whole(weights: Floats) -> Ints:
    times = np.rint(weights).astype(np.int64)
    if not np.array_equal(times, weights):
        raise ValueError("weights must be whole numbers where rows are drawn; name the annotator or the item")
    return times


def _draw_clusters(
    x: Codes,
    y: Codes,
    won: Floats,
    pairs: ComparedPairs,
    cluster: Codes,
    rng: np.random.Generator,
    weights: Floats | None,
) -> Draw:
    """Draw whole clusters; their sums stand in one sparse matrix, pairs x clusters."""
    cells = count_cells(x, y, won, pairs.k, cluster, weights)
    n = cells.n_clusters
    place = (pairs.numbers(cells.x, cells.y), cells.cluster)
    shape = (len(pairs.low), n)
    played, sums = csr_array((cells.played, place), shape=shape), csr_array((cells.won, place), shape=shape)

    def draw(replicates: int) -> tuple[Floats, Floats]:
        times = rng.multinomial(n, np.full(n, 1 / n), size=replicates).T.astype(np.float64)
        return np.asarray(played @ times), np.asarray(sums @ times)

    return draw


def _draw_crossed(
    pair: Ints,
    share: Floats,
    n_pairs: int,
    annotator: Codes,
    item: Codes,
    rng: np.random.Generator,
    weights: Floats | None,
) -> Draw:
    """Draw annotators and items; sums stand by (pair, item) x annotator, weights multiply."""
    annotators, items = (fold(of.astype(np.int64, copy=False)) for of in (annotator, item))
    cells = fold(pair, items.of)
    of_pair, of_item = pair[cells.first], items.of[cells.first]
    shape = (len(cells), len(annotators))
    times = np.ones(len(pair)) if weights is None else weights
    played = csr_array((times, (cells.of, annotators.of)), shape=shape)
    sums = csr_array((share * times, (cells.of, annotators.of)), shape=shape)
    by_pair = csr_array((np.ones(len(cells)), (of_pair, np.arange(len(cells)))), shape=(n_pairs, len(cells)))
    n_annotators, n_items = len(annotators), len(items)

    def draw(replicates: int) -> tuple[Floats, Floats]:
        people = rng.multinomial(n_annotators, np.full(n_annotators, 1 / n_annotators), size=replicates).T
        about = rng.multinomial(n_items, np.full(n_items, 1 / n_items), size=replicates).T[of_item]
        drawn = people.astype(np.float64)
        return np.asarray(by_pair @ ((played @ drawn) * about)), np.asarray(by_pair @ ((sums @ drawn) * about))

    return draw
