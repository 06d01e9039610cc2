"""Workers' actions: finding, previewing, accepting, returning and submitting HITs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlalchemy import ColumnElement, bindparam, func, select

from mturk.endpoint import assignments as life
from mturk.endpoint import repository
from mturk.endpoint.assignments import ACCEPTED, HitAssignment
from mturk.endpoint.errors import does_not_exist, refused
from mturk.endpoint.hits import ASSIGNABLE, HitType, HostedHit, accepted, released
from mturk.endpoint.hits import submitted as with_submission
from mturk.endpoint.requirements import Requirement
from mturk.endpoint.review import approve_by_time
from mturk.endpoint.schema import assignments, hit_types, hits, requesters
from mturk.endpoint.transaction import Transaction, new_id
from mturk.endpoint.workers import Worker, find_worker, may_discover, unmet

MAX_HELD = 25  # assignments that a worker may hold at once
LAST_TURN = select(func.max(assignments.c.turn)).where(assignments.c.hit_id == bindparam("name"))
TAKEN = select(assignments.c.hit_id).where(
    assignments.c.hit_id == bindparam("hit"),
    assignments.c.worker_id == bindparam("worker"),
    assignments.c.status.in_((ACCEPTED, *life.KNOWN_TO_REQUESTERS)),
)
HOLDING = select(func.count()).where(assignments.c.worker_id == bindparam("worker"), assignments.c.status == ACCEPTED)


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenHitGroup:
    """A HIT type with open HITs that a worker can see."""

    kind: HitType
    requester: str  # name
    count: int  # open HITs of the group that the worker has not taken yet
    first_hit_id: str
    last_expiry: float
    to_preview: tuple[Requirement, ...]  # what the worker lacks for that; empty: they may
    to_accept: tuple[Requirement, ...]


def offers(tx: Transaction, worker_id: str) -> Iterator[OpenHitGroup]:
    """Yield the groups that a worker can see, the newest first."""
    worker = find_worker(tx, worker_id)
    names = dict(tx.connection.execute(select(requesters.c.requester_id, requesters.c.name)).all())
    numbers = (func.min(hits.c.number).label("first"), func.max(hits.c.expires_at).label("expiry"))
    groups = tx.connection.execute(
        select(hits.c.hit_type_id, func.count().label("open"), *numbers)
        .where(hits.c.status == ASSIGNABLE, not_taken(worker_id))
        .group_by(hits.c.hit_type_id)
        .order_by(func.max(hits.c.number).desc())
    ).all()
    for group in groups:
        kind = repository.find_type(tx, group.hit_type_id)
        if not may_discover(worker, kind):
            continue
        first = tx.connection.scalar(select(hits.c.hit_id).where(hits.c.number == group.first))
        yield OpenHitGroup(
            kind=kind,
            requester=names[kind.requester_id],
            count=group.open,
            first_hit_id=str(first),
            last_expiry=group.expiry,
            to_preview=unmet(worker, kind.requirements, "Preview"),
            to_accept=unmet(worker, kind.requirements, "Accept"),
        )


def next_hit(tx: Transaction, worker_id: str, group_id: str) -> HostedHit | None:
    """Return the first open HIT of a group that a worker has not taken, or None."""
    own = (hit_types.c.group_id == group_id, hits.c.status == ASSIGNABLE, not_taken(worker_id))
    query = select(*repository.HIT_COLUMNS).join(hit_types, hit_types.c.hit_type_id == hits.c.hit_type_id).where(*own)
    row = tx.first(query.order_by(hits.c.number).limit(1))
    return None if row is None else repository.hit_from(row)


def preview(tx: Transaction, worker_id: str, hit_id: str) -> tuple[HostedHit, HitType]:
    """Return a HIT that a worker may preview, with its type."""
    hit = repository.find_hit(tx, hit_id)
    kind = repository.find_type(tx, hit.hit_type_id)
    worker = find_worker(tx, worker_id, requirements=kind.requirements)
    if hit.status != ASSIGNABLE or not may_discover(worker, kind):
        raise does_not_exist("HIT", hit_id)
    _demand(worker, kind, unmet(worker, kind.requirements, "Preview"), "previewed")
    return hit, kind


def accept(tx: Transaction, worker_id: str, hit_id: str) -> HitAssignment:
    """Accept an open HIT for a worker who qualifies, has not taken it before and holds fewer than ``MAX_HELD``."""
    hit = repository.find_hit(tx, hit_id)
    kind = repository.find_type(tx, hit.hit_type_id)
    worker = find_worker(tx, worker_id, requirements=kind.requirements)
    if not may_discover(worker, kind):
        raise does_not_exist("HIT", hit_id)
    _demand(worker, kind, unmet(worker, kind.requirements, "Accept"), "accepted")
    _check_own(tx, worker_id, hit)
    taken = accepted(hit, tx.now)
    work = HitAssignment(
        assignment_id=new_id(),
        hit_id=hit_id,
        requester_id=hit.requester_id,
        worker_id=worker_id,
        accepted_at=tx.now,
        deadline=tx.now + kind.duration,
    )
    repository.add_assignment(tx, work)
    repository.save_hit(tx, hit, taken, kind=kind)
    repository.record_event(tx, "AssignmentAccepted", hit, work)
    return work


def return_assignment(tx: Transaction, worker_id: str, assignment_id: str) -> HitAssignment:
    """Return an assignment that the worker holds to the HIT."""
    held = find_held(tx, worker_id, assignment_id)
    hit = repository.find_hit(tx, held.hit_id)
    given = life.returned(held, tx.now)
    repository.save_assignment(tx, held, given)
    repository.save_hit(tx, hit, released(hit, tx.now), kind=repository.find_type(tx, hit.hit_type_id))
    repository.record_event(tx, "AssignmentReturned", hit, given)
    return given


def submit(tx: Transaction, worker_id: str, assignment_id: str, answer: str) -> HitAssignment:
    """Submit the answer, XML, to an assignment that the worker holds and whose deadline has not passed."""
    held = find_held(tx, worker_id, assignment_id)
    hit = repository.find_hit(tx, held.hit_id)
    kind = repository.find_type(tx, hit.hit_type_id)
    last = tx.connection.scalar(LAST_TURN, {"name": hit.hit_id})
    done = life.submitted(held, answer, turn=(last or 0) + 1, delay=kind.auto_approval_delay, now=tx.now)
    repository.save_assignment(tx, held, done)
    hit = repository.save_hit(tx, hit, with_submission(hit, tx.now), kind=kind)
    repository.record_event(tx, "AssignmentSubmitted", hit, done)
    if kind.auto_approval_delay == 0:
        approve_by_time(tx, done, hit, kind)
        return repository.find_assignment(tx, assignment_id)
    return done


def find_held(tx: Transaction, worker_id: str, assignment_id: str) -> HitAssignment:
    """Return an assignment of this worker, in any state."""
    work = repository.find_assignment(tx, assignment_id)
    if work.worker_id != worker_id:
        raise does_not_exist("Assignment", assignment_id)
    return work


def not_taken(worker_id: str) -> ColumnElement[bool]:
    """Return the SQL condition that a worker has no assignment of a HIT, except returned or abandoned ones."""
    taken = (
        select(assignments.c.hit_id)
        .where(assignments.c.hit_id == hits.c.hit_id, assignments.c.worker_id == worker_id)
        .where(assignments.c.status.in_((ACCEPTED, *life.KNOWN_TO_REQUESTERS)))
    )
    return ~taken.exists()


def _check_own(tx: Transaction, worker_id: str, hit: HostedHit) -> None:
    if tx.first(TAKEN, worker=worker_id, hit=hit.hit_id) is not None:
        raise refused("AssignmentAlreadyExists", f"Worker {worker_id} has an assignment of HIT {hit.hit_id} already.")
    holding = tx.connection.scalar(HOLDING, {"worker": worker_id})
    if (holding or 0) >= MAX_HELD:
        why = f"Worker {worker_id} holds {holding} assignments; submit or return one before accepting another."
        raise refused("ExceedsMaxAssignmentsPerWorker", why)


def _demand(worker: Worker, kind: HitType, lacking: tuple[Requirement, ...], done: str) -> None:
    if lacking:
        names = ", ".join(asked["QualificationTypeId"] for asked in lacking)
        raise refused(
            "DoesNotMeetRequirements",
            f"Worker {worker.worker_id} does not meet the requirements under which HITs of {kind.title!r} can be "
            f"{done}: {names}.",
        )
