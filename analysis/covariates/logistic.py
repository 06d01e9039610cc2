"""Logistic regression of comparisons on the two systems and on covariates of their outputs, with clustered errors.

statsmodels' GLM fits the same, eight times as slowly (an indicator a system); tests compare both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_array

from analysis.statistics.coding import Floats, Ints, fold
from analysis.statistics.reasons import Reason, why
from analysis.strengths.steps import climb

SAME = 1e-9  # share of a covariate's squares that is rounding
SMALL = 1e-9  # step after which a fit is exact
STEPS = 60
FARTHEST = 30.0  # log odds that no finite estimate has


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Compared:
    """Comparisons: x won the share ``won`` of y; ``covariates`` are those of x less those of y, a column each."""

    x: Ints
    y: Ints
    won: Floats
    covariates: Floats
    n_systems: int

    def __len__(self) -> int:
        """Return the number of comparisons."""
        return len(self.x)

    @property
    def n_parameters(self) -> int:
        """Numbers that are estimated: strengths less one, and effects."""
        return self.n_systems - 1 + int(self.covariates.shape[1])

    def eta(self, at: Floats) -> Floats:
        """Return the log odds that x wins: ``at`` are the strengths, then the effects."""
        k = self.n_systems
        found: Floats = at[self.x] - at[self.y] + self.covariates @ at[k:]
        return found

    def gradient(self, residual: Floats) -> Floats:
        """Add up residuals by parameter."""
        k = self.n_systems
        net = np.bincount(self.x, residual, k) - np.bincount(self.y, residual, k)
        return np.concatenate([net, self.covariates.T @ residual])

    def information(self, weight: Floats) -> Floats:
        """Return the weighted cross products of the design, made regular by the mean of all strengths."""
        k, p = self.n_systems, self.covariates.shape[1]
        met = np.bincount(self.x * k + self.y, weight, k * k).reshape(k, k)
        met = met + met.T
        whole = np.zeros((k + p, k + p))
        whole[:k, :k] = np.diag(met.sum(axis=1)) - met + 1.0 / k
        for place in range(p):
            column = weight * self.covariates[:, place]
            whole[:k, k + place] = np.bincount(self.x, column, k) - np.bincount(self.y, column, k)
            whole[k + place, :k] = whole[:k, k + place]
            whole[k + place, k:] = column @ self.covariates
        return whole

    def scores(self, residual: Floats) -> csr_array:
        """Return what each comparison adds to the gradient, a row each."""
        n, (k, p) = len(self), (self.n_systems, self.covariates.shape[1])
        values = np.column_stack([residual, -residual, self.covariates * residual[:, None]])
        columns = np.column_stack([self.x, self.y, np.broadcast_to(np.arange(k, k + p), (n, p))])
        ends = np.arange(n + 1) * (2 + p)
        return csr_array((values.ravel(), columns.ravel(), ends), shape=(n, k + p))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LogisticFit:
    """Strengths (natural log, mean zero), effects of covariates, and their standard errors where clusters give some.

    ``dropped`` says of each covariate why it has no effect; its effect is NaN. ``reason`` says why there is no fit,
    ``no_interval`` why there are no standard errors.
    """

    strength: Floats
    effect: Floats
    dropped: tuple[Reason | None, ...]
    reason: Reason | None = None
    se_strength: Floats | None = None
    se_effect: Floats | None = None
    n_clusters: int | None = None
    no_interval: Reason | None = None
    covariance: Floats | None = None  # of strengths and kept effects


def fit_logistic(rows: Compared, clusters: Sequence[Ints] = ()) -> LogisticFit:
    """Fit strengths and effects; standard errors by one clustering or by two at once.

    Parameters
    ----------
    rows : Compared
        Comparisons of systems that all have a finite strength (:func:`analysis.strengths.existence`).
    clusters : sequence of array of int
        One clustering, or two whose errors are added less those of their cells (Cameron, Gelbach and Miller, 2011);
        none: no standard errors. Each sandwich has the factor G / (G - 1) times (n - 1) / (n - parameters).

    Notes
    -----
    A covariate that is 0 everywhere, that follows from which systems are compared, or from covariates before it, is
    left out with a reason. Where some comparisons can be told with certainty there is no finite fit.

    Where a variance of two clusterings is not positive, the larger of the two one-way variances stands for it.
    """
    k, p = rows.n_systems, rows.covariates.shape[1]
    dropped = tuple(left_out(rows))
    kept = [place for place in range(p) if dropped[place] is None]
    scale = rows.covariates[:, kept].std(axis=0) if kept else np.ones(0)
    own = replace(rows, covariates=rows.covariates[:, kept] / scale)
    none = LogisticFit(strength=np.full(k, np.nan), effect=np.full(p, np.nan), dropped=dropped)
    at = _highest(own)
    if at is None:
        return replace(none, reason=why("told_with_certainty"))
    unscaled = np.concatenate([np.ones(k), 1 / scale])
    effect = np.full(p, np.nan)
    effect[kept] = (at * unscaled)[k:]
    found = replace(none, strength=at[:k], effect=effect)
    if not clusters:
        return found
    if len(rows) <= rows.n_parameters:
        return replace(found, no_interval=why("no_error_left"))
    covariance, n_clusters = _covariance(own, at, clusters)
    covariance = covariance * np.outer(unscaled, unscaled)
    se = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    se_effect = np.full(p, np.nan)
    se_effect[kept] = se[k:]
    return replace(found, se_strength=se[:k], se_effect=se_effect, n_clusters=n_clusters, covariance=covariance)


def left_out(rows: Compared) -> list[Reason | None]:
    """Say of each covariate why it cannot be told from the systems, or from those before it."""
    found: list[Reason | None] = []
    columns: list[Floats] = []
    for column in rows.covariates.T:
        squares = float(column @ column)
        if not squares > 0:
            found.append(why("covariate_alike"))
            continue
        if not _rest(replace(rows, covariates=np.zeros((len(rows), 0))), column) > SAME * squares:
            found.append(why("confounded_with_systems"))
            continue
        before = replace(rows, covariates=np.column_stack([*columns, np.zeros((len(rows), 0))]))
        if columns and not _rest(before, column) > SAME * squares:
            found.append(why("confounded_with_covariates"))
            continue
        columns.append(column / np.sqrt(squares / len(rows)))
        found.append(None)
    return found


def _rest(rows: Compared, column: Floats) -> float:
    """Return the squares of a column that systems and covariates leave (least squares)."""
    left = column
    inverse = np.linalg.pinv(rows.information(np.ones(len(rows))), hermitian=True)
    for _ in range(2):  # the second time takes away the rounding of the first
        left = left - rows.eta(inverse @ rows.gradient(left))
    return float(left @ left)


def _highest(rows: Compared) -> Floats | None:
    """Return the highest likelihood's strengths and effects, ``None`` where it has no finite place."""
    at = np.zeros(rows.n_systems + rows.covariates.shape[1])

    def height_at(place: Floats) -> float:
        eta = rows.eta(place)
        return float(rows.won @ eta - np.logaddexp(0.0, eta).sum())

    height = height_at(at)
    for _ in range(STEPS):
        chance = _chance(rows.eta(at))
        try:
            found = np.linalg.solve(rows.information(chance * (1 - chance)), rows.gradient(rows.won - chance))
        except np.linalg.LinAlgError:
            return None
        step: Floats = found.astype(np.float64)
        at, height = climb(at, step, height, height_at)
        if np.abs(at).max() > FARTHEST:
            return None
        if np.abs(step).max() < SMALL:
            return at
    return None


def _covariance(rows: Compared, at: Floats, clusters: Sequence[Ints]) -> tuple[Floats, int]:
    """Return the sandwich over one clustering or two, and the number of clusters of the smaller."""
    chance = _chance(rows.eta(at))
    bread = np.linalg.inv(rows.information(chance * (1 - chance)))
    scores = rows.scores(rows.won - chance)
    n, correction = len(rows), (len(rows) - 1) / (len(rows) - rows.n_parameters)

    def sandwich(of: Ints, n_clusters: int) -> Floats:
        which = csr_array((np.ones(n), (of, np.arange(n))), shape=(n_clusters, n))
        summed = which @ scores
        meat = (summed.T @ summed).toarray()
        found: Floats = bread @ meat @ bread * (correction * n_clusters / (n_clusters - 1))
        return found

    folded = [fold(one) for one in clusters]
    least = min(map(len, folded))
    single = [sandwich(one.of, len(one)) for one in folded]
    if len(single) == 1:
        return single[0], least
    cells = fold(*clusters)
    both = single[0] + single[1] - sandwich(cells.of, len(cells))
    larger = np.maximum(np.diag(single[0]), np.diag(single[1]))
    variance = np.where(np.diag(both) > 0, np.diag(both), larger)
    np.fill_diagonal(both, variance)
    return both, least


def _chance(eta: Floats) -> Floats:
    chance: Floats = 1 / (1 + np.exp(-np.clip(eta, -700, 700)))
    return chance
