"""What the tests found, looked up in one way for all three kinds of answers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from operator import attrgetter
from typing import TypeVar

from analysis.comparisons.choices import ChoiceTest
from analysis.comparisons.preferences import PreferenceTest
from analysis.results.records import PairTest, Results
from analysis.results.small_designs import tests_by_source
from analysis.statistics.record import Source
from analysis.strengths.rows import SystemStrength

SHARES = {"preferences": "mean", "choices": "win_rate"}  # key of the share of each source that has one
SOURCES: tuple[Source, ...] = ("preferences", "choices", "ratings")  # the headline takes the first with answers
KIND_ORDER = {"human": 0, "simulated": 1, "llm": 3}
OVERALL = "overall"
MOST_OPEN = 2
MOST_DRAWN = 24
Row = TypeVar("Row")
Key = TypeVar("Key", bound=Hashable)


def grouped(rows: Iterable[Row], key: Callable[[Row], Key]) -> dict[Key, list[Row]]:
    """Return the rows of each key, as they first appear.

    >>> grouped(["a", "b", "ab"], len)
    {1: ['a', 'b'], 2: ['ab']}
    """
    found: dict[Key, list[Row]] = {}
    for row in rows:
        found.setdefault(key(row), []).append(row)
    return found


def by_criterion(
    rows: Iterable[Row], criterion_of: Callable[[Row], str] = attrgetter("criterion")
) -> dict[str, list[Row]]:
    """Return the rows of each criterion, overall first and else as they first appear."""
    found = grouped(rows, criterion_of)
    return {OVERALL: found.pop(OVERALL), **found} if OVERALL in found else found


def drawn(criteria: Iterable[str]) -> frozenset[str]:
    """Return the criteria of which figures are drawn: the first ones, since nobody looks at a thousand figures."""
    return frozenset(islice(criteria, MOST_DRAWN))


def figures_words(criteria: Collection[str]) -> str:
    """Return "Figures are drawn of the first 24 of 2,000 criteria; the tables have all."; nothing where all are.

    >>> figures_words(["fluency"])
    ''
    """
    if len(criteria) <= MOST_DRAWN:
        return ""
    return f"Figures are drawn of the first {MOST_DRAWN} of {len(criteria):,} criteria; the tables have all."


def opened(criteria: Sequence[str]) -> frozenset[str]:
    """Return the criteria that stand open in a section of comparisons: overall, or up to two, else the first.

    >>> sorted(opened(["fluency", "overall"])), sorted(opened(["fluency", "style", "wit"]))
    (['overall'], ['fluency'])
    """
    if OVERALL in criteria:
        return frozenset({OVERALL})
    return frozenset(criteria if len(criteria) <= MOST_OPEN else criteria[:1])


@dataclass(frozen=True, slots=True, kw_only=True)
class PairResult:
    """One tested pair of one source, group and criterion."""

    source: Source
    test: PairTest
    confidence: str  # "95%"
    lower_is_better: bool = False  # of ratings

    @property
    def x(self) -> str:
        """Return the system named first."""
        return self.test.system_x

    @property
    def y(self) -> str:
        """Return the system named second."""
        return self.test.system_y

    @property
    def value(self) -> float | None:
        """Return the share of x (preferences, choices), or the difference x minus y (ratings)."""
        if isinstance(self.test, PreferenceTest):
            return self.test.mean
        return self.test.win_rate if isinstance(self.test, ChoiceTest) else self.test.mean_difference

    @property
    def exposure(self) -> int | None:
        """Return how many outputs of each system were read, where preferences were asked."""
        return self.test.exposure if isinstance(self.test, PreferenceTest) else None

    @property
    def ahead(self) -> str | None:
        """Return the system that the answers favour, found better or not; ``None`` where they favour none."""
        value = self.value
        if value is None:
            return None
        lead = (-value if self.lower_is_better else value) if self.source == "ratings" else value - 0.5
        return None if lead == 0 else self.x if lead > 0 else self.y

    @property
    def p_unanimous(self) -> float | None:
        """Return the bound on the chance of values that are all the same, where no test can be run."""
        return self.test.p_unanimous

    @property
    def winner(self) -> str | None:
        """Return the system found better."""
        return {"x": self.x, "y": self.y}.get(self.test.verdict or "")

    @property
    def loser(self) -> str | None:
        """Return the system found worse."""
        return {"x": self.y, "y": self.x}.get(self.test.verdict or "")


def pair_results(results: Results, source: Source) -> list[PairResult]:
    """Return all tests of pairs of one source ("preferences", "ratings" or "choices")."""
    confidence, lower = confidence_words(results), lower_criteria(results) if source == "ratings" else frozenset()
    return [
        PairResult(source=source, test=test, confidence=confidence, lower_is_better=test.criterion in lower)
        for test in tests_by_source(results)[source]
    ]


def lower_criteria(results: Results) -> frozenset[str]:
    """Return the criteria on which low ratings are good."""
    declared = [one.id for one in results.study.criteria if one.lower_is_better] if results.study else []
    return frozenset((*declared, *results.settings.lower_is_better))


def won_all(row: SystemStrength) -> bool:
    """Tell whether a system has no strength because it won every comparison."""
    return row.reason is not None and row.reason.code == "won_all"


def confidence_words(results: Results) -> str:
    """Return "95%"."""
    return f"{100 * results.settings.confidence:g}%"


def main_source(results: Results) -> Source | None:
    """Return the source that the headline speaks of: what decides a live study; SPA, else choices, else ratings.

    Choices that only orders imply come last.
    """
    tests = tests_by_source(results)
    if results.live is not None and tests[results.live.answers]:
        return results.live.answers
    implied = {(row.group, row.criterion) for row in results.orders}
    asked = [test for test in tests["choices"] if (test.group, test.criterion) not in implied]
    sources = SOURCES if asked else sorted(SOURCES, key=lambda source: source == "choices")
    return next((source for source in sources if tests[source]), None)


def main_group(results: Results, source: Source) -> str:
    """Return the group that the headline speaks of: people before simulated annotators before LLMs."""
    kinds = {entry.group: entry.annotator_kind for entry in results.groups}
    groups = dict.fromkeys(test.group for test in tests_by_source(results)[source])
    return min(groups, key=lambda group: KIND_ORDER.get(kinds.get(group) or group, 2))


def first_criteria(results: Results, source: Source) -> tuple[str, ...]:
    """Return what decides a live study; "overall" alone where it was asked, else every criterion."""
    criteria = tuple(dict.fromkeys(test.criterion for test in tests_by_source(results)[source]))
    if results.live is not None and results.live.answers == source:
        return tuple(criterion for criterion in criteria if criterion in results.live.criteria)
    return (OVERALL,) if OVERALL in criteria else criteria


def rank_of(order: Sequence[Sequence[str]]) -> dict[str, int]:
    """Return the place of each system; tied systems share the better place.

    >>> rank_of([["a"], ["b", "c"], ["d"]])
    {'a': 1, 'b': 2, 'c': 2, 'd': 4}
    """
    ranks: dict[str, int] = {}
    for tied in order:
        place = len(ranks) + 1
        ranks.update(dict.fromkeys(tied, place))
    return ranks


def leader(
    results: Results, source: Source, group: str, criterion: str, tested: Iterable[PairResult]
) -> tuple[str | None, PairResult | None]:
    """Return the first of a ranking and its test against the best placed of its opponents.

    Of several exposures, the largest counts.

    Both are None where there is no ranking or the first place is shared.
    """
    orders = [
        entry.order
        for entry in results.rankings
        if (entry.source, entry.group, entry.criterion) == (source, group, criterion) and entry.order
    ]
    if not orders or len(orders[0][0]) != 1:
        return None, None
    best = orders[0][0][0]
    ranks = rank_of(orders[0])
    own = [found for found in tested if best in (found.x, found.y) and found.test.verdict is not None]

    def nearest(found: PairResult) -> tuple[int, int]:
        other = found.y if found.x == best else found.x
        return ranks.get(other, len(ranks) + 1), -(found.exposure or 0)

    return best, min(own, key=nearest, default=None)


def pair_findings(
    results: Results, source: Source, group: str, criteria: Sequence[str]
) -> dict[tuple[str, frozenset[str]], set[str]]:
    """Return what was found on each pair: names of preferred systems, "" for no clear preference."""
    found: dict[tuple[str, frozenset[str]], set[str]] = {}
    for test in tests_by_source(results)[source]:
        if test.group == group and test.criterion in criteria and test.verdict is not None:
            winner = {"x": test.system_x, "y": test.system_y}.get(test.verdict, "")
            found.setdefault((test.criterion, frozenset((test.system_x, test.system_y))), set()).add(winner)
    return found


def agreement_with(
    base: Mapping[tuple[str, frozenset[str]], set[str]], other: Mapping[tuple[str, frozenset[str]], set[str]]
) -> tuple[int, list[tuple[str, frozenset[str]]], int]:
    """Return of the pairs that both judged how many have the same finding, which have opposite ones, and how many."""
    shared = [key for key in base if key in other]
    same = sum(base[key] == other[key] for key in shared)
    opposite = [key for key in shared if len({name for name in base[key] | other[key] if name}) == 2]
    return same, opposite, len(shared)
