"""Approving and rejecting, and what is owed thereby."""

from __future__ import annotations

from sqlalchemy import bindparam, insert, select, update

from mturk.endpoint.assignments import SUBMITTED, HitAssignment, approved, rejected
from mturk.endpoint.events import tell
from mturk.endpoint.hits import DISPOSED, HitType, HostedHit, reviewed
from mturk.endpoint.moment import Moment
from mturk.endpoint.money import format_money
from mturk.endpoint.refusals import absent, refused
from mturk.endpoint.rows import find_assignment, find_hit, find_type, price, save_assignment, save_hit
from mturk.endpoint.schema import ledger, requesters

BUDGET = select(requesters.c.granted, requesters.c.spent, requesters.c.held).where(
    requesters.c.requester_id == bindparam("name")
)
SPEND = (
    update(requesters)
    .where(requesters.c.requester_id == bindparam("whose"))
    .values(spent=requesters.c.spent + bindparam("cents"))
)


def approve(
    moment: Moment, assignment_id: str, *, requester_id: str, feedback: str | None, override: bool = False
) -> HitAssignment:
    """Approve an assignment: its reward is owed from now on.

    Raises
    ------
    Refusal
        If it is not this requester's, its state does not allow it, or the budget does not reach.
    """
    work, hit = _found(moment, assignment_id, requester_id)
    done = approved(work, feedback=feedback, override=override, now=moment.now)
    kind = find_type(moment, hit.hit_type_id)
    cost = price(moment, kind, hit.maximum)
    granted, spent, _ = budget_of(moment, requester_id)
    if spent + cost > granted:
        raise short_of_money(f"approving assignment {assignment_id}", cost, granted - spent)
    _finish(moment, work, done, hit, kind, automatic=False)
    return done


def approve_by_time(moment: Moment, work: HitAssignment, hit: HostedHit, kind: HitType) -> None:
    """Approve an assignment that nobody reviewed in time; it is owed whatever the budget is."""
    at = work.auto_approval_at if work.auto_approval_at is not None else moment.now
    _finish(moment, work, approved(work, feedback=None, override=False, now=at), hit, kind, automatic=True)


def reject(moment: Moment, assignment_id: str, *, requester_id: str, feedback: str) -> HitAssignment:
    """Reject an assignment: nothing is owed for it.

    Raises
    ------
    Refusal
        If it is not this requester's, or its state does not allow it.
    """
    work, hit = _found(moment, assignment_id, requester_id)
    done = rejected(work, feedback=feedback, now=moment.now)
    save_assignment(moment, work, done)
    save_hit(moment, hit, reviewed(hit, moment.now), kind=find_type(moment, hit.hit_type_id))
    tell(moment, "AssignmentRejected", hit, done)
    return done


def owe(
    moment: Moment,
    kind: str,
    work: HitAssignment,
    *,
    cents: int,
    fee: int,
    reason: str | None = None,
    automatic: bool = False,
    at: float | None = None,
) -> None:
    """Write down what a requester owes a worker."""
    moment.connection.execute(
        insert(ledger).values(
            kind=kind,
            requester_id=work.requester_id,
            worker_id=work.worker_id,
            hit_id=work.hit_id,
            assignment_id=work.assignment_id,
            cents=cents,
            fee=fee,
            reason=reason,
            automatic=automatic,
            at=moment.now if at is None else at,
        )
    )
    moment.connection.execute(SPEND, {"whose": work.requester_id, "cents": cents + fee})


def budget_of(moment: Moment, requester_id: str) -> tuple[int, int, int]:
    """Return what a requester was granted, has spent, and what their HITs bind, cents."""
    granted, spent, held = moment.connection.execute(BUDGET, {"name": requester_id}).one()
    return granted, spent, held


def short_of_money(what: str, wanted: int, there: int) -> Exception:
    """Return the error of a budget that does not reach."""
    return refused(
        "InsufficientFunds",
        f"{what} costs {format_money(wanted)} US dollars with fees, and {format_money(there)} are available; "
        "the host of this endpoint grants more with `spa mturk fund`.",
    )


def _finish(
    moment: Moment, work: HitAssignment, done: HitAssignment, hit: HostedHit, kind: HitType, *, automatic: bool
) -> None:
    save_assignment(moment, work, done)
    if work.status == SUBMITTED:  # a rejection that is taken back was counted as completed before
        save_hit(moment, hit, reviewed(hit, done.approved_at or moment.now), kind=kind)
    fee = price(moment, kind, hit.maximum) - kind.reward
    owe(moment, "reward", done, cents=kind.reward, fee=fee, automatic=automatic, at=done.approved_at)
    tell(moment, "AssignmentApproved", hit, done)


def _found(moment: Moment, assignment_id: str, requester_id: str) -> tuple[HitAssignment, HostedHit]:
    work = find_assignment(moment, assignment_id, requester_id=requester_id)
    if work.submitted_at is None:  # held, returned or abandoned: not known to requesters
        raise absent("Assignment", assignment_id)
    hit = find_hit(moment, work.hit_id)
    if hit.status == DISPOSED:
        raise refused(
            "InvalidHITState", f"HIT {hit.hit_id} is disposed of; its assignments cannot be reviewed any more."
        )
    return work, hit
