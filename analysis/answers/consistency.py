"""Self-consistency: P(x preferred to y) and P(y preferred to x) cannot both be high."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import polars as pl

from spa.errors import shortened

NEAR = 1e-9  # sums this close to the bound are decided in exact arithmetic
WHO = ("group", "annotator_id", "annotator_kind", "assignment_id", "variant")
MATCH = (*WHO, "criterion", "item_id", "exposure", "low", "high")
CELL = ("visit", "asking", "sample", "forward")


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """One comparison whose two directions sum to more than the bound; of a person no assignment is named."""

    group: str
    annotator_id: str
    annotator_kind: str
    assignment_id: str | None
    variant: str | None
    evidence: str


def find_failures(preferences: pl.DataFrame, consistency_tau: Decimal) -> list[Failure]:
    """Find the comparisons whose two directions sum to more than ``consistency_tau``.

    Sums are taken per criterion, exposure and item, if any, of a person over all visits, of an LLM within the
    assignment. Repeats are averaged within their cell and cells within their direction, in the
    decimals that were written: 0.55 + 0.55 is 1.1 and is kept under a bound of 1.1. A comparison
    asked in one direction cannot be checked.

    Parameters
    ----------
    preferences : DataFrame
        A checked table of preferences.
    consistency_tau : Decimal
        The largest sum that is kept (1.1 in the source).

    Returns
    -------
    list of Failure
        In the order of the table.

    References
    ----------
    Ethayarajh, K. and Jurafsky, D. (2022). The Authenticity Gap in Human Evaluation. EMNLP, section 5.2.
    """
    sums = direction_sums(preferences).filter(pl.col("sum") > float(consistency_tau) - NEAR)
    failures = []
    for row in sums.iter_rows(named=True):
        forth, back = exact_directions(row)
        if forth + back <= Fraction(consistency_tau):
            continue
        about = f"{row['criterion']}" + ("" if row["exposure"] is None else f" at exposure {row['exposure']}")
        about += "" if row["item_id"] is None else f" of item {shortened(row['item_id'], 40)}"
        low, high = row["low"], row["high"]
        failures.append(
            Failure(
                **{name: row[name] for name in WHO},
                evidence=f"{about}: P({low} > {high}) + P({high} > {low}) = "
                f"{_shown(forth)} + {_shown(back)} = {_shown(forth + back)}, more than {consistency_tau}",
            )
        )
    return failures


def direction_sums(preferences: pl.DataFrame) -> pl.DataFrame:
    """Add up the two directions of every comparison that was asked in both.

    Parameters
    ----------
    preferences : DataFrame
        A checked table of preferences.

    Returns
    -------
    DataFrame
        Who answered about what, the answers as written by direction and cell (``forth``, ``back``) and
        their ``sum``, which is exact to the last bits of a float only; in the order of the table.
    """
    llm = pl.col("annotator_kind") == "llm"
    table = preferences.filter(pl.col("value").is_not_null()).with_columns(
        pl.min_horizontal("system_x", "system_y").alias("low"),
        pl.max_horizontal("system_x", "system_y").alias("high"),
        (pl.col("system_x") < pl.col("system_y")).alias("forward"),
        pl.col("assignment_id").alias("visit"),
        pl.col("variant").alias("asking"),
        pl.when(llm).then("assignment_id").alias("assignment_id"),
        pl.when(llm).then("variant").alias("variant"),
    )
    cells = table.group_by(*MATCH, *CELL, maintain_order=True).agg(pl.col("text"), pl.col("value").mean())
    direction = pl.col("forward")
    return (
        cells.group_by(MATCH, maintain_order=True)
        .agg(
            pl.col("text").filter(direction).alias("forth"),
            pl.col("text").filter(~direction).alias("back"),
            (pl.col("value").filter(direction).mean() + pl.col("value").filter(~direction).mean()).alias("sum"),
        )
        .filter(pl.col("sum").is_not_null())
    )


def exact_directions(row: Mapping[str, Any]) -> tuple[Fraction, Fraction]:
    """Return both directions of a row of :func:`direction_sums` in exact arithmetic."""
    forth, back = (_mean([_mean(list(map(Fraction, cell))) for cell in row[side]]) for side in ("forth", "back"))
    return forth, back


def _mean(values: list[Fraction]) -> Fraction:
    return sum(values, Fraction(0)) / len(values)


def _shown(value: Fraction) -> str:
    """Write a fraction as a decimal, exactly where it has up to 12 digits."""
    return f"{float(value):.12g}"
