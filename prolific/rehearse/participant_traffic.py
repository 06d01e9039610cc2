"""Simulated participants take places, answer and leave, in the order of the platform's clock.

State is kept only by platform and survey server: after a kill the same participants are drawn again, and what they
have done already is not repeated.
"""

from __future__ import annotations

import heapq
import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from prolific.rehearse.environment import ActionRefused, RehearsalEnvironment
from prolific.rehearse.http_client import VisitResult, visit_survey
from prolific.rehearse.participants import ParticipantPlan, SimulatedParticipant, draw_participant
from spa.errors import ResponseError

MINUTE = 60.0
MOST_TRIES = 20  # people drawn for each place, before a study is taken to be closed to them
RECRUITING = 3.0  # how long it takes until all places are taken, in times of the estimate
OPEN = ("RESERVED", "ACTIVE")
MARGIN = 1.0  # second
TYPED = "FORGOT1"

Act = Callable[[], None]


@dataclass(slots=True)
class ParticipantTraffic:
    """The participants of one session of a study."""

    stage: RehearsalEnvironment
    plan: ParticipantPlan
    study_id: str
    minutes: float  # estimated
    progress: Callable[[int], None]
    collect: Callable[[], None]  # frees the places of those who left
    among: tuple[str, ...] | None = None  # only these participants may come, each once; None: anybody
    met: dict[str, SimulatedParticipant] = field(default_factory=dict)  # participant id -> who came
    turned_away: Counter[str] = field(default_factory=Counter)  # by reason, of platform or survey server
    _queue: list[tuple[float, int, Act]] = field(default_factory=list)
    _order: Iterator[int] = field(default_factory=itertools.count)
    _number: int = 0
    _mine: dict[str, dict[str, Any]] = field(default_factory=dict)

    def play(self) -> None:
        """Let participants come until the study admits nobody else and nobody is at work."""
        people = self.stage.people
        self._mine = {one["participant_id"]: one for one in people.submissions(self.study_id)}
        self._resume()
        if people.study(self.study_id)["status"] == "ACTIVE":
            self._at(people.now(), self._admit_next)
        while self._queue:
            moment, _, act = heapq.heappop(self._queue)
            wait = moment - people.now()
            if wait > 0:
                people.advance(wait)
            act()
            self._report()
        self._report()

    def give_back(self, submission_ids: list[str]) -> None:
        """Return submissions whose participants were asked to."""
        for submission_id in submission_ids:
            self._return_if_asked(submission_id)

    def _at(self, moment: float, act: Act) -> None:
        heapq.heappush(self._queue, (moment, next(self._order), act))

    def _report(self) -> None:
        self.progress(int(self.stage.people.study(self.study_id)["places_taken"]))

    # Who comes next

    def _resume(self) -> None:
        """Resume the participants who were still active when an earlier run was interrupted."""
        missing = set(self._mine)
        for number in range(MOST_TRIES * (len(missing) + 100)):
            if not missing:
                return
            one = draw_participant(self.plan.seed, number, self.plan.shares)
            if one.participant_id in missing:
                missing.discard(one.participant_id)
                self._number = number + 1
                self._schedule(one, self._mine[one.participant_id])

    def _draw(self, number: int) -> SimulatedParticipant | None:
        last = number + 1 if self.among is None else max(number + 1, MOST_TRIES * (len(self.among) + 100))
        drawn = (draw_participant(self.plan.seed, candidate, self.plan.shares) for candidate in range(number, last))
        return next((one for one in drawn if self.among is None or one.participant_id in self.among), None)

    def _admit_next(self) -> None:
        study = self.stage.people.study(self.study_id)
        if study["status"] != "ACTIVE":
            return
        gap = RECRUITING * self.minutes * MINUTE / study["places"]
        if study["places_taken"] >= study["places"]:
            if self._queue:  # a place may become free with what happens next
                self._at(self._queue[0][0] + MARGIN, self._admit_next)
            return
        one = self._draw(self._number)
        if one is None or one.number > MOST_TRIES * (study["places"] + 10):
            return
        self._number = one.number + 1
        if one.participant_id not in self._mine:
            self._take_place(one, study)
        self._at(self.stage.people.now() + one.gap * gap, self._admit_next)

    def _take_place(self, one: SimulatedParticipant, study: Mapping[str, Any]) -> None:
        from prolific.emulator.participant_pool import fitting

        people = self.stage.people
        people.join(one.participant_id, fitting(study["filters"]))
        try:
            taken = people.take(self.study_id, one.participant_id)
        except ActionRefused as refusal:
            self.turned_away[str(refusal).partition("refused")[2]] += 1
            return
        self._mine[one.participant_id] = taken
        self._schedule(one, taken)

    # What each does

    def _schedule(self, one: SimulatedParticipant, seen: Mapping[str, Any]) -> None:
        self.met[one.participant_id] = one
        submission_id, status = str(seen["id"]), seen["status"]
        now = self.stage.people.now()
        if status == "RESERVED" and one.scenario == "never opens":
            self._at(float(seen["ends_at"]) + MARGIN, lambda: None)
        elif status in OPEN:
            begun = self.stage.people.open(submission_id)
            ends_at = float(begun["started_at"]) + one.pace * self.minutes * MINUTE
            time_is_up = float(begun["ends_at"])
            self._start_survey(one, str(begun["study_url"]))
            if one.scenario in ("drops out", "late"):
                self._at(time_is_up + MARGIN, lambda: self._late(one, submission_id))
            else:
                self._at(min(max(ends_at, now), time_is_up - MARGIN), lambda: self._finish(one, submission_id))
        elif status == "TIMED-OUT" and one.scenario == "late":
            self._late(one, submission_id)
        elif status == "AWAITING REVIEW" and seen["return_requested"]:
            self._return_if_asked(submission_id)

    def _start_survey(self, one: SimulatedParticipant, url: str) -> None:
        if one.scenario not in ("no answers", "never opens"):
            leaves = one.scenario in ("drops out", "returns", "second device")
            self._visit(one, url, share=one.patience if leaves else 0.0)

    def _finish(self, one: SimulatedParticipant, submission_id: str) -> None:
        """Complete the survey and the submission, by the participant's scenario."""
        people = self.stage.people
        seen = people.see(submission_id)
        if seen["status"] != "ACTIVE":
            return
        if one.scenario == "returns":
            people.give_back(submission_id)
            return
        if one.scenario == "no answers":
            people.enter_code(submission_id, None)
            return
        if self.plan.in_browser is not None and one.number < self.plan.browsers and one.scenario == "completes":
            self.plan.in_browser(one, submission_id)
            return
        code = self._visit(one, str(seen["study_url"])).code
        entered = {"no code": None, "wrong code": TYPED}.get(one.scenario, code)
        after = people.enter_code(submission_id, entered)
        if after["return_requested"] and one.scenario in ("declines", "screened out"):
            self._at(people.now() + MINUTE, lambda: self._return_if_asked(submission_id))

    def _late(self, one: SimulatedParticipant, submission_id: str) -> None:
        """Complete a submission after it timed out, unless the participant dropped out."""
        people = self.stage.people
        if one.scenario != "late" or people.see(submission_id)["status"] != "TIMED-OUT":
            return
        code = self._visit(one, str(people.see(submission_id)["study_url"])).code
        try:
            people.enter_code(submission_id, code)
        except ActionRefused:
            self.turned_away["the platform took no late code"] += 1

    def _return_if_asked(self, submission_id: str) -> None:
        if self.stage.people.see(submission_id)["status"] == "AWAITING REVIEW":
            self.stage.people.give_back(submission_id)

    def _visit(self, one: SimulatedParticipant, url: str, *, share: float = 1.0) -> VisitResult:
        """Visit the survey server; if it has no place, try once more after abandoned places were freed."""
        answering = self.plan.answering(one)
        for last in (False, True):
            place = visit_survey(self.stage.browser, url, answering, share=share, decline=one.scenario == "declines")
            if place.status < 400 or last:
                break
            self.collect()
        if place.status >= 400:
            self.turned_away[f"the survey server said {place.status}"] += 1
        elif place.form is None and place.code is None:
            raise ResponseError(f"{place.url}: expected a page of the form or the way back, got another page")
        return place
