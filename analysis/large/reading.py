"""A table in parts to its totals: parts are read and checked, their answers exchanged, and what was added up merged."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import mkdtemp
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import numpy as np
import polars as pl

from analysis.answers.answer_checks import DOUBLED_SHOWN, answered_twice, names_by_elicitation, unknown_scales
from analysis.answers.columns import LAYOUTS, rows_named
from analysis.answers.conversion import mapping_problems
from analysis.answers.exclusions import Exclusion
from analysis.answers.groups import check_groups, group_order
from analysis.answers.tables import InputFile, Reading
from analysis.large.adding import Grid, Sums, grid_of, key_of, merged
from analysis.large.buckets import BucketFound, BucketTask, add_buckets
from analysis.large.building import build_totals
from analysis.large.locations import find_parts
from analysis.large.parts import WAY, PartFound, PartTask, checked_slices, joined_orders, read_part
from analysis.large.tasks import run_tasks
from analysis.large.totals import AnswerTotals, LargeKind
from spa.errors import AnalysisError

if TYPE_CHECKING:
    import distributed

Progress: TypeAlias = Callable[[str, int, int], None]  # what is done, how many are, and of how many
AT_ONCE = 1 << 20  # rows of the exchange that are added up together
PENDING = 1 << 20  # rows of sums that wait at least until they are added to each other
SHOWN = 20  # problems that are told
MIXED = 5  # annotators of two kinds that a problem names


def read_totals(
    where: str,
    kind: LargeKind,
    reading: Reading,
    *,
    annotator_kinds: Mapping[str, str] = MappingProxyType({}),
    exclusions: Sequence[Exclusion] = (),
    client: distributed.Client | None = None,
    scratch: Path | None = None,
    progress: Progress = lambda what, done, of: None,
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
    Time O(rows log rows). Memory by 2 million rows (of a CSV or JSONL file: by the file), the annotators times systems
    and the items times systems.
    """
    addresses = find_parts(where)
    with _scratch(scratch) as folder:
        tasks = [
            PartTask(
                number=number,
                address=address,
                kind=kind,
                reading=reading,
                annotator_kinds=dict(annotator_kinds),
                exclusions=tuple(exclusions),
                scratch=folder,
            )
            for number, address in enumerate(addresses)
        ]
        parts = sorted(_watched(run_tasks(read_part, tasks, client), "parts read", len(tasks), progress), key=_number)
        _refuse_problems(parts, where, reading)
        known = merged(part.sums for part in parts)
        names = _names(parts)
        _check_groups(known, names, parts, reading.llms)
        order = joined_orders([part.order for part in parts])
        renamed = _criteria(order.criteria)
        groups = group_order([pl.DataFrame(_groups(parts), schema=["group", "annotator_kind"], orient="row")])
        order = replace(
            order,
            groups=tuple(group for group, _ in groups),
            criteria=tuple(dict.fromkeys(renamed.values())),
        )
        grid = grid_of(order, groups, known["scale"], renamed)
        steps = _bucket_tasks(parts, kind, grid, folder)
        found = _watched(run_tasks(add_buckets, steps, client), "parts added up", len(steps), progress)
        sums = _added(found, tasks)
    return build_totals(
        _renamed(known, renamed) | sums,
        kind=kind,
        grid=grid,
        groups=groups,
        names=names,
        inputs=[_input(where, kind, parts)],
        scales=reading.scales,
    )


@contextmanager
def _scratch(folder: Path | None) -> Iterator[Path]:
    """Yield a new folder for temporary files, which is removed at the end."""
    try:
        made = Path(mkdtemp(prefix="spa-report-", dir=folder)).absolute()
    except OSError as error:
        reason = error.strerror or str(error)
        raise AnalysisError(f"{folder}: expected a folder for temporary files, got one that fails: {reason}") from error
    try:
        yield made
    except OSError as error:
        if error.filename != str(made):
            raise
        place = f"{made.parent}: temporary files cannot be written or read"
        raise AnalysisError(f"{place}: {error.strerror}; name another folder with --scratch") from error
    finally:
        shutil.rmtree(made, ignore_errors=True)


Found = TypeVar("Found")


def _watched(found: Iterable[Found], what: str, of: int, progress: Progress) -> Iterator[Found]:
    for done, one in enumerate(found, start=1):
        yield one
        progress(what, done, of)


def _number(part: PartFound) -> int:
    return part.number


def _refuse_problems(parts: Sequence[PartFound], where: str, reading: Reading) -> None:
    """Raise the problems of all parts, and those that only all parts together show."""
    problems = [problem for part in parts for problem in part.problems]
    if len(problems) > SHOWN:
        others = len({part.number for part in parts if part.problems})
        more = f"{where}: {len(problems) - SHOWN} more mistakes; {others} of {len(parts)} parts have some"
        problems = [*problems[:SHOWN], more]
    readable = [part for part in parts if part.columns]
    if readable:
        problems += mapping_problems({name for part in readable for name in part.given}, reading.mapping)
        problems += _other_columns(readable)
    if not problems:
        criteria = {name.partition(WAY)[0] for part in parts for name in part.order.criteria}
        problems += unknown_scales(reading.scales, criteria, where)
    if problems:
        raise AnalysisError(*problems)


def _other_columns(parts: Sequence[PartFound]) -> list[str]:
    """Name the parts whose columns are not those of the first."""
    first, *rest = parts
    others = [part for part in rest if {*part.columns} != {*first.columns}]
    problems = [
        f"{part.address}: expected the columns of {first.address}, got {_difference(first.columns, part.columns)}"
        for part in others[:MIXED]
    ]
    more = len(others) - MIXED
    return [*problems, f"{more} more parts have other columns than {first.address}"] if more > 0 else problems


def _difference(expected: Sequence[str], got: Sequence[str]) -> str:
    without, more = (sorted({*one} - {*other}) for one, other in ((expected, got), (got, expected)))
    said = [f"none named {', '.join(without)}" if without else "", f"also {', '.join(more)}" if more else ""]
    return " and ".join(filter(None, said))


def _names(parts: Sequence[PartFound]) -> pl.DataFrame | None:
    known = [part.names for part in parts if part.names is not None]
    return pl.concat(known).unique() if len(known) == len(parts) else None


def _check_groups(known: Sums, names: pl.DataFrame | None, parts: Sequence[PartFound], llms: Sequence[str]) -> None:
    """Refuse what :func:`analysis.answers.groups.with_groups` refuses; ``seen`` has keys of annotators for names."""
    seen = known["seen"]
    kinds = seen.group_by("annotator").agg(pl.col("annotator_kind").n_unique().alias("kinds"))
    mixed = kinds.filter(pl.col("kinds") > 1).sort("annotator")
    mixed = mixed.with_columns(pl.format("with key {}", "annotator").alias("key"))
    if names is not None:
        mixed = mixed.join(names, on="annotator", how="left").with_columns(key="annotator_id")
    given = pl.Series("key", llms, dtype=pl.String)
    named = pl.DataFrame({"annotator": key_of(given), "key": given})
    both = pl.concat([mixed.select("annotator", "key"), named]).unique().join(seen, on="annotator")
    concerned = both.select(pl.col("key").alias("annotator_id"), "annotator_kind", "group")
    others = pl.DataFrame(
        [(f"{WAY}{number}", kind, group) for number, (group, kind) in enumerate(_groups(parts))],
        schema=["annotator_id", "annotator_kind", "group"],
        orient="row",
    )
    readouts = known["columns"].filter(pl.col("column") == "readout").select("group", readout="value")
    check_groups(pl.concat([concerned, others]), [readouts], llms)


def _groups(parts: Sequence[PartFound]) -> list[tuple[str, str]]:
    return [*dict.fromkeys(row for part in parts for row in part.groups)]


def _criteria(listed: Sequence[str]) -> dict[str, str]:
    """Return the criterion of each name that the rows have: one that holds its elicitation, where there is one."""
    asked = {name: (name.partition(WAY)[0], name.partition(WAY)[2]) for name in listed}
    renamed = names_by_elicitation(both for both in asked.values() if both[1])
    return {name: renamed.get(both, both[0]) for name, both in asked.items()}


def _renamed(sums: Sums, names: Mapping[str, str]) -> Sums:
    """Give the criteria of tables of names their own names."""
    done = {
        name: frame.with_columns(pl.col("criterion").replace(dict(names))) if "criterion" in frame.columns else frame
        for name, frame in sums.items()
    }
    return merged([done])


def _bucket_tasks(parts: Sequence[PartFound], kind: LargeKind, grid: Grid, scratch: Path) -> list[BucketTask]:
    """Put buckets together until they have some million rows."""
    rows = np.sum([part.buckets for part in parts], axis=0)
    ends = np.flatnonzero(np.diff(np.cumsum(rows) // AT_ONCE, append=-1))
    files = tuple(file for part in parts for file in part.files)
    return [
        BucketTask(first=int(first), last=int(last), files=files, kind=kind, grid=grid, scratch=scratch)
        for first, last in zip([0, *ends[:-1] + 1], ends, strict=True)
    ]


def _added(found: Iterable[BucketFound], tasks: Sequence[PartTask]) -> Sums:
    """Add the sums of all buckets to each other; refuse cells that were answered twice."""
    waiting: list[Sums] = [{}]
    first: list[tuple[tuple[int, int], ...]] = []
    doubled = 0
    for one in found:
        doubled += one.doubled
        first = sorted([*first, *one.first])[:DOUBLED_SHOWN]
        waiting = [{}] if doubled else [*waiting, one.sums]
        together, *pending = (sum(frame.height for frame in own.values()) for own in waiting)
        if sum(pending) > max(PENDING, together):
            waiting = [merged(waiting)]
    if doubled:
        problems = [_answered_twice(places, tasks) for places in first]
        if doubled > len(first):
            problems.append(f"{doubled - len(first)} more cells are answered twice")
        raise AnalysisError(*problems)
    return merged(waiting)


def _answered_twice(places: Sequence[tuple[int, int]], tasks: Sequence[PartTask]) -> str:
    """Name the rows that answer one cell; its ids are read again from the part."""
    rows: dict[int, list[int]] = {}
    for part, row in places:
        rows.setdefault(part, []).append(row)
    named = " and ".join(f"{tasks[part].address}, {rows_named(pl.Series(own))}" for part, own in rows.items())
    part, row = places[0]
    cell: dict[str, str | None] = {}
    for _, check in checked_slices(tasks[part]):
        for found in check.frame.filter(pl.col("row") == row).to_dicts():
            cell = {name: found[name] for name in LAYOUTS[tasks[part].kind].cell}
    return answered_twice(named, len(places), cell)


def _input(where: str, kind: LargeKind, parts: Sequence[PartFound]) -> InputFile:
    """Name the parts by how they were named and the hash of their hashes."""
    name = where.rstrip("/").rpartition("/")[2]
    if len(parts) == 1:
        return InputFile(table=kind, file=name, sha256=parts[0].sha256)
    together = hashlib.sha256("".join(part.sha256 or "" for part in parts).encode()).hexdigest()
    return InputFile(table=kind, file=f"{name} ({len(parts)} parts)", sha256=together)
