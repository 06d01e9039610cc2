"""Coming in by invitation, leaving, and what a worker sees of their own account."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable
from http import HTTPStatus
from typing import Literal

from starlette.requests import Request
from starlette.responses import Response

from mturk.endpoint.site import sessions
from mturk.endpoint.site.handlers import LANGUAGE_COOKIE, Answer, SiteHandlers, SitePage, Visit, redirect
from mturk.endpoint.site.texts import LANGUAGES

YEAR = 365 * 86_400
MARK = re.compile(r"[A-Za-z0-9_-]{43}", re.ASCII)


class SignInPages(SiteHandlers):
    """The routes of signing in and of the account."""

    async def show_invitation(self, request: Request) -> Response:
        """Ask for a press of the button: programs that look at links in mail must not use an invitation up."""
        token, mark = request.path_params["token"], self._mark_of(request)
        if self.sign_in_failures.is_over(address_of(request)):
            return self._slow(request)
        if not await self.endpoint.run(lambda tx: sessions.is_redeemable(tx, token, mark)):
            return self._used(request)
        return self._invited(request, "sign_in.invited_text")

    async def sign_in(self, request: Request) -> Response:
        """Use an invitation up and open a session.

        A browser without a mark could not be known again, and one that keeps no cookies could not keep the session
        either: both are shown the page, which gives a mark, and use nothing up.
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
        """Remember a language."""
        chosen = (await self.fields(request)).get("language", "")
        response = redirect("/account")
        if chosen in LANGUAGES:
            self._set_cookie(response, LANGUAGE_COOKIE, chosen, YEAR, "lax")
        return response

    def _invited(self, request: Request, text: str) -> Response:
        """Show the button of an invitation and give the browser a mark, which it keeps when it comes again.

        The mark comes along from links in mail ("lax"), or a browser would get another there and be a stranger; no
        page elsewhere can press the button.
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


def show_account(visit: Visit, *, link: str | None = None) -> Answer:
    """Show the account."""
    context = {"sessions": sessions.known_sessions(visit.tx, visit.worker_id), "link": link}
    return SitePage(template="account.html", here="/account", context=context)


def make_link(visit: Visit) -> Answer:
    """Show a link for another device; it is in no address, so it stays in no history."""
    token = sessions.invite(visit.tx, visit.worker_id, life=sessions.DEVICE_LIFE)
    return show_account(visit, link=f"{visit.settings.site_url}/invite/{token}")


def address_of(request: Request) -> str:
    """Return where a request comes from."""
    return request.client.host if request.client is not None else ""
