"""What every analysis begins with: answers in groups and in order, all of them and those that the plan keeps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import polars as pl

from analysis.answers.both_orders import as_one_answer
from analysis.answers.exclusions import Exclusion, apply_exclusions, find_exclusions
from analysis.answers.given_names import written_plan
from analysis.answers.groups import group_order
from analysis.answers.juries import with_juries
from analysis.answers.order import Order, order_of
from analysis.answers.pairs import with_pairs
from analysis.answers.plan import Plan
from analysis.answers.scales import ELICITATION, Steps, scale_steps, ways_of
from analysis.answers.span_tables import COUNTED
from analysis.answers.study_facts import StudyFacts
from analysis.answers.tables import AnswerTables
from analysis.answers.unnamed import is_nameless
from analysis.answers.unranked import UnrankedRatings
from analysis.statistics.record import AnnotatorKind
from spa.errors import AnalysisError, ArgumentProblem, shortened


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AnalysisInput:
    """Checked tables with what every analysis of them needs."""

    tables: AnswerTables
    study: StudyFacts | None
    exclusions: list[Exclusion]
    answers: dict[str, pl.DataFrame]
    kept: dict[str, pl.DataFrame]
    orders: dict[str, Order]
    groups: tuple[tuple[str, AnnotatorKind], ...]
    plan: Plan
    unranked: UnrankedRatings = field(default_factory=UnrankedRatings)  # kept, of hidden references and anchors
    shown: pl.DataFrame | None = None  # the choices kept, each order of two outputs by itself


def prepare_input(tables: AnswerTables, plan: Plan, study: StudyFacts | None = None) -> AnalysisInput:
    """Put answers into groups and in the order of the study, and leave out what the plan excludes."""
    plan = _written(plan, tables)
    shown, asked = tables.choices, tables
    if plan.flips is not None and shown is not None:
        tables = replace(tables, choices=as_one_answer(shown, plan.flips))
    if plan.juries:
        tables = with_juries(tables, plan.juries, find_exclusions(asked, plan), declared=study is not None)
        asked = tables if plan.flips is None else replace(tables, choices=shown)
    answers = tables.answers()
    _check_references(plan, tables.metrics)
    groups = group_order([*answers.values()])
    _check_unit(answers, plan)
    exclusions = find_exclusions(asked, plan)
    orders = {name: order_of(table, [group for group, _ in groups], study) for name, table in answers.items()}
    if study is None:
        _check_makers(plan, orders, groups)
        _check_people_columns(plan, tables.people)
    return AnalysisInput(
        tables=tables,
        study=study,
        exclusions=exclusions,
        answers=answers,
        kept={name: apply_exclusions(table, exclusions) for name, table in answers.items()},
        unranked=_kept(tables.unranked, exclusions),
        shown=None if asked.choices is None else apply_exclusions(asked.choices, exclusions),
        orders=orders,
        groups=groups,
        plan=with_pairs(with_lower(_fewer_errors_better(plan, answers.get("ratings")), orders), orders, study),
    )


def _kept(unranked: UnrankedRatings, exclusions: Sequence[Exclusion]) -> UnrankedRatings:
    rated = unranked.ratings
    return unranked if rated is None else replace(unranked, ratings=apply_exclusions(rated, exclusions))


def steps_of(prepared: AnalysisInput) -> dict[str, Steps]:
    """Return the answers that each criterion of the ratings offers, where that is declared."""
    return scale_steps(ways_of(prepared.answers["ratings"]), prepared.tables.scales, prepared.study)


def _check_unit(answers: Mapping[str, pl.DataFrame], plan: Plan) -> None:
    """Refuse tests over annotators where nobody is named."""
    if plan.unit == "annotator" and any(table.select(is_nameless().any()).item() for table in answers.values()):
        raise AnalysisError(
            ArgumentProblem(
                "unit",
                in_python='="annotator"',
                in_command=" annotator",
                after=": not with answers of people whom nobody named, which are tested by item",
            )
        )


def _written(plan: Plan, tables: AnswerTables) -> Plan:
    """Return the plan with names as the tables write them."""
    scored = () if tables.metrics is None else (tables.metrics["system"],)
    judged = (
        table[name]
        for table in tables.answers().values()
        for name in ("system", "system_x", "system_y")
        if name in table.columns
    )
    systems = {name for column in (*scored, *judged) for name in column.unique(maintain_order=True).to_list()}
    asked = (table["criterion"] for table in tables.answers().values())
    criteria = {name for column in asked for name in column.unique(maintain_order=True).to_list()}
    return written_plan(plan, systems, criteria, tables.renamed)


def _check_references(plan: Plan, metrics: pl.DataFrame | None) -> None:
    """Refuse references that no metric scores."""
    scored = [] if metrics is None else metrics["system"].unique().sort().to_list()
    unknown = [name for name in plan.references if name not in scored]
    if unknown:
        after = f": no metric scores this system (there are: {', '.join(scored) or 'no metrics'})"
        raise AnalysisError(
            *(
                ArgumentProblem("references", in_python=f"={(name,)!r}", in_command=f" {name}", after=after)
                for name in unknown
            )
        )


def _check_people_columns(plan: Plan, people: pl.DataFrame | None) -> None:
    """Refuse columns that no table has; a study may lack one until demographics are joined."""
    there = [] if people is None else people.columns
    unknown = [name for name in plan.compare_people_by if name not in there]
    if unknown:
        after = ": expected a column of the annotators or answers, got none of that name"
        raise AnalysisError(
            *(
                ArgumentProblem("compare_people_by", in_python=f"={(name,)!r}", in_command=f" {name}", after=after)
                for name in unknown
            )
        )


def _check_makers(plan: Plan, orders: Mapping[str, Order], groups: Sequence[tuple[str, AnnotatorKind]]) -> None:
    """Refuse makers of what neither gave answers nor is judged, and two makers of one name."""
    llms = {name for group, kind in groups if kind == "llm" for name in (group, group.partition("/")[0])}
    known = [*dict.fromkeys(system for order in orders.values() for system in order.systems), *sorted(llms)]
    told = dict(plan.makers)
    problems = []
    for name, maker in plan.makers:
        expected = None
        if name not in known:
            expected = f"expected a system or an LLM ({shortened(', '.join(known), 200)}); mark LLMs with --llm"
        elif told[name] != maker:
            expected = f"expected one maker of {shortened(name)}, got {shortened(told[name])}, too; remove one"
        if expected is not None:
            pair = f" {shortened(name)}={shortened(maker)}"
            problems.append(ArgumentProblem("makers", in_python=pair, in_command=pair, after=f": {expected}"))
    if problems:
        raise AnalysisError(*problems)


def _fewer_errors_better(plan: Plan, ratings: pl.DataFrame | None) -> Plan:
    if ratings is None:
        return plan
    counts = ratings.filter(pl.col("elicitation") == COUNTED)["criterion"].unique().cast(pl.String)
    return replace(plan, lower_is_better=plan.lower_is_better | set(counts.to_list()))


def with_lower(plan: Plan, orders: Mapping[str, Order]) -> Plan:
    """Let a criterion that was rated in a second way be lower-is-better too; refuse unknown names."""
    criteria = {criterion for order in orders.values() for criterion in order.criteria}
    known = {ELICITATION.sub("", criterion) for criterion in criteria} | criteria
    unknown = sorted(plan.lower_is_better - known)
    if unknown:
        after = f": no such criterion (there are: {', '.join(sorted(known))})"
        raise AnalysisError(
            *(
                ArgumentProblem("lower_is_better", in_python=f"={{{name!r}}}", in_command=f" {name}", after=after)
                for name in unknown
            )
        )
    named = {name for name in criteria if {name, ELICITATION.sub("", name)} & plan.lower_is_better}
    return replace(plan, lower_is_better=frozenset(named))
