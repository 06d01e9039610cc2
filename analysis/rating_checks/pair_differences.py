"""The differences of ratings of every pair of systems, by unit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from analysis.answers.units import Unit
from analysis.comparisons.choices import ChoiceTest
from analysis.comparisons.ratings import CLUSTERED, RatingTest
from analysis.rating_checks.many_tests import Flags, UnitMeans, sums_by
from analysis.statistics.coding import Floats, Ints, fold, snap

UNITS: tuple[Unit, ...] = ("annotator", "assignment", "item")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PairDifferences:
    """The differences of a part by pair, one a row or some of one pair and unit added up.

    ``pair`` numbers the test that a row belongs to, ``unit`` its unit; ``total`` is the difference, ``higher`` is 1
    where x is rated higher and 1/2 where neither is. ``n`` says how many a row adds up, ``None``: one. Of tests in
    which every annotator weighs the same although items are the units (``weighed``), ``share`` is the weight of a
    row's differences, and ``square`` their squared weights, added up.
    """

    x: Ints
    y: Ints
    kind: Ints  # unit of each test, as a place in UNITS
    pair: Ints
    unit: Ints
    total: Floats
    higher: Floats
    n: Floats | None = None
    weighed: Flags
    share: Floats
    square: Floats

    def __len__(self) -> int:
        """Return the number of tests."""
        return len(self.x)


def partly_paired_tests(tests: Sequence[RatingTest]) -> Flags:
    """Tell which tests are of all ratings although some pair."""
    return np.array([test.test == CLUSTERED and test.n_paired != 0 for test in tests], dtype=np.bool_)


def pair_numbers(systems: Sequence[str], tests: Sequence[RatingTest | ChoiceTest]) -> tuple[Ints, Ints]:
    """Return the numbers of both systems of each test."""
    number = {name: place for place, name in enumerate(systems)}
    of_x = np.array([number[test.system_x] for test in tests], dtype=np.int64)
    of_y = np.array([number[test.system_y] for test in tests], dtype=np.int64)
    return of_x, of_y


def pair_lookup(x: Ints, y: Ints, n_systems: int) -> Ints:
    """Return the number of the test of systems x and y, shape (n_systems, n_systems)."""
    lookup = np.zeros((n_systems, n_systems), dtype=np.int64)
    lookup[x, y] = np.arange(len(x))
    return lookup


def average_by_unit(pairs: PairDifferences, values: Floats, scale: float) -> UnitMeans:
    """Average values within pair and unit, and say how much each unit weighs."""
    folded = fold(pairs.pair, pairs.unit)
    part = pairs.pair[folded.first]
    n = np.ones(len(values)) if pairs.n is None else pairs.n
    weighed = pairs.weighed[pairs.pair]
    weight = np.where(weighed, pairs.share, n)
    sums = sums_by(folded.of, np.where(weighed, weight * (values / n), values), len(folded))
    weights, squares = (
        np.bincount(folded.of, weights=column, minlength=len(folded)) for column in (weight, pairs.square)
    )
    units = np.bincount(part, minlength=len(pairs))
    together = np.bincount(part, weights=weights, minlength=len(pairs))  # not 1 where annotators are left out
    known = pairs.weighed[part]
    share = np.where(known, weights / together[part], 1 / units[part])
    square = np.where(known, squares / together[part] ** 2, 1 / units[part] ** 2)
    even = np.isclose(share * units[part], 1, rtol=1e-12) & np.isclose(square, _least(part, square)[part], rtol=1e-12)
    return UnitMeans(
        part=part,
        unit=pairs.unit[folded.first],
        mean=snap(sums / weights, scale=scale, digits=13),
        share=share,
        square=square,
        uneven=np.bincount(part, weights=~even, minlength=len(pairs)) > 0,
    )


def _least(part: Ints, values: Floats) -> Floats:
    least = np.full(int(part.max(initial=-1)) + 1, np.inf)
    np.minimum.at(least, part, values)
    return least
