"""The survey server: one person a link, one form a person, every page on disk before the next is shown.

Routes that touch the store are plain functions, which the framework runs in threads.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from hashlib import sha256
from http import HTTPStatus
from typing import Literal, Protocol, cast

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, Response
from starlette.exceptions import HTTPException

from spa.annotators.doors import Door, House
from spa.annotators.pages import find_image, page_response, send_asset, send_image, send_notice, to
from spa.annotators.posts import Fields
from spa.annotators.progress import Visit
from spa.annotators.security import SecurityHeaders, content_policy
from spa.errors import ResponseError
from spa.forms.form import Form, Page
from spa.forms.html import Addresses, PageState, render_notice
from spa.forms.texts import Texts
from spa.responses.admission import QuotaFull, Refused
from spa.responses.answers import unknown_keys
from spa.responses.outcomes import (
    COMPLETED,
    FAILED_CHECKS,
    NO_CONSENT,
    QUOTA_FULL,
    SCREENED_OUT,
    TIMED_OUT,
    Outcome,
    random_code,
)
from spa.responses.store import Store
from spa.responses.submission import AnnotatorKind
from spa.study.study import Study

Going = Literal["on", "back", "stay"]
SWEEP = 30.0  # seconds between two looks for overdue places
ENDS: dict[str, str] = {  # the notice that each outcome ends with
    SCREENED_OUT: "screened",
    NO_CONSENT: "declined",
    FAILED_CHECKS: "failed",
    QUOTA_FULL: "quota",
}
log = logging.getLogger("uvicorn.error")


class Served(Protocol):
    """A study opened together with its store."""

    @property
    def study(self) -> Study:
        """Return the study."""

    @property
    def texts(self) -> Texts:
        """Return the texts of its language."""

    @property
    def store(self) -> Store:
        """Return where answers go."""

    def form(self, assignment_id: str) -> Form:
        """Return the form of an assignment."""


def create_app(
    workspace: Served,
    *,
    annotator_kind: AnnotatorKind = "human",
    source: str = "link",
    doors: Iterable[Door] = (),
    public_url: str = "",
    clock: Callable[[], float] = time.time,
) -> FastAPI:
    """Create the survey server of a study.

    Parameters
    ----------
    workspace : Served
        The study, its texts and its store.
    annotator_kind : {"human", "simulated", "llm"}
        What those who come are recorded as.
    source : str
        Where those come from who come by a link, as the table of annotators says it.
    doors : iterable of Door
        How visitors of platforms come in; see :mod:`spa.annotators.doors`.
    public_url : str
        Where people reach this server.
    clock : callable
        Seconds since 1970.

    Returns
    -------
    FastAPI
        An application that any ASGI server runs. While it runs, overdue places are given up.
    """
    house = House(
        study=workspace.study,
        texts=workspace.texts,
        store=workspace.store,
        public_url=public_url.rstrip("/"),
        clock=clock,
        annotator_kind=annotator_kind,
    )
    app = FastAPI(
        title=workspace.study.title,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        lifespan=lambda app: sweeping(workspace.store, clock),
    )
    survey = Survey(house, workspace.form, source=source)
    for path, method, route in (
        ("/", "GET", survey.show_start),
        ("/", "POST", survey.start),
        ("/health", "GET", survey.report_health),
        ("/static/{name}", "GET", send_asset),
        ("/a/{token}", "GET", survey.enter),
        ("/a/{token}/done", "GET", survey.show_done),
        ("/a/{token}/image/{exhibit_id}", "GET", survey.show_image),
        ("/a/{token}/p/{page_id}", "GET", survey.show_page),
        ("/a/{token}/p/{page_id}", "POST", survey.take_page),
    ):
        methods = ["GET", "HEAD"] if method == "GET" else [method]
        app.add_api_route(path, route, methods=methods, response_class=HTMLResponse, response_model=None)
    if workspace.study.people.completion_url is not None:
        house.may_lead_to(workspace.study.people.completion_url)
    for mount in doors:
        mount(app, house)
    app.add_middleware(SecurityHeaders, policy=content_policy(house.places))
    explain_failures(app, house)
    return app


@asynccontextmanager
async def sweeping(store: Store, clock: Callable[[], float]) -> AsyncIterator[None]:
    """Give up overdue places from time to time while the server runs."""

    async def sweep() -> None:
        while True:
            try:
                await asyncio.to_thread(lambda: store.release_overdue(clock()))
            except ResponseError as error:  # a store that is locked for a while; the next sweep finds the same
                log.error("%s", error)
            await asyncio.sleep(SWEEP)

    task = asyncio.create_task(sweep())
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


class Survey:
    """The routes of one study."""

    def __init__(self, house: House, form_of: Callable[[str], Form], *, source: str) -> None:
        self.house = house
        self.study = house.study
        self.texts = house.texts
        self.store = house.store
        self.clock = house.clock
        self.form_of = form_of
        self.source = source

    def show_start(self) -> Response:
        """Show the open door: whoever presses the button becomes one person with a link of their own."""
        lines = [self.texts.say("page.start_text")]
        return HTMLResponse(render_notice("start", self.texts, title=self.study.title, lines=lines, action="/"))

    def start(self) -> Response:
        """Make a link and go there."""
        return to(f"/a/{self.store.new_token()}")

    def report_health(self) -> Response:
        """Say that the server and its store answer."""
        return JSONResponse({"status": "ok", "study": self.study.id, "fingerprint": self.store.fingerprint})

    def enter(self, token: str) -> Response:
        """Go to the page that is due."""
        visit = self._visit(token)
        if visit.lease.released:  # the page that is open in a browser may still be sent, and is kept
            return self.house.notice("expired", HTTPStatus.GONE)
        return to(self._due_address(token, visit))

    def show_page(self, token: str, page_id: str) -> Response:
        """Show a page with the answers given there before; a page that lies ahead leads back to the due one."""
        visit = self._visit(token)
        page = self._page(visit, page_id)
        if visit.lease.finished or visit.is_ahead(page):
            return to(self._due_address(token, visit))
        return self._render(token, visit, page)

    def take_page(self, token: str, page_id: str, fields: Fields, go: Going = "on") -> Response:
        """Save what was sent, then go on, back, or point at the gaps."""
        visit = self._visit(token)
        page = self._page(visit, page_id)
        if not visit.lease.finished:
            visit = self._save(visit, page, fields, go)
            if unknown_keys(page.questions, fields):
                raise HTTPException(400)
        if go == "stay":
            return Response(status_code=HTTPStatus.NO_CONTENT)
        if visit.lease.finished:
            return to(f"/a/{token}/done")
        if go == "back":
            return to(f"/a/{token}/p/{visit.neighbour(page, -1).page_id}")
        if visit.gaps(page):
            return self._render(token, visit, page, pointing=True)
        outcome = self._outcome(visit, page)
        if outcome is not None:
            self._finish(visit, outcome)
            return to(f"/a/{token}/done")
        last = page is visit.form.pages[-1]
        return to(f"/a/{token}/p/{(visit.due if last else visit.neighbour(page, 1)).page_id}")

    def show_done(self, token: str) -> Response:
        """Show how the visit ended, with its code, or go where the study or the platform says."""
        visit = self._visit(token)
        outcome = visit.lease.outcome
        if outcome is None:
            return to(self._due_address(token, visit))
        finish = self.house.finishers.get(visit.lease.source)
        known = self.store.visit(visit.lease.submission_id) if finish is not None else None
        if finish is not None and known is not None:
            return finish(known, cast(Outcome, outcome))
        if outcome != COMPLETED:
            return self.house.notice(ENDS[outcome])
        if self.study.people.completion_url is not None:
            return to(self.study.people.completion_url)
        say = self.texts.say
        title, text = say("page.done_title"), say("page.done_text")
        code = visit.lease.completion_code
        return HTMLResponse(render_notice("done", self.texts, title=title, text=text, code=code))

    def show_image(self, token: str, exhibit_id: str) -> Response:
        """Send an image of this person's form."""
        return send_image(find_image(self._visit(token).form, exhibit_id))

    def _visit(self, token: str) -> Visit:
        """Return the visit of a person, who is given an assignment when they come for the first time."""
        lease = self.store.lease_of_token(token)
        if lease is None:
            if not self.store.has_token(token):
                raise HTTPException(404)
            lease = self.store.admit_link(
                token,
                source=self.source,
                annotator_kind=self.house.annotator_kind,
                minutes_allowed=self.study.people.minutes_allowed,
                rules=self.house.rules,
                now=self.clock(),
            )
        if lease.released and lease.release_reason == TIMED_OUT:
            lease = self.store.reclaim(lease.submission_id, rules=self.house.rules, now=self.clock())
        form = self.form_of(lease.assignment_id)
        return Visit.from_payloads(form, lease, self.store.payloads(lease.submission_id))

    def _page(self, visit: Visit, page_id: str) -> Page:
        page = visit.page(page_id)
        if page is None:
            raise HTTPException(404)
        return page

    def _due_address(self, token: str, visit: Visit) -> str:
        return f"/a/{token}/done" if visit.lease.finished else f"/a/{token}/p/{visit.due.page_id}"

    def _save(self, visit: Visit, page: Page, fields: Fields, go: Going) -> Visit:
        """Save the payload verbatim before anything reads it; a page without questions is read when left forward."""
        if go != "on" and not page.questions:
            return visit
        self.store.save_payload(visit.lease.submission_id, page.page_id, json.dumps(fields))
        visit = visit.with_fields(page, fields)
        if page.kind == "consent" and visit.lease.consented_at is None and not visit.gaps(page):
            text_hash = sha256((self.study.consent.text or "").encode()).hexdigest()
            self.store.consent(visit.lease.submission_id, text_hash=text_hash, now=self.clock())
        return visit

    def _outcome(self, visit: Visit, page: Page) -> Outcome | None:
        """Return how a visit ends with a page that was answered; ``None`` where it goes on."""
        if visit.screened_out:
            return SCREENED_OUT
        most = self.study.people.end_after_failed_checks
        if most is not None and visit.failed_checks >= most:
            return FAILED_CHECKS
        if page.kind == "screening" and not self._has_group(visit):
            return QUOTA_FULL
        return COMPLETED if page is visit.form.pages[-1] and visit.all_answered else None

    def _has_group(self, visit: Visit) -> bool:
        """Put a person into the quota group that the answers to the screening name; false where it is full."""
        asked = [group for group in self.study.people.groups if group.screening is not None]
        if not asked:
            return True
        given = visit.screening
        mine = next((group for group in asked if given.get(group.screening or "") in group.values), None)
        if mine is None:
            return False
        try:
            self.store.join_group(visit.lease.submission_id, mine.name, rules=self.house.rules)
        except QuotaFull:
            return False
        return True

    def _finish(self, visit: Visit, outcome: Outcome) -> None:
        lease, now = visit.lease, self.clock()
        if outcome == COMPLETED and self.study.people.completion_code is not None:
            code = self.study.people.completion_code
        elif outcome == COMPLETED and lease.external_id is None:
            code = random_code()  # a person's own
        else:
            code = self.store.outcome_codes(lease.source)[outcome]
        self.store.finish(visit.submission(now, outcome), outcome, code, now=now, rules=self.house.rules)

    def _render(self, token: str, visit: Visit, page: Page, *, pointing: bool = False) -> Response:
        state = PageState(
            answers=visit.fields.get(page.page_id, {}),
            gaps=visit.gaps(page) if pointing else {},
        )
        base = f"/a/{token}"
        addresses = Addresses(
            action=f"{base}/p/{page.page_id}", image=lambda exhibit: f"{base}/image/{exhibit.exhibit_id}"
        )
        return page_response(visit.form, page, self.texts, addresses=addresses, state=state)


def explain_failures(app: FastAPI, house: House) -> None:
    """Answer failures with a page in the study's language, never with a traceback."""
    texts = house.texts

    def failed(request: Request, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else HTTPStatus.BAD_REQUEST
        if status == HTTPStatus.NOT_FOUND:
            return send_notice(texts, "unknown", status=status)
        token = request.path_params.get("token")
        name = "large" if status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE else "refused"
        return send_notice(texts, name, status=status, link=f"/a/{token}" if token else "/")

    def refused(request: Request, error: Exception) -> Response:
        return house.refuse(cast(Refused, error))

    def unavailable(request: Request, error: Exception) -> Response:
        log.error("%s", error)
        return send_notice(texts, "unavailable", status=HTTPStatus.SERVICE_UNAVAILABLE)

    app.add_exception_handler(HTTPException, failed)
    app.add_exception_handler(RequestValidationError, failed)
    app.add_exception_handler(Refused, refused)
    app.add_exception_handler(ResponseError, unavailable)
