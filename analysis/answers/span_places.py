"""Places of marked errors: whether ends are included, texts of another length, outputs of two lengths."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import polars as pl

from analysis.answers.columns import Check, rows_named
from spa.errors import ArgumentProblem, shortened

Ends = Literal["included", "excluded"]
NAMED = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputLengths:
    """Outputs that have two lengths, and one of them with both."""

    n: int
    n_outputs: int
    item_id: str
    system: str
    lengths: tuple[int, int]


def check_places(check: Check, ends: Ends | None) -> None:
    """Check that places are in the text and as long as what was marked, and make all ends excluded.

    Where ends are included, annotators whose ``text`` is as long as ``end - start`` have excluded them all the same.
    """
    placed = pl.col("start").is_not_null()
    check.refuse(placed & pl.col("severity").is_null(), "severity", "an error with a place must have a severity")
    check.refuse(placed & pl.col("end").is_null(), "end", "end must follow start")
    if check.problems:
        return
    length = pl.col("text").str.len_chars().cast(pl.Int64) - (pl.col("end") - pl.col("start"))
    told = check.frame.filter(placed & pl.col("text").is_not_null()).with_columns(length.alias("longer"))
    by_annotator = told.group_by("annotator_id").agg(
        pl.len().alias("n"), (pl.col("longer") == 1).sum().alias("short"), (pl.col("longer") == 0).sum().alias("fits")
    )
    short = by_annotator.filter(pl.col("short") == pl.col("n"))["annotator_id"].sort()
    neither = by_annotator.filter((pl.col("short") < pl.col("n")) & (pl.col("fits") < pl.col("n")))["annotator_id"]
    wrong = told.filter((pl.col("longer") != 0) & ~pl.col("annotator_id").is_in(short.implode()))
    if len(neither):
        longer, first = wrong["longer"][0], wrong.row(0, named=True)
        whole = first["characters"] is not None and len(first["text"]) >= first["characters"] > 0
        do = "if text is the whole output, --map text=output" if whole else "count code points, not bytes"
        check.problems.append(
            f"{check.place}, {rows_named(wrong['row'])}: text must be as long as end - start, got "
            f"{shortened(repr(first['text']), 40)} with {len(first['text'])} characters for {first['start']} to "
            f"{first['end']}, {abs(longer)} {'less' if longer > 0 else 'more'}; {do}"
        )
        return
    if len(short) and ends != "included":
        rows = told.filter(pl.col("annotator_id").is_in(short.implode()))
        who = shortened(", ".join(short.head(NAMED)), 80) + (
            f" and {len(short) - NAMED} more" if len(short) > NAMED else ""
        )
        check.problems.append(
            ArgumentProblem(
                "ends",
                before=f"{check.place}: ends are included in all {rows.height:,} places by {who}, where text is one "
                "longer than end - start; add ",
                in_python="='included'",
                in_command=" included",
            )
        )
        return
    if ends == "included":
        fits = by_annotator.filter(pl.col("fits") == pl.col("n"))["annotator_id"]
        end = pl.col("end") + (~pl.col("annotator_id").is_in(fits.implode())).cast(pl.Int64)
        check.frame = check.frame.with_columns(pl.when(placed).then(end).otherwise("end").alias("end"))
    behind = placed & (pl.col("end") <= pl.col("start"))
    advice = "" if ends else " (where ends are included, --ends included)"
    check.refuse(behind, "end", f"end must follow start{advice}")
    beyond = placed & (pl.col("end") > pl.col("characters"))
    check.refuse(beyond.fill_null(False), "end", "end must not exceed characters, the length of the text")


def two_lengths(spans: pl.DataFrame) -> OutputLengths | None:
    """Return the outputs whose length (``characters``) is not the same in all rows."""
    output = ["item_id", "system", *(["sample"] if "sample" in spans.columns else [])]
    known = spans.drop_nulls("characters").group_by(output).agg(pl.col("characters").unique().sort())
    several = known.filter(pl.col("characters").list.len() > 1).sort(output)
    if several.is_empty():
        return None
    first = several.row(0, named=True)
    return OutputLengths(
        n=several.height,
        n_outputs=known.height,
        item_id=first["item_id"],
        system=first["system"],
        lengths=(first["characters"][0], first["characters"][-1]),
    )


def length_words(lengths: OutputLengths) -> str:
    """Word the caveat."""
    low, high = lengths.lengths
    have = "has" if lengths.n == 1 else "have"
    return (
        f"{lengths.n:,} of {lengths.n_outputs:,} outputs {have} two lengths (column characters; {low} and {high} for "
        f"item {shortened(lengths.item_id, 30)} of {shortened(lengths.system, 30)}), so that places by two annotators "
        "may not mean the same characters; agreement on places then says little."
    )
