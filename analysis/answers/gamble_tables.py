"""The table of standard gambles: its checks, and the choices between two outputs that their utilities imply."""

from __future__ import annotations

import polars as pl

from analysis.answers.columns import SWITCHES, Check
from analysis.answers.orderings import implied_choices, numbered

MULTIPLE = "switches more than once"
REVERSED = "switches from the gamble to the sure output"
WAY = "gamble"  # the elicitation of implied choices
SECOND = " (gamble)"  # after the name of a criterion that annotators also chose by
OWN = (*SWITCHES, "anchor", "again", "utility")  # columns that choices have not
CLOSE = 1e-6  # by which numbers may differ that were rounded when they were written


def check_switches(check: Check) -> None:
    """Check between which chances each answer switches; an answer that does not switch once is missing, with why."""
    for column in ("lower", "upper"):
        check.number(column, column)
    for column in ("switches", "again"):
        check.whole(column)
    if check.problems:
        return
    utility, lower, upper = (pl.col(name) for name in ("value", "lower", "upper"))
    known = utility.is_not_null()
    alone = known & (lower.is_null() | upper.is_null())
    check.refuse(alone, "utility", "a utility needs lower and upper, the chances between which the answer switches")
    outside = known & ((lower < 0) | (upper > 1) | (lower >= upper))
    check.refuse(outside, "lower", "lower and upper must be chances from 0 to 1, lower below upper")
    beside = known & ((utility < lower - CLOSE) | (utility > upper + CLOSE))
    check.refuse(beside, "value", "utility must lie between lower and upper")
    check.refuse(pl.col("again") > 1, "again", "again must be 0 or 1")
    many, turned = pl.col("switches") > 1, pl.col("switches") == 1
    reason = pl.when(many).then(pl.lit(MULTIPLE)).when(turned).then(pl.lit(REVERSED)).otherwise("missing_reason")
    check.frame = check.frame.with_columns(
        pl.when(known).then(None).otherwise(reason).alias("missing_reason"), pl.col("again").fill_null(0)
    )


def asked_once(gambles: pl.DataFrame) -> pl.DataFrame:
    """Return the utilities between the two references, as they were first asked."""
    return gambles.filter(pl.col("anchor").is_null(), pl.col("again") == 0, pl.col("value").is_not_null())


def with_gambled_choices(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Add to the choices those that utilities imply: of two outputs of one item and annotator the higher utility wins.

    Outputs whose answers switch at the same chances are tied; an answer without a utility implies no choice.
    """
    gambles = tables.get("gambles")
    if gambles is None:
        return tables
    choices = tables.get("choices")
    if choices is not None:
        criterion = pl.col("criterion")
        also = criterion.is_in(choices["criterion"].cast(pl.String).unique().to_list())
        gambles = gambles.with_columns(pl.when(also).then(criterion + SECOND).otherwise(criterion).alias("criterion"))
    rows = asked_once(gambles).drop(name for name in OWN if name in gambles.columns)
    ranked = numbered(rows.with_columns(-pl.col("value"), rank=pl.lit(None)))  # the lowest rank is the best
    implied = implied_choices(ranked, WAY)
    if not implied.is_empty():
        both = [implied] if choices is None else [choices, implied]
        tables = tables | {"choices": pl.concat(both, how="diagonal_relaxed")}
    return tables | {"gambles": gambles}
