"""Steps of people and raters on a store, each in a transaction of its own, as tests take them."""

from __future__ import annotations

import time

from spa.records.submission import AnnotatorKind, Missing, RaterCondition, Response, Submission
from spa.responses import admission, capacity, payloads, tokens
from spa.responses.admission import AdmissionRules, Arrival
from spa.responses.leases import (
    Lease,
    give,
    known_lease,
    leases_named,
    leases_of,
    lock_leases,
    new_lease_for_rater,
    refuse_other_settings,
)
from spa.responses.outcomes import COMPLETED, TIMED_OUT
from spa.responses.store import Store


def lease_assignment(
    store: Store,
    annotator_id: str,
    *,
    source: str,
    annotator_kind: AnnotatorKind,
    token: str | None = None,
    rules: AdmissionRules | None = None,
) -> Lease:
    """Give a person an assignment that no other person has; the same person gets the same again."""
    who = Arrival(annotator_id=annotator_id, source=source, annotator_kind=annotator_kind, token=token)
    with store.transaction() as connection:
        lock_leases(connection)
        found = leases_of(connection, annotator_id)
        return found[-1] if found else admission.admit(connection, who, rules or AdmissionRules(), now=time.time())


def lease_for_rater(store: Store, rater_id: str, assignment_id: str, asked: RaterCondition) -> Lease:
    """Give an LLM rater an assignment, or the lease that it has already."""
    new = new_lease_for_rater(rater_id, assignment_id, asked)
    with store.transaction() as connection:
        found = leases_named(connection, [new.submission_id]).get(new.submission_id)
        if found is None:
            return give(connection, new)
    refuse_other_settings(found, asked)
    return found


def reclaim(store: Store, submission_id: str, *, now: float, rules: AdmissionRules | None = None) -> Lease:
    """Give a late visit its place back where that is still free."""
    with store.transaction() as connection:
        lock_leases(connection)
        late = known_lease(connection, submission_id)
        if late.release_reason != TIMED_OUT:
            return late
        return capacity.reclaim(connection, late, (rules or AdmissionRules()).per_assignment, now=now)


def join_group(store: Store, submission_id: str, group: str, *, rules: AdmissionRules) -> None:
    """Put a visit into a quota group."""
    with store.transaction() as connection:
        lock_leases(connection)
        admission.join_group(connection, submission_id, group, rules)


def save_payload(store: Store, submission_id: str, page_id: str, body: str) -> None:
    """Keep what arrived for a page of a visit."""
    with store.transaction() as connection:
        known_lease(connection, submission_id)
        payloads.save_page(connection, submission_id, page_id, body, now=time.time())


def complete(store: Store, submission: Submission, *, completion_code: str) -> str:
    """Complete a visit and return its completion code: this one, or that of the first call."""
    return str(store.visits.finish(submission, COMPLETED, completion_code, now=time.time()).completion_code)


def has_token(store: Store, token: str) -> bool:
    """Return whether the store gave out a token."""
    with store.reading() as connection:
        return tokens.is_token(token) and tokens.has_token(connection, token)


def submission_of(lease: Lease, *answers: Response | Missing) -> Submission:
    """Return what somebody handed in who holds a lease."""
    return Submission(
        submission_id=lease.submission_id,
        assignment_id=lease.assignment_id,
        annotator_id=lease.annotator_id,
        annotator_kind=lease.annotator_kind,
        source=lease.source,
        answers=answers,
        seconds=12.5,
    )
