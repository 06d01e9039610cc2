"""Scores of systems in resampled answers: units are drawn as weights on their sums, never as rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from zlib import crc32

import numpy as np
import polars as pl
from scipy.sparse import csr_array

from analysis.answers.plan import Plan
from analysis.answers.tables import answered_rows
from analysis.answers.units import Unit
from analysis.statistics.coding import Floats, Ints, fold, scale_of, snap
from analysis.strengths.bootstrap import ComparedPairs, Marks
from analysis.strengths.strength_table import Judgements, StrengthTable
from analysis.sums.criterion_sums import CriterionSums
from analysis.sums.units import unit_codes

REPLICATES = 1000
MOST_UNITS = 4000  # more are dealt at random into as many bundles, which are drawn whole
ALIKE = 10  # digits to which weighted sums of two units agree where they gave the same
HELD = 1 << 18  # weights held at once
ROWS = 1 << 20  # ratings summed at a time
DENSE = 1 << 18  # sums of units that are kept as a full table
SOLVED = 1e-5  # gap at which a replicate's strengths are settled: far finer than an order needs
NEAR_STRENGTHS, NEAR_MEANS = 1e-4, 1e-9  # scores of a replicate closer than this are tied


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ReplicateSums:
    """What resampling one ranking needs: sums and counts by unit.

    Columns are systems (``pairs`` is ``None``: a score is sum / count) or pairs of systems (a score
    is a Bradley-Terry strength). ``names`` identify units across rankings, sorted.
    """

    source: str
    group: str
    criterion: str
    systems: tuple[str, ...]
    unit: str
    names: tuple[str, ...]
    sums: Floats | csr_array  # (columns, units)
    counts: Floats | csr_array
    turned: bool = False  # low is best
    pairs: ComparedPairs | None = None
    pseudo: float = 0.0

    @property
    def near(self) -> float:
        """How close two scores of a replicate are when they are tied."""
        return NEAR_MEANS if self.pairs is None else NEAR_STRENGTHS

    def scores(self, weights: Floats) -> Floats:
        """Score every system in every replicate, high is best.

        Parameters
        ----------
        weights : array of float, shape (units, replicates)
            How often each unit was drawn.

        Returns
        -------
        array of float, shape (replicates, systems)
            A row of NaN where some system has no finite score.
        """
        sums, counts = np.asarray(self.sums @ weights), np.asarray(self.counts @ weights)
        if self.pairs is None:
            scores = np.where(counts > 0, sums / np.maximum(counts, 1e-300), np.nan)
            scores[:, np.isnan(scores).any(axis=0)] = np.nan
            return -scores.T if self.turned else scores.T
        played, won = counts + 2 * self.pseudo, sums + self.pseudo
        sound = self._determined(played, won)
        found = np.full((weights.shape[1], len(self.systems)), np.nan)
        found[sound] = self.pairs.solve(played[:, sound], won[:, sound], tolerance=SOLVED)
        return -found if self.turned else found

    def over(self, unit_of: Mapping[str, int], n_units: int) -> ReplicateSums:
        """Return the same sums over the units of a pool; a unit that this ranking lacks has nothing to add."""
        column = np.array([unit_of[name] for name in self.names], dtype=np.int64)
        if np.array_equal(column, np.arange(n_units)):
            return self
        place = csr_array((np.ones(len(column)), (np.arange(len(column)), column)), shape=(len(column), n_units))
        return replace(self, sums=_summed(self.sums, place), counts=_summed(self.counts, place))

    def _determined(self, played: Floats, won: Floats) -> Marks:
        """Say which replicates have finite strengths; only those that lost a win are looked at closely."""
        assert self.pairs is not None
        floor = 1e-9
        sound: Marks = np.all((won > floor) & (played - won > floor), axis=0)
        doubtful = np.flatnonzero(~sound)
        if len(doubtful):
            sound[doubtful] = self.pairs.connected(played[:, doubtful], won[:, doubtful])[1]
        return sound


def unit_names(table: pl.DataFrame) -> Mapping[str, tuple[str, ...]]:
    """Name the units of the answered rows of a table, as the cells of ratings and choices number them."""
    return unit_codes(answered_rows(table)).names


def sums_of_units(
    part: CriterionSums,
    unit: Unit,
    names: Sequence[str],
    system: Ints,
    column: Ints,
    count: Floats,
    total: Floats,
    plan: Plan,
) -> ReplicateSums:
    """Return what resampling the means needs, from the count and sum of ratings of each system and unit that meet."""
    units, of = _sorted_units(column, names)
    present, of_system = np.unique(system, return_inverse=True)
    shape = (len(present), len(units))
    return ReplicateSums(
        source="ratings",
        group=part.group,
        criterion=part.criterion,
        systems=tuple(part.systems[place] for place in present.tolist()),
        unit=unit,
        names=units,
        sums=_table(of_system, of, total, shape),
        counts=_table(of_system, of, count, shape),
        turned=part.criterion in plan.lower_is_better,
    )


def win_sums(
    table: StrengthTable, judgements: Judgements, names: Mapping[str, Sequence[str]], plan: Plan
) -> ReplicateSums | None:
    """Sum the wins of each pair of fitted systems by what the interval is clustered by, as the table weighs them.

    ``None`` where no two systems have a strength.
    """
    kept = table.known
    if len(kept) < 2:
        return None
    number = np.full(len(table.all_systems), -1)
    number[kept] = np.arange(len(kept))
    x, y = number[judgements.x], number[judgements.y]
    own = (x >= 0) & (y >= 0)
    (unit, column), *_ = judgements.clusters(plan.unit).items()
    units, of = _sorted_units(column[own], names[unit])
    x, y = x[own], y[own]
    k, pseudo = len(kept), plan.regularisation or 0.0
    number_of_pair = np.minimum(x, y) * k + np.maximum(x, y)
    if pseudo > 0:
        low, high = np.triu_indices(k, 1)
        pair = np.searchsorted(low * k + high, number_of_pair)
    else:
        met = fold(number_of_pair)
        pair, (low, high) = met.of, np.divmod(number_of_pair[met.first], k)
    share = np.where(x < y, judgements.won[own], 1 - judgements.won[own])
    times = table.weights(judgements)[own]
    played = np.bincount(pair, weights=times, minlength=len(low)).astype(np.float64) + 2 * pseudo
    centre = table.strength
    shape = (len(low), len(units))
    return ReplicateSums(
        source=table.source,
        group=table.group,
        criterion=table.criterion,
        systems=tuple(table.all_systems[place] for place in kept.tolist()),
        unit=unit,
        names=units,
        sums=_table(pair, of, share * times, shape),
        counts=_table(pair, of, times, shape),
        turned=table.turned,
        pairs=ComparedPairs.of(low, high, played, centre),
        pseudo=pseudo,
    )


def _sorted_units(column: Ints, names: Sequence[str]) -> tuple[tuple[str, ...], Ints]:
    """Return the names of the units that occur, sorted, and the number of each row's unit among them."""
    units = fold(column)
    listed = [names[unit] for unit in column[units.first].tolist()]
    order = sorted(dict.fromkeys(listed))
    place = {name: number for number, name in enumerate(order)}
    return tuple(order), np.array([place[name] for name in listed], dtype=np.int64)[units.of]


def _table(row: Ints, column: Ints, values: Floats, shape: tuple[int, int]) -> Floats | csr_array:
    if shape[0] * shape[1] > DENSE:
        return csr_array((values, (row, column)), shape=shape)
    sums = np.bincount(row * shape[1] + column, weights=values, minlength=shape[0] * shape[1])
    found: Floats = sums.astype(np.float64).reshape(shape)
    return found


def _summed(table: Floats | csr_array, place: csr_array) -> Floats | csr_array:
    found = table @ place
    dense = found.shape[0] * found.shape[1] <= DENSE
    return found.toarray() if dense and not isinstance(found, np.ndarray) else found


def draw_scores(
    rankings: Sequence[ReplicateSums],
    *,
    seed: int,
    n_replicates: int = REPLICATES,
    wanted: Sequence[bool] | None = None,
) -> list[Floats | None]:
    """Resample the units of all rankings and score every system in every replicate.

    Rankings that share units (the same people, or the same items) form one pool: a replicate draws
    as many units from the pool as it has, with replacement, and every ranking of the pool counts the
    same draw. Pools are independent. Units stand in an order that their answers give, so that neither the order of
    rows, names nor the parts in which a table is read change what is drawn.

    Returns
    -------
    list of array, shape (1 + n_replicates, systems), or None
        The scores of the answers as they are, then those of the replicates; ``None`` for a ranking
        with fewer than two units, and for one that is not ``wanted``.
    """
    found: list[Floats | None] = [None] * len(rankings)
    for members in pools(rankings):
        asked = [place for place in members if wanted is None or wanted[place]]
        if not asked:
            continue
        keys = sorted(_key(rankings[place]) for place in members)
        rng = np.random.default_rng([seed, crc32(keys[0].encode())])
        names = units_by_answers([rankings[place] for place in members])
        n_units = min(len(names), MOST_UNITS)
        dealt = np.arange(len(names)) if n_units == len(names) else rng.permutation(len(names)) % n_units
        unit_of = dict(zip(names, dealt.tolist(), strict=True))
        own = {place: rankings[place].over(unit_of, n_units) for place in asked if len(rankings[place].names) > 1}
        parts: dict[int, list[Floats]] = {place: [sums.scores(np.ones((n_units, 1)))] for place, sums in own.items()}
        pairs = max((len(sums.pairs.low) for sums in own.values() if sums.pairs and sums.pairs.many), default=0)
        step = max(1, min(n_replicates, HELD // max(n_units, 4 * pairs)))
        for start in range(0, n_replicates, step):
            weights = _weights(n_units, min(step, n_replicates - start), rng)
            for place, sums in own.items():
                parts[place].append(sums.scores(weights))
        for place, scores in parts.items():
            found[place] = np.concatenate(scores)
    return found


def _key(ranking: ReplicateSums) -> str:
    """Return what a draw may depend on: no name that somebody gave, of a group or a criterion."""
    return ranking.source


def units_by_answers(rankings: Sequence[ReplicateSums]) -> list[str]:
    """Return the names of all units, ordered by a weighted sum of what each gave; those who gave the same are alike.

    A weight follows from the scores of the system, or of two in their order, and from the ranking; only among units
    that these leave equal (of two tied systems each gave the other's sum) names of systems decide.
    """
    found: dict[str, Floats] = {}
    for own in rankings:
        number = np.random.default_rng(crc32(_key(own).encode())).random()
        score = np.nan_to_num(own.scores(np.ones((own.sums.shape[1], 1)))[0])
        name = np.argsort(np.argsort(own.systems)).astype(np.float64)
        totals: list[Floats] = []
        of_sums: Floats
        of_counts: Floats
        for value in (score, name):
            if own.pairs is None:
                of_sums, of_counts = np.cos(number + value), np.sin(number + 2 * value)
            else:
                low, high = value[own.pairs.low], value[own.pairs.high]
                won, lost = np.cos(number + 2 * low - high), np.cos(number + 2 * high - low)
                of_sums, of_counts = won - lost, lost
            by_sum: Floats = own.sums.T @ of_sums
            by_count: Floats = own.counts.T @ of_counts
            totals.append(by_sum + by_count)
        for unit, both in zip(own.names, np.column_stack(totals), strict=True):
            found[unit] = found.get(unit, np.zeros(2)) + both
    first, second = np.array([*found.values()]).T
    names = [*found]
    order = np.lexsort((second, snap(first, scale=scale_of(first), digits=ALIKE)))
    return [names[place] for place in order.tolist()]


def _weights(n_units: int, replicates: int, rng: np.random.Generator) -> Floats:
    """Draw n units with replacement, as how often each came, shape (units, replicates)."""
    drawn = rng.integers(0, n_units, size=(replicates, n_units))
    drawn += np.arange(replicates)[:, None] * n_units
    times = np.bincount(drawn.ravel(), minlength=replicates * n_units).reshape(replicates, n_units)
    return np.ascontiguousarray(times.T, dtype=np.float64)


def pools(rankings: Sequence[ReplicateSums]) -> list[list[int]]:
    """Group the rankings that share units, directly or through others, in their order."""
    found: list[tuple[set[tuple[str, str]], list[int]]] = []
    for number, ranking in enumerate(rankings):
        units, pool = {(ranking.unit, name) for name in ranking.names}, [number]
        for others in [others for others in found if not units.isdisjoint(others[0])]:
            units |= others[0]
            pool += others[1]
            found.remove(others)
        found.append((units, sorted(pool)))
    return sorted(pool for _, pool in found)
