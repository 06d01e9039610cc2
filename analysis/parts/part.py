"""One part of a table: read, checked, counted, and its answers sorted for the exchange between parts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from analysis.answers.answer_checks import CODED, check_part
from analysis.answers.columns import KNOWN, LAYOUTS, Check
from analysis.answers.exclusions import Exclusion, apply_exclusions
from analysis.answers.groups import distinct, fill_groups
from analysis.answers.options import Reading
from analysis.answers.order import Order, order_of
from analysis.answers.reading import EmptyTable, RawTable, read_slices
from analysis.answers.rescaling import Rescaled
from analysis.answers.shapes import shaped, wide_columns
from analysis.parts.ids import IdsFound, Visits, identified_slice, together
from analysis.parts.rows import BUCKETS, ExchangeFile, by_bucket, write_rows
from analysis.parts.slices import SliceFile, coded_rows, write_slice
from analysis.statistics.coding import Different, Ints
from analysis.sums.adding import described, keyed_rows, merged
from analysis.sums.building import NAMED
from analysis.sums.grid import Sums
from analysis.sums.totals import LargeKind
from spa.errors import AnalysisError
from spa.tables.source import RowsChosen

ROWS = 1 << 20  # of a Parquet file that are read at a time
WAY = "\x1f"  # between a criterion and its elicitation
WHOLE = ("row", *LAYOUTS["preferences"].cell, "repeat", "group", "annotator_kind", "visit", "text", "value")
LISTED = ("group", "criterion", "annotator_kind", "annotator", "assignment", "assigned", "repeat", "sample")
MOST = 20  # problems of one part that are kept


@dataclass(frozen=True, slots=True, kw_only=True)
class PartTask:
    """What a worker needs to read one part."""

    number: int
    address: str
    kind: LargeKind
    reading: Reading
    annotator_kinds: Mapping[str, str]
    exclusions: tuple[Exclusion, ...]
    scratch: Path
    named: Visits = frozenset()  # who stands in the tables beside


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PartFound:
    """One part as read: its problems, or what it adds to the table and the files that hold its answers."""

    number: int
    address: str
    problems: tuple[str, ...] = ()
    file_columns: tuple[str, ...] = ()  # columns as the file names them
    columns: tuple[str, ...] = ()  # those known, renamed
    ids: IdsFound = field(default_factory=IdsFound)
    sha256: str | None = None
    chosen: tuple[RowsChosen, ...] = ()  # rows left out by the options
    notes: tuple[str, ...] = ()  # what is to be said of how it was read
    constants: frozenset[str] = frozenset()  # columns that it lacks
    empty: bool = False  # no row
    rescaled: tuple[Rescaled, ...] = ()
    sums: Sums
    groups: tuple[tuple[str, str], ...]  # group and kind, as they first appear
    order: Order  # criteria with their elicitation
    names: pl.DataFrame | None  # ``annotator, annotator_id``; ``None``: too many
    slices: tuple[SliceFile, ...] = ()  # answers to add up
    met: tuple[tuple[Ints, Ints], ...] = ()  # keys of items and annotators of each
    files: tuple[ExchangeFile, ...] = ()  # all rows of preferences


def checked_slices(task: PartTask) -> Iterator[tuple[RawTable, Check, tuple[Rescaled, ...], Reading, IdsFound]]:
    """Yield a part some rows at a time, with their checks, scores that were mapped, and ids.

    Problems call the part by its address; the reading calls LLMs as the slice does.
    """
    for table in read_slices(
        task.address,
        task.reading,
        KNOWN[task.kind] | wide_columns(task.kind, task.reading),
        rows=ROWS,
        coded=task.kind in CODED,
    ):
        named = shaped(replace(table, place=task.address), task.kind, task.reading)
        named = replace(named, frame=named.frame.drop("both_bad", strict=False))  # sums do not tell
        named, reading, ids = identified_slice(named, task.reading, task.named)
        check, mapped = check_part(named, task.kind, reading)
        yield named, check, mapped, reading, ids


def read_part(task: PartTask) -> PartFound:
    """Read and check one part, and write its answers to the scratch folder.

    Why a part cannot be read is among the problems. Time
    O(rows log rows), memory by ``ROWS`` rows.

    Raises
    ------
    OSError
        Of the scratch folder.
    """
    problems: list[str] = []
    slices: list[_Slice] = []
    found: list[IdsFound] = []
    file: dict[str, Any] = {}
    said: dict[str, None] = {}
    rescaled: dict[Rescaled, None] = {}
    try:
        for table, check, mapped, reading, ids in checked_slices(task):
            found.append(ids)
            file = {"file_columns": table.columns, "columns": tuple(table.frame.columns), "sha256": table.sha256}
            said.update(dict.fromkeys((*table.notes, *(f"{word} counts {value}" for word, value, _ in table.counted))))
            file |= {"chosen": table.chosen, "constants": table.constants, "notes": tuple(said)}
            problems += check.problems
            rescaled.update(dict.fromkeys(mapped))
            if not problems:
                slices.append(_read_slice(replace(task, reading=reading), len(slices), check.frame, check.different))
    except EmptyTable as error:
        file = {"empty": True, "chosen": error.chosen}
    except AnalysisError as error:
        problems += error.problems
    names = pl.concat([own.names for own in slices if own.names is not None] or [no_names()]).unique()
    known = names.height <= NAMED and all(own.names is not None for own in slices)
    return PartFound(
        number=task.number,
        address=task.address,
        problems=tuple(problems[:MOST]),
        **file,
        ids=together(found),
        rescaled=tuple(rescaled),
        sums=slices[0].sums if len(slices) == 1 else merged(own.sums for own in slices),
        groups=tuple(dict.fromkeys(group for own in slices for group in own.groups)),
        order=joined_orders([own.order for own in slices]),
        names=names if known else None,
        slices=tuple(own.slice for own in slices if own.slice is not None),
        met=tuple(own.met for own in slices if own.met is not None),
        files=tuple(own.file for own in slices if own.file is not None),
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Slice:
    sums: Sums
    groups: tuple[tuple[str, str], ...]
    order: Order
    names: pl.DataFrame | None
    slice: SliceFile | None = None
    met: tuple[Ints, Ints] | None = None
    file: ExchangeFile | None = None


def _read_slice(task: PartTask, number: int, checked: pl.DataFrame, different: Different) -> _Slice:
    frame = fill_groups({task.kind: checked}, task.reading.llms, task.annotator_kinds)[task.kind]
    if task.kind == "ratings" and frame["elicitation"].null_count() < frame.height:
        way = pl.concat_str("criterion", "elicitation", separator=WAY, ignore_nulls=True)
        frame = frame.with_columns(way.cast(pl.Categorical).alias("criterion"))
    path = task.scratch / f"{task.number:06d}-{number:06d}"
    if task.kind == "preferences":
        keys = keyed_rows(frame, task.kind)
        ids = pl.DataFrame({"annotator": keys["annotator"], "annotator_id": frame["annotator_id"]}).unique()
        rows = by_bucket(_whole_rows(frame, keys).with_columns(part=pl.lit(task.number, dtype=pl.Int32)))
        found: dict[str, Any] = {"file": write_rows(rows, path.with_suffix(".parquet"))}
    else:
        coded = coded_rows(frame, task.kind, different)
        keys = coded.combinations(*LISTED)
        ids = coded.combinations("annotator", "annotator_id")
        kept = _answered(frame, task.exclusions)
        where = SliceFile(part=task.number, rows=int(kept.sum()), file=str(path), scratch=task.scratch)
        write_slice(coded, frame, kept, task.kind, where, different)
        found = {"slice": where, "met": (coded.each["item"].to_numpy(), coded.each["annotator"].to_numpy())}
    return _Slice(
        sums=described(frame, keys, different),
        groups=tuple(distinct(frame, "group", "annotator_kind").iter_rows()),
        order=order_of(frame, (), None, different),
        names=ids.cast({"annotator_id": pl.String}) if ids.height <= NAMED else None,
        **found,
    )


def _answered(frame: pl.DataFrame, exclusions: Sequence[Exclusion]) -> npt.NDArray[np.bool_]:
    """Mark the answers that are kept."""
    answered = frame["value"].is_not_null()
    if exclusions:
        rows = apply_exclusions(frame.select("row", "annotator_id", "assignment_id", "variant"), exclusions)["row"]
        answered &= frame["row"].is_in(rows.implode())
    return answered.to_numpy()


def _whole_rows(frame: pl.DataFrame, keys: pl.DataFrame) -> pl.DataFrame:
    """Return all rows, those of an annotator in one bucket, for rules that look at all that somebody answered."""
    nothing = pl.lit(None, dtype=pl.String)
    columns = [name if name in frame.columns else nothing.alias(name) for name in WHOLE]
    bucket = (keys["annotator"] & (BUCKETS - 1)).cast(pl.Int32)
    return frame.select(columns).with_columns(annotator=keys["annotator"], bucket=bucket)


def no_names() -> pl.DataFrame:
    """Return a table of annotators' names without a row."""
    return pl.DataFrame(schema={"annotator": pl.Int64, "annotator_id": pl.String})


def joined_orders(orders: Sequence[Order]) -> Order:
    """Return the order of all parts, in which everything stands where it first appears."""
    pairs: dict[frozenset[str], tuple[str, str]] = {}
    for pair in (pair for order in orders for pair in order.pairs):
        pairs.setdefault(frozenset(pair), pair)
    criteria, systems = (
        tuple(dict.fromkeys(name for order in orders for name in getattr(order, column)))
        for column in ("criteria", "systems")
    )
    return Order(groups=(), criteria=criteria, systems=systems, pairs=tuple(pairs.values()))
