"""Progress of a study on the platform and in the store, and the next wave of a live study."""

from __future__ import annotations

import datetime
import json
from collections import Counter
from dataclasses import dataclass
from statistics import median

from prolific.api.problems import ProlificError
from prolific.api.records import ACTIVE, AWAITING_REVIEW, PAID, RESERVED, StudyRecord
from prolific.collecting import collect_session
from prolific.estimate import auto_approval
from prolific.prolific_study import ProlificStudy
from prolific.publishing import move_study
from prolific.study_ids import SOURCE
from spa.journal import STARTED, JournalEntry
from spa.live import draw_due_wave
from spa.platforms.collecting import visit_state
from spa.platforms.idempotent_calls import DONE, Content, PlatformCall
from spa.platforms.waves import Recruitment, check_live, next_wave, people_state, room_for
from spa.study.audit import wave_size

SESSION = 1  # the only one of a live study
AT_WORK = frozenset({RESERVED, ACTIVE, "PROCESSING"})
COMPLETED = PAID | {AWAITING_REVIEW}
KEY = "open places up to "


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyRecruitment(Recruitment):
    """The recruitment of a live study on the platform; costs in cents, with fees."""

    study: StudyRecord
    cost: int  # of the wave
    so_far: int  # of the places that are open
    at_most: int

    @property
    def closed(self) -> bool:
        """Whether places were returned after the study was full, so that it must be started again to fill them."""
        return self.study.status == "AWAITING REVIEW" and self.free > 0 and self.wave.reason == "under way"


def update_recruitment(prolific_study: ProlificStudy) -> StudyRecruitment:
    """Collect submissions and return the state of a live study; opens no places.

    Raises
    ------
    StudyError
        If the study is of fixed size.
    ProlificError
        If it is not published, or paused.
    """
    check_live(prolific_study.workspace.study)
    _resolve_interrupted(prolific_study)
    statuses = [record.status for record in collect_session(prolific_study, SESSION).records]
    studies = prolific_study.platform.studies
    study = studies.fetch(prolific_study.need_study(SESSION))
    if study.draft:
        raise ProlificError(f"{prolific_study.file}: not published yet; run `spa prolific publish`")
    completed, at_work = (sum(status in which for status in statuses) for which in (COMPLETED, AT_WORK))
    local = prolific_study.access is not None and prolific_study.access.local
    draw_due_wave(prolific_study.workspace.study, prolific_study.store)
    state = people_state(prolific_study.workspace.study, prolific_study.store, rehearsed=local)
    most = max(prolific_study.offer.most, study.places)
    wave = next_wave(
        state,
        wave=wave_size(prolific_study.workspace.study),
        most=most,
        places=study.places,
        completed=completed,
        at_work=at_work,
    )
    return StudyRecruitment(
        places=study.places,
        completed=completed,
        at_work=at_work,
        free=max(0, study.places - completed - at_work),
        state=state,
        wave=wave,
        study=study,
        cost=studies.calculate_cost(study.reward, wave.places) if wave.places else 0,
        so_far=studies.calculate_cost(study.reward, study.places),
        at_most=studies.calculate_cost(study.reward, most),
    )


def open_wave(prolific_study: ProlificStudy, recruitment: StudyRecruitment) -> int:
    """Open the next wave, or restart the study so that returned places are taken; return how many places were added.

    Raises
    ------
    ProlificError
        If the study was paused or stopped by hand, or the platform refuses, as with too little money.
    """
    if not (recruitment.wave.places or recruitment.closed):
        return 0
    if _stopped_by_hand(prolific_study, recruitment.study):
        raise ProlificError(
            f"{prolific_study.file}: the study was paused or stopped while pairs were undecided, so that no wave is "
            "opened; resume it with `spa prolific stop --resume` or on Prolific, or leave it closed"
        )
    if recruitment.closed:
        move_study(prolific_study, SESSION, "START")
        return 0
    places = recruitment.study.places + recruitment.wave.places
    room = room_for(prolific_study.workspace.study, prolific_study.store)
    if room < places:
        raise ProlificError(
            f"{prolific_study.store.name}: expected {places} assignments for so many places, got {room}; "
            f"run `spa build` with --annotators {prolific_study.offer.most}"
        )
    prolific_study.idempotent_calls.execute_call(_opening(prolific_study, places))
    return recruitment.wave.places


def close(prolific_study: ProlificStudy, recruitment: StudyRecruitment) -> bool:
    """Stop recruitment if nobody else is needed and places are free; return whether this call stopped it."""
    if (
        recruitment.wave.reason != "enough"
        or not recruitment.free
        or recruitment.study.status not in ("ACTIVE", "PAUSED")
    ):
        return False
    move_study(prolific_study, SESSION, "STOP")
    return True


def _stopped_by_hand(prolific_study: ProlificStudy, study: StudyRecord) -> bool:
    moves = [f"{action}, session {SESSION}" for action in ("START", "STOP")]
    done = [
        call.key for call in prolific_study.idempotent_calls.entries() if call.key in moves and call.outcome == DONE
    ]
    return study.status == "PAUSED" or (study.status != "ACTIVE" and done[-1:] == moves[1:])


def _opening(prolific_study: ProlificStudy, places: int) -> PlatformCall:
    """Return the call that raises the places of the study to a number; idempotent."""
    study_id, studies = prolific_study.need_study(SESSION), prolific_study.platform.studies
    body = {"total_available_places": places}

    def send() -> Content:
        return {"places": studies.change(study_id, body).places}

    def find(entry: JournalEntry) -> Content | None:
        there = studies.fetch(study_id).places
        return {"places": there} if there >= places else None

    calls = prolific_study.idempotent_calls
    return calls.new_call(f"{KEY}{places}", {"study_id": study_id, **body}, send=send, find=find, state_decides=True)


def _resolve_interrupted(prolific_study: ProlificStudy) -> None:
    """Resolve interrupted calls that opened waves."""
    calls = prolific_study.idempotent_calls
    for entry in calls.entries():
        if entry.outcome == STARTED and entry.key.startswith(KEY):
            places = int(json.loads(entry.request)["total_available_places"])
            calls.resolve_call(_opening(prolific_study, places), entry)


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionStatus:
    """The progress of a session; money in cents, times in minutes."""

    session: int
    study_id: str
    status: str
    places: int
    counts: dict[str, int]  # the platform's, by status
    visits: dict[str, int]  # our own, by outcome; "open" and "released" for those without
    extra: int
    median_minutes: float | None
    median_hourly: float | None
    first_auto_approval: datetime.date | None  # of those who wait for review


def session_status_of(prolific_study: ProlificStudy, session: int) -> SessionStatus:
    """Return the progress of a session on the platform and in the store."""
    study_id = prolific_study.need_study(session)
    record = prolific_study.platform.studies.fetch(study_id)
    submissions = list(prolific_study.platform.submissions.of_study(study_id))
    visits: Counter[str] = Counter()
    extra = 0
    for visit in prolific_study.store.visits.of_people(SOURCE):
        if visit.session == session:
            visits[visit_state(visit)] += 1
            extra += visit.extra
    done = [one for one in submissions if one.status in PAID or one.status == AWAITING_REVIEW]
    took = [one.seconds / 60 for one in done if one.seconds]
    waiting = [one.completed_at for one in submissions if one.status == AWAITING_REVIEW and one.completed_at]
    middle = median(took) if took else None
    return SessionStatus(
        session=session,
        study_id=study_id,
        status=record.status,
        places=record.places,
        counts=dict(Counter(one.status for one in submissions)),
        visits=dict(visits),
        extra=extra,
        median_minutes=middle,
        median_hourly=None if not middle else record.reward * 60 / middle,
        first_auto_approval=auto_approval(min(waiting)) if waiting else None,
    )
