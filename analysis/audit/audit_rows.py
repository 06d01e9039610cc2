"""What an audit found: a rater answered all forms, people those that were drawn for them; rows of ``audit``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np
import polars as pl

from analysis.answers.live_rows import OTHER_SIDE, AuditedStudy
from analysis.answers.order import Order, toward
from analysis.answers.plan import Plan
from analysis.audit.audited_mean import AuditedMean, audited_mean
from analysis.comparisons.sides import PeopleKind, by_group, sides_of
from analysis.statistics.reasons import Reason, why
from analysis.statistics.record import Count, Record, Share, Source
from analysis.statistics.t_tests import TTest, one_sample

TEST = ("criterion", "exposure", "x", "y")
AuditDecision: TypeAlias = Literal["x", "y", "open"]  # system_x or system_y is better; not decided
FORM = ("assignment_id", *TEST)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class AuditRow(Record):
    """People's mean over all forms of an audit, of one pair, from the part that they answered and a rater's answers.

    Of preferences and choices the share of system_x, of ratings the difference x minus y, a value a form.
    """

    people: PeopleKind
    group: str
    """The rater that answered all forms, or a variant of it."""
    criterion: str
    source: Source
    system_x: str
    system_y: str
    exposure: int | None = None
    n_forms: Count
    """Forms that the rater answered."""
    n: Count
    """Of these, forms that people answered."""
    estimate: float | None = None
    """People's mean over all forms."""
    ci_low: float | None = None
    ci_high: float | None = None
    llm_weight: float | None = None
    """Lambda: people's units per unit of the rater's answers."""
    people_mean: float | None = None
    """Of people's answers alone."""
    people_ci_low: float | None = None
    people_ci_high: float | None = None
    saved: Share | None = None
    """By how much fewer people the same interval would take, 0 where the rater narrows nothing."""
    chance_low: Share | None = None
    """Least and greatest chance with which a form was drawn for people, where they were drawn in waves."""
    chance_high: Share | None = None
    drawn_by_doubt: bool = False
    """Whether forms of which the rater was less sure were drawn more often."""
    error_rate: Share | None = None
    """Chance of any false decision of an audit that ends when decided, over all rows and looks; its ci_low and ci_high
    hold at every look, and n and estimate are those of the decision."""
    decision: AuditDecision | None = None
    decided_after: Count | None = None
    """People of the audit when the decision fell."""
    reason: Reason | None = None


def audit_rows(
    kept: Mapping[str, pl.DataFrame],
    orders: Mapping[str, Order],
    plan: Plan,
    *,
    rater: str,
    audited: AuditedStudy | None = None,
) -> Iterator[AuditRow]:
    """Estimate what people would have said to all forms.

    Parameters
    ----------
    kept : mapping of str to DataFrame
        Answer tables after exclusions, by source.
    orders : mapping of str to Order
        Order of groups, criteria, systems and pairs of each.
    plan : Plan
        Confidence.
    rater : str
        That answered all forms, each of its variants for itself.
    audited : AuditedStudy, optional
        How forms were drawn for people in waves; otherwise all had the same chance.
    """
    for source in ("preferences", "ratings", "choices"):
        sides = sides_of(kept.get(source))
        if sides is None:
            continue
        order = orders[source]
        said = _by_form(sides.people, source, order).rename({"value": "people"})
        for group, answers in by_group(sides.llms, order):
            if group.partition("/")[0] != rater:
                continue
            both = _by_form(answers, source, order).join(said, on=FORM, how="left", nulls_equal=True).sort(FORM)
            parts = both.partition_by(TEST, as_dict=True, maintain_order=True)
            for key in sorted(parts, key=lambda key: _place(key, order)):
                row = _row(parts[key], key, source, plan, kind=sides.kind, group=group, audited=audited)
                yield row if audited is None else _decided(row, audited, plan)


def _row(
    forms: pl.DataFrame,
    key: tuple[Any, ...],
    source: Source,
    plan: Plan,
    *,
    kind: PeopleKind,
    group: str,
    audited: AuditedStudy | None,
) -> AuditRow:
    criterion, exposure, x, y = key
    if audited is not None:  # what was neither drawn nor passed over is no part of it
        forms = forms.filter(pl.col("assignment_id").is_in(list(audited.chances)))
    people, llm = forms["people"].to_numpy(), forms["value"].to_numpy()
    answered = people[~np.isnan(people)]
    about: dict[str, Any] = {
        "people": kind,
        "group": group,
        "criterion": criterion,
        "source": source,
        "system_x": x,
        "system_y": y,
        "exposure": exposure,
        "n_forms": len(llm),
        "n": len(answered),
    }
    if not len(answered):
        return AuditRow(**about, reason=why("nobody_else"))
    alone: TTest | AuditedMean
    if audited is None:
        chances = np.full(len(llm), len(answered) / len(llm))
        alone = one_sample(answered, against=0.0, confidence=plan.confidence)
        mean = float(answered.mean())
    else:
        names = forms["assignment_id"].cast(pl.String).to_list()
        chances = np.array([audited.chances[name] for name in names])
        about |= {"chance_low": float(chances.min()), "chance_high": float(chances.max())}
        about["drawn_by_doubt"] = audited.by_doubt
        drawn = frozenset(audited.drawn)
        given = sum(name in drawn for name in names)
        chances = np.minimum(
            chances * len(answered) / max(given, len(answered)), 1.0
        )  # who is left out answers nothing
        alone = audited_mean(people, np.zeros(len(llm)), chances, confidence=plan.confidence)
        mean = alone.estimate
    found = audited_mean(people, llm, chances, confidence=plan.confidence)
    narrower = None
    if (
        found.ci_low is not None
        and found.ci_high is not None
        and alone.ci_low is not None
        and alone.ci_high is not None
    ):
        narrower = 1 - (found.ci_high - found.ci_low) ** 2 / (alone.ci_high - alone.ci_low) ** 2
    return AuditRow(
        **about,
        estimate=found.estimate,
        ci_low=found.ci_low,
        ci_high=found.ci_high,
        llm_weight=found.llm_weight,
        people_mean=mean,
        people_ci_low=alone.ci_low,
        people_ci_high=alone.ci_high,
        saved=None if narrower is None else max(0.0, narrower),
        reason=found.reason,
    )


def _decided(row: AuditRow, audited: AuditedStudy, plan: Plan) -> AuditRow:
    """Return a row with what the audit decided of it, where it ends when decided."""
    if audited.error_rate is None:
        return row
    row = replace(row, error_rate=audited.error_rate, people_ci_low=None, people_ci_high=None, saved=None)
    for pair in audited.pairs if audited.answers == row.source else ():
        same = (pair.criterion, pair.exposure) == (row.criterion, row.exposure)
        if not same or {pair.system_x, pair.system_y} != {row.system_x, row.system_y}:
            continue
        low, mean, high, decision = pair.low, pair.mean, pair.high, pair.decision
        if pair.system_x != row.system_x:
            low, mean, high = 1 - high, None if mean is None else 1 - mean, 1 - low
            decision = OTHER_SIDE.get(decision)
        bounds = [low, mean, high]
        if audited.scale_width is not None:
            turned = -1 if row.criterion in plan.lower_is_better else 1
            bounds = [None if one is None else turned * (2 * one - 1) * audited.scale_width for one in bounds]
            bounds = bounds[::turned]
        return replace(
            row,
            n=pair.n,
            estimate=bounds[1],
            ci_low=bounds[0],
            ci_high=bounds[2],
            reason=None,
            decision="x" if decision == "x" else "y" if decision == "y" else "open",
            decided_after=pair.decided_after,
        )
    return row


def _by_form(table: pl.DataFrame, source: str, order: Order) -> pl.DataFrame:
    """Return one value a form and pair: mean preference, share won, or mean difference of ratings, x against y."""
    table = table.filter(pl.col("assignment_id").is_not_null())
    if source == "preferences":
        return toward(table, order, FORM)
    places = {system: place for place, system in enumerate(order.systems)}
    if source == "choices":
        first, second = (
            pl.col(name).replace_strict(places, return_dtype=pl.Int64) for name in ("system_x", "system_y")
        )
        ahead = first < second
        return (
            table.with_columns(
                x=pl.when(ahead).then("system_x").otherwise("system_y"),
                y=pl.when(ahead).then("system_y").otherwise("system_x"),
                value=pl.when(ahead).then("value").otherwise(1 - pl.col("value")),
                exposure=pl.lit(None, dtype=pl.Int64),
            )
            .group_by(FORM)
            .agg(pl.col("value").mean())
        )
    cell = ("assignment_id", "criterion", "item_id")
    rated = table.group_by(*cell, "system").agg(pl.col("value").mean())
    rated = rated.with_columns(place=pl.col("system").replace_strict(places, return_dtype=pl.Int64))
    pairs = rated.join(rated, on=cell, suffix="_y").filter(pl.col("place") < pl.col("place_y"))
    return (
        pairs.select(
            *cell,
            x="system",
            y="system_y",
            value=pl.col("value") - pl.col("value_y"),
            exposure=pl.lit(None, dtype=pl.Int64),
        )
        .group_by(FORM)
        .agg(pl.col("value").mean())
    )


def _place(key: tuple[Any, ...], order: Order) -> tuple[int, int, int, int]:
    criterion, exposure, x, y = key
    return (
        order.criteria.index(criterion),
        -1 if exposure is None else exposure,
        order.systems.index(x),
        order.systems.index(y),
    )
