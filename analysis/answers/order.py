"""In which order groups, criteria, systems and pairs stand in the results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from analysis.answers.study_facts import StudyFacts
from analysis.statistics.coding import Different
from spa.records.system_roles import UNRANKED


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """The study's order where the study is known, else that of first appearance."""

    groups: tuple[str, ...]
    criteria: tuple[str, ...]
    systems: tuple[str, ...]
    pairs: tuple[tuple[str, str], ...]  # each pair once, in the direction first listed


def order_of(
    table: pl.DataFrame, groups: Sequence[str], study: StudyFacts | None, different: Different | None = None
) -> Order:
    """Find the order for one answer table (before exclusions, so that these change no direction)."""
    different = different or Different()
    criteria = _listed([row.id for row in study.criteria] if study else (), table["criterion"], different)
    systems = [row.id for row in study.systems if row.role not in UNRANKED] if study else []
    if "system" in table.columns and table["system"].null_count() < table.height:
        return Order(
            groups=tuple(groups), criteria=criteria, systems=_listed(systems, table["system"], different), pairs=()
        )
    both = table.select(pl.concat_list("system_x", "system_y").alias("system")).explode("system", empty_as_null=True)
    asked = table.select("system_x", "system_y").unique(maintain_order=True).iter_rows()
    pairs: dict[frozenset[str], tuple[str, str]] = {}
    for x, y in (*(study.pairs if study else ()), *asked):
        pairs.setdefault(frozenset((x, y)), (x, y))
    return Order(
        groups=tuple(groups),
        criteria=criteria,
        systems=_listed(systems, both["system"], different),
        pairs=tuple(pairs.values()),
    )


def turned(table: pl.DataFrame, order: Order) -> pl.DataFrame:
    """Turn answers about pairs to the direction first listed.

    Returns
    -------
    DataFrame
        With ``x`` and ``y`` as listed, ``forward`` (whether the answer was given in this direction), ``value`` for x,
        and where there are samples ``sample_first`` and ``sample_second``.
    """
    listed = pl.DataFrame(order.pairs, schema=["system_x", "system_y"], orient="row").with_columns(forward=True)
    with_direction = table.join(listed, on=("system_x", "system_y"), how="left", maintain_order="left").with_columns(
        pl.col("forward").fill_null(False)
    )
    ahead = pl.col("forward")
    columns = {
        "x": pl.when(ahead).then("system_x").otherwise("system_y"),
        "y": pl.when(ahead).then("system_y").otherwise("system_x"),
        "value": pl.when(ahead).then("value").otherwise(1 - pl.col("value")),
    }
    if {"sample_x", "sample_y"} <= set(table.columns):
        columns["sample_first"] = pl.when(ahead).then("sample_x").otherwise("sample_y")
        columns["sample_second"] = pl.when(ahead).then("sample_y").otherwise("sample_x")
    return with_direction.with_columns(**columns)


def toward(table: pl.DataFrame, order: Order, unit: Sequence[str]) -> pl.DataFrame:
    """Average both directions of each pair, toward the direction listed first; ``unit`` names ``x`` and ``y``."""
    directed = turned(table, order).group_by(*unit, "forward").agg(pl.col("value").mean())
    return directed.sort("forward").group_by(*unit, maintain_order=True).agg(pl.col("value").mean())


def _listed(first: Sequence[str], column: pl.Series, different: Different) -> tuple[str, ...]:
    return tuple(dict.fromkeys([*first, *different.of(column).to_list()]))
