"""The operations on submissions, bonuses and messages."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import Field, StrictStr
from sqlalchemy import Row, insert, select

from prolific.emulator import bonuses, groups, reviewing, schema, studies, submissions
from prolific.emulator.calls import RouteRequest, RouteResponse, Routes, page_of
from prolific.emulator.ids import moment, new_id
from prolific.emulator.refusals import EmulatorRequestError
from prolific.emulator.request_transaction import RequestTransaction
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
def list_submissions(turn: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """List submissions of all studies, or of those that the query asks for."""
    c = schema.submissions.c
    query = select(schema.submissions).where(c.listed_from <= turn.request)
    if "study" in call.query:
        query = query.where(c.study_id == studies.find(turn, call.query["study"]).id)
    status = call.query.get("status")
    if status is not None:
        if status not in STATUSES:
            raise EmulatorRequestError(400, {"status": [f"{status} is not one of {', '.join(STATUSES)}"]})
        query = query.where(c.status == STATUSES[status])
    for name, among in SWITCHES.items():
        wanted = call.yes(name)
        if wanted is not None:
            query = query.where(c.status.in_(among) if wanted else c.status.not_in(among))
    if "submitted_from" in call.query:
        query = query.where(c.completed_at >= _day(call.query["submitted_from"], "submitted_from"))
    if "submitted_before" in call.query:
        query = query.where(c.completed_at < _day(call.query["submitted_before"], "submitted_before"))
    rows = turn.connection.execute(query.order_by(*_order(call))).all()
    return page_of(turn, call, rows, lambda row: submissions.shown_short(turn, row))


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
def show_submission(turn: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """Show a submission."""
    return RouteResponse(body=submissions.shown(turn, submissions.find(turn, call.path["id"])))


@routes.add("TransitionSubmission", "POST", "/api/v1/submissions/{id}/transition/")
def move_submission(turn: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """Approve, reject, complete or screen out."""
    row = reviewing.transition(turn, call.path["id"], call.read(reviewing.SubmissionTransitionBody))
    return RouteResponse(body=submissions.shown(turn, row))


@routes.add("RequestSubmissionReturn", "POST", "/api/v1/submissions/{id}/request-return/")
def request_return(turn: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """Ask somebody to return their submission."""
    row = reviewing.ask_to_return(turn, call.path["id"], call.read(ReturnBody).request_return_reasons)
    names = ("id", "status", "participant", "return_requested")
    shown = submissions.shown(turn, row)
    return RouteResponse(body={name: shown[name] for name in names})


@routes.add("BulkApproveSubmissions", "POST", "/api/v1/submissions/bulk-approve/")
def approve_in_bulk(turn: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """Take a list of submissions that are approved soon."""
    reviewing.ask_bulk_approval(turn, call.read(reviewing.BulkBody))
    return RouteResponse(body="The request to bulk approve has been made successfully.")


@routes.add("CreateBonusPayments", "POST", "/api/v1/submissions/bonus-payments/")
def set_up_bonuses(turn: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """Price a list of bonuses."""
    asked = call.read(BonusBody)
    return RouteResponse(status=201, body=bonuses.set_up(turn, asked.study_id, asked.csv_bonuses))


@routes.add("PayBonusPayments", "POST", "/api/v1/bulk-bonus-payments/{id}/pay/")
def pay_bonuses(turn: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """Pay a list of bonuses, however often it was paid before."""
    bonuses.pay(turn, call.path["id"])
    return RouteResponse(status=202, body="The bonuses will be paid.")


@routes.add("SendMessage", "POST", "/api/v1/messages/")
def send_message(turn: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """Send a message to somebody who took part."""
    asked = call.read(MessageBody)
    _send(turn, [asked.recipient_id], asked.body, asked.study_id)
    return RouteResponse(status=204)


@routes.add("BulkMessageParticipants", "POST", "/api/v1/messages/bulk/")
def send_messages(turn: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """Send a message to several people who took part."""
    asked = call.read(BulkMessageBody)
    _send(turn, asked.ids, asked.body, asked.study_id)
    return RouteResponse(status=204)


@routes.add("SendMessageToParticipantGroup", "POST", "/api/v1/messages/participant-group/")
def send_group_message(turn: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """Send a message to everybody in a group."""
    asked = call.read(GroupMessageBody)
    group = groups.find(turn, asked.participant_group_id)
    people = [one["participant_id"] for one in groups.members(turn, group.id)]
    _keep(turn, people, asked.body, asked.study_id)
    return RouteResponse(status=204)


@routes.add("GetMessages", "GET", "/api/v1/messages/")
def list_messages(turn: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """List messages, of one person where it is asked for."""
    c = schema.messages.c
    query = select(schema.messages).order_by(c.number)
    if "user_id" in call.query:
        query = query.where(c.recipient_id == call.query["user_id"])
    elif "created_after" not in call.query:
        raise EmulatorRequestError(400, {"user_id": ["expected user_id or created_after"]})
    rows = turn.connection.execute(query).all()
    return RouteResponse(body={"results": [_shown(row) for row in rows]})


@routes.add("GetUnreadMessages", "GET", "/api/v1/messages/unread/")
def list_unread_messages(turn: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """List messages from people; the emulated ones never write."""
    return RouteResponse(body={"results": []})


def _send(turn: RequestTransaction, people: Sequence[str], text: str, study_id: str) -> None:
    study = studies.find(turn, study_id)
    c = schema.submissions.c
    known = set(turn.connection.scalars(select(c.participant_id).where(c.study_id == study.id)))
    strangers = sorted(set(people) - known)
    if strangers:
        raise EmulatorRequestError(
            400, {"recipient_id": [f"{person} did not take part in this study" for person in strangers]}
        )
    _keep(turn, people, text, study.id)


def _keep(turn: RequestTransaction, people: Sequence[str], text: str, study_id: str | None) -> None:
    for person in people:
        turn.connection.execute(
            insert(schema.messages).values(
                id=new_id(), recipient_id=person, study_id=study_id, body=text, sent_at=turn.now
            )
        )


def _shown(row: Row[tuple[object, ...]]) -> dict[str, object]:
    return {
        "id": row.id,
        "sender_id": "researcher",
        "body": row.body,
        "sent_at": moment(row.sent_at),
        "type": "MESSAGE",
        "channel_id": row.recipient_id,
        "data": {"study_id": row.study_id or ""},
    }
