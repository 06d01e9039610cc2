"""How outputs that equal their source were rated: the sanity check of Chiang & Lee (2023, section 4.3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from analysis.statistics.record import Count, Record


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class IdenticalPairRating(Record):
    """Ratings of identical pairs by one group on one criterion."""

    group: str
    criterion: str
    system: str | None = None
    """Whose outputs these are, rated among the others; null of copies of the source shown as a check."""
    expected: float
    """The best rating of the scale."""
    n: Count
    n_missing: Count
    n_expected: Count
    """Ratings equal to the one expected."""
    n_of_system: Count | None = None
    """Ratings of all outputs of the system, also of those that differ from their source."""
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
    found = _summed(pairs, ("group", "criterion", "expected"))
    return [IdenticalPairRating(**row) for row in found.iter_rows(named=True)]


def rated_copies(
    ratings: pl.DataFrame | None, copies: Sequence[tuple[str, str, int]], best: Mapping[str, float]
) -> list[IdenticalPairRating]:
    """Summarise the ratings of systems' outputs that equal their source.

    Parameters
    ----------
    ratings : DataFrame or None
        Checked ratings after exclusions.
    copies : sequence of tuple
        Item, system and sample of each output that equals its source.
    best : mapping
        The best rating of each criterion that is asked against the source.

    Returns
    -------
    list of IdenticalPairRating
        As of :func:`identical_pairs`, a row for each group, criterion and system.
    """
    if ratings is None or not copies or not best:
        return []
    place = ("item_id", "system", "sample")
    asked = ratings.filter(pl.col("criterion").cast(pl.String).is_in(list(best)))
    asked = asked.with_columns(pl.col(name).cast(pl.String) for name in place)
    asked = asked.with_columns(
        expected=pl.col("criterion").cast(pl.String).replace_strict(best, return_dtype=pl.Float64),
        n_of_system=pl.col("value").count().over("group", "criterion", "system").cast(pl.Int64),
    )
    copied = [(item_id, system, str(sample)) for item_id, system, sample in copies]
    found = _summed(
        asked.join(pl.DataFrame(copied, schema=dict.fromkeys(place, pl.String), orient="row"), on=place, how="semi"),
        ("group", "criterion", "system", "expected", "n_of_system"),
    )
    return [IdenticalPairRating(**row) for row in found.iter_rows(named=True)]


def _summed(pairs: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    score = pl.col("value")
    return pairs.group_by(by, maintain_order=True).agg(
        n=score.count().cast(pl.Int64),
        n_missing=score.null_count().cast(pl.Int64),
        n_expected=(score == pl.col("expected").first()).sum().cast(pl.Int64),
        mean=score.mean(),
        sd=score.std(),
    )
