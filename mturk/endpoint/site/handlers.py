"""Requests to the site: the signed-in worker, language, forms and errors; signing in and out, and the account."""

from __future__ import annotations

import logging
import re
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Literal

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from mturk.endpoint.errors import PREFIX, MTurkRequestError
from mturk.endpoint.service import MTurkService
from mturk.endpoint.site import sessions
from mturk.endpoint.site.rendering import render
from mturk.endpoint.site.security import FailureLimit, is_same_origin, site_policy
from mturk.endpoint.site.sessions import Visitor, find_visitor
from mturk.endpoint.site.settings import SiteSettings
from mturk.endpoint.site.texts import LANGUAGES, SiteTexts, choose_language, load_texts
from mturk.endpoint.transaction import Transaction
from spa.errors import ResponseError
from spa.server.form_posts import read_fields

LANGUAGE_COOKIE = "language"
YEAR = 365 * 86_400
MARK = re.compile(r"[A-Za-z0-9_-]{43}", re.ASCII)
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
    """A request of a signed-in worker, and its transaction."""

    tx: Transaction
    visitor: Visitor
    request: Request
    fields: Mapping[str, str]  # of a form of this site
    texts: SiteTexts
    settings: SiteSettings

    @property
    def worker_id(self) -> str:
        """The signed-in worker."""
        return self.visitor.worker_id

    @property
    def path(self) -> Mapping[str, str]:
        """Parameters in the URL's path."""
        return self.request.path_params


class SiteHandlers:
    """Answers the requests of signed-in workers, and those by which somebody signs in or out."""

    def __init__(self, endpoint: MTurkService, settings: SiteSettings) -> None:
        self.endpoint = endpoint
        self.settings = settings
        self.sign_in_failures = FailureLimit(settings.clock)

    async def for_worker(self, show: Callable[[Visit], Answer], request: Request) -> Response:
        """Answer a signed-in worker by ``show``; others are shown how to sign in."""
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

        A browser that follows a link from another site, such as web mail, does not send the session cookie; the page
        then reloads itself, and the cookie is sent.
        """
        if request.method == "GET" and request.headers.get("sec-fetch-site") == "cross-site":
            return self.notice(request, "sign_in.again", refresh=True)
        if request.url.path != "/":
            return redirect("/")
        return self.notice(request, "sign_in.title", text="sign_in.text")

    def answer(self, request: Request, answer: Answer, *, visitor: Visitor | None = None) -> Response:
        """Render a page, or pass a response on."""
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
        """Show a page with a title and a line, given by keys of the texts."""
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
        """Return the fields of a form that a page of this site posted; other origins are refused."""
        own = {f"{request.url.scheme}://{request.headers.get('host', '')}", self.settings.site_url}
        if not any(is_same_origin(request.headers, origin) for origin in own):
            raise HTTPException(HTTPStatus.FORBIDDEN)
        return await read_fields(request)

    async def failed(self, request: Request, error: Exception) -> Response:
        """Show an error page in the visitor's language."""
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

    async def show_invitation(self, request: Request) -> Response:
        """Ask to press a button: mail scanners that open links must not use the invitation up."""
        token, mark = request.path_params["token"], self._mark_of(request)
        if self.sign_in_failures.is_over(address_of(request)):
            return self._slow(request)
        if not await self.endpoint.run(lambda tx: sessions.is_redeemable(tx, token, mark)):
            return self._used(request)
        return self._invited(request, "sign_in.invited_text")

    async def sign_in(self, request: Request) -> Response:
        """Redeem an invitation and start a session.

        A browser without the mark cookie could not be recognised again, and one that keeps no cookies could not keep
        the session: both are shown the page, which sets the mark, and the invitation stays unused.
        """
        token, mark = request.path_params["token"], self._mark_of(request)
        await self.fields(request)
        if self.sign_in_failures.is_over(address_of(request)):
            return self._slow(request)
        if mark is None:
            unused = await self.endpoint.run(lambda tx: sessions.is_redeemable(tx, token, None))
            return self._invited(request, "sign_in.cookie_text") if unused else self._used(request)
        session = await self.endpoint.run(lambda tx: sessions.redeem(tx, token, mark))
        if session is None:
            return self._used(request)
        response = redirect("/hits")
        self._set_cookie(response, self.settings.cookie, session, sessions.SESSION_LIFE, "strict")
        return response

    async def sign_out(self, request: Request) -> Response:
        """End this session."""
        return await self._sign_out(request, lambda visit: sessions.end_session(visit.tx, visit.visitor.session))

    async def sign_out_everywhere(self, request: Request) -> Response:
        """End all sessions of this worker."""
        return await self._sign_out(request, lambda visit: sessions.end_all(visit.tx, visit.worker_id))

    async def set_language(self, request: Request) -> Response:
        """Remember the chosen language."""
        chosen = (await self.fields(request)).get("language", "")
        response = redirect("/account")
        if chosen in LANGUAGES:
            self._set_cookie(response, LANGUAGE_COOKIE, chosen, YEAR, "lax")
        return response

    def _invited(self, request: Request, text: str) -> Response:
        """Show the button of an invitation and set the mark cookie, by which the browser is recognised later.

        The cookie is "lax", so that it is sent when a link in mail is followed; no other site can press the button.
        """
        action, button = f"/invite/{request.path_params['token']}", self.texts(request).say("sign_in.button")
        response = self.notice(request, "sign_in.invited", text=text, action=action, button=button)
        mark = self._mark_of(request) or secrets.token_urlsafe(32)
        self._set_cookie(response, self.settings.mark_cookie, mark, sessions.DAY, "lax")
        return response

    def _set_cookie(
        self, response: Response, name: str, value: str, life: float, samesite: Literal["lax", "strict"]
    ) -> None:
        secure = self.settings.secure
        response.set_cookie(name, value, int(life), path="/", secure=secure, httponly=True, samesite=samesite)

    def _mark_of(self, request: Request) -> str | None:
        mark = request.cookies.get(self.settings.mark_cookie, "")
        return mark if MARK.fullmatch(mark) else None

    def _used(self, request: Request) -> Response:
        self.sign_in_failures.note(address_of(request))
        return self.notice(request, "sign_in.used", text="sign_in.used_text", status=HTTPStatus.NOT_FOUND)

    def _slow(self, request: Request) -> Response:
        response = self.notice(request, "sign_in.slow", text="sign_in.slow_text", status=HTTPStatus.TOO_MANY_REQUESTS)
        response.headers["retry-after"] = "60"
        return response

    async def _sign_out(self, request: Request, end: Callable[[Visit], object]) -> Response:
        def sign_out(visit: Visit) -> Answer:
            end(visit)
            return redirect("/")

        response = await self.for_worker(sign_out, request)
        settings = self.settings
        response.delete_cookie(settings.cookie, path="/", secure=settings.secure, httponly=True, samesite="strict")
        return response


def redirect(address: str) -> Response:
    """Redirect the browser with status 303."""
    return RedirectResponse(address, status_code=HTTPStatus.SEE_OTHER)


def not_found() -> HTTPException:
    """Return the error of a page that is not there."""
    return HTTPException(HTTPStatus.NOT_FOUND)


def page_number(request: Request) -> int:
    """Return the requested page of a list, at least 1."""
    asked = request.query_params.get("page", "1")
    return max(1, int(asked)) if asked.isascii() and asked.isdigit() and len(asked) <= 6 else 1


def show_account(visit: Visit, *, link: str | None = None) -> Answer:
    """Show the account."""
    context = {"sessions": sessions.known_sessions(visit.tx, visit.worker_id), "link": link}
    return SitePage(template="account.html", here="/account", context=context)


def make_link(visit: Visit) -> Answer:
    """Show a sign-in link for another device; it is in no URL of this site, so no browser history keeps it."""
    token = sessions.invite(visit.tx, visit.worker_id, life=sessions.DEVICE_LIFE)
    return show_account(visit, link=f"{visit.settings.site_url}/invite/{token}")


def address_of(request: Request) -> str:
    """Return the client's IP address."""
    return request.client.host if request.client is not None else ""
