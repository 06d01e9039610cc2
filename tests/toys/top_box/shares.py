"""The share of ratings that are the highest one that a group gave to a criterion ("top box")."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from analysis.answers.order import Order
from analysis.statistics.record import Positive, Record, Share

PLACE = ("group", "criterion", "system")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class TopBoxShare(Record):
    """How often one group gave one system the highest rating."""

    group: str
    criterion: str
    system: str
    n: Positive
    """Ratings."""
    share: Share
    """Of these, the highest that the group gave to the criterion."""


def top_box_shares(ratings: pl.DataFrame, order: Order) -> list[TopBoxShare]:
    """Return a row a group, criterion and system, in their order."""
    given = ratings.filter(pl.col("value").is_not_null()).with_columns(pl.col(PLACE).cast(pl.String))
    top = pl.col("value") == pl.col("value").max().over("group", "criterion")
    found = {
        tuple(place): (n, share)
        for *place, n, share in given.group_by(PLACE).agg(pl.len(), share=top.mean()).iter_rows()
    }
    places = [(a, b, c) for a in order.groups for b in order.criteria for c in order.systems if (a, b, c) in found]
    return [
        TopBoxShare(group=place[0], criterion=place[1], system=place[2], n=found[place][0], share=found[place][1])
        for place in places
    ]
