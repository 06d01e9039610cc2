"""What rankings are made of: strengths of comparisons, means of ratings, and both by unit for resampling."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from analysis.answers.plan import Plan
from analysis.comparisons.ratings import RatingMean, RatingTest
from analysis.ranking.replicates import ReplicateSums, win_sums
from analysis.ranking.tied import TieFit, fit_ties
from analysis.statistics.rank_orders import Place, Ranking, Unranked, order_systems, ranks
from analysis.strengths.strength_table import Compared, Judgements, StrengthTable, SystemStrength, strength_table

WITH_TIES = ("choices", "ratings_bt")
SOURCES = ("preferences", "ratings", "choices", "ratings_bt")


@dataclass(frozen=True, slots=True, kw_only=True)
class RankingSources:
    """Collects what every ranking is made of, in the order in which it is found."""

    plan: Plan
    tables: list[StrengthTable] = field(default_factory=list)
    sums: list[ReplicateSums] = field(default_factory=list)
    ties: list[TieFit] = field(default_factory=list)

    def add_comparisons(
        self,
        source: Compared,
        group: str,
        criterion: str,
        judgements: Judgements,
        systems: Sequence[str],
        names: Mapping[str, Sequence[str]],
    ) -> None:
        """Fit strengths to comparisons; ``names`` are those of the units, by kind."""
        table = strength_table(source, group, criterion, judgements, systems, self.plan)
        if table is None:
            return
        self.tables.append(table)
        if source in WITH_TIES and (tied := fit_ties(table, judgements)) is not None:
            self.ties.append(tied)
        sums = win_sums(table, judgements, names, self.plan)
        if sums is not None:
            self.sums.append(sums)

    def add_ratings(self, sums: ReplicateSums) -> None:
        """Keep what the means of a group's ratings are made of."""
        self.sums.append(sums)

    @property
    def rows(self) -> tuple[SystemStrength, ...]:
        """The rows of ``bradley_terry``."""
        return tuple(row for table in self.tables for row in table.rows)


def rank_systems(sources: RankingSources, means: Sequence[RatingMean], tests: Sequence[RatingTest]) -> list[Ranking]:
    """Rank preferences and choices by strength, ratings by means; ratings taken as comparisons stand apart.

    Ranks that the answers allow: of strengths by all differences at once (:mod:`analysis.strengths.bounds`);
    of means one more than the number of systems clearly above by the corrected tests, up to the
    number of systems less those clearly below.
    """
    rated: dict[tuple[str, str], dict[str, float]] = {}
    for mean in means:
        rated.setdefault((mean.group, mean.criterion), {})[mean.system] = mean.mean
    beaten: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for test in tests:
        if test.verdict in ("x", "y"):
            pair = (test.system_x, test.system_y)
            beaten.setdefault((test.group, test.criterion), []).append(pair if test.verdict == "x" else pair[::-1])
    by_mean = [
        _by_mean(group, criterion, values, beaten.get((group, criterion), ()), sources.plan)
        for (group, criterion), values in rated.items()
    ]
    by_strength = [_by_strength(table) for table in sources.tables]
    return sorted([*by_strength, *by_mean], key=lambda ranking: SOURCES.index(ranking.source))


def _by_mean(
    group: str, criterion: str, values: Mapping[str, float], beaten: Sequence[tuple[str, str]], plan: Plan
) -> Ranking:
    order = order_systems(values, tie=0.0, lower_is_better=criterion in plan.lower_is_better)
    above = Counter(loser for _, loser in beaten)
    below = Counter(winner for winner, _ in beaten)
    return Ranking(
        source="ratings",
        group=group,
        criterion=criterion,
        order=order,
        places=tuple(
            Place(system=system, rank=rank, rank_low=1 + above[system], rank_high=len(values) - below[system])
            for system, rank in ranks(order).items()
        ),
        rank_interval=f"corrected tests of pairs ({plan.correction})",
    )


def _by_strength(table: StrengthTable) -> Ranking:
    order: dict[int, list[str]] = {}
    places = sorted(
        (
            Place(system=row.system, rank=row.rank, rank_low=row.rank_low, rank_high=row.rank_high)
            for row in table.rows
            if row.rank is not None
        ),
        key=lambda place: place.rank,
    )
    for place in places:
        order.setdefault(place.rank, []).append(place.system)
    return Ranking(
        source=table.source,
        group=table.group,
        criterion=table.criterion,
        order=tuple(tuple(systems) for systems in order.values()),
        unranked=tuple(Unranked(system=row.system, reason=row.reason) for row in table.rows if row.rank is None),
        places=tuple(places),
        rank_interval=table.fit.rank_method,
    )
