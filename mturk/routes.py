"""The platform adapter for annotators who come from a HIT that shows it: ``/hit``.

The frame's URL names assignment, HIT and annotator, and anybody can invent one: the protocol offers no way to ask
whether an assignment is held. So each visit is a claim, which counts once a submission of this annotator for this
assignment is collected from the endpoint.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from http import HTTPStatus
from urllib.parse import urlsplit

from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, Response

from mturk import records
from mturk.hit_forms import ENTRY_PATH
from mturk.questions import PREVIEW_ID, SUBMIT_PATH
from mturk.records import RECEIPT_FIELD, SOURCE, claim_name, make_receipt
from mturk.settings import MTurkTable, minutes_allowed, read_settings
from spa.forms.html import render_notice, render_whole
from spa.media import page_sources
from spa.platforms.claims import ClaimLimit, in_ten_minutes
from spa.records.form import Form
from spa.responses.outcomes import COMPLETED, FAILED_CHECKS, Outcome
from spa.responses.visits import PersonVisit
from spa.server.survey_context import SurveyContext

SHARE = 3  # of the visits that may begin from one address block, as many may begin one HIT
ENTITY = re.compile(r"[A-Z0-9]{1,64}", re.ASCII)
WORKER = re.compile(r"A[A-Z0-9]{1,63}", re.ASCII)


def mount(app: FastAPI, context: SurveyContext) -> None:
    """Add the routes of a study that has a table [mturk]."""
    raw = context.study.platforms.get(SOURCE)
    if not raw:
        return
    adapter = HitAdapter(context, read_settings(raw, "study.toml"))
    adapter.know_sites()
    app.add_api_route(
        ENTRY_PATH, adapter.enter, methods=["GET", "HEAD", "POST"], response_class=HTMLResponse, response_model=None
    )
    context.on_finish(SOURCE, adapter.hand_in)


class HitAdapter:
    """The routes of annotators who come from a HIT, and how they leave."""

    def __init__(self, context: SurveyContext, settings: MTurkTable) -> None:
        self.context = context
        self.settings = settings
        self.claims = ClaimLimit(context, in_ten_minutes(context, SHARE))
        records.set_up(context.store)

    def know_sites(self) -> None:
        """Allow the sites of all HITs published so far to show the form in a frame and to receive submissions."""
        for site in (*self.settings.worker_sites, *records.sites(self.context.store)):
            self.context.allow_framing_by(site)
            self.context.allow_redirect_to(site)

    def enter(
        self,
        request: Request,
        assignmentId: str = "",
        hitId: str = "",
        workerId: str = "",
        turkSubmitTo: str = "",
    ) -> Response:
        """Show a preview to who has not accepted the HIT; admit others to their form at the press of a button.

        The frame's URL goes on to that post: in a frame of another site, browsers keep no cookie of ours.
        """
        self.know_sites()  # HITs may have been published since
        if assignmentId in ("", PREVIEW_ID):
            return self._preview()
        hit = records.find_hit(self.context.store, hitId) if ENTITY.fullmatch(hitId) else None
        if hit is None or not ENTITY.fullmatch(assignmentId) or not WORKER.fullmatch(workerId):
            return self.context.notice("hit_unknown", HTTPStatus.NOT_FOUND)
        if not _is_site(turkSubmitTo, (*hit.sites.split(), *self.settings.worker_sites)):
            return self.context.notice("hit_unknown", HTTPStatus.FORBIDDEN)
        name = claim_name(self.context.store, assignmentId, workerId)
        known = self.context.known_visit(SOURCE, person=workerId, external_id=name)
        if known is not None or request.method != "POST":
            return known or self.context.first_page(request)
        claim = records.HitUrlParameters(
            claim=name, mturk_assignment_id=assignmentId, hit_id=hitId, submit_to=turkSubmitTo
        )
        refusal = self.claims.refusal(request, hitId)
        if refusal is not None:
            return refusal
        records.note_claim(self.context.store, claim)
        return self.context.admit(
            source=SOURCE,
            person=workerId,
            external_id=name,
            minutes_allowed=minutes_allowed(self.context.study, self.settings, self._first_form()),
            has_place=True,
        )

    def hand_in(self, visit: PersonVisit, outcome: Outcome) -> Response:
        """Show the button that submits the HIT once the visit is complete; other visitors may return it."""
        claim = None if visit.external_id is None else records.find_claim(self.context.store, visit.external_id)
        if claim is None or outcome not in (COMPLETED, FAILED_CHECKS):
            return self.context.notice("hit_return")
        texts = self.context.texts
        page = render_notice(
            "start",
            texts,
            title=texts.say("page.hit_handin_title"),
            lines=[texts.say("page.hit_handin_text")],
            action=submit_address(claim.submit_to),
            button=texts.say("page.hit_submit"),
            fields={
                "assignmentId": claim.mturk_assignment_id,
                RECEIPT_FIELD: make_receipt(self.context.store, visit.submission_id),
            },
        )
        return HTMLResponse(page)

    def _preview(self) -> Response:
        page = render_whole(self._first_form(), self.context.texts)
        frames = " ".join(sorted(self.context.frame_sites)) or "'none'"
        policy = (
            f"default-src 'none'; style-src 'unsafe-inline'; {page_sources('data:')}font-src data:; "
            f"frame-ancestors {frames}"
        )
        return HTMLResponse(page, headers={"content-security-policy": policy})

    def _first_form(self) -> Form:
        return self.context.form(self.context.store.assignments.ids()[0])


def submit_address(submit_to: str) -> str:
    """Return the URL at which a HIT is submitted: the frame's ``turkSubmitTo`` with the protocol's path.

    >>> submit_address("https://hits.example.org/"), submit_address("https://a.org/mturk/externalSubmit")
    ('https://hits.example.org/mturk/externalSubmit', 'https://a.org/mturk/externalSubmit')
    """
    plain = submit_to.rstrip("/")
    return plain if plain.endswith(SUBMIT_PATH) else plain + SUBMIT_PATH


def _is_site(address: str, origins: Iterable[str]) -> bool:
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError:
        return False
    if parts.username is not None or parts.query or parts.fragment or not address.isprintable() or " " in address:
        return False
    host = (parts.hostname or "") if port is None else f"{parts.hostname}:{port}"
    return f"{parts.scheme}://{host}" in set(origins)
