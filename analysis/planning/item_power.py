"""Power of tests over items: what the report runs below ten annotators, and where the plan names the item."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import chdtri, nctdtr, ndtr, stdtrit

from analysis.planning.dealt import DealtItems
from analysis.planning.power import LEAST
from analysis.planning.variance import Components
from analysis.statistics.coding import Floats

RAREST = 1e-9  # share of items with so many answers
LAYOUTS = 300  # of items whose annotators judge unequally many
OWN, BY_ANNOTATOR = 64, 32  # quantiles over which sums of squares are averaged


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedItems:
    """Items as judged by these annotators, to whom the test holds: the difference to be found is their own mean.

    Where ten or more are ``drawn``, who come from a crowd, it is that of the crowd.

    Attributes
    ----------
    counts : tuple of int
        Numbers of answers that an item has, at least 1.
    shares : tuple of float
        Share of the study's items that have so many; the others have none.
    pool : int
        Items of the study.
    annotators, answers : int
        Who judge them, and answers that an item judged by everybody would have.
    alike : bool
        Whether items weigh the same, as where the plan names the unit; else answers do.
    drawn : bool
        Whether annotators' own differences scatter the mean.
    """

    components: Components
    counts: tuple[int, ...]
    shares: tuple[float, ...]
    pool: int
    annotators: int
    answers: int
    alike: bool
    drawn: bool = False

    @property
    def n(self) -> float:
        """Items with an answer, on average."""
        return self.pool * sum(self.shares)

    @property
    def variance(self) -> float:
        """Variance between the means of items that have r answers, averaged over items.

        item² + residual² / r + annotator² / r (N - r) / (N - 1) of N annotators: what they differ by is the same on
        each item where everybody judges all.
        """
        return self._own(self._average(lambda count: 1 / count)) + self._of_annotators(alike=True)

    @property
    def typical(self) -> int:
        """Answers about an item that has some, on average."""
        return max(1, round(self._average(lambda count: count)))

    def power(self, difference: float, alpha: float) -> float:
        """Return the chance that t over items finds a difference above 0; their means are taken as normal.

        Annotators who judge equally many items do not scatter the mean, though they scatter items. Where answers
        weigh the same, variance and degrees of freedom are those of
        :class:`analysis.statistics.weighed_items.WeighedItems`.
        """
        if self.n < LEAST:
            return 0.0
        weight, df = 1 / self.n, self.n - 1  # Σ squared shares of items
        each = self._average(lambda count: 1 / count)
        if not self.alike:
            mean, square = self._average(lambda count: count), self._average(lambda count: count**2)
            weight, each, df = square / mean**2 / self.n, mean / square, max(self.n * mean**2 / square - 1, 1.0)
        own, of_annotators = weight * self._own(each), weight * self._of_annotators(alike=self.alike)
        variance = own + (self.components.annotator_sd**2 / self.annotators if self.drawn else 0.0)
        critical = float(stdtrit(df, alpha / 2))  # negative
        if not variance > 0:  # the mean is the true one
            spread = np.sqrt(of_annotators * _spread(max(self.annotators - 1, 1), BY_ANNOTATOR))
            return float(np.mean((difference + critical * spread > 0) & (spread > 0)))
        if not (of_annotators or self.drawn):
            return float(nctdtr(df, -difference / math.sqrt(variance), critical))
        of_rest, by_annotator = _spread(df, OWN), _spread(max(self.annotators - 1, 1), BY_ANNOTATOR)
        reckoned = own * of_rest[:, None] + of_annotators * by_annotator
        return float(np.mean(ndtr((difference + critical * np.sqrt(reckoned)) / math.sqrt(variance))))

    def _average(self, of: Callable[[Floats], Floats]) -> float:
        count, share = np.array(self.counts, dtype=np.float64), np.array(self.shares)
        return float(share @ of(count)) / float(share.sum())

    def _own(self, each: float) -> float:
        made = self.components
        return made.item_sd**2 + (made.residual_sd**2 + made.answer_sd**2) * each

    def _of_annotators(self, *, alike: bool) -> float:
        """Return what annotators add to the variance between items, weighed alike or as many as their answers."""

        def left(count: Floats) -> Floats:
            return np.maximum(self.answers - count, 0) / max(self.answers - 1, 1)

        own = self.components.annotator_sd**2
        if alike:
            return own * self._average(lambda count: left(count) / count)
        return own * self._average(lambda count: left(count) * count) / self._average(lambda count: count**2)


def _spread(df: float, number: int) -> Floats:
    """Return quantiles of a sum of squares over its degrees of freedom."""
    squares: Floats = np.asarray(chdtri(df, (np.arange(number) + 0.5) / number), dtype=np.float64) / df
    return squares


def judged_items(
    components: Components, dealt: DealtItems, *, kept: int, recruited: int, alike: bool, drawn: bool = False
) -> JudgedItems | None:
    """Return the items as ``kept`` of the recruited annotators judge them; ``None`` where none of them is judged.

    >>> made = Components(annotator_sd=0.5, item_sd=0.8, residual_sd=1.25)
    >>> everybody = DealtItems(rated=100, dealt=100, pool=100)
    >>> found = judged_items(made, everybody, kept=3, recruited=3, alike=False)
    >>> found and round(found.variance, 3)
    1.161
    """
    if kept < 1:
        return None
    counts, shares = dealt.raters(kept, recruited)
    there = (counts > 0) & (shares > RAREST)
    if not there.any():
        return None
    return JudgedItems(
        components=components,
        counts=tuple(counts[there].tolist()),
        shares=tuple(shares[there].tolist()),
        pool=dealt.pool,
        annotators=kept,
        answers=kept * dealt.sessions,
        alike=alike,
        drawn=drawn,
    )


@lru_cache(maxsize=64)
def uneven_layouts(judged: tuple[tuple[int, float], ...], annotators: int, pool: int) -> tuple[Floats, Floats, Floats]:
    """Draw how annotators who judge unequally many items share the weight, everybody weighing the same.

    Parameters
    ----------
    judged : tuple of (int, float)
        How many items, at least 1, and the share of annotators.
    annotators, pool : int
        How many judge, and the study's items.

    Returns
    -------
    tuple of arrays, shape (LAYOUTS,)
        Of items' weights, and of answers', the squares added up; degrees of freedom as
        :func:`analysis.statistics.weighed_items.spread_of_items` has them.
    """
    rng, times = np.random.default_rng([annotators, pool]), [min(often, pool) for often, _ in judged]
    shares = np.array([share for _, share in judged])
    found = np.empty((3, LAYOUTS))
    for layout in range(LAYOUTS):
        share, square = np.zeros(pool), np.zeros(pool)
        for often in rng.choice(times, annotators, p=shares / shares.sum()).tolist():
            items = rng.permutation(pool)[:often]
            share[items] += 1 / (annotators * often)
            square[items] += 1 / (annotators * often) ** 2
        found[:, layout] = share @ share, square.sum(), max(square.sum() ** 2 / (square @ square) - 1, 1.0)
    return found[0], found[1], found[2]


def uneven_power(
    components: Components,
    judged: tuple[tuple[int, float], ...],
    *,
    annotators: int,
    pool: int,
    difference: float,
    alpha: float,
) -> float:
    """Return the power of the test over items where annotators judge unequally many of them and weigh the same."""
    of_items, of_answers, df = uneven_layouts(judged, annotators, pool)
    chance = max(components.residual_sd**2 - difference**2, 0.0)  # shares vary less away from 0.5
    own = components.item_sd**2 * of_items + chance * of_answers
    reckoned = own + components.annotator_sd**2 * of_answers
    if not own.min() > 0:
        return 0.0
    critical = stdtrit(df, alpha / 2) * np.sqrt(reckoned / own)
    return float(np.mean(nctdtr(df, -difference / np.sqrt(own), critical)))
