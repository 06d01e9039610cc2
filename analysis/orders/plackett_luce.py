"""Plackett-Luce strengths of systems from outputs put in order.

Outputs tied in last place are a partial ranking, as of people who name the best three: its likelihood is the product of
the choices before them. Other ties are averaged over the orders that they allow.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from analysis.orders.patterns import MOST_ORDERS, AllowedOrders, dense_ranks, orders_of, pairwise_wins
from analysis.orders.sparse_stages import SparseStages, patterns_of, wins_of
from analysis.statistics.coding import Floats, Ints, fold
from analysis.statistics.reasons import Reason, why
from analysis.strengths.bias_reduced import BiasReduced, adjusted_scores, bias_reduced, bread_root
from analysis.strengths.bounds import LEAST_DF, ROUNDING, StrengthBounds, strength_bounds
from analysis.strengths.existence import NEVER_COMPARED, determined_systems, why_no_spread
from analysis.strengths.fit import DENSE
from analysis.strengths.many_systems import HALF, ManyStrengths, bounded
from analysis.strengths.sweeps import Levels, levels_of

AT_ONCE = 256  # clusters whose information is held at once
STEPS = 100
LONGEST_STEP = 2.0
TOLERANCE = 1e-10  # largest gap between places won and expected, relative to the orderings
ALL_LEFT_OUT = why("ties_allow_too_many_orders", most=MOST_ORDERS)

Marks = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PlackettLuce:
    """Strengths (natural log, mean zero over those that have one); NaN where ``reasons`` says why there is none.

    ``thurstone`` are strengths by that model (:func:`thurstone`). ``df`` are the degrees of freedom of
    each interval; ``rank_low`` and ``rank_high`` the ranks that the orderings allow, all systems jointly (0: unknown).
    ``alike`` says that clusters have the same total weight each, since their orderings as they are left too few degrees
    of freedom. ``no_interval`` says why intervals are missing. ``n_tied`` of ``n_orderings`` have ties, ``n_partial``
    of these in last place; ``n_left_out`` more allowed too many orders.
    """

    strength: Floats
    thurstone: Floats
    ci_low: Floats
    ci_high: Floats
    df: Floats
    rank_low: Ints
    rank_high: Ints
    reasons: tuple[Reason | None, ...]
    interval: str | None
    n_clusters: int
    alike: bool
    no_interval: Reason | None
    levels: Levels
    n_orderings: int
    n_tied: int
    n_partial: int
    n_left_out: int


def plackett_luce(
    ranks: Floats,
    *,
    systems: Sequence[str],
    cluster: Ints,
    unit: str = "annotator",
    confidence: float = 0.95,
    rng: np.random.Generator,
    least_df: float = LEAST_DF,
) -> PlackettLuce:
    """Estimate strengths by maximum likelihood: the best of those left is i with chance exp(s_i) / sum exp(s_j).

    Of outputs tied in last place nothing is said: the likelihood of an ordering is the product of the choices before
    them. With other ties its logarithm is the mean over the orders that these allow, of which there may be 24; an
    ordering that allows more is left out and counted. The spectral estimate of choix, which takes neither ties nor
    weights, is the start of Newton's steps. Intervals are cluster-robust: CR2, whose working model takes the
    choices of a stage for independent, and t with Satterthwaite's degrees of freedom.

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
        Level of the intervals; of the rank intervals jointly.
    rng : numpy.random.Generator
        For the rank intervals.
    least_df : float
        Where some strength has fewer degrees of freedom, all are estimated again with clusters alike; a strength that
        still has fewer is without an interval.

    Returns
    -------
    PlackettLuce
        NaN with a reason where :func:`analysis.strengths.existence.determined_systems` finds no strength. Where every
        ordering ties all it has, strengths are 0 and there is no interval, as of Bradley-Terry. Above 300 systems the
        sandwich is CR1 (:func:`analysis.strengths.sparse_sandwich.over_scores`), and there are no strengths by
        Thurstone's model.

    References
    ----------
    Luce, R. D. (1959). Individual Choice Behavior. Plackett, R. L. (1975). The analysis of permutations. Applied
    Statistics, 24(2), 193-202. Maystre, L. and Grossglauser, M. (2015), NeurIPS 28 (choix).

    >>> found = plackett_luce(np.array([[1.0, 2.0]] * 3 + [[2.0, 1.0]]), systems=["a", "b"], cluster=np.arange(4),
    ...                       rng=np.random.default_rng(0))
    >>> found.strength.round(4).tolist()
    [0.5493, -0.5493]
    """
    if len(systems) > DENSE:
        return _of_many(ranks, systems, cluster, unit, confidence, least_df)
    patterns, of = np.unique(dense_ranks(ranks), axis=0, return_inverse=True)
    orders = [orders_of(pattern) for pattern in patterns]
    left_out = np.array([own is None for own in orders])[of]
    tied = np.array([len(np.unique(own := pattern[pattern > 0])) < len(own) for pattern in patterns])[of]
    partial = np.array([own is not None and own.n_last > 1 for own in orders])[of]
    used = fold(cluster[~left_out])
    here = of[~left_out]
    counts = csr_array((np.ones(len(here)), (used.of, here)), shape=(len(used), len(patterns)))
    halves = np.array([pairwise_wins(pattern) for pattern in patterns])
    chosen = np.array([pairwise_wins(pattern, partial=True) for pattern in patterns])
    total: Floats = np.asarray(counts.sum(axis=0), dtype=np.float64)
    wins = np.tensordot(total, chosen, 1)
    nobody_chose = not wins.any()
    if nobody_chose:
        wins = np.tensordot(total, halves, 1)
    determined = determined_systems(wins, systems)
    kept = determined.kept
    nothing, none = np.full(len(systems), np.nan), np.zeros(len(systems), dtype=np.int64)
    made = _FittedOrders(strength=nothing, thurstone=nothing)
    if len(kept) and nobody_chose:
        level = nothing.copy()
        level[kept] = 0.0
        no_spread = why_no_spread(np.zeros(len(kept)) if len(used) > 1 else None, unit)
        made = _FittedOrders(strength=level, thurstone=level, no_interval=no_spread)
    elif len(kept):
        made = _fitted(orders, halves, counts, kept, unit=unit, confidence=confidence, rng=rng, least_df=least_df)
    bounds = made.bounds

    def fit_set(own: Ints) -> Floats:
        stages = _Stages.of(orders, own)
        found: Floats = stages.solve(total[None], stages.start(len(own)))[0]
        return found

    return PlackettLuce(
        strength=made.strength,
        thurstone=made.thurstone,
        ci_low=nothing if bounds is None else bounds.low,
        ci_high=nothing if bounds is None else bounds.high,
        df=nothing if bounds is None else bounds.df,
        rank_low=none if bounds is None else bounds.rank_low,
        rank_high=none if bounds is None else bounds.rank_high,
        reasons=_reasons(determined.reasons, (patterns[of][left_out] > 0).any(axis=0)),
        interval=None if bounds is None or not np.isfinite(bounds.low).any() else "sandwich",
        n_clusters=len(used),
        alike=made.alike,
        no_interval=made.no_interval,
        levels=levels_of(wins, made.strength, fit=None if nobody_chose else fit_set),
        n_orderings=int((~left_out).sum()),
        n_tied=int((tied & ~left_out).sum()),
        n_partial=int(partial.sum()),
        n_left_out=int(left_out.sum()),
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _FittedOrders:
    """Strengths of all systems by both models, NaN where there is none; their intervals, or why there are none."""

    strength: Floats
    thurstone: Floats
    bounds: StrengthBounds | None = None
    alike: bool = False
    no_interval: Reason | None = None


def _fitted(
    orders: Sequence[AllowedOrders | None],
    halves: Floats,
    counts: csr_array,
    kept: Ints,
    *,
    unit: str,
    confidence: float,
    rng: np.random.Generator,
    least_df: float,
) -> _FittedOrders:
    """Fit the systems that can be fitted, once more with clusters alike where degrees of freedom are too few.

    ``counts`` says how often each cluster gave each pattern, ``halves`` who won in each, a tie half.
    """
    strength, probit = np.full((2, halves.shape[1]), np.nan)
    total: Floats = np.asarray(counts.sum(axis=0), dtype=np.float64)
    stages, several = _Stages.of(orders, kept), counts.shape[0] > 1
    centre = stages.solve(total[None], stages.start(len(kept)))[0]
    found = stages.covariance(counts, centre) if several else None
    size = counts.sum(axis=1)
    alike = found is not None and bool(found.df.min() < least_df - ROUNDING) and size.min() < size.max()
    if alike:
        counts = csr_array(counts.multiply((size.mean() / size)[:, None]))
        total = np.asarray(counts.sum(axis=0), dtype=np.float64)
        centre = stages.solve(total[None], centre)[0]
        found = stages.covariance(counts, centre)
    strength[kept] = centre
    probit[kept] = thurstone(np.tensordot(total, halves, 1)[kept][:, kept])
    no_interval = why_no_spread(None if found is None else np.sqrt(np.diagonal(found.matrix)), unit)
    bounds = None
    if found is not None and no_interval is None:
        bounds = strength_bounds(
            strength,
            kept,
            found.matrix,
            found.df,
            found.df_differences,
            confidence=confidence,
            rng=rng,
            least_df=least_df,
            unit=unit,
        )
        no_interval = bounds.no_interval
    return _FittedOrders(strength=strength, thurstone=probit, bounds=bounds, alike=alike, no_interval=no_interval)


def _of_many(
    ranks: Floats, systems: Sequence[str], cluster: Ints, unit: str, confidence: float, least_df: float
) -> PlackettLuce:
    """Do what :func:`plackett_luce` does of many systems, by what was put in order."""
    k = len(systems)
    patterns, of = patterns_of(ranks)
    left_out = np.array([own.orders is None for own in patterns])[of]
    tied = np.array([own.tied for own in patterns])[of]
    partial = np.array([own.orders is not None and own.orders.n_last > 1 for own in patterns])[of]
    used, here = fold(cluster[~left_out]), of[~left_out]
    counts = csr_array((np.ones(len(here)), (used.of, here)), shape=(len(used), len(patterns)))
    total: Floats = np.asarray(counts.sum(axis=0), dtype=np.float64)
    wins = wins_of(patterns, total, k, partial=True)
    nobody_chose = not wins.nnz
    if nobody_chose:
        wins = wins_of(patterns, total, k, partial=False)
    determined = determined_systems(wins, systems)
    kept, strength = determined.kept, np.full(k, np.nan)
    made = ManyStrengths(strength=strength, reasons=determined.reasons, wins=wins)
    if len(kept) and nobody_chose:
        strength[kept] = 0.0
        made = replace(made, no_interval=why_no_spread(np.zeros(len(kept)) if len(used) > 1 else None, unit))
    elif len(kept):
        data = SparseStages.of(patterns, kept)
        strength[kept] = data.solve(total, len(kept))
        found = data.covariance(counts, strength[kept]) if len(used) > 1 else None
        size = counts.sum(axis=1)
        few = found is not None and float((found.df < least_df - ROUNDING).mean()) > HALF
        if few and size.min() < size.max():
            counts = csr_array(counts.multiply((size.mean() / size)[:, None]))
            strength[kept] = data.solve(np.asarray(counts.sum(axis=0)), len(kept), strength[kept])
            found = data.covariance(counts, strength[kept])
            made = replace(made, alike=unit)
        no_interval = why_no_spread(None if found is None else found.se, unit)
        made = replace(made, no_interval=no_interval)
        if found is not None and no_interval is None:
            made = bounded(made, kept, found, confidence, least_df, unit)
    _, df, low, high = np.full((4, k), np.nan) if made.columns is None else made.columns
    none = np.zeros((2, k), dtype=np.int64)

    def fit_set(own: Ints) -> Floats:
        return SparseStages.of(patterns, own).solve(total, len(own))

    names = [own.systems for own, out in zip(patterns, [own.orders is None for own in patterns], strict=True) if out]
    absent = np.isin(np.arange(k), np.concatenate(names)) if names else np.zeros(k, dtype=bool)
    return PlackettLuce(
        strength=strength,
        thurstone=np.full(k, np.nan),
        ci_low=low,
        ci_high=high,
        df=df,
        rank_low=(none if made.ranks is None else made.ranks)[0],
        rank_high=(none if made.ranks is None else made.ranks)[1],
        reasons=_reasons(determined.reasons, absent),
        interval="sandwich" if np.isfinite(low).any() else None,
        n_clusters=len(used),
        alike=made.alike is not None,
        no_interval=made.no_interval,
        levels=levels_of(wins, strength, fit=None if nobody_chose else fit_set),
        n_orderings=int((~left_out).sum()),
        n_tied=int((tied & ~left_out).sum()),
        n_partial=int(partial.sum()),
        n_left_out=int(left_out.sum()),
    )


def _reasons(found: Sequence[Reason | None], left_out: Marks) -> tuple[Reason | None, ...]:
    """Say of systems that only orderings with too many ties have that these were left out."""
    return tuple(
        ALL_LEFT_OUT if reason == NEVER_COMPARED and left_out[place] else reason for place, reason in enumerate(found)
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Stages:
    """What a pattern says: how often the best was taken from each set of systems, and who was taken.

    ``member`` marks the systems of each set, shape (sets, k); ``times`` (patterns, sets) and ``won`` (patterns, k) are
    means over the orders of a pattern; ``choices`` are the different sets with who was taken first.
    """

    member: Marks
    times: csr_array
    won: Floats
    choices: list[tuple[int, ...]]

    @staticmethod
    def of(orders: Sequence[AllowedOrders | None], kept: Ints) -> _Stages:
        """Cut the orders of each pattern into stages, over fitted systems alone, which are numbered anew."""
        number = {system: place for place, system in enumerate(kept.tolist())}
        sets: dict[frozenset[int], int] = {}
        choices: dict[tuple[int, ...], None] = {}
        stages: list[tuple[int, int, int, float]] = []
        for pattern, own in enumerate(orders):
            for left, share in own.stages(number) if own is not None else ():
                rest = sets.setdefault(frozenset(left), len(sets))
                stages.append((pattern, rest, left[0], share))
                choices.setdefault((left[0], *sorted(left[1:])))
        member = np.zeros((len(sets), len(kept)), dtype=bool)
        for systems, row in sets.items():
            member[row, list(systems)] = True
        won = np.zeros((len(orders), len(kept)))
        patterns, of, best, weight = (np.array(column) for column in zip(*stages, strict=True))
        times = csr_array((weight, (patterns, of)), shape=(len(orders), len(sets)))
        np.add.at(won, (patterns, best), weight)
        return _Stages(member=member, times=times, won=won, choices=[*choices])

    def start(self, k: int) -> Floats:
        """Return choix's spectral estimate over the different choices; zeros where these alone give none."""
        from choix import lsr_top1

        try:
            with np.errstate(all="ignore"):
                found: Floats = lsr_top1(k, [(own[0], own[1:]) for own in self.choices])
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

    def covariance(self, counts: csr_array, strength: Floats) -> BiasReduced:
        """Return CR2 with its degrees of freedom; ``counts`` has a row for each cluster."""
        share = self.shares(strength)
        bread = np.linalg.pinv(_information((counts.sum(axis=0) @ self.times)[None], share[None])[0], hermitian=True)
        root = bread_root(bread)
        scores = counts @ (self.won - self.times @ share)
        times = csr_array(counts @ self.times)

        def blocks() -> Iterator[tuple[Floats, Floats]]:
            for start in range(0, len(scores), AT_ONCE):
                rows = range(start, min(start + AT_ONCE, len(scores)))
                yield scores[start : rows.stop], np.stack([_information_of(times, row, share) for row in rows])

        return bias_reduced(adjusted_scores(blocks(), root, len(scores)), root, len(scores))


def _information_of(times: csr_array, row: int, share: Floats) -> Floats:
    """Return the Fisher information of one cluster, shape (k, k), from the sets that it met."""
    own = slice(times.indptr[row], times.indptr[row + 1])
    met = share[times.indices[own]]
    weighted = met * times.data[own, None]
    return np.asarray(np.diag(weighted.sum(axis=0)) - weighted.T @ met)


def _information(times: Floats, share: Floats) -> Floats:
    """Return the Fisher information of each row, shape (n, k, k)."""
    weighted = share * times[..., None]
    own = weighted.sum(axis=1)
    return np.asarray(own[:, :, None] * np.eye(own.shape[1]) - np.swapaxes(weighted, 1, 2) @ share)


def thurstone(wins: Floats) -> Floats:
    """Estimate strengths from pairs by Thurstone's model, case V: i beats j with chance Phi(s_i - s_j).

    Maximum likelihood by statsmodels, mean zero; a tie is half a win for each.

    Parameters
    ----------
    wins : array of float, shape (k, k)
        Entry [i, j] is what i won of j; each system must reach every other by wins.

    References
    ----------
    Thurstone, L. L. (1927). A law of comparative judgment. Psychological Review, 34(4), 273-286.

    >>> thurstone(np.array([[0.0, 3.0], [1.0, 0.0]])).round(4).tolist()
    [0.3372, -0.3372]
    """
    from statsmodels.genmod.families import Binomial
    from statsmodels.genmod.families.links import Probit
    from statsmodels.genmod.generalized_linear_model import GLM
    from statsmodels.tools.sm_exceptions import PerfectSeparationWarning

    first, second = np.nonzero(np.triu(wins + wins.T))
    difference = np.eye(len(wins))[first] - np.eye(len(wins))[second]
    won = np.column_stack([wins[first, second], wins[second, first]])
    with warnings.catch_warnings(), np.errstate(divide="ignore", invalid="ignore"):  # of a scale that nobody needs
        warnings.simplefilter("ignore", PerfectSeparationWarning)  # said of every perfect fit
        fitted = GLM(won, difference[:, 1:], family=Binomial(link=Probit())).fit(tol=1e-12)
    strength = np.concatenate([[0.0], fitted.params])
    return np.asarray(strength - strength.mean())
