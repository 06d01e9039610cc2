"""What the tests of one criterion allow to be said of the first of its ranking, as enumerated cases.

Evidence is looked up in the rows, a claim follows from it, and words are made of the claim elsewhere
(:mod:`analysis.results.claim_words`): no sentence steers another.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from analysis.answers.live_rows import LivePairRow
from analysis.comparisons.choices import ChoiceTest
from analysis.comparisons.ratings import RatingTest
from analysis.printing.lookup import PairResult, rank_of, won_all
from analysis.records.results import Results
from analysis.results.headline_rows import Crossed, Direction, HeadlineClaim, Strength
from analysis.results.live import live_row
from analysis.statistics.graphs import connected_parts
from analysis.statistics.reasons import commonest
from analysis.statistics.record import Source
from analysis.strengths.fit import DENSE

Side = Literal["leader", "other", "nobody"]
NAMED: tuple[Strength, ...] = ("clear", "these_only", "skewed", "unanimous")  # where the first line names a winner
FIRST: tuple[Strength, ...] = (*NAMED, "not_clear")  # where it says who is first


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What may be said of the first place on one criterion rests on this."""

    source: Source
    group: str
    criterion: str
    first: tuple[str, ...] = ()
    """Who is ranked first, several where they are tied; nobody where there is no ranking."""
    leader: str | None = None
    against: PairResult | None = None
    """The test of the leader against the best placed of its opponents, or against one that it lost to."""
    decided: LivePairRow | None = None
    """What a live study decided on that pair."""
    two: bool = False
    """Whether no more than two systems were compared."""
    circle: tuple[str, ...] = ()
    passed_over: tuple[str, ...] = ()
    unbeaten: tuple[str, ...] = ()
    fwer: float = 0.05
    tested: tuple[PairResult, ...] = ()
    latest: tuple[PairResult, ...] = ()
    """The rows with a finding, one a pair: that of the largest exposure."""
    of_many: tuple[str, ...] = ()
    """Many systems, not all of whose pairs have a row: their strengths say whether they hang together."""

    @property
    def parts(self) -> tuple[tuple[str, ...], ...]:
        """Return the systems in parts that were never compared with each other; ratings put all on one scale."""
        if self.of_many:
            return (self.of_many,)
        rows = [row for row in self.tested if row.test.n]
        systems = list(dict.fromkeys(one for row in rows for one in (row.x, row.y)))
        if self.source == "ratings" or not systems:
            return (tuple(systems),)
        place = {system: number for number, system in enumerate(systems)}
        linked = np.zeros((len(systems), len(systems)), dtype=bool)
        for row in rows:
            linked[place[row.x], place[row.y]] = True
        number = connected_parts(linked)
        return tuple(tuple(systems[at] for at in np.flatnonzero(number == part)) for part in range(number.max() + 1))

    @property
    def other(self) -> str | None:
        """Return whom the leader was tested against."""
        if self.against is None or self.leader is None:
            return None
        return self.against.y if self.against.x == self.leader else self.against.x

    @property
    def side(self) -> Side:
        """Return whom the test, or the decision, finds better."""
        found = None if self.against is None else better(self.against, self.decided, self.fwer)
        return "nobody" if found is None else "leader" if found == self.leader else "other"

    @property
    def ahead(self) -> str | None:
        """Return who is ahead in the answers that were tested, found better or not."""
        return None if self.against is None else self.against.ahead

    @property
    def crossed(self) -> Crossed | None:
        """Return what the test over annotators and items says beside the test; ``None`` where one is missing."""
        return None if self.against is None or self.decided is not None else crossed_beside(self.against)


def crossed_beside(row: PairResult) -> Crossed | None:
    """Compare the crossed test of a row with its test; the two agree only where both name the same winner."""
    test = row.test
    if test.verdict is None or test.crossed_verdict is None:
        return None
    match test.verdict, test.crossed_verdict:
        case ("x", "x") | ("y", "y"):
            return "agrees"
        case ("x", "y") | ("y", "x"):
            return "opposite"
        case ("indifferent", "indifferent"):
            return "open"
        case ("indifferent", _):
            return "alone"
    return "not_shown"


def better(row: PairResult, decided: LivePairRow | None, fwer: float) -> str | None:
    """Return who is clearly better: by the decision of a live study, else by the test, else as all answers agree."""
    if decided is not None:
        return {"x": decided.system_x, "y": decided.system_y}.get(decided.decision or "")
    if row.p_unanimous is not None and row.test.p_value is None:
        return row.ahead if row.p_unanimous <= fwer else None
    return row.winner


def evidence_of(results: Results, tested: Sequence[PairResult], source: Source, group: str, criterion: str) -> Evidence:
    """Look up what the rows of one source, group and criterion say of the first place."""
    fwer = results.settings.fwer
    rankings = [row for row in results.rankings if (row.source, row.group, row.criterion) == (source, group, criterion)]
    order = next((row.order for row in rankings if row.order), ())
    key = (source, group, criterion)
    strengths = [one for one in results.bradley_terry if (one.source, one.group, one.criterion) == key]
    unbeaten = tuple(one.system for one in strengths if won_all(one) and _swept(tested, one.system))
    decisions = {id(row): live_row(results, source, row.test) for row in tested}
    usable = _latest([row for row in tested if _usable(row, decisions[id(row)])])
    of_many = tuple(row.system for row in strengths) if len(strengths) > DENSE else ()
    two = not of_many and len({frozenset((row.x, row.y)) for row in tested if row.test.n}) <= 1
    ranks = rank_of(order)
    leader, first = _leader(order, unbeaten, usable, decisions, two, fwer)

    def place(row: PairResult) -> tuple[bool, int]:
        other = row.y if row.x == leader else row.x
        return better(row, decisions[id(row)], fwer) in (None, leader), ranks.get(other, len(ranks) + 1)

    own = [row for row in usable if leader in (row.x, row.y) or (two and leader is None)]
    against = min(own, key=place, default=None)
    beats: dict[str, list[str]] = {}
    for row in usable:
        winner = better(row, decisions[id(row)], fwer)
        if winner is not None:
            beats.setdefault(winner, []).append(row.y if row.x == winner else row.x)
    found = Evidence(
        source=source,
        group=group,
        criterion=criterion,
        first=first,
        leader=leader,
        against=against,
        decided=None if against is None else decisions[id(against)],
        two=two,
        unbeaten=unbeaten,
        fwer=fwer,
        tested=tuple(tested),
        latest=tuple(usable),
        of_many=of_many,
    )
    if found.side == "other" and leader is not None and found.other is not None:
        return replace(found, circle=path(beats, leader, found.other))
    met = {one for row in tested for one in (row.x, row.y) if leader in (row.x, row.y)}
    before = ranks.get(found.other or "", 0)
    passed = tuple(one for one, rank in ranks.items() if rank < before and one not in met)
    return replace(found, passed_over=passed)


def _usable(row: PairResult, decided: LivePairRow | None) -> bool:
    known = row.test.verdict is not None or row.p_unanimous is not None
    return known or decided is not None


def _has_verdict(row: PairResult) -> bool:
    """Tell whether a test was run, or a live study looks for a decision."""
    return row.test.verdict is not None or row.test.decision not in (None, "not_deciding")


def _latest(rows: Iterable[PairResult]) -> list[PairResult]:
    """Keep one row a pair: of several exposures the largest."""
    found: dict[frozenset[str], PairResult] = {}
    for row in sorted(rows, key=lambda row: row.exposure or 0):
        found[frozenset((row.x, row.y))] = row
    return [*found.values()]


def _swept(tested: Sequence[PairResult], system: str) -> bool:
    """Tell whether every answer about a system was in its favour."""
    own = [row for row in tested if system in (row.x, row.y) and row.test.n]
    return all(
        row.ahead == system and row.value in (0.0, 1.0) and not (isinstance(row.test, ChoiceTest) and row.test.ties)
        for row in own
    )


def _leader(
    order: Sequence[Sequence[str]],
    unbeaten: Sequence[str],
    usable: Sequence[PairResult],
    decisions: Mapping[int, LivePairRow | None],
    two: bool,
    fwer: float,
) -> tuple[str | None, tuple[str, ...]]:
    """Return who leads, if one alone does, and who is ranked first."""
    first = tuple(order[0]) if order else ()
    if two and usable:  # two systems need no ranking; what is clear decides, else both must name the same
        row = usable[0]
        found = better(row, decisions[id(row)], fwer) or (row.ahead if first in ((), (row.ahead,)) else None)
        return found, first
    if len(unbeaten) == 1 and any(unbeaten[0] in (row.x, row.y) for row in usable):
        return unbeaten[0], (unbeaten[0],)
    return (first[0] if len(first) == 1 else None), first


def path(beats: Mapping[str, Sequence[str]], start: str, end: str) -> tuple[str, ...]:
    """Return the fewest systems from one to another, each clearly better than the next; none where there is no way.

    Of several such ways, the first by the systems' names.

    >>> path({"a": ["b"], "b": ["c"], "c": ["a"]}, "a", "c")
    ('a', 'b', 'c')
    """
    ways: list[tuple[str, ...]] = [(start,)]
    seen = {start}
    while ways:
        longer: list[tuple[str, ...]] = []
        for way in ways:
            if way[-1] == end:
                return way
            for one in sorted(beats.get(way[-1], ())):
                if one not in seen:
                    seen.add(one)
                    longer.append((*way, one))
        ways = longer
    return ()


def strength_of(evidence: Evidence) -> Strength:
    """Return the case that the evidence is; see ``HeadlineClaim.strength``."""
    row = evidence.against
    if row is None or evidence.leader is None:
        any_run = any(_has_verdict(one) for one in evidence.tested)
        return "no_leader" if evidence.leader is None and any_run else "untested"
    if evidence.decided is None and row.test.decision is None and row.test.weights_reverse:
        return "weights_reverse"
    if evidence.decided is None and row.test.decision is None and _items_decide(row) and evidence.side != "nobody":
        return "items_decide"
    match evidence.side, evidence.crossed:
        case "other", _:
            return "circle" if evidence.circle else "contradicted"
        case "nobody", _:
            return "not_clear"
        case "leader", "opposite":
            return "tests_opposed"
        case "leader", "not_shown":
            return "these_only"
    test = row.test
    if evidence.decided is not None or test.decision is not None:
        return "clear"
    if test.p_value is None:
        return "unanimous"
    if isinstance(test, RatingTest) and test.level_problem:
        return "these_only"
    if getattr(test, "unit", "annotator") == "item" and evidence.crossed is None:
        return "these_only"
    if test.highly_skewed:
        return "skewed"
    return "these_only" if rests_on_own_items(row) else "clear"


def rests_on_own_items(row: PairResult | None) -> bool:
    """Tell whether a test speaks of the systems only if the items that each alone has are equally hard."""
    return row is not None and isinstance(row.test, RatingTest) and row.test.own_items and row.test.decision is None


def _items_decide(row: PairResult) -> bool:
    return isinstance(row.test, RatingTest) and row.test.items_decide


def claim_of(evidence: Evidence, direction: Direction | None) -> HeadlineClaim:
    """Return the claim that the evidence allows."""
    row, strength = evidence.against, strength_of(evidence)
    tested = None if row is None or evidence.decided is not None else row.test
    run = any(_has_verdict(one) for one in evidence.tested)
    alike = tested is not None and tested.p_value is None and tested.decision is None
    return HeadlineClaim(
        criterion=evidence.criterion,
        direction=direction,
        leader=evidence.leader,
        runner_up=evidence.other,
        strength=strength,
        p_adjusted=None if tested is None else tested.p_adjusted,
        p_crossed_adjusted=None if tested is None else tested.p_crossed_adjusted,
        unbeaten=evidence.unbeaten,
        reason=None if run else commonest(one.test.reason for one in evidence.tested),
        exposure=None if row is None or evidence.leader is None else row.exposure,
        winner=evidence.leader if strength in NAMED else None,
        crossed=evidence.crossed,
        p_unanimous=row.p_unanimous if row is not None and alike else None,
        circle=evidence.circle if strength == "circle" else (),
        passed_over=evidence.passed_over,
    )
