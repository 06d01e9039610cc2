"""How sums are laid out: what the rows of each table of them are about, and how these are numbered."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import polars as pl

from analysis.answers.order import Order
from analysis.statistics.coding import FEW, Floats, Ints
from analysis.sums.totals import LargeKind

Sums: TypeAlias = dict[str, pl.DataFrame]
PART = ("group", "criterion")
COMPARED = ("system_x", "system_y")
SYSTEMS: Mapping[LargeKind, tuple[str, ...]] = {"ratings": ("system",), "choices": COMPARED, "preferences": COMPARED}
DIGITS = 14  # of the largest score of a group and criterion, in which scores are added up
OPTIONS = 20  # different answers to a criterion up to which each output's are counted one by one
LONG = 8  # values in a run, on average, from which on what is about them is worked out once a run
UNITS = ("annotator", "assignment", "item")
OVER = {"scores": ("system",), "pairs": ("x", "y")}
TOGETHER = {"clusters": "annotator", "visits": "assignment"}  # who gave an item what is added up together
CELL = (*PART, "annotator", "item", "assignment", "variant")
KEYS: Mapping[str, tuple[str, ...]] = {  # what the rows of each table of sums are about
    **{f"{of}_overall": ("about",) for of in OVER},
    **{f"{of}_{unit}": ("about", unit) for of in OVER for unit in UNITS},
    **{f"{of}_{kind}": ("about", unit, "n") for of in OVER for kind, unit in TOGETHER.items()},
    **{f"{of}_weighed_item": ("about", "item") for of in OVER},
    **{f"{of}_counts": ("about", "value") for of in OVER},
    "layout": PART,
    "counted": PART,
    "repeats": (*PART, "repeat"),
    "stand_in": (*PART, "annotator"),
    "stand_in_units": PART,
    "missing": (*PART, "reason", "level"),
    "missing_systems": COMPARED,
    "columns": (*PART, "column", "value"),
    "seen": ("group", "annotator_kind", "annotator"),
    "assigned": ("group", "assignment"),
    "repeated": ("annotator",),
    "values": (*PART, "value"),
    "samples": (*PART, "sample"),
    "asked": (*PART, "exposure", *COMPARED),
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Grid:
    """How rows are numbered and scores are added up: as whole multiples, ``factor[group, criterion]`` of which make 1.

    ``criteria`` numbers criteria by their names in the rows, ``llm`` are the numbers of the groups of LLMs.
    ``options`` numbers the different scores (``group, criterion, value, option``) where these are few.
    """

    order: Order
    factor: Floats
    criteria: Mapping[str, int]
    llm: tuple[int, ...]
    options: pl.DataFrame

    def about(self, of: str) -> pl.Expr:
        """Return one number for group, criterion and the systems of values ``of`` scores or pairs."""
        number = pl.col("group").cast(pl.Int64) * len(self.order.criteria) + pl.col("criterion")
        for name in OVER[of]:
            number = number * len(self.order.systems) + pl.col(name)
        return number.alias("about")

    def spelt_out(self, frame: pl.DataFrame, of: str) -> pl.DataFrame:
        """Put group, criterion and the systems in the place of their one number."""
        rest, times = _in_runs(frame["about"].to_numpy())
        numbers = dict[str, Ints]()
        for name in reversed(OVER[of]):
            rest, numbers[name] = np.divmod(rest, len(self.order.systems))
        numbers |= zip(reversed(PART), reversed(np.divmod(rest, len(self.order.criteria))), strict=True)
        narrow = {name: own.astype(np.int32) for name, own in reversed(numbers.items())}
        columns = [pl.Series(name, own if times is None else np.repeat(own, times)) for name, own in narrow.items()]
        return pl.DataFrame([*columns, *(own for own in frame.iter_columns() if own.name != "about")])

    def part_of(self, about: Ints, of: str) -> Ints:
        """Return one number for group and criterion of what is about a system or two."""
        part: Ints = about // len(self.order.systems) ** len(OVER[of])
        return part


def _in_runs(numbers: Ints) -> tuple[Ints, Ints | None]:
    """Return each number of long runs once, and how often; others as they are, and nothing."""
    starts = np.flatnonzero(numbers[1:] != numbers[:-1]) + 1
    if len(numbers) <= FEW or len(starts) * LONG > len(numbers):
        return numbers, None
    starts = np.concatenate([[0], starts])
    return numbers[starts], np.diff(starts, append=len(numbers))


def grid_of(order: Order, groups: Iterable[tuple[str, str]], described: Sums, names: Mapping[str, str]) -> Grid:
    """Return the grid of a table.

    ``described`` is what :func:`described` returns of all parts, ``names`` the criterion of the order for each name in
    the rows that is another.
    """
    known = {name: number for number, name in enumerate(order.criteria)}
    criteria = known | {name: known[new] for name, new in names.items()}
    largest = np.zeros((len(order.groups), len(order.criteria)))
    for group, criterion, size in described["extremes"].select(*PART, "scale").iter_rows():
        place = order.groups.index(group), criteria[criterion]
        largest[place] = max(largest[place], size)
    factor = np.array([[multiples_of(size) for size in row] for row in largest.tolist()])
    llm = tuple(number for number, (_, kind) in enumerate(groups) if kind == "llm")
    numbers = {"group": {name: number for number, name in enumerate(order.groups)}, "criterion": criteria}
    few = described["values"].filter(~(pl.col("value").is_null().any() | (pl.len() > OPTIONS)).over(PART))
    options = few.with_columns(
        pl.col(name).replace_strict(dict(own), return_dtype=pl.Int32) for name, own in numbers.items()
    ).sort(*PART, "value")
    options = options.with_columns(option=(pl.col("value").cum_count() - 1).over(PART).cast(pl.Int32))
    return Grid(order=order, factor=factor, criteria=criteria, llm=llm, options=options)


def multiples_of(largest: float) -> float:
    """Return how many of the multiples in which scores are added up make 1; ``largest`` is the largest size of one."""
    digits = DIGITS - 1 - math.floor(math.log10(largest if largest > 0 else 1.0))
    return float(10.0**digits)
