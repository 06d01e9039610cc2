"""Plackett-Luce strengths of systems from outputs put in order, ties averaged over the orders that they allow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby, permutations, product
from math import factorial, prod

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from analysis.orders.thurstone import thurstone
from analysis.statistics.coding import Floats, Ints, fold
from analysis.statistics.reasons import Reason, why
from analysis.statistics.t_tests import t_bound
from analysis.strengths.fit import fit_strengths

MOST_ORDERS = 24  # orders that the ties of one ordering may allow; one that allows more is left out
REPLICATES = 1000
AT_ONCE = 2**23  # numbers held while replicates are solved together
STEPS = 100
LONGEST_STEP = 2.0
TOLERANCE = 1e-10  # largest gap between places won and expected, relative to the orderings
ALL_LEFT_OUT = why("ties_allow_too_many_orders", most=MOST_ORDERS)

Marks = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PlackettLuce:
    """Strengths (natural log, mean zero over those that have one); NaN where ``reasons`` says why there is none.

    ``thurstone`` are strengths by that model (:mod:`analysis.orders.thurstone`). ``interval`` says how intervals were
    made ("sandwich" or "bootstrap"); ``no_interval`` why there are none. ``n_tied`` of ``n_orderings`` have ties;
    ``n_left_out`` more allowed too many orders.
    """

    strength: Floats
    thurstone: Floats
    ci_low: Floats
    ci_high: Floats
    reasons: tuple[Reason | None, ...]
    interval: str | None
    n_clusters: int
    no_interval: Reason | None
    n_orderings: int
    n_tied: int
    n_left_out: int


def plackett_luce(
    ranks: Floats,
    *,
    systems: Sequence[str],
    cluster: Ints,
    unit: str = "annotator",
    confidence: float = 0.95,
    rng: np.random.Generator,
    n_replicates: int = REPLICATES,
) -> PlackettLuce:
    """Estimate strengths by maximum likelihood: the best of those left is i with chance exp(s_i) / sum exp(s_j).

    The log-likelihood of an ordering with ties is the mean over the orders that its ties allow, of which there may be
    24; an ordering that allows more is left out and counted. The spectral estimate of choix, which takes neither
    ties nor weights, is the start of Newton's steps. Intervals are cluster-robust (sandwich, t with G - 1 degrees of
    freedom) where no ordering has a tie, else percentiles of a bootstrap over clusters.

    Parameters
    ----------
    ranks : array of float, shape (n_orderings, n_systems)
        1 = best, equal = tied; NaN where an ordering does not have the system. Only their order counts.
    systems : sequence of str
        For the reasons.
    cluster : array of int, shape (n_orderings,)
        Who or what orderings hang together by.
    unit : str
        What a cluster is, for the reasons.
    confidence : float
        Level of the intervals.
    rng : numpy.random.Generator
        Source of the replicates.
    n_replicates : int
        Of the bootstrap.

    Returns
    -------
    PlackettLuce
        A system that was first or last in all it was compared in has no strength, and the others are fitted without it.

    References
    ----------
    Luce, R. D. (1959). Individual Choice Behavior. Plackett, R. L. (1975). The analysis of permutations. Applied
    Statistics, 24(2), 193-202. Maystre, L. and Grossglauser, M. (2015), NeurIPS 28 (choix).

    >>> found = plackett_luce(np.array([[1.0, 2.0]] * 3 + [[2.0, 1.0]]), systems=["a", "b"], cluster=np.arange(4),
    ...                       rng=np.random.default_rng(0))
    >>> found.strength.round(4).tolist()
    [0.5493, -0.5493]
    """
    patterns, of = np.unique(_dense(ranks), axis=0, return_inverse=True)
    orders = [_orders(pattern) for pattern in patterns]
    left_out = np.array([not allowed for allowed in orders])[of]
    tied = np.array([len(allowed) > 1 for allowed in orders])[of]
    used = fold(cluster[~left_out])
    here = of[~left_out]
    counts = csr_array((np.ones(len(here)), (used.of, here)), shape=(len(used), len(patterns)))
    total = np.bincount(here, minlength=len(patterns)).astype(np.float64)
    beaten = np.array([_beaten(pattern) for pattern in patterns])
    wins = np.tensordot(total, beaten, 1)
    fitted = fit_strengths(wins, systems)
    kept = fitted.fitted
    strength, probit, low, high = (np.full(len(systems), np.nan) for _ in range(4))
    interval = no_interval = None
    if len(kept):
        data = _Stages.of(orders, kept)
        centre = strength[kept] = data.solve(total[None], data.start(len(kept)))[0]
        probit[kept] = thurstone(wins[kept][:, kept])
        reach = None
        if len(used) < 2:
            no_interval = why("one_cluster", unit=unit)
        elif tied[~left_out].any():
            interval, among = "bootstrap", beaten[:, kept][:, :, kept]
            reach, no_interval = _bootstrap(data, counts, among, centre, n_replicates, confidence, rng)
        else:
            interval = "sandwich"
            half = t_bound(len(used) - 1, confidence) * data.standard_errors(counts, centre)
            reach = centre - half, centre + half
        if reach is not None:
            low[kept], high[kept] = reach
    return PlackettLuce(
        strength=strength,
        thurstone=probit,
        ci_low=low,
        ci_high=high,
        reasons=(ALL_LEFT_OUT,) * len(systems) if left_out.all() else fitted.reasons,
        interval=None if no_interval else interval,
        n_clusters=len(used),
        no_interval=no_interval,
        n_orderings=int((~left_out).sum()),
        n_tied=int(tied.sum()),
        n_left_out=int(left_out.sum()),
    )


def _dense(ranks: Floats) -> Floats:
    """Return ranks without gaps, 0 where there is none, so that "1, 3, 3" and "1, 2, 2" are one pattern."""
    order = np.argsort(ranks, axis=1)
    listed = np.take_along_axis(ranks, order, axis=1)
    found = np.empty(ranks.shape)
    np.put_along_axis(found, order, 1.0 + np.cumsum(np.diff(listed, axis=1, prepend=listed[:, :1]) > 0, axis=1), axis=1)
    return np.where(np.isnan(ranks), 0.0, found)


def _orders(pattern: Floats) -> list[tuple[int, ...]]:
    """Return the orders that a pattern of ranks (0: absent) allows, best first; none where there are too many."""
    ranked = sorted(np.flatnonzero(pattern).tolist(), key=lambda system: pattern[system])
    tied = [list(group) for _, group in groupby(ranked, key=lambda system: pattern[system])]
    if prod(factorial(len(group)) for group in tied) > MOST_ORDERS:
        return []
    return [tuple(i for group in order for i in group) for order in product(*map(permutations, tied))]


def _beaten(pattern: Floats) -> Floats:
    """Return for each two systems whether the first has the better rank, shape (k, k); a tie is half for both."""
    both = np.outer(pattern > 0, pattern > 0) & ~np.eye(len(pattern), dtype=bool)
    return both * (0.5 + np.sign(pattern[None, :] - pattern[:, None]) / 2)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Stages:
    """What a pattern says: how often the best was taken from each set of systems, and who was taken.

    ``member`` marks the systems of each set, shape (sets, k); ``times`` (patterns, sets) and ``won`` (patterns, k) are
    means over the orders of a pattern.
    """

    member: Marks
    times: csr_array
    won: Floats
    orders: list[tuple[int, ...]]

    @staticmethod
    def of(orders: Sequence[Sequence[tuple[int, ...]]], kept: Ints) -> _Stages:
        """Cut the orders of each pattern into stages, over fitted systems alone, which are numbered anew."""
        number = {system: place for place, system in enumerate(kept.tolist())}
        anew = [[tuple(number[one] for one in order if one in number) for order in own] for own in orders]
        sets: dict[frozenset[int], int] = {}
        stages: list[tuple[int, int, int, float]] = []
        for pattern, own in enumerate(anew):
            for order in own:
                for place, first in enumerate(order[:-1]):
                    rest = sets.setdefault(frozenset(order[place:]), len(sets))
                    stages.append((pattern, rest, first, 1 / len(own)))
        member = np.zeros((len(sets), len(kept)), dtype=bool)
        for systems, row in sets.items():
            member[row, list(systems)] = True
        won = np.zeros((len(orders), len(kept)))
        patterns, of, best, weight = (np.array(column) for column in zip(*stages, strict=True))
        times = csr_array((weight, (patterns, of)), shape=(len(orders), len(sets)))
        np.add.at(won, (patterns, best), weight)
        return _Stages(member=member, times=times, won=won, orders=[own[0] for own in anew if own and len(own[0]) > 1])

    def start(self, k: int) -> Floats:
        """Return choix's spectral estimate over the different orders; zeros where these alone give none."""
        from choix import lsr_rankings

        try:
            with np.errstate(all="ignore"):
                found: Floats = lsr_rankings(k, self.orders)
        except ValueError:
            return np.zeros(k)
        return np.clip(found, -5, 5) if np.isfinite(found).all() else np.zeros(k)

    def shares(self, strength: Floats) -> Floats:
        """Return the chance of each system to be taken from each set, shape (..., sets, k)."""
        weight = np.exp(strength - strength.max(axis=-1, keepdims=True))[..., None, :] * self.member
        return np.asarray(weight / weight.sum(axis=-1, keepdims=True))

    def solve(self, counts: Floats, start: Floats) -> Floats:
        """Maximise the likelihood of each row of counts, shape (n, patterns); NaN where no maximum is found."""
        times, won = counts @ self.times, counts @ self.won
        strength = np.repeat(start[None, :] - start.mean(), len(counts), axis=0)
        bound = TOLERANCE * times.sum(axis=1)
        found = False
        for _ in range(STEPS):
            share = self.shares(strength)
            gap = won - np.einsum("ns,nsk->nk", times, share)
            if found:
                break
            found = bool(np.all(np.abs(gap).max(axis=1) <= bound))  # one step more takes it to the last digits
            curve = _information(times, share)
            size = np.trace(curve, axis1=1, axis2=2)[:, None, None] / curve.shape[1] ** 2  # fixes the free mean
            step = np.linalg.solve(curve + size, gap[..., None])[..., 0]
            longest = np.abs(step).max(axis=1, keepdims=True)
            strength = strength + step * np.minimum(1.0, LONGEST_STEP / np.maximum(longest, 1e-300))
            strength -= strength.mean(axis=1, keepdims=True)
        strength[np.abs(gap).max(axis=1) > bound] = np.nan
        return strength

    def standard_errors(self, counts: csr_array, strength: Floats) -> Floats:
        """Return sandwich standard errors, with the factor G / (G - 1); ``counts`` has a row for each cluster."""
        share = self.shares(strength)
        scores = counts @ (self.won - self.times @ share)
        bread = np.linalg.pinv(_information((counts.sum(axis=0) @ self.times)[None], share[None])[0])
        n = counts.shape[0]
        covariance = n / (n - 1) * bread @ (scores.T @ scores) @ bread
        return np.asarray(np.sqrt(np.maximum(np.diag(covariance), 0.0)))


def _information(times: Floats, share: Floats) -> Floats:
    """Return the Fisher information of each row, shape (n, k, k)."""
    weighted = share * times[..., None]
    own = weighted.sum(axis=1)
    return np.asarray(own[:, :, None] * np.eye(own.shape[1]) - np.swapaxes(weighted, 1, 2) @ share)


def _bootstrap(
    data: _Stages,
    counts: csr_array,
    beaten: Floats,
    centre: Floats,
    n_replicates: int,
    confidence: float,
    rng: np.random.Generator,
) -> tuple[tuple[Floats, Floats] | None, Reason | None]:
    """Draw clusters with replacement and refit; percentiles, or why there are none."""
    n = counts.shape[0]
    found = []
    together = max(1, AT_ONCE // data.member.size)
    for start in range(0, n_replicates, together):
        size = min(together, n_replicates - start)
        drawn = rng.multinomial(n, np.full(n, 1 / n), size=size).astype(np.float64) @ counts
        connected = _connected(np.tensordot(drawn, beaten, 1) > 0)
        found.append(data.solve(drawn[connected], centre))
    strength = np.concatenate(found)
    strength = strength[np.isfinite(strength).all(axis=1)]
    lost = n_replicates - len(strength)
    if lost > (1 - confidence) * n_replicates:
        return None, why("replicates_lost", lost=lost, replicates=n_replicates)
    tail = (1 - confidence) / 2
    low, high = np.quantile(strength, [tail, 1 - tail], axis=0)
    return (low, high), None


def _connected(beats: Marks) -> Marks:
    """Say of each graph, shape (n, k, k), whether every system reaches every other."""
    reached = beats | np.eye(beats.shape[1], dtype=bool)
    for _ in range(beats.shape[1].bit_length()):
        reached = np.matmul(reached, reached)
    return np.asarray(reached.all(axis=(1, 2)))
