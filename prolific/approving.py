"""Approval: which submissions to approve, and waiting until the platform has approved them."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from prolific.api.problems import ProlificError
from prolific.api.records import AWAITING_REVIEW, KNOWN, PAID, SubmissionRecord
from prolific.collecting import SessionReconciliation
from prolific.prolific_study import ProlificStudy
from spa.journal import JournalEntry
from spa.platforms.idempotent_calls import CallReply, PlatformCall
from spa.platforms.review import ReviewQueue, reason_to_look, sort_for_approval
from spa.responses.decisions import VisitDecisions

CHUNK = 100
MOST_POLLS = 60
HELD_BACK = frozenset({"false_claim", "another_person", "code_claimed_without_answers", "unverified", "twice"})


def review_queue(
    collected: SessionReconciliation,
    decided: Mapping[str, VisitDecisions],
    *,
    also: Collection[str] = (),
    except_for: Collection[str] = (),
) -> ReviewQueue[SubmissionRecord]:
    """Sort a session's submissions for approval: complete answers are approved, whatever code was entered.

    Annotators who are excluded from the analysis are paid all the same. Submissions that a person must look at are
    neither approved nor rejected.

    Parameters
    ----------
    collected : SessionReconciliation
        A session's submissions and visits.
    decided : mapping
        Our visit -> what reviewers decided about it.
    also, except_for : collection of str
        The platform's submissions to approve or to leave alone, whatever the records say.
    """
    kinds: dict[str, set[str]] = {}
    for each in collected.differences:
        kinds.setdefault(each.submission_id, set()).add(each.kind)
    waiting: list[tuple[str, SubmissionRecord, str | None]] = []
    for record in collected.records:
        name = record.submission_id
        if record.status == AWAITING_REVIEW:
            waiting.append((name, record, _reason_to_look(collected, name, decided, kinds.get(name, set()))))
        elif record.status not in KNOWN:
            waiting.append((name, record, f"status {record.status!r} is not known here"))
    known = {name for name, record, _ in waiting if record.status == AWAITING_REVIEW}
    return sort_for_approval(waiting, also=known & set(also), except_for=except_for)


def approve_all(
    prolific_study: ProlificStudy,
    session: int,
    records: Iterable[SubmissionRecord],
    progress: Callable[[int], None] | None = None,
) -> tuple[int, tuple[str, ...]]:
    """Approve submissions and wait until the platform has done so; repeating it pays nobody twice.

    ``progress`` gets the number approved so far. Returns how many were approved, and the ids of those that still
    wait.
    """
    ids = [record.submission_id for record in records]
    study_id, key = prolific_study.need_study(session), f"approve, session {session}"
    for start in range(0, len(ids), CHUNK):
        prolific_study.idempotent_calls.execute_call(_approval(prolific_study, key, ids[start : start + CHUNK]))
    waiting = set(ids)
    done = 0
    for _ in range(MOST_POLLS):
        now = {one.submission_id: one.status for one in prolific_study.platform.submissions.of_study(study_id)}
        waiting = {one for one in ids if now.get(one) == AWAITING_REVIEW}
        done = sum(now.get(one) in PAID for one in ids)
        if progress is not None:
            progress(done)
        if not waiting:
            break
        prolific_study.sleep(prolific_study.poll_seconds)
    return done, tuple(sorted(waiting))


def _approval(prolific_study: ProlificStudy, key: str, submission_ids: Sequence[str]) -> PlatformCall:
    """Return the call that requests approvals; the submissions' statuses show whether it took effect."""

    def send(entry: JournalEntry) -> CallReply:
        try:
            prolific_study.platform.submissions.approve_many(submission_ids)
        except ProlificError as error:
            return CallReply(state="refused", response=str(error), error=error)
        return CallReply(state="done", content={"asked": len(submission_ids)})

    return PlatformCall(
        scope=prolific_study.key,
        key=key,
        request=json.dumps({"submission_ids": submission_ids}),
        send=send,
        find=lambda entry: None,
        once=False,
        refused="failed",
    )


def _reason_to_look(
    collected: SessionReconciliation, submission_id: str, decided: Mapping[str, VisitDecisions], kinds: set[str]
) -> str | None:
    visit = collected.visit(submission_id)
    held = sorted(kinds & HELD_BACK)
    ended = "no visit" if visit is None else visit.outcome or "open"
    return reason_to_look(
        None if visit is None else decided.get(visit.submission_id),
        held=held[0].replace("_", " ") if held else None,
        lacking=None if visit is not None and visit.completed else f"no complete answers here ({ended})",
    )
