"""What each group said of two systems' outputs of single items: to read beside the outputs themselves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

import polars as pl

from analysis.answers.tables import AnswerTables

ItemScores: TypeAlias = Mapping[str, Mapping[str, "tuple[ItemScore, ...]"]]  # by item, then by system


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemScore:
    """What one group said of one output.

    ``value`` is a mean score (source "ratings") or the share of choices that the output won against the other
    system's, a tie counting half (source "choices"); ``n`` answers stand behind it.
    """

    source: Literal["ratings", "choices"]
    group: str
    value: float
    n: int


def item_scores(tables: AnswerTables, system_x: str, system_y: str, criterion: str) -> ItemScores:
    """Return what was said of two systems' outputs, exclusions not applied.

    Parameters
    ----------
    tables : AnswerTables
        Checked tables.
    system_x, system_y : str
        The two systems; choices are those between them, shown in either order.
    criterion : str
        Which criterion.

    Returns
    -------
    mapping
        By item and system; items and groups in the order of the tables, ratings before choices. An item of which
        nothing was said is absent.
    """
    parts: list[tuple[Literal["ratings", "choices"], pl.DataFrame]] = []
    if tables.ratings is not None:
        rows = _of(tables.ratings, criterion).filter(pl.col("system").is_in([system_x, system_y]))
        parts.append(("ratings", rows.select("item_id", "system", "group", "value")))
    if tables.choices is not None:
        parts.append(("choices", _won(_of(tables.choices, criterion), system_x, system_y)))
    found: dict[str, dict[str, tuple[ItemScore, ...]]] = {}
    for source, rows in parts:
        means = rows.group_by("item_id", "system", "group", maintain_order=True).agg(pl.col("value").mean(), n=pl.len())
        for item, system, group, value, n in means.iter_rows():
            scores = found.setdefault(item, {})
            scores[system] = (*scores.get(system, ()), ItemScore(source=source, group=group, value=value, n=n))
    return found


def _of(table: pl.DataFrame, criterion: str) -> pl.DataFrame:
    """Return the usable answers to one criterion, with their texts as texts."""
    return (
        table.filter(pl.col("value").is_not_null())
        .with_columns(pl.col(pl.Categorical).cast(pl.String))
        .filter(pl.col("criterion") == criterion)
    )


def _won(choices: pl.DataFrame, system_x: str, system_y: str) -> pl.DataFrame:
    """Return one row an output of each choice between the two systems: 1 where it won, 0.5 for a tie."""
    asked = choices.filter(
        ((pl.col("system_x") == system_x) & (pl.col("system_y") == system_y))
        | ((pl.col("system_x") == system_y) & (pl.col("system_y") == system_x))
    )
    sides = [
        asked.select("item_id", system=side, group="group", value=value)
        for side, value in (("system_x", pl.col("value")), ("system_y", 1 - pl.col("value")))
    ]
    return pl.concat(sides)
