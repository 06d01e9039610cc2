"""Bonuses in two steps: a list that is checked and priced, and its payment, which is repeated whenever it is asked."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import Any

from sqlalchemy import insert, select, update

from prolific.emulator import schema, studies, wallet
from prolific.emulator.background_jobs import schedule_job
from prolific.emulator.errors import EmulatorRequestError, not_found
from prolific.emulator.fees import Cost, number, payment
from prolific.emulator.ids import new_id
from prolific.emulator.request_transaction import RequestTransaction


def set_up(tx: RequestTransaction, study_id: str, csv_bonuses: str) -> dict[str, Any]:
    """Check a list of people and amounts, and say what paying it will cost. Nothing is paid."""
    study = studies.find(tx, study_id)
    rows = [_read_line(tx, study.id, line) for line in csv_bonuses.splitlines() if line.strip()]
    if not rows:
        raise EmulatorRequestError(400, {"csv_bonuses": ["This field may not be blank."]})
    wrong = [line for line, read in rows if read is None]
    if wrong:
        raise EmulatorRequestError(
            400, {"csv_bonuses": [f"not part of this study, or no amount: {line}" for line in wrong]}
        )
    kept = [read for _, read in rows if read is not None]
    bonus_id = new_id()
    tx.connection.execute(insert(schema.bonuses).values(id=bonus_id, study_id=study.id, rows=kept, created_at=tx.now))
    cost = _cost(tx, kept)
    return {
        "id": bonus_id,
        "study": study.id,
        "amount": number(cost.rewards),
        "fees": number(cost.fees),
        "vat": number(cost.vat),
        "total_amount": number(cost.total),
    }


def _read_line(tx: RequestTransaction, study_id: str, line: str) -> tuple[str, tuple[str, int] | None]:
    """Return a line beside its submission and its cents; the amount is in whole units, with decimals."""
    who, comma, amount = (part.strip() for part in line.partition(","))
    try:
        cents = Decimal(amount) * 100
    except InvalidOperation:
        return line, None
    if not comma or not cents.is_finite() or cents <= 0 or cents != cents.to_integral_value():
        return line, None
    c = schema.submissions.c
    found = tx.connection.scalar(
        select(c.id)
        .where(c.study_id == study_id, (c.id == who) | (c.participant_id == who))
        .order_by(c.number.desc())
        .limit(1)
    )
    return line, None if found is None else (found, int(cents))


def pay(tx: RequestTransaction, bonus_id: str) -> None:
    """Promise to pay a list, once more for every time that it is asked: the platform does not notice a repeat."""
    bonus = tx.connection.execute(select(schema.bonuses).where(schema.bonuses.c.id == bonus_id)).one_or_none()
    if bonus is None:
        raise not_found("Bulk bonus payment", bonus_id)
    study = studies.find(tx, bonus.study_id)
    wallet.require(tx, study.workspace_id, _cost(tx, bonus.rows).total)
    numbers = [
        tx.connection.execute(
            insert(schema.bonus_payments).values(
                bonus_id=bonus.id, submission_id=submission_id, cents=cents, asked_at=tx.now
            )
        ).inserted_primary_key
        for submission_id, cents in bonus.rows
    ]
    schedule_job(tx, "pay", [key[0] for key in numbers if key is not None])


def carry_out(tx: RequestTransaction, numbers: list[int]) -> None:
    """Pay what was promised."""
    c = schema.bonus_payments.c
    tx.connection.execute(update(schema.bonus_payments).where(c.number.in_(numbers)).values(paid_at=tx.now))


def _cost(tx: RequestTransaction, rows: list[Any]) -> Cost:
    return sum((payment(cents, tx.behaviour) for _, cents in rows), Cost())
