"""The table of marked errors: its columns, its checks, outputs without rows, and the counts that are rated."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import polars as pl

from analysis.answers.columns import ANSWER_COLUMNS, OVERALL, SPAN_COLUMNS, Check
from analysis.answers.options import Reading
from analysis.answers.span_places import OutputLengths, check_places, length_words, two_lengths
from analysis.answers.span_weights import (
    NO_ERRORS,
    CategoryWeights,
    category_words,
    say_clean,
    turn_penalties,
    unweighed_categories,
    weigh,
)
from spa.errors import shortened

WHO = ("annotator_id", "annotator_kind", "variant", "repeat", "group", "criterion")
OF_VISIT = ("assignment_id", "readout", "form", "visit")
NAMED = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanOutputs:
    """Outputs without rows by annotators who never say that an output has no errors."""

    n: int
    n_outputs: int
    annotators: tuple[str, ...]


def outputs_without_rows(spans: pl.DataFrame) -> pl.DataFrame:
    """Return the outputs of the items that each annotator has rows about, in which they have none.

    Of annotators with a row that says "no errors" there are none: they say what they judged. An item's outputs are
    those of all systems of the criterion. Nobody needs to have marked anything in an output that is returned.

    Returns
    -------
    DataFrame
        Columns of ``WHO``, ``OF_VISIT`` (as in the annotator's first row about the item), ``item_id``, ``sample`` and
        ``system``; ``single``: whether the annotator has rows about one system of each item only.
    """
    who = [name for name in WHO if name in spans.columns]
    visit = [name for name in OF_VISIT if name in spans.columns]
    says = spans.filter(pl.col("reason") == NO_ERRORS)["annotator_id"].unique()
    own = spans.filter(~pl.col("annotator_id").is_in(says.implode()))
    item = [*who, "item_id", *(["sample"] if "sample" in spans.columns else [])]
    items = own.group_by(item, maintain_order=True).agg(
        *(pl.col(name).first() for name in visit), pl.col("system").n_unique().alias("systems")
    )
    systems = spans.select("criterion", "system").unique().sort("criterion", "system")
    grid = items.join(systems, on="criterion", maintain_order="left")
    missing = grid.join(own.select(*item, "system").unique(), on=[*item, "system"], how="anti", nulls_equal=True)
    single = (pl.col("systems").max().over(who) == 1).alias("single")
    return missing.join(items.select(*item, single), on=item, nulls_equal=True, maintain_order="left").drop("systems")


def with_clean_outputs(spans: pl.DataFrame) -> pl.DataFrame:
    """Add a row "no errors" for each output of :func:`outputs_without_rows`, as long as others say the output is."""
    added = outputs_without_rows(spans).drop("single")
    output = [name for name in ("item_id", "sample", "system") if name in spans.columns]
    lengths = spans.drop_nulls("characters").group_by(output).agg(pl.col("characters").max())
    added = added.join(lengths, on=output, how="left", nulls_equal=True, maintain_order="left")
    added = added.with_columns(pl.lit(NO_ERRORS).alias("reason"))
    return pl.concat([spans, added], how="diagonal_relaxed")


def unsaid_outputs(spans: pl.DataFrame) -> CleanOutputs | None:
    """Return the outputs that may have been judged, where annotators saw several outputs of an item."""
    missing = outputs_without_rows(spans).filter(~pl.col("single"))
    if missing.is_empty():
        return None
    annotators = missing["annotator_id"].unique().sort()
    judged = spans.filter(pl.col("annotator_id").is_in(annotators.implode()))
    key = [name for name in (*WHO, "item_id", "sample", "system") if name in spans.columns]
    n_judged = judged.select(key).unique().height
    return CleanOutputs(n=missing.height, n_outputs=n_judged + missing.height, annotators=tuple(annotators))


def clean_words(clean: CleanOutputs) -> str:
    """Word the caveat."""
    who = shortened(", ".join(clean.annotators[:NAMED]), 80)
    more = f" and {len(clean.annotators) - NAMED} more" if len(clean.annotators) > NAMED else ""
    return (
        f"{clean.n:,} of {clean.n_outputs:,} outputs of items in which {who}{more} marked errors have no row, and "
        "count as not judged, not as without errors. If they were judged, add --clean-outputs; else let a row with "
        f'the reason "{NO_ERRORS}" say which outputs were.'
    )


ANSWERED = ("annotator_id", "annotator_kind", "assignment_id", "variant", "repeat", "group", "readout", "form", "visit")
SpanDoubt = Literal["clean_outputs", "category_weights", "output_lengths"]
COUNTED = "spans"  # the elicitation of ratings that are counts of errors


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanDoubts:
    """What a reader must know of a table of marked errors, and what was done to it."""

    clean: CleanOutputs | None = None
    lengths: OutputLengths | None = None
    categories: CategoryWeights | None = None
    notes: tuple[str, ...] = ()

    def words(self) -> Iterator[tuple[SpanDoubt, str]]:
        """Word the caveats, each with its kind."""
        if self.clean is not None:
            yield "clean_outputs", clean_words(self.clean)
        if self.categories is not None:
            yield "category_weights", category_words(self.categories)
        if self.lengths is not None:
            yield "output_lengths", length_words(self.lengths)


def check_spans(check: Check, reading: Reading) -> None:
    """Check a table: an error has a place or a reason, an answer without errors a row with the reason "no errors"."""
    for column in ("annotator_id", "item_id", "system"):
        check.names(column)
    absent = [column for column in (*SPAN_COLUMNS, *ANSWER_COLUMNS) if column not in check.frame.columns]
    check.frame = check.frame.with_columns(pl.lit(None, dtype=pl.String).alias(column) for column in absent)
    check.blank(column for column in check.frame.columns if column not in ("row", *absent))
    check.frame = check.frame.with_columns(pl.col("criterion").fill_null(OVERALL))
    say_clean(check)
    for column in ("start", "end", "characters"):
        check.whole(column)
    check.number("weight", "weight")
    if check.problems:
        return
    check_places(check, reading.ends)
    silent = (
        pl.col("severity").is_null()
        & (pl.col("reason") != NO_ERRORS).fill_null(True)
        & pl.col("missing_reason").is_null()
    )
    check.refuse(silent, "reason", f'a row without an error must have the reason "{NO_ERRORS}" or a missing_reason')
    weigh(check, reading.weights)


def check_spans_together(check: Check, reading: Reading) -> SpanDoubts:
    """Apply what needs all rows: penalties are turned, outputs without errors are added where that was said."""
    notes = turn_penalties(check)
    if check.problems:
        return SpanDoubts()
    before = check.frame.height
    if reading.clean_outputs:
        check.frame = with_clean_outputs(check.frame)
        notes += (f"{check.frame.height - before:,} outputs without rows count as without errors",)
    found = SpanDoubts(
        clean=None if reading.clean_outputs else unsaid_outputs(check.frame),
        lengths=two_lengths(check.frame),
        categories=unweighed_categories(check.frame, reading.weights),
        notes=notes,
    )
    check.frame = check.frame.drop("weighed")
    return found


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
