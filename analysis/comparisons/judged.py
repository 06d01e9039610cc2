"""What was said of two systems side by side, as plain numbers that libraries take."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from analysis.answers.units import Unit, UnitRule, who_answers
from analysis.comparisons.choice_cells import choice_cells
from analysis.comparisons.choices import ChoiceTest
from analysis.comparisons.rating_cells import RatingCells, rating_cells, rating_differences
from analysis.comparisons.ratings import RatingTest
from analysis.contribution import Analysis, Checked
from analysis.statistics.coding import Floats, Ints
from analysis.verification.claims import places

ALIKE = 1e-9  # by which weights may differ that are the same


@dataclass(frozen=True, kw_only=True, eq=False)
class Judged:
    """Differences of ratings, or shares that x won.

    ``who`` has one vote: the annotator, of few LLMs the assignment. ``equal`` says that by default each of them weighs
    the same in a test by item.
    """

    value: Floats
    annotator: Ints
    who: Ints
    unit: Ints
    item: Ints
    equal: bool

    @property
    def weights(self) -> Floats:
        """Weights with which everybody counts the same; they add up to 1."""
        _, of, n = np.unique(self.who, return_inverse=True, return_counts=True)
        weights: Floats = 1 / (len(n) * n[of])
        return weights

    def by_unit(self, values: Floats) -> Floats | None:
        """Average values within units; ``None`` where units do not weigh the same."""
        if not self.equal:
            return means_of(self.unit, values)
        weights, (_, of) = self.weights, np.unique(self.unit, return_inverse=True)
        shares, squares = np.bincount(of, weights=weights), np.bincount(of, weights=weights**2)
        if not all(np.ptp(column) <= ALIKE * column.max() for column in (shares, squares)):
            return None
        means: Floats = np.bincount(of, weights=weights * values) / shares
        return means

    @property
    def few_items_carry(self) -> bool:
        """Whether few items carry the weight, and several annotators share these."""
        weights, together = self.weights, self.who * (self.item.max() + 1) + self.item
        items, cells = (np.unique(ids, return_inverse=True)[1] for ids in (self.item, together))
        shares, of_cells = (np.bincount(ids, weights=weights) ** 2 for ids in (items, cells))
        return bool(1 / shares.sum() < 0.5 * len(shares) and shares.sum() >= 2 * of_cells.sum())


@dataclass(frozen=True, kw_only=True, eq=False)
class RatedPair:
    """Two systems as they were rated: side by side, each by itself (``sides``, means of units), and all answers."""

    judged: Judged
    sides: tuple[Floats, Floats]
    cells: RatingCells


def means_of(of: Ints, values: Floats) -> Floats:
    """Average the values of each number that occurs."""
    _, place, n = np.unique(of, return_inverse=True, return_counts=True)
    means: Floats = np.bincount(place, weights=values) / n
    return means


def judged_ratings(checked: Checked, analysis: Analysis) -> Iterator[tuple[str, RatingTest, RatedPair]]:
    """Yield the tests of ratings in the sample, each with its place and what was rated."""
    kept, plan = analysis.prepared.kept, analysis.plan
    if "ratings" not in kept:
        return
    order = analysis.prepared.orders["ratings"]
    number = {system: place for place, system in enumerate(order.systems)}
    parts = {(cells.group, cells.criterion): cells for cells in rating_cells(kept["ratings"], order)}
    differences = {key: rating_differences(cells) for key, cells in parts.items()}
    for place, row in places("ratings.pairs", checked.results.ratings.pairs):
        if not checked.wanted(f"{place}.p_value"):
            continue
        cells, rows = parts[row.group, row.criterion], differences[row.group, row.criterion]
        x, y = number[row.system_x], number[row.system_y]
        own = (rows.x == x) & (rows.y == y)
        columns = {"annotator": rows.annotator[own], "assignment": rows.assignment[own], "item": rows.item[own]}
        judged = Judged(
            value=rows.value[own],
            annotator=columns["annotator"],
            who=columns[_who(cells.annotator, llm=cells.llm)],
            unit=columns[row.unit],
            item=columns["item"],
            equal=UnitRule(planned=plan.unit, llm=cells.llm).is_default(row.unit),
        )
        first, second = (_side(cells, side, row.unit) for side in (x, y))
        yield place, row, RatedPair(judged=judged, sides=(first, second), cells=cells)


def judged_choices(checked: Checked, analysis: Analysis) -> Iterator[tuple[str, ChoiceTest, Judged]]:
    """Yield the tests of choices in the sample, each with its place and what was chosen."""
    kept, plan = analysis.prepared.kept, analysis.plan
    if "choices" not in kept:
        return
    order = analysis.prepared.orders["choices"]
    number = {system: place for place, system in enumerate(order.systems)}
    parts = {(cells.group, cells.criterion): cells for cells in choice_cells(kept["choices"], order)}
    for place, row in places("choices.pairs", checked.results.choices.pairs):
        if not checked.wanted(f"{place}.p_value"):
            continue
        cells = parts[row.group, row.criterion]
        own = (cells.x == number[row.system_x]) & (cells.y == number[row.system_y])
        columns = {"annotator": cells.annotator[own], "assignment": cells.assignment[own], "item": cells.item[own]}
        yield (
            place,
            row,
            Judged(
                value=cells.value[own],
                annotator=columns["annotator"],
                who=columns[_who(cells.annotator, llm=cells.llm)],
                unit=columns[row.unit],
                item=columns["item"],
                equal=UnitRule(planned=plan.unit, llm=cells.llm).is_default(row.unit),
            ),
        )


def _who(annotators: Ints, *, llm: bool) -> Unit:
    return who_answers(llm=llm, n_annotators=len(np.unique(annotators)))


def _side(cells: RatingCells, system: int, unit: Unit) -> Floats:
    own = cells.system == system
    return means_of(cells.column(unit)[own], cells.value[own])
