"""A cumulative logit model of ratings with the system as factor, fitted to the table of systems by ratings.

Equal to statsmodels' OrderedModel, which takes 15 times as long for 800 ratings and 75 times for 10,000.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import expit, logit

from analysis.statistics.coding import Floats, Ints, fold
from analysis.statistics.graphs import connected_parts
from analysis.statistics.reasons import Reason, why

MOST_CATEGORIES = 11
TOO_MANY = why("too_many_steps", most=MOST_CATEGORIES)
ONE_CATEGORY = why("ratings_alike")
SEPARATED = why("separated")
NOT_CONVERGED = why("not_converged")
NO_SPREAD = why("units_alike")
ROUNDING = 1e-12  # a variance this small beside those of the two systems is what rounding left of none
FLOOR = 1e-14  # and so is one of log-odds below this: the fit itself is no more exact
STEPS, SMALL = 100, 1e-10


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OrdinalFit:
    """Log-odds of higher ratings by system, shape (n_systems,), and their covariance.

    Only differences between systems of one ``part`` mean something: the first of each part is 0 and NaN is a
    system without ratings. ``thresholds`` are those of each part.
    """

    log_odds: Floats
    covariance: Floats
    part: Ints
    thresholds: tuple[Floats, ...]
    n_clusters: int
    log_likelihood: float
    reason: Reason | None = None

    def difference(self, x: int, y: int) -> tuple[float | None, float | None, Reason | None]:
        """Return x minus y and its standard error, or why there is none."""
        if self.reason is not None:
            return None, None, self.reason
        if self.part[x] != self.part[y] or self.part[x] < 0:
            return None, None, SEPARATED
        n_parameters = int(np.sum(self.part == self.part[x])) - 1 + len(self.thresholds[self.part[x]])
        if self.n_clusters <= n_parameters:
            return None, None, why("few_units_for_model", n=self.n_clusters, parameters=n_parameters)
        own = self.covariance[x, x] + self.covariance[y, y]
        variance = own - 2 * self.covariance[x, y]
        if not variance > max(ROUNDING * own, FLOOR):
            return None, None, NO_SPREAD
        return float(self.log_odds[x] - self.log_odds[y]), float(np.sqrt(variance)), None


def fit_ordinal(
    scores: Sequence[float] | Floats,
    systems: Sequence[int] | Ints,
    clusters: Sequence[Any] | Ints,
    *,
    n_systems: int | None = None,
) -> OrdinalFit:
    """Fit logit P(score <= c) = threshold_c - log_odds_system by maximum likelihood.

    Each system shifts the odds of a higher rating by one factor at every step (proportional odds). The
    covariance is H⁻¹ (Σ_g s_g s_g') H⁻¹ G / (G - 1) with the scores s_g added up by cluster. Systems between
    which no finite odds exist (all ratings of some at or above all of the others) are fitted apart.

    Parameters
    ----------
    scores : array of float, shape (n,)
        Ratings; their distinct values are the categories, at most 11.
    systems : array of int, shape (n,)
        Number of the system of each, from 0.
    clusters : array of ids, shape (n,)
        What hangs together: the annotator, or the item.
    n_systems : int, optional
        How many systems there are; by default the largest number and one.

    References
    ----------
    McCullagh, P. (1980). Regression models for ordinal data. JRSS B, 42(2), 109-142. Liang and Zeger (1986).
    """
    value, system = np.asarray(scores, dtype=np.float64), np.asarray(systems, dtype=np.int64)
    cluster = np.unique(np.asarray(clusters), return_inverse=True)[1].astype(np.int64)
    k = int(system.max()) + 1 if n_systems is None else n_systems
    categories, category = np.unique(value, return_inverse=True)
    n_clusters = int(cluster.max()) + 1
    if not 1 < len(categories) <= MOST_CATEGORIES:
        return _unfitted(k, n_clusters, ONE_CATEGORY if len(categories) == 1 else TOO_MANY)
    cell = fold(cluster, system, category.astype(np.int64))
    counted = Counted(
        cluster=cluster[cell.first],
        system=system[cell.first],
        category=category[cell.first].astype(np.int64),
        n=np.bincount(cell.of).astype(np.float64),
    )
    return fit_counted(counted, k, n_clusters)


def fit_counted(counted: Counted, k: int, n_clusters: int) -> OrdinalFit:
    """Do the same for k systems, with the ratings counted; every category was given."""
    n_categories = int(counted.category.max()) + 1
    if not 1 < n_categories <= MOST_CATEGORIES:
        return _unfitted(k, n_clusters, ONE_CATEGORY if n_categories == 1 else TOO_MANY)
    place = counted.system * n_categories + counted.category
    given = np.bincount(place, weights=counted.n, minlength=k * n_categories).astype(np.float64)
    part = _parts(given.reshape(k, -1))
    log_odds, covariance, likelihood = np.full(k, np.nan), np.zeros((k, k)), 0.0
    thresholds: list[Floats] = []
    for number in range(int(part.max()) + 1):
        members = np.flatnonzero(part == number)
        found = _fit(counted.of(members), len(members), n_clusters)
        if found is None:
            return _unfitted(k, n_clusters, NOT_CONVERGED)
        log_odds[members] = found[0]
        covariance[np.ix_(members, members)] = found[1]
        thresholds.append(found[2])
        likelihood += found[3]
    return OrdinalFit(
        log_odds=log_odds,
        covariance=covariance,
        part=part,
        thresholds=tuple(thresholds),
        n_clusters=n_clusters,
        log_likelihood=likelihood,
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Counted:
    """How often each cluster gave each category to each system."""

    cluster: Ints
    system: Ints
    category: Ints
    n: Floats

    def of(self, members: Ints) -> Counted:
        """Keep some systems, numbered anew, as are the categories that they got."""
        kept = np.isin(self.system, members)
        return Counted(
            cluster=self.cluster[kept],
            system=np.searchsorted(members, self.system[kept]).astype(np.int64),
            category=np.unique(self.category[kept], return_inverse=True)[1].astype(np.int64),
            n=self.n[kept],
        )


def _unfitted(k: int, n_clusters: int, reason: Reason) -> OrdinalFit:
    return OrdinalFit(
        log_odds=np.full(k, np.nan),
        covariance=np.zeros((k, k)),
        part=np.full(k, -1, dtype=np.int64),
        thresholds=(),
        n_clusters=n_clusters,
        log_likelihood=0.0,
        reason=reason,
    )


def _parts(table: Floats) -> Ints:
    """Give two systems one number where their difference has a finite estimate.

    Two systems belong together where each has a rating below some of the other's; chains of these do as well.
    """
    seen = table.sum(axis=1) > 0
    low = np.argmax(table > 0, axis=1)
    high = table.shape[1] - 1 - np.argmax(table[:, ::-1] > 0, axis=1)
    linked = (low[:, None] < high[None, :]) & (low[None, :] < high[:, None])
    part = np.full(len(seen), -1, dtype=np.int64)
    part[seen] = connected_parts(linked[np.ix_(seen, seen)])
    return part


def _fit(counted: Counted, k: int, n_clusters: int) -> tuple[Floats, Floats, Floats, float] | None:
    """Fit one part by Newton's method: log-odds, their covariance, thresholds, log-likelihood."""
    n_steps = int(counted.category.max())
    if n_steps == 0:
        return (np.zeros(1), np.zeros((1, 1)), np.zeros(0), 0.0) if k == 1 else None
    table = np.zeros((k, n_steps + 1))
    np.add.at(table, (counted.system, counted.category), counted.n)
    start = logit(np.cumsum(table.sum(axis=0))[:-1] / table.sum())
    estimate = np.concatenate([start, np.zeros(k - 1)])
    value, score, hessian = _likelihood(table, estimate, n_steps)
    for _ in range(STEPS):
        gradient = table.ravel() @ score.reshape(table.size, -1)
        try:
            step = np.linalg.solve(hessian, gradient)
        except np.linalg.LinAlgError:
            return None
        if not np.isfinite(step).all():
            return None
        size = 1.0
        while size > SMALL:
            tried = estimate - size * step
            if np.all(np.diff(tried[:n_steps]) > 0):
                found = _likelihood(table, tried, n_steps)
                if found[0] >= value - 1e-12 * abs(value):
                    break
            size /= 2
        else:
            return None
        estimate, (value, score, hessian) = tried, found
        if np.abs(step).max() < SMALL:
            break
    else:
        return None
    bread = np.linalg.inv(-hessian)[n_steps:]
    by_cluster = sp.csr_array(
        (counted.n, (counted.cluster, counted.system * (n_steps + 1) + counted.category)),
        shape=(n_clusters, k * (n_steps + 1)),
    )
    sums: Floats = np.asarray(by_cluster @ score.reshape(k * (n_steps + 1), -1))
    sums = sums[np.lexsort(sums.T)]  # so that the order of the clusters leaves no trace in the last bit
    factor = n_clusters / max(n_clusters - 1, 1)
    covariance = np.zeros((k, k))
    covariance[1:, 1:] = factor * bread @ (sums.T @ sums) @ bread.T
    return np.concatenate([[0.0], estimate[n_steps:]]), covariance, estimate[:n_steps], value


def _likelihood(table: Floats, estimate: Floats, n_steps: int) -> tuple[float, Floats, Floats]:
    """Return the log-likelihood, the score of one rating by (system, category, parameter), and the Hessian."""
    k, n = table.shape[0], len(estimate)
    shift = np.concatenate([[0.0], estimate[n_steps:]])
    share = np.zeros((k, n_steps + 2))  # P(score <= category), from none to all
    share[:, 1:-1] = expit(estimate[:n_steps][None, :] - shift[:, None])
    share[:, -1] = 1.0
    slope = share * (1 - share)
    bend = slope * (1 - 2 * share)
    toward = np.zeros((k, n_steps + 2, n))  # derivative of threshold minus shift
    inner = np.arange(n_steps)
    toward[:, inner + 1, inner] = 1.0
    rows = np.arange(1, k)
    toward[rows, :, n_steps + rows - 1] = -1.0
    toward[:, [0, -1]] = 0.0
    chance = np.maximum(np.diff(share, axis=1), 1e-300)
    first = np.diff(slope[:, :, None] * toward, axis=1)
    score = first / chance[:, :, None]
    weight = table / chance
    second = _squares(bend[:, 1:] * weight, toward[:, 1:])
    second -= _squares(bend[:, :-1] * weight, toward[:, :-1])
    second -= _squares(table, score)
    return float(np.sum(table * np.log(chance))), score, second


def _squares(weight: Floats, vectors: Floats) -> Floats:
    """Add up the products of each (system, category)'s vector with itself, weighted."""
    rows = vectors.reshape(weight.size, -1)
    added: Floats = (rows * weight.reshape(-1, 1)).T @ rows
    return added
