"""Sums by item in which every annotator weighs the same: a second look, when it is known who gave how many answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from analysis.answers.units import who_answers
from analysis.large.adding import OVER, PART, SQUARED, TOGETHER, Grid, Sums, add_weighed, coded
from analysis.large.buckets import BucketRange
from analysis.large.totals import SummedKind

MANY = 100_000  # annotators of a pair from which on weights have fewer digits, so that their sums have room
BITS, FEWER = 62, 50  # of the largest weight, and of the same for many


def uneven_weights(sums: Sums, grid: Grid) -> dict[str, pl.DataFrame]:
    """Return the weights of annotators (of few LLMs: assignments) where they gave different numbers of answers.

    Returns
    -------
    dict of str to DataFrame
        By "scores" and "pairs", where some is uneven: ``about, who, votes, weight, squared``. ``votes`` names the
        column of ``who``; a value of one who gave n weighs 2^62 / n and, squared, 2^100 / n², rounded to whole
        numbers, so that sums do not depend on how the answers are split.
    """
    found = {}
    for of in OVER:
        if f"{of}_annotator" not in sums:
            continue
        votes = _votes(sums, of, grid)
        counts = [
            sums[f"{of}_{unit}"].select("about", pl.col(unit).alias("who"), "n", votes=pl.lit(unit))
            for unit in TOGETHER.values()
        ]
        own = pl.concat(counts).join(votes, on=("about", "votes"))
        own = own.filter((pl.col("n").min() < pl.col("n").max()).over("about"))
        if own.height:
            bits = BITS if own.group_by("about").len()["len"].max() < MANY else FEWER  # type: ignore[operator]
            n = own["n"].to_list()
            weight = pl.Series("weight", [_divided(1 << bits, each) for each in n], dtype=pl.Int128)
            squared = pl.Series("squared", [_divided(1 << SQUARED, each**2) for each in n], dtype=pl.Int128)
            found[of] = own.select("about", "who", "votes", weight, squared)
    return found


def _divided(whole: int, by: int) -> int:
    return (2 * whole + by) // (2 * by)


def _votes(sums: Sums, of: str, grid: Grid) -> pl.DataFrame:
    """Return who has one vote about each system or pair: ``about, votes``."""
    answered = "scores" if "scores_annotator" in sums else "pairs"
    people = _with_part(sums[f"{answered}_annotator"], answered, grid).group_by(PART)
    counted = people.agg(n=pl.col("annotator").n_unique()).select(*PART, "n")
    few = [
        (group, criterion)
        for group, criterion, n in counted.iter_rows()
        if who_answers(llm=group in grid.llm, n_annotators=n) == "assignment"
    ]
    abouts = _with_part(sums[f"{of}_annotator"].select("about").unique(), of, grid)
    votes = ["assignment" if part in few else "annotator" for part in abouts.select(PART).iter_rows()]
    return abouts.select("about").with_columns(votes=pl.Series(votes, dtype=pl.String))


def _with_part(frame: pl.DataFrame, of: str, grid: Grid) -> pl.DataFrame:
    return frame.hstack(grid.spelt_out(frame.select("about"), of).select(PART))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WeighingTask:
    """What a worker needs to weigh the answers of some buckets."""

    buckets: BucketRange
    kind: SummedKind
    grid: Grid
    weights: Mapping[str, pl.DataFrame]


def weigh_buckets(task: WeighingTask) -> Sums:
    """Add up buckets by item, everybody weighing the same; O(rows log rows) time, memory by their rows."""
    rows = coded(task.buckets.rows().drop("bucket"), task.kind, task.grid)
    return add_weighed(rows, task.kind, task.grid, task.weights)
