"""Whom to approve, and approving them: asked for together, done by the platform afterwards, and seen to be done."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from prolific.api.problems import ProlificError
from prolific.api.records import AWAITING_REVIEW, KNOWN, PAID, SubmissionRecord
from prolific.collecting import SessionReconciliation
from prolific.idempotent_calls import KIND
from prolific.prolific_study import ProlificStudy
from spa.journal import STARTED
from spa.platforms.idempotent_calls import DONE, NO_EFFECT
from spa.platforms.review import reason_to_look
from spa.responses.decisions import VisitDecisions

CHUNK = 100
MOST_POLLS = 60
HELD_BACK = frozenset({"false_claim", "another_person", "code_claimed_without_answers", "unverified", "twice"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue:
    """Who waits for review: to be approved, and those that a person must look at, each with the reason."""

    approve: tuple[SubmissionRecord, ...]
    look_at: tuple[tuple[SubmissionRecord, str], ...]


def sort_out(
    collected: SessionReconciliation,
    decided: Mapping[str, VisitDecisions],
    *,
    also: Iterable[str] = (),
    except_for: Iterable[str] = (),
) -> Queue:
    """Decide whom to approve: whose answers are complete here, whatever code they entered.

    Whom the analysis leaves out is paid all the same. Who is to be looked at by a person is neither
    approved nor rejected.

    Parameters
    ----------
    collected : SessionReconciliation
        A session's two lists.
    decided : mapping
        Our visit -> what reviewers decided about it.
    also, except_for : iterable of str
        The platform's submissions to approve or to leave alone, whatever the records say.
    """
    kinds: dict[str, set[str]] = {}
    for each in collected.differences:
        kinds.setdefault(each.submission_id, set()).add(each.kind)
    also, except_for = set(also), set(except_for)
    approve: list[SubmissionRecord] = []
    look_at: list[tuple[SubmissionRecord, str]] = []
    for record in collected.records:
        if record.submission_id in except_for:
            continue
        if record.status not in KNOWN:
            look_at.append((record, f"status {record.status!r} is not known here"))
        if record.status != AWAITING_REVIEW:
            continue
        visit = collected.visit(record.submission_id)
        decisions = None if visit is None else decided.get(visit.submission_id)
        held = sorted(kinds.get(record.submission_id, set()) & HELD_BACK)
        ended = "no visit" if visit is None else visit.outcome or "open"
        reason = reason_to_look(
            decisions,
            held=held[0].replace("_", " ") if held else None,
            lacking=None if visit is not None and visit.completed else f"no complete answers here ({ended})",
        )
        if reason is None or record.submission_id in also:
            approve.append(record)
        else:
            look_at.append((record, reason))
    return Queue(approve=tuple(approve), look_at=tuple(look_at))


def approve_all(
    prolific_study: ProlificStudy,
    session: int,
    records: Iterable[SubmissionRecord],
    progress: Callable[[int], None] | None = None,
) -> tuple[int, tuple[str, ...]]:
    """Approve submissions and wait until the platform has done it.

    Asking twice pays once: the platform ignores a repeat, and only those that still wait are asked for.
    ``progress`` is told how many are approved, as often as the platform is looked at.

    Returns
    -------
    int, tuple of str
        How many were approved, and the ids of those that still wait.
    """
    wanted = [record.submission_id for record in records]
    study_id, key = prolific_study.need_study(session), f"approve, session {session}"
    for call in prolific_study.idempotent_calls.journal.calls(KIND, prolific_study.key, key):
        if call.outcome == STARTED:  # interrupted; whether it took effect shows in who still waits
            prolific_study.idempotent_calls.journal.finish(call, NO_EFFECT)
    for start in range(0, len(wanted), CHUNK):
        part = wanted[start : start + CHUNK]
        call = prolific_study.idempotent_calls.journal.begin(
            KIND, prolific_study.key, key, json.dumps({"submission_ids": part})
        )
        try:
            prolific_study.platform.submissions.approve_many(part)
        except ProlificError as error:
            prolific_study.idempotent_calls.journal.finish(call, "failed", response=str(error))
            raise
        prolific_study.idempotent_calls.journal.finish(call, DONE, asked=len(part))
    waiting = set(wanted)
    done = 0
    for _ in range(MOST_POLLS):
        now = {one.submission_id: one.status for one in prolific_study.platform.submissions.of_study(study_id)}
        waiting = {one for one in wanted if now.get(one) == AWAITING_REVIEW}
        done = sum(now.get(one) in PAID for one in wanted)
        if progress is not None:
            progress(done)
        if not waiting:
            break
        prolific_study.sleep(prolific_study.poll_seconds)
    return done, tuple(sorted(waiting))
