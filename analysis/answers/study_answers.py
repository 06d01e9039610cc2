"""What a study's store holds, ready to be analysed as planned."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from analysis.answers.answer_checks import CODED
from analysis.answers.careless import needs_reading
from analysis.answers.columns import ANSWERS, KNOWN
from analysis.answers.input_files import InputFile
from analysis.answers.live_rows import AuditedStudy, LiveStudy, audited_study, decided_audit, is_undecided, live_study
from analysis.answers.options import Reading, Told, untold
from analysis.answers.output_features import outputs_read, study_outputs
from analysis.answers.people_columns import with_demographics
from analysis.answers.plan import Plan
from analysis.answers.post_screening import is_mid
from analysis.answers.preregistration import deviations, frozen_plan, planned_for
from analysis.answers.sidecars import (
    CONTAMINATION,
    METRICS,
    explanations_name,
    metric_files,
    read_sidecar,
    read_sidecar_of,
    sidecar_path,
    sidecar_paths,
)
from analysis.answers.study_conduct import as_called, bonuses_in_force, median_minutes, sources_of
from analysis.answers.study_facts import InterviewAnswer, Preregistration, StudyFacts, facts_of, plan_of
from analysis.answers.study_texts import hash_of, study_texts
from analysis.answers.tables import AnswerTables, check_frames
from spa.commands.workspace import Workspace
from spa.errors import AnalysisError
from spa.records.covariates import control_columns
from spa.records.study import Study
from spa.responses.decisions import read_decisions
from spa.responses.export import export_tables
from spa.responses.payloads import last_received
from spa.responses.tidy_tables import TABLES, Tables
from spa.responses.two_reviewers import read_visit_decisions, two_decide
from spa.study.stopping import stopping_facts

if TYPE_CHECKING:
    from spa.raters.request_log import CallIndex
    from spa.records.outputs import Outputs


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyAnswers:
    """Checked tables, the plan, and what a report says of the study (nothing where the tables are all there is)."""

    tables: AnswerTables
    plan: Plan
    facts: StudyFacts | None
    reading: pl.DataFrame | None = None  # the table of that name, where it was asked for


def _uneven(workspace: Workspace) -> tuple[str, ...]:
    """Return what is not balanced in forms that came from a file."""
    if workspace.study.design.assignments is None:
        return ()
    from spa.study.assignment_balance import balance_of_file

    drawn = workspace.store.assignments.drawn()
    _, balance = balance_of_file(workspace.study, workspace.outputs, drawn)
    return tuple(one.uneven for one in balance.caveats())


@dataclass(frozen=True, slots=True, kw_only=True)
class GatheredAnswers:
    """What a report of a study is made of, not yet checked: the tables of its store and of files beside it.

    Attributes
    ----------
    frames : mapping of str to pl.DataFrame
        Tables of the store; of a plan that controls for something, the outputs, too.
    files : mapping of str to Path
        Tables of metrics, where there are some.
    plan, facts
        How they are analysed, and what the report says of the study.
    outputs_read : pl.DataFrame or None
        Which outputs each assignment shows, where the plan controls for something of them.
    reading : pl.DataFrame or None
        The table of that name, where it was asked for.
    joined : tuple of InputFile
        Lists of people that were joined with the annotators.
    """

    frames: Mapping[str, pl.DataFrame]
    files: Mapping[str, Path]
    plan: Plan
    facts: StudyFacts
    outputs_read: pl.DataFrame | None = None
    reading: pl.DataFrame | None = None
    joined: tuple[InputFile, ...] = ()

    def checked(self) -> AnswerTables:
        """Check the tables by the rules of all tables.

        Raises
        ------
        AnalysisError
            With every mistake of every table.
        """
        reading = Reading(
            output_columns=control_columns(self.plan.control),
            people_columns=self.plan.compare_people_by,
            system_roles=self.facts.unranked(),
        )
        tables = check_frames(self.frames, reading, files=self.files, agreed=True)
        tables = replace(tables, unranked=replace(tables.unranked, unaltered=self.facts.unaltered))
        if not needs_reading(self.plan):
            tables = replace(tables, reading=None, seen=tables.reading)
        tables = replace(tables, inputs=(*tables.inputs, *self.joined))
        if self.outputs_read is not None and tables.preferences is not None:
            tables = replace(tables, outputs_read=self.outputs_read)
        return tables


def answers_of(
    workspace: Workspace,
    *,
    with_reading: bool = False,
    metrics: Path | None = None,
    people: Path | None = None,
    told: Told = untold,
) -> StudyAnswers:
    """Read all answers of a study's store, and what other commands wrote beside it.

    Parameters
    ----------
    workspace : Workspace
        An open study.
    with_reading : bool
        Read the evidence of reading too, which builds every form.
    metrics : Path, optional
        Table of metrics; by default ``metrics.csv`` beside the study file, where there is one.
    people : Path, optional
        A platform's list of people, whose columns the plan compares them by.
    told : callable, optional
        Is told what is done now.

    Raises
    ------
    AnalysisError
        If there are no answers yet.
    """
    found = gather_answers(workspace, with_reading=with_reading, metrics=metrics, people=people, told=told)
    told("checking the answers")
    return StudyAnswers(tables=found.checked(), plan=found.plan, facts=found.facts, reading=found.reading)


def gather_answers(
    workspace: Workspace,
    *,
    with_reading: bool = False,
    metrics: Path | None = None,
    people: Path | None = None,
    told: Told = untold,
) -> GatheredAnswers:
    """Do what :func:`answers_of` does, and leave the tables unchecked."""
    told("reading the answers")
    plan = plan_of(workspace.study)
    exported, frames = _exported(workspace, plan, with_reading=with_reading)
    facts = _facts(workspace, plan, exported)
    files = metric_files(metrics or sidecar_path(workspace.study, METRICS))
    read = None
    joined: tuple[InputFile, ...] = ()
    if people is not None:
        frames["annotators"], digest, said = with_demographics(
            frames["annotators"], people, plan.compare_people_by, person_id=workspace.store.person_id
        )
        joined = (InputFile(table="annotators", file=people.name, sha256=digest, notes=(said,)),)
    if (outputs := study_outputs(workspace.study, workspace.outputs)) is not None:
        frames["outputs"] = outputs
        read = None if frames["preferences"].is_empty() else outputs_read(workspace.store.assignments.drawn())
    return GatheredAnswers(
        frames=frames,
        files=files,
        plan=plan,
        facts=facts,
        outputs_read=read,
        reading=exported.reading if with_reading else None,
        joined=joined,
    )


def _exported(workspace: Workspace, plan: Plan, *, with_reading: bool) -> tuple[Tables, dict[str, pl.DataFrame]]:
    """Export the store, and return the tables that an analysis knows by name, too; refuse a store without answers."""
    coded = () if stopping_facts(workspace.study) else CODED  # a rule that stops a study reads texts
    coded = coded if needs_reading(plan) or with_reading else (*coded, "reading")  # else speeds alone are read of it
    exported = export_tables(workspace.store, form_of=workspace.forms_in_turn(), coded=coded)
    frames = {
        name: getattr(exported, name) for name in (*TABLES, *([] if exported.reading.is_empty() else ["reading"]))
    }
    frames |= {name: frame for name, frame in exported.more.items() if name in KNOWN}
    if all(frames[name].is_empty() for name in (*ANSWERS, "spans") if name in frames):
        raise AnalysisError(
            f"{workspace.store.name}: the store holds no answers yet; collect some (spa serve, rate or simulate)"
        )
    return exported, frames


def _facts(workspace: Workspace, plan: Plan, exported: Tables) -> StudyFacts:
    """Return what the study, its store and what other commands wrote beside it say apart from answers."""
    first = next(iter(workspace.store.assignments), None)
    facts = facts_of(
        workspace.study,
        form=None if first is None else workspace.form(first.assignment_id),
        dropped=workspace.outputs.dropped,
        fingerprint=workspace.store.fingerprint,
        outputs=workspace.outputs,
    )
    interview = tuple(_interview(workspace.study, exported.annotators))
    live = live_study(workspace.study, workspace.store, exported)
    with workspace.store.reading() as connection:
        decisions = tuple(read_decisions(connection)) if two_decide(connection) else ()
        decided = read_visit_decisions(connection)
        last = last_received(connection)
    audited = audited_study(workspace.study, workspace.store)
    preregistration = _preregistered(workspace, live, audited)
    known = tuple(map(read_sidecar, sidecar_paths(workspace.study, CONTAMINATION)))
    explored = read_sidecar_of(workspace.study, explanations_name(workspace))
    asked_llms = any(not rater.simulated for rater in facts.raters)
    calls = _calls(workspace) if asked_llms or plan.juries else None
    return replace(
        facts,
        sources=sources_of(exported.annotators),
        median_minutes=median_minutes(exported.annotators),
        bonuses=bonuses_in_force(decided),
        raters=facts.raters if calls is None else tuple(as_called(facts.raters, calls)),
        preregistration=preregistration,
        uneven=_uneven(workspace),
        last_answer=None if last is None else datetime.fromtimestamp(last, UTC).date().isoformat(),
        interview=interview,
        live=live or decided_audit(workspace.study, audited),
        audited=audited,
        decisions=decisions,
        contamination=known,
        texts=hash_of(study_texts(workspace.study, workspace.outputs)) if known else None,
        exploration=explored,
        unaltered=frozenset(unaltered_items(workspace.study, workspace.outputs)),
        rater_costs=_rater_costs(calls) if calls is not None and plan.juries else {},
    )


def unaltered_items(study: Study, outputs: Outputs) -> Iterator[str]:
    """Yield the items whose mid anchor lost next to nothing, where that can be measured."""
    if any(one.role == "anchor" and is_mid(one.low_pass) for one in study.systems):
        from spa.study.anchors import anchor_losses  # of listening tests alone

        losses = anchor_losses(study, outputs)
        yield from (one.item_id for one in losses if is_mid(one.low_pass) and one.is_next_to_nothing)


def _calls(workspace: Workspace) -> CallIndex:
    from spa.raters.request_log import index_calls  # of studies that asked LLMs alone

    return index_calls(workspace.store)


def _rater_costs(calls: CallIndex) -> dict[str, float | None]:
    """Return what the calls of each rater cost; ``None`` where some were answered at no known price."""
    costs: dict[str, float | None] = {}
    for count in calls.counts:
        before = costs.setdefault(count.rater, 0.0)
        priced = count.cost is not None or not count.completion_tokens
        costs[count.rater] = before + float(count.cost or 0) if priced and before is not None else None
    return costs


def _interview(study: Study, annotators: pl.DataFrame) -> Iterator[InterviewAnswer]:
    """Yield what people said at the end, question by question; questions left empty are left out."""
    for one in study.interview:
        column = f"interview:{one.id}"
        answered = annotators.drop_nulls(column) if column in annotators.columns else annotators.clear()
        for row in answered.iter_rows(named=True):
            yield InterviewAnswer(
                interview_id=one.id,
                question=one.question,
                group=row["annotator_kind"],
                annotator_id=row["annotator_id"],
                answer=row[column],
            )


def _preregistered(
    workspace: Workspace, live: LiveStudy | None, audited: AuditedStudy | None
) -> Preregistration | None:
    frozen = frozen_plan(workspace.store)
    if frozen is None:
        return None
    content = planned_for(workspace.study, fingerprint=workspace.store.fingerprint)
    handed_in = sum(visit.completed for visit in workspace.store.visits.of_people())
    undecided = None if live is None else is_undecided(live, ("human", "simulated"))
    if audited is not None and audited.error_rate is not None:
        undecided = not audited.people.enough
    return Preregistration(
        frozen_at=frozen.frozen_at,
        sha256=frozen.sha256,
        submissions=frozen.submissions,
        people_by=() if frozen.submissions else tuple(frozen.content["plan"].get("compare_people_by", ())),
        deviations=tuple(deviations(frozen, content, annotators=handed_in, undecided=undecided)),
    )
