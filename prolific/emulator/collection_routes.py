"""The operations on collections of studies that exclude each other."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, StrictStr
from sqlalchemy import Row, select

from prolific.emulator import schema, studies, wallet
from prolific.emulator.account_routes import find_project
from prolific.emulator.errors import EmulatorRequestError, not_found
from prolific.emulator.fees import Cost, whole
from prolific.emulator.ids import new_id
from prolific.emulator.request_transaction import RequestTransaction
from prolific.emulator.routing import RouteRequest, RouteResponse, Routes
from prolific.emulator.study_body import RequestBody

routes = Routes()
PATH = "/api/v1/study-collections/mutually-exclusive/"


class CollectionBody(RequestBody):
    """A new collection."""

    name: Annotated[StrictStr, Field(min_length=1)]
    description: StrictStr
    project_id: StrictStr
    study_ids: list[StrictStr] = Field(default_factory=list)


class CollectionChange(RequestBody):
    """What is to be changed."""

    name: Annotated[StrictStr | None, Field(min_length=1)] = None
    description: StrictStr | None = None
    publish_at: None = None  # a time to publish at is not modelled
    study_ids: list[StrictStr] | None = None


class CollectionTransitionBody(RequestBody):
    """What is to become of a collection."""

    action: StrictStr
    publish_at: StrictStr | None = None


@routes.add("ListMutuallyExclusiveStudyCollections", "GET", PATH)
def list_collections(tx: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """List the collections of a project."""
    if "project_id" not in call.query:
        raise EmulatorRequestError(400, {"project_id": ["This field is required."]})
    project = find_project(tx, call.query["project_id"])
    c = schema.collections.c
    query = select(schema.collections).where(c.project_id == project.id, c.deleted == 0).order_by(c.number)
    return RouteResponse(body={"results": [_short(tx, row) for row in tx.connection.execute(query).all()]})


@routes.add("CreateMutuallyExclusiveStudyCollection", "POST", PATH)
def create_collection(tx: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """Keep a collection of drafts of one project."""
    asked = call.read(CollectionBody)
    project = find_project(tx, asked.project_id)
    _check_drafts(tx, project.id, asked.study_ids)
    collection = new_id()
    tx.insert(
        schema.collections,
        id=collection,
        project_id=project.id,
        name=asked.name,
        description=asked.description,
        study_ids=asked.study_ids,
    )
    return RouteResponse(status=201, body=_short(tx, _find(tx, collection)))


@routes.add("GetMutuallyExclusiveStudyCollection", "GET", PATH + "{id}/")
def show_collection(tx: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """Show a collection."""
    return RouteResponse(body=_shown(tx, _find(tx, call.path["id"])))


@routes.add("UpdateMutuallyExclusiveStudyCollection", "PATCH", PATH + "{id}/")
def change_collection(tx: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """Change a collection; its studies only while they are drafts."""
    row, asked = _find(tx, call.path["id"]), call.read(CollectionChange)
    changes = {name: value for name, value in asked.model_dump().items() if value is not None}
    if asked.study_ids is not None:
        _check_drafts(tx, row.project_id, row.study_ids)
        _check_drafts(tx, row.project_id, asked.study_ids)
    if changes:
        tx.update(schema.collections, row.id, **changes)
    return RouteResponse(body=_shown(tx, _find(tx, row.id)))


@routes.add("DeleteMutuallyExclusiveStudyCollection", "DELETE", PATH + "{id}/")
def delete_collection(tx: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """Forget a collection of drafts."""
    row = _find(tx, call.path["id"])
    _check_drafts(tx, row.project_id, row.study_ids)
    tx.update(schema.collections, row.id, deleted=1)
    return RouteResponse(status=204)


@routes.add("TransitionMutuallyExclusiveStudyCollection", "POST", PATH + "{id}/transition/")
def publish_collection(tx: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """Publish all studies of a collection together; nobody takes part in two of them."""
    row, asked = _find(tx, call.path["id"]), call.read(CollectionTransitionBody)
    if asked.action != "PUBLISH":
        raise EmulatorRequestError(400, {"action": ["only PUBLISH is modelled here"]})
    if not row.study_ids:
        raise EmulatorRequestError(400, {"study_ids": ["This collection is empty."]})
    _check_drafts(tx, row.project_id, row.study_ids)
    for study_id in row.study_ids:
        studies.transition(tx, study_id, "PUBLISH")
    return RouteResponse(body=_shown(tx, _find(tx, row.id)))


def _find(tx: RequestTransaction, collection_id: str) -> Row[Any]:
    row = tx.find(schema.collections, collection_id, "Study collection")
    if row.deleted:
        raise not_found("Study collection", collection_id)
    return row


def _check_drafts(tx: RequestTransaction, project_id: str, study_ids: list[str]) -> None:
    for study_id in study_ids:
        study = studies.find(tx, study_id)
        if study.project_id != project_id or study.status != "UNPUBLISHED":
            raise EmulatorRequestError(400, {"study_ids": [f"{study_id} is not a draft of this project"]})


def _status(tx: RequestTransaction, row: Row[Any]) -> str:
    found = {studies.find(tx, study_id).status for study_id in row.study_ids} or {"UNPUBLISHED"}
    for status in ("PUBLISHING", "ACTIVE", "PAUSED", "UNPUBLISHED"):
        if status in found:
            return status
    return "AWAITING_REVIEW"


def _short(tx: RequestTransaction, row: Row[Any]) -> dict[str, Any]:
    names = ("id", "name", "description", "study_ids")
    return {**{name: getattr(row, name) for name in names}, "status": _status(tx, row), "publish_at": None}


def _shown(tx: RequestTransaction, row: Row[Any]) -> dict[str, Any]:
    cost = Cost()
    for study_id in row.study_ids:
        body = studies.find(tx, study_id).body
        cost += wallet.places_cost(tx, body, body["total_available_places"])
    return {**_short(tx, row), "estimated_cost": str(whole(cost.total)), "total_cost": str(whole(cost.total))}
