"""Control routes under ``/emulator/``: participants' actions and pages, clock, wallet, behaviour and faults."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from html import escape
from typing import Annotated, Any
from urllib.parse import quote

from pydantic import Field, StrictFloat, StrictInt, StrictStr
from sqlalchemy import Row, delete, select

from prolific.emulator import faults, participant_pool, schema, studies, submissions, wallet
from prolific.emulator.account_routes import find_workspace
from prolific.emulator.behaviour import Behaviour
from prolific.emulator.errors import invalid
from prolific.emulator.operations import OPERATIONS
from prolific.emulator.request_transaction import PATTERN, RequestTransaction, fields, iso_time, save_setting
from prolific.emulator.routing import Handler, Route, RouteRequest, RouteResponse, json_object, read_body
from prolific.emulator.study_body import RequestBody

COOKIE = "emulated_submission"
HTML = "text/html; charset=utf-8"
STYLE = (
    "body{font:1rem/1.5 system-ui,sans-serif;max-width:44rem;margin:2rem auto;padding:0 1rem;color:#1c2733}"
    "h1{font-size:1.4rem}.note{background:#fff4d6;padding:.6rem .9rem;border-radius:.4rem}"
    "li{margin:.5rem 0}a,button{color:#0b5cad}"
)
PEOPLE, STUDY, SUBMISSION = "/emulator/participants/", "/emulator/studies/{id}/", "/emulator/submissions/{id}/"
FAULTS, BEHAVIOUR = "/emulator/faults/", "/emulator/behaviour/"
PersonId = Annotated[StrictStr, Field(pattern=PATTERN)]


def _show_site(tx: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """Show the open studies, each with a link for a new participant."""
    items = "".join(
        f"<li>{escape(row.body['name'])}: {row.body['reward'] / 100:.2f}, about "
        f"{row.body['estimated_completion_time']:g} minutes "
        f'<a href="/emulator/studies/{quote(row.id)}/">take part</a></li>'
        for row in tx.rows(schema.studies, schema.studies.c.status == "ACTIVE")
    )
    return _page("Open studies", f"<ul>{items}</ul>" if items else "<p>No study is open.</p>")


def _walk_in(tx: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """Create a participant who passes the study's filters, and take them to the study."""
    study = studies.find(tx, call.path["id"])
    email = f"{tx.request}.{tx.now}@test" if study.test_of is not None else None
    attributes = participant_pool.fitting(study.body["filters"] or [])
    person = participant_pool.add_participant(tx, attributes, email=email)
    return _open_study(tx, submissions.take(tx, study.id, person).id)


def _open_study(tx: RequestTransaction, submission_id: str) -> RouteResponse:
    """Redirect the browser of a participant who has a place to the study, and set a cookie that identifies them."""
    row = submissions.start(tx, submission_id)
    cookie = f"{COOKIE}={row.id}; Path=/; HttpOnly; SameSite=Lax"
    headers = {"Location": submissions.study_url(tx, row), "Set-Cookie": cookie}
    return RouteResponse(status=303, text="", media_type=HTML, headers=headers)


def _take_code(tx: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """Take the completion code with which the browser returns, as the platform's page does."""
    submission_id, code = call.cookies.get(COOKIE), call.query.get("cc")
    if submission_id is None:
        return _page("Who is this?", "<p>This browser did not come from a study of this platform.</p>", 400)
    row = submissions.find(tx, submission_id)
    if row.entered_code is None:
        row = submissions.complete(tx, row.id, code)
    shown = f"<p>Your submission is {escape(row.status)}; the code taken was {escape(row.entered_code or 'none')}.</p>"
    return _page("Thank you", shown)


def _page(title: str, content: str, status: int = 200) -> RouteResponse:
    note = '<p class="note">Emulated Prolific on this machine. Nobody is paid here.</p>'
    text = (
        '<!doctype html><html lang="en"><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width"><title>Emulated Prolific</title>'
        f"<style>{STYLE}</style>{note}<h1>{escape(title)}</h1>{content}</html>"
    )
    return RouteResponse(status=status, text=text, media_type=HTML)


class JoiningPeopleBody(RequestBody):
    """Participants to create: ``count`` of them, with the same attributes."""

    count: Annotated[int, Field(ge=1, le=100_000)] = 1
    attributes: dict[str, Any] = Field(default_factory=dict)
    id: PersonId | None = None


class FilterBody(RequestBody):
    """A filter to add to those that the platform offers."""

    names: Annotated[list[StrictStr], Field(min_length=1)]
    choices: list[StrictStr] = Field(default_factory=list)
    lowest: StrictInt | StrictFloat | StrictStr | None = None
    highest: StrictInt | StrictFloat | StrictStr | None = None


class _TakeBody(RequestBody):
    participant_id: StrictStr
    device: StrictStr = "desktop"


class CodeBody(RequestBody):
    """The code entered; null for a participant who has none."""

    code: StrictStr | None


class WalletBody(RequestBody):
    """A change of the wallet, in cents: an amount to add, or the available balance to set."""

    workspace_id: StrictStr
    pay_in: Annotated[int | None, Field(ge=0)] = None
    available: Annotated[int | None, Field(ge=0)] = None


def _join(tx: RequestTransaction, call: RouteRequest) -> Any:
    asked = call.read(JoiningPeopleBody)
    if asked.id is not None and asked.count != 1:
        raise invalid(id="an id is for one person")
    add = participant_pool.add_participant
    return {"participant_ids": [add(tx, asked.attributes, participant_id=asked.id) for _ in range(asked.count)]}


def _list_people(tx: RequestTransaction, call: RouteRequest) -> Any:
    return {"results": [fields(row, "id", "email", "attributes") for row in tx.rows(schema.participants)]}


def _offer_filter(tx: RequestTransaction, call: RouteRequest) -> Any:
    asked = call.read(FilterBody)
    return {"added": participant_pool.add_filter(tx, asked.names, asked.choices, asked.lowest, asked.highest)}


def _study(tx: RequestTransaction, call: RouteRequest) -> Any:
    row = studies.find(tx, call.path["id"])
    return {
        "status": row.status,
        "places_taken": studies.places_taken(tx, row.id),
        "filters": row.body["filters"],
        "places": row.body["total_available_places"],
        "counts": studies.counts(tx, row.id),
    }


def _take(tx: RequestTransaction, call: RouteRequest) -> Any:
    asked = call.read(_TakeBody)
    return _person_view(tx, submissions.take(tx, call.path["id"], asked.participant_id, device=asked.device))


def _submissions(tx: RequestTransaction, call: RouteRequest) -> Any:
    rows = submissions.of_study(tx, studies.find(tx, call.path["id"]).id)
    return {"results": [_person_view(tx, row) for row in rows]}


def _enter_code(tx: RequestTransaction, call: RouteRequest) -> Any:
    return _person_view(tx, submissions.complete(tx, call.path["id"], call.read(CodeBody).code))


def _messages(tx: RequestTransaction, call: RouteRequest) -> Any:
    rows = tx.rows(schema.messages, schema.messages.c.recipient_id == call.path["id"])
    return {"results": [fields(row, "body", "study_id") for row in rows]}


def _change_behaviour(tx: RequestTransaction, call: RouteRequest) -> Any:
    asked = {**tx.behaviour.model_dump(), **json_object(call.body)}
    behaviour = read_body(Behaviour, asked).model_dump(mode="json")
    save_setting(tx.connection, "behaviour", behaviour)
    return behaviour


def _change_wallet(tx: RequestTransaction, call: RouteRequest) -> Any:
    asked = call.read(WalletBody)
    row = find_workspace(tx, asked.workspace_id)
    paid_in = row.paid_in + (asked.pay_in or 0)
    if asked.available is not None:
        paid_in += asked.available - int(wallet.balance(tx, row).available)
    row = tx.update(schema.workspaces, row.id, paid_in=paid_in)
    return {"available": int(wallet.balance(tx, row).available)}


def _payments(tx: RequestTransaction, call: RouteRequest) -> Any:
    """Show all bonus payments, one row for each time that each was requested."""
    c, s = schema.bonus_payments.c, schema.submissions.c
    rows = tx.connection.execute(
        select(schema.bonus_payments, s.participant_id).join(schema.submissions, s.id == c.submission_id)
    )
    return _whole_rows(rows)


def _requests(tx: RequestTransaction, call: RouteRequest) -> Any:
    operation = call.query.get("operation")
    conditions = [] if operation is None else [schema.requests.c.operation == operation]
    return _whole_rows(tx.rows(schema.requests, *conditions))


def _plan_fault(tx: RequestTransaction, call: RouteRequest) -> Any:
    asked = call.read(faults.FaultBody)
    if asked.operation not in {*OPERATIONS, faults.ANY, faults.WEBHOOKS}:
        expected = f"expected {faults.ANY}, {faults.WEBHOOKS} or its id"
        raise invalid(operation=f"{asked.operation} is no operation; {expected}")
    row = tx.insert(
        schema.faults,
        **asked.model_dump(include={"operation", "kind", "skip"}),
        remaining=asked.count,
        details=asked.model_dump(mode="json", include={"retry_after", "seconds"}),
    )
    return {"number": row.number}


def _clock(tx: RequestTransaction, call: RouteRequest) -> Any:
    return {"now": tx.now, "shown": iso_time(tx.now), "requests": tx.request}


def _whole_rows(rows: Iterable[Row[Any]]) -> Any:
    return {"results": [dict(row._mapping) for row in rows]}


def _person_view(tx: RequestTransaction, row: Row[Any]) -> dict[str, Any]:
    study = studies.find(tx, row.study_id)
    return {
        **fields(row, "id", "participant_id", "study_id", "status", "started_at", "completed_at", "entered_code"),
        "study_name": study.body["name"],
        "study_status": study.status,
        "places": study.body["total_available_places"],
        "minutes_allowed": study.body["maximum_allowed_time"],
        "study_url": submissions.study_url(tx, row),
        "ends_at": submissions.ends_at(tx, row),
        "return_requested": iso_time(row.return_requested),
        "reward": row.paid,
        "bonuses": submissions.bonuses(tx, row.id),
    }


def _step(step: Callable[[RequestTransaction, str], Row[Any]]) -> Handler:
    """Return the handler of a participant's action on their submission."""
    return lambda tx, call: _person_view(tx, step(tx, call.path["id"]))


ROUTES = (
    Route("JoinPlatform", "POST", PEOPLE, _join, 201),
    Route("ListPeople", "GET", PEOPLE, _list_people),
    Route("SeeMessages", "GET", PEOPLE + "{id}/messages/", _messages),
    Route("OfferFilter", "POST", "/emulator/filters/", _offer_filter),
    Route("SeeStudy", "GET", STUDY + "state/", _study),
    Route("TakePlace", "POST", STUDY + "take/", _take, 201),
    Route("SeeSubmissions", "GET", STUDY + "submissions/", _submissions),
    Route("SeeSubmission", "GET", SUBMISSION, _step(submissions.find)),
    Route("OpenStudy", "POST", SUBMISSION + "start/", _step(submissions.start)),
    Route("EnterCode", "POST", SUBMISSION + "complete/", _enter_code),
    Route("ReturnPlace", "POST", SUBMISSION + "return/", _step(submissions.give_back)),
    Route("TimeOut", "POST", SUBMISSION + "time-out/", _step(submissions.time_out)),
    Route("SeeBehaviour", "GET", BEHAVIOUR, lambda tx, call: tx.behaviour.model_dump(mode="json")),
    Route("ChangeBehaviour", "PATCH", BEHAVIOUR, _change_behaviour),
    Route("ChangeWallet", "POST", "/emulator/wallet/", _change_wallet),
    Route("SeePayments", "GET", "/emulator/payments/", _payments),
    Route("SeeDeliveries", "GET", "/emulator/deliveries/", lambda tx, call: _whole_rows(tx.rows(schema.deliveries))),
    Route("SeeRequests", "GET", "/emulator/requests/", _requests),
    Route("PlanFault", "POST", FAULTS, _plan_fault, 201),
    Route("SeeFaults", "GET", FAULTS, lambda tx, call: _whole_rows(tx.rows(schema.faults))),
    Route("ForgetFaults", "DELETE", FAULTS, lambda tx, call: tx.connection.execute(delete(schema.faults)), 204),
    Route("SeeClock", "GET", "/emulator/clock/", _clock),
    Route("ShowSite", "GET", "/emulator/", _show_site),
    Route("ShowStudyDoor", "GET", "/emulator/studies/{id}/", _walk_in),
    Route("GoToStudy", "GET", "/emulator/submissions/{id}/go/", lambda tx, call: _open_study(tx, call.path["id"])),
    Route("TakeCode", "GET", "/submissions/complete", _take_code),
)
