"""Tables of answers, each checked by itself: what its columns hold, and what was made of its scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from analysis.answers.answer_checks import check_answers, check_columns, check_together, unmet_codes
from analysis.answers.columns import LAYOUTS, Check
from analysis.answers.gamble_tables import check_switches
from analysis.answers.item_preferences import check_items
from analysis.answers.options import Reading
from analysis.answers.other_tables import CHECKS
from analysis.answers.output_features import check_outputs
from analysis.answers.reading import RawTable
from analysis.answers.rescaling import Rescaled, rescale_scores, unmet_annotators
from analysis.answers.span_tables import SpanDoubts, check_spans, check_spans_together
from analysis.answers.unnamed import in_lists
from spa.errors import AnalysisError


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CheckedTables:
    """Tables without mistakes, by kind.

    Attributes
    ----------
    tables : mapping of str to DataFrame
        All files of a kind together.
    rescaled : tuple of Rescaled
        Scores that were mapped onto the scale of the others.
    span_doubts : SpanDoubts, optional
        What must be known of marked errors.
    averaged : tuple of str
        What was made of scores of turns, a line each.
    """

    tables: Mapping[str, pl.DataFrame]
    rescaled: tuple[Rescaled, ...] = ()
    span_doubts: SpanDoubts | None = None
    averaged: tuple[str, ...] = ()


def check_tables(raw: Mapping[str, Sequence[RawTable]], reading: Reading, problems: list[str]) -> CheckedTables:
    """Check each table by itself.

    Raises
    ------
    AnalysisError
        With all mistakes, and the ``problems`` that were found before.
    """
    checked: dict[str, pl.DataFrame] = {}
    rescaled: tuple[Rescaled, ...] = ()
    doubts: SpanDoubts | None = None
    averaged: tuple[str, ...] = ()
    for kind, parts in raw.items():
        try:
            checks = [check_columns(table, kind) for table in parts]
        except AnalysisError as error:
            problems += error.problems
            continue
        for check in checks:
            if kind in LAYOUTS:
                check_answers(check, kind, reading)
                if kind == "gambles":
                    check_switches(check)
            elif kind == "spans":
                check_spans(check, reading)
            elif kind == "outputs":
                check_outputs(check, reading.output_columns)
            else:
                CHECKS[kind](check)
        whole = _one_table(checks, kind)
        if kind in LAYOUTS and (reading.unnamed or reading.means) and not whole.problems:
            in_lists(whole, kind)
        if kind == "spans" and not whole.problems:
            doubts = check_spans_together(whole, reading)
        if kind == "preferences":
            check_items(whole)
        if kind in LAYOUTS:
            averaged += check_together(whole, kind, reading.scales)
        if kind == "ratings" and not whole.problems:
            rescaled = rescale_scores(whole, reading)
        problems += whole.problems
        checked[kind] = whole.frame
    if not problems and reading.missing:
        answers = (
            table.filter(pl.col("value").is_null())["text"] for kind, table in checked.items() if kind in LAYOUTS
        )
        problems += unmet_codes(reading.missing, {text for texts in answers for text in texts.cast(pl.String).unique()})
    if not problems and reading.rescale and "ratings" not in checked:
        problems += unmet_annotators(reading.rescale, set(), "the table of ratings")
    if problems:
        raise AnalysisError(*problems)
    return CheckedTables(tables=checked, rescaled=rescaled, span_doubts=doubts, averaged=averaged)


def _one_table(checks: Sequence[Check], kind: str) -> Check:
    """Return the check of all files of a table together."""
    if len(checks) == 1:
        return checks[0]
    whole = Check(
        pl.concat([check.frame for check in checks], how="diagonal_relaxed"), f"{len(checks)} files of {kind}"
    )
    whole.files = tuple((check.place, check.frame.height) for check in checks)
    whole.problems = [problem for check in checks for problem in check.problems]
    return whole
