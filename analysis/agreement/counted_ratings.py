"""Ratings of people who answered once about each output, with few different scores: counted by output already."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import polars as pl

from analysis.agreement.data import ReliabilityData, from_codes
from analysis.agreement.from_sums import answered_once, answered_sums
from analysis.agreement.measures import Answered
from analysis.answers.groups import distinct
from analysis.answers.plan import Plan
from analysis.answers.scales import Steps
from analysis.answers.unnamed import UNNAMED
from analysis.statistics.coding import FEW, Floats, Ints, fold
from analysis.sums.criterion_sums import CriterionSums, options_known

KEPT = ("overall", "annotator", "item", "clusters")  # sums of scores


@dataclass(frozen=True, kw_only=True, eq=False)
class CountedRatings:
    """Ratings of one group and criterion, added up and one by one; ``annotators`` and ``items`` are names by number."""

    sums: CriterionSums
    annotators: Sequence[str]
    items: Sequence[str]
    system: Ints
    annotator: Ints
    item: Ints
    value: Floats

    @cached_property
    def data(self) -> ReliabilityData:
        """Who gave which score to which output, for what counts do not tell."""
        return self._data(slice(None))

    def of_system(self, number: int) -> ReliabilityData:
        """Return the same of one system."""
        return self._data(np.flatnonzero(self.system == number))

    def _data(self, rows: slice | Ints) -> ReliabilityData:
        """Return some ratings; outputs and raters in the order of their names, which alone reaches an iterative fit."""
        item, system = (
            _by_name(names, of[rows])[0] for names, of in ((self.items, self.item), (self.sums.systems, self.system))
        )
        annotator, places = _by_name(self.annotators, self.annotator[rows])
        names = tuple(self.annotators[place] for place in places.tolist())
        return from_codes(fold(item, system).of, annotator, self.value[rows], names)


def _by_name(names: Sequence[str], of: Ints) -> tuple[Ints, Ints]:
    """Return the number of each in the order of the names that occur, and the places of these among the names."""
    there = np.flatnonzero(np.bincount(of))
    every = len(there) == len(names)
    own = names if every else [names[number] for number in there.tolist()]
    if len(own) <= FEW:
        order = np.array(sorted(range(len(own)), key=own.__getitem__), dtype=np.int64)
    else:
        order = pl.Series(own, dtype=pl.String).arg_sort().to_numpy()
    number = np.zeros(int(there[-1]) + 1, dtype=np.int64)
    number[there[order]] = np.arange(len(order))
    return number[of], there[order]


def counted_ratings(counted: CountedRatings) -> CountedRatings | None:
    """Return ratings with the sums that they need; none where some must be looked at one by one.

    Scores are whole, so that no order in which they are added up leaves a trace.
    """
    part = counted.sums
    if part.n_annotators < 2 or not answered_once(part) or not options_known(part, "item"):
        return None
    if not np.array_equal(np.rint(part.options), part.options):
        return None
    who = np.unique(part.scores["annotator"]["annotator"]).tolist()
    if any(counted.annotators[number].startswith(UNNAMED) for number in who):
        return None
    return replace(counted, sums=replace(part, pairs={}, scores={name: part.scores[name] for name in KEPT}))


def answered_counted(
    counted: Iterable[CountedRatings], plan: Plan, steps: Mapping[str, Steps | None]
) -> Iterator[tuple[str, str, Answered]]:
    """Yield group, criterion and what is known of their ratings."""
    for own in counted:
        part = own.sums
        known = answered_sums(part, steps.get(part.criterion), plan)
        yield part.group, part.criterion, replace(known, data=own.data)


def without_counted(table: pl.DataFrame, counted: Iterable[CountedRatings]) -> pl.DataFrame:
    """Return the rows of a table of ratings that are of other groups and criteria."""
    places = {(own.sums.group, own.sums.criterion) for own in counted}
    if not places:
        return table
    there = distinct(table, "group", "criterion").rows()
    others = [place for place in there if place not in places]
    if not others:
        return table.clear()
    kept = pl.DataFrame(others, schema=table.select("group", "criterion").schema, orient="row")
    return table.join(kept, on=["group", "criterion"], how="semi", maintain_order="left")
