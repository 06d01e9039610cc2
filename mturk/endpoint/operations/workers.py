"""Blocks of workers, messages to them, bonuses and the balance. Bonuses are recorded in the ledger, not transferred."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Row, delete, func, select

from mturk.endpoint.assignments import APPROVED, REJECTED
from mturk.endpoint.errors import does_not_exist, invalid, refused
from mturk.endpoint.money import bonus_fee, format_money, parse_money
from mturk.endpoint.operations.call import Answer, OperationCall, one_page, refuse_duplicate, remember
from mturk.endpoint.review import budget_of, check_funds, record_debt
from mturk.endpoint.schema import assignments, blocks, ledger, messages, workers

MOST_BLOCKS = 100_000
MOST_LISTED = 100  # workers a call
ACQUAINTED = 183 * 86_400.0  # seconds after submission in which a bonus may be paid


def check_worker(call: OperationCall, worker_id: str) -> None:
    """Refuse the id of a worker who does not exist."""
    if call.tx.connection.scalar(select(workers.c.number).where(workers.c.worker_id == worker_id)) is None:
        raise invalid("WorkerId", f'The value "{worker_id}" is not valid for the parameter WorkerId: no such worker.')


def create_block(call: OperationCall) -> Answer:
    """Block a worker from this requester's HITs; only the requester sees the reason."""
    worker_id, reason = call.parameters["WorkerId"], call.parameters["Reason"]
    check_worker(call, worker_id)
    own = blocks.c.requester_id == call.requester_id
    if call.tx.update(blocks, own, blocks.c.worker_id == worker_id, reason=reason):
        return {}
    count = call.tx.connection.scalar(select(func.count()).select_from(blocks).where(own))
    if (count or 0) >= MOST_BLOCKS:
        raise refused("TooManyBlocks", f"At most {MOST_BLOCKS} workers can be blocked.")
    call.tx.insert(blocks, requester_id=call.requester_id, worker_id=worker_id, reason=reason, at=call.now)
    return {}


def delete_block(call: OperationCall) -> Answer:
    """Remove a worker's block, if there is one."""
    worker_id = call.parameters["WorkerId"]
    check_worker(call, worker_id)
    own = (blocks.c.requester_id == call.requester_id, blocks.c.worker_id == worker_id)
    call.tx.connection.execute(delete(blocks).where(*own))
    return {}


def list_blocks(call: OperationCall) -> Answer:
    """List blocked workers."""
    query = select(blocks).where(blocks.c.requester_id == call.requester_id)
    return one_page(call, "WorkerBlocks", query, blocks.c.number, _write_block)


def notify_workers(call: OperationCall) -> Answer:
    """Send a message to workers whose work this requester has reviewed; they read it on the worker site."""
    given = call.parameters
    worker_ids = list(dict.fromkeys(given["WorkerIds"]))
    if not 1 <= len(worker_ids) <= MOST_LISTED:
        raise invalid("WorkerIds", f"expected 1 to {MOST_LISTED} workers, got {len(worker_ids)}")
    c = assignments.c
    reviewed = (c.requester_id == call.requester_id, c.worker_id.in_(worker_ids), c.status.in_((APPROVED, REJECTED)))
    known = set(call.tx.connection.scalars(select(c.worker_id).where(*reviewed).distinct()))
    failure = {
        "NotifyWorkersFailureCode": "HardFailure",
        "NotifyWorkersFailureMessage": "You have neither approved nor rejected work of this worker.",
    }
    failures = []
    for worker_id in worker_ids:
        if worker_id in known:
            leave_message(call, worker_id, given["Subject"], given["MessageText"])
        else:
            failures.append({**failure, "WorkerId": worker_id})
    return {"NotifyWorkersFailureStatuses": failures}


def leave_message(call: OperationCall, worker_id: str, subject: str, body: str) -> None:
    """Send a message that a worker reads on the worker site."""
    people = {"requester_id": call.requester_id, "worker_id": worker_id}
    call.tx.insert(messages, **people, subject=subject, body=body, sent_at=call.now)


def _write_block(row: Row[Any]) -> Answer:
    return {"WorkerId": row.worker_id, "Reason": row.reason}


def get_balance(call: OperationCall) -> Answer:
    """Return the amount that may be spent, and the amount on hold for unfinished HITs."""
    granted, spent, held = budget_of(call.tx, call.requester_id)
    available = granted - spent - held
    return {"AvailableBalance": format_money(max(0, available)), "OnHoldBalance": format_money(held)}


def send_bonus(call: OperationCall) -> Answer:
    """Record a bonus for a worker."""
    given, tx = call.parameters, call.tx
    refuse_duplicate(call, "bonus")
    cents = parse_money(given["BonusAmount"], "BonusAmount")
    if cents == 0:
        raise invalid("BonusAmount", "expected more than nothing")
    work = call.assignment()
    if work.submitted_at is None:
        raise does_not_exist("Assignment", work.assignment_id)
    if work.worker_id != given["WorkerId"]:
        raise invalid("WorkerId", f"Assignment {work.assignment_id} is not of worker {given['WorkerId']}")
    if work.submitted_at < call.now - ACQUAINTED:
        raise refused("InvalidAssignmentState", f"Assignment {work.assignment_id} was submitted over six months ago.")
    fee = bonus_fee(cents, rules=tx.rules.fees)
    check_funds(tx, call.requester_id, cents + fee, "this bonus")
    record_debt(tx, "bonus", work, cents=cents, fee=fee, reason=given["Reason"])
    remember(call, "bonus", work.assignment_id)
    return {}


def list_bonuses(call: OperationCall) -> Answer:
    """List bonuses of an assignment or of all assignments of a HIT."""
    query = select(ledger).where(ledger.c.requester_id == call.requester_id, ledger.c.kind == "bonus")
    if not {"AssignmentId", "HITId"} & call.parameters.keys():
        raise invalid("HITId", "expected it or AssignmentId, got neither")
    if "AssignmentId" in call.parameters:
        query = query.where(ledger.c.assignment_id == call.assignment().assignment_id)
    if "HITId" in call.parameters:
        query = query.where(ledger.c.hit_id == call.hit().hit_id)
    return one_page(call, "BonusPayments", query, ledger.c.number, _write)


def _write(row: Row[Any]) -> Answer:
    return {
        "WorkerId": row.worker_id,
        "BonusAmount": format_money(row.cents),
        "AssignmentId": row.assignment_id,
        "Reason": row.reason,
        "GrantTime": row.at,
    }
