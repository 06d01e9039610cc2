"""The platform adapter: participants arrive at ``/prolific`` and leave with the code of their outcome.

URLs are not trusted: the platform is asked whether the submission is this participant's in this study. While it
cannot be asked, participants are admitted and marked unverified until ``spa prolific collect`` has asked.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, Response

from prolific.api.access import IDENTIFIER, Access, NoToken, find_access
from prolific.api.client import Prolific
from prolific.api.records import REJECTED, RETURNED, TIMED_OUT
from prolific.completion_url import completion_address, completion_base, session_codes
from prolific.offer import SessionOffer, offer_of
from prolific.prolific_study import store_key
from prolific.settings import read_table
from prolific.study_body import ENTRY_PATH, PLACEHOLDERS
from prolific.study_ids import SOURCE, session_of, study_of
from prolific.verification import (
    FALSE,
    LEFT_ALONE_SECONDS,
    UNVERIFIED,
    VERIFIED,
    ProlificUrlParameters,
    SubmissionVerifier,
    Verdict,
    in_doubt,
    last_found,
    note,
)
from prolific.webhooks import WebhookReceiver
from spa.journal import Journal
from spa.platforms.claims import ClaimLimit, in_ten_minutes
from spa.responses.outcomes import Outcome
from spa.responses.visits import PersonVisit
from spa.server.rate_limits import Rate
from spa.server.survey_context import SurveyContext

log = logging.getLogger("uvicorn.error")
SECONDS = 5.0  # a visitor waits for the platform so long at most, twice
TRIES = 2
QUESTIONS = Rate(burst=20, a_second=20 / 60)  # of one address block
SHARE = 4  # of the visits that may begin from one address block, as many may be unverified
FEW = 5  # unverified visits that a small study takes; others take half their places
GONE_AWAY = frozenset({RETURNED, REJECTED})


def mount(app: FastAPI, context: SurveyContext) -> None:
    """Add the routes where the study has a table ``[prolific]``."""
    mount_with(app, context, os.environ)


def mount_with(app: FastAPI, context: SurveyContext, environment: Mapping[str, str]) -> None:
    """Add the routes with the token and the API's address from an environment."""
    raw = context.study.platforms.get(SOURCE)
    if not raw:
        return
    table = read_table(raw, "study file")
    access: Access | None = None
    try:
        access = find_access(None, environment)
    except NoToken as error:
        log.warning("%s Until then nobody who comes from Prolific is verified.", error)
    client = None
    if access is not None:
        client = context.resources.enter_context(Prolific(access, timeout=SECONDS, tries=TRIES))
    adapter = ProlificAdapter(
        context=context,
        asking=SubmissionVerifier(client, context.clock),
        questions=ClaimLimit(context, QUESTIONS),
        waiting=ClaimLimit(context, in_ten_minutes(context, SHARE)),
        offer=offer_of(context.study, table, file="study file"),
        base=completion_base(access),
        journal=Journal(context.store),
        key=store_key(context.store),
    )
    app.add_api_route(ENTRY_PATH, adapter.enter, methods=["GET", "HEAD", "POST"], response_model=None)
    app.add_api_route(f"{ENTRY_PATH}/health", adapter.report_health, methods=["GET", "HEAD"], response_model=None)
    if table.webhooks:
        WebhookReceiver(context, client, table.project).mount(app)
    context.allow_redirect_to(adapter.base)
    context.on_finish(SOURCE, adapter.leave)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProlificAdapter:
    """The routes of participants."""

    context: SurveyContext
    asking: SubmissionVerifier
    questions: ClaimLimit  # to the platform
    waiting: ClaimLimit  # visits that the platform cannot be asked about
    offer: SessionOffer
    base: str  # where a code is handed in
    journal: Journal
    key: str

    def enter(self, request: Request) -> Response:
        """Show the first page; at its button, admit whom the platform confirms or cannot be asked about."""
        given = {name: request.query_params.get(name) for name in PLACEHOLDERS}
        if not any(given.values()):
            return self.context.notice("unknown", HTTPStatus.OK)  # the bare address, as the platform tries it out
        person, study_id, submission_id = (str(given[name] or "") for name in PLACEHOLDERS)
        if not all(IDENTIFIER.fullmatch(one) for one in (person, study_id, submission_id)):
            return self.context.notice("unknown", HTTPStatus.BAD_REQUEST)
        claim = ProlificUrlParameters(person=person, study_id=study_id, submission_id=submission_id)
        session = session_of(self.journal, self.key, study_id, self.offer.sessions)
        if session is None:
            log.warning("somebody came from the Prolific study %s, which this store did not create", study_id)
            return self.context.notice("unknown", HTTPStatus.FORBIDDEN)
        if request.method != "POST":
            return self._known_visit(claim) or self.context.first_page(request)
        refusal = self._refusal(claim, request)
        return refusal if refusal is not None else self._admit(claim, session, request)

    def report_health(self) -> Response:
        """Say whether visitors can be verified."""
        return JSONResponse({"status": "ok", "verifies": self.asking.client is not None})

    def leave(self, visit: PersonVisit, outcome: Outcome) -> Response:
        """Redirect the browser to the platform with the code of the outcome."""
        if visit.external_id is not None and last_found(self.context.store, visit.external_id) == UNVERIFIED:
            self._verify_again(visit)
        return self.context.redirect(
            completion_address(session_codes(self.context.store, visit.session)[outcome], self.base)
        )

    def _known_visit(self, claim: ProlificUrlParameters) -> Response | None:
        """Lead on whom the platform confirmed before."""
        store = self.context.store
        if last_found(store, claim.submission_id, store.person_id(SOURCE, claim.person)) != VERIFIED:
            return None
        return self.context.known_visit(SOURCE, person=claim.person, external_id=claim.submission_id)

    def _refusal(self, claim: ProlificUrlParameters, request: Request) -> Response | None:
        """Ask the platform, unless it confirmed this claim before; return the response to who is not admitted."""
        if self._is_verified(claim):
            return None
        remembered = self.asking.remembers(claim)
        wait = None if remembered else self.questions.refusal(request)
        if wait is not None:
            return wait
        seconds = 0.0 if remembered else self.asking.wait()
        if seconds:
            return self.context.ask_to_wait(seconds)
        verdict = self.asking.ask(claim)
        if verdict.outcome != UNVERIFIED and not remembered:
            note(self.context.store, claim, verdict)
        if verdict.outcome == FALSE:
            log.warning("submission %s: not let in: %s", claim.submission_id, verdict.reason)
            return self.context.notice("unknown", HTTPStatus.FORBIDDEN)
        if verdict.outcome == UNVERIFIED:
            return self._unverified(claim, request, verdict)
        status = "" if verdict.record is None else verdict.record.status
        known = self.context.store.visits.find(SOURCE, claim.submission_id) is not None
        if status in GONE_AWAY or (status == TIMED_OUT and not known):
            return self.context.notice("expired", HTTPStatus.GONE)
        return None

    def _is_verified(self, claim: ProlificUrlParameters) -> bool:
        store = self.context.store
        return last_found(store, claim.submission_id, store.person_id(SOURCE, claim.person)) == VERIFIED

    def _unverified(self, claim: ProlificUrlParameters, request: Request, verdict: Verdict) -> Response | None:
        """Let in a few whom the platform cannot be asked about; ask others to come again in a moment."""
        store = self.context.store
        own = store.visits.find(SOURCE, claim.submission_id)
        if own is None or own.person != claim.person:
            wait = self.waiting.refusal(request)
            most = max(FEW, store.assignments.for_people * self.context.rules.per_assignment // 2)
            if wait is None and self.asking.client is not None and len(in_doubt(store)) >= most:
                wait = self.context.ask_to_wait(LEFT_ALONE_SECONDS)
            if wait is not None:
                log.warning("submission %s: asked to wait, as too many are not verified yet", claim.submission_id)
                return wait
        note(store, claim, verdict)
        log.warning("submission %s: let in unverified: %s", claim.submission_id, verdict.reason)
        return None

    def _displaced(self, claim: ProlificUrlParameters) -> list[str]:
        """Return whose place a participant whom the platform confirms may have, where that is needed."""
        store = self.context.store
        own = store.visits.find(SOURCE, claim.submission_id)
        by_group = len(self.context.study.people.groups) > 0  # which may be full while places are free
        full = by_group or store.visits.count_free(self.context.rules.per_assignment) == 0
        if not full and (own is None or own.person == claim.person):
            return []
        others = in_doubt(store, self.asking.uncounted(claim.study_id))
        return [visit.submission_id for visit in others if visit.person != claim.person]

    def _admit(self, claim: ProlificUrlParameters, session: int, request: Request) -> Response:
        vouched = self._is_verified(claim)
        groups = [group for group in self.context.study.people.groups if group.parameter is not None]
        mine = [group for group in groups if request.query_params.get(group.parameter or "") in group.values]
        if groups and not mine:
            return self.context.notice("unknown", HTTPStatus.BAD_REQUEST)
        return self.context.admit(
            source=SOURCE,
            person=claim.person,
            external_id=claim.submission_id,
            session=session,
            group=mine[0].name if mine else None,
            minutes_allowed=self.offer.maximum_minutes,
            has_place=True,
            vouched=vouched,
            displaces=self._displaced(claim) if vouched else (),
        )

    def _verify_again(self, visit: PersonVisit) -> None:
        study_id = study_of(self.journal, self.key, visit.session)
        if visit.person is not None and study_id is not None:
            claim = ProlificUrlParameters(person=visit.person, study_id=study_id, submission_id=str(visit.external_id))
            note(self.context.store, claim, self.asking.ask(claim))
