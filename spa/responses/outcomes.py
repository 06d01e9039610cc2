"""How a visit ends, why a place is given up, and the random code that stands for each end."""

from __future__ import annotations

import secrets
from typing import Literal, get_args

from sqlalchemy import Connection, select

from spa.responses.builds import note
from spa.responses.store_schema import meta

Outcome = Literal["completed", "screened_out", "no_consent", "failed_checks", "quota_full"]
COMPLETED: Outcome = "completed"
SCREENED_OUT: Outcome = "screened_out"
NO_CONSENT: Outcome = "no_consent"
FAILED_CHECKS: Outcome = "failed_checks"
QUOTA_FULL: Outcome = "quota_full"
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
WITHDRAWN = "withdrawn"  # the answers were deleted on request; nobody is shown this

TIMED_OUT = "timed_out"  # the deadline passed; a late answer takes the place again if it is free
RETURNED = "returned"  # the person gave the visit back on the platform
STANDBY = "standby"  # every place was taken: answers an assignment whose holder may not finish
REPLACED = "replaced"  # the same person went on in another visit of the platform
NOT_SUBMITTED = "not_submitted"  # finished here, and never submitted on the platform

FORGOTTEN = "forgotten "
CLAIMED = "claimed "  # begins the name of a visit that the platform has not confirmed
CODE_LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"  # none that is mistaken for another
CODE_LENGTH = 10  # 50 bits


def forgotten_name(hashed: str) -> str:
    """Return what stands for a platform's name of a visit, by its keyed hash, once the person is forgotten."""
    return FORGOTTEN + hashed


def claimed_name(hashed: str) -> str:
    """Return what stands for a visit until its platform confirms it, by the keyed hash of what was claimed."""
    return CLAIMED + hashed


def is_claim(external_id: str | None) -> bool:
    """Say whether a visit's name is one that no platform has confirmed."""
    return external_id is not None and external_id.startswith(CLAIMED)


def random_code() -> str:
    """Make a code that nobody can guess and that can be typed."""
    return "".join(secrets.choice(CODE_LETTERS) for _ in range(CODE_LENGTH))


def code_source(source: str, session: int) -> str:
    """Return the name under which the codes of a session are kept, so that no two sessions share one.

    >>> code_source("prolific", 1), code_source("prolific", 2)
    ('prolific', 'prolific session 2')
    """
    return source if session == 1 else f"{source} session {session}"


def outcome_codes(connection: Connection, source: str) -> dict[Outcome, str]:
    """Return the code of each outcome for the visitors of one source, made once and kept.

    Runs inside the caller's writing transaction, which must hold the lock of the leases.
    """
    prefix = f"code:{source}:"
    kept = {row.name: row.value for row in connection.execute(select(meta).where(meta.c.name.startswith(prefix)))}
    codes: dict[Outcome, str] = {}
    for outcome in OUTCOMES:
        name = f"{prefix}{outcome}"
        if name not in kept:
            kept[name] = random_code()
            note(connection, name, kept[name])
        codes[outcome] = kept[name]
    return codes
