"""Screening people out with a payment: an endpoint that programs use and the published description leaves out."""

from __future__ import annotations

from decimal import Decimal
from statistics import median
from typing import Annotated, Any

from pydantic import Field, StrictBool, StrictStr
from sqlalchemy import insert

from prolific.emulator import schema, studies, submissions, wallet
from prolific.emulator.errors import EmulatorRequestError
from prolific.emulator.fees import payment
from prolific.emulator.ids import new_id
from prolific.emulator.request_transaction import RequestTransaction, save_row
from prolific.emulator.study_body import RequestBody

HOUR = 3600


class ScreenOutBody(RequestBody):
    """Whom to screen out, and what each gets, in whole units with decimals."""

    submission_ids: Annotated[list[StrictStr], Field(min_length=1)]
    bonus_per_submission: Annotated[Decimal, Field(ge=0)]
    increase_places: StrictBool = False


def screen_out_with_bonus(tx: RequestTransaction, study_id: str, asked: ScreenOutBody) -> dict[str, Any]:
    """Screen people out and pay them; refuse an amount that is too small for the time they took."""
    study = studies.find(tx, study_id)
    rows = [submissions.find(tx, one) for one in asked.submission_ids]
    strangers = [row.id for row in rows if row.study_id != study.id or row.status != "AWAITING REVIEW"]
    if strangers:
        raise EmulatorRequestError(
            400, {"submission_ids": [f"{one} does not wait for a review here" for one in strangers]}
        )
    cents = int(asked.bonus_per_submission * 100)
    seconds = median(submissions.seconds_taken(row) or 0 for row in rows)
    least = tx.behaviour.minimum_hourly * seconds / HOUR
    if cents < least:
        raise EmulatorRequestError(
            400, {"bonus_per_submission": [f"expected {least / 100:.2f} or more for the median time"]}
        )
    wallet.require(tx, study.workspace_id, payment(cents, tx.behaviour).times(len(rows)).total)
    bonus_id = new_id()
    tx.connection.execute(
        insert(schema.bonuses).values(
            id=bonus_id, study_id=study.id, rows=[[row.id, cents] for row in rows], created_at=tx.now
        )
    )
    for row in rows:
        tx.connection.execute(
            insert(schema.bonus_payments).values(
                bonus_id=bonus_id, submission_id=row.id, cents=cents, asked_at=tx.now, paid_at=tx.now
            )
        )
        save_row(tx.connection, schema.submissions, row.id, reviewed_at=tx.now)
        submissions.set_status(tx, row, "SCREENED OUT")
    if asked.increase_places:
        places = study.body["total_available_places"] + len(rows)
        studies.change(tx, study.id, {"total_available_places": places})
    return {"message": "The request to screen out submissions has been made successfully."}
