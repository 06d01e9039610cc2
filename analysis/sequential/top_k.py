"""The best few of many systems by choices: whom to compare next, and when the answer is certain enough.

A system's Borda score is its chance of winning against another system drawn at random (ties half). Comparisons with
opponents drawn uniformly are unbiased for it whatever is known so far, so that bounds hold at every moment although
the systems to be compared are chosen by earlier answers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analysis.statistics.checks import check_finite, check_level, check_whole
from analysis.statistics.coding import Floats, Ints

PRIOR = 0.5  # Beta(1/2, 1/2): wide, so that no score is favoured
HALVINGS, TINY = 40, 1e-12
CONTENDERS = 3  # on each side of the border that are compared next
FIRST = 10  # uniform comparisons for each system before any choice is made


@dataclass(frozen=True, slots=True, kw_only=True)
class TopRule:
    """Which answer is wanted.

    Attributes
    ----------
    k : int
        How many systems.
    tolerance : float
        No system named may have a Borda score more than this below the k-th best.
    error_rate : float
        Chance that one has, at every moment together.
    """

    k: int
    tolerance: float
    error_rate: float = 0.05

    def __post_init__(self) -> None:
        check_whole("k", self.k, least=1)
        check_finite("tolerance", self.tolerance, above=0)
        check_level("error_rate", self.error_rate)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BordaCounts:
    """Comparisons with uniformly drawn opponents, one number a system."""

    won: Floats  # (systems,); a tie is half
    compared: Ints  # (systems,)

    @classmethod
    def start(cls, systems: int) -> BordaCounts:
        """Return the counts before the first comparison."""
        return cls(won=np.zeros(systems), compared=np.zeros(systems, dtype=np.int64))

    def after(self, systems: Ints, won: Floats) -> BordaCounts:
        """Return the counts after further comparisons.

        Parameters
        ----------
        systems : array of int, shape (n,)
            Whose score each comparison is about; its opponent was drawn uniformly from all others.
        won : array of float, shape (n,)
            1, 1/2 or 0 for that system.
        """
        n = len(self.won)
        return BordaCounts(
            won=self.won + np.bincount(systems, weights=won, minlength=n),
            compared=self.compared + np.bincount(systems, minlength=n),
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TopState:
    """What is known by now."""

    low: Floats  # bounds of all scores, which hold together at every moment
    high: Floats
    leaders: tuple[int, ...]  # the k systems of highest mean, best first
    gap: float  # by how much a leader may at most be worse than a system that is none
    decided: bool


def beta_mixture_bounds(
    won: Floats, compared: Ints, error_rate: float, *, centred: float | None = None
) -> tuple[Floats, Floats]:
    """Return a confidence sequence for the mean of values in [0, 1], from their sum and number alone.

    For a mean m the mixture B(a + S, b + n - S) / (B(a, b) m^S (1 - m)^(n - S)) is a nonnegative
    supermartingale (p^x q^(1-x) is convex in x, so values between 0 and 1 bet less than coins do); the means at which
    it is below 1 / ``error_rate`` hold the true one at every moment with 1 - ``error_rate``, by Ville's inequality.

    Parameters
    ----------
    won, compared : arrays, shape (k,)
        Sums and numbers of the values.
    error_rate : float
        Of each of the k sequences.
    centred : float, optional
        c > 0 for a = c m, b = c (1 - m): narrowest after some 10 c to 20 c values; otherwise a = b = 1/2.

    References
    ----------
    Robbins, H. (1970). Statistical methods related to the law of the iterated logarithm. Annals of Mathematical
    Statistics, 41(5). Howard, S. R. et al. (2021). Annals of Statistics, 49(2), equation 3.10 and appendix A.3
    (centred: proposition 7).
    """
    from scipy.special import betaln, xlog1py, xlogy

    lost = compared - won
    mean = np.divide(won, compared, out=np.full(len(won), 0.5), where=compared > 0)
    evidence = betaln(PRIOR + won, PRIOR + lost) - betaln(PRIOR, PRIOR)
    inside, outside = np.stack([mean, mean]), np.repeat([[0.0], [1.0]], len(mean), axis=1)  # below and above the mean
    for _ in range(HALVINGS):
        middle = (inside + outside) / 2
        if centred is not None:
            null = np.clip(middle, TINY, 1 - TINY)
            a, b = centred * null, centred * (1 - null)
            evidence = betaln(a + won, b + lost) - betaln(a, b)
        refuted = evidence - xlogy(won, middle) - xlog1py(lost, -middle) >= -np.log(error_rate)
        outside, inside = np.where(refuted, middle, outside), np.where(refuted, inside, middle)
    return outside[0], outside[1]


def top_state(counts: BordaCounts, rule: TopRule) -> TopState:
    """Return the leaders so far and whether they are decided.

    Bounds hold for all systems together (Bonferroni). Leaders are decided once no other system's upper bound lies
    ``tolerance`` or more above the lower bound of a leader (Kalyanakrishnan et al. 2012, LUCB).
    """
    n = len(counts.won)
    if rule.k >= n:
        raise ValueError(f"k must be less than the number of systems, got {rule.k} of {n}")
    low, high = beta_mixture_bounds(counts.won, counts.compared, rule.error_rate / n)
    order = by_share(counts)
    leaders, others = order[: rule.k], order[rule.k :]
    gap = float(np.max(high[others]) - np.min(low[leaders]))
    return TopState(low=low, high=high, leaders=tuple(leaders.tolist()), gap=gap, decided=gap < rule.tolerance)


def next_comparisons(
    counts: BordaCounts, rule: TopRule, *, count: int, rng: np.random.Generator, state: TopState | None = None
) -> Ints:
    """Return whom to compare next.

    First every system equally often, then the leaders that are least certain to be among the best and the others
    that are least certain not to be (LUCB with several contenders on each side, as answers arrive in batches), each
    against an opponent drawn uniformly from all others. ``state`` is what :func:`top_state` returns of ``counts``,
    where it is known.

    Returns
    -------
    array of int, shape (count, 2)
        System and opponent; only the first one's counts grow by the answer.
    """
    n, state = len(counts.won), state or top_state(counts, rule)
    if np.min(counts.compared) < FIRST:
        systems = np.argsort(counts.compared, kind="stable")[np.arange(count) % n]
    else:
        leaders = np.array(state.leaders)
        others = np.setdiff1d(np.arange(n), leaders)
        unsure = leaders[state.low[leaders] < np.max(state.high[others]) - rule.tolerance]
        rivals = others[state.high[others] > np.min(state.low[leaders]) + rule.tolerance]
        unsure = unsure[np.argsort(state.low[unsure], kind="stable")][:CONTENDERS]
        rivals = rivals[np.argsort(-state.high[rivals], kind="stable")][:CONTENDERS]
        sides = [side for side in (unsure, rivals) if len(side)] or [leaders]
        shared = [np.resize(side, -(-count // len(sides))) for side in sides]  # each side, over and over
        systems = np.stack(shared, axis=1).ravel()[:count]
    opponents = rng.integers(0, n - 1, count)
    return np.column_stack([systems, opponents + (opponents >= systems)])


def by_share(counts: BordaCounts) -> Ints:
    """Return the systems by their share of wins, best first; the unknown in the middle."""
    share = np.divide(counts.won, counts.compared, out=np.full(len(counts.won), 0.5), where=counts.compared > 0)
    return np.argsort(-share, kind="stable")
