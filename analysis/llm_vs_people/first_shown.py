"""Whether an LLM takes the output that it is shown first, from comparisons that it was asked in both orders.

No people are needed: an answer that turns with the order of the two outputs is about the order.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import polars as pl

from analysis.answers.both_orders import is_placed
from analysis.answers.order import Order, turned
from analysis.statistics.record import Count, Probability, Record
from analysis.statistics.t_tests import sign_test

LARGE = 0.1  # share of comparisons decided by the place alone, from which on a caveat is worth its line
ASKED = ("assignment_id", "variant", "item_id", "sample_first", "sample_second", "x", "y")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class FirstShownRow(Record):
    """How often an LLM took the output in the same place in both orders of one comparison."""

    group: str
    """An LLM's id or id/variant."""
    criterion: str
    n: Count
    """Comparisons of two outputs that were asked in both orders, by choices."""
    first: Count
    """Those where the output shown first was chosen in both."""
    second: Count
    """Those where the output shown second was chosen in both."""
    p_value: Probability | None
    """Exact sign test of first against second; null where there are neither."""
    biased: bool
    """Whether the test finds a place preferred at the study's error rate, and a tenth of the comparisons turn on it."""


def first_shown_rows(choices: pl.DataFrame | None, order: Order | None, fwer: float) -> Iterator[FirstShownRow]:
    """Count comparisons decided by the place of the outputs, by LLM and criterion.

    Parameters
    ----------
    choices : DataFrame or None
        Choices after exclusions; of those that are placed, ``system_x`` was shown first.
    order : Order or None
        The order of the results.
    fwer : float
        Error rate at which a place counts as preferred.
    """
    if choices is None or order is None:
        return
    llms = choices.filter(pl.col("annotator_kind") == "llm", pl.col("value").is_not_null(), is_placed(choices))
    if llms.is_empty():
        return
    rows = turned(llms, order)
    by = ["annotator_id", *(name for name in ASKED if name in rows.columns)]
    by = [name for name in by if name != "assignment_id"]  # both orders may have been asked in forms of their own
    both = (
        rows.group_by("group", "criterion", *by)
        .agg(
            pl.col("value").filter(pl.col("forward")).mean().alias("ahead"),
            pl.col("value").filter(~pl.col("forward")).mean().alias("back"),
        )
        .drop_nulls(["ahead", "back"])
    )
    for group in order.groups:
        for criterion in order.criteria:
            own = both.filter(pl.col("group") == group, pl.col("criterion") == criterion)
            if own.is_empty():
                continue
            first = own.filter(pl.col("ahead") > 0.5, pl.col("back") < 0.5).height
            second = own.filter(pl.col("ahead") < 0.5, pl.col("back") > 0.5).height
            p_value = sign_test(first, second) if first + second else None
            yield FirstShownRow(
                group=group,
                criterion=criterion,
                n=own.height,
                first=first,
                second=second,
                p_value=p_value,
                biased=p_value is not None and p_value <= fwer and abs(first - second) >= LARGE * own.height,
            )
