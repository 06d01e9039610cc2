"""Outputs put in order, and the choice between every two of them that an ordering implies."""

from __future__ import annotations

import polars as pl

ORDERING = (
    "annotator_id",
    "assignment_id",
    "variant",
    "repeat",
    "criterion",
    "item_id",
)  # what one ordering is told by
SECOND = " (orders)"  # after the name of a criterion that choices are asked about too


def with_implied_choices(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Add to the choices those that orderings imply: every two outputs, a tie where they share a rank.

    A criterion that annotators also chose by gets a name of its own in the orders, "overall (orders)", so that asked
    and implied choices are never pooled. An ordering that lacks a rank is missing as a whole and leaves one row.
    """
    orders = tables.get("orders")
    if orders is None:
        return tables
    choices = tables.get("choices")
    if choices is not None:
        shared = choices["criterion"].unique().to_list()
        criterion = pl.col("criterion")
        named = pl.when(criterion.is_in(shared)).then(criterion + SECOND).otherwise(criterion)
        orders = orders.with_columns(named.alias("criterion"))
    orders = numbered(orders)
    implied = implied_choices(orders)
    if not implied.is_empty():
        both = [implied] if choices is None else [choices, implied]
        tables = tables | {"choices": pl.concat(both, how="diagonal_relaxed")}
    return tables | {"orders": orders}


def implied_choices(orders: pl.DataFrame, way: str = "ranking") -> pl.DataFrame:
    """Return a choice for every two outputs of an ordering; x is the one that stands first on the page.

    Where a table does not say so, x is the one that it lists first, and ``placed`` is false: as many list the best
    first, that says nothing of the page.

    Parameters
    ----------
    orders : DataFrame
        With ``ordering`` (a number for each), ``place`` on the page, ``system`` and ``value``, the rank.
    way : str
        Their elicitation.
    """
    placed = pl.col("position").is_not_null().all().over("ordering")
    rows = orders.with_columns(placed=placed).rename({"system": "system_x", "sample": "sample_x"})
    rows = rows.drop("label", "position")
    other = orders.select(
        "ordering",
        pl.col("place").alias("later"),
        pl.col("system").alias("system_y"),
        pl.col("sample").alias("sample_y"),
        pl.col("value").alias("rank_y"),
    )
    pairs = rows.join(other, on="ordering", maintain_order="left_right").filter(pl.col("place") < pl.col("later"))
    whole = pl.col("value").is_not_null().all().over("ordering") & pl.col("rank_y").is_not_null().all().over("ordering")
    first = pl.int_range(pl.len()).over("ordering") == 0
    once = [pl.when(first).then(name).alias(name) for name in ("explanation",) if name in pairs.columns]
    won = 0.5 + (pl.col("rank_y") - pl.col("value")).sign() / 2
    value = pl.when("known").then(won)
    winner = value.replace_strict({1.0: "x", 0.5: "tie", 0.0: "y"}, default=None, return_dtype=pl.String)
    nothing = pl.lit(None, dtype=pl.String)
    return (
        pairs.with_columns(known=whole, first=first)  # of the whole ordering, before rows are left out
        .filter(pl.col("known") | pl.col("first"))
        .with_columns(
            value.alias("value"),
            winner.alias("winner"),
            winner.alias("text"),
            pl.lit(way).alias("elicitation"),
            *once,
            *(nothing.alias(name) for name in ("sample", "label_x", "label_y")),
        )
        .with_columns(pl.when(pl.col("value").is_null()).then(pl.col("missing_reason").fill_null("incomplete")))
        .drop("ordering", "place", "later", "rank_y", "rank", "known", "first")
    )


def numbered(orders: pl.DataFrame) -> pl.DataFrame:
    """Add a number for each ordering, and the places on the page from 0: as the table stands where it has none."""
    ordering = pl.struct(ORDERING).rank("dense").cast(pl.Int64) - 1
    listed = pl.int_range(pl.len()).over("ordering")
    return (
        orders.with_row_index("line")  # rows are numbered by file
        .with_columns(ordering.alias("ordering"))
        .with_columns(pl.coalesce(pl.col("position").cast(pl.Int64), listed).alias("place"))
        .sort("ordering", "place", maintain_order=True)
        .with_columns(listed.alias("place"))
        .sort("line")
        .drop("line")
    )
