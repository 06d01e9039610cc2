"""Verifying with the platform that a visitor is the participant whom the URL names, and recording its reply."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

from prolific.api.client import Prolific
from prolific.api.problems import ProlificError, ProlificRequestRefused
from prolific.api.records import SubmissionRecord
from prolific.study_ids import SOURCE
from spa.journal import STARTED, Journal, begin, finish
from spa.responses.store import Store

KIND = "prolific visit"  # in the journal; scope is the keyed hash of the platform's submission
VERIFY = "verify"
Found = Literal["verified", "unverified", "false"]
VERIFIED: Final = "verified"
UNVERIFIED: Final = "unverified"
FALSE: Final = "false"
LEFT_ALONE_SECONDS = 15.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ProlificUrlParameters:
    """The participant, study and submission that a URL names."""

    person: str
    study_id: str
    submission_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The platform's reply about a URL's parameters."""

    found: Found
    reason: str = ""
    record: SubmissionRecord | None = None


class SubmissionVerifier:
    """Verifies visitors, and after a failure stops asking for a while, so that visitors need not wait."""

    def __init__(self, client: Prolific | None, clock: Callable[[], float]) -> None:
        self.client = client
        self._clock = clock
        self._again_at = float("-inf")

    def ask(self, claim: ProlificUrlParameters) -> Verdict:
        """Ask whether a claim is true, unless the platform failed to reply a moment ago."""
        if self._clock() < self._again_at:
            return Verdict(found=UNVERIFIED, reason="Prolific did not answer a moment ago")
        verdict = ask(self.client, claim)
        if verdict.found == UNVERIFIED:
            self._again_at = self._clock() + LEFT_ALONE_SECONDS
        return verdict


def ask(client: Prolific | None, claim: ProlificUrlParameters) -> Verdict:
    """Ask the platform whether a claim is true; "unverified" if it cannot be asked at the moment."""
    if client is None:
        return Verdict(found=UNVERIFIED, reason="there is no token")
    try:
        record = client.submissions.fetch(claim.submission_id)
    except ProlificRequestRefused as error:
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


def note(store: Store, claim: ProlificUrlParameters, verdict: Verdict) -> None:
    """Record the platform's reply in the journal, without personal ids."""
    claimed = json.dumps({"annotator_id": store.person_id(SOURCE, claim.person), "study_id": claim.study_id})
    with store.transaction() as connection:
        call = begin(connection, KIND, store.keyed(claim.submission_id), VERIFY, claimed)
        finish(connection, call, verdict.found, response=verdict.reason or None, facts={})


def last_found(store: Store, submission_id: str, annotator_id: str | None = None) -> Found | None:
    """Return what was found for a submission (by this annotator); ``None`` where nobody claimed it.

    A verified claim stays verified, since a submission never changes its participant.
    """
    found: Found | None = None
    for call in Journal(store).calls(KIND, store.keyed(submission_id), VERIFY):
        claimed = json.loads(call.request)["annotator_id"]
        if call.outcome == STARTED or annotator_id not in (None, claimed):
            continue
        if call.outcome == VERIFIED:
            return VERIFIED
        found = FALSE if call.outcome == FALSE else UNVERIFIED
    return found
