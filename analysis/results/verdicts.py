"""The verdict of a pair of systems: the decision of a live study, else that of the test.

A live study ends by its answers, so that no test of a fixed number of annotators holds in it: neither of the answers
that decide, nor of others by the same people, which correlate with those that ended it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, TypeVar, get_args

from analysis.answers.live_rows import LivePairRow, LiveStudy, LiveSystemRow, LiveVerdict, turned_live
from analysis.answers.plan import Expectation
from analysis.comparisons.disagreements import Finding, compare_with_expected, find_disagreements
from analysis.comparisons.preferences import PreferenceTest
from analysis.comparisons.ratings import RatingTest
from analysis.printing.lookup import PairTest, lower_criteria, tests_by_source
from analysis.ranking.differences import RankingDifference
from analysis.records.results import Results
from analysis.statistics.corrections import Verdict
from analysis.statistics.reasons import Reason, parts_of, several, why
from analysis.statistics.record import Record, Source, names_of, replace_fields

VERDICTS: Final[Mapping[LiveVerdict, Verdict]] = {"x": "x", "y": "y", "equal": "indifferent"}
NO_VERDICT: Final[Mapping[LiveVerdict, Reason]] = {
    "futile": why("live_futile"),
    "open": why("live_open"),
    "not_deciding": why("live_not_deciding"),
}
SHARE_OF: Final[Mapping[Source, str]] = {"preferences": "mean", "choices": "win_rate"}
# what tests find, where rows hold it beside numbers that are no test
FOUND = frozenset(
    {"t", "df", "place_p", "verdict", "crossed_verdict", "disagree", "equivalent", "all_alike", "level_problem"}
)
FALSE = frozenset({"highly_skewed"})
ROW = TypeVar("ROW", bound=Record)


class Decisions:
    """What a live study decided on each pair."""

    def __init__(self, live: LiveStudy) -> None:
        self._live = live
        self._pairs = {
            (row.group, row.criterion, row.exposure, frozenset((row.system_x, row.system_y))): row for row in live.pairs
        }
        self._systems = {(row.group, row.system): row for row in live.systems}

    def row(self, source: Source, test: PairTest) -> LivePairRow | None:
        """Return what was decided on the pair of a test, in the direction of the test; ``None`` if nothing can be."""
        if self._live.answers != source:
            return None
        exposure = test.exposure if isinstance(test, PreferenceTest) else None
        found = self._pairs.get((test.group, test.criterion, exposure, frozenset((test.system_x, test.system_y))))
        return found if found is None or found.system_x == test.system_x else turned_live(found)

    def of(self, source: Source, test: PairTest) -> LiveVerdict:
        """Return the decision on the pair of a test."""
        if self._live.systems and self._live.answers == source and test.criterion in self._live.criteria:
            x, y = (self._systems.get((test.group, system)) for system in (test.system_x, test.system_y))
            return "not_deciding" if x is None or y is None else _by_bounds(x, y)
        row = self.row(source, test)
        return "not_deciding" if row is None else row.decision or "open"


def _by_bounds(x: LiveSystemRow, y: LiveSystemRow) -> LiveVerdict:
    """Return the better of two ranked systems, whose bounds hold together; where they overlap nothing is decided."""
    return "x" if x.low > y.high else "y" if y.low > x.high else "not_deciding"


def verdict_of(test: PairTest) -> Verdict | None:
    """Return the verdict on a pair: of a live study its decision, ``None`` where it has none; else the test's."""
    return test.verdict if test.decision is None else VERDICTS.get(test.decision)


def with_decisions(results: Results) -> Results:
    """Return results whose pairs hold what a live study decided, and all that is made of verdicts follows from that."""
    if results.live is None:
        return results
    known = Decisions(results.live)

    def decided(source: Source, rows: Iterable[Any]) -> tuple[Any, ...]:
        return tuple(_with_decision(row, known.of(source, row)) for row in rows)

    found = replace(
        results,
        preferences=decided("preferences", results.preferences),
        ratings=replace(results.ratings, pairs=decided("ratings", results.ratings.pairs)),
        choices=replace(results.choices, pairs=decided("choices", results.choices.pairs)),
    )
    findings = [_finding(source, row) for source in get_args(Source) for row in tests_by_source(found)[source]]
    expected = dict.fromkeys((row.system_x, row.system_y, row.expected) for row in results.expected)
    expectations = [Expectation(system_x=x, system_y=y, expected=verdict) for x, y, verdict in expected]
    return replace(
        found,
        expected=tuple(compare_with_expected(findings, expectations)),
        disagreements=tuple(find_disagreements(findings)),
        ranking_differences=tuple(_differences(results.ranking_differences, findings)),
    )


def _with_decision(row: Any, decision: LiveVerdict) -> Any:
    """Return a row with its decision, which its verdict follows; without a p-value it has none, as in any study."""
    changes: dict[str, Any] = {"decision": decision}
    if row.p_value is not None:
        own = [] if row.reason is None else [one for one in parts_of(row.reason) if one not in NO_VERDICT.values()]
        changes |= {"verdict": VERDICTS.get(decision), "reason": several([*own, NO_VERDICT.get(decision)])}
    return replace_fields(row, **changes)


def _finding(source: Source, row: PairTest) -> Finding:
    return Finding(
        source=source,
        group=row.group,
        criterion=row.criterion,
        exposure=row.exposure if isinstance(row, PreferenceTest) else None,
        system_x=row.system_x,
        system_y=row.system_y,
        verdict=verdict_of(row),
        p_adjusted=None,
        reason=NO_VERDICT.get(row.decision) if row.decision else row.reason,
    )


def _differences(rows: Sequence[RankingDifference], findings: Sequence[Finding]) -> Iterable[RankingDifference]:
    """Return the pairs that rankings order differently, each order supported by decisions alone."""
    by_pair: dict[tuple[str, str, frozenset[str]], list[Finding]] = {}
    for one in findings:
        key = (f"{one.source}:{one.group}", one.criterion, frozenset((one.system_x, one.system_y)))
        by_pair.setdefault(key, []).append(one)
    for row in rows:
        pair = frozenset((row.system_x, row.system_y))
        clear, made_by = [], []
        for ranking, first in ((row.a, row.order_a), (row.b, row.order_b)):
            own = [
                found.towards(row.system_x, row.system_y) for found in by_pair.get((ranking, row.criterion, pair), ())
            ]
            verdicts = {one.verdict for one in own if one is not None}
            clear.append(verdicts == {first})
            made_by.append("live decision" if verdicts - {None} else None)
        yield replace_fields(
            row,
            evidence_a=made_by[0],
            evidence_b=made_by[1],
            p_adjusted_a=None,
            p_adjusted_b=None,
            clear_a=clear[0],
            clear_b=clear[1],
            support="both" if all(clear) else "one" if any(clear) else "none",
        )


def as_decided(results: Results) -> Results:
    """Return results as they are shown: those of a live study hold decisions, and no test of a fixed number.

    ``verdict`` of a pair is its decision, n, mean and interval are those that decided it; estimates that decided
    nothing have no interval. Other tests between systems are left out. Of a study of fixed size all is as it was.
    """
    live = results.live
    if live is None:
        return results
    found, known, lower = with_decisions(results), Decisions(live), lower_criteria(results)

    def shown(source: Source, rows: Iterable[Any]) -> tuple[Any, ...]:
        return tuple(_shown(row, source, known.row(source, row), live, row.criterion in lower) for row in rows)

    return replace(
        found,
        preferences=shown("preferences", found.preferences),
        preference_directions=tuple(
            replace_fields(row, ci_low=None, ci_high=None) for row in _untested(found.preference_directions)
        ),
        exposure_trend=(),
        first_exposure=(),
        consistency_sweep=(),
        coherence=_untested(found.coherence),
        ratings=replace(
            found.ratings,
            pairs=shown("ratings", found.ratings.pairs),
            means=_untested(found.ratings.means, intervals=True),
            robustness=(),
            respacing=(),
        ),
        choices=replace(found.choices, pairs=shown("choices", found.choices.pairs)),
        orders=_untested(found.orders),
        order_strengths=_untested(found.order_strengths, intervals=True),
        best_worst=_untested(found.best_worst, intervals=True),
        families=(),
        serial_context=(),
        serial_arms=(),
        third_systems=(),
        circles=(),
        circle_triples=(),
        people_by_tests=(),
        people_differ=(),
        own_preferences=(),
        camps=(),
        bradley_terry=_untested(found.bradley_terry, intervals=True),
        covariate_effects=_untested(found.covariate_effects, intervals=True),
        controlled_strengths=_untested(found.controlled_strengths, intervals=True),
        equal_length=_untested(found.equal_length, intervals=True),
        rankings=tuple(
            replace(row, places=_untested(row.places, intervals=True), rank_interval=None) for row in found.rankings
        ),
        correlations=_untested(found.correlations),
        correlations_by_system=_untested(found.correlations_by_system),
        correlations_of_averages=_untested(found.correlations_of_averages),
        comparisons_of_correlations=(),
        llm_vs_people=replace(found.llm_vs_people, prediction_powered=()),
        observed_power=None,
        headline=None,
    )


def _shown(row: Any, source: Source, decided: LivePairRow | None, live: LiveStudy, lower: bool) -> Any:
    changes: dict[str, Any] = _without_tests(row, intervals=True)
    changes |= {"verdict": verdict_of(row), "reason": NO_VERDICT.get(row.decision)}
    if decided is not None and decided.mean is not None:
        mean, low, high = decided.mean, decided.low, decided.high
        if isinstance(row, RatingTest):  # a lower rating is better: raw differences have the other sign
            width = (-1 if lower else 1) * (live.scale_width or 0.0)
            mean, low, high = ((2 * value - 1) * width for value in (mean, *((high, low) if lower else (low, high))))
        name = SHARE_OF.get(source, "mean_difference")
        changes |= {name: mean, "ci_low": low, "ci_high": high, "n": decided.n}
    return replace_fields(row, **changes)


def _untested(rows: Sequence[ROW], *, intervals: bool = False) -> tuple[ROW, ...]:
    return tuple(replace_fields(row, **_without_tests(row, intervals=intervals)) for row in rows)


def _without_tests(row: Record, *, intervals: bool) -> dict[str, Any]:
    """Return the fields of a row that a test of a fixed number fills, emptied."""
    names = names_of(type(row))
    ends = tuple(name for name in names if intervals and name.endswith(("_low", "_high")))
    gone = {name: None for name in names if name.startswith("p_") or name in FOUND or name in ends}
    emptied: dict[str, Any] = {name: False for name in names if name in FALSE}
    if "stars" in names:
        emptied["stars"] = ""
    if ends and "interval" in names:
        emptied["interval"] = None
    if row.explained and row.explained[0] in gone:
        emptied["reason"] = getattr(row, "reason", None) or NO_VERDICT["not_deciding"]
    return {**gone, **emptied}
