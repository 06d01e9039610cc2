"""How a study stands: the platform's counts beside our own, and what people earn an hour."""

from __future__ import annotations

import datetime
from collections import Counter
from dataclasses import dataclass
from statistics import median

from prolific.api.records import AWAITING_REVIEW, PAID
from prolific.estimate import auto_approval
from prolific.prolific_study import ProlificStudy
from prolific.study_ids import SOURCE
from spa.platforms.collecting import standing_here


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionStatus:
    """How a session stands; money in cents, times in minutes."""

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
    """Look at a session on the platform and in the store."""
    study_id = prolific_study.need_study(session)
    record = prolific_study.platform.studies.fetch(study_id)
    submissions = list(prolific_study.platform.submissions.of_study(study_id))
    visits: Counter[str] = Counter()
    extra = 0
    for visit in prolific_study.store.visits.of_people(SOURCE):
        if visit.session == session:
            visits[standing_here(visit)] += 1
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
