"""How well two rankings agree, with an interval from resampled answers."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from analysis.ranking.replicates import REPLICATES, ReplicateSums, draw_scores, pools
from analysis.statistics.coding import Floats, Ints
from analysis.statistics.rank_orders import Ranking, kendall_tau, ranks
from analysis.statistics.reasons import Reason, why
from analysis.statistics.record import Coefficient, Count, Record, replace_fields

HELD = 1 << 23  # signs held at once
FEWEST_SYSTEMS = 3
FEWEST_UNITS = 30  # of fewer, intervals hold the truth in down to 72% of studies (tests/calibration/calibration.md)
SWEPT = why("no_interval_swept")
TOO_FEW_UNITS = why("no_interval_ranking_of_one")
Key = tuple[str, str, str]
Marks = npt.NDArray[np.bool_]
Floats32 = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class RankingAgreement(Record):
    """Kendall's tau-b between two rankings over the systems that both rank."""

    a: str
    """Source:group."""
    b: str
    criterion: str
    kendall_tau: Coefficient | None
    ci_low: float | None
    ci_high: float | None
    interval: str | None = None
    """What was drawn for the interval."""
    n_systems: Count = 0
    reason: Reason | None = None
    """Why the coefficient or its interval is missing."""


def agreement_of_rankings(
    rankings: Sequence[Ranking],
    sums: Sequence[ReplicateSums] = (),
    *,
    confidence: float = 0.95,
    seed: int = 0,
    fewest_units: int = FEWEST_UNITS,
) -> list[RankingAgreement]:
    """Compare every two rankings of the same criterion.

    Parameters
    ----------
    rankings : sequence of Ranking
        Orders of the systems.
    sums : sequence of ReplicateSums
        What each was made from, by unit; a ranking without it has no interval.
    confidence : float
        Level of the interval (``docs/statistics.md`` has its coverage).
    seed : int
        Of the replicates.
    fewest_units : int
        Annotators (assignments, items) that each of two rankings needs for an interval.

    Returns
    -------
    list of RankingAgreement
        Units that two rankings share (the same people; the same items) are drawn once for both;
        units of different kinds, and those of other people, are drawn apart.

    References
    ----------
    Efron, B. (1979). Bootstrap methods: another look at the jackknife. Annals of Statistics, 7(1), 1-26.
    """
    by_key = {(own.source, own.group, own.criterion): own for own in sums}
    keys = list(by_key)
    several = Counter(ranking.criterion for ranking in rankings)
    wanted = [several[own.criterion] > 1 for own in by_key.values()]
    scores = dict(zip(keys, draw_scores(list(by_key.values()), seed=seed, wanted=wanted), strict=True))
    pool_of = {keys[place]: number for number, pool in enumerate(pools(list(by_key.values()))) for place in pool}
    left: dict[str, deque[Ranking]] = {}
    for ranking in rankings:
        left.setdefault(ranking.criterion, deque()).append(ranking)
    same = {criterion: [_key(ranking) for ranking in listed] for criterion, listed in left.items()}
    places = {_key(ranking): ranks(ranking.order) for ranking in rankings}
    rows, pairs = [], []
    for one in rankings:
        left[one.criterion].popleft()
        rows += [_agreement(one, two, places) for two in left[one.criterion]]
        pairs += [(_key(one), _key(two)) for two in left[one.criterion]]
    taus = {pair: row.kendall_tau for pair, row in zip(pairs, rows, strict=True)}
    bounds: dict[tuple[Key, Key], Bounds] = {}
    for listed in same.values():
        known = [key for key in listed if scores.get(key) is not None]
        bounds |= _bounds([by_key[key] for key in known], [scores[key] for key in known], taus, confidence)
    done = []
    for row, (first, second) in zip(rows, pairs, strict=True):
        units = [by_key[key].unit if key in by_key else None for key in (first, second)]
        shared = first in pool_of and pool_of.get(first) == pool_of.get(second)
        common = places[first].keys() & places[second].keys()
        drawn = [common <= set(by_key[key].systems) for key in (first, second) if key in by_key]
        few = _too_few([by_key[key] for key in (first, second) if key in by_key], fewest_units)
        if row.kendall_tau is not None and not all(drawn):
            done.append(replace_fields(row, reason=SWEPT))
        elif row.kendall_tau is not None and row.n_systems >= FEWEST_SYSTEMS and few is not None:
            done.append(replace_fields(row, reason=few))
        else:
            done.append(_bounded(row, bounds.get((first, second)), _drawn(units, shared), confidence))
    return done


def _too_few(sums: Sequence[ReplicateSums], needed: int) -> Reason | None:
    """Say that one of two rankings rests on too few units for an interval."""
    fewest = min(sums, key=lambda own: (len(own.names), own.unit), default=None)
    if fewest is None or not 1 < len(fewest.names) < needed:
        return None
    return why("no_interval_few_units", n=len(fewest.names), unit=fewest.unit, needed=needed)


def _key(ranking: Ranking) -> Key:
    return (ranking.source, ranking.group, ranking.criterion)


def _agreement(one: Ranking, two: Ranking, places: Mapping[Key, Mapping[str, int]]) -> RankingAgreement:
    ranks_one, ranks_two = places[_key(one)], places[_key(two)]
    common = [system for system in ranks_one if system in ranks_two]
    first = np.array([ranks_one[system] for system in common], dtype=np.float64)
    second = np.array([ranks_two[system] for system in common], dtype=np.float64)
    tau = kendall_tau(first, second)
    few = why("few_ranked") if len(common) < 2 else why("all_tied")
    return RankingAgreement(
        a=f"{one.source}:{one.group}",
        b=f"{two.source}:{two.group}",
        criterion=one.criterion,
        kendall_tau=tau,
        ci_low=None,
        ci_high=None,
        n_systems=len(common),
        reason=few if tau is None else None,
    )


def _bounded(row: RankingAgreement, found: Bounds | None, drawn: str, confidence: float) -> RankingAgreement:
    if row.kendall_tau is None:
        return row
    if row.n_systems < FEWEST_SYSTEMS:
        return replace_fields(row, reason=why("no_interval_two_systems"))
    if found is None:
        return replace_fields(row, reason=TOO_FEW_UNITS)
    if found.lost > (1 - confidence) * REPLICATES:
        return replace_fields(row, reason=why("no_interval_orders_lost", lost=found.lost, replicates=REPLICATES))
    return replace_fields(row, ci_low=found.low, ci_high=found.high, interval=drawn)


def _drawn(units: Sequence[str | None], shared: bool) -> str:
    """Say what was drawn for an interval.

    >>> _drawn(["annotator", "annotator"], True), _drawn(["annotator", "item"], False)
    ('resampled; the same annotators drawn for both', 'resampled; annotators and items drawn apart')
    """
    if shared:
        return f"resampled; the same {units[0]}s drawn for both"
    named = " and ".join(f"{unit}s" for unit in dict.fromkeys(units) if unit is not None)
    return f"resampled; {named} drawn apart"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """An interval of tau, and how many replicates gave no tau."""

    low: float
    high: float
    lost: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Orders:
    """Signs of some pairs of systems, by ranking; 0 for a tie and for systems that a ranking lacks."""

    drawn: Floats32  # (replicates, rankings, pairs), NaN where a replicate has no scores
    ranked: Floats32  # (rankings, pairs), 1 where the ranking has both systems
    sure: Floats32  # (rankings, pairs), 0 where the answers leave the order open


def _bounds(
    sums: Sequence[ReplicateSums],
    scores: Sequence[Floats | None],
    taus: Mapping[tuple[Key, Key], float | None],
    level: float,
) -> dict[tuple[Key, Key], Bounds]:
    """Bound tau of every two rankings of one criterion.

    The end towards zero is the quantile of the replicates. Resampling adds noise to orders that are
    noisy already, so replicates of tau lie too near zero; the end away from zero is therefore moved
    out to what the orders of pairs that are sure allow.
    """
    known = [(own, found) for own, found in zip(sums, scores, strict=True) if found is not None]
    if len(known) < 2:
        return {}
    rows, columns = np.triu_indices(len(known), 1)
    n, n_pairs = len(known[0][1]) - 1, len(rows)
    agree, first, second = np.zeros((3, n, n_pairs))
    bad = np.zeros((n, len(known)), dtype=np.bool_)
    together, product, both = np.zeros((3, n_pairs))
    for orders in _orders(known, level):
        bad |= np.any(np.isnan(orders.drawn) & (orders.ranked > 0), axis=2)
        signs = np.nan_to_num(orders.drawn)
        agree += (signs @ np.swapaxes(signs, 1, 2))[:, rows, columns]
        untied = np.abs(signs) @ orders.ranked.T
        first += untied[:, rows, columns]
        second += untied[:, columns, rows]
        together += (orders.ranked @ orders.ranked.T)[rows, columns]
        product += (orders.sure @ orders.sure.T)[rows, columns]
        both += (np.abs(orders.sure) @ np.abs(orders.sure).T)[rows, columns]
    ends, lost = _percentiles(_taus(agree, first * second, bad[:, rows] | bad[:, columns]), level)
    pairs = np.maximum(together, 1.0).astype(np.float32)
    least = (both + product).astype(np.float32) / pairs - 1
    most = 1 - (both - product).astype(np.float32) / pairs
    keys = [(own.source, own.group, own.criterion) for own, _ in known]
    found = {}
    for place, (a, b) in enumerate(zip(rows.tolist(), columns.tolist(), strict=True)):
        tau = taus.get((keys[a], keys[b])) or 0.0
        low, high = float(ends[0, place]), float(ends[1, place])
        found[keys[a], keys[b]] = Bounds(
            low=min(low, float(least[place])) if tau <= 0 else min(low, tau),
            high=max(high, float(most[place])) if tau >= 0 else max(high, tau),
            lost=int(lost[place]),
        )
    return found


def _orders(known: Sequence[tuple[ReplicateSums, Floats]], level: float) -> Iterator[_Orders]:
    """Yield the orders of all pairs of systems, some pairs at a time."""
    names = dict.fromkeys(name for own, _ in known for name in own.systems)
    systems = {name: place for place, name in enumerate(names)}
    n = len(known[0][1]) - 1
    step = max(1, HELD // (max(n, 1) * len(known)))
    full = []
    for own, found in known:
        columns = np.array([systems[name] for name in own.systems])
        scores = np.full((len(found), len(systems)), np.nan)
        scores[:, columns] = found
        full.append((own, scores, np.isin(np.arange(len(systems)), columns)))
    critical = [_critical(own.near, scores[:, inside], level, step) for own, scores, inside in full]
    for one, two in _pairs(len(systems), step):
        shape = (len(known), len(one))
        drawn = np.zeros((n, *shape), dtype=np.float32)
        ranked, sure = np.zeros(shape, dtype=np.float32), np.zeros(shape, dtype=np.float32)
        for place, ((own, scores, inside), bound) in enumerate(zip(full, critical, strict=True)):
            pairs = np.flatnonzero(inside[one] & inside[two])
            gaps = scores[:, one[pairs]] - scores[:, two[pairs]]
            drawn[:, place, pairs] = np.where(np.abs(gaps[1:]) <= own.near, 0.0, np.sign(gaps[1:]))
            ranked[place, pairs] = 1.0
            sure[place, pairs] = _sure(gaps[0], gaps[1:], own.near, bound)
        yield _Orders(drawn=drawn, ranked=ranked, sure=sure)


def _pairs(k: int, step: int) -> Iterator[tuple[Ints, Ints]]:
    """Yield every two of k systems, ``step`` pairs at a time, without holding them all."""
    ends = np.cumsum(np.arange(k - 1, -1, -1))  # pairs up to each first system
    total = k * (k - 1) // 2
    for start in range(0, total, step):
        number = np.arange(start, min(start + step, total))
        one = np.searchsorted(ends, number, side="right")
        yield one, k - (ends[one] - number)


def _critical(near: float, scores: Floats, level: float, step: int) -> float | None:
    """Return the quantile of the largest deviation of a difference over its SD; ``None`` where nothing is sure.

    Each of two rankings takes half of what the level leaves, so that both hold together.
    """
    kept = ~np.isnan(scores[1:]).any(axis=1)
    if kept.sum() < 2 or scores.shape[1] < 2 or np.isnan(scores[0]).any():  # one system alone has no differences
        return None
    largest = np.zeros(int(kept.sum()))
    for one, two in _pairs(scores.shape[1], step):
        gaps = scores[:, one] - scores[:, two]
        whole = gaps[1:][kept]
        spread = whole.std(axis=0)
        scale = np.where(spread > near * 1e-3, spread, np.inf)
        np.maximum(largest, (np.abs(whole - gaps[0]) / scale).max(axis=1), out=largest)
    return float(np.quantile(largest, (1 + level) / 2))


def _sure(estimate: Floats, gaps: Floats, near: float, critical: float | None) -> Floats:
    """Return the sign of each difference that is clear of zero, all of one ranking at once, else 0.

    Clear is |difference| > critical · SD over replicates.
    """
    if critical is None:
        return np.zeros_like(estimate)
    spread = gaps[~np.isnan(gaps).any(axis=1)].std(axis=0)
    clear = np.abs(estimate) > np.where(spread > near * 1e-3, critical * spread, near)
    return np.where(clear, np.sign(estimate), 0.0)


def _percentiles(taus: Floats, level: float) -> tuple[Floats, Ints]:
    """Return both quantiles of the replicates' tau, and how many replicates have none, by pair of rankings."""
    n = len(taus)
    lost = np.isnan(taus).sum(axis=0)
    tails = [(1 - level) / 2, (1 + level) / 2]
    ends = np.full((2, taus.shape[1]), np.nan)
    whole = lost == 0
    if whole.any():
        known: Floats = taus[:, whole]
        ends[:, whole] = np.quantile(known, tails, axis=0)
    for place in np.flatnonzero((lost > 0) & (lost < n)).tolist():
        own = taus[:, place]
        ends[:, place] = np.quantile(own[~np.isnan(own)], tails)
    return ends, lost


def _taus(agree: Floats, product: Floats, bad: Marks) -> Floats:
    """Return tau-b of some pairs of rankings in every replicate, shape (replicates, pairs of rankings).

    ``agree`` counts pairs of systems in the same order less those in opposite ones; ``product`` multiplies the pairs
    that each of the two does not tie, among those that the other ranks; ``bad`` replicates have no scores.
    """
    below = np.sqrt(np.maximum(product, 1.0).astype(np.float32)).astype(np.float64)
    found: Floats = np.where(product > 0, agree / below, np.nan)
    found[bad] = np.nan
    return found
