"""What moves a rating beside the output: its place on the form, and how good the output read before it was."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from analysis.serial_context.sequence import Sequence
from analysis.statistics.coding import Floats, Ints
from analysis.statistics.reasons import Reason, why
from analysis.statistics.t_tests import TTest, no_test, t_of_estimate

FEWEST = 10  # annotators, from which on a test clustered by them holds its level
ENOUGH = 1e-9  # what is left of a regressor, beside what it was, below which it says nothing
SWEEPS = 500  # of taking means out; each leaves a fraction of what the last left
STILL = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Effect:
    """A slope with its test, and what it rests on."""

    test: TTest
    n_annotators: int
    n_outputs: int


def position_effect(sequence: Sequence, *, confidence: float) -> Effect | Reason:
    """Estimate by how much a rating changes with each further place on the form.

    y = annotator + output + slope · place, by least squares with a mean for each annotator and output; variance
    clustered by annotator (CR1, parameters of annotators not counted), t with annotators - 1 degrees of freedom.

    References
    ----------
    Cameron, A. C. and Miller, D. L. (2015). A practitioner's guide to cluster-robust inference. Journal of Human
    Resources 50(2), 317-372.
    """
    kept = _answered_twice(sequence.output)
    own = sequence.rows(kept)
    return _fit(own, own.place[:, None].astype(np.float64), confidence)


def previous_effect(sequence: Sequence, *, confidence: float) -> Effect | Reason:
    """Estimate by how much a rating changes with the quality of the output read before it, the place held constant.

    Quality is the mean by other annotators, each measured from the annotator's own mean. It is uncertain where few
    rated an output, which draws the slope towards 0.
    """
    quality = quality_by_others(sequence)
    before = np.full(len(sequence), np.nan)
    if len(sequence):
        follows = np.r_[False, np.diff(sequence.form) == 0]
        before[follows] = quality[np.flatnonzero(follows) - 1]
    kept = ~np.isnan(before)
    while kept.any():  # an output that nobody else rated after another one is explained by its own mean
        again = kept.copy()
        again[kept] = _answered_twice(sequence.output[kept])
        if (again == kept).all():
            break
        kept = again
    own = sequence.rows(kept)
    return _fit(own, np.column_stack((before[kept], own.place.astype(np.float64))), confidence)


def quality_by_others(sequence: Sequence) -> Floats:
    """Return for each answer the mean of the others' answers to its output, from their own means; NaN: nobody else."""
    centred = sequence.value - _means(sequence.annotator, sequence.value)
    n = np.bincount(sequence.output, minlength=1)
    total = np.bincount(sequence.output, weights=centred, minlength=1)
    both = sequence.annotator * (int(sequence.output.max(initial=0)) + 1) + sequence.output
    _, of, own_n = np.unique(both, return_inverse=True, return_counts=True)
    own = np.bincount(of, weights=centred, minlength=1)[of]
    others = n[sequence.output] - own_n[of]
    quality: Floats = np.where(others > 0, (total[sequence.output] - own) / np.maximum(others, 1), np.nan)
    return quality


def _answered_twice(output: Ints) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    return np.bincount(output, minlength=1)[output] > 1


def _means(of: Ints, values: Floats) -> Floats:
    counts = np.maximum(np.bincount(of, minlength=1), 1)
    means: Floats = (np.bincount(of, weights=values, minlength=1) / counts)[of]
    return means


def _without_means(values: Floats, *by: Ints) -> Floats:
    """Take the means of each grouping out, in turn, until nothing moves."""
    left = values.copy()
    scale = float(np.abs(values).max(initial=0.0)) or 1.0
    for _ in range(SWEEPS):
        moved = 0.0
        for of in by:
            means = _means(of, left)
            left = left - means
            moved = max(moved, float(np.abs(means).max(initial=0.0)))
        if moved <= STILL * scale:
            break
    return left


def _fit(sequence: Sequence, x: Floats, confidence: float) -> Effect | Reason:
    """Fit the first column of ``x`` with the others held constant."""
    annotators, outputs = len(np.unique(sequence.annotator)), len(np.unique(sequence.output))
    n, parameters = len(sequence), outputs + x.shape[1]
    if annotators < 2 or n <= annotators + parameters:
        return why("few_units_for_model", n=n, parameters=annotators + parameters)
    by = sequence.annotator, sequence.output
    y = _without_means(sequence.value, *by)
    columns = np.column_stack([_without_means(column, *by) for column in x.T])
    if (np.abs(columns).max(axis=0) <= ENOUGH * np.maximum(np.abs(x).max(axis=0), 1.0)).any():
        return why("one_side_constant")
    inverse = np.linalg.pinv(columns.T @ columns)
    slopes = inverse @ columns.T @ y
    residual = y - columns @ slopes
    scores = np.column_stack([np.bincount(sequence.annotator, weights=column * residual) for column in columns.T])
    factor = annotators / (annotators - 1) * (n - 1) / (n - parameters)
    variance = factor * (inverse @ (scores.T @ scores) @ inverse)[0, 0]
    slope = float(slopes[0])
    if annotators < FEWEST:
        test = no_test(n, slope, None, why("few_annotators_for_cluster", n=annotators, needed=FEWEST))
    elif variance <= STILL * slope**2 or variance <= 0:
        test = no_test(n, slope, None, why("no_variation"))
    else:
        test = t_of_estimate(n, slope, None, 0.0, math.sqrt(variance), annotators - 1, confidence)
    return Effect(test=test, n_annotators=annotators, n_outputs=outputs)
