"""The study and its answers, read once for everybody who looks and again when something came in."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import streamlit as st

from analysis.annotator_profiles import AnnotatorProfile, annotator_profiles
from analysis.plain_text import clean
from analysis.plan import Plan
from analysis.preference_checks.filtering import SweepRow, consistency_sweep
from analysis.preregistration import freeze, planned
from analysis.report.document import Section
from analysis.report.sections import SECTIONS
from analysis.report.words import Names
from analysis.results import analyse
from analysis.study_answers import StudyAnswers, answers_of
from analysis.study_facts import plan_of
from analysis.tables import Reading, read_tables
from spa.annotators.raters.calls import CallIndex, index_calls
from spa.commands.workspace import Workspace, default_store, open_workspace
from spa.errors import SpaError
from spa.responses.changes import state_of
from spa.responses.decisions import Decision, add_decision, read_decisions
from spa.responses.store import Store
from spa.responses.visits import Visit
from streamlit_app.options import Options, from_environment
from streamlit_app.table_files import table_files

Results = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Analysed:
    """What the analysis says of the answers."""

    results: Results

    @property
    def names(self) -> Names:
        """Return how the report calls systems, groups and criteria."""
        return Names(self.results)


@st.cache_resource(show_spinner=False)
def options() -> Options:
    """Return what the dashboard was started with."""
    return from_environment()


@st.cache_resource(show_spinner="Opening the study\N{HORIZONTAL ELLIPSIS}")
def workspace() -> Workspace:
    """Open the study; its store can only be read."""
    return open_workspace(options().path, options().store, read_only=True)


def has_store() -> bool:
    """Return whether a study with its store is shown, and not a folder of tables."""
    return options().study is not None


def state() -> str:
    """Return what the store holds now, as a text that changes with it; of tables the times of their files."""
    if not has_store():
        files = table_files(Path(options().tables or ""))
        return "/".join(str(path.stat().st_mtime_ns) for path in files.values())
    with workspace().store.reading() as connection:
        return state_of(connection)


@st.cache_resource(show_spinner="Reading the answers\N{HORIZONTAL ELLIPSIS}", max_entries=2)
def answers(state: str) -> StudyAnswers:
    """Return all answers; an ``AnalysisError`` where there are none yet."""
    if has_store():
        return answers_of(workspace())
    tables = read_tables(
        table_files(Path(options().tables or "")), Reading(mapping=dict(options().renamed), llms=options().llms)
    )
    return StudyAnswers(tables=tables, plan=Plan(seed=0), facts=None)


@st.cache_resource(show_spinner="Analysing as planned\N{HORIZONTAL ELLIPSIS}", max_entries=2)
def analysed(state: str) -> Analysed:
    """Return the results of the plan."""
    found = answers(state)
    return Analysed(results=clean(analyse(found.tables, found.plan, study=found.facts)))


@st.cache_resource(show_spinner="Writing\N{HORIZONTAL ELLIPSIS}", max_entries=60)
def section(state: str, name: str) -> Section | None:
    """Return one section of the report; ``None`` where there is nothing to say. Only what is looked at is written."""
    return SECTIONS[name](analysed(state).results)


def sections(state: str, names: Iterable[str]) -> dict[str, Section]:
    """Return those of some sections that there are, by id."""
    made = {name: section(state, name) for name in names}
    return {name: found for name, found in made.items() if found is not None}


@st.cache_resource(show_spinner=False, max_entries=2)
def profiles(state: str) -> list[AnnotatorProfile]:
    """Return what each annotator's answers look like."""
    return annotator_profiles(answers(state).tables)


@st.cache_resource(show_spinner=False, max_entries=2)
def rater_calls(state: str) -> CallIndex:
    """Return how the calls to LLMs ended and where they are, by rater; tables hold none."""
    if not has_store():
        return CallIndex(counts=(), numbers={})
    return index_calls(workspace().store)


@st.cache_data(show_spinner=False, max_entries=200)
def under_bounds(state: str, taus: Sequence[Decimal | None]) -> list[SweepRow]:
    """Return the tests of preferences under other bounds on the sum of two directions."""
    found = answers(state)
    return consistency_sweep(found.tables, found.plan, taus=taus, study=found.facts)


def warm_up() -> None:
    """Work out what the first pages show; whoever opens one meanwhile waits for the same result.

    What cannot be worked out, as nothing is handed in yet or a file is broken, is told where it is looked at.
    """
    with suppress(SpaError):
        now = state()
        rater_calls(now)
        found = analysed(now).results
        profiles(now)
        sections(now, ("answer", "preferences" if found["preferences"] else "ratings"))


def visits() -> list[Visit]:
    """Return the visits of people as they are now."""
    return list(workspace().store.visits())


def decisions() -> list[Decision]:
    """Return the log of decisions as it is now."""
    with workspace().store.reading() as connection:
        return read_decisions(connection)


def decide(decision: Decision) -> None:
    """Keep a decision; it is on disk when this returns."""
    place = options().store or default_store(options().path)
    with Store.open(place) as store, store.transaction() as connection:
        add_decision(connection, decision)


def freeze_plan() -> None:
    """Freeze the plan of the study file in the store."""
    found = workspace()
    content = planned(
        plan_of(found.study), fingerprint=found.store.fingerprint, annotators=found.study.people.annotators
    )
    with Store.open(options().store or default_store(options().path)) as store:
        freeze(store, content, now=time.time())
