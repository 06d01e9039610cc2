"""The operations on submissions, bonuses and messages."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import Field, StrictStr
from sqlalchemy import Row, select

from prolific.emulator import bonuses, participant_groups, schema, studies, submission_review, submissions
from prolific.emulator.errors import EmulatorRequestError
from prolific.emulator.ids import iso_time, new_id
from prolific.emulator.request_transaction import RequestTransaction
from prolific.emulator.routing import RouteRequest, RouteResponse, Routes, paginate
from prolific.emulator.study_body import RequestBody

routes = Routes()
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


class ReturnBody(RequestBody):
    """Why a submission should be returned."""

    request_return_reasons: list[StrictStr]


class BonusBody(RequestBody):
    """A list of people and amounts."""

    study_id: StrictStr
    csv_bonuses: StrictStr


class MessageBody(RequestBody):
    """A message to one person."""

    recipient_id: StrictStr
    body: Annotated[StrictStr, Field(min_length=1)]
    study_id: StrictStr


class BulkMessageBody(RequestBody):
    """A message to several people."""

    ids: Annotated[list[StrictStr], Field(min_length=1)]
    body: Annotated[StrictStr, Field(min_length=1)]
    study_id: StrictStr


class GroupMessageBody(RequestBody):
    """A message to everybody in a group."""

    participant_group_id: StrictStr
    body: Annotated[StrictStr, Field(min_length=1)]
    study_id: StrictStr | None = None


@routes.add("GetSubmissions", "GET", "/api/v1/submissions/")
def list_submissions(tx: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """List submissions of all studies, or of those that the query asks for."""
    c = schema.submissions.c
    query = select(schema.submissions).where(c.listed_from <= tx.request)
    if "study" in call.query:
        query = query.where(c.study_id == studies.find(tx, call.query["study"]).id)
    status = call.query.get("status")
    if status is not None:
        if status not in STATUSES:
            raise EmulatorRequestError(400, {"status": [f"{status} is not one of {', '.join(STATUSES)}"]})
        query = query.where(c.status == STATUSES[status])
    for name, among in SWITCHES.items():
        wanted = call.boolean(name)
        if wanted is not None:
            query = query.where(c.status.in_(among) if wanted else c.status.not_in(among))
    if "submitted_from" in call.query:
        query = query.where(c.completed_at >= _day(call.query["submitted_from"], "submitted_from"))
    if "submitted_before" in call.query:
        query = query.where(c.completed_at < _day(call.query["submitted_before"], "submitted_before"))
    rows = tx.connection.execute(query.order_by(*_order(call))).all()
    return paginate(tx, call, rows, lambda row: submissions.shown_short(tx, row))


def _order(call: RouteRequest) -> Sequence[Any]:
    c = schema.submissions.c
    asked = call.query.get("ordering", "started_at")
    columns = {"started_at": c.started_at, "submission_reward": c.paid, "study_name": c.study_id}
    column = columns.get(asked.removeprefix("-"))
    if column is None:
        raise EmulatorRequestError(400, {"ordering": [f"{asked} is not one of {', '.join(columns)}"]})
    return (column.desc() if asked.startswith("-") else column, c.number)


def _day(text: str, name: str) -> float:
    try:
        return datetime.strptime(text, "%d/%m/%Y").replace(tzinfo=UTC).timestamp()
    except ValueError:
        raise EmulatorRequestError(400, {name: ["Enter a valid date, such as 31/12/2026."]}) from None


@routes.add("GetSubmission", "GET", "/api/v1/submissions/{id}/")
def show_submission(tx: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """Show a submission."""
    return RouteResponse(body=submissions.shown(tx, submissions.find(tx, call.path["id"])))


@routes.add("TransitionSubmission", "POST", "/api/v1/submissions/{id}/transition/")
def move_submission(tx: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """Approve, reject, complete or screen out."""
    row = submission_review.transition(tx, call.path["id"], call.read(submission_review.SubmissionTransitionBody))
    return RouteResponse(body=submissions.shown(tx, row))


@routes.add("RequestSubmissionReturn", "POST", "/api/v1/submissions/{id}/request-return/")
def request_return(tx: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """Ask somebody to return their submission."""
    row = submission_review.ask_to_return(tx, call.path["id"], call.read(ReturnBody).request_return_reasons)
    names = ("id", "status", "participant", "return_requested")
    shown = submissions.shown(tx, row)
    return RouteResponse(body={name: shown[name] for name in names})


@routes.add("BulkApproveSubmissions", "POST", "/api/v1/submissions/bulk-approve/")
def approve_in_bulk(tx: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """Take a list of submissions that are approved soon."""
    submission_review.ask_bulk_approval(tx, call.read(submission_review.BulkBody))
    return RouteResponse(body="The request to bulk approve has been made successfully.")


@routes.add("CreateBonusPayments", "POST", "/api/v1/submissions/bonus-payments/")
def set_up_bonuses(tx: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """Price a list of bonuses."""
    asked = call.read(BonusBody)
    return RouteResponse(status=201, body=bonuses.set_up(tx, asked.study_id, asked.csv_bonuses))


@routes.add("PayBonusPayments", "POST", "/api/v1/bulk-bonus-payments/{id}/pay/")
def pay_bonuses(tx: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """Pay a list of bonuses, however often it was paid before."""
    bonuses.pay(tx, call.path["id"])
    return RouteResponse(status=202, body="The bonuses will be paid.")


@routes.add("SendMessage", "POST", "/api/v1/messages/")
def send_message(tx: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """Send a message to somebody who took part."""
    asked = call.read(MessageBody)
    _send(tx, [asked.recipient_id], asked.body, asked.study_id)
    return RouteResponse(status=204)


@routes.add("BulkMessageParticipants", "POST", "/api/v1/messages/bulk/")
def send_messages(tx: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """Send a message to several people who took part."""
    asked = call.read(BulkMessageBody)
    _send(tx, asked.ids, asked.body, asked.study_id)
    return RouteResponse(status=204)


@routes.add("SendMessageToParticipantGroup", "POST", "/api/v1/messages/participant-group/")
def send_group_message(tx: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """Send a message to everybody in a group."""
    asked = call.read(GroupMessageBody)
    group = participant_groups.find(tx, asked.participant_group_id)
    people = [one["participant_id"] for one in participant_groups.members(tx, group.id)]
    _keep(tx, people, asked.body, asked.study_id)
    return RouteResponse(status=204)


@routes.add("GetMessages", "GET", "/api/v1/messages/")
def list_messages(tx: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """List messages, of one person where it is asked for."""
    c = schema.messages.c
    query = select(schema.messages).order_by(c.number)
    if "user_id" in call.query:
        query = query.where(c.recipient_id == call.query["user_id"])
    elif "created_after" not in call.query:
        raise EmulatorRequestError(400, {"user_id": ["expected user_id or created_after"]})
    rows = tx.connection.execute(query).all()
    return RouteResponse(body={"results": [_shown(row) for row in rows]})


@routes.add("GetUnreadMessages", "GET", "/api/v1/messages/unread/")
def list_unread_messages(tx: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """List messages from people; the emulated ones never write."""
    return RouteResponse(body={"results": []})


def _send(tx: RequestTransaction, people: Sequence[str], text: str, study_id: str) -> None:
    study = studies.find(tx, study_id)
    c = schema.submissions.c
    known = set(tx.connection.scalars(select(c.participant_id).where(c.study_id == study.id)))
    strangers = sorted(set(people) - known)
    if strangers:
        raise EmulatorRequestError(
            400, {"recipient_id": [f"{person} did not take part in this study" for person in strangers]}
        )
    _keep(tx, people, text, study.id)


def _keep(tx: RequestTransaction, people: Sequence[str], text: str, study_id: str | None) -> None:
    for person in people:
        tx.insert(schema.messages, id=new_id(), recipient_id=person, study_id=study_id, body=text, sent_at=tx.now)


def _shown(row: Row[tuple[object, ...]]) -> dict[str, object]:
    return {
        "id": row.id,
        "sender_id": "researcher",
        "body": row.body,
        "sent_at": iso_time(row.sent_at),
        "type": "MESSAGE",
        "channel_id": row.recipient_id,
        "data": {"study_id": row.study_id or ""},
    }
