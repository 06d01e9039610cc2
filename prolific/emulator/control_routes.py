"""Control routes under ``/emulator/``: participants' actions, clock, wallet, behaviour and faults."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, StrictFloat, StrictInt, StrictStr
from sqlalchemy import Row, delete, select

from prolific.emulator import faults, participant_pool, schema, studies, submissions, wallet
from prolific.emulator.account_routes import find_workspace
from prolific.emulator.behaviour import Behaviour
from prolific.emulator.errors import EmulatorRequestError
from prolific.emulator.ids import PATTERN, iso_time
from prolific.emulator.request_transaction import RequestTransaction, save_setting
from prolific.emulator.routing import RouteRequest, RouteResponse, Routes, read_body
from prolific.emulator.study_body import RequestBody

routes = Routes()
PersonId = Annotated[StrictStr, Field(pattern=PATTERN)]


class JoiningPeopleBody(RequestBody):
    """People who join the platform; as many as ``count``, each with the same attributes."""

    count: Annotated[int, Field(ge=1, le=100_000)] = 1
    attributes: dict[str, Any] = Field(default_factory=dict)
    id: PersonId | None = None


class FilterBody(RequestBody):
    """A property that people can be asked for."""

    names: Annotated[list[StrictStr], Field(min_length=1)]
    choices: list[StrictStr] = Field(default_factory=list)
    lowest: StrictInt | StrictFloat | StrictStr | None = None
    highest: StrictInt | StrictFloat | StrictStr | None = None


class TakeBody(RequestBody):
    """Who takes a place, and on what."""

    participant_id: StrictStr
    device: StrictStr = "desktop"


class CodeBody(RequestBody):
    """The code entered; null for somebody who was given none."""

    code: StrictStr | None


class WalletBody(RequestBody):
    """What is in the wallet, in cents: paid in on top, or just this much available."""

    workspace_id: StrictStr
    pay_in: Annotated[int | None, Field(ge=0)] = None
    available: Annotated[int | None, Field(ge=0)] = None


@routes.add("JoinPlatform", "POST", "/emulator/participants/")
def join(tx: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """Let people join the platform."""
    asked = call.read(JoiningPeopleBody)
    if asked.id is not None and asked.count != 1:
        raise EmulatorRequestError(400, {"id": ["an id is for one person"]})
    people = [
        participant_pool.add_participant(tx, asked.attributes, participant_id=asked.id) for _ in range(asked.count)
    ]
    return RouteResponse(status=201, body={"participant_ids": people})


@routes.add("ListPeople", "GET", "/emulator/participants/")
def list_people(tx: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """List everybody on the platform."""
    rows = tx.connection.execute(select(schema.participants).order_by(schema.participants.c.number)).all()
    names = ("id", "email", "attributes")
    return RouteResponse(body={"results": [{name: getattr(row, name) for name in names} for row in rows]})


@routes.add("OfferFilter", "POST", "/emulator/filters/")
def offer_filter(tx: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """See that a property can be asked for, and say what had to be added."""
    asked = call.read(FilterBody)
    added = participant_pool.add_filter(tx, asked.names, asked.choices, asked.lowest, asked.highest)
    return RouteResponse(body={"added": added})


@routes.add("SeeStudy", "GET", "/emulator/studies/{id}/state/")
def see_study(tx: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """Show how a study stands, without counting as a request to the API."""
    row = studies.find(tx, call.path["id"])
    taken = studies.places_taken(tx, row.id)
    facts = {"status": row.status, "places_taken": taken, "filters": row.body["filters"]}
    return RouteResponse(
        body={**facts, "places": row.body["total_available_places"], "counts": studies.counts(tx, row.id)}
    )


@routes.add("TakePlace", "POST", "/emulator/studies/{id}/take/")
def take(tx: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """Hold a place for somebody."""
    asked = call.read(TakeBody)
    row = submissions.take(tx, call.path["id"], asked.participant_id, device=asked.device)
    return RouteResponse(status=201, body=_person_view(tx, row))


@routes.add("SeeSubmissions", "GET", "/emulator/studies/{id}/submissions/")
def see_all(tx: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """Show all submissions of a study, as their people see them."""
    rows = submissions.of_study(tx, studies.find(tx, call.path["id"]).id)
    return RouteResponse(body={"results": [_person_view(tx, row) for row in rows]})


@routes.add("SeeSubmission", "GET", "/emulator/submissions/{id}/")
def see(tx: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """Show a submission as its person sees it."""
    return RouteResponse(body=_person_view(tx, submissions.find(tx, call.path["id"])))


@routes.add("OpenStudy", "POST", "/emulator/submissions/{id}/start/")
def start(tx: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """Open the study, for the first time or again."""
    return RouteResponse(body=_person_view(tx, submissions.start(tx, call.path["id"])))


@routes.add("EnterCode", "POST", "/emulator/submissions/{id}/complete/")
def enter_code(tx: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """Enter a code, right or wrong, or say that there was none."""
    return RouteResponse(body=_person_view(tx, submissions.complete(tx, call.path["id"], call.read(CodeBody).code)))


@routes.add("ReturnPlace", "POST", "/emulator/submissions/{id}/return/")
def give_back(tx: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """Return a place."""
    return RouteResponse(body=_person_view(tx, submissions.give_back(tx, call.path["id"])))


@routes.add("TimeOut", "POST", "/emulator/submissions/{id}/time-out/")
def time_out(tx: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """Let somebody's time be up at once."""
    return RouteResponse(body=_person_view(tx, submissions.time_out(tx, call.path["id"])))


@routes.add("SeeMessages", "GET", "/emulator/participants/{id}/messages/")
def see_messages(tx: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """Show what was written to somebody."""
    c = schema.messages.c
    rows = tx.connection.execute(
        select(schema.messages).where(c.recipient_id == call.path["id"]).order_by(c.number)
    ).all()
    return RouteResponse(body={"results": [{"body": row.body, "study_id": row.study_id} for row in rows]})


@routes.add("SeeBehaviour", "GET", "/emulator/behaviour/")
def see_behaviour(tx: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """Show how the platform behaves."""
    return RouteResponse(body=tx.behaviour.model_dump(mode="json"))


@routes.add("ChangeBehaviour", "PATCH", "/emulator/behaviour/")
def change_behaviour(tx: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """Switch oddities on and off."""
    if not isinstance(call.body, dict):
        raise EmulatorRequestError(400, "The body must be a JSON object")
    behaviour = read_body(Behaviour, {**tx.behaviour.model_dump(), **call.body}).model_dump(mode="json")
    save_setting(tx.connection, "behaviour", behaviour)
    return RouteResponse(body=behaviour)


@routes.add("ChangeWallet", "POST", "/emulator/wallet/")
def change_wallet(tx: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """Pay money in, or leave just so much."""
    asked = call.read(WalletBody)
    row = find_workspace(tx, asked.workspace_id)
    paid_in = row.paid_in + (asked.pay_in or 0)
    if asked.available is not None:
        paid_in += asked.available - int(wallet.balance(tx, row).available)
    tx.update(schema.workspaces, row.id, paid_in=paid_in)
    return RouteResponse(body={"available": int(wallet.balance(tx, find_workspace(tx, row.id)).available)})


@routes.add("SeePayments", "GET", "/emulator/payments/")
def see_payments(tx: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """Show all bonuses that were asked for, one row for each time that each was."""
    c, s = schema.bonus_payments.c, schema.submissions.c
    rows = tx.connection.execute(
        select(schema.bonus_payments, s.participant_id).join(schema.submissions, s.id == c.submission_id)
    )
    return RouteResponse(body={"results": [dict(row._mapping) for row in rows]})


@routes.add("SeeDeliveries", "GET", "/emulator/deliveries/")
def see_deliveries(tx: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """Show every attempt to deliver an event; the status is null where nobody answered."""
    rows = tx.connection.execute(select(schema.deliveries).order_by(schema.deliveries.c.number))
    return RouteResponse(body={"results": [dict(row._mapping) for row in rows]})


@routes.add("SeeRequests", "GET", "/emulator/requests/")
def see_requests(tx: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """Show the requests to the API that came, of one operation where it is given."""
    c = schema.requests.c
    query = select(schema.requests).order_by(c.number)
    if "operation" in call.query:
        query = query.where(c.operation == call.query["operation"])
    return RouteResponse(body={"results": [dict(row._mapping) for row in tx.connection.execute(query)]})


@routes.add("PlanFault", "POST", "/emulator/faults/")
def plan_fault(tx: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """Let something go wrong with requests to come."""
    asked = call.read(faults.FaultBody)
    faults.check_operation(asked.operation)
    key = tx.insert(
        schema.faults,
        operation=asked.operation,
        kind=asked.kind,
        skip=asked.skip,
        remaining=asked.count,
        details=asked.model_dump(mode="json", include={"retry_after", "seconds"}),
    )
    return RouteResponse(status=201, body={"number": key})


@routes.add("SeeFaults", "GET", "/emulator/faults/")
def see_faults(tx: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """Show the faults that were planned, and how often each happened."""
    rows = tx.connection.execute(select(schema.faults).order_by(schema.faults.c.number))
    return RouteResponse(body={"results": [dict(row._mapping) for row in rows]})


@routes.add("ForgetFaults", "DELETE", "/emulator/faults/")
def forget_faults(tx: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """Plan nothing any more."""
    tx.connection.execute(delete(schema.faults))
    return RouteResponse(status=204)


@routes.add("SeeClock", "GET", "/emulator/clock/")
def see_clock(tx: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """Show what time it is."""
    return RouteResponse(body={"now": tx.now, "shown": iso_time(tx.now), "requests": tx.request})


def _person_view(tx: RequestTransaction, row: Row[Any]) -> dict[str, Any]:
    study = studies.find(tx, row.study_id)
    return {
        "id": row.id,
        "participant_id": row.participant_id,
        "study_id": row.study_id,
        "study_name": study.body["name"],
        "study_status": study.status,
        "places": study.body["total_available_places"],
        "minutes_allowed": study.body["maximum_allowed_time"],
        "status": row.status,
        "started_at": row.started_at,
        "completed_at": row.completed_at,
        "study_url": submissions.study_url(tx, row),
        "entered_code": row.entered_code,
        "ends_at": submissions.ends_at(tx, row),
        "return_requested": iso_time(row.return_requested),
        "reward": row.paid,
        "bonuses": submissions.bonuses(tx, row.id),
    }
