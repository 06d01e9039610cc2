"""Places that people gave up on the platform go to somebody else here too."""

from __future__ import annotations

from prolific.api.records import REJECTED, RETURNED, SCREENED_OUT, TIMED_OUT, SubmissionRecord
from prolific.study_ids import SOURCE
from spa.responses.outcomes import RETURNED as GAVE_BACK
from spa.responses.outcomes import TIMED_OUT as LATE
from spa.responses.store import Store

REASONS = {RETURNED: GAVE_BACK, TIMED_OUT: LATE, REJECTED: "rejected", SCREENED_OUT: "screened_out"}


def release_gone(store: Store, record: SubmissionRecord, *, now: float) -> bool:
    """Give up the place of somebody who is gone by the platform's word, and return whether one became free.

    Answers stay. Who gave the visit back after answering took the answers back: they are kept as extra
    and left out of the analysis. Who was late and has answered keeps the place.
    """
    reason = REASONS.get(record.status)
    visit = None if reason is None else store.visits.find(SOURCE, record.submission_id)
    if reason is None or visit is None or (visit.finished and reason != GAVE_BACK):
        return False
    return store.visits.release(visit.submission_id, reason, now=now, finished=reason == GAVE_BACK)
