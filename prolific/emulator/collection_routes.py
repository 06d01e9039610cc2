"""Operations on collections of mutually exclusive studies."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, StrictStr
from sqlalchemy import Row

from prolific.emulator import schema, studies, wallet
from prolific.emulator.account_routes import find_project
from prolific.emulator.errors import REQUIRED, invalid, not_found
from prolific.emulator.request_transaction import RequestTransaction, fields
from prolific.emulator.routing import Route, RouteRequest
from prolific.emulator.study_body import RequestBody
from prolific.emulator.wallet import Cost, whole

COLLECTIONS = "/api/v1/study-collections/mutually-exclusive/"
COLLECTION = COLLECTIONS + "{id}/"


class _CollectionBody(RequestBody):
    name: Annotated[StrictStr, Field(min_length=1)]
    description: StrictStr
    project_id: StrictStr
    study_ids: list[StrictStr] = Field(default_factory=list)


class _CollectionChange(RequestBody):
    name: Annotated[StrictStr | None, Field(min_length=1)] = None
    description: StrictStr | None = None
    publish_at: None = None  # a time to publish at is not modelled
    study_ids: list[StrictStr] | None = None


class _CollectionTransitionBody(RequestBody):
    action: StrictStr
    publish_at: StrictStr | None = None


def _list(tx: RequestTransaction, call: RouteRequest) -> Any:
    if "project_id" not in call.query:
        raise invalid(project_id=REQUIRED)
    c = schema.collections.c
    project = find_project(tx, call.query["project_id"])
    rows = tx.rows(schema.collections, c.project_id == project.id, c.deleted == 0)
    return {"results": [_short(tx, row) for row in rows]}


def _create(tx: RequestTransaction, call: RouteRequest) -> Any:
    asked = call.read(_CollectionBody)
    project = find_project(tx, asked.project_id)
    _check_drafts(tx, project.id, asked.study_ids)
    return _short(tx, tx.insert(schema.collections, **asked.model_dump()))


def _change(tx: RequestTransaction, call: RouteRequest) -> Any:
    """Change a collection; its studies can be changed only while they are drafts."""
    row, asked = _find(tx, call), call.read(_CollectionChange)
    if asked.study_ids is not None:
        _check_drafts(tx, row.project_id, row.study_ids + asked.study_ids)
    changes = asked.model_dump(exclude_none=True)
    return _full(tx, tx.update(schema.collections, row.id, **changes) if changes else row)


def _delete(tx: RequestTransaction, call: RouteRequest) -> None:
    row = _find(tx, call)
    _check_drafts(tx, row.project_id, row.study_ids)
    tx.update(schema.collections, row.id, deleted=1)


def _publish(tx: RequestTransaction, call: RouteRequest) -> Any:
    """Publish all studies of a collection together."""
    row, asked = _find(tx, call), call.read(_CollectionTransitionBody)
    if asked.action != "PUBLISH":
        raise invalid(action="only PUBLISH is modelled here")
    if not row.study_ids:
        raise invalid(study_ids="This collection is empty.")
    _check_drafts(tx, row.project_id, row.study_ids)
    for study_id in row.study_ids:
        studies.transition(tx, study_id, "PUBLISH")
    return _full(tx, row)


def _find(tx: RequestTransaction, call: RouteRequest) -> Row[Any]:
    row = tx.find(schema.collections, call.path["id"], "Study collection")
    if row.deleted:
        raise not_found("Study collection", row.id)
    return row


def _check_drafts(tx: RequestTransaction, project_id: str, study_ids: list[str]) -> None:
    for study_id in study_ids:
        study = studies.find(tx, study_id)
        if study.project_id != project_id or study.status != "UNPUBLISHED":
            raise invalid(study_ids=f"{study_id} is not a draft of this project")


def _status(tx: RequestTransaction, row: Row[Any]) -> str:
    found = {studies.find(tx, study_id).status for study_id in row.study_ids} or {"UNPUBLISHED"}
    order = ("PUBLISHING", "ACTIVE", "PAUSED", "UNPUBLISHED")
    return next((status for status in order if status in found), "AWAITING_REVIEW")


def _short(tx: RequestTransaction, row: Row[Any]) -> dict[str, Any]:
    facts = fields(row, "id", "name", "description", "study_ids")
    return {**facts, "status": _status(tx, row), "publish_at": None}


def _full(tx: RequestTransaction, row: Row[Any]) -> dict[str, Any]:
    bodies = [studies.find(tx, study_id).body for study_id in row.study_ids]
    cost = sum((wallet.places_cost(tx, body, body["total_available_places"]) for body in bodies), Cost())
    return {**_short(tx, row), "estimated_cost": str(whole(cost.total)), "total_cost": str(whole(cost.total))}


ROUTES = (
    Route("ListMutuallyExclusiveStudyCollections", "GET", COLLECTIONS, _list),
    Route("CreateMutuallyExclusiveStudyCollection", "POST", COLLECTIONS, _create, 201),
    Route("GetMutuallyExclusiveStudyCollection", "GET", COLLECTION, lambda tx, call: _full(tx, _find(tx, call))),
    Route("UpdateMutuallyExclusiveStudyCollection", "PATCH", COLLECTION, _change),
    Route("DeleteMutuallyExclusiveStudyCollection", "DELETE", COLLECTION, _delete, 204),
    Route("TransitionMutuallyExclusiveStudyCollection", "POST", COLLECTION + "transition/", _publish),
)
