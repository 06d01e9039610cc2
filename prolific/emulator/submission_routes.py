"""Operations on submissions, bonuses and messages."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import Field, StrictStr
from sqlalchemy import Row, select

from prolific.emulator import bonuses, participant_pool, schema, studies, submission_review, submissions
from prolific.emulator.errors import invalid
from prolific.emulator.request_transaction import RequestTransaction, fields, iso_time
from prolific.emulator.routing import Route, RouteRequest, paginate
from prolific.emulator.study_body import RequestBody

STATUSES = {status.replace(" ", "_"): status for status in (*submissions.STATUSES, "UNKNOWN")}
SWITCHES = {
    "completed": ("AWAITING REVIEW", "APPROVED", "PARTIALLY APPROVED", "REJECTED"),
    "returned": ("RETURNED",),
    "awaiting_review": ("AWAITING REVIEW",),
    "approved": ("APPROVED",),
    "active": ("ACTIVE",),
    "timeout": ("TIMED-OUT",),
    "rejected": ("REJECTED",),
    "screened_out": ("SCREENED OUT",),
    "completeoractive": ("ACTIVE", "AWAITING REVIEW", "APPROVED", "PARTIALLY APPROVED", "REJECTED"),
}
SUBMISSIONS, MESSAGES = "/api/v1/submissions/", "/api/v1/messages/"


class _ReturnBody(RequestBody):
    request_return_reasons: list[StrictStr]


class _BonusBody(RequestBody):
    study_id: StrictStr
    csv_bonuses: StrictStr


class _MessageBody(RequestBody):
    recipient_id: StrictStr
    body: Annotated[StrictStr, Field(min_length=1)]
    study_id: StrictStr


class _BulkMessageBody(RequestBody):
    ids: Annotated[list[StrictStr], Field(min_length=1)]
    body: Annotated[StrictStr, Field(min_length=1)]
    study_id: StrictStr


class _GroupMessageBody(RequestBody):
    participant_group_id: StrictStr
    body: Annotated[StrictStr, Field(min_length=1)]
    study_id: StrictStr | None = None


def _list(tx: RequestTransaction, call: RouteRequest) -> Any:
    c, asked = schema.submissions.c, call.query
    query = select(schema.submissions).where(c.listed_from <= tx.request)
    if "study" in asked:
        query = query.where(c.study_id == studies.find(tx, asked["study"]).id)
    if "status" in asked:
        if asked["status"] not in STATUSES:
            raise invalid(status=f"{asked['status']} is not one of {', '.join(STATUSES)}")
        query = query.where(c.status == STATUSES[asked["status"]])
    for name, among in SWITCHES.items():
        switched_on = call.boolean(name)
        if switched_on is not None:
            query = query.where(c.status.in_(among) if switched_on else c.status.not_in(among))
    if "submitted_from" in asked:
        query = query.where(c.completed_at >= _day(call, "submitted_from"))
    if "submitted_before" in asked:
        query = query.where(c.completed_at < _day(call, "submitted_before"))
    rows = tx.connection.execute(query.order_by(*_order(call))).all()
    return paginate(tx, call, rows, submissions.list_entry)


def _order(call: RouteRequest) -> Sequence[Any]:
    c = schema.submissions.c
    asked = call.query.get("ordering", "started_at")
    columns = {"started_at": c.started_at, "submission_reward": c.paid, "study_name": c.study_id}
    column = columns.get(asked.removeprefix("-"))
    if column is None:
        raise invalid(ordering=f"{asked} is not one of {', '.join(columns)}")
    return (column.desc() if asked.startswith("-") else column, c.number)


def _day(call: RouteRequest, name: str) -> float:
    try:
        return datetime.strptime(call.query[name], "%d/%m/%Y").replace(tzinfo=UTC).timestamp()
    except ValueError:
        raise invalid(**{name: "Enter a valid date, such as 31/12/2026."}) from None


def _show(tx: RequestTransaction, call: RouteRequest) -> Any:
    return submissions.representation(tx, submissions.find(tx, call.path["id"]))


def _move(tx: RequestTransaction, call: RouteRequest) -> Any:
    asked = call.read(submission_review.SubmissionTransitionBody)
    return submissions.representation(tx, submission_review.transition(tx, call.path["id"], asked))


def _request_return(tx: RequestTransaction, call: RouteRequest) -> Any:
    row = submission_review.ask_to_return(tx, call.path["id"], call.read(_ReturnBody).request_return_reasons)
    shown = submissions.representation(tx, row)
    return {name: shown[name] for name in ("id", "status", "participant", "return_requested")}


def _approve_in_bulk(tx: RequestTransaction, call: RouteRequest) -> str:
    submission_review.ask_bulk_approval(tx, call.read(submission_review.BulkBody))
    return "The request to bulk approve has been made successfully."


def _set_up_bonuses(tx: RequestTransaction, call: RouteRequest) -> Any:
    asked = call.read(_BonusBody)
    return bonuses.set_up(tx, asked.study_id, asked.csv_bonuses)


def _pay_bonuses(tx: RequestTransaction, call: RouteRequest) -> str:
    bonuses.pay(tx, call.path["id"])
    return "The bonuses will be paid."


def _send_message(tx: RequestTransaction, call: RouteRequest) -> None:
    asked = call.read(_MessageBody)
    _send(tx, [asked.recipient_id], asked.body, asked.study_id)


def _send_messages(tx: RequestTransaction, call: RouteRequest) -> None:
    asked = call.read(_BulkMessageBody)
    _send(tx, asked.ids, asked.body, asked.study_id)


def _send_group_message(tx: RequestTransaction, call: RouteRequest) -> None:
    asked = call.read(_GroupMessageBody)
    group = participant_pool.find_group(tx, asked.participant_group_id)
    people = [one["participant_id"] for one in participant_pool.group_members(tx, group.id)]
    _keep(tx, people, asked.body, asked.study_id)


def _list_messages(tx: RequestTransaction, call: RouteRequest) -> Any:
    conditions = []
    if "user_id" in call.query:
        conditions.append(schema.messages.c.recipient_id == call.query["user_id"])
    elif "created_after" not in call.query:
        raise invalid(user_id="expected user_id or created_after")
    return {"results": [_message(row) for row in tx.rows(schema.messages, *conditions)]}


def _send(tx: RequestTransaction, people: Sequence[str], text: str, study_id: str) -> None:
    study = studies.find(tx, study_id)
    unknown = sorted(set(people) - participant_pool.took_part(tx, [study.id]))
    if unknown:
        raise invalid(recipient_id=[f"{person} did not take part in this study" for person in unknown])
    _keep(tx, people, text, study.id)


def _keep(tx: RequestTransaction, people: Sequence[str], text: str, study_id: str | None) -> None:
    for person in people:
        tx.insert(schema.messages, recipient_id=person, study_id=study_id, body=text, sent_at=tx.now)


def _message(row: Row[Any]) -> dict[str, object]:
    return {
        **fields(row, "id", "body"),
        "sender_id": "researcher",
        "sent_at": iso_time(row.sent_at),
        "type": "MESSAGE",
        "channel_id": row.recipient_id,
        "data": {"study_id": row.study_id or ""},
    }


ROUTES = (
    Route("GetSubmissions", "GET", SUBMISSIONS, _list),
    Route("GetSubmission", "GET", SUBMISSIONS + "{id}/", _show),
    Route("TransitionSubmission", "POST", SUBMISSIONS + "{id}/transition/", _move),
    Route("RequestSubmissionReturn", "POST", SUBMISSIONS + "{id}/request-return/", _request_return),
    Route("BulkApproveSubmissions", "POST", SUBMISSIONS + "bulk-approve/", _approve_in_bulk),
    Route("CreateBonusPayments", "POST", SUBMISSIONS + "bonus-payments/", _set_up_bonuses, 201),
    Route("PayBonusPayments", "POST", "/api/v1/bulk-bonus-payments/{id}/pay/", _pay_bonuses, 202),
    Route("SendMessage", "POST", MESSAGES, _send_message, 204),
    Route("BulkMessageParticipants", "POST", MESSAGES + "bulk/", _send_messages, 204),
    Route("SendMessageToParticipantGroup", "POST", MESSAGES + "participant-group/", _send_group_message, 204),
    Route("GetMessages", "GET", MESSAGES, _list_messages),
    # the emulated participants never write
    Route("GetUnreadMessages", "GET", MESSAGES + "unread/", lambda tx, call: {"results": []}),
)
