"""Completion codes: random, one for each outcome, source and session, made once and kept."""

from __future__ import annotations

import secrets

from sqlalchemy import Connection, select

from spa.responses.database import note
from spa.responses.outcomes import OUTCOMES, Outcome
from spa.responses.store_schema import meta

CODE_LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"  # none that is mistaken for another
CODE_LENGTH = 10  # 50 bits


def random_code() -> str:
    """Make a code that nobody can guess and that can be typed."""
    return "".join(secrets.choice(CODE_LETTERS) for _ in range(CODE_LENGTH))


def code_source(source: str, session: int) -> str:
    """Return the name under which the codes of a session are kept, so that no two sessions share one.

    >>> code_source("lab", 1), code_source("lab", 2)
    ('lab', 'lab session 2')
    """
    return source if session == 1 else f"{source} session {session}"


def outcome_codes(connection: Connection, source: str) -> dict[Outcome, str]:
    """Return the code of each outcome for the visitors of one source, made once and kept.

    Runs inside the caller's writing transaction, which must hold the lock of the leases.
    """
    prefix = f"code:{source}:"
    stored = {row.name: row.value for row in connection.execute(select(meta).where(meta.c.name.startswith(prefix)))}
    codes: dict[Outcome, str] = {}
    for outcome in OUTCOMES:
        name = f"{prefix}{outcome}"
        if name not in stored:
            stored[name] = random_code()
            note(connection, name, stored[name])
        codes[outcome] = stored[name]
    return codes
