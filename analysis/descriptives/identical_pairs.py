"""How outputs that equal their source were rated: the sanity check of Chiang & Lee (2023, section 4.3)."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from analysis.statistics.record import Count, Record


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class IdenticalPairRating(Record):
    """Ratings of identical pairs by one group on one criterion."""

    group: str
    criterion: str
    expected: float
    """The best rating of the scale."""
    n: Count
    n_missing: Count
    n_expected: Count
    """Ratings equal to the one expected."""
    mean: float | None
    sd: float | None


def identical_pairs(pairs: pl.DataFrame | None) -> list[IdenticalPairRating]:
    """Summarise the ratings of identical pairs, by group and criterion in the order in which they first appear.

    Parameters
    ----------
    pairs : DataFrame or None
        The checked table; nobody is excluded, as failing here is what may exclude people.

    Returns
    -------
    list of IdenticalPairRating
        ``mean`` and ``sd`` of ``n`` ratings, ``n_expected`` of which are the ``expected`` end of the scale;
        ``n_missing`` more could not be read. Mean and sd are null where there is nothing to take them of.
    """
    if pairs is None:
        return []
    score = pl.col("value")
    found = pairs.group_by("group", "criterion", "expected", maintain_order=True).agg(
        n=score.count().cast(pl.Int64),
        n_missing=score.null_count().cast(pl.Int64),
        n_expected=(score == pl.col("expected").first()).sum().cast(pl.Int64),
        mean=score.mean(),
        sd=score.std(),
    )
    return [IdenticalPairRating(**row) for row in found.iter_rows(named=True)]
