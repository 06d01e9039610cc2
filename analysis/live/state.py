"""What the answers in a store have decided so far, as every look at them would have found it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import polars as pl

from analysis.answers.exclusions import apply_exclusions, find_exclusions
from analysis.answers.groups import group_order
from analysis.answers.order import Order, order_of
from analysis.answers.plan import Plan
from analysis.answers.study_facts import plan_of
from analysis.answers.tables import AnswerTables, Reading, check_frames
from analysis.live.unit_values import choice_values, preference_values, rating_values
from analysis.sequential.monitor import Monitor
from analysis.sequential.rule import StoppingRule
from analysis.statistics.coding import Floats
from spa.live import LivePair, LiveState
from spa.responses.export import export_tables
from spa.responses.store import Store
from spa.responses.tidy_tables import TABLES
from spa.study.stopping import (
    Deciding,
    deciding_answers,
    deciding_criteria,
    deciding_elicitation,
    deciding_pairs,
    most_annotators,
)
from spa.study.study import Study

UNIT = "unit"
Hypothesis = tuple[str, int | None, str, str]  # criterion, exposure, system_x, system_y


def live_states(study: Study, store: Store) -> list[LiveState]:
    """Return the state of each group that has answered, from the completed answers of a store.

    Units (annotators, of an LLM assignments) bet in the order in which they completed their answers. Who is left out
    is decided by the unit's own answers, by the rules of the plan; of somebody who took part twice the first
    submission counts. Decisions that people took later (reviews) change nothing here.
    """
    exported = export_tables(store)
    frames = {name: getattr(exported, name) for name in TABLES if name != "exclusions"}
    answers = deciding_answers(study)
    if frames[answers].is_empty():
        return []
    tables = check_frames(frames, Reading())
    plan = replace(plan_of(study), repeat_submissions="first")
    order_completed = store.visits.completion_order()
    return [
        _state_of(study, tables, plan, answers, group, order_completed)
        for group, _ in group_order([tables.answers()[answers]])
    ]


def rule_of(study: Study) -> StoppingRule:
    """Return the rule of a study's table [stopping]; ratings are compared on the scale mapped to [0, 1]."""
    given = study.stopping
    return StoppingRule(
        error_rate=study.analysis.fwer if given.error_rate is None else given.error_rate,
        effect=given.effect,
        margin=given.margin,
        least=given.least,
        most=most_annotators(study),
    )


def _scale_width(study: Study) -> float:
    if deciding_elicitation(study) == "continuous" or study.likert is None:
        return 100.0
    return float(study.likert.points - 1)


def _state_of(
    study: Study, tables: AnswerTables, plan: Plan, answers: Deciding, group: str, completed: dict[tuple[str, str], int]
) -> LiveState:
    own = _of_group(tables, group)
    exclusions = find_exclusions(own, plan)
    whole = {row.annotator_id for row in exclusions if row.assignment_id is None}
    table = own.answers()[answers]
    order = order_of(table, [group], None)
    criteria = deciding_criteria(study)
    kept = apply_exclusions(table, exclusions).filter(pl.col("criterion").cast(pl.String).is_in(criteria))
    llm = "llm" in table["annotator_kind"].cast(pl.String).unique().to_list()
    name = pl.concat_str("annotator_id", "assignment_id", separator="/") if llm else pl.col("annotator_id")
    visits = pl.DataFrame(
        [(*visit, place) for visit, place in completed.items()],
        schema={"annotator_id": pl.String, "assignment_id": pl.String, "completed": pl.Int64},
        orient="row",
    )
    strings = pl.col("annotator_id", "assignment_id").cast(pl.String)
    kept = kept.with_columns(strings).join(visits, on=["annotator_id", "assignment_id"]).with_columns(name.alias(UNIT))
    units = kept.group_by(UNIT).agg(pl.col("completed").min()).sort("completed")[UNIT].to_list()
    hypotheses = list(_hypotheses(study, answers, criteria))
    values = _matrix(_values(study, answers, kept, order), units, hypotheses)
    pairs = []
    if plan.family == "all":
        parts = [list(range(len(hypotheses)))]
    else:
        parts = [[n for n, one in enumerate(hypotheses) if one[0] == criterion] for criterion in criteria]
    for part in parts:
        monitor = Monitor.start(rule_of(study), len(part))
        for row in values[:, part]:
            monitor = monitor.after(row)
        for number, state in zip(part, monitor.states, strict=True):
            criterion, exposure, x, y = hypotheses[number]
            pairs.append(
                LivePair(
                    criterion=criterion,
                    exposure=exposure,
                    system_x=x,
                    system_y=y,
                    n=state.n,
                    mean=state.mean,
                    low=state.low,
                    high=state.high,
                    decision=state.decision,
                    decided_after=state.decided_at,
                    expected_more=state.expected_more,
                )
            )
    return LiveState(
        group=group,
        answers=answers,
        units=len(units),
        excluded=len(whole),
        most=most_annotators(study),
        pairs=tuple(pairs),
    )


def _of_group(tables: AnswerTables, group: str) -> AnswerTables:
    def own(table: pl.DataFrame | None) -> pl.DataFrame | None:
        return None if table is None else table.filter(pl.col("group") == group)

    return replace(
        tables, preferences=own(tables.preferences), ratings=own(tables.ratings), choices=own(tables.choices)
    )


def _hypotheses(study: Study, answers: Deciding, criteria: tuple[str, ...]) -> Iterator[Hypothesis]:
    """Yield criterion, exposure and pair of all that is asked, in the order of the study."""
    exposures: tuple[int | None, ...] = (None,)
    if answers == "preferences" and study.spa is not None:
        two = study.spa.exposure_study
        exposures = (study.spa.exposure,) if two is None else two.exposures
    for criterion in criteria:
        for exposure in exposures:
            for x, y in deciding_pairs(study):
                yield criterion, exposure, x, y


def _values(study: Study, answers: Deciding, table: pl.DataFrame, order: Order) -> pl.DataFrame:
    if answers == "ratings":
        systems = tuple(system.id for system in study.compared)
        lower = frozenset(criterion.id for criterion in study.criteria if criterion.lower_is_better)
        return rating_values(table, systems, _scale_width(study), lower)
    return preference_values(table, order) if answers == "preferences" else choice_values(table, order)


def _matrix(found: pl.DataFrame, units: list[str], hypotheses: list[Hypothesis]) -> Floats:
    """Return values of shape (units, hypotheses), NaN where a unit was not asked."""
    column = {name: number for number, name in enumerate(hypotheses)}
    row = {name: number for number, name in enumerate(units)}
    values = np.full((len(units), len(hypotheses)), np.nan)
    for unit, criterion, exposure, x, y, value in found.select(UNIT, "criterion", "exposure", "x", "y", "value").rows():
        if (criterion, exposure, x, y) in column:
            values[row[unit], column[criterion, exposure, x, y]] = value
        elif (criterion, exposure, y, x) in column:
            values[row[unit], column[criterion, exposure, y, x]] = 1 - value
    return values
