"""Some rows of a part as small numbers in a file: names and keys stand once beside them.

All that one annotator answered about one item is needed together. Where no other rows are about the item, or by the
annotator, the rows are added up as they stand; others go through the exchange.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from analysis.parts.scratch import scratch_errors, write_whole
from analysis.statistics.coding import Different, Ints, Numbers, fold, number, number_each
from analysis.sums.adding import IDS, SAMPLES
from analysis.sums.grid import PART, SYSTEMS, Grid
from analysis.sums.keys import coded_keys, key_of
from analysis.sums.totals import SummedKind

Flags: TypeAlias = npt.NDArray[np.bool_]
CROWDED = 1 << 22  # keys that are held before those met in several slices are marked


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceFile:
    """Where the answers of a slice are, how many, and the part that they come from."""

    part: int
    rows: int
    file: str
    scratch: Path


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Coded:
    """Rows as numbers: ``of[column]`` numbers each row's entry of ``each[column]``; ``None``: all have the first."""

    of: Mapping[str, Numbers | None]
    each: Mapping[str, pl.Series]

    def combinations(self, *columns: str) -> pl.DataFrame:
        """Return the different combinations of some columns."""
        numbers = {name: own for name in columns if (own := self.of[name]) is not None}
        alike = {id(own): own for own in numbers.values()}
        if len(alike) > 1:
            rows = fold(*alike.values()).first
            different = {name: self.each[name][own[rows]] for name, own in numbers.items()}
        else:
            different = {name: self.each[name] for name in numbers}
        n = len(next(iter(different.values()), range(1)))
        same = {name: self.each[name].new_from_index(0, n) for name in columns if name not in different}
        return pl.DataFrame([(different | same)[name].alias(name) for name in columns])


def coded_rows(table: pl.DataFrame, kind: SummedKind, different: Different) -> Coded:
    """Return names and keys of a table's rows as numbers; the keys are those of ``keyed_rows``.

    ``assigned`` says whether an assignment has an id.
    """
    found: dict[str, tuple[Numbers | None, pl.Series]] = {}
    for name in (*PART, "annotator_kind", *SYSTEMS[kind], "annotator_id"):
        of, each = number_each(table[name], different)
        found[name] = None if len(each) < 2 else of, each
    annotator = found["annotator_id"]
    found["annotator"] = annotator[0], key_of(annotator[1])
    others = [(name, column) for name, column in IDS.items() if name != "annotator"]
    found |= {name: coded_keys(table[column]) for name, column in others}
    found["sample"] = coded_keys(*(table[column] for column in SAMPLES[kind]))
    if table["assignment_id"].null_count() == table.height:
        found |= {"assignment": found["annotator"], "assigned": (None, pl.Series([False]))}
    else:
        rows = fold(*(number(table[name]) for name in ("annotator_id", "assignment_id")))
        who, visit = (table[name][rows.first] for name in ("annotator_id", "assignment_id"))
        found |= {"assignment": (rows.of, key_of(who, visit)), "assigned": (rows.of, visit.is_not_null())}
    of_each = {name: own for name, (own, _) in found.items()}
    return Coded(of=of_each, each={name: own for name, (_, own) in found.items()})


def write_slice(
    coded: Coded, table: pl.DataFrame, kept: Flags, kind: SummedKind, where: SliceFile, different: Different
) -> None:
    """Write the rows that are ``kept``, with their values and what a reader calls them.

    Values that are few whole numbers are written from the least one on; of rows that follow each other, the first.
    """
    every, row, value = bool(kept.all()), table["row"].to_numpy(), table["value"]
    columns, ends = list[pl.Series](), {"least": pl.Series([None], dtype=pl.Float64)}
    known = different.known(value)
    if known is not None and (low := _whole_from(known)) is not None:
        columns.append(pl.Series("value", (value.to_numpy() - low).astype(np.uint8)))
        ends["least"] = pl.Series([low])
    else:
        columns.append(value.alias("value"))
    if every and np.all(row[1:] - row[:-1] == 1):
        ends["first_row"] = pl.Series(row[:1].astype(np.int64))
    else:
        columns.append(table["row"].cast(pl.Int64).alias("row"))
        ends["first_row"] = pl.Series([None], dtype=pl.Int64)
    names = (*PART, *SYSTEMS[kind], *IDS, "sample", "assignment")
    for name in names:
        of = coded.of[name]
        if of is not None and not (name == "assignment" and of is coded.of["annotator"]):
            columns.append(pl.Series(name, of.astype(np.min_scalar_type(len(coded.each[name])))))
    rows = pl.DataFrame(columns)
    each = pl.DataFrame({name: [coded.each[name]] for name in names} | {name: [own] for name, own in ends.items()})
    with scratch_errors(where.scratch):
        write_whole(where.file, lambda path: (rows if every else rows.filter(kept)).write_ipc(path))
        write_whole(f"{where.file}.keys", lambda path: each.write_ipc(path))


def _whole_from(values: pl.Series) -> float | None:
    """Return the least of values that are whole numbers of which a byte holds the distances; of others nothing."""
    numbers = values.to_numpy()
    low, high = float(numbers.min()), float(numbers.max())
    if (
        high - low > np.iinfo(np.uint8).max
        or np.any(np.rint(numbers) != numbers)
        or np.any(np.signbit(numbers) & (numbers == 0))
    ):
        return None
    return low


@dataclass(frozen=True, kw_only=True, eq=False)
class SliceRows:
    """The rows of a slice, with numbers of the grid for groups, criteria and systems."""

    kind: SummedKind
    part: int
    of: Mapping[str, npt.NDArray[Any] | None]
    each: Mapping[str, npt.NDArray[Any]]
    value: npt.NDArray[np.float64]
    row: Ints

    def column(self, name: str) -> Ints:
        """Return the numbers of a column as whole numbers of 64 bits."""
        of = self.of[name]
        return np.broadcast_to(np.int64(0), len(self.value)) if of is None else of.astype(np.int64)

    def apart(self, several: Mapping[str, Ints]) -> Flags:
        """Mark rows of items and annotators that both stand in several slices."""
        crossing = {name: np.isin(self.each[name], several[name]) for name in ("item", "annotator")}
        if not all(own.any() for own in crossing.values()):
            return np.zeros(len(self.value), dtype=np.bool_)
        item, annotator = (own[self.column(name)] for name, own in crossing.items())
        marked: Flags = item & annotator
        return marked

    def some(self, kept: Flags) -> SliceRows:
        """Return some of the rows."""
        of = {name: own if own is None else own[kept] for name, own in self.of.items()}
        of["assignment"] = of["annotator"] if self.of["assignment"] is self.of["annotator"] else of["assignment"]
        return SliceRows(
            kind=self.kind, part=self.part, of=of, each=self.each, value=self.value[kept], row=self.row[kept]
        )

    @cached_property
    def frame(self) -> pl.DataFrame:
        """Return the rows with keys in full."""
        columns = {name: self.each[name][self.column(name)] for name in (*PART, *SYSTEMS[self.kind])}
        keys = {name: self.each[name][self.column(name)] for name in (*IDS, "sample", "assignment")}
        rows = pl.DataFrame({**columns, "value": self.value, "row": self.row, **keys})
        return rows.with_columns(part=pl.lit(self.part, dtype=pl.Int32))


def read_rows(where: SliceFile, kind: SummedKind, grid: Grid) -> SliceRows:
    """Read a slice."""
    with scratch_errors(where.scratch):
        rows = pl.read_ipc(where.file)
        each = pl.read_ipc(f"{where.file}.keys")
    systems = {name: place for place, name in enumerate(grid.order.systems)}
    groups = {name: place for place, name in enumerate(grid.order.groups)}
    numbers = {"group": groups, "criterion": grid.criteria, **dict.fromkeys(SYSTEMS[kind], systems)}
    least, first_row = (each[name][0][0] for name in ("least", "first_row"))
    names = [name for name in each.columns if name not in ("least", "first_row")]
    found: dict[str, npt.NDArray[Any]] = {}
    for name in names:
        own = each[name][0]
        if name in numbers:
            found[name] = np.array([numbers[name][one] for one in own.to_list()], dtype=np.int32)
        else:
            found[name] = own.to_numpy()
    of = {name: rows[name].to_numpy() if name in rows.columns else None for name in names}
    if "assignment" not in rows.columns:
        of["assignment"] = of["annotator"]
    value = rows["value"].to_numpy()
    return SliceRows(
        kind=kind,
        part=where.part,
        of=of,
        each=found,
        value=value if least is None else value + least,
        row=rows["row"].to_numpy() if first_row is None else np.arange(first_row, first_row + rows.height),
    )


class Met:
    """Which keys stand in several slices; memory by the different keys."""

    def __init__(self) -> None:
        self._once, self._several = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
        self._waiting: list[Ints] = []

    def add(self, keys: Ints) -> None:
        """Take the different keys of one slice."""
        self._waiting.append(keys)
        if sum(map(len, self._waiting)) > max(CROWDED, len(self._once)):
            self._join()

    def _join(self) -> None:
        keys, times = np.unique(np.concatenate([self._once, *self._waiting]), return_counts=True)
        self._once, self._waiting = keys, []
        self._several = np.union1d(self._several, keys[times > 1])

    def several(self) -> Ints:
        """Return the keys that were met in several slices, ascending."""
        self._join()
        return self._several
