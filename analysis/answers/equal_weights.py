"""One vote an annotator: an answer of annotator a about a pair of systems weighs 1 / (G n_a).

G annotators answered about the pair, n_a answers are of a. Of LLMs with few annotators an assignment has the vote.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from analysis.statistics.cell_sums import CellSums
from analysis.statistics.coding import Floats, Ints, fold, snap, split_by
from analysis.statistics.weighed_items import WeighedItems

MOST_SHARE: Final = 0.5  # of a pair's answers that one annotator gave, from which on there is a caveat,
MOST_TIMES: Final = 1.5  # where it is also so many times an equal share


def gave_most(most: float, used: float, n_annotators: int) -> bool:
    """Say whether one annotator gave half of the answers or more, and at least 1.5 times an equal share.

    >>> gave_most(200, 210, 6), gave_most(100, 200, 2), gave_most(20, 20, 1)
    (True, False, False)
    """
    share = max(MOST_SHARE, MOST_TIMES / max(n_annotators, 1))
    return n_annotators > 1 and most >= share * used


def equal_weights(part: Ints, who: Ints, n_parts: int) -> Floats:
    """Return the weight of each answer to its part, so that everybody who answered weighs the same; they add up to 1.

    >>> equal_weights(np.array([0, 0, 0, 1]), np.array([5, 5, 7, 5]), 2).tolist()
    [0.25, 0.25, 0.5, 1.0]
    """
    folded = fold(part, who)
    answers = np.bincount(folded.of, minlength=len(folded))
    people = np.bincount(part[folded.first], minlength=n_parts)
    weights: Floats = 1 / (people[part] * answers[folded.of])
    return weights


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AnnotatorTotals:
    """The values of one pair by annotator (LLM: assignment), shape (n_annotators,).

    Attributes
    ----------
    who : array of int
        Numbers of the annotators.
    count, total : array of float
        How many values each gave, and their sum.
    answers : array of float
        How many answers these are made of; of differences, ratings of both systems.
    """

    who: Ints
    count: Floats
    total: Floats
    answers: Floats

    @property
    def even(self) -> bool:
        """Whether everybody gave as many values."""
        return float(self.count.min()) == float(self.count.max())

    @property
    def estimate(self) -> float:
        """Mean of the annotators' means."""
        return math.fsum((self.total / self.count).tolist()) / len(self.count)

    @property
    def pooled(self) -> float:
        """Mean of all values."""
        return math.fsum(self.total.tolist()) / math.fsum(self.count.tolist())

    @property
    def most(self) -> int:
        """Answers of the annotator who gave most."""
        return round(float(self.answers.max()))

    @property
    def used(self) -> int:
        """Answers of all."""
        return round(float(self.answers.sum()))

    @property
    def one_gave_most(self) -> bool:
        """Whether one annotator gave most of the answers (:func:`gave_most`)."""
        return gave_most(self.most, self.used, len(self.count))

    def busiest(self) -> int | None:
        """Return the number of the annotator who gave most answers; ``None`` where several gave as many."""
        first = np.flatnonzero(self.answers == self.answers.max())
        return int(self.who[first[0]]) if len(first) == 1 else None

    def without(self, who: int | None) -> AnnotatorTotals | None:
        """Return the sums of the others; ``None`` for nobody, or where nobody is left."""
        if who is None:
            return None
        rest = self.who != who
        columns = (column[rest] for column in (self.who, self.count, self.total, self.answers))
        who_, count, total, answers = columns
        return AnnotatorTotals(who=who_, count=count, total=total, answers=answers) if len(count) else None


def weight_fields(people: AnnotatorTotals, printed: float, *, against: float, scale: float) -> dict[str, Any]:
    """Return the fields of a test row that say who gave the answers, and what other weights would give."""
    others = people.without(people.busiest())
    return {
        "n_used": people.used,
        "most_of_one": people.most,
        "one_gave_most": people.one_gave_most,
        **compared_weights(
            printed,
            equal=people.estimate,
            pooled=people.pooled,
            others=None if others is None else others.estimate,
            against=against,
            scale=scale,
        ),
    }


def _together(x: AnnotatorTotals, y: AnnotatorTotals) -> AnnotatorTotals:
    """Count the ratings of two systems by annotator."""
    who = np.union1d(x.who, y.who)
    answers = np.zeros(len(who))
    for side in (x, y):
        answers[np.searchsorted(who, side.who)] += side.answers
    return AnnotatorTotals(who=who, count=answers, total=answers, answers=answers)


def have_votes(x: AnnotatorTotals, y: AnnotatorTotals) -> bool:
    """Say whether annotators weigh the same in a test of all ratings of two systems, not ratings.

    They do where both systems have several. Beside a system that one annotator rated, annotators are taken as they are.
    """
    return min(len(x.who), len(y.who)) > 1


def one_gave_most(x: AnnotatorTotals, y: AnnotatorTotals) -> bool:
    """Say whether one annotator gave most of the ratings of two systems (:func:`gave_most`)."""
    return _together(x, y).one_gave_most


def unpaired_weight_fields(
    x: AnnotatorTotals, y: AnnotatorTotals, printed: float, *, scale: float, partly: bool = False
) -> dict[str, Any]:
    """Do what :func:`weight_fields` does for a difference of means of ratings that do not pair.

    ``partly``: some of them do; then everybody weighs the same in both systems together, not in each.
    """
    both = _together(x, y)
    of_answers = [float(snap(np.array([side.pooled]), scale=scale)[0]) for side in (x, y)]  # as the means are
    pooled = of_answers[0] - of_answers[1]
    equal = x.estimate - y.estimate if have_votes(x, y) else pooled
    if partly:
        means = [_mean_of_equals(side, both) for side in (x, y)]
        equal = means[0] - means[1]
    others = [side.without(both.busiest()) for side in (x, y)]
    left = [side.estimate for side in others if side is not None]
    return {
        "n_used": both.used,
        "most_of_one": both.most,
        "one_gave_most": both.one_gave_most,
        **compared_weights(
            printed,
            equal=equal,
            pooled=pooled,
            others=left[0] - left[1] if len(left) == 2 else None,
            against=0.0,
            scale=scale,
        ),
    }


def _mean_of_equals(side: AnnotatorTotals, both: AnnotatorTotals) -> float:
    """Return the mean of one system, where everybody weighs the same in both together."""
    answers = both.answers[np.searchsorted(both.who, side.who)]
    return math.fsum((side.total / answers).tolist()) / math.fsum((side.count / answers).tolist())


def compared_weights(
    printed: float, *, equal: float, pooled: float, others: float | None, against: float, scale: float
) -> dict[str, Any]:
    """Return ``pooled_estimate``, ``others_estimate`` and ``weights_reverse``; noise of sums is no difference."""

    def rounded(value: float) -> float:
        return float(snap(np.array([value]), scale=scale)[0])

    sides = [math.copysign(1, rounded(value - against)) if rounded(value - against) else 0 for value in (equal, pooled)]
    return {
        "pooled_estimate": None if rounded(pooled - printed) == 0 else rounded(pooled),
        "others_estimate": None if others is None else rounded(others),
        "weights_reverse": sides[0] * sides[1] < 0,
    }


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Answers:
    """Values of pairs of systems, one a row: which pair, by whom, about which item, made of how many answers."""

    pair: Ints
    value: Floats
    who: Ints
    item: Ints
    answers: Floats | None = None


class PairWeights:
    """The sums of a part's pairs by annotator, and of its items with everybody weighing the same; each made once.

    Parameters
    ----------
    parts : callable
        Returns the values, some at a time; called for the sums by annotator, and again for those by item.
    n_pairs : int
        One more than the largest number of a pair.
    width : mapping of str to int
        One more than the largest number of ``who`` and ``item``.
    scale : float
        Largest size of the answers; means are rounded to 13 digits of it.
    """

    def __init__(
        self, parts: Callable[[], Iterable[Answers]], n_pairs: int, *, width: Mapping[str, int], scale: float
    ) -> None:
        self._parts, self._n_pairs, self._width, self._scale = parts, n_pairs, width, scale
        self._people: list[AnnotatorTotals | None] | None = None
        self._items: dict[int, WeighedItems] | None = None
        self._key: Ints = np.zeros(0, dtype=np.int64)
        self._weight: Floats = np.zeros(0)

    def people(self, pair: int) -> AnnotatorTotals:
        """Return the sums of a pair that has values, by annotator."""
        if self._people is None:
            self._people = self._by_annotator()
        found = self._people[pair]
        assert found is not None
        return found

    def items(self, pair: int) -> WeighedItems:
        """Return the weighed answers of a pair by item."""
        if self._items is None:
            self._items = self._by_item()
        return self._items[pair]

    def _by_annotator(self) -> list[AnnotatorTotals | None]:
        width = self._width["who"]
        values, made = CellSums(self._n_pairs * width), CellSums(self._n_pairs * width)
        for part in self._parts():
            key = part.pair * width + part.who
            values.add(key, part.value)
            if part.answers is not None:
                made.add(key, part.answers)
        key, count, total = values.found()
        answers = made.found()[2]
        pair, who = key // width, key % width
        people = np.bincount(pair, minlength=self._n_pairs)
        self._key, self._weight = key, 1 / (people[pair] * count)
        return annotator_sums(pair, who, count, total, answers if len(answers) else count, self._n_pairs)

    def _by_item(self) -> dict[int, WeighedItems]:
        width, known = self._width["item"], self._width["who"]
        uneven = np.array([own is not None and not own.even for own in self._people or ()], dtype=np.bool_)
        sums = [CellSums(self._n_pairs * width) for _ in range(3)]
        for part in self._parts():
            there = uneven[part.pair]
            pair, who, value = part.pair[there], part.who[there], part.value[there]
            weight = self._weight[np.searchsorted(self._key, pair * known + who)]
            key = pair * width + part.item[there]
            for column, added in zip(sums, (weight, weight**2, weight * value), strict=True):
                column.add(key, added)
        (key, _, share), (_, _, square), (_, _, total) = (column.found() for column in sums)
        return weighed_items(key // width, share, square, total, self._n_pairs, scale=self._scale)


def annotator_sums(
    pair: Ints, who: Ints, count: Floats, total: Floats, answers: Floats, n_pairs: int
) -> list[AnnotatorTotals | None]:
    """Split sums by pair and annotator into those of each pair; ``None`` for a pair without values."""
    columns = [who.astype(np.float64), *(column.astype(np.float64) for column in (count, total, answers))]
    found = zip(*(split_by(pair, column, n_pairs) for column in columns), strict=True)
    return [
        AnnotatorTotals(who=own[0].astype(np.int64), count=own[1], total=own[2], answers=own[3])
        if len(own[0])
        else None
        for own in found
    ]


def weighed_items(
    pair: Ints, share: Floats, square: Floats, total: Floats, n_pairs: int, *, scale: float
) -> dict[int, WeighedItems]:
    """Split weighed sums by pair and item into those of each pair that has some."""
    columns = (share, square, snap(total / share, scale=scale, digits=13))
    found = zip(*(split_by(pair, column, n_pairs) for column in columns), strict=True)
    return {
        number: WeighedItems(share=own[0], square=own[1], mean=own[2])
        for number, own in enumerate(found)
        if len(own[0])
    }


def items_of_counts(values: Floats, counts: Floats) -> WeighedItems:
    """Return the items of a pair about which everybody gave as many answers; each answer weighs the same."""
    n = float(counts.sum())
    return WeighedItems(mean=values, share=counts / n, square=counts / n**2)
