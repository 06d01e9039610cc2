"""Pairs of systems that two rankings order differently, and whether that difference is supported."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

from analysis.answers.plan import Plan
from analysis.comparisons.disagreements import Finding
from analysis.statistics.corrections import reaches
from analysis.statistics.rank_orders import Ranking, ranks
from analysis.statistics.record import Probability, Record
from analysis.strengths.fit import DENSE
from analysis.strengths.strength_table import StrengthTable

Side = Literal["x", "y", "tie"]
Evidence = Literal["test of the pair", "difference of strengths", "live decision"]
APART = "ratings_bt"  # a second reading of the same answers


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class RankingDifference(Record):
    """Two systems that rankings ``a`` and ``b`` order differently.

    Only where both orders are clear and opposite do the rankings differ beyond chance.
    """

    a: str
    """Source:group."""
    b: str
    criterion: str
    system_x: str
    system_y: str
    order_a: Side
    """The system that a ranks first."""
    order_b: Side
    evidence_a: Evidence | None
    """What a's order is supported by; in a live study its decision, which has no p."""
    evidence_b: Evidence | None
    p_adjusted_a: Probability | None
    p_adjusted_b: Probability | None
    clear_a: bool
    """A's evidence supports a's order."""
    clear_b: bool
    support: Literal["both", "one", "none"]
    """Both: two clear and opposite orders."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Evidence:
    winner: str | None
    p_adjusted: float | None
    made_by: Evidence | None


NO_EVIDENCE = _Evidence(winner=None, p_adjusted=None, made_by=None)


def find_ranking_differences(
    rankings: Sequence[Ranking],
    findings: Sequence[Finding],
    tables: Sequence[StrengthTable],
    people: Collection[str],
    plan: Plan,
) -> list[RankingDifference]:
    """List every pair of systems that two rankings of a criterion order differently; above 300, those with a test.

    Parameters
    ----------
    rankings : sequence of Ranking
        Those of ratings taken as comparisons are left out: they read the same answers a second time.
    findings : sequence of Finding
        Corrected tests of pairs. A pair with exactly one test in a source, group and criterion is
        judged by it; one with several (exposures) or none by its difference of strengths.
    tables : sequence of StrengthTable
        Fits, with adjusted p-values of all differences of strengths.
    people : collection of str
        Groups of people: rankings are compared with theirs, and within a group; all with all where
        there are no people.
    plan : Plan
        Error rate at which an order is clear.

    Returns
    -------
    list of RankingDifference
        ``support`` "both" is an intersection-union test: it needs no assumption on how the two
        rankings depend on each other.

    References
    ----------
    Berger, R. L. (1982). Multiparameter hypothesis testing and acceptance sampling. Technometrics, 24(4), 295-300.
    """
    known = _Book(findings, tables, plan)
    rows = []
    for one, two in combinations([each for each in rankings if each.source != APART], 2):
        if one.criterion != two.criterion:
            continue
        if people and one.group != two.group and not {one.group, two.group} & set(people):
            continue
        for x, y, first, second in _turned(one, two, known):
            evidence = [known.of(ranking, x, y) for ranking in (one, two)]
            clear = [
                own.winner is not None and own.winner == {"x": x, "y": y}.get(side)
                for own, side in zip(evidence, (first, second), strict=True)
            ]
            rows.append(
                RankingDifference(
                    a=f"{one.source}:{one.group}",
                    b=f"{two.source}:{two.group}",
                    criterion=one.criterion,
                    system_x=x,
                    system_y=y,
                    order_a=first,
                    order_b=second,
                    evidence_a=evidence[0].made_by,
                    evidence_b=evidence[1].made_by,
                    p_adjusted_a=evidence[0].p_adjusted,
                    p_adjusted_b=evidence[1].p_adjusted,
                    clear_a=clear[0],
                    clear_b=clear[1],
                    support="both" if all(clear) else "one" if any(clear) else "none",
                )
            )
    return rows


def _turned(one: Ranking, two: Ranking, known: _Book) -> Iterator[tuple[str, str, Side, Side]]:
    """Yield the pairs that two rankings order differently, with the side that each places first; of many the tested."""
    ranks_one, ranks_two = ranks(one.order), ranks(two.order)
    common = [system for system in ranks_one if system in ranks_two]
    tested = None if len(common) <= DENSE else known.tested(one) | known.tested(two)
    for x, y in combinations(common, 2):
        if tested is not None and frozenset((x, y)) not in tested:
            continue
        first, second = _side(ranks_one, x, y), _side(ranks_two, x, y)
        if first != second:
            yield x, y, first, second


def _side(places: Mapping[str, int], x: str, y: str) -> Side:
    return "tie" if places[x] == places[y] else "x" if places[x] < places[y] else "y"


class _Book:
    """What each source, group and criterion says of each pair."""

    def __init__(self, findings: Sequence[Finding], tables: Sequence[StrengthTable], plan: Plan) -> None:
        self._plan = plan
        self._tables = {(str(table.source), table.group, table.criterion): table for table in tables}
        self._findings: dict[tuple[str, str, str, frozenset[str]], list[Finding]] = {}
        for row in findings:
            key = (row.source, row.group, row.criterion, frozenset((row.system_x, row.system_y)))
            self._findings.setdefault(key, []).append(row)

    def tested(self, ranking: Ranking) -> set[frozenset[str]]:
        """Return the pairs that have a test of their own in the answers of a ranking."""
        key = (ranking.source, ranking.group, ranking.criterion)
        return {pair for *own, pair in self._findings if tuple(own) == key}

    def of(self, ranking: Ranking, x: str, y: str) -> _Evidence:
        """Return the one test of the pair, else the difference of strengths."""
        own = self._findings.get((ranking.source, ranking.group, ranking.criterion, frozenset((x, y))), [])
        if len(own) == 1 and own[0].p_adjusted is not None:
            row = own[0]
            winner = {"x": row.system_x, "y": row.system_y}.get(str(row.verdict))
            return _Evidence(winner=winner, p_adjusted=row.p_adjusted, made_by="test of the pair")
        table = self._tables.get((ranking.source, ranking.group, ranking.criterion))
        p_adjusted = None if table is None else table.p_difference(x, y)
        if table is None or p_adjusted is None:
            return NO_EVIDENCE
        better = x if table.stronger(x, y) else y
        winner = better if reaches(p_adjusted, self._plan.fwer) else None
        return _Evidence(winner=winner, p_adjusted=p_adjusted, made_by="difference of strengths")
