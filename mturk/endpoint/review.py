"""Approving and rejecting assignments, and recording what is owed."""

from __future__ import annotations

from sqlalchemy import bindparam, select

from mturk.endpoint import repository
from mturk.endpoint.assignments import SUBMITTED, HitAssignment, approved, rejected
from mturk.endpoint.errors import does_not_exist, refused
from mturk.endpoint.hits import DISPOSED, HitType, HostedHit, reviewed
from mturk.endpoint.money import format_money
from mturk.endpoint.schema import ledger, requesters
from mturk.endpoint.transaction import Transaction

BUDGET = select(requesters.c.granted, requesters.c.spent, requesters.c.held).where(
    requesters.c.requester_id == bindparam("name")
)


def approve(
    tx: Transaction, assignment_id: str, *, requester_id: str, feedback: str | None, override: bool = False
) -> HitAssignment:
    """Approve an assignment and record the reward as owed; refuse if the budget does not cover it."""
    work, hit = _found(tx, assignment_id, requester_id)
    done = approved(work, feedback=feedback, override=override, now=tx.now)
    kind = repository.find_type(tx, hit.hit_type_id)
    cost = repository.price(tx, kind, hit.maximum)
    granted, spent, _ = budget_of(tx, requester_id)
    if spent + cost > granted:
        raise _insufficient_funds(f"approving assignment {assignment_id}", cost, granted - spent)
    _finish(tx, work, done, hit, kind, automatic=False)
    return done


def approve_by_time(tx: Transaction, work: HitAssignment, hit: HostedHit, kind: HitType) -> None:
    """Approve an assignment automatically; the reward is owed whatever the budget is."""
    at = work.auto_approval_at if work.auto_approval_at is not None else tx.now
    _finish(tx, work, approved(work, feedback=None, override=False, now=at), hit, kind, automatic=True)


def reject(tx: Transaction, assignment_id: str, *, requester_id: str, feedback: str) -> HitAssignment:
    """Reject an assignment, for which nothing is owed."""
    work, hit = _found(tx, assignment_id, requester_id)
    done = rejected(work, feedback=feedback, now=tx.now)
    repository.save_assignment(tx, work, done)
    repository.save_hit(tx, hit, reviewed(hit, tx.now), kind=repository.find_type(tx, hit.hit_type_id))
    repository.record_event(tx, "AssignmentRejected", hit, done)
    return done


def record_debt(
    tx: Transaction,
    kind: str,
    work: HitAssignment,
    *,
    cents: int,
    fee: int,
    reason: str | None = None,
    automatic: bool = False,
    at: float | None = None,
) -> None:
    """Record in the ledger what a requester owes a worker."""
    tx.insert(
        ledger,
        kind=kind,
        **{name: getattr(work, name) for name in ("requester_id", "worker_id", "hit_id", "assignment_id")},
        cents=cents,
        fee=fee,
        reason=reason,
        automatic=automatic,
        at=tx.now if at is None else at,
    )
    tx.connection.execute(repository.SPEND, {"whose": work.requester_id, "cents": cents + fee})


def check_funds(tx: Transaction, requester_id: str, cost: int, purpose: str) -> None:
    """Refuse a cost that a requester's budget does not cover beside the amount on hold."""
    granted, spent, held = budget_of(tx, requester_id)
    if cost > 0 and spent + held + cost > granted:
        raise _insufficient_funds(purpose, cost, granted - spent - held)


def budget_of(tx: Transaction, requester_id: str) -> tuple[int, int, int]:
    """Return what a requester was granted, has spent, and has on hold, in cents."""
    granted, spent, held = tx.connection.execute(BUDGET, {"name": requester_id}).one()
    return granted, spent, held


def _insufficient_funds(what: str, cost: int, available: int) -> Exception:
    return refused(
        "InsufficientFunds",
        f"{what} costs {format_money(cost)} US dollars with fees, and {format_money(available)} are available; "
        "the host of this endpoint grants more with `spa mturk fund`.",
    )


def _finish(
    tx: Transaction, work: HitAssignment, done: HitAssignment, hit: HostedHit, kind: HitType, *, automatic: bool
) -> None:
    repository.save_assignment(tx, work, done)
    if work.status == SUBMITTED:  # a rejection that is taken back was counted as completed before
        repository.save_hit(tx, hit, reviewed(hit, done.approved_at or tx.now), kind=kind)
    fee = repository.price(tx, kind, hit.maximum) - kind.reward
    record_debt(tx, "reward", done, cents=kind.reward, fee=fee, automatic=automatic, at=done.approved_at)
    repository.record_event(tx, "AssignmentApproved", hit, done)


def _found(tx: Transaction, assignment_id: str, requester_id: str) -> tuple[HitAssignment, HostedHit]:
    work = repository.find_assignment(tx, assignment_id, requester_id=requester_id)
    if work.submitted_at is None:  # held, returned or abandoned: not known to requesters
        raise does_not_exist("Assignment", assignment_id)
    hit = repository.find_hit(tx, work.hit_id)
    if hit.status == DISPOSED:
        why = f"HIT {hit.hit_id} is disposed of; its assignments cannot be reviewed any more."
        raise refused("InvalidHITState", why)
    return work, hit
