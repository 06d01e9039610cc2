"""What the tests found, looked up in one way for all three kinds of answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from operator import attrgetter
from typing import Any, Protocol, TypeVar

from analysis.answers.live_rows import LiveStudy, LiveVerdict
from analysis.records.results import Results
from analysis.statistics.corrections import Verdict
from analysis.statistics.reasons import Reason
from analysis.statistics.record import Source

SHARES = {"preferences": "mean", "choices": "win_rate"}  # key of the share of each source that has one
SOURCES: tuple[Source, ...] = ("preferences", "choices", "ratings")  # the headline takes the first with answers
KIND_ORDER = {"human": 0, "simulated": 1, "llm": 3}
OVERALL = "overall"
MOST_CLAIMS = 3  # criteria worded one by one; of more, how many systems lead on how many
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


class PairTest(Protocol):
    """A test of two systems, whatever was asked."""

    @property
    def group(self) -> str:
        """Who answered."""

    @property
    def criterion(self) -> str:
        """What was asked about."""

    @property
    def system_x(self) -> str:
        """System named first."""

    @property
    def system_y(self) -> str:
        """System named second."""

    @property
    def n(self) -> int:
        """Units."""

    @property
    def ci_low(self) -> float | None:
        """Lower end of the interval."""

    @property
    def ci_high(self) -> float | None:
        """Upper end of the interval."""

    @property
    def t(self) -> float | None:
        """T statistic."""

    @property
    def df(self) -> float | None:
        """Degrees of freedom."""

    @property
    def p_value(self) -> float | None:
        """p-value."""

    @property
    def p_adjusted(self) -> float | None:
        """Adjusted within the family."""

    @property
    def n_tests(self) -> int | None:
        """Size of the family."""

    @property
    def verdict(self) -> Verdict | None:
        """System found better."""

    @property
    def decision(self) -> LiveVerdict | None:
        """Of a live study."""

    @property
    def p_equivalence(self) -> float | None:
        """Larger p of the two one-sided tests."""

    @property
    def p_equivalence_adjusted(self) -> float | None:
        """Adjusted in a family of its own."""

    @property
    def equivalent(self) -> bool | None:
        """Whether it lies within the margin."""

    @property
    def highly_skewed(self) -> bool:
        """Whether the level is in doubt."""

    @property
    def reason(self) -> Reason | None:
        """Why a number is missing."""

    @property
    def p_unanimous(self) -> float | None:
        """Bound where all units are alike."""

    @property
    def all_alike(self) -> int | None:
        """Units whose averages are the same."""

    @property
    def effect(self) -> float:
        """Distance from no difference; positive speaks for x."""

    @property
    def estimate(self) -> float | None:
        """Share of x, or the difference x minus y."""

    @property
    def n_answers(self) -> int | None:
        """Answers about the two systems."""

    @property
    def n_used(self) -> int | None:
        """Those that the test rests on."""

    @property
    def most_of_one(self) -> int | None:
        """Those used that one annotator gave, who gave most."""

    @property
    def pooled_estimate(self) -> float | None:
        """Estimate where every answer weighs the same."""

    @property
    def others_estimate(self) -> float | None:
        """Estimate without the annotator who gave most."""

    @property
    def one_gave_most(self) -> bool:
        """Whether one annotator gave most answers."""

    @property
    def weights_reverse(self) -> bool:
        """Whether answers weighed alike say the opposite."""

    @property
    def crossed_verdict(self) -> Verdict | None:
        """Verdict over annotators and items at once."""

    @property
    def p_crossed_adjusted(self) -> float | None:
        """Adjusted p of that test."""

    @property
    def p_crossed(self) -> float | None:
        """P over annotators and items at once."""

    @property
    def disagree(self) -> bool | None:
        """Whether that verdict differs from the test's."""


def tests_by_source(results: Results) -> Mapping[str, Sequence[PairTest]]:
    """Return the tests of pairs of preferences, ratings and choices."""
    return {"preferences": results.preferences, "ratings": results.ratings.pairs, "choices": results.choices.pairs}


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
        return self.test.estimate

    @property
    def exposure(self) -> int | None:
        """Return how many outputs of each system were read, where preferences were asked."""
        return getattr(self.test, "exposure", None)

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


def won_all(row: Any) -> bool:
    """Tell whether a system has no strength because it won every comparison."""
    return row.reason is not None and row.reason.code == "won_all"


def confidence_words(results: Results) -> str:
    """Return "95%"."""
    return f"{100 * results.settings.confidence:g}%"


def main_source(results: Results) -> Source | None:
    """Return the source that the headline speaks of: what decides a live study; SPA, else choices, else ratings.

    Choices that only orders or utilities imply come last.
    """
    tests = tests_by_source(results)
    live: LiveStudy | None = results.live
    if live is not None and tests[live.answers]:
        return live.answers
    implied = {(row.group, row.criterion) for row in (*results.orders, *results.utility_lists)}
    asked = [test for test in tests["choices"] if (test.group, test.criterion) not in implied]
    sources = SOURCES if asked else sorted(SOURCES, key=lambda source: source == "choices")
    return next((source for source in sources if tests[source]), None)


def main_group(results: Results, source: Source) -> str:
    """Return the group that the headline speaks of: people before simulated annotators before LLMs.

    Of several of a kind it is the one that gave most answers about pairs, of as many the first by name.
    """
    kinds = {entry.group: entry.annotator_kind for entry in results.groups}
    given: Counter[str] = Counter()
    for test in tests_by_source(results)[source]:
        given[test.group] += test.n if test.n_answers is None else test.n_answers
    return min(given, key=lambda group: (KIND_ORDER.get(kinds.get(group) or group, 2), -given[group], group))


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


def left_out_of_metrics(results: Results) -> dict[str, tuple[str, ...]]:
    """Return by metric the systems that its correlations leave out."""
    beside = results.metrics.beside_people if results.metrics is not None else ()
    found = {row.metric: row.without for row in beside if row.without}
    return found | {row.a.partition(":")[2]: row.without for row in results.correlations if row.without}
