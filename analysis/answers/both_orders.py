"""Choices that one annotator made twice, with the sides of the two outputs swapped: paired, and made one answer.

An answer that changes with the sides is about the sides; as a declared rule has it, it counts as a tie or as none.
"""

from __future__ import annotations

from typing import Literal

import polars as pl

Flips = Literal["tie", "missing"]
TURNED = "the answer changed with the order of the two outputs"
ASKED = ("annotator_id", "assignment_id", "variant", "repeat", "criterion", "elicitation", "item_id", "sample")
PLAIN = "choice"  # the elicitation of choices between two outputs that were shown alone


def is_placed(choices: pl.DataFrame) -> pl.Expr:
    """Tell whether ``system_x`` was shown first: not where a table lists the winner, or orders without places."""
    return pl.col("placed").fill_null(True) if "placed" in choices.columns else pl.lit(True)


def asked_twice(choices: pl.DataFrame) -> pl.DataFrame:
    """Return the choices between two outputs, each with what its reverse says.

    Returns
    -------
    DataFrame
        The rows of the table, with ``own`` and ``reverse``: the answers for the system whose name comes first (of two
        outputs of one name, the sample), in this order and in the other one. ``asked`` tells whether the reverse was
        asked, ``ahead`` whether that system was shown first, ``turn`` numbers the two orders of one question from 0.
    """
    strings = choices.with_columns(pl.col(pl.Categorical).cast(pl.String))
    x, y = ("system_x", "sample_x"), ("system_y", "sample_y")
    ahead = pl.col("system_x") < pl.col("system_y")
    pair = [pl.when(ahead).then(one).otherwise(other) for one, other in (*zip(x, y, strict=True),)]
    pair += [pl.when(ahead).then(other).otherwise(one) for one, other in (*zip(x, y, strict=True),)]
    way = (pl.col("elicitation").is_null() | (pl.col("elicitation") == PLAIN)) & is_placed(choices)
    rows = strings.with_columns(
        ahead=ahead, own=pl.when(ahead).then("value").otherwise(1 - pl.col("value")), _plain=way
    ).with_columns(_question=pl.struct(*ASKED, *(part.alias(f"_{place}") for place, part in enumerate(pair))))
    rows = rows.with_columns(_question=pl.col("_question").rank("dense"))
    both = (pl.col("ahead").n_unique().over("_question") == 2) & pl.col("_plain")
    reverse = [pl.col("own").filter(pl.col("ahead") == side).first().over("_question") for side in (False, True)]
    return rows.with_columns(
        asked=both,
        reverse=pl.when(both).then(pl.when("ahead").then(reverse[0]).otherwise(reverse[1])),
        turn=pl.int_range(pl.len()).over("_question"),
    ).drop("_plain", "_question")


def as_one_answer(choices: pl.DataFrame, flips: Flips) -> pl.DataFrame:
    """Return choices with one row for both orders of a question, where the table first asks it.

    Two answers that are the same are that answer; two that are not are a tie, or missing. Where one of the two was not
    answered the other one counts.
    """
    rows = asked_twice(choices)
    if not rows["asked"].any():
        return choices
    own, reverse = pl.col("own"), pl.col("reverse")
    otherwise = pl.lit(0.5) if flips == "tie" else pl.lit(None, dtype=pl.Float64)
    changed = pl.col("asked") & own.is_not_null() & reverse.is_not_null() & (own != reverse)
    met = pl.when(changed).then(otherwise).otherwise(pl.coalesce(own, reverse))
    value = pl.when("ahead").then(met).otherwise(1 - met)
    text = value.replace_strict({1.0: "x", 0.5: "tie", 0.0: "y"}, default=None, return_dtype=pl.String)
    reason = pl.when(changed & met.is_null()).then(pl.lit(TURNED)).when(met.is_null()).then("missing_reason")
    asked = pl.col("asked")
    merged = rows.filter(~asked | (pl.col("turn") == 0)).with_columns(
        value=pl.when(asked).then(value).otherwise("value"),
        **{name: pl.when(asked).then(text).otherwise(name) for name in ("text", "winner") if name in rows.columns},
        missing_reason=pl.when(asked).then(reason).otherwise("missing_reason"),
    )
    return merged.select(pl.col(name).cast(kind) for name, kind in choices.schema.items())
