"""How well one person agrees with the others: what a machine can be measured against."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from analysis.correlations.coefficients import FEWEST
from analysis.correlations.levels import add_up, clean_sums
from analysis.statistics.coding import Floats, Ints, fold


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OneAgainstOthers:
    """Scores of one annotator and the means of all others (or of all) for the same outputs."""

    annotator: int
    output: Ints
    own: Floats
    others: Floats


def one_against_others(
    annotator: Ints, output: Ints, score: Floats, *, included: bool = False
) -> Iterator[OneAgainstOthers]:
    """Yield each annotator's scores beside the means of the other annotators.

    others = (Σ - own sum) / (N - own count) output by output; an output that nobody else scored is
    left out, and so is an annotator with fewer than three outputs left. O(n log n) for all annotators.

    The mean of the others holds one person fewer than the mean that a machine is compared with, so
    the bound lies a little too low; the mean of all, own scores included, lies too high.

    Parameters
    ----------
    annotator, output : array of int, shape (n,)
        Who scored what.
    score : array of float, shape (n,)
        Higher or lower is better, the same for everybody.
    included : bool
        Compare with the mean of all, own scores included, as Chhun, Suchanek and Clavel (2024, section 4.1) do.

    References
    ----------
    Lau, J. H., Clark, A. and Lappin, S. (2014). Measuring gradience in speakers' grammaticality
    judgements. Proceedings of CogSci, 821-826 (one against the mean of the rest).

    >>> found = list(one_against_others(np.array([0, 0, 0, 1, 1, 1]), np.array([0, 1, 2] * 2), np.arange(6.0)))
    >>> found[0].others.tolist()
    [3.0, 4.0, 5.0]
    """
    n = int(output.max()) + 1 if len(output) else 0
    total, size = add_up(output, score, n), add_up(output, np.abs(score), n)
    count = np.bincount(output, minlength=n)
    own = fold(annotator, output)
    who, what = annotator[own.first], output[own.first]
    own_sum = add_up(own.of, score)
    own_count = np.bincount(own.of)
    left = count[what] - own_count
    there = left > 0
    rest = clean_sums(total[what], size[what]) / count[what]
    if not included:
        rest[there] = clean_sums(total[what] - own_sum, size[what])[there] / left[there]
    rest = rest[there]
    who, what, mean = who[there], what[there], (own_sum / own_count)[there]
    ends = np.flatnonzero(np.diff(who)) + 1
    for rows in np.split(np.arange(len(who)), ends):
        if len(rows) >= FEWEST:
            yield OneAgainstOthers(annotator=int(who[rows[0]]), output=what[rows], own=mean[rows], others=rest[rows])
