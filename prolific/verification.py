"""Verifying with the platform that a visitor is the participant whom the URL names, and recording its reply."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final, Literal

from prolific.api.client import Prolific
from prolific.api.problems import ProlificError, ProlificRequestRefused
from prolific.api.records import REJECTED, RETURNED, TIMED_OUT, SubmissionRecord
from prolific.study_ids import SOURCE
from spa.journal import STARTED, Journal, begin, finish
from spa.responses.store import Store
from spa.responses.visits import PersonVisit
from spa.server.rate_limits import Buckets, Rate

KIND = "prolific visit"  # in the journal; scope is the keyed hash of the platform's submission
VERIFY = "verify"
VerificationOutcome = Literal["verified", "unverified", "false"]
VERIFIED: Final = "verified"
UNVERIFIED: Final = "unverified"
FALSE: Final = "false"
LEFT_ALONE_SECONDS = 15.0
DENIED_SECONDS = 300.0  # after which a claim that was false may have become true
MOST_DENIED = 10_000
REQUESTS = Rate(burst=100, a_second=2)  # about visitors, of all; a study may be published to hundreds
UNCOUNTED = frozenset({RETURNED, TIMED_OUT, REJECTED})
OF_EVERYBODY = frozenset({HTTPStatus.UNAUTHORIZED, HTTPStatus.TOO_MANY_REQUESTS})


@dataclass(frozen=True, slots=True, kw_only=True)
class ProlificUrlParameters:
    """The participant, study and submission that a URL names."""

    person: str
    study_id: str
    submission_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The platform's reply about a URL's parameters."""

    outcome: VerificationOutcome
    reason: str = ""
    silent: bool = False  # the platform answers nobody at the moment
    record: SubmissionRecord | None = None


class SubmissionVerifier:
    """Verifies visitors: asks once about a false claim, and after a failure stops asking for a while.

    So visitors need not wait, and made-up addresses do not use up the requests that the platform allows.
    """

    def __init__(self, client: Prolific | None, clock: Callable[[], float]) -> None:
        self.client = client
        self._clock = clock
        self._again_at = float("-inf")
        self._requests = Buckets(REQUESTS, clock=clock)
        self._uncounted: dict[str, tuple[float, frozenset[str]]] = {}  # study -> until when, its submissions
        self._false: dict[ProlificUrlParameters, tuple[float, Verdict]] = {}  # when it may be asked about again

    def ask(self, claim: ProlificUrlParameters) -> Verdict:
        """Ask whether a claim is true, unless the platform failed to reply, or denied it, a moment ago."""
        now = self._clock()
        until, denied = self._false.get(claim, (now, None))
        if denied is not None and now < until:
            return denied
        if now < self._again_at:
            return Verdict(outcome=UNVERIFIED, reason="Prolific did not answer a moment ago")
        verdict = ask(self.client, claim)
        if verdict.silent:
            self._again_at = self._clock() + LEFT_ALONE_SECONDS
        elif verdict.outcome == FALSE:
            self._false[claim] = (self._clock() + DENIED_SECONDS, verdict)
            if len(self._false) > MOST_DENIED:
                del self._false[next(iter(self._false))]
        return verdict

    def remembers(self, claim: ProlificUrlParameters) -> bool:
        """Return whether asking now would send nothing to the platform."""
        denied = claim in self._false and self._clock() < self._false[claim][0]
        return self.client is None or denied or self._clock() < self._again_at

    def wait(self) -> float:
        """Return 0 where another request may be sent, which counts, else the seconds after which one may."""
        return self._requests.take("")

    def uncounted(self, study_id: str) -> frozenset[str]:
        """Return the submissions of a study that the platform counts no more, as it said within the last moment.

        None where it cannot be asked.
        """
        now = self._clock()
        until, found = self._uncounted.get(study_id, (now, frozenset()))
        if self.client is None or now < until or now < self._again_at:
            return found
        try:
            records = list(self.client.submissions.of_study(study_id))
        except ProlificError:
            records = []
        found = frozenset(record.submission_id for record in records if record.status in UNCOUNTED)
        self._uncounted[study_id] = (self._clock() + LEFT_ALONE_SECONDS, found)
        return found


def ask(client: Prolific | None, claim: ProlificUrlParameters) -> Verdict:
    """Ask the platform whether a claim is true; "unverified" if it cannot be asked at the moment."""
    if client is None:
        return Verdict(outcome=UNVERIFIED, reason="there is no token", silent=True)
    try:
        record = client.submissions.fetch(claim.submission_id)
    except ProlificRequestRefused as error:
        if error.missing:
            return Verdict(outcome=FALSE, reason="Prolific has no such submission")
        return Verdict(outcome=UNVERIFIED, reason=str(error), silent=error.status in OF_EVERYBODY)
    except ProlificError as error:
        return Verdict(outcome=UNVERIFIED, reason=str(error), silent=True)
    if record.participant_id != claim.person:
        return Verdict(outcome=FALSE, reason="the submission is another participant's", record=record)
    if record.study_id != claim.study_id:
        return Verdict(outcome=FALSE, reason="the submission belongs to another study", record=record)
    return Verdict(outcome=VERIFIED, record=record)


def note(store: Store, claim: ProlificUrlParameters, verdict: Verdict) -> None:
    """Record the platform's reply in the journal, without personal ids."""
    claimed = json.dumps({"annotator_id": store.person_id(SOURCE, claim.person), "study_id": claim.study_id})
    with store.transaction() as connection:
        call = begin(connection, KIND, store.keyed(claim.submission_id), VERIFY, claimed)
        finish(connection, call, verdict.outcome, response=verdict.reason or None, facts={})


def in_doubt(store: Store, gone: Collection[str] = ()) -> list[PersonVisit]:
    """Return the visits with a place that the platform has not confirmed, or counts no more: those of ``gone``."""
    found: dict[tuple[str, str], str] = {}
    for call in Journal(store).every(KIND):
        if call.outcome != STARTED:
            one = call.scope, json.loads(call.request)["annotator_id"]
            found[one] = VERIFIED if found.get(one) == VERIFIED else call.outcome
    return [
        visit
        for visit in store.visits.of_people(SOURCE)
        if visit.seat is not None
        and visit.external_id is not None
        and (visit.external_id in gone or found.get((store.keyed(visit.external_id), visit.annotator_id)) == UNVERIFIED)
    ]


def last_found(store: Store, submission_id: str, annotator_id: str | None = None) -> VerificationOutcome | None:
    """Return what was found for a submission (by this annotator); ``None`` where nobody claimed it.

    A verified claim stays verified, since a submission never changes its participant.
    """
    found: VerificationOutcome | None = None
    for call in Journal(store).calls(KIND, store.keyed(submission_id), VERIFY):
        claimed = json.loads(call.request)["annotator_id"]
        if call.outcome == STARTED or annotator_id not in (None, claimed):
            continue
        if call.outcome == VERIFIED:
            return VERIFIED
        found = FALSE if call.outcome == FALSE else UNVERIFIED
    return found
