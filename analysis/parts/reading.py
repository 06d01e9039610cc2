"""A table of ratings or choices in parts to its totals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from analysis.answers.exclusions import Exclusion
from analysis.answers.options import Reading
from analysis.answers.other_tables import PLANNED_RULES
from analysis.llm_vs_people.stand_in import NOBODY, compared_people
from analysis.parts.buckets import (
    BucketFound,
    BucketTask,
    SliceTask,
    StandInTask,
    WeighingTask,
    add_buckets,
    add_slice,
    compare_buckets,
    weigh_buckets,
    weigh_slice,
)
from analysis.parts.exchange import Progress, RunningSums, accepted, exchanged, no_progress, with_progress
from analysis.parts.ids import near_names_of_parts, refuse_unmet
from analysis.parts.rows import ExchangeFile
from analysis.parts.tasks import run_tasks
from analysis.sums.building import build_totals
from analysis.sums.clusters import joined, told
from analysis.sums.grid import grid_of
from analysis.sums.totals import AnswerTotals, SummedKind
from analysis.sums.weighing import uneven_weights

if TYPE_CHECKING:
    import distributed

AT_ONCE = 1 << 20  # rows of the exchange that are added up together
SMALL = 4096  # rows of a slice; fewer are sent on in a quarter of the time that adding them up by themselves takes


def read_totals(
    where: str,
    kind: SummedKind,
    reading: Reading,
    *,
    annotator_kinds: Mapping[str, str] = MappingProxyType({}),
    exclusions: Sequence[Exclusion] = (),
    client: distributed.Client | None = None,
    scratch: Path | None = None,
    progress: Progress = no_progress,
) -> AnswerTotals:
    """Read, check and add up a table in parts.

    Parameters
    ----------
    where : str
        A pattern, a folder, an address that fsspec understands, or one file.
    kind : {"ratings", "choices"}
    reading : Reading
        Renamed columns, LLMs, scales.
    annotator_kinds : mapping of str to str
        ``annotator_kind`` by annotator, where the table of answers does not say it.
    exclusions : sequence of Exclusion
        Whose answers are checked and then left out of the sums; ``missing``, ``seen`` and ``columns`` count them.
    client : distributed.Client, optional
        A cluster whose workers see the parts and ``scratch``; without it everything is done here.
    scratch : Path, optional
        Folder for temporary files, 15 to 40 bytes an answer, which are removed; by default the system's.
    progress : callable
        Called with what is done, how many steps are, and of how many.

    Returns
    -------
    AnswerTotals
        The same for any split into parts and any number of workers, to the last digit.

    Raises
    ------
    AnalysisError
        With the mistakes of all parts, as for a table in one file.

    Notes
    -----
    Time O(rows log rows). Memory by 2 million rows, the annotators times systems and the items times systems.
    """
    given = frozenset((row.annotator_id, row.assignment_id) for row in exclusions if row.rule not in PLANNED_RULES)
    named = frozenset((row.annotator_id, row.assignment_id) for row in exclusions) | {
        (a, None) for a in annotator_kinds
    }
    alone, sums, weighed, beside = RunningSums(), RunningSums(), RunningSums(), RunningSums()
    with exchanged(
        where,
        kind,
        reading,
        annotator_kinds=annotator_kinds,
        exclusions=exclusions,
        named=named,
        client=client,
        scratch=scratch,
        progress=progress,
    ) as found:
        refuse_unmet("exclusions", given, found.met)
        grid = grid_of(found.order, found.groups, found.known, found.criteria)
        people = compared_people(found.groups, kind, found.known)
        slices = [
            SliceTask(slice=one, kind=kind, grid=grid, several=None if people or one.rows < SMALL else found.several)
            for one in found.slices
        ]
        files: list[ExchangeFile] = []

        def added() -> Iterator[BucketFound]:
            """Add up what stands in one slice alone; then, by bucket, what was sent on."""
            own = run_tasks(add_slice, slices, client)
            for one in with_progress(own, "parts added up", len(slices), progress):
                files.extend([one.file] if one.file is not None else [])
                yield one
            buckets = replace(found, files=tuple(files)).buckets(AT_ONCE)
            tasks = [BucketTask(buckets=own, kind=kind, grid=grid) for own in buckets]
            rest = run_tasks(add_buckets, tasks, client)
            yield from with_progress(rest, "shared answers added up", len(tasks), progress)

        for one in accepted(added(), found.tasks):
            (sums if told(one.sums) else alone).add(one.sums)
        found = replace(found, files=tuple(files))
        pairs = [
            StandInTask(buckets=buckets, kind=kind, grid=grid, people=people)
            for buckets in (found.classes(AT_ONCE) if people else ())
        ]
        first = joined(alone.total(), sums.total())
        weights = uneven_weights(first, grid)
        again = [
            WeighingTask(buckets=buckets, kind=kind, grid=grid, weights=weights)
            for buckets in (found.buckets(AT_ONCE) if weights else ())
        ]
        added_here = [replace(one, weights=weights) for one in slices if weights and one.several is not None]
        own_weighed = run_tasks(weigh_slice, added_here, client)
        for own in with_progress(own_weighed, "parts weighed", len(added_here), progress):
            weighed.add(own)
        for own in run_tasks(weigh_buckets, again, client):
            weighed.add(own)
        compared = run_tasks(compare_buckets, pairs, client)
        beside.add(NOBODY)
        for own in with_progress(compared, "LLMs compared with people", len(pairs), progress):
            beside.add(own)
    totals = build_totals(
        found.known | first | weighed.total() | beside.total(),
        kind=kind,
        grid=grid,
        groups=found.groups,
        names=found.names,
        inputs=found.inputs,
        scales=reading.scales,
    )
    return replace(
        totals,
        empty_parts=found.empty_parts,
        n_parts=found.n_parts,
        absent=named - found.met,
        near_names=near_names_of_parts(found.order, found.names),
        missing_codes=reading.missing,
        comparison_ends=reading.numbers,
        rescaled=found.rescaled,
    )
