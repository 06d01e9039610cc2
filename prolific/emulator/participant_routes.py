"""The operations on who may take part: filters, counts, groups, collections, and what is fair to pay."""

from __future__ import annotations

import json
from typing import Annotated, Any

from pydantic import Field, StrictStr
from sqlalchemy import Row, select

from prolific.emulator import participant_groups, schema
from prolific.emulator.account_routes import find_workspace
from prolific.emulator.errors import EmulatorRequestError
from prolific.emulator.participant_pool import COUNTED_FROM, check_filters, eligible, offered
from prolific.emulator.request_transaction import RequestTransaction, save_setting, setting
from prolific.emulator.routing import RouteRequest, RouteResponse, Routes, paginate
from prolific.emulator.study_body import RequestBody, SelectedFilter

routes = Routes()
DETAILS = ("researcher_help_text", "participant_help_text", "category", "subcategory")


class CountBody(RequestBody):
    """Filters whose people are to be counted."""

    filters: list[SelectedFilter]
    workspace_id: StrictStr | None = None
    organisation_id: StrictStr | None = None


class GroupBody(RequestBody):
    """A new participant group."""

    name: Annotated[StrictStr, Field(min_length=1)]
    workspace_id: StrictStr | None = None
    organisation_id: StrictStr | None = None
    description: StrictStr | None = None
    participant_ids: list[StrictStr] = Field(default_factory=list)


class GroupChange(RequestBody):
    """What a group is called, and who is in it."""

    name: Annotated[StrictStr | None, Field(min_length=1)] = None
    participant_ids: list[StrictStr] | None = None


class ParticipantIdsBody(RequestBody):
    """Participants' ids."""

    participant_ids: list[StrictStr]


@routes.add("GetFilters", "GET", "/api/v1/filters/")
def list_filters(tx: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """List filters with what they offer."""
    detailed = bool(call.boolean("detailed"))
    tag = call.query.get("filter_tag")
    c = schema.groups.c
    named = {
        "ParticipantGroupID": {
            row.id: row.name
            for row in tx.connection.execute(select(schema.groups).where(c.deleted == 0).order_by(c.number))
        },
        "StudyID": {
            row.id: row.body.get("internal_name") or row.body["name"]
            for row in tx.connection.execute(select(schema.studies).order_by(schema.studies.c.number))
        },
    }
    found = []
    for number, one in enumerate(offered(tx).values()):
        if tag is not None and tag not in one.get("tags", []):
            continue
        shown = {name: value for name, value in one.items() if name != "tags"}
        if shown["data_type"] in named:
            shown["choices"] = named[shown["data_type"]]
        if detailed:
            shown |= {name: "" for name in DETAILS} | {"display_order": number, "tags": one.get("tags", [])}
        found.append(shown)
    return RouteResponse(body={"results": found, "_links": {}, "meta": {"count": len(found)}})


@routes.add("GetEligibleCount", "POST", "/api/v1/eligibility-count/")
def count_eligible(tx: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """Count the people whom filters admit; few of them are counted as none."""
    asked = call.read(CountBody)
    filters = [one.model_dump(exclude_none=True) for one in asked.filters]
    check_filters(tx, filters)
    if asked.workspace_id is not None:
        find_workspace(tx, asked.workspace_id)
    known = setting(tx.connection, "eligible_counts") or {}
    key = json.dumps(filters, sort_keys=True)
    if not tx.behaviour.eligible_counts_cached or key not in known:
        count = len(eligible(tx, filters))
        known = {**known, key: count if count >= COUNTED_FROM else 0}
        save_setting(tx.connection, "eligible_counts", known)
    return RouteResponse(body={"count": known[key]})


@routes.add("CalculateRewardRecommendations", "GET", "/api/v1/reward-recommendations/")
def recommend_reward(tx: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """Say what an hour should be paid, at least and better."""
    workspace, currency = call.query.get("workspace_id"), call.query.get("currency")
    if workspace is None or currency not in ("USD", "GBP"):
        raise EmulatorRequestError(400, {"currency": ["expected workspace_id, and currency as USD or GBP"]})
    find_workspace(tx, workspace)
    pounds = currency == "GBP"  # the platform's figures for pounds are three quarters of those for dollars
    least, better = tx.behaviour.minimum_hourly, tx.behaviour.recommended_hourly
    return RouteResponse(
        body=[
            {
                "currency": currency,
                "min_reward_per_hour": least * 3 // 4 if pounds else least,
                "recommended_reward_per_hour": better * 3 // 4 if pounds else better,
            }
        ]
    )


@routes.add("GetParticipantGroups", "GET", "/api/v1/participant-groups/")
def list_groups(tx: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """List the groups of a workspace."""
    c = schema.groups.c
    query = select(schema.groups).order_by(c.number)
    if "workspace_id" in call.query:
        query = query.where(c.workspace_id == find_workspace(tx, call.query["workspace_id"]).id)
    elif "project_id" not in call.query:
        raise EmulatorRequestError(400, {"workspace_id": ["expected workspace_id or project_id"]})
    active = call.boolean("active")
    if active is not None and not tx.behaviour.deleted_groups_look_alive:
        query = query.where(c.deleted == (0 if active else 1))
    rows = tx.connection.execute(query).all()
    return paginate(tx, call, rows, lambda row: participant_groups.shown(tx, row))


@routes.add("CreateParticipantGroup", "POST", "/api/v1/participant-groups/")
def create_group(tx: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """Keep a new group."""
    asked = call.read(GroupBody)
    if asked.workspace_id is None:
        raise EmulatorRequestError(400, {"workspace_id": ["This field is required."]})
    workspace = find_workspace(tx, asked.workspace_id)
    row = participant_groups.create(tx, workspace.id, asked.name, asked.description, asked.participant_ids)
    return RouteResponse(status=201, body=participant_groups.shown(tx, row))


@routes.add("GetParticipantGroup", "GET", "/api/v1/participant-groups/{id}/")
def show_group(tx: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """Show a group."""
    return RouteResponse(body=participant_groups.shown(tx, participant_groups.find(tx, call.path["id"])))


@routes.add("UpdateParticipantGroup", "PATCH", "/api/v1/participant-groups/{id}/")
def change_group(tx: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """Change what a group is called, or who is in it."""
    row, asked = participant_groups.find(tx, call.path["id"]), call.read(GroupChange)
    if asked.name is not None:
        tx.update(schema.groups, row.id, name=asked.name)
    if asked.participant_ids is not None:
        for one in participant_groups.members(tx, row.id):
            participant_groups.remove_member(tx, row.id, one["participant_id"])
        participant_groups.add(tx, row.id, asked.participant_ids)
    return RouteResponse(body=participant_groups.shown(tx, participant_groups.find(tx, row.id)))


@routes.add("DeleteParticipantGroup", "DELETE", "/api/v1/participant-groups/{id}/")
def delete_group(tx: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """Delete a group."""
    tx.update(schema.groups, participant_groups.find(tx, call.path["id"]).id, deleted=1)
    return RouteResponse(status=204)


@routes.add("GetParticipantGroupParticipants", "GET", "/api/v1/participant-groups/{id}/participants/")
def list_members(tx: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """List who is in a group."""
    return _members(tx, participant_groups.find(tx, call.path["id"]))


@routes.add("AddToParticipantGroup", "POST", "/api/v1/participant-groups/{id}/participants/")
def add_members(tx: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """Add people to a group."""
    row = participant_groups.find(tx, call.path["id"])
    participant_groups.add(tx, row.id, call.read(ParticipantIdsBody).participant_ids)
    return _members(tx, row)


@routes.add("RemoveFromParticipantGroup", "DELETE", "/api/v1/participant-groups/{id}/participants/")
def remove_members(tx: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """Remove people from a group."""
    row = participant_groups.find(tx, call.path["id"])
    for person in call.read(ParticipantIdsBody).participant_ids:
        participant_groups.remove_member(tx, row.id, person)
    return _members(tx, row)


def _members(tx: RequestTransaction, row: Row[Any]) -> RouteResponse:
    return RouteResponse(body={"results": participant_groups.members(tx, row.id)})
