"""How a visit ends and why a place is given up."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args

Outcome = Literal["completed", "screened_out", "no_consent", "failed_checks", "quota_full"]
COMPLETED: Outcome = "completed"
SCREENED_OUT: Outcome = "screened_out"
NO_CONSENT: Outcome = "no_consent"
FAILED_CHECKS: Outcome = "failed_checks"
QUOTA_FULL: Outcome = "quota_full"
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
NEVER_ASKED: Mapping[Outcome, str] = {  # why answers to questions that were never shown are missing
    SCREENED_OUT: "screened out",
    QUOTA_FULL: "quota full",
    FAILED_CHECKS: "ended after failed checks",
    NO_CONSENT: "no consent",
}
NEVER_SHOWN = frozenset(NEVER_ASKED.values())  # stored in tables under missing_reason: values, which stay as they are
WITHDRAWN = "withdrawn"  # the answers were deleted on request; nobody is shown this

TIMED_OUT = "timed_out"  # the deadline passed; a late answer takes the place again if it is free
RETURNED = "returned"  # the person gave the visit back on the platform
STANDBY = "standby"  # every place was taken: answers an assignment whose holder may not finish
REPLACED = "replaced"  # the same person went on in another visit of the platform
LATE = "late"  # completed when a study that counts people as they began had passed over the visit
NOT_SUBMITTED = "not_submitted"  # finished here, and never submitted on the platform

FORGOTTEN = "forgotten "
CLAIMED = "claimed "  # begins the name of a visit that the platform has not confirmed


def forgotten_name(hashed: str) -> str:
    """Return what stands for a platform's name of a visit, by its keyed hash, once the person is forgotten."""
    return FORGOTTEN + hashed


def claimed_name(hashed: str) -> str:
    """Return what stands for a visit until its platform confirms it, by the keyed hash of what was claimed."""
    return CLAIMED + hashed


def is_claim(external_id: str | None) -> bool:
    """Return whether a visit's name is one that no platform has confirmed."""
    return external_id is not None and external_id.startswith(CLAIMED)
