"""The budget and bonuses. Nothing moves money: the ledger says what is owed."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Row, select

from mturk.endpoint.errors import does_not_exist, invalid, refused
from mturk.endpoint.money import bonus_fee, format_money, parse_money
from mturk.endpoint.operations.call import Answer, OperationCall, one_page, refuse_duplicate, remember
from mturk.endpoint.review import budget_of, check_funds, record_debt
from mturk.endpoint.schema import ledger

ACQUAINTED = 183 * 86_400.0  # seconds; whoever did nothing for a requester in six months gets no bonus


def get_balance(call: OperationCall) -> Answer:
    """Return what may be spent yet, and what HITs that are not finished bind."""
    granted, spent, held = budget_of(call.tx, call.requester_id)
    available = granted - spent - held
    return {"AvailableBalance": format_money(max(0, available)), "OnHoldBalance": format_money(held)}


def send_bonus(call: OperationCall) -> Answer:
    """Owe a worker something beyond the reward."""
    given, tx = call.given, call.tx
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
    if not {"AssignmentId", "HITId"} & call.given.keys():
        raise invalid("HITId", "expected it or AssignmentId, got neither")
    if "AssignmentId" in call.given:
        query = query.where(ledger.c.assignment_id == call.assignment().assignment_id)
    if "HITId" in call.given:
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
