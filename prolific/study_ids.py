"""The ids of a store's studies on the platform, by its journal."""

from __future__ import annotations

from prolific.idempotent_calls import KIND
from spa.journal import Journal
from spa.platforms.idempotent_calls import DONE

SOURCE = "prolific"  # of visits, in the store


def create_key(session: int) -> str:
    """Return the journal's key of the call that creates a session's study."""
    return f"create study, session {session}"


def study_of(journal: Journal, key: str, session: int) -> str | None:
    """Return the platform's id of a session's study; ``None`` before it is created."""
    calls = journal.calls(KIND, key, create_key(session))
    return next((str(call.facts["study_id"]) for call in reversed(calls) if call.outcome == DONE), None)


def session_of(journal: Journal, key: str, study_id: str, sessions: int) -> int | None:
    """Return the session of a study on the platform; ``None`` where this store did not create it."""
    numbers = range(1, sessions + 1)
    return next((number for number in numbers if study_of(journal, key, number) == study_id), None)
