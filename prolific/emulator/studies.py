"""Studies: drafts, publication, and states."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, cast

from sqlalchemy import Row, func, select

from prolific.emulator import schema, wallet
from prolific.emulator.errors import EmulatorRequestError, invalid
from prolific.emulator.participant_pool import check_filters, excluded
from prolific.emulator.request_transaction import RequestTransaction, fields, iso_time
from prolific.emulator.routing import read_body
from prolific.emulator.study_body import OpenStudyBody, StudyBody, check_https
from prolific.emulator.wallet import number

TAKEN = ("RESERVED", "ACTIVE", "PROCESSING", "AWAITING REVIEW", "APPROVED", "PARTIALLY APPROVED")
RUNNING = ("RESERVED", "ACTIVE", "PROCESSING")
Study = Row[Any]


def find(tx: RequestTransaction, study_id: str) -> Study:
    """Return a study, or refuse the request."""
    return tx.find(schema.studies, study_id, "Study")


def create(tx: RequestTransaction, body: Mapping[str, Any]) -> Study:
    """Create a draft."""
    study = read_body(StudyBody, body)
    project = _project(tx, study.project)
    return tx.insert(
        schema.studies,
        project_id=project.id,
        workspace_id=project.workspace_id,
        status="UNPUBLISHED",
        created_at=tx.now,
        excluded=[],
        body={**_checked(tx, study), "project": project.id},
    )


def _checked(tx: RequestTransaction, study: StudyBody) -> dict[str, Any]:
    """Check a study's URLs, filters and groups, and return the body to store."""
    for url in study.addresses() if tx.behaviour.public_https_required else ():
        try:
            check_https(url, loopback=False)
        except ValueError as error:
            raise invalid(external_study_url=str(error)) from None
    check_filters(tx, [one.model_dump(exclude_none=True) for one in study.filters or []])
    actions = [action for code in study.completion_codes for action in code.actions]
    groups = {action.participant_group for action in actions if action.participant_group is not None}
    unknown = sorted(groups - set(tx.connection.scalars(select(schema.groups.c.id))))
    if unknown:
        raise invalid(completion_codes=[f"no participant group {group}" for group in unknown])
    body = study.model_dump(mode="json")
    for part in [*body["completion_codes"], body]:
        name = "filters" if part is body else "actions"
        part[name] = [{k: v for k, v in one.items() if v is not None} for one in part[name] or []]
    return body


def _project(tx: RequestTransaction, project_id: str | None) -> Row[Any]:
    """Return the project, by default the first one, as on the platform."""
    query = select(schema.projects).order_by(schema.projects.c.number)
    if project_id is not None:
        query = query.where(schema.projects.c.id == project_id)
    row = tx.connection.execute(query.limit(1)).one_or_none()
    if row is None:
        raise invalid(project=f"Project with id {project_id} does not exist")
    return row


def change(tx: RequestTransaction, study_id: str, body: Mapping[str, Any]) -> Study:
    """Change any field of a draft, or the few that can be changed in a published study."""
    row = find(tx, study_id)
    if row.status == "UNPUBLISHED":
        kept = {name: value for name, value in row.body.items() if value is not None}
        if "access_details" in body:
            kept.pop("external_study_url", None)
        if "external_study_url" in body:
            kept.pop("access_details", None)
        study = read_body(StudyBody, {**kept, **body})
        return tx.update(schema.studies, study_id, body={**_checked(tx, study), "project": row.project_id})
    return _change_published(tx, row, body)


def _change_published(tx: RequestTransaction, row: Study, body: Mapping[str, Any]) -> Study:
    asked = read_body(OpenStudyBody, body)
    kept: dict[str, Any] = dict(row.body)
    if asked.reward is not None:
        kept["reward"] = _raised_reward(tx, row, asked.reward)
    if "internal_name" in body:
        kept["internal_name"] = asked.internal_name
    if asked.submissions_config is not None:
        kept["submissions_config"] = asked.submissions_config.model_dump(mode="json")
    places = _more_places(kept, asked)
    kept["total_available_places"] = places
    more = wallet.places_cost(tx, kept, places) - wallet.places_cost(tx, row.body, _places(row))
    if more.total > 0:
        if row.status == "COMPLETED":  # nothing is set aside any more: all free places are to be paid for
            more = wallet.places_cost(tx, kept, places - places_taken(tx, row.id))
        wallet.require(tx, row.workspace_id, more.total)
    changed = tx.update(schema.studies, row.id, body=kept)
    if places > _places(row):
        changed = tx.update(schema.studies, row.id, stopped=0)
        if row.status in ("AWAITING REVIEW", "COMPLETED"):
            set_status(tx, changed, "ACTIVE")
    refresh(tx, row.id)
    return find(tx, row.id)


def _raised_reward(tx: RequestTransaction, row: Study, reward: int) -> int:
    paid = schema.submissions.c
    approved = tx.connection.scalar(select(func.count()).where(paid.study_id == row.id, paid.paid > 0))
    if row.status != "PAUSED" or approved or reward < row.body["reward"]:
        raise invalid(reward="can be raised only, while the study is paused and nobody is approved")
    return reward


def _more_places(kept: dict[str, Any], asked: OpenStudyBody) -> int:
    places = int(kept["total_available_places"])
    if asked.access_details is not None:
        if kept.get("access_details") is None:
            raise invalid(access_details="this study has a single address")
        own = {one["external_url"]: dict(one) for one in kept["access_details"]}
        for detail in asked.access_details:
            known = own.get(detail.external_url)
            if known is not None and asked.total_available_places is None:
                raise invalid(access_details=f"{detail.external_url} is there already")
            if known is None:
                own[detail.external_url] = detail.model_dump(mode="json")
            else:
                known["total_allocation"] += detail.total_allocation
        kept["access_details"] = list(own.values())
        return sum(one["total_allocation"] for one in own.values())
    if asked.total_available_places is None:
        return places
    if kept.get("access_details") is not None:
        raise invalid(total_available_places="expected access_details beside it")
    if asked.total_available_places < places:
        raise invalid(total_available_places=f"can be raised only; it is {places}")
    return asked.total_available_places


def delete(tx: RequestTransaction, study_id: str) -> None:
    """Delete a draft."""
    row = find(tx, study_id)
    if row.status != "UNPUBLISHED":
        raise EmulatorRequestError(400, "Only unpublished studies can be deleted")
    tx.connection.execute(schema.studies.delete().where(schema.studies.c.id == study_id))


def clone(tx: RequestTransaction, study_id: str, *, block_previous: bool) -> Study:
    """Create a draft as a copy of another study."""
    row = find(tx, study_id)
    body = {**row.body, "name": f"{row.body['name']} Copy"}
    if block_previous:
        blocklist = {"filter_id": "previous_studies_blocklist", "selected_values": [row.id]}
        body["filters"] = [*(body["filters"] or []), blocklist]
    return create(tx, {name: value for name, value in body.items() if value is not None})


def transition(tx: RequestTransaction, study_id: str, action: str) -> Study:
    """Publish, pause, start or stop a study."""
    row = find(tx, study_id)
    allowed = {
        "PUBLISH": ("UNPUBLISHED",),
        "PAUSE": ("ACTIVE",),
        "START": ("PAUSED", "AWAITING REVIEW"),
        "STOP": ("ACTIVE", "PAUSED", "AWAITING REVIEW"),
    }
    if action not in allowed:
        raise invalid(action=f"expected one of {', '.join(allowed)}, got {action}")
    if row.status not in allowed[action]:
        raise EmulatorRequestError(400, f"{action} is not possible while the study is {row.status}")
    if action == "PUBLISH":
        _publish(tx, row)
    elif action == "PAUSE":
        set_status(tx, row, "PAUSED")
    elif action == "START":
        if row.status == "AWAITING REVIEW" and (row.stopped or places_taken(tx, row.id) >= _places(row)):
            raise EmulatorRequestError(400, "No places are free; increase total_available_places")
        set_status(tx, row, "ACTIVE")
    else:
        set_status(tx, tx.update(schema.studies, row.id, stopped=1), "AWAITING REVIEW")
    refresh(tx, study_id)
    return find(tx, study_id)


def _publish(tx: RequestTransaction, row: Study) -> None:
    """Reserve the money for all places and schedule the publication."""
    wallet.require(tx, row.workspace_id, wallet.places_cost(tx, row.body, _places(row)).total)
    tx.update(schema.studies, row.id, excluded=excluded(tx, row.body["filters"] or []))
    set_status(tx, row, "PUBLISHING")
    tx.schedule("publish", row.id)


def become_active(tx: RequestTransaction, study_id: str) -> None:
    """Finish a publication."""
    row = find(tx, study_id)
    if row.status == "PUBLISHING":
        tx.update(schema.studies, row.id, published_at=tx.now)
        set_status(tx, row, "ACTIVE")


def set_status(tx: RequestTransaction, row: Study, status: str) -> None:
    """Change a study's status and publish the event."""
    if row.status == status:
        return
    tx.update(schema.studies, row.id, status=status)
    facts = {"status": status, "metadata": row.body.get("metadata")}
    tx.publish_event(row.workspace_id, "study.status.change", row.id, **facts)


def refresh(tx: RequestTransaction, study_id: str) -> None:
    """Update a study's status after a change of its submissions."""
    row = find(tx, study_id)
    if row.test_of is not None:
        return
    found = counts(tx, study_id)
    running = sum(found[status] for status in RUNNING)
    full = sum(found[status] for status in TAKEN) >= _places(row)
    if row.status == "ACTIVE" and full and (not running or tx.behaviour.awaiting_review_when_full):
        set_status(tx, row, "AWAITING REVIEW")
        row = find(tx, study_id)
    finished = (full or row.stopped) and not running and not found["AWAITING REVIEW"]
    if row.status == "AWAITING REVIEW" and finished:
        set_status(tx, row, "COMPLETED")


def counts(tx: RequestTransaction, study_id: str) -> Counter[str]:
    """Return how many submissions of a study have each status."""
    c = schema.submissions.c
    query = select(c.status, func.count()).where(c.study_id == study_id).group_by(c.status)
    return Counter({row[0]: row[1] for row in tx.connection.execute(query)})


def places_taken(tx: RequestTransaction, study_id: str) -> int:
    """Return how many places of a study are taken."""
    found = counts(tx, study_id)
    return sum(found[status] for status in TAKEN)


def _places(row: Study) -> int:
    return cast(int, row.body["total_available_places"])


def representation(tx: RequestTransaction, row: Study) -> dict[str, Any]:
    """Return a study as the platform shows it."""
    gone = {"external_study_url", "access_details", "content_warning_details"}
    body = {name: value for name, value in row.body.items() if value is not None or name not in gone}
    return {**body, **_facts(tx, row), "filter_set_id": None, "filter_set_version": None}


def list_entry(tx: RequestTransaction, row: Study) -> dict[str, Any]:
    """Return a study as a list shows it."""
    names = ("name", "internal_name", "study_type", "total_available_places", "reward", "metadata")
    return {**{name: row.body.get(name) for name in names}, **_facts(tx, row)}


def _facts(tx: RequestTransaction, row: Study) -> dict[str, Any]:
    found = counts(tx, row.id)
    return {
        **fields(row, "id", "status"),
        "project": row.project_id,
        "workspace": row.workspace_id,
        "places_taken": sum(found[status] for status in TAKEN),
        "number_of_submissions": found.total(),
        "total_cost": number(wallet.places_cost(tx, row.body, _places(row)).total),
        "date_created": iso_time(row.created_at),
        "published_at": iso_time(row.published_at),
        "publish_at": None,
    }
