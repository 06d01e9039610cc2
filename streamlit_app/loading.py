"""The study and its answers, read once for everybody who looks and again when something came in."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from itertools import islice
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

import streamlit as st

from spa.commands.review import ERRORS
from spa.commands.review import REVIEWER as BY_REVIEWER
from spa.commands.workspace import Workspace, choose_store, default_store, open_workspace
from spa.errors import AnalysisError, ResponseError
from spa.platforms.review import unpaid_bonuses
from spa.responses.dashboard_log import DashboardAction, DashboardEntry, LogLine, add_entry, both_logs, read_entries
from spa.responses.decisions import Decision, VisitDecisions, read_decisions, visit_decisions
from spa.responses.status import summarise_visits
from spa.responses.store import Store
from spa.responses.two_reviewers import Review, reviews_of, settled_decisions, two_decide, visible_to
from spa.responses.two_reviewers import decide as add_to_log
from spa.responses.visits import PersonVisit
from spa.study.stopping import stopping_facts
from streamlit_app import source_analysis
from streamlit_app.access import DashboardAccess, Person
from streamlit_app.background_analysis import EXPLORATION, BackgroundAnalysis, begin
from streamlit_app.options import DashboardOptions
from streamlit_app.source_analysis import Analysed

if TYPE_CHECKING:
    from analysis.answers.study_answers import StudyAnswers
    from analysis.explanations.exploration import Exploration
    from analysis.explanations.two_reviewers import ExplanationReview, Place
    from analysis.live.savings import LiveSavings
    from analysis.live.state import LiveHistory
    from analysis.monitoring.annotator_profiles import AnnotatorProfile
    from analysis.preference_checks.filtering import SweepRow
    from analysis.printing.document import Section
    from spa.raters.request_log import CallIndex
    from spa.responses.conduct_rows import VisitConduct


PEOPLE = ("human", "simulated")  # groups of a live study that are no LLM
ESTIMATED = 12  # forms of which the time is estimated, as annotators read different items


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """What the command hands over: the options, an opened study, the analysis in the background, and who may come."""

    options: DashboardOptions
    workspace: Workspace | None
    background: BackgroundAnalysis
    access: DashboardAccess


_started: list[Started] = []  # one, of the process that serves


def start(started: Started) -> None:
    """Keep what the command has opened and begun, for the pages."""
    _started[:] = [started]


def options() -> DashboardOptions:
    """Return what the dashboard was started with."""
    return _started[0].options


def notice() -> str | None:
    """Return what must be said first of what is shown: also once a rehearsal is not the latest any more."""
    return options().notice if options().instead_of is None else _notice_by_now()


@st.cache_data(show_spinner=False, ttl=15)
def _notice_by_now() -> str | None:
    try:
        chosen = choose_store(options().path, options().instead_of, rehearsal=None, read_only=True)
    except ResponseError:
        return options().notice
    if chosen.is_rehearsal:
        return chosen.notice
    return f"Rehearsal: this is what {workspace().store.name} holds; the study itself has answers by now. " + (
        "Start spa dashboard again to see them."
    )


def _secret() -> str:
    """Return the secret that this session's browser came with."""
    return st.context.cookies.get(_started[0].access.cookie, "")


def _person_of(secret: str) -> Person:
    found = _started[0].access.person(secret)
    if found is None:  # the door closes a moment later
        raise ResponseError("This link leads nowhere any more: it was renewed or removed.")
    return found


def person() -> Person:
    """Return who looks in this session; raise ResponseError once the secret was renewed or removed."""
    return _person_of(_secret())


def reviewer() -> str | None:
    """Return who decides in this session; ``None`` where somebody may only look."""
    found = person()
    return found.name if found.may("review") else None


def workspace() -> Workspace:
    """Return the study; its store can only be read."""
    found = _started[0].workspace
    if found is None:
        raise ValueError("tables are shown, and no study")
    return found


def has_store() -> bool:
    """Return whether a study with its store is shown, and not a folder of tables."""
    return options().study is not None


def state() -> str:
    """Return a version string of what is shown; see :func:`spa.responses.status.state_of`."""
    return source_analysis.state_of_source(options(), _started[0].workspace)


@st.cache_resource(show_spinner="Reading the answers\N{HORIZONTAL ELLIPSIS}", max_entries=2)
def answers(state: str) -> StudyAnswers:
    """Return all answers; an ``AnalysisError`` where there are none yet."""
    worked_out: StudyAnswers | None = _started[0].background.take("answers", state)
    return worked_out or source_analysis.read_source(options(), _started[0].workspace)


@st.cache_resource(show_spinner="Analysing the answers\N{HORIZONTAL ELLIPSIS}", max_entries=2)
def analysed(state: str) -> Analysed:
    """Return the results of the plan."""
    worked_out: Analysed | None = _started[0].background.take("analysed", state)
    return worked_out or source_analysis.analyse_answers(answers(state))


@st.cache_resource(show_spinner="Writing\N{HORIZONTAL ELLIPSIS}", max_entries=60)
def section(state: str, name: str) -> Section | None:
    """Return one section of the report; ``None`` where there is nothing to say. Only what is looked at is written."""
    worked_out: dict[str, Section | None] = _started[0].background.take("sections", state) or {}
    return worked_out[name] if name in worked_out else source_analysis.write_section(analysed(state), name)


def sections(state: str, names: Iterable[str]) -> dict[str, Section]:
    """Return those of some sections that there are, by id."""
    made = {name: section(state, name) for name in names}
    return {name: found for name, found in made.items() if found is not None}


@st.cache_resource(show_spinner="Reading how pages were filled in\N{HORIZONTAL ELLIPSIS}", max_entries=2)
def conduct(state: str) -> dict[str, VisitConduct]:
    """Return how people's visits were filled in, by visit; those without anything to say are absent."""
    from spa.responses.conduct_evidence import conduct_asked
    from spa.responses.conduct_rows import may_have_conduct, visit_conduct

    found, store = {}, workspace().store
    asked = conduct_asked(workspace().study, workspace().texts)
    for visit in visits():
        payloads = store.visits.payloads(visit.submission_id) if visit.pages else ()
        if may_have_conduct(payloads, visit.annotator_kind, asked=asked.counts):
            found[visit.submission_id] = visit_conduct(workspace().form(visit.assignment_id), payloads, asked)
    return found


@st.cache_resource(show_spinner=False, max_entries=2)
def unplayable(state: str) -> dict[str, int]:
    """Return how many clips do not play for each annotator, by their own word."""
    from spa.responses.unplayable_clips import unplayable_clips

    return unplayable_clips(workspace().study, workspace().store)


@st.cache_resource(show_spinner=False, max_entries=2)
def profiles(state: str) -> list[AnnotatorProfile]:
    """Return what each annotator's answers look like."""
    worked_out: list[AnnotatorProfile] | None = _started[0].background.take("profiles", state)
    if worked_out is not None:
        return worked_out
    from analysis.monitoring.annotator_profiles import annotator_profiles

    found = answers(state)
    return annotator_profiles(found.tables, found.reading)


@st.cache_resource(show_spinner=False, max_entries=2)
def rater_calls(state: str) -> CallIndex:
    """Return how the calls to LLMs ended and where they are, by rater; tables hold none."""
    worked_out: CallIndex | None = _started[0].background.take("calls", state)
    return worked_out or source_analysis.count_calls(_started[0].workspace)


@st.cache_resource(show_spinner=False, max_entries=2)
def _exploring(state: str) -> BackgroundAnalysis:
    """Begin to explore what raters and people wrote, in a process of its own, which compiles for long."""
    return begin(options(), EXPLORATION)


def is_explored(state: str) -> bool:
    """Return whether the exploration of texts, begun at the first call, has ended."""
    return _exploring(state).has(EXPLORATION)


@st.cache_resource(show_spinner="Reading the explanations\N{HORIZONTAL ELLIPSIS}", max_entries=2)
def exploration(state: str) -> Exploration:
    """Return keywords, separation and map of what raters and people wrote; refuse less than two texts."""
    worked_out: Exploration | None = _exploring(state).take(EXPLORATION, state)
    return worked_out or source_analysis.explore_texts(analysed(state), options())


@st.cache_resource(show_spinner="Reading the review\N{HORIZONTAL ELLIPSIS}", max_entries=1, ttl=60)
def errors_reviewed(state: str) -> Section | None:
    """Return how often people found each kind of error in explanations; ``None`` where nobody looked."""
    if options().review is not None:
        with review_study() as opened:
            found = source_analysis.read_source(DashboardOptions(study=options().review), opened)
            return source_analysis.write_section(source_analysis.analyse_answers(found), "shares")
    asked = {row.criterion for row in analysed(state).results.category_shares}
    return section(state, "shares") if set(ERRORS) <= asked else None


@contextmanager
def review_study() -> Iterator[Workspace]:
    """Open the study in which people judged explanations, which may be the one shown."""
    review = options().review
    if review is None:
        yield workspace()
        return
    with open_workspace(Path(review), rehearsal=None, read_only=True) as opened:
        yield opened


def have_explanations_two_reviewers() -> bool:
    """Return whether explanations are judged by two people who each judge all."""
    if options().review is None and not has_store():
        return False
    with review_study() as opened:
        groups = opened.study.people.groups
        return len(groups) == 2 and all(group.parameter == BY_REVIEWER for group in groups)


def explanation_review(opened: Workspace) -> ExplanationReview:
    """Return what two reviewers of explanations answered and a third settled, as it is now."""
    return _explanation_review(source_analysis.state_of_source(options(), opened), opened)


@st.cache_resource(show_spinner="Reading the review\N{HORIZONTAL ELLIPSIS}", max_entries=1)
def _explanation_review(state: str, _opened: Workspace) -> ExplanationReview:
    from analysis.explanations.two_reviewers import explanation_review

    return explanation_review(_opened.store, str(options().review or options().study))


def settle(review: ExplanationReview, place: Place, score: float | None) -> None:
    """Keep what this session's reviewer says as a third about an explanation; ``None`` takes it back."""
    from analysis.explanations.two_reviewers import settle as settle_place

    who, now = _deciding(), time.time()
    own = options().review
    with (
        _writing() if own is None else Store.open(choose_store(Path(own), rehearsal=None).target) as store,
        store.transaction() as connection,
    ):
        if score is not None:
            settle_place(connection, review, place, score=score, reviewer=who, now=now)
            return
        undoes, visit = review.settlements[place].number, review.first.submission_id
        undo = Decision(submission_id=visit, action="undo", reviewer=who, decided_at=now, undoes=undoes)
        add_to_log(connection, undo)


@contextmanager
def _writing() -> Iterator[Store]:
    """Open the study's store to write to it."""
    with Store.open(options().store or default_store(options().path)) as store:
        yield store


@st.cache_data(show_spinner=False, max_entries=200)
def preference_tests_by_tau(state: str, taus: Sequence[Decimal | None]) -> list[SweepRow]:
    """Return the tests of preferences under other maxima of P(x>y) + P(y>x)."""
    from analysis.preference_checks.filtering import consistency_sweep

    found = answers(state)
    return consistency_sweep(found.tables, found.plan, taus=taus, study=found.facts)


@st.cache_data(show_spinner=False)
def planned_minutes() -> float | None:
    """Return how long a form takes: what the study says, else the mean estimate for some of its forms."""
    from spa.forms.effort import estimate_effort

    found = workspace()
    if found.study.people.minutes is not None:
        return found.study.people.minutes
    some = islice(found.store.assignments, ESTIMATED)
    minutes = [estimate_effort(found.form(assignment.assignment_id)).minutes for assignment in some]
    return round(fmean(minutes), 1) if minutes else None


def is_live() -> bool:
    """Return whether the study ends when its pairs are decided, or audits a rater in waves."""
    from spa import live

    return has_store() and live.in_waves(workspace().study)


def stopping() -> dict[str, Any]:
    """Return when the live study ends; of an audit the chance of a false decision alone."""
    study = workspace().study
    return stopping_facts(study) or {"error_rate": study.analysis.fwer, "margin": None}


def system_names() -> dict[str, str]:
    """Return the names of the systems by their ids."""
    return {system.id: system.name or system.id for system in workspace().study.systems}


@st.cache_data(show_spinner=False, max_entries=2)
def live_groups(state: str) -> list[str]:
    """Return the groups that have answered a live study, people first."""
    from spa.live import live_states

    return [one.group for one in live_states(workspace().study, workspace().store)]


@st.cache_resource(show_spinner="Reading the confidence over time\N{HORIZONTAL ELLIPSIS}", max_entries=4)
def live_history(state: str, group: str) -> tuple[LiveHistory, LiveSavings]:
    """Return what is decided in one group that has answered, how it came there, and what that spares."""
    from analysis.live.savings import live_savings
    from analysis.live.state import live_history

    found = live_history(workspace().study, workspace().store, group)
    if found is None:
        raise AnalysisError(f"group: expected one that has answered, got {group!r}")
    return found, live_savings(workspace(), found.state)


def unpaid() -> list[Decision]:
    """Return the bonuses that reviewers decided on and nobody has paid, as it is now."""
    return unpaid_bonuses(workspace().store)


def visits() -> list[PersonVisit]:
    """Return the visits of people as they are now."""
    return list(workspace().store.visits.of_people())


def two_reviewers() -> bool:
    """Return whether two reviewers decide on each submission, as it is now."""
    if not has_store():
        return False
    with workspace().store.reading() as connection:
        return two_decide(connection)


def decisions(*, of_all: bool = False) -> list[Decision]:
    """Return the log of decisions as it is now: what this session's reviewer may see of it, or ``of_all``."""
    with workspace().store.reading() as connection:
        log = read_decisions(connection)
    return log if of_all or not two_reviewers() else visible_to(log, reviewer())


def conflicts() -> list[Review]:
    """Return the questions on which two reviewers differ and no third has settled it."""
    found = reviews_of(decisions(of_all=True)) if two_reviewers() else []
    return [review for review in found if review.status == "conflict"]


def current_decisions() -> dict[str, VisitDecisions]:
    """Return what stands, by visit; where two decide, this session's reviewer sees own decisions before."""
    log = decisions(of_all=True)
    return settled_decisions(log, seen_by=reviewer()) if two_reviewers() else visit_decisions(log)


def _deciding() -> str:
    """Return who decides in this session; raise ResponseError where somebody may only look."""
    who = reviewer()
    if who is None:
        raise ResponseError("This link does not allow decisions.")
    return who


def decide(decision: Decision) -> None:
    """Keep a decision of this session's reviewer; it is on disk when this returns."""
    if decision.reviewer != _deciding():
        raise ResponseError("decision: expected one under your own name")
    with _writing() as store, store.transaction() as connection:
        add_to_log(connection, decision)


def freeze_plan() -> None:
    """Freeze the plan of the study file in the store."""
    from analysis.answers.preregistration import freeze, planned_for

    found = workspace()
    content = planned_for(found.study, fingerprint=found.store.fingerprint)
    who = _deciding()
    with _writing() as store:
        freeze(store, content, now=time.time())
        _add(store, who, "freeze plan")


def _add(store: Store, who: str, action: DashboardAction, detail: str | None = None) -> None:
    with store.transaction() as connection:
        add_entry(connection, DashboardEntry(noted_at=time.time(), who=who, action=action, detail=detail))


def note(action: DashboardAction) -> None:
    """Note in the log what this session's person does; it is on disk when this returns."""
    with _writing() as store:
        _add(store, person().known_as, action)


def logged(file: str, make: Callable[[], str | bytes]) -> Callable[[], str | bytes]:
    """Return what makes a file for this session's person, and notes in the log who takes it away."""
    secret = _secret()

    def hand_over() -> str | bytes:
        taker = _person_of(secret)
        if not taker.may("export"):
            raise ResponseError("This link does not allow downloads.")
        made = make()
        if has_store():
            with _writing() as store:
                _add(store, taker.known_as, "export", file)
        return made

    return hand_over


def log_lines() -> list[LogLine]:
    """Return what was done and decided, oldest first, as it is now; of decisions what this session may see."""
    with workspace().store.reading() as connection:
        entries = read_entries(connection)
    return both_logs(entries, decisions())


def has_ended() -> bool:
    """Return whether nobody else needs to be asked: a live study has decided, or all places are taken and done."""
    if is_live() and (people := _people_decided(state())) is not None:
        return people
    found = workspace()
    status = summarise_visits(
        visits(), assignments=found.store.assignments.for_people, people=found.study.people, now=time.time()
    )
    return status.places > 0 and status.completed >= status.places


@st.cache_data(show_spinner=False, max_entries=2)
def _people_decided(state: str) -> bool | None:
    """Return whether a live study has asked enough people; ``None`` before anybody has answered."""
    from spa.live import live_states

    found = workspace()
    people = [one.enough for one in live_states(found.study, found.store) if one.group in PEOPLE]
    return all(people) if people else None
