"""Pairwise accuracy with ties: of all pairs of outputs of one item, how many two measures order alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from analysis.correlations.coefficients import round_significant
from analysis.correlations.levels import PairedScores, grids, sign_of
from analysis.correlations.scores import Scores, common_outputs, pair_scores
from analysis.statistics.coding import Ints, fold

LEAST = 0.5  # share of the pairs of people's outputs that a measure must have scored; one with less has no accuracy


@dataclass(frozen=True, slots=True, kw_only=True)
class PairwiseAccuracy:
    """Mean over items of the share of pairs that two measures order alike, or both tie; ``None`` without a pair."""

    value: float | None
    n_items: int
    n_pairs: int


def pairwise_accuracy(paired: PairedScores) -> PairwiseAccuracy:
    """Return how often two measures agree which of two outputs of an item is better, or that neither is.

    acc = (concordant + tied in both) / pairs in each item, averaged over items with two outputs or more. A tie of one
    measure alone is an error, and an item that a measure does not tell apart counts, unlike in a mean of tau.

    References
    ----------
    Deutsch, D., Foster, G. and Freitag, M. (2023). Ties matter: meta-evaluating modern metrics with pairwise accuracy
    and tie calibration. EMNLP, section 5 (acc_eq, group-by-item).

    >>> alike, one_higher = np.array([3.0, 3.0, 3.0]), np.array([1.0, 2.0, 2.0])
    >>> scores = PairedScores(item=np.zeros(3, np.int64), system=np.arange(3), a=alike, b=one_higher)
    >>> pairwise_accuracy(scores).value.__round__(3)
    0.333
    """
    row = fold(paired.item).of
    kept = np.bincount(row, minlength=1)[row] >= 2
    if not kept.any():
        return PairwiseAccuracy(value=None, n_items=0, n_pairs=0)
    table = grids(row[kept], paired.system[kept], paired.a[kept], paired.b[kept])
    a, b = (np.ascontiguousarray(round_significant(side).T) for side in table)
    alike, pairs = (np.zeros(a.shape[1], dtype=np.int64) for _ in range(2))
    there = np.isfinite(a)
    for place in range(len(a) - 1):
        both = there[place + 1 :] & there[place]
        same = sign_of(a[place + 1 :], a[place]) == sign_of(b[place + 1 :], b[place])
        alike += (same & both).sum(axis=0)
        pairs += both.sum(axis=0)
    return PairwiseAccuracy(value=float(np.mean(alike / pairs)), n_items=len(pairs), n_pairs=int(pairs.sum()))


def common_accuracies(
    measures: Sequence[Scores], target: Scores, n_systems: int, *, lower_is_better: bool
) -> Mapping[str, PairwiseAccuracy]:
    """Return the accuracy of each measure with people by name, all on the same outputs.

    These are the outputs that people and all measures scored, but for measures of fewer than half of the pairs of
    people's outputs, which have none. Metrics are turned so that better goes with better.
    """
    least = max(LEAST * _pairs(target.output, n_systems), 1)
    whole = [own for own in measures if _pairs(common_outputs(own, target), n_systems) >= least]
    if not whole:
        return {}
    common = common_outputs(target, *whole)
    people = Scores(name=target.name, output=common, value=target.at(common))
    found = {}
    for own in whole:
        turned = own.name.startswith("metrics:") and own.direction != 0 and (own.direction < 0) != lower_is_better
        value = own.at(common)
        side = Scores(name=own.name, output=common, value=-value if turned else value)
        found[own.name] = pairwise_accuracy(pair_scores(side, people, n_systems))
    return found


def _pairs(output: Ints, n_systems: int) -> int:
    """Count the pairs of outputs of one item."""
    counts = np.bincount(output // n_systems, minlength=1)
    return int((counts * (counts - 1) // 2).sum())
