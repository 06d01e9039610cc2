"""Items as assignments deal them: how evenly, and what that does to the spread of contributions and of their mean."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import nctdtr, stdtrit

from analysis.planning.power import LEAST
from analysis.statistics.coding import Floats, Ints

LARGE = 2_000  # hands, above which the numbers of an item's raters are taken as normal; of hands judged in part 200


@dataclass(frozen=True, slots=True, kw_only=True)
class DealtItems:
    """How annotators come to their items.

    In each session a hand of ``dealt`` of ``pool`` items comes from a deck that is shuffled when it is empty, so that
    each item is dealt equally often; ``rated`` of the hand are judged.

    Attributes
    ----------
    rated : float
        Items of a hand that are judged, on average; at most ``dealt``.
    dealt, pool, sessions : int
        Items of a hand, and of the study; hands of each annotator.
    per_assignment : int
        Annotators who share their hands.
    """

    rated: float
    dealt: int
    pool: int
    sessions: int = 1
    per_assignment: int = 1

    @property
    def items(self) -> float:
        """Items that one annotator judges in all sessions."""
        return self.rated * self.sessions

    @property
    def share(self) -> float:
        """Variance between contributions, per squared item SD: (M - k) / (M - 1) / (k S) of S hands, k of M items each.

        0 where everybody judges all. Item SD is that of the study's items, to which a test of annotators holds.

        >>> DealtItems(rated=10, dealt=10, pool=10).share, round(DealtItems(rated=10, dealt=10, pool=20).share, 4)
        (0.0, 0.0526)
        """
        return (self.pool - self.rated) / max(self.pool - 1, 1) / self.items

    def share_of_mean(self, kept: Any, recruited: int) -> Floats:
        """Return the variance of the mean of ``kept`` annotators, per squared item SD.

        Below share / kept, as hands are dealt evenly: M / (M - 1) Σ (W - 1/M)² over the shares W of the items in all
        answers, averaged over dealings and over who stays of the recruited.

        Parameters
        ----------
        kept : int or array of int
            Annotators who stay.
        recruited : int
            Annotators who were dealt items.
        """
        n = np.asarray(kept, dtype=np.float64)
        if self.rated == self.pool:
            return np.zeros_like(n)
        mean, variance = self._judgements(n * self.sessions / self.per_assignment, self._hands(recruited))
        return np.asarray(variance / ((self.pool - 1) * mean**2))

    def _hands(self, recruited: int) -> int:
        return -(-recruited * self.sessions // self.per_assignment)

    def _judgements(self, kept: Floats, hands: int) -> tuple[Floats, Floats]:
        """Return mean and variance of how often one item is judged, in ``kept`` of the hands dealt."""
        held, judged = self.dealt / self.pool, self.rated / self.dealt
        over = (hands * held) % 1
        uneven = over * (1 - over) / hands**2
        chosen = kept * (held * (1 - held) - uneven) * np.maximum(hands - kept, 0) / max(hands - 1, 1)
        of_hands = chosen + kept**2 * uneven
        return kept * held * judged, kept * held * judged * (1 - judged) + judged**2 * of_hands

    def raters(self, kept: int, recruited: int) -> tuple[Ints, Floats]:
        """Return how many answers an item may have of ``kept`` annotators, and the share of items that have so many.

        >>> count, share = DealtItems(rated=5, dealt=5, pool=10).raters(3, 3)
        >>> count.tolist(), share.round(2).tolist()
        ([0, 1, 2, 3], [0.0, 0.5, 0.5, 0.0])
        """
        from scipy.stats import binom, hypergeom  # 0.4 s to load

        hands = self._hands(recruited)
        n = min(max(1, round(kept * self.sessions / self.per_assignment)), hands)
        if hands > (LARGE if self.rated == self.dealt else LARGE // 10):
            mean, variance = self._judgements(np.asarray(float(n)), hands)
            reach = 5 * math.sqrt(float(variance)) + 1
            count = np.arange(max(0, math.floor(float(mean) - reach)), math.ceil(float(mean) + reach) + 1)
            share = np.exp(-((count - float(mean)) ** 2) / (2 * max(float(variance), 0.05)))
            return count * self.per_assignment, share / share.sum()
        often, over = divmod(hands * self.dealt, self.pool)
        count = np.arange(n + 1)
        share = np.zeros(n + 1)
        for times, weight in ((often, 1 - over / self.pool), (often + 1, over / self.pool)):
            if weight:
                held = hypergeom.pmf(count, hands, min(times, hands), n)
                if self.rated < self.dealt:
                    held = held @ binom.pmf(count[None, :], count[:, None], self.rated / self.dealt)
                share += weight * held
        return count * self.per_assignment, share / share.sum()


def even_power(difference: float, *, own: float, of_items: Any, of_mean: Any, n: Any, alpha: float) -> Floats:
    """Return the power of a one-sample t-test whose values share evenly dealt items.

    The mean varies by own / n + of_mean, its squared standard error is on average that of values which vary by
    own + n / (n - 1) (of_items - of_mean). Non-central t; the chance that the difference is found in its direction.

    Parameters
    ----------
    difference : float
        True mean less its value under the null hypothesis, at least 0.
    own : float
        Variance of one value without its items' part.
    of_items, of_mean : float or array
        Variance that items bring to one value, and to the mean of all.
    n : int or array of int
        Values; below 2 the power is 0.
    alpha : float
        Two-sided level.
    """
    count = np.maximum(np.asarray(n, dtype=np.float64), LEAST)
    variance = own / count + of_mean
    reckoned = (own + count / (count - 1) * (of_items - of_mean)) / count
    critical = stdtrit(count - 1, alpha / 2) * np.sqrt(reckoned / variance)  # negative
    found = nctdtr(count - 1, -difference / np.sqrt(variance), critical)
    return np.where(np.asarray(n) < LEAST, 0.0, found)
