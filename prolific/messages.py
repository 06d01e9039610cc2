"""Messages to participants and requests to return, each sent once."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256

from prolific.api.records import RETURNED, SubmissionRecord
from prolific.idempotent_calls import UnknownOutcome
from prolific.prolific_study import ProlificStudy
from prolific.study_ids import SOURCE
from spa.errors import StudyError
from spa.journal import JournalEntry
from spa.platforms.idempotent_calls import Content

LONGEST = 4000  # characters


def send_message(prolific_study: ProlificStudy, session: int, participant_ids: Sequence[str], body: str) -> int:
    """Send a message to participants who have not received the same before; return how many these were.

    Raises
    ------
    UnknownOutcome
        If an earlier run was interrupted and the platform does not show whether the message was sent.
    """
    text = body.strip()
    if not 0 < len(text) <= LONGEST:
        raise StudyError(f"message: expected 1 to {LONGEST} characters, got {len(text)}")
    study_id, calls = prolific_study.need_study(session), prolific_study.idempotent_calls
    sent = 0
    for person in dict.fromkeys(participant_ids):
        annotator_id = prolific_study.store.person_id(SOURCE, person)
        key = f"message {annotator_id} {sha256(text.encode()).hexdigest()[:16]}"
        if calls.done(key) is not None:
            continue

        def send(person: str = person) -> Content:
            prolific_study.platform.submissions.send_message([person], text, study_id)
            return {}

        def find(call: JournalEntry, person: str = person) -> Content | None:
            return {"seen": "on the platform"} if _was_sent(prolific_study, person, text) else None

        calls.execute_call(calls.new_call(key, {"to": annotator_id, "body": text}, send=send, find=find))
        sent += 1
    return sent


def ask_return(prolific_study: ProlificStudy, record: SubmissionRecord, reason: str) -> bool:
    """Ask a participant to return a submission, once; return whether this call asked."""
    if record.return_requested or record.status == RETURNED:
        return False
    calls, key = prolific_study.idempotent_calls, f"ask return {prolific_study.store.keyed(record.submission_id)}"

    def send() -> Content:
        prolific_study.platform.submissions.request_return(record.submission_id, [reason])
        return {}

    def find(call: JournalEntry) -> Content | None:
        return {} if prolific_study.platform.submissions.fetch(record.submission_id).return_requested else None

    known = calls.done(key) is not None
    calls.execute_call(calls.new_call(key, {"reason": reason}, send=send, find=find))
    return not known


def _was_sent(prolific_study: ProlificStudy, person: str, text: str) -> bool:
    for message in prolific_study.platform.submissions.messages(person):
        body = message.get("body")
        if not isinstance(body, str):
            raise UnknownOutcome(
                f"Prolific: the messages to {person} cannot be read; look there before you write again"
            )
        if body.strip() == text:
            return True
    return False
