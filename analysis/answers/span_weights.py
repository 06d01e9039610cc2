"""Severities and weights of marked errors: words for "no error", weights that a table lacks, penalties below 0."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from analysis.answers.columns import Check, rows_named
from spa.errors import ArgumentProblem, shortened

NO_ERRORS = "no errors"  # the reason of a row that says so
CLEAN = ("no-error", "no error", "no errors", "no-errors")  # severities or categories that say so
WEIGHTS = {"minor": 1.0, "major": 5.0, "critical": 25.0}  # where the table has none
WMT: Mapping[str, float] = {  # of Freitag et al. (2021); the categories of weight 0 as WMT 2023 counts them
    "minor": 1.0,
    "major": 5.0,
    "critical": 25.0,
    "neutral": 0.0,
    "fluency/punctuation:minor": 0.1,
    "non-translation!": 25.0,
    "non-translation": 25.0,
    "source issue": 0.0,
    "accuracy/creative reinterpretation": 0.0,
}
PENALTIES = "weights at or below 0 read as penalties, their sign turned"
NAMED = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class CategoryWeights:
    """Errors whose category has another weight by WMT's rules than their severity, with three of the words."""

    n: int
    n_errors: int
    words: tuple[str, ...]


def say_clean(check: Check) -> None:
    """Make rows whose severity or category says "no error" rows without one, and write known severities small."""
    severity, category = (pl.col(name).str.to_lowercase() for name in ("severity", "category"))
    clean = severity.is_in(CLEAN).fill_null(False) | category.is_in(CLEAN).fill_null(False)
    known = pl.when(severity.is_in([*WEIGHTS])).then(severity).otherwise("severity").alias("severity")
    check.frame = check.frame.with_columns(known).with_columns(
        *(
            pl.when(clean).then(None).otherwise(name).alias(name)
            for name in ("severity", "start", "end", "weight", "text")
        ),
        pl.when(clean).then(pl.lit(NO_ERRORS)).otherwise("reason").alias("reason"),
    )


def weigh(check: Check, weights: Mapping[str, float]) -> None:
    """Give every error a weight: of ``weights`` (see ``Reading``), else the table's, else that of its severity."""
    marked = pl.col("severity").is_not_null()
    own = pl.coalesce(_by(weights), "weight", _by(WEIGHTS))
    check.frame = check.frame.with_columns(
        pl.col("weight").is_not_null().alias("weighed"), pl.when(marked).then(own).otherwise("weight").alias("weight")
    )
    weightless = check.frame.filter(marked & pl.col("weight").is_null())
    if weightless.height:
        words = weightless["severity"].unique().sort().to_list()
        known = all(word.lower() in WMT for word in words)
        ready = " ".join(f'"{shortened(word, 30)}={WMT.get(word.lower(), 1):g}"' for word in words[:NAMED])
        check.problems.append(
            ArgumentProblem(
                "weights",
                before=f"{check.place}, {rows_named(weightless['row'])}: a severity other than {', '.join(WEIGHTS)} "
                "needs a column weight or ",
                in_python="=analysis.answers.span_weights.WMT" if known else f"={{{words[0]!r}: 1.0}}",
                in_command=" wmt" if known else f" {ready}",
                after=f", got {shortened(', '.join(map(repr, words)), 80)}",
            )
        )


def _by(weights: Mapping[str, float]) -> pl.Expr:
    """Return the weight of an error by category and severity, by category, or by severity; null where none is named."""
    small = {word.lower(): weight for word, weight in weights.items()}
    severity, category = (pl.col(name).str.to_lowercase() for name in ("severity", "category"))
    words = (pl.format("{}:{}", category, severity), category, severity)
    return pl.coalesce(word.replace_strict(small, default=None, return_dtype=pl.Float64) for word in words)


def turn_penalties(check: Check) -> tuple[str, ...]:
    """Turn weights that are all at or below 0, and return what to say; refuse weights of both signs."""
    marked = pl.col("severity").is_not_null()
    weights = check.frame.filter(marked)["weight"]
    lowest, highest = weights.min(), weights.max()
    if lowest is None or highest is None or not float(lowest) < 0:  # type: ignore[arg-type]
        return ()
    if float(highest) > 0:  # type: ignore[arg-type]
        rule = "weights must be all at or above 0, or all at or below 0 (penalties)"
        check.refuse(marked & (pl.col("weight") < 0), "weight", rule)
        return ()
    check.frame = check.frame.with_columns((0.0 - pl.col("weight")).alias("weight"))
    return (PENALTIES,)


def unweighed_categories(spans: pl.DataFrame, weights: Mapping[str, float]) -> CategoryWeights | None:
    """Return what WMT weighs by category, where neither the table nor an option has weights."""
    errors = spans.filter(pl.col("severity").is_not_null())
    if weights or errors["weighed"].any():
        return None
    other = errors.with_columns(_by(WMT).alias("wmt")).filter(
        pl.col("category").is_not_null() & (pl.col("wmt") != pl.col("weight"))
    )
    if other.is_empty():
        return None
    named = other.select(pl.format("{} {} {}", "category", "severity", "wmt").str.replace(r"\.0$", "")).to_series()
    return CategoryWeights(n=other.height, n_errors=errors.height, words=tuple(named.unique().sort().head(NAMED)))


def category_words(weights: CategoryWeights) -> str:
    """Word the caveat."""
    return (
        f"Errors weigh by severity alone. By the rules of WMT {weights.n:,} of {weights.n_errors:,} weigh otherwise, "
        f"by category ({shortened(', '.join(weights.words), 150)}). If these are WMT's categories, add --weight wmt; "
        "if not, --weight minor=1."
    )
