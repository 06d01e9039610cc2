"""The survey server's ASGI application: one link per person; every page is on disk before the next is shown."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from functools import cache
from http import HTTPStatus
from typing import Protocol, cast

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from starlette.exceptions import HTTPException

from spa.errors import ResponseError
from spa.forms.effort import minutes_allowed, whole_minutes
from spa.live import LiveProgress
from spa.records.form import Form
from spa.records.platforms import LINK
from spa.records.study import Study
from spa.records.submission import AnnotatorKind
from spa.records.texts import Texts
from spa.responses.admission import AdmissionRefused
from spa.responses.rehearsal import APART, FACT
from spa.responses.store import Store
from spa.responses.study_families import StudyFamily
from spa.server.admin import AdminRoutes
from spa.server.page_responses import send_notice
from spa.server.rate_limits import Limits, UnbegunVisits
from spa.server.request_guard import Network, RequestGuard
from spa.server.request_log import RequestLog
from spa.server.request_metrics import RequestCounts, RequestMetrics
from spa.server.security_headers import SecurityHeaders, content_policy
from spa.server.survey_context import PlatformAdapter, SurveyContext
from spa.server.survey_routes import SurveyRoutes
from spa.study.stopping import counts_as_begun

SWEEP = 30.0  # seconds between releases of overdue places
REFUSED = {  # what was wrong with posts that are counted and not stored
    "link": "of no link",
    "visit": "before a visit began",
    "page": "of no page",
    "ended": "after the end",
    "closed": "of a page before its turn",
    "large": "too large for the page",
    "full": "too much for one visit",
    "slow": "not sent to the end",
}
log = logging.getLogger("uvicorn.error")


class OpenStudy(Protocol):
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
    workspace: OpenStudy,
    *,
    annotator_kind: AnnotatorKind = "human",
    source: str = LINK,
    adapters: Iterable[PlatformAdapter] = (),
    public_url: str = "",
    only_public_host: bool = False,
    clock: Callable[[], float] = time.time,
    admin_token: str | None = None,
    trusted_proxies: tuple[Network, ...] = (),
    limits: Limits | None = None,
    log_requests: bool = False,
    links_only: bool = False,
    reserved: int = 0,
) -> FastAPI:
    """Create the survey server of a study, which releases overdue places while it runs.

    Visitors are recorded as ``annotator_kind``, those with a link under ``source``. ``adapters`` add the entry routes
    of platforms (see :mod:`spa.server.survey_context`); ``public_url`` is the address under which people reach this
    server, with ``only_public_host`` the only one under which it answers. Without an ``admin_token`` there is no
    ``/admin/status`` and no ``/metrics``. ``X-Forwarded-*`` headers are trusted of ``trusted_proxies`` only.
    ``links_only`` closes the open link even if the study file leaves it open, and ``reserved`` places are kept for
    personal links. ``log_requests`` logs every request without identifying anyone.
    """
    limits = limits or Limits()
    context = SurveyContext(
        study=workspace.study,
        texts=workspace.texts,
        store=workspace.store,
        public_url=public_url.rstrip("/"),
        clock=clock,
        form=workspace.form,
        live=LiveProgress(
            workspace.study, workspace.store, annotator_kind, clock=None if clock is time.time else clock
        ),
        minutes=cache(lambda: whole_minutes(workspace.study, _first_form(workspace))),
        annotator_kind=annotator_kind,
        links_only=links_only or workspace.study.people.links_only,
        reserved=reserved,
        minutes_allowed=_minutes_allowed(workspace),
        family=family_of(workspace.study, workspace.store),
        unbegun=UnbegunVisits(limits.block_visits.burst, clock=clock),
    )
    survey = SurveyRoutes(context, workspace.form, source=source)
    app = FastAPI(
        title=workspace.study.title,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
        lifespan=lambda app: running(survey, context),
    )
    app.router.routes.extend(survey.routes)
    requests = RequestCounts()
    if admin_token is not None:
        app.router.routes.extend(AdminRoutes(context, admin_token, requests).routes)
    if workspace.study.people.completion_url is not None:
        context.allow_redirect_to(workspace.study.people.completion_url)
    for mount in adapters:
        mount(app, context)
    app.add_middleware(
        RequestGuard,
        refuse=lambda name, status: send_notice(context.texts, name, status=status),
        public_url=public_url,
        only_public_host=only_public_host,
        trusted_proxies=trusted_proxies,
        limits=limits,
        doors=context.open_doors,
        tell_of_block=context.unbegun.tell,
    )
    sites, frames = context.redirect_sites, context.frame_sites  # adapters add some while the server runs
    app.add_middleware(SecurityHeaders, policy=lambda: content_policy(frozenset(sites), frames=frozenset(frames)))
    if log_requests:
        app.add_middleware(RequestLog)
    if admin_token is not None:
        app.add_middleware(RequestMetrics, counts=requests)
    explain_failures(app, context)
    return app


def _minutes_allowed(workspace: OpenStudy) -> float | None:
    """Return how long a visit may take; all forms are about as long as the first."""
    if workspace.study.people.minutes_allowed is not None or not counts_as_begun(workspace.study):
        return workspace.study.people.minutes_allowed
    return minutes_allowed(workspace.study, _first_form(workspace))


def _first_form(workspace: OpenStudy) -> Form:
    return workspace.form(workspace.store.assignments.ids()[0])


@asynccontextmanager
async def running(survey: SurveyRoutes, context: SurveyContext) -> AsyncIterator[None]:
    """Release overdue places while the server runs; finish queued work at shutdown."""

    async def sweep() -> None:
        reported = 0
        while True:
            try:
                await asyncio.to_thread(lambda: context.store.visits.release_overdue(context.clock()))
            except ResponseError as error:  # a store that is locked for a while; the next sweep finds the same
                log.error("%s", error)
            refused = context.refused_posts
            if refused.total() > reported:
                reported = refused.total()
                log.warning("posts of pages that were not stored since the start: %d (%s)", reported, _listed(refused))
            await asyncio.sleep(SWEEP)

    task = asyncio.create_task(sweep())
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        await asyncio.to_thread(survey.close)
        context.resources.close()
        if context.family is not None:
            context.family.close()


def _listed(refused: Counter[str]) -> str:
    return ", ".join(f"{REFUSED[reason]}: {count}" for reason, count in refused.most_common())


def family_of(study: Study, store: Store) -> StudyFamily | None:
    """Open the store shared by a family of studies; ``None`` if the study is in no family, or in a rehearsal of it."""
    people = study.people
    if people.family is None or people.family_store is None or store.meta(FACT) == APART:
        return None
    return StudyFamily(people.family_store, family=people.family, study=f"{study.id} {store.fingerprint[:12]}")


def explain_failures(app: FastAPI, context: SurveyContext) -> None:
    """Answer every failure with a page in the study's language."""
    texts = context.texts

    def failed(request: Request, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else HTTPStatus.BAD_REQUEST
        if status == HTTPStatus.NOT_FOUND:
            return send_notice(texts, "unknown", status=status)
        token = request.path_params.get("token")
        name = "large" if status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE else "refused"
        return send_notice(texts, name, status=status, link=f"/a/{token}" if token else "/")

    def refused(request: Request, error: Exception) -> Response:
        return context.refuse(cast(AdmissionRefused, error))

    def unavailable(request: Request, error: Exception) -> Response:
        log.error("%s", error)
        return send_notice(texts, "unavailable", status=HTTPStatus.SERVICE_UNAVAILABLE)

    def broken(request: Request, error: Exception) -> Response:  # the traceback is logged by the server
        return send_notice(texts, "unavailable", status=HTTPStatus.INTERNAL_SERVER_ERROR)

    app.add_exception_handler(HTTPException, failed)
    app.add_exception_handler(RequestValidationError, failed)
    app.add_exception_handler(AdmissionRefused, refused)
    app.add_exception_handler(ResponseError, unavailable)
    app.add_exception_handler(Exception, broken)
