"""Messages to participants and requests to return, each sent once."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256

from prolific.api.records import RETURNED, SubmissionRecord
from prolific.idempotent_calls import Facts, UnknownOutcome
from prolific.made import SOURCE
from prolific.prolific_study import ProlificStudy
from spa.errors import StudyError
from spa.journal import JournalEntry

LONGEST = 4000  # characters


def send_message(desk: ProlificStudy, session: int, participant_ids: Sequence[str], body: str) -> int:
    """Write to participants; who was written the same before is left out. Returns how many were written to.

    Raises
    ------
    UnknownOutcome
        If an earlier run was broken off and the platform does not show whether the message went out.
    """
    text = body.strip()
    if not 0 < len(text) <= LONGEST:
        raise StudyError(f"message: wanted 1 to {LONGEST} characters, got {len(text)}")
    study_id = desk.need_study(session)
    sent = 0
    for person in dict.fromkeys(participant_ids):
        annotator_id = desk.store.person_id(SOURCE, person)
        key = f"message {annotator_id} {sha256(text.encode()).hexdigest()[:16]}"
        if desk.once.done(key) is not None:
            continue

        def send(person: str = person) -> Facts:
            desk.platform.submissions.send_message([person], text, study_id)
            return {}

        def find(call: JournalEntry, person: str = person) -> Facts | None:
            return {"seen": "on the platform"} if _was_sent(desk, person, text) else None

        desk.once.carry_out(key, {"to": annotator_id, "body": text}, send=send, find=find)
        sent += 1
    return sent


def ask_return(desk: ProlificStudy, record: SubmissionRecord, reason: str) -> bool:
    """Ask a participant to return a submission, once; returns whether it was asked now."""
    if record.return_requested or record.status == RETURNED:
        return False
    key = f"ask return {desk.store.keyed(record.submission_id)}"

    def send() -> Facts:
        desk.platform.submissions.request_return(record.submission_id, [reason])
        return {}

    def find(call: JournalEntry) -> Facts | None:
        return {} if desk.platform.submissions.fetch(record.submission_id).return_requested else None

    known = desk.once.done(key) is not None
    desk.once.carry_out(key, {"reason": reason}, send=send, find=find)
    return not known


def _was_sent(desk: ProlificStudy, person: str, text: str) -> bool:
    for message in desk.platform.submissions.messages(person):
        body = message.get("body")
        if not isinstance(body, str):
            raise UnknownOutcome(
                f"Prolific: the messages to {person} cannot be read; look there before you write again"
            )
        if body.strip() == text:
            return True
    return False
