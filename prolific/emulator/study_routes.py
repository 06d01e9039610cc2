"""Operations on studies."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictStr

from prolific.emulator import bonuses, schema, studies, submissions, wallet
from prolific.emulator.account_routes import find_project, find_workspace
from prolific.emulator.errors import EmulatorRequestError, invalid
from prolific.emulator.participant_pool import add_participant, offered
from prolific.emulator.request_transaction import RequestTransaction, fields, iso_time
from prolific.emulator.routing import Route, RouteRequest, RouteResponse, json_object, paginate
from prolific.emulator.study_body import RequestBody, SelectedFilter, Whole
from prolific.emulator.wallet import Cost, number, payment
from spa.tables.formulas import without_formula

STATES = ("ACTIVE", "PAUSED", "UNPUBLISHED", "PUBLISHING", "COMPLETED", "AWAITING REVIEW", "UNKNOWN", "SCHEDULED")
MOST_EXPORTS = 2
USUAL = ("age", "sex", "first-language", "current-country-of-residence", "nationality")
HEAD = ("Submission id", "Participant id", "Status", "Started at", "Completed at", "Reviewed at", "Time taken")
API, STUDIES, STUDY = "/api/v1/", "/api/v1/studies/", "/api/v1/studies/{id}/"


class _StudyTransitionBody(RequestBody):
    action: StrictStr


class CloneBody(RequestBody):
    """Whether participants of the study are excluded from its copy."""

    block_previous_participants: StrictBool = False


class _CostBody(BaseModel):
    model_config = ConfigDict(extra="ignore")  # the description allows further fields
    reward: Annotated[Whole, Field(ge=0)]
    total_available_places: Annotated[Whole, Field(ge=1)]


class _ExportBody(RequestBody):
    filters: list[SelectedFilter] = Field(default_factory=list)


class _TestParticipantBody(RequestBody):
    __test__ = False  # for pytest, which takes the name for that of a test
    email: Annotated[StrictStr, Field(pattern=r"^[^@\s]+@[^@\s]+\.[^@\s]+$")]


def _find(tx: RequestTransaction, call: RouteRequest) -> studies.Study:
    return studies.find(tx, call.path["id"])


def _list(tx: RequestTransaction, call: RouteRequest) -> Any:
    state, c = call.query.get("state"), schema.studies.c
    if state is not None and state not in STATES:
        raise invalid(state=f"{state} is not one of {', '.join(STATES)}")
    rows = tx.rows(schema.studies, *([] if state is None else [c.status == state]), newest_first=True)
    return paginate(tx, call, rows, studies.list_entry)


def _list_of_project(tx: RequestTransaction, call: RouteRequest) -> Any:
    c = schema.studies.c
    project = find_project(tx, call.path["project_id"])
    rows = tx.rows(schema.studies, c.project_id == project.id, c.test_of.is_(None), newest_first=True)
    return paginate(tx, call, rows, studies.list_entry)


def _change(tx: RequestTransaction, call: RouteRequest) -> Any:
    return studies.representation(tx, studies.change(tx, call.path["id"], json_object(call.body)))


def _move(tx: RequestTransaction, call: RouteRequest) -> Any:
    return studies.representation(tx, studies.transition(tx, call.path["id"], call.read(_StudyTransitionBody).action))


def _clone(tx: RequestTransaction, call: RouteRequest) -> Any:
    asked = CloneBody() if call.body is None else call.read(CloneBody)
    return studies.representation(
        tx, studies.clone(tx, call.path["id"], block_previous=asked.block_previous_participants)
    )


def _progress(tx: RequestTransaction, call: RouteRequest) -> Any:
    row = _find(tx, call)
    if row.body.get("access_details") is None:
        raise EmulatorRequestError(404, "This study has a single address")
    taken = submissions.allocated(tx, row)
    progress = [{**one, "allocated": taken.get(one["external_url"], 0)} for one in row.body["access_details"]]
    return [{"id": row.id, "progress": progress}]


def _cost(tx: RequestTransaction, call: RouteRequest) -> Any:
    row = _find(tx, call)
    spent = wallet.spent_rewards(tx, [row.id]).get(row.id, Cost())
    if call.boolean("is_projected"):
        spent = wallet.places_cost(tx, row.body, row.body["total_available_places"])
    currency = find_workspace(tx, row.workspace_id).currency
    _, paid = wallet.bonuses_of(tx, [row.id])

    def breakdown(cost: Cost) -> dict[str, object]:
        named = {"rewards": cost.rewards, "fees": cost.fees, "tax": cost.vat}
        return {name: {"amount": number(part), "currency": currency} for name, part in named.items()}

    return {"rewards": breakdown(spent), "bonuses": breakdown(paid), "_links": {}}


def _calculate_cost(tx: RequestTransaction, call: RouteRequest) -> Any:
    asked = call.read(_CostBody)
    return {"total_cost": number(payment(asked.reward, tx.behaviour).times(asked.total_available_places).total)}


def _list_submissions(tx: RequestTransaction, call: RouteRequest) -> Any:
    rows = [one for one in submissions.of_study(tx, _find(tx, call).id) if one.listed_from <= tx.request]
    return paginate(tx, call, rows, submissions.list_entry)


def _count_submissions(tx: RequestTransaction, call: RouteRequest) -> Any:
    found = studies.counts(tx, _find(tx, call).id)
    return {**{status: found[status] for status in submissions.STATUSES}, "TOTAL": found.total()}


def _test_participant(tx: RequestTransaction, call: RouteRequest) -> Any:
    email = call.read(_TestParticipantBody).email
    if tx.rows(schema.participants, schema.participants.c.email == email):
        raise invalid(email="there is a participant with this address")
    return {"participant_id": add_participant(tx, {}, email=email)}


def _test_study(tx: RequestTransaction, call: RouteRequest) -> Any:
    """Open a draft to test participants, free of charge."""
    row = _find(tx, call)
    if row.status != "UNPUBLISHED":
        raise EmulatorRequestError(400, "Only a draft can be tested")
    test = tx.insert(
        schema.studies,
        **fields(row, "project_id", "workspace_id"),
        status="ACTIVE",
        created_at=tx.now,
        published_at=tx.now,
        excluded=[],
        test_of=row.id,
        body={**row.body, "filters": []},
    )
    return {"study_id": test.id, "study_url": f"{call.base}/emulator/studies/{test.id}/"}


def _export_demographics(tx: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """Export participants' demographic data as CSV, for at most two lists of filters."""
    row = _find(tx, call)
    asked = _ExportBody() if call.body is None else call.read(_ExportBody)
    filters = [one.model_dump(exclude_none=True) for one in asked.filters]
    earlier = _exports(tx, row.id)
    if filters not in earlier:
        if len(earlier) >= MOST_EXPORTS:
            raise EmulatorRequestError(400, f"Demographic data were exported {MOST_EXPORTS} times already")
        tx.insert(schema.exports, study_id=row.id, filters=filters)
    return RouteResponse(text=_as_csv(tx, row.id, [one["filter_id"] for one in filters]), media_type="text/csv")


def _exports(tx: RequestTransaction, study_id: str) -> list[Any]:
    return [row.filters for row in tx.rows(schema.exports, schema.exports.c.study_id == study_id)]


def _export_history(tx: RequestTransaction, call: RouteRequest) -> Any:
    earlier = _exports(tx, _find(tx, call).id)
    return {"count": len(earlier), "filters": earlier[-1] if earlier else []}


def _as_csv(tx: RequestTransaction, study_id: str, names: Sequence[str]) -> str:
    """Return CSV with a row for each submission and the participants' attributes."""
    known = offered(tx)
    asked = [known[name] for name in names or USUAL if name in known]
    people = {row.id: row.attributes for row in tx.rows(schema.participants)}
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*HEAD, "Completion code", *(one["title"] for one in asked)])
    for row in submissions.of_study(tx, study_id):
        times = [iso_time(row.started_at), iso_time(row.completed_at), iso_time(row.reviewed_at)]
        answers = [_format_answer(one, people[row.participant_id].get(one["filter_id"])) for one in asked]
        taken = submissions.seconds_taken(row)
        cells = [row.id, row.participant_id, row.status, *times, taken, row.entered_code, *answers]
        writer.writerow(without_formula(cell) if isinstance(cell, str) else cell for cell in cells)
    return text.getvalue()


def _format_answer(asked: dict[str, Any], value: Any) -> str:
    if value is None:
        return "DATA_EXPIRED"
    choices = asked.get("choices", {})
    return ", ".join(str(choices.get(one, one)) for one in (value if isinstance(value, list) else [value]))


def _screen_out(tx: RequestTransaction, call: RouteRequest) -> Any:
    """Screen submissions out with a bonus; not part of the published description."""
    if not tx.behaviour.screen_out_endpoint:
        raise EmulatorRequestError(404, "Not found.")
    return bonuses.screen_out_with_bonus(tx, call.path["id"], call.read(bonuses.ScreenOutBody))


ROUTES = (
    Route(
        "CreateStudy",
        "POST",
        STUDIES,
        lambda tx, call: studies.representation(tx, studies.create(tx, call.body or {})),
        201,
    ),
    Route("GetStudies", "GET", STUDIES, _list),
    Route("GetProjectStudies", "GET", API + "projects/{project_id}/studies/", _list_of_project),
    Route("GetStudy", "GET", STUDY, lambda tx, call: studies.representation(tx, _find(tx, call))),
    Route("UpdateStudy", "PATCH", STUDY, _change),
    Route("DeleteStudy", "DELETE", STUDY, lambda tx, call: studies.delete(tx, call.path["id"]), 204),
    Route("PublishStudy", "POST", STUDY + "transition/", _move),
    Route("DuplicateStudy", "POST", STUDY + "clone/", _clone),
    Route("GetStudyAccessDetailsProgress", "GET", STUDY + "access-details-progress/", _progress),
    Route("GetStudyCost", "GET", STUDY + "cost/", _cost),
    Route("CalculateStudyCost", "POST", API + "study-cost-calculator/", _calculate_cost),
    Route("GetStudySubmissions", "GET", STUDY + "submissions/", _list_submissions),
    Route("CountStudySubmissionsByStatus", "GET", STUDY + "submissions/counts/", _count_submissions),
    Route("CreateTestParticipantForResearcher", "POST", API + "researchers/participants/", _test_participant, 201),
    Route("CreateTestStudy", "POST", STUDY + "test-study", _test_study),
    Route("CreateTestStudy", "POST", STUDY + "test-study/", _test_study),
    Route("ExportDemographicData", "POST", STUDY + "demographic-export/", _export_demographics),
    Route("GetDemographicExportHistory", "GET", STUDY + "demographic-export-history/", _export_history),
    Route("ScreenOutSubmissions", "POST", STUDY + "screen-out-submissions/", _screen_out),
)
