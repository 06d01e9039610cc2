"""Rows of ``best_worst``: how often each system was named the best and the worst of a page."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import polars as pl

from analysis.answers.order import Order
from analysis.answers.orderings import ORDERING
from analysis.orders.summaries import Clustered
from analysis.statistics.coding import Floats
from analysis.statistics.reasons import Reason
from analysis.statistics.record import Coefficient, Count, Record
from analysis.statistics.t_tests import NO_VARIATION, ONE_UNIT, t_bound

WAY = "best_worst"  # the elicitation of the choices that answers imply


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class BestWorstCount(Record):
    """How often one system was the best and the worst of a page; ``reason`` says why there is no interval."""

    explained: ClassVar[tuple[str, ...]] = ("ci_low", "ci_high")

    group: str
    """Human, simulated, an LLM's id or id/variant, or a group named in the table."""
    criterion: str
    system: str
    n: Count
    """Answers of which it was one of the outputs shown."""
    best: Count
    worst: Count
    score: Coefficient
    """Best less worst, over the answers: 1 always best, -1 always worst."""
    ci_low: Coefficient | None
    ci_high: Coefficient | None
    """By t from the spread between clusters, held within -1 and 1."""
    clustered: Clustered
    n_clusters: Count
    n_left_out: Count
    """Answers of the group and criterion without one best and one worst, as where a control was shown."""
    reason: Reason | None = None
    """Why there is no interval."""


def best_worst_counts(choices: pl.DataFrame, order: Order, confidence: float) -> Iterator[BestWorstCount]:
    """Count, from the choices that answers imply, group by group and criterion by criterion.

    The best of a page is chosen over all others, and all others over the worst, so both are known from the choices.

    Parameters
    ----------
    choices : DataFrame
        Checked choices after exclusions; only rows of the elicitation "best_worst" count.
    order : Order
        Of groups, criteria and systems.
    confidence : float
        Of the intervals: the answers of one annotator (of an LLM: one assignment) are one cluster.

    References
    ----------
    Kiritchenko, S. and Mohammad, S. M. (2017). Best-worst scaling more reliable than rating scales: A case study on
    sentiment intensity annotation. Proceedings of ACL, 465-470.
    """
    asked = choices.filter(
        (pl.col("elicitation").cast(pl.String) == WAY).fill_null(False), pl.col("value").is_not_null()
    )
    for group in order.groups if not asked.is_empty() else ():
        for criterion in order.criteria:
            rows = asked.filter((pl.col("group") == group) & (pl.col("criterion") == criterion))
            if not rows.is_empty():
                yield from _counts(rows, group, criterion, order.systems, confidence)


def _counts(
    rows: pl.DataFrame, group: str, criterion: str, systems: tuple[str, ...], confidence: float
) -> Iterator[BestWorstCount]:
    named, left_out = _named(rows)
    llm = bool((rows["annotator_kind"].cast(pl.String) == "llm").all())
    unit: Clustered = "assignment" if llm else "annotator"
    cluster = ["annotator_id", "assignment_id"] if llm else ["annotator_id"]
    for system in systems:
        own = named.filter(pl.col("system") == system)
        if own.is_empty():
            continue
        sums = own.group_by(cluster, maintain_order=True).agg(pl.col("points").sum(), pl.len().alias("n"))
        points, shown = (sums[name].to_numpy().astype(np.float64) for name in ("points", "n"))
        score = float(points.sum() / shown.sum())
        half, reason = _half_width(points, shown, score, confidence)
        yield BestWorstCount(
            group=group,
            criterion=criterion,
            system=system,
            n=own.height,
            best=int((own["points"] == 1).sum()),
            worst=int((own["points"] == -1).sum()),
            score=score,
            ci_low=None if half is None else max(-1.0, score - half),
            ci_high=None if half is None else min(1.0, score + half),
            clustered=unit,
            n_clusters=len(points),
            n_left_out=left_out,
            reason=reason,
        )


def _named(rows: pl.DataFrame) -> tuple[pl.DataFrame, int]:
    """Return a row for each answer and output shown, with 1 for the best and -1 for the worst; and answers left out."""
    page = pl.struct(ORDERING).rank("dense").alias("page")
    rows = rows.with_columns(page, pl.col("system_x", "system_y").cast(pl.String))
    who = ("page", "annotator_id", "assignment_id")
    sides = [
        rows.select(*who, pl.col(f"system_{side}").alias("system"), won.alias("won"))
        for side, won in (("x", pl.col("value")), ("y", 1 - pl.col("value")))
    ]
    outputs = (
        pl.concat(sides).group_by(*who, "system", maintain_order=True).agg(pl.col("won").sum(), pl.len().alias("of"))
    )
    others = pl.len().over("page") - 1
    points = (pl.col("won") == others).cast(pl.Int64) - ((pl.col("won") == 0) & (pl.col("of") == others)).cast(pl.Int64)
    outputs = outputs.with_columns(points.alias("points")).with_columns(
        whole=((pl.col("points") == 1).sum() == 1).over("page") & ((pl.col("points") == -1).sum() == 1).over("page")
    )
    return outputs.filter("whole"), outputs.filter(~pl.col("whole"))["page"].n_unique()


def _half_width(points: Floats, shown: Floats, score: float, confidence: float) -> tuple[float | None, Reason | None]:
    """Return half the interval of a ratio of sums over independent clusters, or why there is none."""
    number = len(points)
    if number < 2:
        return None, ONE_UNIT
    left = points - score * shown
    if np.allclose(left, 0.0, atol=1e-12):
        return None, NO_VARIATION
    variance = number / (number - 1) * math.fsum(left**2) / shown.sum() ** 2
    return t_bound(number - 1, confidence) * math.sqrt(variance), None
