"""One number on [0, 1] for each unit and pair, from answers of any kind; above 0.5 the first system is better."""

from __future__ import annotations

import polars as pl

from analysis.answers.order import Order, toward, turned

PAIR = ["criterion", "exposure", "x", "y"]


def preference_values(table: pl.DataFrame, order: Order) -> pl.DataFrame:
    """Return the mean of P(x preferred to y) and 1 - P(y preferred to x), or whichever was asked.

    Parameters
    ----------
    table : DataFrame
        With ``unit`` beside the columns of answers about pairs; ``value`` is the preference.

    Returns
    -------
    DataFrame
        Columns ``unit``, ``criterion``, ``exposure``, ``x``, ``y``, ``value``.
    """
    return toward(table.filter(pl.col("value").is_not_null()), order, ["unit", *PAIR])


def choice_values(table: pl.DataFrame, order: Order) -> pl.DataFrame:
    """Return the share of its choices that a unit made for x, ties half; columns as :func:`preference_values`."""
    answered = turned(table.filter(pl.col("value").is_not_null()), order)
    answered = answered.with_columns(exposure=pl.lit(None, dtype=pl.Int64))
    return answered.group_by("unit", *PAIR, maintain_order=True).agg(pl.col("value").mean())


def rating_values(table: pl.DataFrame, systems: tuple[str, ...], width: float, lower: frozenset[str]) -> pl.DataFrame:
    """Return (mean difference / width + 1) / 2, turned where a low rating is good.

    The difference is the mean over items on which the unit rated both systems, or, where there are none, the
    difference of its mean ratings. Columns as :func:`preference_values`.

    Parameters
    ----------
    table : DataFrame
        With ``unit``; ``value`` is the rating.
    systems : tuple of str
        In the order in which pairs are told.
    width : float
        Highest less lowest rating of the scale.
    lower : frozenset of str
        Criteria on which a low rating is good.
    """
    where = ["unit", "criterion"]
    strings = [pl.col(name).cast(pl.String) for name in (*where, "system", "item_id")]
    answered = table.filter(pl.col("value").is_not_null()).select(*strings, "value")
    cells = answered.group_by(*where, "system", "item_id").mean()
    place = pl.col("system").replace_strict(list(systems), range(len(systems)), return_dtype=pl.Int64)
    cells = cells.with_columns(place=place).filter(pl.col("place").is_not_null())
    alone = cells.group_by(*where, "system", "place").agg(pl.col("value").mean())
    ahead = pl.col("place") < pl.col("place_y")

    def differences(rows: pl.DataFrame, on: list[str], name: str) -> pl.DataFrame:
        paired = rows.join(rows, on=on, suffix="_y").filter(ahead)
        difference = (pl.col("value") - pl.col("value_y")).mean().alias(name)
        return paired.group_by(*where, "place", "place_y", "system", "system_y").agg(difference)

    keys = [*where, "place", "place_y", "system", "system_y"]
    found = differences(alone, where, "apart").join(
        differences(cells, [*where, "item_id"], "together"), on=keys, how="left"
    )
    difference = pl.coalesce("together", "apart") / width
    for_x = pl.when(pl.col("criterion").is_in(list(lower))).then(-difference).otherwise(difference)
    return found.sort(keys).select(
        *where,
        exposure=pl.lit(None, dtype=pl.Int64),
        x="system",
        y="system_y",
        value=((for_x + 1) / 2).clip(0, 1),
    )
