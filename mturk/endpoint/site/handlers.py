"""What the pages of the site share: the signed-in worker, the language, forms, answers and errors."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from mturk.endpoint.errors import PREFIX, MTurkRequestError
from mturk.endpoint.service import MTurkService
from mturk.endpoint.site.rendering import render
from mturk.endpoint.site.security import FailureLimit, is_same_origin, site_policy
from mturk.endpoint.site.sessions import Visitor, find_visitor
from mturk.endpoint.site.settings import SiteSettings
from mturk.endpoint.site.texts import SiteTexts, choose_language, load_texts
from mturk.endpoint.transaction import Transaction
from spa.errors import ResponseError
from spa.server.form_posts import read_fields

LANGUAGE_COOKIE = "language"
REASONS: Mapping[str, tuple[HTTPStatus, str]] = {  # what a worker is told where the endpoint refuses
    "DoesNotMeetRequirements": (HTTPStatus.FORBIDDEN, "unqualified"),
    "AssignmentAlreadyExists": (HTTPStatus.CONFLICT, "again"),
    "HITDoesNotExist": (HTTPStatus.NOT_FOUND, "missing"),
    "HITTypeDoesNotExist": (HTTPStatus.NOT_FOUND, "missing"),
    "AssignmentDoesNotExist": (HTTPStatus.NOT_FOUND, "missing"),
    "QualificationTypeDoesNotExist": (HTTPStatus.NOT_FOUND, "missing"),
}
log = logging.getLogger("uvicorn.error")


@dataclass(frozen=True, slots=True, kw_only=True)
class SitePage:
    """A page to show."""

    template: str
    here: str = ""
    status: HTTPStatus = HTTPStatus.OK
    frame_source: str | None = None
    context: Mapping[str, Any] = field(default_factory=dict)


Answer = SitePage | Response


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """A request of a worker who is signed in, in the transaction that answers it."""

    tx: Transaction
    visitor: Visitor
    request: Request
    fields: Mapping[str, str]  # of a form of ours
    texts: SiteTexts
    settings: SiteSettings

    @property
    def worker_id(self) -> str:
        """Whose visit it is."""
        return self.visitor.worker_id

    @property
    def path(self) -> Mapping[str, str]:
        """What the address names."""
        return self.request.path_params


class SiteHandlers:
    """What the site's routes share."""

    def __init__(self, endpoint: MTurkService, settings: SiteSettings) -> None:
        self.endpoint = endpoint
        self.settings = settings
        self.sign_in_failures = FailureLimit(settings.clock)

    async def for_worker(self, show: Callable[[Visit], Answer], request: Request) -> Response:
        """Answer whoever is signed in; lead others to where they sign in."""
        token, texts = request.cookies.get(self.settings.cookie), self.texts(request)
        fields = await self.fields(request) if request.method == "POST" else {}

        def work(tx: Transaction) -> tuple[Visitor | None, Answer | None]:
            visitor = find_visitor(tx, token)
            if visitor is None:
                return None, None
            return visitor, show(
                Visit(tx=tx, visitor=visitor, request=request, fields=fields, texts=texts, settings=self.settings)
            )

        visitor, answer = await self.endpoint.run(work)
        if visitor is None or answer is None:
            return self.sign_in_page(request)
        return self.answer(request, answer, visitor=visitor)

    def sign_in_page(self, request: Request) -> Response:
        """Show how to sign in.

        A browser that comes from a page elsewhere, such as mail, leaves the session at home; loading the page once
        more from here brings it.
        """
        if request.method == "GET" and request.headers.get("sec-fetch-site") == "cross-site":
            return self.notice(request, "sign_in.again", refresh=True)
        if request.url.path != "/":
            return redirect("/")
        return self.notice(request, "sign_in.title", text="sign_in.text")

    def answer(self, request: Request, answer: Answer, *, visitor: Visitor | None = None) -> Response:
        """Return the response of an answer."""
        if isinstance(answer, Response):
            return answer
        context = {"visitor": visitor, "here": answer.here, **answer.context}
        page = render(answer.template, self.texts(request), place=self.settings.place, **context)
        response = HTMLResponse(page, status_code=answer.status)
        if answer.frame_source is not None:
            response.headers["content-security-policy"] = site_policy(answer.frame_source)
        return response

    def notice(
        self,
        request: Request,
        title: str,
        *,
        text: str | None = None,
        status: HTTPStatus = HTTPStatus.OK,
        **context: Any,
    ) -> Response:
        """Show a page with a title and a line, both keys of texts."""
        say = self.texts(request).say
        labels = {"title": say(title), "text": None if text is None else say(text)}
        page = SitePage(
            template="notice.html", status=status, context={"action": None, "link": None, **labels, **context}
        )
        return self.answer(request, page)

    def texts(self, request: Request) -> SiteTexts:
        """Return the language of a visitor."""
        chosen = request.cookies.get(LANGUAGE_COOKIE)
        return load_texts(choose_language(chosen, request.headers.get("accept-language", "")))

    async def fields(self, request: Request) -> dict[str, str]:
        """Return the fields of a form of ours; a page elsewhere that sent it is refused."""
        own = {f"{request.url.scheme}://{request.headers.get('host', '')}", self.settings.site_url}
        if not any(is_same_origin(request.headers, origin) for origin in own):
            raise HTTPException(HTTPStatus.FORBIDDEN)
        return await read_fields(request)

    async def failed(self, request: Request, error: Exception) -> Response:
        """Show a failure in the visitor's language."""
        status, reason = HTTPStatus.BAD_REQUEST, "refused"
        if isinstance(error, MTurkRequestError):
            status, reason = REASONS.get((error.code or "").removeprefix(PREFIX), (HTTPStatus.CONFLICT, "state"))
        elif isinstance(error, HTTPException):
            status = HTTPStatus(error.status_code)
            reason = {404: "missing", 413: "large"}.get(error.status_code, "refused")
        elif isinstance(error, ResponseError):
            log.error("%s", error)
            status, reason = HTTPStatus.SERVICE_UNAVAILABLE, "unavailable"
        link = {"link": "/hits", "link_text": self.texts(request).say("error.back")}
        return self.notice(request, "error.title", text=f"error.{reason}", status=status, **link)


def redirect(address: str) -> Response:
    """Lead the browser on after a form, or to where the page is."""
    return RedirectResponse(address, status_code=HTTPStatus.SEE_OTHER)


def not_found() -> HTTPException:
    """Return the error of a page that is not there."""
    return HTTPException(HTTPStatus.NOT_FOUND)


def page_number(request: Request) -> int:
    """Return which page of a list was asked for, at least 1."""
    asked = request.query_params.get("page", "1")
    return max(1, int(asked)) if asked.isascii() and asked.isdigit() and len(asked) <= 6 else 1
