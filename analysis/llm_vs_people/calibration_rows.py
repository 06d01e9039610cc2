"""The rows of results.json that hold stated probabilities against choices between the same systems."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
import polars as pl

from analysis.answers.order import Order, toward
from analysis.answers.plan import Plan
from analysis.answers.units import UnitRule
from analysis.comparisons.sides import Row, people_kind
from analysis.llm_vs_people.calibration import NO_ANSWERS, recalibrate

PAIR = ("criterion", "x", "y")
NOBODY_CHOSE = "nobody chose between outputs of these systems on this criterion"


def calibration_rows(kept: Mapping[str, pl.DataFrame], orders: Mapping[str, Order], plan: Plan) -> list[Row]:
    """Compare the preferences that each group stated with choices, by criterion.

    One choice of one annotator about one item is one outcome (1, 0.5 or 0 for x, a tie, y; repeats averaged). Its
    forecast is the mean statement, over directions and exposures, of

    * ``annotator``: the person who chose (people against their own choices);
    * ``assignment``: the LLM on the form on which the choice was made, where it answered that form;
    * ``pair``: else the whole group, about this pair.

    An LLM is held against people's choices and, where it chose too, against its own.

    Parameters
    ----------
    kept : mapping of str to DataFrame
        Answer tables after exclusions, by source.
    orders : mapping of str to Order
        The direction of each pair is that of the preferences.

    Returns
    -------
    list of dict
        Empty where there are no preferences or no choices.
    """
    if not {"preferences", "choices"} <= set(kept):
        return []
    order = orders["preferences"]
    who = ("group", "annotator_kind", "annotator_id", "assignment_id")
    stated, chosen = (kept[name].filter(pl.col("value").is_not_null()) for name in ("preferences", "choices"))
    if stated.is_empty() or chosen.is_empty():
        return []
    outcome = toward(chosen, order, (*who, "item_id", "sample", "sample_first", "sample_second", *PAIR))
    forecast = toward(stated, order, (*who, "exposure", *PAIR))
    kind = people_kind(chosen)
    people = outcome.filter(pl.col("annotator_kind") == kind) if kind else outcome.clear()
    rows: list[Row] = []
    for group in order.groups:
        said = forecast.filter(pl.col("group") == group)
        own = outcome.filter(pl.col("group") == group)
        if said.is_empty():
            continue
        llm = said["annotator_kind"][0] == "llm"
        against = {"own": own, **({"people": people} if llm else {})}
        for name, choices in against.items():
            if not choices.is_empty():
                rows += _rows(said, choices, order, plan, {"group": group, "against": name}, llm=llm)
    return rows


def _rows(
    said: pl.DataFrame, chosen: pl.DataFrame, order: Order, plan: Plan, names: Row, *, llm: bool
) -> Iterator[Row]:
    matched_by, both = _matched(said, chosen, llm=llm, own=names["against"] == "own")
    present = set(said["criterion"].unique().to_list())
    for criterion in (name for name in order.criteria if name in present):
        rows = both.filter(pl.col("criterion") == criterion).sort(pl.all())
        by, clusters = _clusters(rows, plan, llm=llm and names["against"] == "own")
        found = recalibrate(
            rows["stated"].to_numpy(),
            rows["value"].to_numpy(),
            clusters=clusters,
            seed=plan.seed,
            confidence=plan.confidence,
        )
        row: dict[str, Any] = {**names, "criterion": criterion, "matched_by": matched_by, "interval": by}
        row |= asdict(found.before)
        if row["reason"] == NO_ANSWERS:
            row["reason"] = NOBODY_CHOSE
        after = found.after
        row["recalibrated"] = {
            "brier_score": None if after is None else after.brier_score,
            "calibration_error": None if after is None else after.calibration_error,
            "n_folds": found.n_folds,
            "reason": found.reason,
        }
        yield row


def _matched(said: pl.DataFrame, chosen: pl.DataFrame, *, llm: bool, own: bool) -> tuple[str, pl.DataFrame]:
    """Give each choice the statement that is nearest to it; all choices of one group by the same rule."""
    near = ["annotator_id"] if own else []
    near += ["assignment_id"] if llm else []
    both = _joined(said, chosen, near)
    if both.is_empty():
        return "pair", _joined(said, chosen, [])
    return "assignment" if llm else "annotator", both


def _joined(said: pl.DataFrame, chosen: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    mean = said.group_by(*keys, *PAIR).agg(pl.col("value").sort().mean().alias("stated"))
    return chosen.join(mean, on=(*keys, *PAIR), how="inner")


def _clusters(rows: pl.DataFrame, plan: Plan, *, llm: bool) -> tuple[str, np.ndarray[Any, Any] | None]:
    """Cluster as the tests of choices do: by annotator (an LLM: by assignment) from 10 on, else by item."""
    who = "assignment_id" if llm else "annotator_id"
    rule = UnitRule(wanted=plan.unit, llm=False).choose(rows[who].n_unique())
    column = who if rule == "annotator" else "item_id"
    return column.removesuffix("_id"), rows[column].fill_null("").to_numpy() if rows.height else None
