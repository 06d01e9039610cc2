"""Publishing a draft, and pausing, resuming and stopping a published study."""

from __future__ import annotations

from prolific.api.client import Transition
from prolific.api.problems import ProlificError
from prolific.api.records import StudyRecord
from prolific.draft import body_digest, study_digest
from prolific.plan import SessionPlan
from prolific.prolific_study import ProlificStudy
from prolific.study_ids import create_key
from spa.journal import JournalEntry
from spa.platforms.idempotent_calls import Content

PUBLISHING = "PUBLISHING"
MOST_POLLS = 90


def check_ready(prolific_study: ProlificStudy, prospect: SessionPlan, session: int, accepted: tuple[str, ...]) -> None:
    """Refuse to publish a study with problems, except in the lines of the checklist named by ``accepted``.

    Raises
    ------
    ProlificError
        With one line for each problem.
    """
    names = {line.name for line in prospect.lines}
    unknown = [name for name in accepted if name not in names]
    if unknown:
        raise ProlificError(
            f"--accept: the checklist has no line {unknown[0]!r}; its lines: {', '.join(sorted(names))}"
        )
    open_lines = [line for line in prospect.lines if line.state != "ok" and line.name not in accepted]
    if open_lines:
        raise ProlificError(
            *(
                f"not published: {line.name}: {line.finding} (accept it with --accept {line.name!r})"
                for line in open_lines
            )
        )
    facts = prolific_study.idempotent_calls.done(create_key(session))
    if facts is not None and study_digest(prolific_study, session, facts) != body_digest(prospect.body):
        raise ProlificError(
            f"not published: the draft of session {session} is not what the study file now says; "
            "bring it up to date with `spa prolific create`"
        )


def publish_study(prolific_study: ProlificStudy, session: int) -> StudyRecord:
    """Publish a draft and wait until the platform has done so; a published study is left as it is.

    Raises
    ------
    ProlificError
        If the platform refuses, for example because the balance is too low; the draft remains.
    """
    study = move_study(prolific_study, session, "PUBLISH")
    study = wait_until_published(prolific_study, study.study_id)
    if study.draft:
        raise ProlificError(
            f"Prolific: study {study.study_id} was to be published and is a draft again; look at it and at the balance "
            "on the platform"
        )
    return study


def move_study(prolific_study: ProlificStudy, session: int, action: Transition) -> StudyRecord:
    """Publish, pause, resume or stop a study, unless its state on the platform shows that this is done."""
    study_id, key = prolific_study.need_study(session), f"{action}, session {session}"
    studies, calls = prolific_study.platform.studies, prolific_study.idempotent_calls
    request = {"study_id": study_id, "action": action}
    study = studies.fetch(study_id)
    if _achieved(action, study):
        calls.acknowledge(key, {"status": study.status})
        if action in ("START", "STOP"):  # between two waves there is nothing to start or stop but the next one
            calls.record(key, request, status=study.status)
        return study

    def send() -> Content:
        nonlocal study
        study = studies.transition(study_id, action)
        return {"status": study.status}

    def find(call: JournalEntry) -> Content | None:
        nonlocal study
        study = studies.fetch(study_id)
        return {"status": study.status} if _achieved(action, study) else None

    calls.execute_call(calls.new_call(key, request, send=send, find=find, state_decides=True))
    return study


def _achieved(action: Transition, study: StudyRecord) -> bool:
    if action == "PUBLISH":
        return not study.draft
    if action == "PAUSE":
        return study.status == "PAUSED"
    if action == "START":
        full = study.places_taken >= study.places
        return study.status == "ACTIVE" or (full and study.status in ("AWAITING REVIEW", "COMPLETED"))
    return study.status in ("AWAITING REVIEW", "COMPLETED")


def wait_until_published(prolific_study: ProlificStudy, study_id: str) -> StudyRecord:
    """Wait until the platform has finished publishing a study."""
    for number in range(MOST_POLLS):
        if number == 1:
            prolific_study.idempotent_calls.announce("Prolific is publishing it; waiting")
        study = prolific_study.platform.studies.fetch(study_id)
        if study.status != PUBLISHING:
            return study
        prolific_study.sleep(prolific_study.poll_seconds)
    raise ProlificError(f"Prolific: study {study_id} is still being published; check `spa prolific status`")
