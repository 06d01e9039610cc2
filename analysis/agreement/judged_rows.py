"""Agreement on preferences and choices, as rows of ``results.json``."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import polars as pl

from analysis.agreement.data import ReliabilityData
from analysis.agreement.gwet import exact_agreement, fleiss_kappa, gwet_ac1
from analysis.agreement.kappa import cohen_kappa
from analysis.agreement.krippendorff import Level, krippendorff_alpha
from analysis.agreement.result import Agreement, no_answer
from analysis.agreement.rows import REPLICATES, agreement_row, rating_data
from analysis.answers.order import Order, toward
from analysis.answers.plan import Plan

LEVELS: dict[str, Level] = {"preferences": "interval", "choices": "nominal"}
WHO = ("group", "annotator_kind", "annotator_id", "assignment_id", "variant", "repeat", "criterion")


def agreement_of_judgements(
    kept: Mapping[str, pl.DataFrame], orders: Mapping[str, Order], plan: Plan
) -> list[dict[str, Any]]:
    """Measure how far the annotators of each group agree on pairs of systems.

    * Preferences: a unit is a pair and exposure; an annotator's answer is the mean of both directions, toward the one
      listed first. Alpha at the interval level.
    * Choices: a unit is two outputs of one item; answers are x, y or tie, in the direction of the pair first listed.
      Alpha at the nominal level, exact agreement, Gwet's AC1, Fleiss' kappa, and Cohen's of two annotators.

    Raters are those of :func:`analysis.agreement.rows.agreement_of_ratings`: of an LLM each repeat and each further
    form that asks the same.

    Returns
    -------
    list of dict
        Rows of ``agreement``. Intervals resample units and depend on ``plan.seed``, the group and the criterion.
    """
    rows = []
    for source, level in LEVELS.items():
        if source not in kept:
            continue
        table = kept[source].filter(pl.col("value").is_not_null())
        if table.is_empty():
            continue
        order = orders[source]
        for group, criterion, data in rating_data(_as_units(table, source, order), order):
            place = {"source": source, "group": group, "criterion": criterion}
            seed = [plan.seed, zlib.crc32(f"{source}\n{group}\n{criterion}".encode())]
            rows += [{**place, **agreement_row(found, level)} for found in _measures(data, level, plan, seed)]
    return rows


def _as_units(table: pl.DataFrame, source: str, order: Order) -> pl.DataFrame:
    """Lay judgements out as ratings are: the pair as the system, and what else makes a unit as item and sample."""
    parts = ("exposure",) if source == "preferences" else ("item_id", "sample", "sample_first", "sample_second")
    judged = toward(table, order, (*WHO, *parts, "x", "y"))
    named = [pl.col(part).cast(pl.String).fill_null("") for part in parts]
    return judged.with_columns(
        item_id=pl.concat_str(named, separator="\n"),
        system=pl.concat_str("x", "y", separator="\n"),
        sample=pl.lit(None, dtype=pl.String),
    )


def _measures(data: ReliabilityData, level: Level, plan: Plan, seed: list[int]) -> Iterator[Agreement]:
    rng = np.random.default_rng(seed)
    yield krippendorff_alpha(data, level=level, confidence=plan.confidence, replicates=REPLICATES, rng=rng)
    if level == "interval" or (no_answer(data) is not None and not data.constant):
        return
    for measure in (exact_agreement, gwet_ac1, fleiss_kappa, *((cohen_kappa,) if data.n_annotators == 2 else ())):
        yield measure(data, confidence=plan.confidence)
