"""Random histories of a live study: people begin, complete, are late, leave, are forgotten; processes come and go."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import astuple, dataclass, field, replace
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np
from sqlalchemy import select

from analysis.live.follower import AnswerFollower
from analysis.live.hypotheses import stopping_rule
from analysis.live.next_pairs import counts_after
from analysis.live.state import states_of
from analysis.live.unit_matrix import UnitMatrix, unit_matrices
from analysis.sequential.monitor import Monitor
from analysis.sequential.top_k import BordaCounts
from spa.commands.workspace import Workspace, open_workspace
from spa.elicitation.choices import ChoiceTarget
from spa.elicitation.gamble import GambleTarget
from spa.elicitation.ranking import RankingTarget
from spa.elicitation.ratings import RatingTarget
from spa.elicitation.spa import PreferenceTarget
from spa.live import LiveDecisions, LiveProgress
from spa.records.form import CheckTarget, Form, ScreeningTarget
from spa.responses.admission import AdmissionRefused, AdmissionRules, Arrival, admit_submitted
from spa.responses.begun_order import BEGUN_UNTIL
from spa.responses.conduct_evidence import CONDUCT
from spa.responses.database import note
from spa.responses.erasure import forget
from spa.responses.leases import Lease
from spa.responses.outcomes import COMPLETED, FAILED_CHECKS, RETURNED, SCREENED_OUT
from spa.responses.payloads import save_page
from spa.responses.recounts import note_recount
from spa.responses.store_schema import adapted
from spa.responses.visit_ends import finish_visit
from spa.study.stopping import counts_as_begun, ranks_systems
from spa.widgets import ChoiceListAnswer, SpansAnswer, list_switching_at
from tests.spa.small_study import answer_form

START = 1_000_000.0
MINUTES = 10.0
HIT_MINUTES = 3.0
RULES = AdmissionRules(late_counts=False, minutes_to_begin=4.0)
AGAIN = 0.3  # of those who begin, where people may come again
BETTER = {"alpha": 2, "beta": 1, "gamma": 0}


def rules_of(workspace: Workspace) -> AdmissionRules:
    """Return how a study lets people in."""
    study = workspace.study
    return replace(RULES, late_counts=not counts_as_begun(study), repeat=study.people.repeat)


def answers(form: Form, systems: dict[str, str], rng: np.random.Generator) -> dict[str, str]:
    """Return what somebody answers who mostly prefers alpha to beta to gamma; a few contradict themselves or fail.

    Of those who contradict themselves some do so as far as is allowed: both directions sum to the bound of 110 %. Some
    give one and the same rating throughout.
    """
    raw: dict[str, str] = {}
    draws = rng.random(3)
    incoherent, failing, absent = draws < (0.16, 0.08, 0.1)
    for question in form.questions("people"):
        target, value = question.target, None
        if isinstance(target, PreferenceTarget):
            ahead = BETTER[systems[target.label_x]] - BETTER[systems[target.label_y]]
            likely = 0.46 + 0.2 * ahead + rng.normal(0, 0.02)
            value = (
                ("55" if draws[0] < 0.08 else "90") if incoherent else str(int(np.clip(round(100 * likely), 0, 100)))
            )
        elif isinstance(target, RatingTarget):
            rated = int(np.clip(round(2 + BETTER[systems[target.label]] + rng.normal(0, 0.8)), 1, 5))
            value = "3" if draws[1] > 0.8 else str(rated)
        elif isinstance(target, ChoiceTarget):
            ahead = BETTER[systems[target.label_x]] - BETTER[systems[target.label_y]] + rng.normal(0, 0.8)
            value = "tie" if abs(ahead) < 0.1 else "x" if ahead > 0 else "y"
        elif isinstance(target, RankingTarget):
            pleases = {label: BETTER[systems[label]] + rng.normal(0, 0.8) for label in target.labels}
            value = " > ".join(sorted(pleases, key=lambda label: -pleases[label]))
        elif isinstance(question.answer, SpansAnswer):
            found, worst = int(rng.integers(0, 5 - 2 * BETTER[systems[target.label]])), question.answer.severities[-1]
            value = json.dumps([{"start": at, "end": at + 1, "severity": worst.value} for at in range(found)])
        elif isinstance(target, GambleTarget) and isinstance(question.answer, ChoiceListAnswer):
            share = 0.4 + 0.2 * BETTER[systems[target.label]] + rng.normal(0, 0.2)
            value = list_switching_at(question.answer, float(share))
        elif isinstance(target, CheckTarget) and failing:
            value = "table"
        elif isinstance(target, ScreeningTarget) and failing and rng.random() < 0.3:
            value = "No"
        if value is not None:
            raw[question.question_id] = "" if absent and rng.random() < 0.3 else value
    return raw


def send_reading(
    workspace: Workspace, lease: Lease, rng: np.random.Generator, *, now: float, conduct: str | None = None
) -> None:
    """Send what the script of each page measures.

    Some people hurry, some send all pages within seconds, and some see half of the outputs.
    """
    second = float(rng.choice([0.02, 0.06, 0.5], p=[0.07, 0.1, 0.83]))
    share, apart = 0.5 if rng.random() < 0.1 else 1.0, 2 if rng.random() < 0.15 else 10
    with workspace.store.transaction() as connection:
        for number, page in enumerate(workspace.form(lease.assignment_id).pages):
            seconds = [second * (1 + rng.random()) for _ in page.outputs]
            seen = {
                shown.exhibit_id: [0.0, each, share] for shown, each in zip(page.outputs, seconds, strict=True) if each
            }
            sent = {"reading": json.dumps({"seconds": sum(seconds), "outputs": seen})}
            sent |= {} if conduct is None else {CONDUCT: conduct}
            save_page(connection, lease.submission_id, page.page_id, json.dumps(sent), now=now - 60 + apart * number)


def hand_in(
    workspace: Workspace, lease: Lease, rng: np.random.Generator, *, now: float, outcome: str = COMPLETED
) -> None:
    """Let somebody end a visit with answers of their own."""
    form = workspace.form(lease.assignment_id)
    if workspace.study.analysis.min_outputs_seen is not None:
        send_reading(workspace, lease, rng, now=now)
    raw = answers(form, workspace.store.assignments.key(lease.assignment_id).systems, rng)
    rules = rules_of(workspace)
    workspace.store.visits.finish(answer_form(lease, form, **raw), outcome, "code", now=now, rules=rules)


@dataclass(frozen=True, slots=True, kw_only=True)
class HitWork:
    """A form that somebody answers on a platform, which says so when it is collected."""

    person: str
    assignment_id: str
    began: float
    ended: float

    def collect(self, workspace: Workspace, raw: dict[str, str]) -> None:
        """Save what was answered."""
        store, rules, form = workspace.store, rules_of(workspace), workspace.form(self.assignment_id)
        who = Arrival(annotator_id=store.person_id("mturk", self.person), source="mturk", external_id=self.person)
        with store.transaction() as connection:
            lease = admit_submitted(connection, who, self.assignment_id, rules, now=self.began)
            submission = answer_form(lease, form, **raw)
            finish_visit(connection, submission, COMPLETED, "code", now=self.ended, rules=rules)


@dataclass
class History:
    """One store, the people of whom a random history is made, and a process that follows it."""

    workspace: Workspace
    rng: np.random.Generator
    now: float = START
    people: int = 0
    at_work: list[Lease] = field(default_factory=list)
    gone: list[Lease] = field(default_factory=list)  # whose time was up
    done: list[Lease] = field(default_factory=list)
    persons: dict[str, str] = field(default_factory=dict)  # by the name of a visit
    in_hits: bool = False  # whether most people answer forms that a platform hands out
    hits: list[HitWork] = field(default_factory=list)  # not collected yet
    given: int = 0  # forms in HITs, the last of the draw

    def __post_init__(self) -> None:
        """Begin to follow."""
        self.restart()

    def restart(self) -> None:
        """Follow as a process does that has just been started."""
        self.live = LiveProgress(self.workspace.study, self.workspace.store, "human", clock=lambda: self.now)

    def step(self, act: str | None = None) -> str:
        """Let something happen, this or by chance, and return what."""
        self.now += float(self.rng.exponential(25.0))
        act = act or str(self.rng.choice(list(ACTS), p=SHARES))
        ACTS[act](self)
        if self.in_hits:
            if self.rng.random() < 0.7:
                self.work_in_hit()
            if self.rng.random() < 0.5:
                self.collect()
        return act

    def work_in_hit(self) -> None:
        """Let somebody begin to answer the form of a HIT."""
        assignments = self.workspace.store.assignments
        self.people, self.given = self.people + 1, self.given + 1
        name = assignments.ids()[-self.given]
        assignments.note_published([name])
        ended = self.now + 60 * HIT_MINUTES * float(self.rng.uniform(0.2, 1.0))
        self.hits.append(HitWork(person=f"p{self.people}", assignment_id=name, began=self.now, ended=ended))

    def collect(self) -> None:
        """Save what was submitted on the platform, in any order; now and then some of it is named too late."""
        store = self.workspace.store
        if store.meta(BEGUN_UNTIL) is None:
            with store.transaction() as connection:
                note(connection, BEGUN_UNTIL, "0")
                note_recount(connection)
        known = self.now - 60 * HIT_MINUTES
        due = [
            hit for hit in self.hits if hit.ended <= self.now and (hit.began < known - 200 or self.rng.random() < 0.7)
        ]
        self.hits = [hit for hit in self.hits if hit not in due]
        for place in self.rng.permutation(len(due)).tolist():
            name = due[place].assignment_id
            raw = answers(self.workspace.form(name), store.assignments.key(name).systems, self.rng)
            due[place].collect(self.workspace, raw)
        store.set_meta(BEGUN_UNTIL, repr(known))

    def admit(self, person: str, visit: str) -> None:
        """Let somebody in as the server does."""
        self.live.refresh()
        rules = rules_of(self.workspace)
        try:
            lease = self.workspace.store.visits.admit(
                source="link", person=person, external_id=visit, minutes_allowed=MINUTES, rules=rules, now=self.now
            )
        except AdmissionRefused:
            return
        went_on = lease.annotator_id, lease.assignment_id  # whose page leads to this visit from now on
        for waiting in (self.at_work, self.gone):
            waiting[:] = [one for one in waiting if (one.annotator_id, one.assignment_id) != went_on]
        self.at_work.append(lease)

    def newcomer(self) -> None:
        """Let somebody begin."""
        self.people += 1
        name = visit = f"p{self.people}"
        if self.workspace.study.people.repeat and self.rng.random() < AGAIN:
            name = f"p{self.rng.integers(1, self.people + 1)}"
        self.persons[visit] = name
        self.admit(name, visit)

    def complete(self) -> None:
        """Let one of those at work hand in, in whatever order."""
        if self.at_work:  # mostly who began first
            lease = self.at_work.pop(int(self.rng.integers(len(self.at_work))) if self.rng.random() < 0.4 else 0)
            outcome = str(self.rng.choice([COMPLETED, FAILED_CHECKS, SCREENED_OUT], p=[0.94, 0.03, 0.03]))
            hand_in(self.workspace, lease, self.rng, now=self.now, outcome=outcome)
            self.done.append(lease)

    def visit(self) -> None:
        """Let somebody begin and hand in, while others are at work."""
        before = [*self.at_work]
        self.newcomer()
        if self.at_work and self.at_work[-1] not in before:
            self.now += 9.0
            hand_in(self.workspace, lease := self.at_work.pop(), self.rng, now=self.now)
            self.done.append(lease)

    def leave(self) -> None:
        """Let one of those at work give the place up."""
        if self.at_work:
            lease = self.at_work.pop(int(self.rng.integers(len(self.at_work))))
            self.workspace.store.visits.release(lease.submission_id, RETURNED, now=self.now)

    def time_out(self) -> None:
        """Let time pass, and places with it."""
        self.now += 60 * MINUTES * float(self.rng.uniform(0.2, 1.1))
        self.workspace.store.visits.release_overdue(self.now)
        visits = self.workspace.store.visits
        late = [one for one in self.at_work if (kept := visits.get(one.submission_id)) and kept.released]
        self.gone += late
        self.at_work = [one for one in self.at_work if one not in late]

    def come_late(self) -> None:
        """Let somebody whose time was up hand in all the same, or take the place again."""
        if self.gone:
            lease = self.gone.pop(int(self.rng.integers(len(self.gone))))
            if self.rng.random() < 0.5:
                hand_in(self.workspace, lease, self.rng, now=self.now)
                self.done.append(lease)
            else:
                visit = str(lease.external_id)
                self.admit(self.persons[visit], visit)

    def erase(self) -> None:
        """Forget somebody, with or without answers."""
        if self.done:
            lease = self.done.pop(int(self.rng.integers(len(self.done))))
            forms = self.workspace.form
            with_answers = bool(self.rng.random() < 0.5)
            store, own = self.workspace.store, lease.submission_id
            forget(store, person=None, submission=own, forms=forms, with_answers=with_answers, apply=True)

    def give_back(self) -> None:
        """Let somebody give a completed visit back, or have its place again."""
        if self.done:
            lease = self.done[int(self.rng.integers(len(self.done)))]
            visits = self.workspace.store.visits
            if not visits.release(lease.submission_id, RETURNED, now=self.now, finished=True):
                visits.seat_again(lease.submission_id, rules=rules_of(self.workspace))


ACTS: dict[str, Callable[[History], None]] = {
    "newcomer": History.newcomer,
    "visit": History.visit,
    "complete": History.complete,
    "leave": History.leave,
    "time out": History.time_out,
    "come late": History.come_late,
    "erase": History.erase,
    "give back": History.give_back,
    "restart": History.restart,
}
SURE = {12: "restart", 17: "time out", 23: "come late", 31: "erase", 37: "restart", 43: "give back"}  # by the step
SHARES = (0.12, 0.38, 0.28, 0.03, 0.04, 0.05, 0.02, 0.04, 0.04)


def follower_of(live: LiveProgress) -> AnswerFollower:
    """Return what a process follows the answers by."""
    (follower,) = live._followers or ()
    assert isinstance(follower, AnswerFollower)
    return follower


def matrices_of(workspace: Workspace, now: float) -> list[UnitMatrix]:
    """Return what people said, from the whole store read from its beginning: the oracle."""
    return unit_matrices(workspace.study, workspace.store, now=now)


def computed(workspace: Workspace, matrices: Iterable[UnitMatrix]) -> LiveDecisions | None:
    """Return the decisions computed in full."""
    states = states_of(workspace.study, workspace.store, matrices)
    return next((state.decisions for state in states if state.group == "human"), None)


def check_tally(workspace: Workspace, live: LiveProgress, matrices: Iterable[UnitMatrix]) -> None:
    """Compare all that a process has followed with what the store gives."""
    tally = follower_of(live).tally
    assert tally is not None
    matrix = next((one for one in matrices if one.group == "human"), None)
    if matrix is None:
        assert not tally.asked
        return
    assert (tally.units, tally.excluded) == (matrix.units, matrix.excluded)
    if ranks_systems(workspace.study):
        dealt, counts = workspace.store.assignments.dealt(), BordaCounts.start(len(workspace.study.compared))
        for name, values in zip(matrix.assignments, matrix.values, strict=True):
            counts = counts_after(counts, workspace.study, matrix.hypotheses, values, dealt.get(name))
        assert tally.counts is not None
        np.testing.assert_array_equal(tally.counts.won, counts.won)
        np.testing.assert_array_equal(tally.counts.compared, counts.compared)
        return
    rule = stopping_rule(workspace.study)
    assert rule is not None
    for monitor, family in zip(tally.monitors, matrix.families, strict=True):
        again = Monitor.start(rule, len(family))
        for row in matrix.values[:, family]:
            again = again.after(row)
        assert monitor.states == again.states


def changed_assignments(workspace: Workspace) -> list[tuple[object, ...]]:
    """Return what was left out of assignments, or dealt to them."""
    query = select(adapted.c.assignment_id, adapted.c.left_out, adapted.c.dealt).order_by(adapted.c.assignment_id)
    with workspace.store.reading() as connection:
        return [tuple(row) for row in connection.execute(query)]


def hands_waiting(workspace: Workspace) -> list[list[list[str | None]]]:
    """Return the pairs dealt to each assignment that nobody has begun, in their order."""
    begun = {visit.assignment_id for visit in workspace.store.visits.of_people()}
    rows = changed_assignments(workspace)
    return [json.loads(str(dealt)) for name, _, dealt in rows if dealt is not None and name not in begun]


def keep_answering(
    path: Path, target: str, seed: int, people: int, line: Connection, clock: Callable[[], float] = time.time
) -> None:
    """Be one of several servers: admit somebody for each word that comes; say what is decided before, or null."""
    rng = np.random.default_rng(seed)
    with open_workspace(path, target) as workspace, suppress(EOFError):
        live = LiveProgress(workspace.study, workspace.store, "human", clock=clock)
        at_work: list[Lease] = []
        for number in range(people):
            line.recv()
            found = live.refresh()
            if found is None or found.counted is None:
                line.send("null")
            else:
                facts = (
                    found.counted.visits,
                    found.units,
                    found.enough,
                    found.decided,
                    list(map(astuple, found.next_pairs)),
                )
                line.send(json.dumps(facts))
                if found.enough:
                    return
            person = f"{seed}/{number}"
            try:
                lease = workspace.store.visits.admit(
                    source="link", person=person, external_id=person, minutes_allowed=60.0, rules=RULES, now=clock()
                )
            except AdmissionRefused:
                return
            at_work.append(lease)
            if len(at_work) > 2:
                hand_in(workspace, at_work.pop(int(rng.random() < 0.15)), rng, now=clock())
