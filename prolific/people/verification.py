"""Whether a visitor is who the address says: the platform is asked, and what it said is on record."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Final, Literal

from prolific.api.client import Prolific
from prolific.api.problems import ProlificError, Refused
from prolific.api.records import SubmissionRecord
from spa.journal import STARTED, Journal, begin, finish
from spa.responses.store import Store

KIND = "prolific visit"  # in the journal; scope is the platform's submission
VERIFY = "verify"
Found = Literal["verified", "unverified", "false"]
VERIFIED: Final = "verified"
UNVERIFIED: Final = "unverified"
FALSE: Final = "false"


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What an address says: this person, in this study, by this submission."""

    person: str
    study_id: str
    submission_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What the platform says of a claim."""

    found: Found
    reason: str = ""
    record: SubmissionRecord | None = None


def ask(client: Prolific | None, claim: Claim) -> Verdict:
    """Ask the platform whether a claim is true.

    "unverified" stands for not knowing: the platform could not be asked, and is to be asked again.
    """
    if client is None:
        return Verdict(found=UNVERIFIED, reason="there is no token")
    try:
        record = client.submissions.fetch(claim.submission_id)
    except Refused as error:
        if error.missing:
            return Verdict(found=FALSE, reason="Prolific has no such submission")
        return Verdict(found=UNVERIFIED, reason=str(error))
    except ProlificError as error:
        return Verdict(found=UNVERIFIED, reason=str(error))
    if record.participant_id != claim.person:
        return Verdict(found=FALSE, reason="the submission is another participant's", record=record)
    if record.study_id != claim.study_id:
        return Verdict(found=FALSE, reason="the submission belongs to another study", record=record)
    return Verdict(found=VERIFIED, record=record)


def note(store: Store, claim: Claim, verdict: Verdict) -> None:
    """Put on record what the platform said; it is on disk when this returns."""
    claimed = json.dumps({"person": claim.person, "study_id": claim.study_id}, sort_keys=True)
    with store.transaction() as connection:
        call = begin(connection, KIND, claim.submission_id, VERIFY, claimed)
        finish(connection, call, verdict.found, response=verdict.reason or None, facts={})


def last_found(journal: Journal, submission_id: str, person: str | None = None) -> Found | None:
    """Return what is known of a submission (and of this person's claim to it); ``None`` where nobody came.

    What was once verified stays so: the platform's submission does not change hands.
    """
    found: Found | None = None
    for call in journal.calls(KIND, submission_id, VERIFY):
        if call.outcome == STARTED or (person is not None and json.loads(call.request).get("person") != person):
            continue
        if call.outcome == VERIFIED:
            return VERIFIED
        found = FALSE if call.outcome == FALSE else UNVERIFIED
    return found


def claims(journal: Journal, submission_id: str | None = None) -> dict[str, Claim]:
    """Return the last claim to each submission that somebody came with, or to one of them."""
    found: dict[str, Claim] = {}
    calls = journal.every(KIND) if submission_id is None else journal.calls(KIND, submission_id, VERIFY)
    for call in calls:
        if call.key == VERIFY:
            said = json.loads(call.request)
            found[call.scope] = Claim(person=said["person"], study_id=said["study_id"], submission_id=call.scope)
    return found
