"""How often each score was given: the ratings as they are spread, not only their mean."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from analysis.answers.order import Order
from analysis.statistics.record import Positive, Record, Share
from analysis.sums.totals import AnswerTotals

MOST_SCORES = 11  # different scores that a group gave; more of them are a continuous scale and are not listed
PLACE = ("group", "criterion", "system")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class RatingCount(Record):
    """How often one group gave one score to one system."""

    group: str
    """Human, simulated, an LLM's id or id/variant, or a group named in the table."""
    criterion: str
    system: str
    score: float
    n: Positive
    n_ratings: Positive
    """All of this group, criterion and system."""
    share: Share


def rating_counts(ratings: pl.DataFrame | None, order: Order | None) -> list[RatingCount]:
    """Count the usable ratings of every group, criterion, system and score.

    Parameters
    ----------
    ratings : DataFrame or None
        Checked ratings, as a rule after exclusions; category questions are left to
        :func:`analysis.descriptives.category_shares.category_shares`.
    order : Order or None
        Order of groups, criteria and systems.

    Returns
    -------
    list of RatingCount
        ``share`` is ``n`` of ``n_ratings``, all of that group, criterion and system; scores ascend. Where a group
        gave more than eleven different scores to a criterion it is left out.
    """
    if ratings is None or order is None:
        return []
    each = ratings.lazy().group_by(*PLACE, "elicitation", score=pl.col("value")).agg(n=pl.len())
    counted = each.collect(engine="streaming")
    counted = counted.filter(
        pl.col("score").is_not_null() & pl.col("elicitation").cast(pl.String).ne_missing("category")
    ).select(pl.col(PLACE).cast(pl.String), "score", "n")
    return count_rows(counted.group_by(*PLACE, "score").agg(pl.col("n").sum()), order)


def count_rows(counted: pl.DataFrame, order: Order) -> list[RatingCount]:
    """Do what :func:`rating_counts` does, from ``n`` by group, criterion, system and score."""
    scores = counted.group_by("group", "criterion").agg(scores=pl.col("score").n_unique())
    few = set(scores.filter(pl.col("scores") <= MOST_SCORES).select("group", "criterion").iter_rows())
    found: dict[tuple[str, ...], list[tuple[float, int]]] = {}
    for *place, score, n in counted.sort("score").iter_rows():
        found.setdefault(tuple(place), []).append((score, n))
    places = (
        (group, criterion, system)
        for group in order.groups
        for criterion in order.criteria
        if (group, criterion) in few
        for system in order.systems
    )
    return [row for place in places if place in found for row in _counts_of(place, found[place])]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NamedCounts:
    """How often each score was given, ``group, criterion, system, score: n``: of ratings, and of category questions."""

    scores: pl.DataFrame
    categories: pl.DataFrame


def counts_of_sums(totals: AnswerTotals) -> NamedCounts:
    """Return how often each score was given, by name; not where some scores are repeated."""
    place = ["group", "criterion"]
    assert totals.scores is not None
    cells = totals.scores.overall.group_by(place).agg(pl.col("n").sum())
    once = totals.layout.join(cells, on=place).filter(pl.col("n") == pl.col("answers"))
    counts = totals.counts.join(once, on=place, how="semi", maintain_order="left")
    lists = {"group": totals.order.groups, "criterion": totals.order.criteria, "system": totals.order.systems}
    named = counts.with_columns(pl.Series(name, listed)[counts[name].to_list()] for name, listed in lists.items())
    of_category = totals.columns.filter(pl.col("column") == "elicitation", pl.col("value") == "category")
    return NamedCounts(
        scores=named.join(of_category, on=place, how="anti"), categories=named.join(of_category, on=place, how="semi")
    )


def _counts_of(place: tuple[str, ...], scores: list[tuple[float, int]]) -> list[RatingCount]:
    group, criterion, system = place
    total = sum(n for _, n in scores)
    return [
        RatingCount(group=group, criterion=criterion, system=system, score=score, n=n, n_ratings=total, share=n / total)
        for score, n in scores
    ]
