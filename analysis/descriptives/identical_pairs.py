"""How outputs that equal their source were rated: the sanity check of Chiang & Lee (2023, section 4.3)."""

from __future__ import annotations

from typing import Any

import polars as pl


def identical_pairs(pairs: pl.DataFrame | None) -> list[dict[str, Any]]:
    """Summarise the ratings of identical pairs, by group and criterion in the order in which they first appear.

    Parameters
    ----------
    pairs : DataFrame or None
        The checked table; nobody is excluded, as failing here is what may exclude people.

    Returns
    -------
    list of dict
        ``mean`` and ``sd`` of ``n`` ratings, ``n_expected`` of which are the ``expected`` end of the scale;
        ``n_missing`` more could not be read. Mean and sd are null where there is nothing to take them of.
    """
    if pairs is None:
        return []
    score = pl.col("value")
    return (
        pairs.group_by("group", "criterion", "expected", maintain_order=True)
        .agg(
            n=score.count().cast(pl.Int64),
            n_missing=score.null_count().cast(pl.Int64),
            n_expected=(score == pl.col("expected").first()).sum().cast(pl.Int64),
            mean=score.mean(),
            sd=score.std(),
        )
        .to_dicts()
    )
