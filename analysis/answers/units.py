"""What a test generalises over: the annotators, or the items as judged by these annotators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from analysis.statistics.cell_sums import CellSums
from analysis.statistics.coding import Floats, Ints, fold, snap, split_by

Unit = Literal["annotator", "assignment", "item"]
ENOUGH_ANNOTATORS = 10
ITEM_NOTE = "these annotators only"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class UnitValues:
    """Values of one test, averaged within the unit; ``counts`` says over how many answers each."""

    unit: Unit
    values: Floats
    counts: Floats

    @property
    def n(self) -> int:
        """Of how many values (differences, choices) these are the averages."""
        return round(float(self.counts.sum()))

    @property
    def note(self) -> str | None:
        """What a test by item does not say."""
        return ITEM_NOTE if self.unit == "item" else None


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitRule:
    """How the unit of one group is chosen.

    ``planned`` is the plan's; "auto" takes the annotator where at least 10 of the group have both
    systems, else the item. ``llm`` says that the group holds LLMs: of fewer than 10 of them a plan's
    "annotator" is an assignment.
    """

    planned: str
    llm: bool

    def is_default(self, unit: Unit) -> bool:
        """Whether the item is the unit because there are few annotators, and nobody planned it."""
        return unit == "item" and self.planned == "auto"

    def choose(self, n_annotators: int) -> Unit:
        """Name the unit of a test where ``n_annotators`` of the group have both systems.

        >>> UnitRule(planned="auto", llm=False).choose(9)
        'item'
        """
        if self.planned == "item" or (self.planned == "auto" and n_annotators < ENOUGH_ANNOTATORS):
            return "item"
        return "assignment" if self.llm and n_annotators < ENOUGH_ANNOTATORS else "annotator"


def who_answers(*, llm: bool, n_annotators: int) -> Unit:
    """Name who has one vote in a group with so many annotators: the annotator, or of few LLMs the assignment."""
    return "assignment" if llm and n_annotators < ENOUGH_ANNOTATORS else "annotator"


def count_by(part: Ints, who: Ints, n_parts: int) -> Ints:
    """Count the different ``who`` of each part."""
    folded = fold(part, who)
    counts: Ints = np.bincount(part[folded.first], minlength=n_parts).astype(np.int64)
    return counts


def average_by_unit(
    part: Ints,
    values: Floats,
    *,
    annotator: Ints,
    assignment: Ints,
    item: Ints,
    units: Sequence[Unit],
    scale: float,
) -> list[UnitValues | None]:
    """Average the values of every part (a pair of systems) within its unit.

    Parameters
    ----------
    part : array of int, shape (n,)
        The part of each value.
    values : array of float, shape (n,)
        Differences of scores, or shares won.
    annotator, assignment, item : array of int, shape (n,)
        Who gave the value, in which assignment (numbered across annotators), about which item.
    units : sequence of {"annotator", "assignment", "item"}, shape (n_parts,)
        The unit of each part.
    scale : float
        Largest size of the answers; averages are rounded to 13 digits of it, so that equal ones are equal.

    Returns
    -------
    list of UnitValues or None
        ``None`` for a part without values.
    """
    columns = {"annotator": annotator, "assignment": assignment, "item": item}
    width = max((int(columns[name].max()) + 1 for name in set(units)), default=1) if len(part) else 1
    sums = UnitSums(units, width=width, scale=scale)
    sums.add(part, values, columns)
    return sums.averages()


class UnitSums:
    """What :func:`average_by_unit` does, for values that come some at a time.

    ``width`` is one more than the largest number of a unit. O(n) time, memory by parts times units.
    """

    def __init__(self, units: Sequence[Unit], *, width: int, scale: float) -> None:
        self._units, self._width, self._scale = tuple(units), width, scale
        self._cells = CellSums(len(self._units) * width)

    def add(self, part: Ints, values: Floats, columns: Mapping[str, Ints]) -> None:
        """Add values by their part and, in the column of the part's unit, by who or what they belong to."""
        if not len(part):
            return
        planned = sorted(set(self._units))
        kind = np.array([planned.index(name) for name in self._units])
        unit = columns[planned[0]] if len(planned) == 1 else np.choose(kind[part], [columns[name] for name in planned])
        self._cells.add(part * self._width + unit, values)

    def averages(self) -> list[UnitValues | None]:
        """Return the averages of each part; ``None`` for a part without values."""
        key, count, sums = self._cells.found()
        return averages_of_sums(self._units, key // self._width, count, sums, scale=self._scale)


def averages_of_sums(
    units: Sequence[Unit], part: Ints, count: Floats | Ints, sums: Floats, *, scale: float
) -> list[UnitValues | None]:
    """Do what :func:`average_by_unit` does, from the count and sum of each part and its unit."""
    columns = (snap(sums / count, scale=scale, digits=13), count.astype(np.float64))
    named = zip(units, *(split_by(part, column, len(units)) for column in columns), strict=True)
    return [UnitValues(unit=name, values=own, counts=n) if len(own) else None for name, own, n in named]


def unit_name(annotator: str, assignment: str | None = None) -> str:
    """Identify an annotator, or one of his or her assignments, across tables."""
    return annotator if assignment is None else f"{annotator}\x1f{assignment}"
