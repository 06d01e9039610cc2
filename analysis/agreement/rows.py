"""Agreement of each group on each criterion, as rows of ``results.json``."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import numpy as np
import polars as pl

from analysis.agreement.data import ReliabilityData, from_codes
from analysis.agreement.gwet import exact_agreement, gwet_ac1
from analysis.agreement.icc import every_icc
from analysis.agreement.krippendorff import Level, krippendorff_alpha
from analysis.agreement.pairwise import mean_kendall_tau, pairwise_agreement
from analysis.agreement.result import Agreement, no_answer
from analysis.answers.order import Order
from analysis.answers.plan import Plan
from analysis.answers.tables import answered_rows
from analysis.statistics.coding import Codes, Floats, Ints, code, fold, scale_of, snap

LEVELS: tuple[Level, ...] = ("nominal", "ordinal", "interval")
FEW_VALUES = 20  # whole numbers up to which a scale is taken as ordered steps
FEW_ANNOTATORS = 10  # up to which every pair of them is shown
REPLICATES = 1000
Rows = list[dict[str, Any]]


def agreement_of_ratings(table: pl.DataFrame, order: Order, plan: Plan) -> tuple[Rows, Rows]:
    """Measure how far the annotators of each group agree on each criterion.

    A unit is an item's output (item, system, sample). People and simulated annotators are raters by themselves, an
    annotator's several answers to one unit averaged; of an LLM each repeat, and each further assignment that asks the
    same, is a rater. Where a group has one rater there are no rows.

    Returns
    -------
    tuple of list of dict
        Rows of ``agreement`` and of ``annotator_pairs``. The intervals depend on ``plan.seed``, the group and
        the criterion alone.
    """
    rows: Rows = []
    pairs: Rows = []
    for group, criterion, data in rating_data(table, order):
        place = {"source": "ratings", "group": group, "criterion": criterion}
        seed = [plan.seed, zlib.crc32(f"{group}\n{criterion}".encode())]
        fitting = level_of(data.value)
        for found in _measures(data, fitting, plan.confidence, seed):
            rows.append({**place, **agreement_row(found, fitting)})
        if data.n_annotators <= FEW_ANNOTATORS and data.n_pairable > 1:
            pairs += [{**place, **asdict(pair)} for pair in pairwise_agreement(data, level=fitting)]
    return rows, pairs


def level_of(answers: Floats) -> Level:
    """Return "ordinal" for few whole numbers, "interval" for sliders and means."""
    values = np.unique(answers)
    return "ordinal" if len(values) <= FEW_VALUES and np.array_equal(values, np.round(values)) else "interval"


def _measures(data: ReliabilityData, fitting: Level, confidence: float, seed: list[int]) -> Iterator[Agreement]:
    if no_answer(data) is not None and not data.constant:
        yield krippendorff_alpha(data, level=fitting)  # says why there is nothing to measure
        return
    for level in LEVELS:
        rng = np.random.default_rng([*seed, LEVELS.index(level)])
        yield krippendorff_alpha(data, level=level, confidence=confidence, replicates=REPLICATES, rng=rng)
    yield exact_agreement(data, confidence=confidence)
    if fitting == "ordinal":
        yield gwet_ac1(data, confidence=confidence)
    yield from every_icc(data, confidence=confidence)
    if data.n_annotators <= FEW_ANNOTATORS:
        yield mean_kendall_tau(data)


def agreement_row(found: Agreement, fitting: Level) -> dict[str, Any]:
    """Return the row of a coefficient, but for what names the group; ``fitting`` is the level that fits the scale."""
    return {
        "measure": found.measure,
        "value": found.value,
        "ci_low": found.ci_low,
        "ci_high": found.ci_high,
        "n_items": found.n_items,
        "n_annotators": found.n_annotators,
        "interval": found.interval,
        "estimator": found.settings.get("estimator"),
        "fits_scale": found.measure == f"krippendorff_alpha_{fitting}"
        if found.measure.startswith("krippendorff_alpha")
        else None,
        "reason": found.reason,
    }


def rating_data(table: pl.DataFrame, order: Order) -> Iterator[tuple[str, str, ReliabilityData]]:
    """Yield the reliability data of each group and criterion in which two raters answered."""
    table = answered_rows(table)
    several = table.group_by("group").agg(
        (pl.col("annotator_kind") != "llm").any() & (pl.col("annotator_id").n_unique() > 1),
        again=pl.struct("annotator_id", "variant", "repeat", "assignment_id").n_unique() > 1,
        llm=(pl.col("annotator_kind") == "llm").all(),
    )
    wanted = several.filter(pl.col("annotator_kind") | (pl.col("llm") & pl.col("again")))["group"]
    if len(wanted) < several.height:
        table = table.filter(pl.col("group").is_in(wanted.to_list()))
    if table.is_empty():
        return
    group, criterion = code(table["group"], order.groups).of, code(table["criterion"], order.criteria).of
    unit = fold(*(_sorted(table[name]).of for name in ("item_id", "system", "sample"))).of
    rater = _raters(table, unit, fold(group, criterion).of)
    part = fold(group, criterion)
    cells = fold(part.of, unit, rater.of)
    value, first = cells.mean(table["value"].to_numpy()), cells.first
    ends = np.cumsum(np.bincount(part.of[first]))
    for number, end in enumerate(ends.tolist()):
        own = slice(ends[number - 1] if number else 0, end)
        row = first[own]
        data = _data(unit[row], rater, rater.of[row], value[own])
        if data.n_annotators > 1:
            yield order.groups[group[row[0]]], order.criteria[criterion[row[0]]], data


def _data(unit: Ints, rater: Codes, of: Ints, value: Floats) -> ReliabilityData:
    present = np.unique(of)
    names = tuple(rater.ids[number] for number in present.tolist())
    return from_codes(unit, np.searchsorted(present, of), snap(value, scale=scale_of(value)), names)


def _raters(table: pl.DataFrame, unit: Ints, part: Ints) -> Codes:
    """Name the rater of each answer: the annotator, of an LLM with its variant, repeat and further assignment."""
    llm = (table["annotator_kind"] == "llm").to_numpy()
    plain = table["annotator_id"]
    if not llm.any():
        return _sorted(plain)
    own = pl.when(pl.col("annotator_kind") == "llm").then(pl.lit(1)).otherwise(None)
    named = table.select(
        name=pl.concat_str(
            [pl.col("annotator_id"), *(pl.when(own == 1).then(pl.col(part)) for part in ("variant", "repeat"))],
            separator="/",
            ignore_nulls=True,
        )
    )["name"]
    visits = _sorted(table["assignment_id"]).of
    again = fold(part, unit, code(named).of).of
    order = np.lexsort((visits, again))
    starts = np.flatnonzero(np.diff(again[order], prepend=-1))
    slot = np.empty(len(again), dtype=np.int64)
    slot[order] = np.arange(len(again)) - np.repeat(starts, np.diff(starts, append=len(again)))
    slot[~llm] = 0
    numbered = pl.Series([f"{number + 1}" for number in range(int(slot.max()) + 1)])[slot.tolist()]
    shown = pl.select(
        pl.when(pl.Series(slot) == 0).then(named).otherwise(pl.concat_str([named, numbered], separator=" #"))
    ).to_series()
    return _sorted(shown)


def _sorted(column: pl.Series) -> Codes:
    """Give ids numbers in their own order, so that the order of the rows does not reach an iterative fit."""
    seen = column.unique().to_list()
    return code(column, sorted({"" if name is None else name for name in seen}))
