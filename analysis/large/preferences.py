"""A table of preferences in parts: read, its annotators looked through bucket by bucket, and analysed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from analysis.agreement.data import from_codes
from analysis.agreement.measures import Answered, measure_agreement
from analysis.agreement.rows import JUDGED, AgreementRow, about_pairs, agreement_row
from analysis.answers.exclusions import CONSISTENCY, Exclusion, excluded_counts
from analysis.answers.given_names import written_plan
from analysis.answers.groups import kinds_by_annotator
from analysis.answers.input import with_lower
from analysis.answers.options import Reading
from analysis.answers.pairs import with_pairs
from analysis.answers.plan import Plan
from analysis.answers.tables import AnswerTables
from analysis.comparisons.families import families_of
from analysis.comparisons.findings import findings_of
from analysis.comparisons.preferences import Comparisons, Directed, UnitPreferences, combine
from analysis.large.analyse import finished, refused_rules, results_of
from analysis.large.building import NAMED, count_answers, count_seen
from analysis.large.comparing import NumberedUnits
from analysis.large.exchange import Progress, accepted, exchanged, silent, watched
from analysis.large.ids_of_parts import Visits, beside_inputs, near_names_of_parts, refuse_unmet
from analysis.large.preference_buckets import Flags, PreferencesFound, PreferenceTask, PreferenceUnits, look_through
from analysis.large.tasks import run_tasks
from analysis.large.totals import TableTotals
from analysis.preference_checks.filtering import sweep_units, taus_of
from analysis.preference_checks.rows import checks_of_units
from analysis.ranking.sources import RankingSources
from analysis.rating_checks.rows import OtherTests
from analysis.results.comparison_tests import ComparisonResults, tests_of_units
from analysis.results.overview import LeftOut
from analysis.results.records import Results
from analysis.statistics.coding import fold
from spa.errors import AnalysisError

if TYPE_CHECKING:
    import distributed

AT_ONCE = 1 << 18  # rows of the exchange, with all their strings, that are looked through together


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PreferenceTotals(TableTotals):
    """Preferences as numbers, 25 bytes an answer; of the split into parts nothing is left.

    Attributes
    ----------
    tests : Comparisons
        What was asked.
    units : PreferenceUnits
        All annotators', and of LLMs all assignments'.
    exclusions : tuple of Exclusion
        In the order in which annotators appear, self-consistency last.
    left : tuple of (str, str)
        Group and annotator_id of those whom an exclusion names.
    checked, repeating : frozenset of str
        Groups with somebody asked in both directions; with somebody who answered the same several times.
    """

    tests: Comparisons
    units: PreferenceUnits
    exclusions: tuple[Exclusion, ...]
    left: tuple[tuple[str, str], ...]
    checked: frozenset[str]
    repeating: frozenset[str]


def read_preferences(
    where: str,
    reading: Reading,
    plan: Plan,
    *,
    beside: AnswerTables,
    client: distributed.Client | None = None,
    scratch: Path | None = None,
    progress: Progress = silent,
) -> PreferenceTotals:
    """Read and check preferences in parts, and find who leaves by the rules of the plan.

    Parameters
    ----------
    where, reading, client, scratch, progress
        As for :func:`analysis.large.reading.read_totals`.
    plan : Plan
        Its rules of exclusion.
    beside : AnswerTables
        The tables of annotators and exclusions.

    Raises
    ------
    AnalysisError
        With the mistakes of all parts; where a rule of the plan needs the whole table.

    Notes
    -----
    Time O(rows log rows). Memory by 2 million rows, then some 60 bytes an answer.
    """
    others = {name: table for name in ("annotators", "exclusions") if (table := getattr(beside, name)) is not None}
    kinds = kinds_by_annotator(others)
    given: Visits = frozenset()
    if beside.exclusions is not None:
        given = frozenset(beside.exclusions.select("annotator_id", "assignment_id").rows())
    named = given | {(annotator, None) for annotator in kinds}
    with exchanged(
        where,
        "preferences",
        reading,
        annotator_kinds=kinds,
        named=named,
        client=client,
        scratch=scratch,
        progress=progress,
    ) as found:
        refuse_unmet("exclusions", given, found.met)
        if problems := refused_rules(plan):
            raise AnalysisError(*problems)
        tests = Comparisons(found.known["asked"], found.order)
        taus = taus_of(tests, plan)
        tasks = [
            PreferenceTask(buckets=buckets, tests=tests, plan=plan, taus=taus, beside=beside)
            for buckets in found.buckets(AT_ONCE)
        ]
        looked = watched(run_tasks(look_through, tasks, client), "parts looked through", len(tasks), progress)
        parts = sorted(accepted(looked, found.tasks), key=lambda part: part.task)
    return PreferenceTotals(
        kind="preferences",
        order=found.order,
        groups=found.groups,
        missing=found.known["missing"],
        seen=count_seen(found.known),
        counted=count_answers(found.known),
        columns=found.known["columns"],
        inputs=(*found.inputs, *beside_inputs(beside, named - found.met)),
        absent=named - found.met,
        near_names=near_names_of_parts(found.order, found.names),
        empty_parts=found.empty_parts,
        n_parts=found.n_parts,
        scales=reading.scales,
        missing_codes=reading.missing,
        tests=tests,
        units=_joined([part.units for part in parts if part.units is not None]),
        exclusions=_in_order(parts),
        left=tuple(pair for part in parts for pair in part.left),
        checked=frozenset().union(*(part.checked for part in parts)),
        repeating=frozenset().union(*(part.repeating for part in parts)),
    )


def _joined(parts: Sequence[PreferenceUnits]) -> PreferenceUnits:
    """Give the units of all buckets numbers one after another."""
    starts = np.cumsum([0, *(len(part.everybody) for part in parts)])[:-1]

    def together(name: str) -> Any:
        return np.concatenate([getattr(part, name) for part in parts])

    return PreferenceUnits(
        unit=np.concatenate([part.unit + start for part, start in zip(parts, starts, strict=True)]).astype(np.int32),
        names=pl.concat([part.names for part in parts]),
        **{name: together(name) for name in ("test", "forward", "value", "everybody", "base", "kept", "failing")},
    )


def _in_order(parts: Iterable[PreferencesFound]) -> tuple[Exclusion, ...]:
    """Put exclusions in the order of the annotators, self-consistency last."""
    placed = [both for part in parts for both in part.exclusions]
    return tuple(row for _, row in sorted(placed, key=lambda both: (both[1].rule == CONSISTENCY, both[0])))


def analyse_preferences_in_parts(totals: PreferenceTotals, plan: Plan) -> Results:
    """Analyse preferences as :func:`analysis.results.analyse.analyse` does the table."""
    plan = written_plan(plan, totals.order.systems, totals.order.criteria, {})
    orders = {"preferences": totals.order}
    plan = with_pairs(with_lower(plan, orders), orders)
    tests, units = totals.tests, totals.units
    everybody, kept = (_directed(units, own) for own in (units.everybody, units.kept))
    base = kept if np.array_equal(units.base, units.kept) else _directed(units, units.base)
    llms = {group for group, kind in totals.groups if kind == "llm"}
    sources = RankingSources(plan=plan)
    names = {kind: _names(units) for kind in ("annotator", "assignment")}
    rows, directions = tests_of_units(everybody, kept, tests, plan, sources, llms=llms, names=names)
    compared = ComparisonResults(
        preferences=rows,
        directions=directions,
        means=[],
        ratings=[],
        choices=[],
        sources=sources,
        otherwise=OtherTests(plan=plan),
        findings=findings_of("preferences", rows, plan),
    )
    swept = sweep_units(base, units.failing.astype(np.int64), totals.checked, tests, plan, taus=taus_of(tests, plan))
    preferences = combine(kept)
    checks = checks_of_units(preferences, swept, tests, plan)
    pairs = pl.DataFrame(totals.left, schema={"group": pl.String, "annotator_id": pl.String}, orient="row")
    results = results_of(totals, plan, totals.exclusions, compared, excluded_counts(totals.exclusions, pairs))
    results = replace(
        results,
        preferences=tuple(rows),
        preference_directions=tuple(directions),
        exposure_curve=checks.exposure_curve,
        exposure_trend=checks.exposure_trend,
        first_exposure=checks.first_exposure,
        consistency_sweep=checks.consistency_sweep,
        coherence=checks.coherence,
        families=tuple(families_of("preferences", rows, plan)),
        agreement=tuple(_agreement(preferences, totals, plan, llms | totals.repeating)),
    )
    left_out: dict[LeftOut, str] = {"explanations": "free explanations, if any"}
    if llms:
        left_out["self_agreement"] = "agreement of LLMs with themselves"
        left_out["bias"] = "what an LLM adds by position, label and order"
        left_out["prediction_powered"] = "people's preferences estimated from an LLM's"
    if totals.repeating - llms:
        left_out["agreement"] = "agreement of groups with repeated answers"
    return finished(results, totals, plan, left_out)


def _directed(units: PreferenceUnits, chosen: Flags) -> Directed:
    """Return the answers of some units."""
    own = chosen[units.unit]
    return Directed(
        test=units.test[own].astype(np.int64),
        unit=units.unit[own].astype(np.int64),
        forward=units.forward[own],
        value=units.value[own],
    )


def _names(units: PreferenceUnits) -> Sequence[str]:
    """Return what tells units apart in resampling: names where they are few."""
    return units.names.to_list() if len(units.names) <= NAMED else NumberedUnits(len(units.names))


def _agreement(
    units: UnitPreferences, totals: PreferenceTotals, plan: Plan, without: Iterable[str]
) -> Iterable[AgreementRow]:
    """Yield alpha of people who answered everything once: a unit of theirs is a rater."""
    tests, level = totals.tests, JUDGED["preferences"]
    names = [tests.name(number) for number in range(len(tests.keys))]
    parts = dict.fromkeys(name[:2] for name in names if name[0] not in without)
    for group, criterion in parts:
        mine = np.array([name[:2] == (group, criterion) for name in names])[units.test]
        raters = fold(units.unit[mine])
        if len(raters) < 2:
            continue
        data = from_codes(units.test[mine], raters.of, units.value[mine], tuple(map(str, range(len(raters)))))
        answered = Answered(
            source="preferences",
            data=about_pairs(data),
            level=level,
            confidence=plan.confidence,
            seed=[plan.seed],
        )
        for found in measure_agreement(answered):
            yield agreement_row(found, "preferences", group, criterion, level)
