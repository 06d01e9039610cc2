"""Coming in by invitation, leaving, and what a worker sees of their own account."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable
from http import HTTPStatus

from starlette.requests import Request
from starlette.responses import Response

from mturk.endpoint.site.handlers import LANGUAGE_COOKIE, Answer, SiteHandlers, SitePage, redirect
from mturk.endpoint.site.sessions import (
    DAY,
    DEVICE_LIFE,
    SESSION_LIFE,
    Visitor,
    end_all,
    end_session,
    invite,
    is_redeemable,
    known_sessions,
    redeem,
)
from mturk.endpoint.site.texts import LANGUAGES
from mturk.endpoint.transaction import Transaction

YEAR = 365 * 86_400
MARK = re.compile(r"[A-Za-z0-9_-]{43}", re.ASCII)


class SignInPages(SiteHandlers):
    """The routes of signing in and of the account."""

    async def start(self, request: Request) -> Response:
        """Lead to the list, or show how to sign in."""
        return await self.for_worker(request, lambda tx, visitor: redirect("/hits"))

    async def show_invitation(self, request: Request) -> Response:
        """Ask for a press of the button: programs that look at links in mail must not use an invitation up."""
        token, mark = request.path_params["token"], self._mark_of(request)
        if self.sign_in_failures.is_over(address_of(request)):
            return self._slow(request)
        if not await self.endpoint.run(lambda tx: is_redeemable(tx, token, mark)):
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
            unused = await self.endpoint.run(lambda tx: is_redeemable(tx, token, None))
            return self._invited(request, "sign_in.cookie_text") if unused else self._used(request)
        session = await self.endpoint.run(lambda tx: redeem(tx, token, mark))
        if session is None:
            return self._used(request)
        response = redirect("/hits")
        response.set_cookie(
            self.settings.cookie,
            session,
            max_age=int(SESSION_LIFE),
            path="/",
            secure=self.settings.secure,
            httponly=True,
            samesite="strict",
        )
        return response

    async def sign_out(self, request: Request) -> Response:
        """End this session."""
        return await self._sign_out(request, lambda tx, visitor: end_session(tx, visitor.session))

    async def sign_out_everywhere(self, request: Request) -> Response:
        """End all sessions of this worker."""
        return await self._sign_out(request, lambda tx, visitor: end_all(tx, visitor.worker_id))

    async def show_account(self, request: Request) -> Response:
        """Show the account."""
        return await self.for_worker(request, lambda tx, visitor: self._account(tx, visitor, link=None))

    async def make_link(self, request: Request) -> Response:
        """Show a link for another device; it is in no address, so it stays in no history."""
        await self.fields(request)

        def work(tx: Transaction, visitor: Visitor) -> Answer:
            token = invite(tx, visitor.worker_id, life=DEVICE_LIFE)
            return self._account(tx, visitor, link=f"{self.settings.site_url}/invite/{token}")

        return await self.for_worker(request, work)

    async def set_language(self, request: Request) -> Response:
        """Remember a language."""
        chosen = (await self.fields(request)).get("language", "")
        response = redirect("/account")
        if chosen in LANGUAGES:
            response.set_cookie(
                LANGUAGE_COOKIE,
                chosen,
                max_age=YEAR,
                path="/",
                secure=self.settings.secure,
                httponly=True,
                samesite="lax",
            )
        return response

    def _account(self, tx: Transaction, visitor: Visitor, *, link: str | None) -> Answer:
        sessions = known_sessions(tx, visitor.worker_id)
        return SitePage(template="account.html", here="/account", context={"sessions": sessions, "link": link})

    def _invited(self, request: Request, text: str) -> Response:
        """Show the button of an invitation and give the browser a mark, which it keeps when it comes again.

        The mark comes along from links in mail ("lax"), or a browser would get another there and be a stranger; no
        page elsewhere can press the button.
        """
        response = self.notice(
            request,
            "sign_in.invited",
            text=text,
            action=f"/invite/{request.path_params['token']}",
            button=self.texts(request).say("sign_in.button"),
        )
        response.set_cookie(
            self.settings.mark_cookie,
            self._mark_of(request) or secrets.token_urlsafe(32),
            max_age=int(DAY),
            path="/",
            secure=self.settings.secure,
            httponly=True,
            samesite="lax",
        )
        return response

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

    async def _sign_out(self, request: Request, end: Callable[[Transaction, Visitor], object]) -> Response:
        await self.fields(request)

        def work(tx: Transaction, visitor: Visitor) -> Answer:
            end(tx, visitor)
            return redirect("/")

        response = await self.for_worker(request, work)
        settings = self.settings
        response.delete_cookie(settings.cookie, path="/", secure=settings.secure, httponly=True, samesite="strict")
        return response


def address_of(request: Request) -> str:
    """Return where a request comes from."""
    return request.client.host if request.client is not None else ""
