"""Submissions of participants to studies, from taking a place to entering a code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Row, func, select

from prolific.emulator import schema, studies
from prolific.emulator.errors import EmulatorRequestError, invalid
from prolific.emulator.participant_pool import add_member, is_eligible, remove_member, took_part
from prolific.emulator.request_transaction import RequestTransaction, fields, iso_time

Submission = Row[Any]
NO_CODE = "NOCODE"
MINUTE = 60.0
DEVICES = ("desktop", "tablet", "mobile")
OPEN = ("RESERVED", "ACTIVE")
STATUSES = (
    "RESERVED", "ACTIVE", "AWAITING REVIEW", "APPROVED", "PARTIALLY APPROVED", "RETURNED", "REJECTED", "TIMED-OUT",
    "SCREENED OUT",
)  # fmt: skip


def find(tx: RequestTransaction, submission_id: str) -> Submission:
    """Return a submission, or refuse the request."""
    return tx.find(schema.submissions, submission_id, "Submission")


def of_study(tx: RequestTransaction, study_id: str) -> Sequence[Submission]:
    """Return all submissions of a study, the oldest first."""
    return tx.rows(schema.submissions, schema.submissions.c.study_id == study_id)


def take(tx: RequestTransaction, study_id: str, participant_id: str, *, device: str = "desktop") -> Submission:
    """Reserve a place for a participant; refuse if the study is not active or full, or excludes them."""
    study = studies.find(tx, study_id)
    person = tx.find(schema.participants, participant_id, "Participant")
    if device not in DEVICES:
        raise invalid(device=f"expected one of {', '.join(DEVICES)}, got {device}")
    if study.status != "ACTIVE":
        raise EmulatorRequestError(409, f"This study takes nobody in while it is {study.status}")
    allowed = study.body["device_compatibility"]
    if allowed and device not in allowed:
        raise EmulatorRequestError(409, f"This study is for {', '.join(allowed)}, not for {device}")
    if (study.test_of is not None) != (person.email is not None):
        raise EmulatorRequestError(409, "Test studies are for test participants, and other studies are not")
    if participant_id in study.excluded or not is_eligible(tx, study.body["filters"], person.id, person.attributes):
        raise EmulatorRequestError(409, "This person is not eligible")
    _check_often(tx, study, participant_id)
    _check_collections(tx, study, participant_id)
    if studies.places_taken(tx, study_id) >= study.body["total_available_places"]:
        raise EmulatorRequestError(409, "This study is full")
    row = tx.insert(
        schema.submissions,
        study_id=study_id,
        participant_id=participant_id,
        status="RESERVED",
        place_url=_place_url(tx, study),
        listed_from=tx.request + tx.behaviour.list_lag_requests,
        reserved_at=tx.now,
        review={},
    )
    _publish_events(tx, row)
    studies.refresh(tx, study_id)
    return row


def _check_often(tx: RequestTransaction, study: Row[Any], participant_id: str) -> None:
    c = schema.submissions.c
    own = tx.rows(schema.submissions, c.study_id == study.id, c.participant_id == participant_id)
    config = study.body["submissions_config"]
    most, at_once = config["max_submissions_per_participant"] or 1, config["max_concurrent_submissions"]
    if any(row.status in studies.RUNNING for row in own):
        raise EmulatorRequestError(409, "This person is taking part already")
    if most != -1 and len(own) >= most:
        raise EmulatorRequestError(409, "This person has taken part already")
    running = tx.connection.scalar(select(func.count()).where(c.study_id == study.id, c.status.in_(studies.RUNNING)))
    if at_once not in (None, -1) and (running or 0) >= at_once:
        raise EmulatorRequestError(409, "As many people as allowed are taking part at this moment")


def _check_collections(tx: RequestTransaction, study: Row[Any], participant_id: str) -> None:
    collections = tx.rows(schema.collections, schema.collections.c.deleted == 0)
    others = {one for collection in collections if study.id in collection.study_ids for one in collection.study_ids}
    if participant_id in took_part(tx, sorted(others - {study.id})):
        raise EmulatorRequestError(409, "This person has taken part in a study that excludes this one")


def _place_url(tx: RequestTransaction, study: Row[Any]) -> str | None:
    """Return the URL with the smallest share of its places taken; None for a study with a single URL."""
    if study.body.get("access_details") is None:
        return None
    taken = allocated(tx, study)
    free = [one for one in study.body["access_details"] if taken.get(one["external_url"], 0) < one["total_allocation"]]
    chosen = min(free, key=lambda one: taken.get(one["external_url"], 0) / one["total_allocation"])
    return str(chosen["external_url"])


def allocated(tx: RequestTransaction, study: Row[Any]) -> dict[str, int]:
    """Return how many places of each URL are taken."""
    c = schema.submissions.c
    taken = (c.study_id == study.id, c.status.in_(studies.TAKEN))
    query = select(c.place_url, func.count()).where(*taken).group_by(c.place_url)
    return {url: count for url, count in tx.connection.execute(query)}


def start(tx: RequestTransaction, submission_id: str) -> Submission:
    """Start a reserved submission; idempotent."""
    row = find(tx, submission_id)
    if row.status == "RESERVED":
        return set_status(tx, tx.update(schema.submissions, row.id, started_at=tx.now), "ACTIVE")
    return row


def complete(tx: RequestTransaction, submission_id: str, code: str | None) -> Submission:
    """Complete a submission with the code entered; ``None`` for a participant who has none.

    A submission with an unknown code, or none, waits for review.
    """
    row = find(tx, submission_id)
    late = row.status == "TIMED-OUT" and tx.behaviour.late_code_accepted
    if row.status != "ACTIVE" and not late:
        raise EmulatorRequestError(409, f"No code is taken while the submission is {row.status}")
    entered = NO_CODE if code is None else code
    row = tx.update(schema.submissions, row.id, entered_code=entered, completed_at=tx.now)
    if tx.behaviour.processing_status:
        tx.schedule("leave_processing", [row.id, code])
        return set_status(tx, row, "PROCESSING")
    return _apply_code(tx, row, code)


def leave_processing(tx: RequestTransaction, submission_id: str, code: str | None) -> None:
    """Apply the code of a submission at the end of the status PROCESSING."""
    row = find(tx, submission_id)
    if row.status == "PROCESSING":
        _apply_code(tx, row, code)


def _apply_code(tx: RequestTransaction, row: Submission, code: str | None) -> Submission:
    codes = studies.find(tx, row.study_id).body["completion_codes"]
    known = (one["actions"] for one in codes if one["code"] == code and one["actor"] == "participant")
    return apply_code_actions(tx, row, next(known, []))


def apply_code_actions(tx: RequestTransaction, row: Submission, actions: list[dict[str, Any]]) -> Submission:
    """Apply the actions of a completion code."""
    status, changes = "AWAITING REVIEW", dict[str, Any]()
    pause = False
    for action in actions:
        match action["action"]:
            case "AUTOMATICALLY_APPROVE":
                reward = studies.find(tx, row.study_id).body["reward"]
                status, changes = "APPROVED", {"paid": reward, "reviewed_at": tx.now}
            case "ADD_TO_PARTICIPANT_GROUP":
                add_member(tx, action["participant_group"], row.participant_id)
            case "REMOVE_FROM_PARTICIPANT_GROUP":
                remove_member(tx, action["participant_group"], row.participant_id)
            case "REQUEST_RETURN":
                changes = {**changes, "return_requested": tx.now}
            case "FIXED_SCREEN_OUT_PAYMENT":
                used = studies.counts(tx, row.study_id)["SCREENED OUT"] + 1
                status, pause = "SCREENED OUT", used >= action["slots"]
                changes = {"paid": action["fixed_screen_out_reward"], "reviewed_at": tx.now}
    if changes:
        tx.update(schema.submissions, row.id, **changes)
    done = set_status(tx, row, status)
    study = studies.find(tx, row.study_id)
    if pause and study.status == "ACTIVE":
        studies.set_status(tx, study, "PAUSED")
    return done


def give_back(tx: RequestTransaction, submission_id: str) -> Submission:
    """Return a submission."""
    row = find(tx, submission_id)
    if row.status == "RETURNED":
        return row
    if row.status not in (*OPEN, "AWAITING REVIEW"):
        raise EmulatorRequestError(409, f"A submission that is {row.status} cannot be returned")
    return set_status(tx, row, "RETURNED")


def time_out(tx: RequestTransaction, submission_id: str) -> Submission:
    """Let a submission time out."""
    row = find(tx, submission_id)
    if row.status not in OPEN:
        raise EmulatorRequestError(409, f"A submission that is {row.status} cannot time out")
    return set_status(tx, row, "TIMED-OUT")


def set_status(tx: RequestTransaction, row: Submission, status: str) -> Submission:
    """Change a submission's status, publish events, and update the study."""
    if row.status != status:
        _publish_events(tx, tx.update(schema.submissions, row.id, status=status))
        studies.refresh(tx, row.study_id)
    return find(tx, row.id)


def _publish_events(tx: RequestTransaction, row: Submission) -> None:
    study = studies.find(tx, row.study_id)
    facts = {"participant_id": row.participant_id, "status": row.status}
    tx.publish_event(study.workspace_id, "submission.status.change", row.id, **facts)
    total = study.body["total_available_places"]
    progress = {"places_taken": studies.places_taken(tx, study.id), "total_available_places": total}
    tx.publish_event(study.workspace_id, "study.progress.change", study.id, **progress)


def study_url(tx: RequestTransaction, row: Submission) -> str:
    """Return the study's URL for a participant, with its placeholders replaced."""
    study = studies.find(tx, row.study_id)
    url = str(row.place_url or study.body["external_study_url"])
    known = {"PROLIFIC_PID": row.participant_id, "STUDY_ID": row.study_id, "SESSION_ID": row.id}
    for name, value in known.items():
        url = url.replace(f"{{{{%{name}%}}}}", value)
    return url


def ends_at(tx: RequestTransaction, row: Submission) -> float | None:
    """Return when the submission times out; None if it cannot any more."""
    if row.status == "RESERVED":
        return float(row.reserved_at + tx.behaviour.reservation_seconds)
    if row.status == "ACTIVE":
        minutes = studies.find(tx, row.study_id).body["maximum_allowed_time"]
        return float(row.started_at + minutes * MINUTE)
    return None


def bonuses(tx: RequestTransaction, submission_id: str) -> list[int]:
    """Return the bonuses that were paid to a submission, in cents."""
    c = schema.bonus_payments.c
    query = select(c.cents).where(c.submission_id == submission_id, c.paid_at.is_not(None)).order_by(c.number)
    return list(tx.connection.scalars(query))


def began(row: Submission) -> float:
    """Return when the participant opened the study or, before that, took the place."""
    return float(row.started_at if row.started_at is not None else row.reserved_at)


def seconds_taken(row: Submission) -> int | None:
    """Return the duration of a completed submission, in whole seconds."""
    return None if row.completed_at is None else int(row.completed_at - began(row))


def representation(tx: RequestTransaction, row: Submission) -> dict[str, Any]:
    """Return a submission as the platform shows a single one."""
    return {
        **_facts(tx, row),
        "participant": row.participant_id,
        "entered_code": row.entered_code,
        "parent_study_id": None,
    }


def list_entry(tx: RequestTransaction, row: Submission) -> dict[str, Any]:
    """Return a submission as a list shows it, under other names."""
    unused = {"has_siblings": False, "star_awarded": False, "strata": {}, "ip": ""}
    return {**_facts(tx, row), "participant_id": row.participant_id, "study_code": row.entered_code, **unused}


def _facts(tx: RequestTransaction, row: Submission) -> dict[str, Any]:
    return {
        **fields(row, "id", "study_id", "status"),
        "started_at": iso_time(began(row)),
        "completed_at": iso_time(row.completed_at),
        "return_requested": iso_time(row.return_requested),
        "bonus_payments": bonuses(tx, row.id),
        "time_taken": seconds_taken(row),
        "reward": row.paid,
    }
