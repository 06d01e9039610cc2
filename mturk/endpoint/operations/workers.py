"""Blocks of workers and messages to them."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Row, delete, func, select

from mturk.endpoint.assignments import APPROVED, REJECTED
from mturk.endpoint.errors import invalid, refused
from mturk.endpoint.operations.call import Answer, OperationCall, one_page
from mturk.endpoint.schema import assignments, blocks, messages, workers

MOST_BLOCKS = 100_000
MOST_TOLD = 100  # workers a call


def check_worker(call: OperationCall, worker_id: str) -> None:
    """Check that there is such a worker."""
    if call.tx.connection.scalar(select(workers.c.number).where(workers.c.worker_id == worker_id)) is None:
        raise invalid("WorkerId", f'The value "{worker_id}" is not valid for the parameter WorkerId: no such worker.')


def create_block(call: OperationCall) -> Answer:
    """Keep a worker from this requester's HITs; the reason is the requester's own note."""
    worker_id, reason = call.given["WorkerId"], call.given["Reason"]
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
    """Let a worker do this requester's HITs again; one who is not blocked stays so."""
    worker_id = call.given["WorkerId"]
    check_worker(call, worker_id)
    own = (blocks.c.requester_id == call.requester_id, blocks.c.worker_id == worker_id)
    call.tx.connection.execute(delete(blocks).where(*own))
    return {}


def list_blocks(call: OperationCall) -> Answer:
    """List blocked workers."""
    query = select(blocks).where(blocks.c.requester_id == call.requester_id)
    return one_page(call, "WorkerBlocks", query, blocks.c.number, _write_block)


def notify_workers(call: OperationCall) -> Answer:
    """Leave a message on the site of each worker whose work this requester has approved or rejected."""
    given = call.given
    wanted = list(dict.fromkeys(given["WorkerIds"]))
    if not 1 <= len(wanted) <= MOST_TOLD:
        raise invalid("WorkerIds", f"expected 1 to {MOST_TOLD} workers, got {len(wanted)}")
    c = assignments.c
    reviewed = (c.requester_id == call.requester_id, c.worker_id.in_(wanted), c.status.in_((APPROVED, REJECTED)))
    known = set(call.tx.connection.scalars(select(c.worker_id).where(*reviewed).distinct()))
    failure = {
        "NotifyWorkersFailureCode": "HardFailure",
        "NotifyWorkersFailureMessage": "You have neither approved nor rejected work of this worker.",
    }
    failures = []
    for worker_id in wanted:
        if worker_id in known:
            leave_message(call, worker_id, given["Subject"], given["MessageText"])
        else:
            failures.append({**failure, "WorkerId": worker_id})
    return {"NotifyWorkersFailureStatuses": failures}


def leave_message(call: OperationCall, worker_id: str, subject: str, body: str) -> None:
    """Leave a message on a worker's site."""
    people = {"requester_id": call.requester_id, "worker_id": worker_id}
    call.tx.insert(messages, **people, subject=subject, body=body, sent_at=call.now)


def _write_block(row: Row[Any]) -> Answer:
    return {"WorkerId": row.worker_id, "Reason": row.reason}
