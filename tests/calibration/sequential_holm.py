"""Holm's correction of always-valid p-values, beside the closed test of the product."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from analysis.sequential.bets import bets_of, log_e_values, log_factors
from analysis.sequential.family import NAMES, OPEN, X, Y, two_sided_peak
from analysis.sequential.replay import Replay
from analysis.sequential.rule import StoppingRule
from analysis.statistics.coding import Floats


def rejected(peak: Floats, error_rate: float) -> npt.NDArray[np.bool_]:
    """Return which hypotheses Holm rejects, by the largest e-values for x and for y so far, shape (..., k, 2)."""
    strength = two_sided_peak(peak)
    ordered = -np.sort(-strength, axis=-1)
    left = ordered < np.log(np.arange(ordered.shape[-1], 0, -1) / error_rate)
    left = np.logical_or.accumulate(left, axis=-1).sum(axis=-1, keepdims=True)
    return np.asarray(strength >= np.log(np.maximum(left, 1) / error_rate))


def holm_replay(values: Floats, rule: StoppingRule) -> Replay:
    """Decide unit by unit as :func:`~analysis.sequential.replay.replay`, without margin and futility."""
    shape = (*values.shape[:-2], values.shape[-1])
    log_capital, peak = np.zeros((*shape, *bets_of(rule).amount.shape)), np.zeros((*shape, 2))
    marks, decided_at, n = (np.zeros(shape, dtype=np.int64) for _ in range(3))
    for unit in range(values.shape[-2]):
        used = np.where(marks == OPEN, values[..., unit, :], np.nan)
        log_capital += log_factors(used, bets_of(rule))
        peak = np.maximum(peak, log_e_values(log_capital))
        n += np.isfinite(used)
        new = (marks == OPEN) & rejected(peak, rule.error_rate) & (n >= rule.least)
        marks = np.where(new, np.where(peak[..., 0] > peak[..., 1], X, Y), marks)
        decided_at = np.where(new, unit + 1, decided_at)
    return Replay(decisions=NAMES[marks], decided_at=decided_at, n=n)
