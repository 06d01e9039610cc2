"""A table in parts, read and checked, whose answers wait in files until what belongs together is added up."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from glob import has_magic
from pathlib import Path, PurePosixPath
from tempfile import mkdtemp
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol, TypeAlias, TypeVar

import numpy as np
import polars as pl

from analysis.answers.answer_checks import (
    DOUBLED_SHOWN,
    answered_twice,
    names_by_elicitation,
    unknown_scales,
    unmet_codes,
)
from analysis.answers.columns import KNOWN, LAYOUTS, rows_named
from analysis.answers.conversion import mapping_problems
from analysis.answers.exclusions import Exclusion
from analysis.answers.given_names import written
from analysis.answers.groups import check_groups, group_order
from analysis.answers.input_files import InputFile, people_file
from analysis.answers.options import Reading
from analysis.answers.order import Order
from analysis.answers.reading import constant_problems
from analysis.answers.rescaling import Rescaled, rescaled_words, unmet_annotators
from analysis.parts.buckets import BucketRange, Doubled, class_ranges, ranges_of
from analysis.parts.ids import Visits, said_of_people, together, two_ways, unmet_options, written_llms
from analysis.parts.locations import find_parts
from analysis.parts.part import WAY, PartFound, PartTask, checked_slices, joined_orders, no_names, read_part
from analysis.parts.rows import CLASSES, ExchangeFile
from analysis.parts.slices import Met, SliceFile
from analysis.parts.tasks import run_tasks
from analysis.statistics.coding import Ints
from analysis.statistics.record import AnnotatorKind
from analysis.sums.adding import merged
from analysis.sums.building import NAMED
from analysis.sums.grid import Sums
from analysis.sums.keys import key_of
from analysis.sums.totals import LargeKind
from spa.errors import AnalysisError
from spa.tables.reading import table_suffix
from spa.tables.selection import chosen_problems
from spa.tables.source import added

if TYPE_CHECKING:
    import distributed

Progress: TypeAlias = Callable[[str, int, int], None]  # what is done, how many are, and of how many
PENDING = 1 << 20  # rows of sums that wait at least until they are added to each other
CLASSED = 1 << 20  # rows of sums by item up to which these are in one class
SHOWN = 20  # problems that are told
MIXED = 5  # annotators of two kinds that a problem names


def no_progress(step: str, done: int, of: int) -> None:
    """Watch nothing."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Exchange:
    """What all parts say together, and where their answers are.

    Attributes
    ----------
    known : dict of str to DataFrame
        Sums of :func:`analysis.sums.adding.described`.
    criteria : mapping of str to str
        The criterion of each name in the rows.
    names : DataFrame or None
        ``annotator, annotator_id`` where they are few.
    rescaled : tuple of Rescaled
        Scores that were mapped onto the scale of the others.
    slices : tuple of SliceFile
        The answers of ratings and choices.
    several : mapping of str to array of int
        Keys of items and annotators that stand in several slices.
    files : tuple of ExchangeFile
        Rows by bucket.
    met : frozenset of (str, str or None)
        Those of the annotators and assignments to look for that there are.
    empty_parts, n_parts : int
        Parts without a row, and all.
    """

    tasks: Sequence[PartTask]
    known: Sums
    order: Order
    criteria: Mapping[str, str]
    groups: tuple[tuple[str, AnnotatorKind], ...]
    names: pl.DataFrame | None
    slices: tuple[SliceFile, ...]
    several: Mapping[str, Ints]
    files: tuple[ExchangeFile, ...]
    scratch: Path
    inputs: tuple[InputFile, ...]
    rescaled: tuple[Rescaled, ...]
    met: Visits
    empty_parts: int
    n_parts: int

    def range(self, first: int, last: int) -> BucketRange:
        """Return the buckets from first to last."""
        files = tuple(own.file for own in self.files)
        return BucketRange(first=first, last=last, files=files, scratch=self.scratch)

    @property
    def rows(self) -> Ints:
        """How many rows each bucket has."""
        return np.sum([own.buckets for own in self.files], axis=0)  # type: ignore[no-any-return]

    def buckets(self, at_once: int) -> list[BucketRange]:
        """Return all buckets, put together until they have so many rows."""
        return [self.range(*ends) for ends in ranges_of(self.rows, at_once)] if self.files else []

    def classes(self, at_once: int) -> list[list[BucketRange]]:
        """Return the same so that those of one list hold all about some items."""
        ranges = class_ranges(self.rows, CLASSES, at_once) if self.files else []
        return [[self.range(*ends) for ends in own] for own in ranges]


@contextmanager
def exchanged(
    where: str,
    kind: LargeKind,
    reading: Reading,
    *,
    annotator_kinds: Mapping[str, str] = MappingProxyType({}),
    exclusions: Sequence[Exclusion] = (),
    named: Visits = frozenset(),
    client: distributed.Client | None = None,
    scratch: Path | None = None,
    progress: Progress = no_progress,
) -> Iterator[Exchange]:
    """Read and check the parts of a table; their answers are in temporary files as long as the context is open.

    Parameters and errors are those of :func:`analysis.parts.reading.read_totals`; ``named`` are annotators and
    assignments to look for.
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
                named=named,
            )
            for number, address in enumerate(addresses)
        ]
        read = with_progress(run_tasks(read_part, tasks, client), "parts read", len(tasks), progress)
        parts, known, names, several = _gathered(read)
        _refuse_problems(parts, known, where, kind, reading)
        ids = together(part.ids for part in parts)
        people = said_of_people(reading, ids)
        _check_groups(known, names, parts, reading)
        order = joined_orders([part.order for part in parts])
        criteria = _criteria(order.criteria)
        mapped = {one for part in parts for one in part.rescaled}
        rescaled = tuple(sorted(mapped, key=lambda one: (one.criterion, one.annotator_id)))
        groups = group_order([pl.DataFrame(_groups(parts), schema=["group", "annotator_kind"], orient="row")])
        yield Exchange(
            tasks=tasks,
            known=_renamed(known, criteria),
            order=replace(
                order, groups=tuple(group for group, _ in groups), criteria=tuple(dict.fromkeys(criteria.values()))
            ),
            criteria=criteria,
            groups=groups,
            names=names,
            slices=tuple(one for part in parts for one in part.slices),
            several=several,
            files=tuple(file for part in parts for file in part.files),
            scratch=folder,
            inputs=(
                replace(_input(where, kind, parts), notes=(*_said(parts), *rescaled_words(rescaled))),
                *_people_file(reading, people),
            ),
            rescaled=rescaled,
            met=ids.met,
            empty_parts=sum(part.empty for part in parts),
            n_parts=len(parts),
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


class _BucketResult(Protocol):
    @property
    def doubled(self) -> Doubled | None: ...


BucketOutcome = TypeVar("BucketOutcome")
Accepted = TypeVar("Accepted", bound=_BucketResult)


def with_progress(outcomes: Iterable[BucketOutcome], step: str, of: int, progress: Progress) -> Iterator[BucketOutcome]:
    """Yield what is found, and say how much it is."""
    for done, one in enumerate(outcomes, start=1):
        yield one
        progress(step, done, of)


def accepted(buckets: Iterable[Accepted], tasks: Sequence[PartTask]) -> Iterator[Accepted]:
    """Yield what was found of buckets; refuse cells that were answered twice."""
    first: list[tuple[tuple[int, int], ...]] = []
    doubled = 0
    for one in buckets:
        if one.doubled is not None:
            doubled += one.doubled.cells
            first = sorted([*first, *one.doubled.first])[:DOUBLED_SHOWN]
        elif not doubled:
            yield one
    if doubled:
        problems = [_answered_twice(places, tasks) for places in first]
        if doubled > len(first):
            problems.append(f"{doubled - len(first)} more cells are answered twice")
        raise AnalysisError(*problems)


class RunningSums:
    """Sums that are added to each other before they take much more room than their sum.

    Where those by item are many, they are added up in classes of items, which have none in common: the room that
    adding takes beside the sums themselves is that of one class.
    """

    def __init__(self) -> None:
        self._others: list[Sums] = [{}]
        self._items: dict[int, list[Sums]] = {0: [{}]}

    def add(self, sums: Sums) -> None:
        """Take the sums of one part more."""
        of_items = {name: frame for name, frame in sums.items() if name.endswith("_item")}
        self._others = _fewer([*self._others, {name: sums[name] for name in sums if name not in of_items}], PENDING)
        if len(self._items) == 1 and _rows(*self._items[0], of_items) > CLASSED:
            of_items = merged([*self._items[0], of_items])
            self._items = {number: [{}] for number in range(CLASSES)}
        for number, waiting in self._items.items():
            own = (pl.col("item") & (CLASSES - 1)) == number if len(self._items) > 1 else True
            mine = {name: frame.filter(own) for name, frame in of_items.items()}
            self._items[number] = _fewer([*waiting, mine], PENDING // len(self._items))

    def total(self) -> Sums:
        """Return the sums of all parts."""
        total = merged(self._others)
        found = [merged(self._items.pop(number)) for number in [*self._items]]
        return total | {name: pl.concat([own[name] for own in found]) for name in found[0]}


def _rows(*sums: Sums) -> int:
    return sum(frame.height for own in sums for frame in own.values())


def _fewer(waiting: list[Sums], pending: int) -> list[Sums]:
    """Add sums to the first where they have more rows than it, and more than may be ``pending``."""
    together, *others = map(_rows, waiting)
    return [merged(waiting)] if sum(others) > max(pending, together) else waiting


def _gathered(
    found: Iterable[PartFound],
) -> tuple[list[PartFound], Sums, pl.DataFrame | None, dict[str, Ints]]:
    """Return the parts in order, their sums, the names of annotators where they are few, and who stands in several."""
    parts: list[PartFound] = []
    known, names = RunningSums(), no_names()
    met = {"item": Met(), "annotator": Met()}
    few = True
    for part in found:
        known.add(part.sums)
        few = few and part.names is not None
        names = pl.concat([names, part.names]).unique() if few and part.names is not None else no_names()
        few = few and names.height <= NAMED
        for own in part.met:
            for keys, one in zip(own, met.values(), strict=True):
                one.add(keys)
        parts.append(replace(part, sums={}, names=None, met=()))
    several = {name: one.several() for name, one in met.items()}
    return sorted(parts, key=lambda part: part.number), known.total(), names if few else None, several


def _refuse_problems(parts: Sequence[PartFound], known: Sums, where: str, kind: LargeKind, reading: Reading) -> None:
    """Raise the problems of all parts, and those that only all parts together show."""
    problems = [problem for part in parts for problem in part.problems]
    if all(part.empty for part in parts):
        chosen = chosen_problems(reading, (one for part in parts for one in part.chosen))
        problems = [*chosen] or [f"{where}: expected at least one answer, got parts without a row alone ({len(parts)})"]
    if len(problems) > SHOWN:
        others = len({part.number for part in parts if part.problems})
        more = f"{where}: {len(problems) - SHOWN} more mistakes; {others} of {len(parts)} parts have some"
        problems = [*problems[:SHOWN], more]
    readable = [part for part in parts if part.columns]
    if readable:
        problems += mapping_problems({name for part in readable for name in part.file_columns}, reading.mapping)
        problems += chosen_problems(reading, (one for part in parts for one in part.chosen))
        taken = (part.constants for part in readable)
        problems += constant_problems(reading.constants, taken, KNOWN[kind])
        problems += _other_columns(readable) or two_ways([(part.address, part.ids) for part in readable])
    if not problems:
        criteria = {name.partition(WAY)[0] for part in parts for name in part.order.criteria}
        problems += unknown_scales(reading.scales, criteria, where)
        problems += unmet_options(reading, together(part.ids for part in parts))
        problems += unmet_codes(reading.missing, known["missing"]["reason"].drop_nulls())
        mapped = {one.annotator_id for part in parts for one in part.rescaled}
        own = {written(name, mapped, {}): ends for name, ends in reading.rescale.items()}
        problems += unmet_annotators(own, mapped, where)
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


def _check_groups(known: Sums, names: pl.DataFrame | None, parts: Sequence[PartFound], reading: Reading) -> None:
    """Refuse what :func:`analysis.answers.groups.with_groups` refuses; ``seen`` has keys of annotators for names."""
    seen = known["seen"]
    kinds = seen.group_by("annotator").agg(pl.col("annotator_kind").n_unique().alias("kinds"))
    mixed = kinds.filter(pl.col("kinds") > 1).sort("annotator")
    mixed = mixed.with_columns(pl.format("with key {}", "annotator").alias("key"))
    if names is not None:
        mixed = mixed.join(names, on="annotator", how="left").with_columns(key="annotator_id")
    llms = written_llms(reading, known["seen"]["annotator"], lambda ids: key_of(pl.Series(ids, dtype=pl.String)))
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


def _answered_twice(places: Sequence[tuple[int, int]], tasks: Sequence[PartTask]) -> str:
    """Name the rows that answer one cell; its ids are read again from the part."""
    rows: dict[int, list[int]] = {}
    for part, row in places:
        rows.setdefault(part, []).append(row)
    named = " and ".join(f"{tasks[part].address}, {rows_named(pl.Series(own))}" for part, own in rows.items())
    part, row = places[0]
    cell: dict[str, str | None] = {}
    for _, check, *_ in checked_slices(tasks[part]):
        for found in check.frame.filter(pl.col("row") == row).to_dicts():
            cell = {name: found[name] for name in LAYOUTS[tasks[part].kind].cell}
    return answered_twice(named, len(places), cell)


def _people_file(reading: Reading, notes: tuple[str, ...]) -> list[InputFile]:
    people = reading.people
    return [] if people is None else [people_file(people, notes)]


def _said(parts: Sequence[PartFound]) -> tuple[str, ...]:
    """Return what is to be said of how the parts were read, each once, and how many rows were left out of all."""
    left_out = (one.note() for one in added((one for part in parts for one in part.chosen), ()) if one.left_out)
    return (*dict.fromkeys(note for part in parts for note in part.notes), *left_out)


def _input(where: str, kind: LargeKind, parts: Sequence[PartFound]) -> InputFile:
    """Name the parts by their folder, or by it and the pattern that chose some, with the hash of their hashes."""
    path = where.partition("://")[2] if "://" in where else Path(where).absolute().as_posix()
    *folders, name = PurePosixPath(path).parts
    if len(parts) == 1:
        return InputFile(table=kind, file=name, sha256=parts[0].sha256)
    while folders and name in ("*", "**", f"*{table_suffix(name)}"):
        *folders, name = folders
    if has_magic(name) and folders:
        name = f"{folders[-1]}/{name}"
    together = hashlib.sha256("".join(part.sha256 or "" for part in parts).encode()).hexdigest()
    return InputFile(table=kind, file=f"{name} ({len(parts)} parts)", sha256=together)
