"""The operations on studies."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictStr
from sqlalchemy import select

from prolific.emulator import bonuses, schema, studies, submissions, wallet
from prolific.emulator.account_routes import find_project
from prolific.emulator.demographics import as_csv
from prolific.emulator.errors import EmulatorRequestError
from prolific.emulator.fees import Cost, number, payment
from prolific.emulator.ids import new_id
from prolific.emulator.participant_pool import add_participant
from prolific.emulator.request_transaction import RequestTransaction
from prolific.emulator.routing import RouteRequest, RouteResponse, Routes, paginate
from prolific.emulator.study_body import RequestBody, SelectedFilter, Whole

routes = Routes()
STATES = ("ACTIVE", "PAUSED", "UNPUBLISHED", "PUBLISHING", "COMPLETED", "AWAITING REVIEW", "UNKNOWN", "SCHEDULED")
MOST_EXPORTS = 2


class StudyTransitionBody(RequestBody):
    """What is to become of a study."""

    action: StrictStr


class CloneBody(RequestBody):
    """Whether whoever took part in the study is kept out of its copy."""

    block_previous_participants: StrictBool = False


class CostBody(BaseModel):
    """A reward in cents and a number of places."""

    model_config = ConfigDict(extra="ignore")  # the description allows further fields
    reward: Annotated[Whole, Field(ge=0)]
    total_available_places: Annotated[Whole, Field(ge=1)]


class ExportBody(RequestBody):
    """What an export of demographic data says."""

    filters: list[SelectedFilter] = Field(default_factory=list)


class TestParticipantBody(RequestBody):
    """Whose account a test participant is."""

    __test__ = False  # for pytest, which takes the name for that of a test
    email: Annotated[StrictStr, Field(pattern=r"^[^@\s]+@[^@\s]+\.[^@\s]+$")]


@routes.add("CreateStudy", "POST", "/api/v1/studies/")
def create_study(tx: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """Keep a draft."""
    return RouteResponse(status=201, body=studies.shown(tx, studies.create(tx, call.body or {})))


@routes.add("GetStudies", "GET", "/api/v1/studies/")
def list_studies(tx: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """List studies, of one state where it is given."""
    state = call.query.get("state")
    if state is not None and state not in STATES:
        raise EmulatorRequestError(400, {"state": [f"{state} is not one of {', '.join(STATES)}"]})
    query = select(schema.studies).order_by(schema.studies.c.number.desc())
    rows = tx.connection.execute(query if state is None else query.where(schema.studies.c.status == state)).all()
    return paginate(tx, call, rows, lambda row: studies.shown_short(tx, row))


@routes.add("GetProjectStudies", "GET", "/api/v1/projects/{project_id}/studies/")
def list_project_studies(tx: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """List the studies of a project."""
    project = find_project(tx, call.path["project_id"]).id
    c = schema.studies.c
    rows = tx.connection.execute(
        select(schema.studies).where(c.project_id == project, c.test_of.is_(None)).order_by(c.number.desc())
    ).all()
    return paginate(tx, call, rows, lambda row: studies.shown_short(tx, row))


@routes.add("GetStudy", "GET", "/api/v1/studies/{id}/")
def show_study(tx: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """Show a study."""
    return RouteResponse(body=studies.shown(tx, studies.find(tx, call.path["id"])))


@routes.add("UpdateStudy", "PATCH", "/api/v1/studies/{id}/")
def change_study(tx: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """Change a study."""
    if not isinstance(call.body, dict):
        raise EmulatorRequestError(400, "The body must be a JSON object")
    return RouteResponse(body=studies.shown(tx, studies.change(tx, call.path["id"], call.body)))


@routes.add("DeleteStudy", "DELETE", "/api/v1/studies/{id}/")
def delete_study(tx: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """Delete a draft."""
    studies.delete(tx, call.path["id"])
    return RouteResponse(status=204)


@routes.add("PublishStudy", "POST", "/api/v1/studies/{id}/transition/")
def move_study(tx: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """Publish, pause, start or stop a study."""
    action = call.read(StudyTransitionBody).action
    return RouteResponse(body=studies.shown(tx, studies.transition(tx, call.path["id"], action)))


@routes.add("DuplicateStudy", "POST", "/api/v1/studies/{id}/clone/")
def clone_study(tx: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """Copy a study into a draft."""
    asked = CloneBody() if call.body is None else call.read(CloneBody)
    copy = studies.clone(tx, call.path["id"], block_previous=asked.block_previous_participants)
    return RouteResponse(body=studies.shown(tx, copy))


@routes.add("GetStudyAccessDetailsProgress", "GET", "/api/v1/studies/{id}/access-details-progress/")
def show_progress(tx: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """Show how far each address of a study of several is."""
    row = studies.find(tx, call.path["id"])
    if row.body.get("access_details") is None:
        raise EmulatorRequestError(404, "This study has a single address")
    taken = submissions.allocated(tx, row)
    progress = [{**one, "allocated": taken.get(one["external_url"], 0)} for one in row.body["access_details"]]
    return RouteResponse(body=[{"id": row.id, "progress": progress}])


@routes.add("GetStudyCost", "GET", "/api/v1/studies/{id}/cost/")
def show_cost(tx: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """Show what a study has cost, or will have cost when all its places are paid."""
    row = studies.find(tx, call.path["id"])
    spent = wallet.spent_rewards(tx, [row.id]).get(row.id, Cost())
    if call.boolean("is_projected"):
        spent = wallet.places_cost(tx, row.body, row.body["total_available_places"])
    currency = tx.find(schema.workspaces, row.workspace_id, "Workspace").currency
    _, paid = wallet.bonuses_of(tx, [row.id])

    def breakdown(cost: Cost) -> dict[str, object]:
        named = {"rewards": cost.rewards, "fees": cost.fees, "tax": cost.vat}
        return {name: {"amount": number(part), "currency": currency} for name, part in named.items()}

    return RouteResponse(body={"rewards": breakdown(spent), "bonuses": breakdown(paid), "_links": {}})


@routes.add("CalculateStudyCost", "POST", "/api/v1/study-cost-calculator/")
def calculate_cost(tx: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """Say what a study of so many places would cost."""
    asked = call.read(CostBody)
    cost = payment(asked.reward, tx.behaviour).times(asked.total_available_places)
    return RouteResponse(body={"total_cost": number(cost.total)})


@routes.add("GetStudySubmissions", "GET", "/api/v1/studies/{id}/submissions/")
def list_study_submissions(tx: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """List the submissions of a study."""
    row = studies.find(tx, call.path["id"])
    rows = [one for one in submissions.of_study(tx, row.id) if one.listed_from <= tx.request]
    return paginate(tx, call, rows, lambda one: submissions.shown_short(tx, one))


@routes.add("CountStudySubmissionsByStatus", "GET", "/api/v1/studies/{id}/submissions/counts/")
def count_study_submissions(tx: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """Count the submissions of a study by status."""
    found = studies.counts(tx, studies.find(tx, call.path["id"]).id)
    return RouteResponse(body={**{status: found[status] for status in submissions.STATUSES}, "TOTAL": found.total()})


@routes.add("CreateTestParticipantForResearcher", "POST", "/api/v1/researchers/participants/")
def create_test_participant(tx: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """Make a test participant, whom nothing is paid."""
    email = call.read(TestParticipantBody).email
    c = schema.participants.c
    if tx.connection.scalar(select(c.id).where(c.email == email)) is not None:
        raise EmulatorRequestError(400, {"email": ["there is a participant with this address"]})
    return RouteResponse(status=201, body={"participant_id": add_participant(tx, {}, email=email)})


@routes.add("CreateTestStudy", "POST", "/api/v1/studies/{id}/test-study")
@routes.add("CreateTestStudy", "POST", "/api/v1/studies/{id}/test-study/")
def create_test_study(tx: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """Open a draft to test participants, without money."""
    row = studies.find(tx, call.path["id"])
    if row.status != "UNPUBLISHED":
        raise EmulatorRequestError(400, "Only a draft can be tested")
    test_id = new_id()
    tx.insert(
        schema.studies,
        id=test_id,
        project_id=row.project_id,
        workspace_id=row.workspace_id,
        status="ACTIVE",
        created_at=tx.now,
        published_at=tx.now,
        excluded=[],
        test_of=row.id,
        body={**row.body, "filters": []},
    )
    return RouteResponse(body={"study_id": test_id, "study_url": f"{call.base}/emulator/studies/{test_id}/"})


@routes.add("ExportDemographicData", "POST", "/api/v1/studies/{id}/demographic-export/")
def export_demographics(tx: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """Export who took part, once more for each list of filters, twice at most."""
    row = studies.find(tx, call.path["id"])
    asked = ExportBody() if call.body is None else call.read(ExportBody)
    kept = [one.model_dump(exclude_none=True) for one in asked.filters]
    c = schema.exports.c
    earlier = tx.connection.scalars(select(c.filters).where(c.study_id == row.id)).all()
    if kept not in earlier:
        if len(earlier) >= MOST_EXPORTS:
            raise EmulatorRequestError(400, f"Demographic data were exported {MOST_EXPORTS} times already")
        tx.insert(schema.exports, study_id=row.id, filters=kept)
    names = [one["filter_id"] for one in kept] or None
    return RouteResponse(text=as_csv(tx, row.id, names), media_type="text/csv")


@routes.add("GetDemographicExportHistory", "GET", "/api/v1/studies/{id}/demographic-export-history/")
def show_export_history(tx: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """Say how often demographic data were exported."""
    row = studies.find(tx, call.path["id"])
    c = schema.exports.c
    earlier = tx.connection.scalars(select(c.filters).where(c.study_id == row.id)).all()
    return RouteResponse(body={"count": len(earlier), "filters": earlier[-1] if earlier else []})


@routes.add("ScreenOutSubmissions", "POST", "/api/v1/studies/{id}/screen-out-submissions/")
def screen_out(tx: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """Screen people out with a payment; outside the published description."""
    if not tx.behaviour.screen_out_endpoint:
        raise EmulatorRequestError(404, "Not found.")
    return RouteResponse(body=bonuses.screen_out_with_bonus(tx, call.path["id"], call.read(bonuses.ScreenOutBody)))
