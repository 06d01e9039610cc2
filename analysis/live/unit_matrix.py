"""What each unit said about each pair, by group, in the order in which units count."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from analysis.answers.careless import needs_reading
from analysis.answers.exclusions import apply_exclusions, find_exclusions
from analysis.answers.groups import group_order
from analysis.answers.options import Reading
from analysis.answers.plan import Plan
from analysis.answers.study_facts import plan_of
from analysis.answers.tables import AnswerTables, check_frames
from analysis.live.hypotheses import Hypotheses, Hypothesis
from analysis.statistics.coding import Floats
from spa.forms.build import StudyForms
from spa.forms.texts import load_texts
from spa.records.form import Form
from spa.records.study import Deciding, Study
from spa.responses.begun_order import BegunOrder
from spa.responses.export import export_tables
from spa.responses.leases import Lease
from spa.responses.store import Store
from spa.responses.tidy_tables import TABLES, Tables, row_tables
from spa.study.narrowing import Respondents
from spa.study.outputs import load_outputs
from spa.study.stopping import counts_as_begun, deciding_section

UNIT = "unit"
Places = dict[tuple[str, str], int]  # of annotator and assignment, in the order in which they count


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class UnitMatrix:
    """The values of one group that count.

    Attributes
    ----------
    units : tuple of str
        Annotators (of an LLM assignments), in the order in which they count.
    assignments : tuple of str
        The assignments that they answered.
    hypotheses : tuple of (criterion, exposure, system_x, system_y)
        All that is asked, in the order of the study.
    families : tuple of list of int
        Places of the hypotheses that share an error rate: all, unless the store keeps criteria apart.
    values : array of float, shape (n_units, n_hypotheses)
        In [0, 1], above 0.5 where system_x is better; NaN = not asked.
    respondents : {"people", "llm"}
        Whose forms they were.
    excluded : int
        Annotators (of an LLM assignments) that are left out.
    waiting, late : int
        Annotators who will count once others are done who began before, and who completed too late to count.
    """

    group: str
    answers: Deciding
    units: tuple[str, ...]
    assignments: tuple[str, ...]
    hypotheses: tuple[Hypothesis, ...]
    families: tuple[list[int], ...]
    values: Floats
    respondents: Respondents
    excluded: int
    waiting: int = 0
    late: int = 0


def unit_matrices(
    study: Study, store: Store, only: str | None = None, *, exported: Tables | None = None, now: float | None = None
) -> list[UnitMatrix]:
    """Return the values of each group that has answered, from the completed answers of a store.

    Who is left out is decided by the unit's own answers, by the rules of the plan; of somebody who took part twice the
    first submission counts. Decisions that people took later (reviews) change nothing here. People come in the order in
    which they began, as far as that is known ``now`` (:mod:`spa.responses.begun_order`), or in that of completion, as
    the study says; an LLM's assignments always in that of completion.
    """
    plan = live_plan(study)
    began: Mapping[str, BegunOrder] = {}
    people: list[Lease] = []
    if counts_as_begun(study):
        began = store.visits.begun_order(time.time() if now is None else now)
        people = [visit for each in began.values() for visit in each.counted]
        exported = None if exported is None else of_counted(exported, people)
    if exported is None:
        counted = {visit.submission_id for visit in people} if counts_as_begun(study) else None
        exported = export_tables(store, form_of=forms_read(study, store, plan), counted=counted)
    hypotheses, places = Hypotheses.of(study, store.live_rules), store.visits.completion_order()
    places |= {(visit.annotator_id, visit.assignment_id): place for place, visit in enumerate(people)}
    found = matrices_of(study, exported, plan, hypotheses, places, only)
    return [
        replace(each, waiting=began[each.group].waiting, late=began[each.group].late) if each.group in began else each
        for each in found
    ]


def matrices_of(
    study: Study, exported: Tables, plan: Plan, hypotheses: Hypotheses, places: Places, only: str | None
) -> list[UnitMatrix]:
    """Return the values of each group, or of one, from tables of visits that count."""
    tables, answers = deciding_tables(study, exported, plan, hypotheses), hypotheses.answers
    if tables is None:
        return []
    groups = [group for group, _ in group_order([tables.answers()[answers]]) if only in (None, group)]
    return [matrix_of(tables, plan, hypotheses, group, places) for group in groups]


def deciding_tables(study: Study, exported: Tables, plan: Plan, hypotheses: Hypotheses) -> AnswerTables | None:
    """Return the checked tables; ``None`` where nobody has answered what decides."""
    names = [name for name in TABLES if name != "exclusions"] + ["reading"] * needs_reading(plan)
    frames = {name: getattr(exported, name) for name in names}
    if frames["orders" if deciding_section(study).key == "ranking" else hypotheses.answers].is_empty():
        return None
    return check_frames(frames, Reading(), agreed=True)


def live_plan(study: Study) -> Plan:
    """Return the plan by which people are left out while a live study runs."""
    return replace(plan_of(study), repeat_submissions="first")


def forms_read(study: Study, store: Store, plan: Plan) -> Callable[[str], Form] | None:
    """Return how forms are built, whose reading the plan judges; ``None`` where it judges none."""
    if not needs_reading(plan):
        return None
    forms = StudyForms(study, load_outputs(study), load_texts(study.language, study.texts))
    return lambda assignment_id: forms.build(*store.assignments.draw(assignment_id))


def matrix_of(tables: AnswerTables, plan: Plan, hypotheses: Hypotheses, group: str, places: Places) -> UnitMatrix:
    """Return the values of one group; of people whose place is not among ``places`` nothing counts."""
    own = _of_group(tables, group)
    exclusions = find_exclusions(own, plan)
    table = own.answers()[hypotheses.answers]
    llm = "llm" in table["annotator_kind"].cast(pl.String).unique().to_list()
    name = pl.concat_str("annotator_id", "assignment_id", separator="/") if llm else pl.col("annotator_id")
    visits = pl.DataFrame(
        [(*visit, place) for visit, place in places.items()],
        schema={"annotator_id": pl.String, "assignment_id": pl.String, "place": pl.Int64},
        orient="row",
    )
    strings = pl.col("annotator_id", "assignment_id").cast(pl.String)
    answered = table.filter(pl.col("criterion").cast(pl.String).is_in(hypotheses.criteria)).with_columns(strings)
    answered = answered.join(visits, on=["annotator_id", "assignment_id"], maintain_order="left")
    answered = answered.filter(pl.col("place").is_not_null()).with_columns(name.alias(UNIT))  # completed
    kept = apply_exclusions(answered, exclusions)
    units = kept.group_by(UNIT).agg(pl.col("place", "assignment_id").sort_by("place").first()).sort("place")
    names = tuple(units[UNIT].to_list())
    return UnitMatrix(
        group=group,
        answers=hypotheses.answers,
        units=names,
        assignments=tuple(units["assignment_id"].to_list()),
        hypotheses=hypotheses.listed,
        families=hypotheses.families,
        values=_values(kept, names, hypotheses),
        respondents="llm" if llm else "people",
        excluded=answered[UNIT].n_unique() - len(names)
        if llm
        else len({row.annotator_id for row in exclusions if row.assignment_id is None}),
    )


def _of_group(tables: AnswerTables, group: str) -> AnswerTables:
    def own(table: pl.DataFrame | None) -> pl.DataFrame | None:
        return None if table is None else table.filter(pl.col("group") == group)

    return replace(
        tables, preferences=own(tables.preferences), ratings=own(tables.ratings), choices=own(tables.choices)
    )


def _values(kept: pl.DataFrame, units: tuple[str, ...], hypotheses: Hypotheses) -> Floats:
    """Return values of shape (units, hypotheses), NaN where a unit was not asked."""
    ratings = hypotheses.answers == "ratings"
    about = ("criterion", "system", "item_id") if ratings else ("criterion", "exposure", "system_x", "system_y")
    exposed = kept if hypotheses.answers == "preferences" else kept.with_columns(exposure=pl.lit(None, dtype=pl.Int64))
    texts = [pl.col(name) if name == "exposure" else pl.col(name).cast(pl.String) for name in about]
    given: dict[str, list[Any]] = {unit: [] for unit in units}
    for unit, *answer in exposed.select(UNIT, *texts, "value").iter_rows():
        given[unit].append(answer)
    values = np.full((len(units), len(hypotheses.listed)), np.nan)
    for place, unit in enumerate(units):
        values[place] = hypotheses.of_ratings(given[unit]) if ratings else hypotheses.of_pairs(given[unit])
    return values


PERSON, ASSIGNMENT = pl.col("annotator_id").cast(pl.String), pl.col("assignment_id").cast(pl.String)
BY_LLM = pl.col("annotator_kind").cast(pl.String) == "llm"


def of_counted(exported: Tables, counted: Collection[Lease]) -> Tables | None:
    """Return the rows of visits that count, and of LLMs; ``None`` where somebody counted has other visits as well.

    What the table of annotators says of those adds up all their visits, later ones too.
    """
    people = [visit.annotator_id for visit in counted]
    annotators = exported.annotators.filter(BY_LLM | PERSON.is_in(people))
    if not annotators.filter(~BY_LLM, pl.col("submissions") > 1).is_empty():
        return None
    names = {"person": pl.String, "of": pl.String}
    visits = pl.DataFrame([(visit.annotator_id, visit.assignment_id) for visit in counted], names, orient="row")
    found: dict[str, Any] = {}
    for name in row_tables():
        table: pl.DataFrame = exported.more[name] if name in exported.more else getattr(exported, name)
        own = table.filter(~BY_LLM).join(
            visits, left_on=[PERSON, ASSIGNMENT], right_on=["person", "of"], how="semi", maintain_order="left"
        )
        own = own.with_columns(pl.lit("completed").cast(table.schema["visit"]).alias("visit"))
        found[name] = pl.concat([own, table.filter(BY_LLM)])
    more = {name: found.pop(name) for name in exported.more}
    return replace(exported, annotators=annotators, more=more, **found)
