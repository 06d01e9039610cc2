"""Ratings of the turns of outputs: means by output, so that no turn counts as an output of its own."""

from __future__ import annotations

import polars as pl

from analysis.answers.columns import LAYOUTS, Check

TURN = "turn"
TOLD_APART = ("repeat", "group", "annotator_kind", "readout", "form", "visit")  # beside the columns of a cell


def average_turns(check: Check) -> str | None:
    """Put the mean of an annotator's scores of the turns of an output in their place; return what is said of it.

    A missing score is left out of the mean, as a repeated answer would be; without any the mean is missing.
    """
    frame = check.frame
    if TURN not in frame.columns:
        return None
    frame = frame.drop(TURN)
    key = [name for name in (*LAYOUTS["ratings"].cell, *TOLD_APART) if name in frame.columns]
    rated = check.frame.filter(pl.col(TURN).is_not_null())
    groups = check.frame.group_by(key, maintain_order=True)
    mixed = groups.agg(
        pl.col("row").filter(pl.col(TURN).is_null()).first(), pl.col(TURN).null_count(), n=pl.len()
    ).filter(pl.col(TURN).is_between(1, pl.col("n") - 1))
    if not mixed.is_empty():
        row = mixed["row"][0]
        check.problems.append(
            f"{check.place}, row {row}: expected a turn for each score of an output, or for none, got both; "
            "fill in column turn, or keep ratings of whole outputs in a criterion of their own"
        )
        return None
    special: dict[str, pl.Expr] = {
        "value": pl.col("value").mean(),
        "score": pl.when(pl.len() > 1)
        .then(pl.col("value").mean().cast(pl.String))
        .otherwise(pl.col("score").cast(pl.String).first()),
        "missing_reason": pl.when(pl.col("value").is_null().all()).then(pl.col("missing_reason").first()),
        "mass": pl.col("mass").mean(),
        "readings_differ": pl.col("readings_differ").max(),
        "explanation": pl.col("explanation").drop_nulls().cast(pl.String).str.join("\n\n"),
    }
    rest = [name for name in frame.columns if name not in key]
    made = groups.agg(special.get(name, pl.col(name).first()).cast(frame.schema[name]).alias(name) for name in rest)
    check.frame = made.select(frame.columns)
    if made.height == frame.height:
        return None
    return (
        f"{rated.height:,} scores of turns are averaged to {made.height:,} of outputs (by annotator, output and "
        "criterion): no turn counts as an output of its own"
    )
