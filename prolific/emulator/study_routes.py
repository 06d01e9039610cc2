"""The operations on studies."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictStr
from sqlalchemy import insert, select

from prolific.emulator import schema, studies, submissions, wallet
from prolific.emulator.audience import add_participant
from prolific.emulator.calls import RouteRequest, RouteResponse, Routes, page_of
from prolific.emulator.demographics import as_csv
from prolific.emulator.ids import new_id
from prolific.emulator.refusals import EmulatorRequestError, not_found
from prolific.emulator.request_transaction import RequestTransaction
from prolific.emulator.study_body import RequestBody, SelectedFilter, Whole
from prolific.emulator.tariff import Cost, number, payment

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
def create_study(turn: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """Keep a draft."""
    return RouteResponse(status=201, body=studies.shown(turn, studies.create(turn, call.body or {})))


@routes.add("GetStudies", "GET", "/api/v1/studies/")
def list_studies(turn: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """List studies, of one state where it is given."""
    state = call.query.get("state")
    if state is not None and state not in STATES:
        raise EmulatorRequestError(400, {"state": [f"{state} is not one of {', '.join(STATES)}"]})
    query = select(schema.studies).order_by(schema.studies.c.number.desc())
    rows = turn.connection.execute(query if state is None else query.where(schema.studies.c.status == state)).all()
    return page_of(turn, call, rows, lambda row: studies.shown_short(turn, row))


@routes.add("GetProjectStudies", "GET", "/api/v1/projects/{project_id}/studies/")
def list_project_studies(turn: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """List the studies of a project."""
    project = call.path["project_id"]
    if turn.connection.scalar(select(schema.projects.c.id).where(schema.projects.c.id == project)) is None:
        raise not_found("Project", project)
    c = schema.studies.c
    rows = turn.connection.execute(
        select(schema.studies).where(c.project_id == project, c.test_of.is_(None)).order_by(c.number.desc())
    ).all()
    return page_of(turn, call, rows, lambda row: studies.shown_short(turn, row))


@routes.add("GetStudy", "GET", "/api/v1/studies/{id}/")
def show_study(turn: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """Show a study."""
    return RouteResponse(body=studies.shown(turn, studies.find(turn, call.path["id"])))


@routes.add("UpdateStudy", "PATCH", "/api/v1/studies/{id}/")
def change_study(turn: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """Change a study."""
    if not isinstance(call.body, dict):
        raise EmulatorRequestError(400, "The body must be a JSON object")
    return RouteResponse(body=studies.shown(turn, studies.change(turn, call.path["id"], call.body)))


@routes.add("DeleteStudy", "DELETE", "/api/v1/studies/{id}/")
def delete_study(turn: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """Delete a draft."""
    studies.delete(turn, call.path["id"])
    return RouteResponse(status=204)


@routes.add("PublishStudy", "POST", "/api/v1/studies/{id}/transition/")
def move_study(turn: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """Publish, pause, start or stop a study."""
    action = call.read(StudyTransitionBody).action
    return RouteResponse(body=studies.shown(turn, studies.transition(turn, call.path["id"], action)))


@routes.add("DuplicateStudy", "POST", "/api/v1/studies/{id}/clone/")
def clone_study(turn: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """Copy a study into a draft."""
    asked = CloneBody() if call.body is None else call.read(CloneBody)
    copy = studies.clone(turn, call.path["id"], block_previous=asked.block_previous_participants)
    return RouteResponse(body=studies.shown(turn, copy))


@routes.add("GetStudyAccessDetailsProgress", "GET", "/api/v1/studies/{id}/access-details-progress/")
def show_progress(turn: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """Show how far each address of a study of several is."""
    row = studies.find(turn, call.path["id"])
    if row.body.get("access_details") is None:
        raise EmulatorRequestError(404, "This study has a single address")
    taken = submissions.allocated(turn, row)
    progress = [{**one, "allocated": taken.get(one["external_url"], 0)} for one in row.body["access_details"]]
    return RouteResponse(body=[{"id": row.id, "progress": progress}])


@routes.add("GetStudyCost", "GET", "/api/v1/studies/{id}/cost/")
def show_cost(turn: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """Show what a study has cost, or will have cost when all its places are paid."""
    row = studies.find(turn, call.path["id"])
    spent = wallet.spent_rewards(turn, [row.id]).get(row.id, Cost())
    if call.yes("is_projected"):
        spent = wallet.places_cost(turn, row.body, row.body["total_available_places"])
    currency = turn.connection.scalar(
        select(schema.workspaces.c.currency).where(schema.workspaces.c.id == row.workspace_id)
    )
    _, bonuses = wallet.bonuses_of(turn, [row.id])

    def breakdown(cost: Cost) -> dict[str, object]:
        named = {"rewards": cost.rewards, "fees": cost.fees, "tax": cost.vat}
        return {name: {"amount": number(part), "currency": currency} for name, part in named.items()}

    return RouteResponse(body={"rewards": breakdown(spent), "bonuses": breakdown(bonuses), "_links": {}})


@routes.add("CalculateStudyCost", "POST", "/api/v1/study-cost-calculator/")
def calculate_cost(turn: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """Say what a study of so many places would cost."""
    asked = call.read(CostBody)
    cost = payment(asked.reward, turn.behaviour).times(asked.total_available_places)
    return RouteResponse(body={"total_cost": number(cost.total)})


@routes.add("GetStudySubmissions", "GET", "/api/v1/studies/{id}/submissions/")
def list_study_submissions(turn: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """List the submissions of a study."""
    row = studies.find(turn, call.path["id"])
    rows = [one for one in submissions.of_study(turn, row.id) if one.listed_from <= turn.request]
    return page_of(turn, call, rows, lambda one: submissions.shown_short(turn, one))


@routes.add("CountStudySubmissionsByStatus", "GET", "/api/v1/studies/{id}/submissions/counts/")
def count_study_submissions(turn: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """Count the submissions of a study by status."""
    found = studies.counts(turn, studies.find(turn, call.path["id"]).id)
    return RouteResponse(body={**{status: found[status] for status in submissions.STATUSES}, "TOTAL": found.total()})


@routes.add("CreateTestParticipantForResearcher", "POST", "/api/v1/researchers/participants/")
def create_test_participant(turn: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """Make a test participant, whom nothing is paid."""
    email = call.read(TestParticipantBody).email
    c = schema.participants.c
    if turn.connection.scalar(select(c.id).where(c.email == email)) is not None:
        raise EmulatorRequestError(400, {"email": ["there is a participant with this address"]})
    return RouteResponse(status=201, body={"participant_id": add_participant(turn, {}, email=email)})


@routes.add("CreateTestStudy", "POST", "/api/v1/studies/{id}/test-study")
@routes.add("CreateTestStudy", "POST", "/api/v1/studies/{id}/test-study/")
def create_test_study(turn: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """Open a draft to test participants, without money."""
    row = studies.find(turn, call.path["id"])
    if row.status != "UNPUBLISHED":
        raise EmulatorRequestError(400, "Only a draft can be tested")
    test_id = new_id()
    turn.connection.execute(
        insert(schema.studies).values(
            id=test_id,
            project_id=row.project_id,
            workspace_id=row.workspace_id,
            status="ACTIVE",
            created_at=turn.now,
            published_at=turn.now,
            excluded=[],
            test_of=row.id,
            body={**row.body, "filters": []},
        )
    )
    return RouteResponse(body={"study_id": test_id, "study_url": f"{call.base}/emulator/studies/{test_id}/"})


@routes.add("ExportDemographicData", "POST", "/api/v1/studies/{id}/demographic-export/")
def export_demographics(turn: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """Export who took part, once more for each list of filters, twice at most."""
    row = studies.find(turn, call.path["id"])
    asked = ExportBody() if call.body is None else call.read(ExportBody)
    kept = [one.model_dump(exclude_none=True) for one in asked.filters]
    c = schema.exports.c
    earlier = turn.connection.scalars(select(c.filters).where(c.study_id == row.id)).all()
    if kept not in earlier:
        if len(earlier) >= MOST_EXPORTS:
            raise EmulatorRequestError(400, f"Demographic data were exported {MOST_EXPORTS} times already")
        turn.connection.execute(insert(schema.exports).values(study_id=row.id, filters=kept))
    names = [one["filter_id"] for one in kept] or None
    return RouteResponse(text=as_csv(turn, row.id, names), media_type="text/csv")


@routes.add("GetDemographicExportHistory", "GET", "/api/v1/studies/{id}/demographic-export-history/")
def show_export_history(turn: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """Say how often demographic data were exported."""
    row = studies.find(turn, call.path["id"])
    c = schema.exports.c
    earlier = turn.connection.scalars(select(c.filters).where(c.study_id == row.id)).all()
    return RouteResponse(body={"count": len(earlier), "filters": earlier[-1] if earlier else []})


@routes.add("ScreenOutSubmissions", "POST", "/api/v1/studies/{id}/screen-out-submissions/")
def screen_out(turn: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """Screen people out with a payment; outside the published description."""
    from prolific.emulator.screening import ScreenOutBody, screen_out_with_bonus

    if not turn.behaviour.screen_out_endpoint:
        raise EmulatorRequestError(404, "Not found.")
    return RouteResponse(body=screen_out_with_bonus(turn, call.path["id"], call.read(ScreenOutBody)))
