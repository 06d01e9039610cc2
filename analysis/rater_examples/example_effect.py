"""Rows of ``examples``: an LLM with answered examples and without them, beside people, on items held out from both."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import polars as pl

from analysis.answers.groups import people_of
from analysis.answers.input import AnalysisInput
from analysis.answers.order import turned
from analysis.statistics.coding import Floats, fold, number
from analysis.statistics.reasons import Reason, why
from analysis.statistics.record import Coefficient, Count, Record, Source
from analysis.statistics.t_tests import NO_VARIATION, ONE_UNIT, t_bound

UNITS = {
    "ratings": ("item_id", "sample", "system"),
    "choices": ("item_id", "sample_first", "sample_second", "x", "y"),
}
NOBODY = why("nobody_else")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ExampleEffect(Record):
    """How well one LLM agrees with people on one criterion, with answered examples and without."""

    explained: ClassVar[tuple[str, ...]] = ("difference",)

    source: Source
    group: str
    """The LLM with examples."""
    without: str
    """The same without, asked about the same items."""
    criterion: str
    measure: Literal["correlation", "agreement"]
    """Ratings: Pearson's correlation over outputs. Choices: the mean chance that the LLM's answer and one of people's
    to the same pair agree, where one of them is a tie by half."""
    n: Count
    """Outputs, or pairs of them, that both LLMs and people judged."""
    n_items: Count
    value: Coefficient | None
    value_without: Coefficient | None
    difference: float | None
    """With less without: above 0 the examples bring the LLM nearer to people."""
    ci_low: float | None
    ci_high: float | None
    """By t from the spread between items (of correlations linearised)."""
    people: str | None
    reason: Reason | None = None
    """Why the difference or its interval is missing."""


def example_effects(prepared: AnalysisInput) -> Iterator[ExampleEffect]:
    """Yield a row a source, pair of LLMs with and without examples, and criterion that both answered."""
    people = people_of(prepared.groups)
    known = {group for group, _ in prepared.groups}
    for source, table in prepared.kept.items():
        if source not in UNITS:
            continue
        order = prepared.orders[source]
        for group, without in prepared.plan.examples:
            if not {group, without} <= known:
                continue
            for criterion in order.criteria:
                rows = table.filter(pl.col("criterion") == criterion, pl.col("value").is_not_null())
                rows = rows.with_columns(pl.col(pl.Categorical).cast(pl.String))
                rows = turned(rows, order) if source == "choices" else rows
                units = [one for one in UNITS[source] if one in rows.columns]
                both = [
                    _by(rows.filter(pl.col("group") == one), units, name)
                    for one, name in ((group, "a"), (without, "b"))
                ]
                cells = both[0].join(both[1], on=units, how="inner", nulls_equal=True)
                theirs = next((one for one in people if rows.filter(pl.col("group") == one).height), None)
                if cells.is_empty():
                    continue
                if theirs is not None:
                    by_people = _by(rows.filter(pl.col("group") == theirs), units, "people")
                    cells = cells.join(by_people, on=units, how="inner", nulls_equal=True)
                found = _compared(cells, source, prepared.plan.confidence) if theirs is not None else _nothing(NOBODY)
                yield ExampleEffect(
                    source=source,  # type: ignore[arg-type]
                    group=group,
                    without=without,
                    criterion=criterion,
                    measure="correlation" if source == "ratings" else "agreement",
                    n=cells.height,
                    n_items=cells["item_id"].n_unique(),
                    people=theirs,
                    **found,
                )


def _by(rows: pl.DataFrame, units: list[str], name: str) -> pl.DataFrame:
    if rows.is_empty():
        return rows.select(units).with_columns(pl.Series(name, [], dtype=pl.Float64))
    cells = fold(*(number(rows[one]) for one in units))
    found: pl.DataFrame = rows.select(units)[cells.first.tolist()]
    return found.with_columns(pl.Series(name, cells.mean(rows["value"].to_numpy())))


def _compared(cells: pl.DataFrame, source: str, confidence: float) -> dict[str, Any]:
    measure = correlation if source == "ratings" else agreement
    people, items = cells["people"].to_numpy(), cells["item_id"].to_list()
    shown, bare = (measure(cells[name].to_numpy(), people) for name in ("a", "b"))
    if shown is None or bare is None:
        values = {name: None if one is None else one[0] for name, one in (("value", shown), ("value_without", bare))}
        return _nothing(NO_VARIATION) | values
    found = {"value": shown[0], "value_without": bare[0], "difference": shown[0] - bare[0]}
    _, of = np.unique(np.asarray(items, dtype=str), return_inverse=True)
    sums = np.bincount(of, weights=shown[1] - bare[1])
    clusters = len(sums)
    variance = clusters / (clusters - 1) * float(sums @ sums) if clusters > 1 else 0.0
    if variance <= 1e-18:
        return _nothing(ONE_UNIT if clusters < 2 else NO_VARIATION) | found
    half = t_bound(clusters - 1, confidence) * variance**0.5
    middle = shown[0] - bare[0]
    return found | {"ci_low": middle - half, "ci_high": middle + half, "reason": None}


def correlation(llm: Floats, people: Floats) -> tuple[float, Floats] | None:
    """Return Pearson's r and what each pair of values contributes to its error; None where one side never varies."""
    size = len(llm)
    apart = [one - one.mean() if size else one for one in (llm, people)]
    spread = [float(one @ one) / max(size, 1) for one in apart]
    if min(spread) <= 1e-12:
        return None
    x, y = (one / scale**0.5 for one, scale in zip(apart, spread, strict=True))
    r = min(max(float(x @ y) / size, -1.0), 1.0)
    return r, (x * y - r * (x * x + y * y) / 2) / size


def agreement(llm: Floats, people: Floats) -> tuple[float, Floats] | None:
    """Return the mean chance that both choose alike, and what each pair contributes to its error."""
    if not len(llm):
        return None
    alike = llm * people + (1 - llm) * (1 - people)
    mean = float(alike.mean())
    return mean, (alike - mean) / len(alike)


def _nothing(reason: Reason) -> dict[str, Any]:
    return {**dict.fromkeys(("value", "value_without", "difference", "ci_low", "ci_high")), "reason": reason}
