"""A table of preferences in parts: read, its annotators looked through bucket by bucket, and analysed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from analysis.answers.careless import refused_rules
from analysis.answers.exclusions import CONSISTENCY, Exclusion
from analysis.answers.groups import kinds_by_annotator
from analysis.answers.options import Reading
from analysis.answers.plan import Plan
from analysis.answers.tables import AnswerTables
from analysis.comparisons.preferences import Comparisons
from analysis.parts.exchange import Progress, accepted, exchanged, no_progress, with_progress
from analysis.parts.ids import Visits, beside_inputs, near_names_of_parts, refuse_unmet
from analysis.parts.preference_buckets import PreferencesFound, PreferenceTask, PreferenceUnits, look_through
from analysis.parts.tasks import run_tasks
from analysis.preference_checks.filtering import taus_of
from analysis.sums.building import count_answers, count_seen
from analysis.sums.totals import TableTotals
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
    progress: Progress = no_progress,
) -> PreferenceTotals:
    """Read and check preferences in parts, and find who leaves by the rules of the plan.

    Parameters
    ----------
    where, reading, client, scratch, progress
        As for :func:`analysis.parts.reading.read_totals`.
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
        looked = with_progress(run_tasks(look_through, tasks, client), "parts looked through", len(tasks), progress)
        parts = sorted(accepted(looked, found.tasks), key=lambda part: part.task)
    return PreferenceTotals(
        kind="preferences",
        order=found.order,
        groups=found.groups,
        missing=found.known["missing"],
        missing_systems=found.known["missing_systems"],
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
        comparison_ends=reading.numbers,
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
