"""Checks of the tables beside answers: metrics, identical pairs, annotators, reading, exclusions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import polars as pl

from analysis.answers.answer_checks import check_kind
from analysis.answers.careless import CARELESS_RULES
from analysis.answers.columns import (
    ANNOTATOR_COLUMNS,
    CORPUS_METRIC_COLUMNS,
    METRIC_COLUMNS,
    Check,
)
from analysis.statistics.checks import LARGEST

KNOWN_BY = ("script", "server", "refuted")  # how the exposure of an output is known
PLANNED_RULES = (  # the plan's own; no table may name one
    "self_consistency",
    "screening",
    "attention_checks",
    "repeat_submissions",
    "extra_answers",
    "incomplete_answers",
    "ended_early",
    *CARELESS_RULES,
)


def _check_metrics(check: Check, columns: Sequence[str], scored: str) -> None:
    for column in columns[:-1]:
        check.names(column)
    check.number("score", "value")
    doubled = pl.struct(columns[:-1]).is_duplicated() & pl.col("value").is_not_null()
    check.refuse(doubled, "metric", f"expected one score of a metric for each {scored}")
    check.refuse(pl.col("value").abs() > LARGEST, "score", "score must be of a size up to 1e100, to be squared")
    if "higher_is_better" in check.frame.columns:
        check.truth("higher_is_better")
        both = pl.col("higher_is_better").drop_nulls().n_unique().over("metric") > 1
        check.refuse(both, "metric", "higher_is_better must be the same in all rows of a metric")


def _check_identical_pairs(check: Check) -> None:
    for column in ("annotator_id", "criterion", "expected"):
        check.names(column)
    check.blank(column for column in ("variant", "group") if column in check.frame.columns)
    if "annotator_kind" in check.frame.columns:
        check_kind(check)
    check.number("expected", "expected")
    check.number("score", "value")


def _check_annotators(check: Check) -> None:
    check.names("annotator_id")
    check.blank(column for column in ANNOTATOR_COLUMNS[1:] if column in check.frame.columns)
    if "annotator_kind" in check.frame.columns:
        check_kind(check)
    for column in ("submissions", "sessions", "checks_failed", "checks_total"):
        if column in check.frame.columns:
            check.whole(column)
    if "screening_passed" in check.frame.columns:
        check.truth("screening_passed")
    for column in ("seconds", "usual_seconds", "passed_seconds"):
        if column in check.frame.columns:
            check.number(column, column)
    doubled = pl.col("annotator_id").is_duplicated() & pl.col("annotator_id").is_not_null()
    check.refuse(doubled, "annotator_id", "expected one row an annotator")


def _check_reading(check: Check) -> None:
    check.names("annotator_id")
    check.blank(column for column in check.frame.columns if column not in ("row", "annotator_id"))
    if "annotator_kind" in check.frame.columns:
        check_kind(check)
    check.whole("words")
    found = [name for name in ("usual_seconds", "length", "played") if name in check.frame.columns]
    for column in ("page_seconds", "seconds", "scrolled", *found):
        check.number(column, column)
        check.refuse(pl.col(column) < 0, column, f"{column} must be 0 or more")
    check.refuse(pl.col("scrolled") > 1, "scrolled", "scrolled must be a share of the output's height, at most 1")
    if "known_by" in check.frame.columns:
        check.refuse(~pl.col("known_by").is_in(KNOWN_BY), "known_by", f"expected {', '.join(KNOWN_BY)} or nothing")
    if "variant" not in check.frame.columns:
        check.frame = check.frame.with_columns(variant=pl.lit(None, dtype=pl.String))


def _check_exclusions(check: Check) -> None:
    for column in ("annotator_id", "rule"):
        check.names(column)
    absent = [column for column in ("assignment_id", "evidence") if column not in check.frame.columns]
    check.frame = check.frame.with_columns(pl.lit(None, dtype=pl.String).alias(column) for column in absent)
    check.blank(column for column in ("assignment_id", "evidence") if column not in absent)
    if "annotator_kind" in check.frame.columns:
        check_kind(check)
    taken = pl.col("rule").is_in(PLANNED_RULES)
    check.refuse(taken, "rule", f"rule must be a name of your own, not one of the plan's ({', '.join(PLANNED_RULES)})")


CHECKS: dict[str, Callable[[Check], None]] = {
    "metrics": lambda check: _check_metrics(check, METRIC_COLUMNS, "output (item and system)"),
    "corpus_metrics": lambda check: _check_metrics(check, CORPUS_METRIC_COLUMNS, "system"),
    "identical_pairs": _check_identical_pairs,
    "reading": _check_reading,
    "exclusions": _check_exclusions,
    "annotators": _check_annotators,
}
