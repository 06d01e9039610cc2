"""The rows of results.json that hold stated probabilities against choices between the same systems."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import polars as pl

from analysis.answers.order import Order, toward
from analysis.answers.plan import Plan
from analysis.answers.units import UnitRule
from analysis.comparisons.sides import people_kind
from analysis.llm_vs_people.calibration import NO_ANSWERS, ReliabilityBin, recalibrate
from analysis.statistics.reasons import Reason, why
from analysis.statistics.record import Count, Probability, Record, fields_of

Against = Literal["own", "people"]
MatchedBy = Literal["annotator", "assignment", "pair"]
PAIR = ("criterion", "x", "y")
NOBODY_CHOSE = why("nobody_chose")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Recalibrated(Record):
    """After isotonic regression fitted without the own fold."""

    brier_score: Probability | None
    calibration_error: Probability | None
    n_folds: Count
    reason: Reason | None = None
    """Why a number is missing."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class CalibrationRow(Record):
    """Statements of one group held against choices, a row of ``llm_vs_people.calibration``."""

    explained: ClassVar[tuple[str, ...]] = ("brier_score",)

    group: str
    against: Against
    """Whose choices: the group's own, or people's."""
    criterion: str
    matched_by: MatchedBy
    """Whose statement a choice is compared with: of the person who chose, of the LLM on the same form, or the group's
    mean about the pair."""
    interval: str | None = None
    """What the interval of the Brier score is clustered by."""
    n: Count
    """Choices."""
    n_clusters: Count | None = None
    brier_score: Probability | None
    """Mean squared distance from the outcome; less is better."""
    ci_low: Probability | None
    ci_high: Probability | None
    brier_of_half: Probability | None = None
    """Brier score of saying 1/2 to everything."""
    calibration_error: Probability | None
    """Expected calibration error over n_bins bins of equal width."""
    mean_stated: Probability | None = None
    """Of the system that each statement favours."""
    mean_outcome: Probability | None = None
    """How often that one was chosen."""
    n_bins: Count
    confidence: Probability | None = None
    bins: tuple[ReliabilityBin, ...]
    recalibrated: Recalibrated
    """After isotonic regression fitted without the own fold."""
    reason: Reason | None = None
    """Why a number is missing."""


def calibration_rows(kept: Mapping[str, pl.DataFrame], orders: Mapping[str, Order], plan: Plan) -> list[CalibrationRow]:
    """Compare the preferences that each group stated with choices, by criterion.

    One choice of one annotator about one item is one outcome (1, 0.5 or 0 for x, a tie, y; repeats averaged). Its
    forecast is the mean statement, over directions and exposures, of

    * ``annotator``: the person who chose (people against their own choices);
    * ``assignment``: the LLM on the form on which the choice was made, where it answered that form;
    * ``pair``: else the whole group, about this pair.

    An LLM is compared with people's choices and, where it chose too, against its own.

    Parameters
    ----------
    kept : mapping of str to DataFrame
        Answer tables after exclusions, by source.
    orders : mapping of str to Order
        Pairs are told apart in the direction of the preferences; no figure depends on it.

    Returns
    -------
    list of CalibrationRow
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
    rows: list[CalibrationRow] = []
    for group in order.groups:
        forecasts = forecast.filter(pl.col("group") == group)
        own = outcome.filter(pl.col("group") == group)
        if forecasts.is_empty():
            continue
        llm = forecasts["annotator_kind"][0] == "llm"
        against: dict[Against, pl.DataFrame] = {"own": own, "people": people} if llm else {"own": own}
        for name, choices in against.items():
            if not choices.is_empty():
                rows += _rows(forecasts, choices, order, plan, group, name, llm=llm)
    return rows


def _rows(
    forecasts: pl.DataFrame, chosen: pl.DataFrame, order: Order, plan: Plan, group: str, against: Against, *, llm: bool
) -> Iterator[CalibrationRow]:
    matched_by, both = _matched(forecasts, chosen, llm=llm, own=against == "own")
    present = set(forecasts["criterion"].unique().to_list())
    for criterion in (name for name in order.criteria if name in present):
        rows = both.filter(pl.col("criterion") == criterion).sort(pl.all())
        interval, clusters = _clusters(rows, plan, llm=llm and against == "own")
        found = recalibrate(
            rows["stated"].to_numpy(),
            rows["value"].to_numpy(),
            clusters=clusters,
            seed=plan.seed,
            pairs=True,
            confidence=plan.confidence,
        )
        before = fields_of(found.before)
        if before["reason"] == NO_ANSWERS:
            before["reason"] = NOBODY_CHOSE
        yield CalibrationRow(
            group=group,
            against=against,
            criterion=criterion,
            matched_by=matched_by,
            interval=interval,
            recalibrated=Recalibrated(
                brier_score=found.after.brier_score if found.after else None,
                calibration_error=found.after.calibration_error if found.after else None,
                n_folds=found.n_folds,
                reason=found.reason,
            ),
            **before,
        )


def _matched(forecasts: pl.DataFrame, chosen: pl.DataFrame, *, llm: bool, own: bool) -> tuple[MatchedBy, pl.DataFrame]:
    """Give each choice the statement that is nearest to it; all choices of one group by the same rule."""
    near = ["annotator_id"] if own else []
    near += ["assignment_id"] if llm else []
    both = _joined(forecasts, chosen, near)
    if both.is_empty():
        return "pair", _joined(forecasts, chosen, [])
    return "assignment" if llm else "annotator", both


def _joined(forecasts: pl.DataFrame, chosen: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    mean = forecasts.group_by(*keys, *PAIR).agg(pl.col("value").sort().mean().alias("stated"))
    return chosen.join(mean, on=(*keys, *PAIR), how="inner")


def _clusters(rows: pl.DataFrame, plan: Plan, *, llm: bool) -> tuple[str, np.ndarray[Any, Any] | None]:
    """Cluster as the tests of choices do: by annotator (an LLM: by assignment) from 10 on, else by item."""
    who = "assignment_id" if llm else "annotator_id"
    rule = UnitRule(planned=plan.unit, llm=False).choose(rows[who].n_unique())
    column = who if rule == "annotator" else "item_id"
    return column.removesuffix("_id"), rows[column].fill_null("").to_numpy() if rows.height else None
