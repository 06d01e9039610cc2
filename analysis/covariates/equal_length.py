"""How often one system would win over another if their outputs had the same length."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import expit

from analysis.answers.plan import Plan
from analysis.covariates.clusters import ErrorClusters, error_clusters
from analysis.covariates.comparisons import Controlled
from analysis.covariates.logistic import Compared, fit_logistic
from analysis.statistics.coding import Floats, fold
from analysis.statistics.reasons import Reason, why
from analysis.statistics.record import Count, Record, Share
from analysis.statistics.t_tests import t_bound

MOST_PAIRS = 300  # of a group and criterion, those compared most often: a regression each


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class EqualLengthRate(Record):
    """Share of choices that x would win over y with outputs of one length: one logistic regression a pair."""

    explained: ClassVar[tuple[str, ...]] = ("equal_length",)

    group: str
    """Human, simulated, an LLM's id or id/variant, or a group named in the table."""
    criterion: str
    system_x: str
    system_y: str
    n: Count
    """Comparisons of outputs whose length in characters is known."""
    win_rate: Share
    """Of x in these, a tie is half."""
    equal_length: Share | None
    """The same where the difference of characters is 0."""
    ci_low: Share | None
    ci_high: Share | None
    coefficient: float | None
    """Log odds of x per unit of tanh((characters of x less those of y) / their standard deviation)."""
    interval: str | None = None
    """What the interval is clustered by."""
    n_clusters: Count | None = None
    reason: Reason | None = None
    """Why a number is missing."""


def equal_length_rates(part: Controlled, plan: Plan) -> Iterator[EqualLengthRate]:
    """Yield a row for each pair of systems whose outputs' characters are known; ``part`` has that one feature."""
    judged = part.judgements
    known = ~np.isnan(part.features[:, 0])
    pairs = fold(judged.x, judged.y)
    sizes = np.bincount(pairs.of, weights=known, minlength=len(pairs)).astype(np.int64)
    parts = np.split(np.argsort(pairs.of, kind="stable"), np.cumsum(np.bincount(pairs.of))[:-1])
    fitted = {*np.argsort(-sizes, kind="stable")[:MOST_PAIRS].tolist()}
    too_many = why("too_many_to_control", n=int((sizes > 0).sum()), what="pairs", most=MOST_PAIRS)
    for number, first in enumerate(pairs.first.tolist()):
        own = parts[number][known[parts[number]]]
        x, y = part.systems[judged.x[first]], part.systems[judged.y[first]]
        if not len(own):
            continue
        if number not in fitted:
            yield _without_fit(part, (x, y), judged.won[own], too_many)
            continue
        item = None if judged.item is None else judged.item[own]
        clusters = error_clusters(judged.unit, judged.of_unit[own], item, plan)
        yield _rate(part, (x, y), judged.won[own], part.features[own, 0], clusters, plan)


def _without_fit(part: Controlled, pair: tuple[str, str], won: Floats, reason: Reason) -> EqualLengthRate:
    return EqualLengthRate(
        group=part.group,
        criterion=part.criterion,
        system_x=pair[0],
        system_y=pair[1],
        n=len(won),
        win_rate=float(won.mean()),
        equal_length=None,
        ci_low=None,
        ci_high=None,
        coefficient=None,
        reason=reason,
    )


def _rate(
    part: Controlled, pair: tuple[str, str], won: Floats, difference: Floats, clusters: ErrorClusters, plan: Plan
) -> EqualLengthRate:
    n, spread = len(won), float(difference.std(ddof=1)) if len(won) > 1 else 0.0
    rows = np.zeros(n, dtype=np.int64)
    curve = np.tanh(difference / spread) if spread > 0 else np.zeros(n)
    compared = Compared(x=rows, y=rows + 1, won=won, covariates=curve[:, None], n_systems=2)
    made = fit_logistic(compared, clusters.of)
    reason = made.dropped[0] or made.reason
    low = high = rate = None
    if reason is None:
        gap = float(made.strength[0] - made.strength[1])
        rate = float(expit(gap))
        if made.covariance is not None and made.n_clusters is not None:
            half = t_bound(made.n_clusters - 1, plan.confidence) * 2 * float(np.sqrt(made.covariance[0, 0]))
            low, high = float(expit(gap - half)), float(expit(gap + half))
    if reason is not None:
        return _without_fit(part, pair, won, reason)
    return EqualLengthRate(
        group=part.group,
        criterion=part.criterion,
        system_x=pair[0],
        system_y=pair[1],
        n=n,
        win_rate=float(won.mean()),
        equal_length=rate,
        ci_low=low,
        ci_high=high,
        coefficient=float(made.effect[0]),
        interval=clusters.named if low is not None else None,
        n_clusters=made.n_clusters,
        reason=None if low is not None else made.no_interval or clusters.reason,
    )
