"""Rows of results.json: what of a rating follows from its place, from the output before it, and from the arms."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, ClassVar, Literal

import numpy as np
import polars as pl

from analysis.answers.groups import distinct, people_of
from analysis.answers.order import Order
from analysis.answers.plan import Plan
from analysis.answers.tables import answered_rows
from analysis.serial_context.sequence import RANDOM, blocked_forms, sequence_of, share_turned, with_places
from analysis.serial_context.sequence_effects import Effect, position_effect, previous_effect
from analysis.statistics.coding import Floats, constant
from analysis.statistics.corrections import Verdict, adjusted_in_families
from analysis.statistics.reasons import Reason, why
from analysis.statistics.record import Count, Probability, Record, Share
from analysis.statistics.t_tests import one_sample, welch

BLOCKED, MIXED = "blocked", "mixed"
ARM = "arm"
LEAST = 2  # annotators of an arm


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class SerialContext(Record):
    """How ratings of one group and criterion move along the form; exploratory."""

    explained: ClassVar[tuple[str, ...]] = ("p_value",)
    group: str
    criterion: str
    arm: str | None
    """A way of asking (variant), or blocked or mixed where forms of both kinds occur; null: all answers."""
    effect: Literal["position", "previous"]
    """Position: change of a rating with each further output on the form; previous: with each point by which others
    rate the output before it higher."""
    n: Count
    n_annotators: Count
    n_outputs: Count
    share_turned: Share | None
    """Of two outputs on two forms, how often they stand the other way round: a half where the order is random."""
    estimate: float | None
    ci_low: float | None = None
    ci_high: float | None = None
    t: float | None = None
    df: float | None = None
    p_value: Probability | None = None
    p_adjusted: Probability | None = None
    n_tests: Count | None = None
    reason: Reason | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class SerialArms(Record):
    """The difference between two systems in one arm of a study and in another; exploratory."""

    explained: ClassVar[tuple[str, ...]] = ("p_value",)
    group: str
    criterion: str
    system_x: str
    system_y: str
    arm_a: str
    arm_b: str
    n_a: Count
    n_b: Count
    difference_a: float
    """Mean over annotators of x minus y, each annotator's means of all ratings."""
    difference_b: float
    estimate: float
    """Difference_a minus difference_b."""
    ci_low: float | None
    ci_high: float | None
    t: float | None
    df: float | None
    p_value: Probability | None
    p_adjusted: Probability | None = None
    n_tests: Count | None = None
    verdict_a: Verdict | None = None
    """By the t of that arm alone, not corrected."""
    verdict_b: Verdict | None = None
    reason: Reason | None = None


def serial_contexts(
    ratings: pl.DataFrame, reading: pl.DataFrame | None, groups: Sequence[tuple[str, str]], order: Order, plan: Plan
) -> tuple[list[SerialContext], list[SerialArms]]:
    """Ask of the ratings of people whether they depend on their place, and on the output before them.

    Parameters
    ----------
    ratings : DataFrame
        Checked ratings after exclusions.
    reading : DataFrame or None
        On which page each output was read.
    groups : sequence of (group, annotator_kind)
        LLMs are left out: each of their answers is one of a conversation, or of none.
    order : Order
        Systems and criteria.
    plan : Plan
        Correction, its rate, confidence; criteria on which less is better.

    Returns
    -------
    contexts : list of SerialContext
        Empty where no place is known. The tests of a group are a family.
    arms : list of SerialArms
        Empty where there are not two arms.
    """
    contexts: list[SerialContext] = []
    arms: list[SerialArms] = []
    for group, criterion, own, own_placed, known in parts_with_arms(ratings, reading, groups, order):
        if own_placed is not None and own_placed.height:
            for arm in known or (None,):
                rows = own_placed if arm is None else own_placed.filter(pl.col(ARM) == arm)
                contexts += _effects(rows, group, criterion, arm, plan)
        for one, other in combinations(known, 2):
            arms += _arms(own, group, criterion, (one, other), order.systems, plan)
    correction, rate = plan.correction, plan.fwer
    return (
        adjusted_in_families(contexts, lambda row: row.group, correction=correction, rate=rate),
        adjusted_in_families(arms, lambda row: row.group, correction=correction, rate=rate),
    )


def parts_with_arms(
    ratings: pl.DataFrame, reading: pl.DataFrame | None, groups: Sequence[tuple[str, str]], order: Order
) -> Iterator[tuple[str, str, pl.DataFrame, pl.DataFrame | None, tuple[str, ...]]]:
    """Yield group, criterion, the answers of people, those whose place is known, and the arms that answers name."""
    people = set(people_of(groups))
    given = answered_rows(ratings)
    if not people.issuperset(distinct(given, "group")["group"].to_list()):
        given = given.filter(pl.col("group").cast(pl.String).is_in(people))
    if not given.height:
        return
    placed = with_places(given, reading)
    for group in (name for name, _ in groups if name in people):
        for criterion in order.criteria:
            own = _rows_of(given, group, criterion)
            own_placed = None if placed is None else _rows_of(placed, group, criterion)
            yield group, criterion, *_with_arms(own, own_placed)


def _rows_of(table: pl.DataFrame, group: str, criterion: str) -> pl.DataFrame:
    """Return the rows of a group and criterion: the table itself where all are."""
    place = ("group", "criterion")
    if (
        table.height
        and all(constant(table[name]) for name in place)
        and table[:1].select(place).row(0) == (group, criterion)
    ):
        return table
    there = (pl.col(name).cast(pl.String) == own for name, own in zip(place, (group, criterion), strict=True))
    return table.filter(*there)


def _with_arms(
    own: pl.DataFrame, placed: pl.DataFrame | None
) -> tuple[pl.DataFrame, pl.DataFrame | None, tuple[str, ...]]:
    """Add the arm of each answer: the way of asking, else whether its form has systems in blocks; and name the arms."""
    if "variant" in own.columns and own["variant"].drop_nulls().n_unique() > 1:
        named = pl.col("variant").cast(pl.String).alias(ARM)
        own, placed = own.with_columns(named), None if placed is None else placed.with_columns(named)
    elif placed is not None and placed.height:
        sequence = sequence_of(placed)
        forms = blocked_forms(sequence)
        kinds: dict[int, set[bool]] = {}
        for annotator, form in zip(sequence.annotator.tolist(), sequence.form.tolist(), strict=True):
            if form in forms:
                kinds.setdefault(annotator, set()).add(forms[form])
        arm_of = {
            sequence.annotators[annotator]: BLOCKED if kind == {True} else MIXED
            for annotator, kind in kinds.items()
            if len(kind) == 1
        }
        if len(set(arm_of.values())) < 2:
            return own, placed, ()
        named = pl.col("annotator_id").cast(pl.String).replace_strict(arm_of, default=None).alias(ARM)
        own, placed = own.with_columns(named), placed.with_columns(named)
    else:
        return own, placed, ()
    counts = own.drop_nulls(ARM).group_by(ARM).agg(pl.col("annotator_id").n_unique().alias("n"))
    known = tuple(sorted(name for name, n in counts.iter_rows() if n >= LEAST))
    return own, placed, known if len(known) > 1 else ()


def _effects(rows: pl.DataFrame, group: str, criterion: str, arm: str | None, plan: Plan) -> Iterator[SerialContext]:
    sequence = sequence_of(rows)
    turned = share_turned(sequence)
    why_not = why("no_shared_order") if turned is None else why("one_order") if turned < RANDOM else None
    for effect, estimate in (("position", position_effect), ("previous", previous_effect)):
        found = why_not or estimate(sequence, confidence=plan.confidence)
        about: dict[str, Any] = {
            "group": group,
            "criterion": criterion,
            "arm": arm,
            "effect": effect,
            "share_turned": turned,
        }
        if isinstance(found, Effect):
            test = found.test
            yield SerialContext(
                **about,
                n=test.n,
                n_annotators=found.n_annotators,
                n_outputs=found.n_outputs,
                estimate=test.mean,
                **{name: getattr(test, name) for name in ("ci_low", "ci_high", "t", "df", "p_value", "reason")},
            )
        else:
            yield SerialContext(
                **about,
                n=len(sequence),
                n_annotators=len(np.unique(sequence.annotator)),
                n_outputs=len(np.unique(sequence.output)),
                estimate=None,
                reason=found,
            )


def sides_of_arms(
    own: pl.DataFrame, arms: tuple[str, str], systems: Sequence[str]
) -> Iterator[tuple[str, str, list[Floats]]]:
    """Yield every two systems with the annotators' differences between them in each of two arms."""
    means = own.group_by(
        pl.col("annotator_id").cast(pl.String), ARM, pl.col("system").cast(pl.String), maintain_order=True
    ).agg(pl.col("value").cast(pl.Float64).mean())
    found = {(who, arm, system): value for who, arm, system, value in means.iter_rows()}
    people = {arm: sorted({who for who, of, _ in found if of == arm}) for arm in arms}
    for x, y in combinations(systems, 2):
        sides = [
            np.array(
                [
                    found[who, arm, x] - found[who, arm, y]
                    for who in people[arm]
                    if (who, arm, x) in found and (who, arm, y) in found
                ]
            )
            for arm in arms
        ]
        if min(map(len, sides)) >= LEAST:
            yield x, y, sides


def _arms(
    own: pl.DataFrame, group: str, criterion: str, arms: tuple[str, str], systems: Sequence[str], plan: Plan
) -> Iterator[SerialArms]:
    for x, y, sides in sides_of_arms(own, arms, systems):
        test = welch(sides[0], sides[1], confidence=plan.confidence)
        alone = [one_sample(side, against=0.0, confidence=plan.confidence) for side in sides]
        sign = -1 if criterion in plan.lower_is_better else 1
        verdicts: list[Verdict | None] = [
            None
            if one.p_value is None
            else "indifferent"
            if one.p_value > plan.fwer
            else "x"
            if sign * one.mean > 0
            else "y"
            for one in alone
        ]
        yield SerialArms(
            group=group,
            criterion=criterion,
            system_x=x,
            system_y=y,
            arm_a=arms[0],
            arm_b=arms[1],
            n_a=len(sides[0]),
            n_b=len(sides[1]),
            difference_a=alone[0].mean,
            difference_b=alone[1].mean,
            estimate=test.mean,
            **{name: getattr(test, name) for name in ("ci_low", "ci_high", "t", "df", "p_value", "reason")},
            verdict_a=verdicts[0],
            verdict_b=verdicts[1],
        )
