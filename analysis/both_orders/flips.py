"""Rows of ``both_orders``: how often a choice changes when the two outputs swap their sides."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import polars as pl
from scipy.special import ndtri

from analysis.answers.both_orders import asked_twice
from analysis.answers.order import Order
from analysis.llm_vs_people.clustered import cluster_codes, variance_of_mean
from analysis.statistics.coding import Floats, Ints
from analysis.statistics.reasons import Reason
from analysis.statistics.record import Count, Record, Share
from analysis.statistics.t_tests import NO_VARIATION, ONE_UNIT, t_bound
from analysis.statistics.wilson import wilson

ENOUGH = 10  # annotators from whom on an interval is about further annotators, as of all tests of choices


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class OrderFlips(Record):
    """How often one group's choices between two outputs changed with the order in which these were shown."""

    explained: ClassVar[tuple[str, ...]] = ("place_effect",)

    group: str
    """Human, simulated, an LLM's id or id/variant, or a group named in the table."""
    criterion: str
    n: Count
    """Questions that one annotator answered in both orders."""
    n_once: Count
    """Questions asked in both orders and answered in one of them."""
    opposite: Count
    """Of n: the other output was chosen."""
    one_tie: Count
    """Of n: a tie in one order, and an output in the other."""
    flip_rate: Share | None
    """Share of n with another answer; null where no question was answered in both orders."""
    ci_low: Share | None
    ci_high: Share | None
    """Wilson's interval at the effective number of questions, from the spread between clusters."""
    exceeds: bool
    """Whether the rate lies above the bound of the plan (settings.max_flips)."""
    place_effect: float | None
    """Share won by the output shown first, less one half, over questions answered in both orders."""
    place_ci_low: float | None
    place_ci_high: float | None
    clustered: Literal["annotator", "item"]
    n_clusters: Count
    reason: Reason | None = None
    """Why the effect of the place or its interval is missing."""


def order_flips(choices: pl.DataFrame, order: Order, *, confidence: float, max_flips: float) -> Iterator[OrderFlips]:
    """Yield a row a group and criterion that was asked in both orders.

    Parameters
    ----------
    choices : DataFrame
        Choices as they were asked, after exclusions; ``system_x`` was shown first.
    order : Order
        Of groups and criteria.
    confidence : float
        Of the intervals.
    max_flips : float
        Rate above which a group is named.

    References
    ----------
    Wilson (1927), as in :func:`analysis.statistics.wilson.wilson`. Korn, E. L. and Graubard, B. I. (1998). Confidence
    intervals for proportions with small expected number of positive counts estimated from survey data. Survey
    Methodology, 24(2), 193-201 (the effective sample size).
    """
    rows = asked_twice(choices).filter("asked")
    rows = rows.filter(~pl.col("group").is_in(_soft(rows)))
    for group in order.groups:
        for criterion in order.criteria:
            own = rows.filter(pl.col("group") == group, pl.col("criterion") == criterion)
            if not own.is_empty():
                yield _flips_of(group, criterion, own, confidence=confidence, max_flips=max_flips)


def _soft(rows: pl.DataFrame) -> list[str]:
    """Return the groups that stated probabilities, of which both directions are one answer already."""
    soft = rows.filter(pl.col("value").is_not_null() & ~pl.col("value").is_in([0.0, 0.5, 1.0]))
    return soft["group"].unique().to_list()


def _flips_of(group: str, criterion: str, twice: pl.DataFrame, *, confidence: float, max_flips: float) -> OrderFlips:
    known = twice.filter(pl.col("own").is_not_null() & pl.col("reverse").is_not_null())
    once = twice.filter(pl.col("own").is_not_null() & pl.col("reverse").is_null())
    each = known.filter(pl.col("turn") == 0)
    changed = (each["own"] - each["reverse"]).abs().to_numpy()
    annotators = bool((twice["annotator_kind"] != "llm").all()) and known["annotator_id"].n_unique() >= ENOUGH
    clustered: Literal["annotator", "item"] = "annotator" if annotators else "item"
    by = "annotator_id" if annotators else "item_id"
    low = high = rate = None
    if each.height:
        rate = float(np.mean(changed > 0))
        low, high = share_interval((changed > 0).astype(np.float64), _codes(each[by]), confidence)
    values = known["value"].to_numpy() - 0.5
    half, reason = _half_width(values, _codes(known[by]), confidence)
    effect = float(values.mean()) if len(values) else None
    return OrderFlips(
        group=group,
        criterion=criterion,
        n=each.height,
        n_once=once.height,
        opposite=int(np.sum(changed == 1.0)),
        one_tie=int(np.sum(changed == 0.5)),
        flip_rate=rate,
        ci_low=low,
        ci_high=high,
        exceeds=rate is not None and rate > max_flips,
        place_effect=effect,
        place_ci_low=None if half is None or effect is None else max(-0.5, effect - half),
        place_ci_high=None if half is None or effect is None else min(0.5, effect + half),
        clustered=clustered,
        n_clusters=known[by].n_unique(),
        reason=reason,
    )


def _codes(names: pl.Series) -> Ints:
    return cluster_codes(names.to_list(), len(names))[0]


def share_interval(hits: Floats, clusters: Ints, confidence: float) -> tuple[float, float]:
    """Return Wilson's interval of a share at its effective number of answers.

    Answers of one cluster hang together: the number is n times the variance of independent answers over the
    clustered one, at most n, lowered for the few clusters as t is to z; all alike, it is the number of clusters.
    """
    share, n, number = float(hits.mean()), len(hits), int(clusters.max()) + 1
    variance = variance_of_mean(hits, (clusters,)) if number > 1 else 0.0
    effective = min(n, share * (1 - share) / variance) if variance > 0 else float(number)
    if number > 1:
        effective *= (float(ndtri((1 + confidence) / 2)) / t_bound(number - 1, confidence)) ** 2
    effective = max(effective, 1.0)
    return wilson(share * effective, effective, confidence)  # type: ignore[arg-type]


def _half_width(values: Floats, clusters: Ints, confidence: float) -> tuple[float | None, Reason | None]:
    number = int(clusters.max()) + 1 if len(clusters) else 0
    if number < 2:
        return None, ONE_UNIT
    variance = variance_of_mean(values, (clusters,))
    if variance <= 1e-15:
        return None, NO_VARIATION
    return t_bound(number - 1, confidence) * variance**0.5, None
