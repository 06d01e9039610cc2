"""Operations on filters, eligibility counts, participant groups and reward recommendations."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import Field, StrictStr
from sqlalchemy import Row

from prolific.emulator import participant_pool, schema
from prolific.emulator.account_routes import find_workspace
from prolific.emulator.errors import REQUIRED, invalid
from prolific.emulator.request_transaction import RequestTransaction, fields, save_setting, setting
from prolific.emulator.routing import Route, RouteRequest, paginate
from prolific.emulator.study_body import RequestBody, SelectedFilter

DETAILS = ("researcher_help_text", "participant_help_text", "category", "subcategory")
GROUPS = "/api/v1/participant-groups/"
GROUP = GROUPS + "{id}/"


class _CountBody(RequestBody):
    filters: list[SelectedFilter]
    workspace_id: StrictStr | None = None
    organisation_id: StrictStr | None = None


class _GroupBody(RequestBody):
    name: Annotated[StrictStr, Field(min_length=1)]
    workspace_id: StrictStr | None = None
    organisation_id: StrictStr | None = None
    description: StrictStr | None = None
    participant_ids: list[StrictStr] = Field(default_factory=list)


class _GroupChange(RequestBody):
    name: Annotated[StrictStr | None, Field(min_length=1)] = None
    participant_ids: list[StrictStr] | None = None


class _ParticipantIdsBody(RequestBody):
    participant_ids: list[StrictStr]


def _list_filters(tx: RequestTransaction, call: RouteRequest) -> Any:
    detailed = bool(call.boolean("detailed"))
    tag = call.query.get("filter_tag")
    named = {
        "ParticipantGroupID": {row.id: row.name for row in tx.rows(schema.groups, schema.groups.c.deleted == 0)},
        "StudyID": {row.id: row.body.get("internal_name") or row.body["name"] for row in tx.rows(schema.studies)},
    }
    found = []
    for number, one in enumerate(participant_pool.offered(tx).values()):
        if tag is not None and tag not in one.get("tags", []):
            continue
        shown = {name: value for name, value in one.items() if name != "tags"}
        if shown["data_type"] in named:
            shown["choices"] = named[shown["data_type"]]
        if detailed:
            shown |= {name: "" for name in DETAILS} | {"display_order": number, "tags": one.get("tags", [])}
        found.append(shown)
    return {"results": found, "_links": {}, "meta": {"count": len(found)}}


def _count_eligible(tx: RequestTransaction, call: RouteRequest) -> Any:
    """Count the participants who pass the filters; a small number is reported as 0."""
    asked = call.read(_CountBody)
    filters = [one.model_dump(exclude_none=True) for one in asked.filters]
    participant_pool.check_filters(tx, filters)
    if asked.workspace_id is not None:
        find_workspace(tx, asked.workspace_id)
    known = setting(tx.connection, "eligible_counts") or {}
    key = json.dumps(filters, sort_keys=True)
    if not tx.behaviour.eligible_counts_cached or key not in known:
        count = len(participant_pool.eligible(tx, filters))
        known = {**known, key: count if count >= participant_pool.COUNTED_FROM else 0}
        save_setting(tx.connection, "eligible_counts", known)
    return {"count": known[key]}


def _recommend_reward(tx: RequestTransaction, call: RouteRequest) -> Any:
    workspace, currency = call.query.get("workspace_id"), call.query.get("currency")
    if workspace is None or currency not in ("USD", "GBP"):
        raise invalid(currency="expected workspace_id, and currency as USD or GBP")
    find_workspace(tx, workspace)
    rates = {
        "min_reward_per_hour": tx.behaviour.minimum_hourly,
        "recommended_reward_per_hour": tx.behaviour.recommended_hourly,
    }
    if currency == "GBP":  # the platform's figures for pounds are three quarters of those for dollars
        rates = {name: cents * 3 // 4 for name, cents in rates.items()}
    return [{"currency": currency, **rates}]


def _list_groups(tx: RequestTransaction, call: RouteRequest) -> Any:
    c, conditions = schema.groups.c, []
    if "workspace_id" in call.query:
        conditions.append(c.workspace_id == find_workspace(tx, call.query["workspace_id"]).id)
    elif "project_id" not in call.query:
        raise invalid(workspace_id="expected workspace_id or project_id")
    active = call.boolean("active")
    if active is not None and not tx.behaviour.deleted_groups_look_alive:
        conditions.append(c.deleted == (0 if active else 1))
    return paginate(tx, call, tx.rows(schema.groups, *conditions), _group)


def _create_group(tx: RequestTransaction, call: RouteRequest) -> Any:
    asked = call.read(_GroupBody)
    if asked.workspace_id is None:
        raise invalid(workspace_id=REQUIRED)
    workspace = find_workspace(tx, asked.workspace_id)
    row = tx.insert(schema.groups, workspace_id=workspace.id, name=asked.name, description=asked.description)
    _add_people(tx, row.id, asked.participant_ids)
    return _group(tx, row)


def _change_group(tx: RequestTransaction, call: RouteRequest) -> Any:
    row, asked = _find(tx, call), call.read(_GroupChange)
    if asked.name is not None:
        row = tx.update(schema.groups, row.id, name=asked.name)
    if asked.participant_ids is not None:
        for one in participant_pool.group_members(tx, row.id):
            participant_pool.remove_member(tx, row.id, one["participant_id"])
        _add_people(tx, row.id, asked.participant_ids)
    return _group(tx, row)


def _delete_group(tx: RequestTransaction, call: RouteRequest) -> None:
    tx.update(schema.groups, _find(tx, call).id, deleted=1)


def _members(tx: RequestTransaction, call: RouteRequest) -> Any:
    return {"results": participant_pool.group_members(tx, _find(tx, call).id)}


def _add_members(tx: RequestTransaction, call: RouteRequest) -> Any:
    _add_people(tx, _find(tx, call).id, call.read(_ParticipantIdsBody).participant_ids)
    return _members(tx, call)


def _remove_members(tx: RequestTransaction, call: RouteRequest) -> Any:
    row = _find(tx, call)
    for person in call.read(_ParticipantIdsBody).participant_ids:
        participant_pool.remove_member(tx, row.id, person)
    return _members(tx, call)


def _add_people(tx: RequestTransaction, group_id: str, people: Sequence[str]) -> None:
    """Add existing participants to a group; idempotent."""
    known = {row.id for row in tx.rows(schema.participants, schema.participants.c.id.in_(people))}
    unknown = sorted(set(people) - known)
    if unknown:
        raise invalid(participant_ids=[f"no participant {person}" for person in unknown])
    for person in people:
        participant_pool.add_member(tx, group_id, person)


def _find(tx: RequestTransaction, call: RouteRequest) -> Row[Any]:
    return participant_pool.find_group(tx, call.path["id"])


def _group(tx: RequestTransaction, row: Row[Any]) -> dict[str, Any]:
    return {
        **fields(row, "id", "name", "workspace_id", "description"),
        "project_id": None,
        "organisation_id": None,
        "participant_count": len(participant_pool.group_members(tx, row.id)),
        "is_deleted": bool(row.deleted) and not tx.behaviour.deleted_groups_look_alive,
        "feeder_studies": [],
    }


ROUTES = (
    Route("GetFilters", "GET", "/api/v1/filters/", _list_filters),
    Route("GetEligibleCount", "POST", "/api/v1/eligibility-count/", _count_eligible),
    Route("CalculateRewardRecommendations", "GET", "/api/v1/reward-recommendations/", _recommend_reward),
    Route("GetParticipantGroups", "GET", GROUPS, _list_groups),
    Route("CreateParticipantGroup", "POST", GROUPS, _create_group, 201),
    Route("GetParticipantGroup", "GET", GROUP, lambda tx, call: _group(tx, _find(tx, call))),
    Route("UpdateParticipantGroup", "PATCH", GROUP, _change_group),
    Route("DeleteParticipantGroup", "DELETE", GROUP, _delete_group, 204),
    Route("GetParticipantGroupParticipants", "GET", GROUP + "participants/", _members),
    Route("AddToParticipantGroup", "POST", GROUP + "participants/", _add_members),
    Route("RemoveFromParticipantGroup", "DELETE", GROUP + "participants/", _remove_members),
)
