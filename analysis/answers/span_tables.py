"""The table of marked errors: its columns, its checks, and the counts of errors that are analysed as ratings."""

from __future__ import annotations

import polars as pl

from analysis.answers.columns import ANSWER_COLUMNS, OVERALL, SPAN_COLUMNS, Check

NO_ERRORS = "no errors"  # the reason of a row that says so
WEIGHTS = {"minor": 1.0, "major": 5.0, "critical": 25.0}  # where the table has none
ANSWERED = ("annotator_id", "annotator_kind", "assignment_id", "variant", "repeat", "group", "readout", "form", "visit")
COUNTED = "spans"  # the elicitation of ratings that are counts of errors


def check_spans(check: Check) -> None:
    """Check the table: an error has a place or a reason, an answer without errors a row with the reason "no errors"."""
    for column in ("annotator_id", "item_id", "system"):
        check.names(column)
    absent = [column for column in (*SPAN_COLUMNS, *ANSWER_COLUMNS) if column not in check.frame.columns]
    check.frame = check.frame.with_columns(pl.lit(None, dtype=pl.String).alias(column) for column in absent)
    check.blank(column for column in check.frame.columns if column not in ("row", *absent))
    check.frame = check.frame.with_columns(pl.col("criterion").fill_null(OVERALL))
    for column in ("start", "end", "characters"):
        check.whole(column)
    check.number("weight", "weight")
    if check.problems:
        return
    marked, placed = pl.col("severity").is_not_null(), pl.col("start").is_not_null()
    check.refuse(placed & ~marked, "severity", "an error with a place must have a severity")
    check.refuse(
        placed & (pl.col("end").is_null() | (pl.col("end") <= pl.col("start"))), "end", "end must follow start"
    )
    beyond = placed & (pl.col("end") > pl.col("characters"))
    check.refuse(beyond.fill_null(False), "end", "end must not exceed characters, the length of the text")
    silent = ~marked & (pl.col("reason") != NO_ERRORS).fill_null(True) & pl.col("missing_reason").is_null()
    check.refuse(silent, "reason", f'a row without an error must have the reason "{NO_ERRORS}" or a missing_reason')
    known = pl.col("severity").replace_strict(WEIGHTS, default=None, return_dtype=pl.Float64)
    check.frame = check.frame.with_columns(pl.coalesce("weight", known).alias("weight"))
    weightless = pl.col("severity").is_not_null() & pl.col("weight").is_null()
    check.refuse(weightless, "severity", f"a severity other than {', '.join(WEIGHTS)} needs a column weight")


def error_counts(spans: pl.DataFrame) -> pl.DataFrame:
    """Return ratings that are counts: of the errors of each answer, and of their weights.

    Their criteria are "errors" and "weighted errors", followed by a colon and the criterion where it is not "overall".
    An error without a place counts too.
    """
    key = [name for name in (*ANSWERED, "criterion", "item_id", "sample", "system") if name in spans.columns]
    answers = spans.group_by(key, maintain_order=True).agg(
        pl.col("severity").is_not_null().sum().cast(pl.Float64).alias("errors"),
        pl.col("weight").filter(pl.col("severity").is_not_null()).sum().alias("weighted errors"),
        pl.col("missing_reason").drop_nulls().first(),
    )
    named = pl.when(pl.col("criterion") == OVERALL).then(pl.lit("")).otherwise(pl.format(": {}", "criterion"))
    return pl.concat(
        answers.with_columns(
            pl.format("{}{}", pl.lit(counted), named).alias("criterion"),
            pl.when(pl.col("missing_reason").is_null()).then(counted).otherwise(None).cast(pl.String).alias("score"),
            pl.lit(COUNTED).alias("elicitation"),
        ).drop("errors", "weighted errors")
        for counted in ("errors", "weighted errors")
    )
