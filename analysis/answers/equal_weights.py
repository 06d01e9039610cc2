"""One vote an annotator: an answer of annotator a about a pair of systems weighs 1 / (G n_a).

G annotators answered about the pair, n_a answers are of a. Of LLMs with few annotators an assignment has the vote.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from analysis.statistics.coding import Floats, Ints, fold, snap
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


def items_of_counts(values: Floats, counts: Floats) -> WeighedItems:
    """Return the items of a pair about which everybody gave as many answers; each answer weighs the same."""
    n = float(counts.sum())
    return WeighedItems(mean=values, share=counts / n, square=counts / n**2)
