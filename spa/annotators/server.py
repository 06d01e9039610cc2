"""The survey server: one person a link, one form a person, every page on disk before the next is shown.

Routes that touch the store are plain functions, which the framework runs in threads.
"""

from __future__ import annotations

import json
import logging
import secrets
import time
from http import HTTPStatus
from typing import Literal, Protocol

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, Response
from starlette.exceptions import HTTPException

from spa.annotators.pages import find_image, page_response, send_asset, send_image, send_notice, to
from spa.annotators.posts import Fields
from spa.annotators.progress import Visit
from spa.annotators.security import SecurityHeaders, content_policy
from spa.errors import ResponseError
from spa.forms.form import Form, Page
from spa.forms.html import Addresses, PageState, render_notice
from spa.forms.texts import Texts
from spa.responses.answers import unknown_keys
from spa.responses.leases import NoneLeft
from spa.responses.store import Store
from spa.responses.submission import AnnotatorKind
from spa.study.study import Study

Going = Literal["on", "back", "stay"]
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


def create_app(workspace: Served, *, annotator_kind: AnnotatorKind = "human", source: str = "link") -> FastAPI:
    """Create the survey server of a study.

    Parameters
    ----------
    workspace : Served
        The study, its texts and its store.
    annotator_kind : {"human", "simulated", "llm"}
        What those who come are recorded as.
    source : str
        Where they come from, as the table of annotators says it.

    Returns
    -------
    FastAPI
        An application that any ASGI server runs.
    """
    app = FastAPI(title=workspace.study.title, docs_url=None, redoc_url=None, openapi_url=None)
    app.add_middleware(SecurityHeaders, policy=content_policy(workspace.study.people.completion_url))
    survey = Survey(workspace, annotator_kind=annotator_kind, source=source)
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
    explain_failures(app, workspace.texts)
    return app


class Survey:
    """The routes of one study."""

    def __init__(self, workspace: Served, *, annotator_kind: AnnotatorKind, source: str) -> None:
        self.study = workspace.study
        self.texts = workspace.texts
        self.store = workspace.store
        self.form_of = workspace.form
        self.annotator_kind = annotator_kind
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
        return to(self._due_address(token, self._visit(token)))

    def show_page(self, token: str, page_id: str) -> Response:
        """Show a page with the answers given there before; a page that lies ahead leads back to the due one."""
        visit = self._visit(token)
        page = self._page(visit, page_id)
        if visit.lease.completed or visit.is_ahead(page):
            return to(self._due_address(token, visit))
        return self._render(token, visit, page)

    def take_page(self, token: str, page_id: str, fields: Fields, go: Going = "on") -> Response:
        """Save what was sent, then go on, back, or point at the gaps."""
        visit = self._visit(token)
        page = self._page(visit, page_id)
        if not visit.lease.completed:
            visit = self._save(visit, page, fields, go)
            if unknown_keys(page.questions, fields):
                raise HTTPException(400)
        if go == "stay":
            return Response(status_code=HTTPStatus.NO_CONTENT)
        if visit.lease.completed:
            return to(f"/a/{token}/done")
        if go == "back":
            return to(f"/a/{token}/p/{visit.neighbour(page, -1).page_id}")
        if visit.gaps(page):
            return self._render(token, visit, page, pointing=True)
        last = page is visit.form.pages[-1]
        if visit.screened_out or (last and visit.all_answered):
            self._complete(visit)
            return to(f"/a/{token}/done")
        return to(f"/a/{token}/p/{(visit.due if last else visit.neighbour(page, 1)).page_id}")

    def show_done(self, token: str) -> Response:
        """Show the completion code, or go where the study says."""
        visit = self._visit(token)
        if not visit.lease.completed:
            return to(self._due_address(token, visit))
        if visit.screened_out:
            return send_notice(self.texts, "screened", status=HTTPStatus.OK)
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
        if not self.store.has_token(token):
            raise HTTPException(404)
        annotator_id = self.store.annotator_id(token)
        lease = self.store.lease(annotator_id, source=self.source, annotator_kind=self.annotator_kind)
        form = self.form_of(lease.assignment_id)
        return Visit.from_payloads(form, lease, self.store.payloads(lease.submission_id))

    def _page(self, visit: Visit, page_id: str) -> Page:
        page = visit.page(page_id)
        if page is None:
            raise HTTPException(404)
        return page

    def _due_address(self, token: str, visit: Visit) -> str:
        return f"/a/{token}/done" if visit.lease.completed else f"/a/{token}/p/{visit.due.page_id}"

    def _save(self, visit: Visit, page: Page, fields: Fields, go: Going) -> Visit:
        """Save the payload verbatim before anything reads it; a page without questions is read when left forward."""
        if go != "on" and not page.questions:
            return visit
        self.store.save_payload(visit.lease.submission_id, page.page_id, json.dumps(fields))
        return visit.with_fields(page, fields)

    def _complete(self, visit: Visit) -> None:
        code = self.study.people.completion_code or secrets.token_hex(4).upper()
        self.store.complete(visit.submission(time.time()), completion_code=code)

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


def explain_failures(app: FastAPI, texts: Texts) -> None:
    """Answer failures with a page in the study's language, never with a traceback."""

    def failed(request: Request, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else HTTPStatus.BAD_REQUEST
        if status == HTTPStatus.NOT_FOUND:
            return send_notice(texts, "unknown", status=status)
        token = request.path_params.get("token")
        name = "large" if status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE else "refused"
        return send_notice(texts, name, status=status, link=f"/a/{token}" if token else "/")

    def full(request: Request, error: Exception) -> Response:
        return send_notice(texts, "full", status=HTTPStatus.GONE)

    def unavailable(request: Request, error: Exception) -> Response:
        log.error("%s", error)
        return send_notice(texts, "unavailable", status=HTTPStatus.SERVICE_UNAVAILABLE)

    app.add_exception_handler(HTTPException, failed)
    app.add_exception_handler(RequestValidationError, failed)
    app.add_exception_handler(NoneLeft, full)
    app.add_exception_handler(ResponseError, unavailable)
