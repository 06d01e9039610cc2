"""Outputs in which an annotator marked nothing although they marked errors in another output of the same item."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from analysis.answers.span_weights import NO_ERRORS
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


def clean_words(found: CleanOutputs) -> str:
    """Word the caveat."""
    who = shortened(", ".join(found.annotators[:NAMED]), 80)
    more = f" and {len(found.annotators) - NAMED} more" if len(found.annotators) > NAMED else ""
    return (
        f"{found.n:,} of {found.n_outputs:,} outputs of items in which {who}{more} marked errors have no row, and "
        "count as not judged, not as without errors. If they were judged, add --clean-outputs; else let a row with "
        f'the reason "{NO_ERRORS}" say which outputs were.'
    )
