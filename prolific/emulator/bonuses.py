"""Bonuses, which are set up and then paid as often as that is requested; and screening out with a payment."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from statistics import median
from typing import Annotated, Any

from pydantic import Field, StrictBool, StrictStr
from sqlalchemy import select, update

from prolific.emulator import schema, studies, submissions, wallet
from prolific.emulator.errors import invalid
from prolific.emulator.request_transaction import RequestTransaction
from prolific.emulator.study_body import RequestBody
from prolific.emulator.wallet import Cost, number, payment

HOUR = 3600


class ScreenOutBody(RequestBody):
    """Submissions to screen out, and the bonus of each, in major units."""

    submission_ids: Annotated[list[StrictStr], Field(min_length=1)]
    bonus_per_submission: Annotated[Decimal, Field(ge=0)]
    increase_places: StrictBool = False


def set_up(tx: RequestTransaction, study_id: str, csv_bonuses: str) -> dict[str, Any]:
    """Set up a batch of bonuses from a list of recipients and amounts, and return its cost. Nothing is paid."""
    study = studies.find(tx, study_id)
    rows = [_read_line(tx, study.id, line) for line in csv_bonuses.splitlines() if line.strip()]
    if not rows:
        raise invalid(csv_bonuses="This field may not be blank.")
    wrong = [line for line, read in rows if read is None]
    if wrong:
        raise invalid(csv_bonuses=[f"not part of this study, or no amount: {line}" for line in wrong])
    payments = [read for _, read in rows if read is not None]
    cost = _cost(tx, payments)
    return {
        "id": tx.insert(schema.bonuses, study_id=study.id, rows=payments, created_at=tx.now).id,
        "study": study.id,
        "amount": number(cost.rewards),
        "fees": number(cost.fees),
        "vat": number(cost.vat),
        "total_amount": number(cost.total),
    }


def _read_line(tx: RequestTransaction, study_id: str, line: str) -> tuple[str, tuple[str, int] | None]:
    """Parse a line of recipient and amount in major units: the line, its submission and its cents."""
    who, comma, amount = (part.strip() for part in line.partition(","))
    try:
        cents = Decimal(amount) * 100
    except InvalidOperation:
        return line, None
    if not comma or not cents.is_finite() or cents <= 0 or cents != cents.to_integral_value():
        return line, None
    c = schema.submissions.c
    own = (c.study_id == study_id, (c.id == who) | (c.participant_id == who))
    found = tx.connection.scalar(select(c.id).where(*own).order_by(c.number.desc()).limit(1))
    return line, None if found is None else (found, int(cents))


def pay(tx: RequestTransaction, bonus_id: str) -> None:
    """Schedule the payment of a batch; like the platform, this does not notice a repeat and pays again."""
    bonus = tx.find(schema.bonuses, bonus_id, "Bulk bonus payment")
    study = studies.find(tx, bonus.study_id)
    wallet.require(tx, study.workspace_id, _cost(tx, bonus.rows).total)
    facts = {"bonus_id": bonus.id, "asked_at": tx.now}
    payments = [
        tx.insert(schema.bonus_payments, **facts, submission_id=submission_id, cents=cents)
        for submission_id, cents in bonus.rows
    ]
    tx.schedule("pay", [payment.number for payment in payments])


def mark_paid(tx: RequestTransaction, numbers: list[int]) -> None:
    """Mark payments as paid."""
    c = schema.bonus_payments.c
    tx.connection.execute(update(schema.bonus_payments).where(c.number.in_(numbers)).values(paid_at=tx.now))


def _cost(tx: RequestTransaction, rows: list[Any]) -> Cost:
    return sum((payment(cents, tx.behaviour) for _, cents in rows), Cost())


def screen_out_with_bonus(tx: RequestTransaction, study_id: str, asked: ScreenOutBody) -> dict[str, Any]:
    """Screen submissions out with a bonus; refuse one that is too small for the median time."""
    study = studies.find(tx, study_id)
    rows = [submissions.find(tx, one) for one in asked.submission_ids]
    wrong = [row.id for row in rows if row.study_id != study.id or row.status != "AWAITING REVIEW"]
    if wrong:
        raise invalid(submission_ids=[f"{one} does not wait for a review here" for one in wrong])
    cents = int(asked.bonus_per_submission * 100)
    seconds = median(submissions.seconds_taken(row) or 0 for row in rows)
    least = tx.behaviour.minimum_hourly * seconds / HOUR
    if cents < least:
        raise invalid(bonus_per_submission=f"expected {least / 100:.2f} or more for the median time")
    wallet.require(tx, study.workspace_id, payment(cents, tx.behaviour).times(len(rows)).total)
    payments = [[row.id, cents] for row in rows]
    bonus = tx.insert(schema.bonuses, study_id=study.id, rows=payments, created_at=tx.now)
    facts = {"bonus_id": bonus.id, "cents": cents, "asked_at": tx.now, "paid_at": tx.now}
    for row in rows:
        tx.insert(schema.bonus_payments, submission_id=row.id, **facts)
        tx.update(schema.submissions, row.id, reviewed_at=tx.now)
        submissions.set_status(tx, row, "SCREENED OUT")
    if asked.increase_places:
        places = study.body["total_available_places"] + len(rows)
        studies.change(tx, study.id, {"total_available_places": places})
    return {"message": "The request to screen out submissions has been made successfully."}
