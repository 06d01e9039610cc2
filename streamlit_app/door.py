"""The door of the dashboard: nothing is answered under another name, to another site's page, or without a secret.

A link's secret becomes a cookie, and the address loses it. Streamlit checks host and origin of its websocket only, and
knows of no secret: this stands before all that it answers, and before each message of an open websocket.
"""

from __future__ import annotations

import socket
from collections.abc import Iterable
from html import escape
from ipaddress import ip_address
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit

from starlette.requests import HTTPConnection, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from streamlit_app.access import DashboardAccess, Person

HEALTH = "/_stcore/health"  # says only that it runs
SIGN_IN = "/sign-in"
EVERYWHERE = ("0.0.0.0", "::", "")  # addresses to listen on that mean all of this machine's
HERE = ("localhost", "127.0.0.1", "::1")
SAFE = ("GET", "HEAD", "OPTIONS")
COOKIE_SECONDS = 90 * 24 * 3600
LONGEST_BODY = 4096  # bytes of the form
POLICY_VIOLATION = 1008  # a websocket's
PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>spa dashboard</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><style>
:root{{color-scheme:light dark}}
body{{font:1rem/1.5 system-ui,sans-serif;max-width:34rem;margin:3rem auto;padding:0 1rem}}
input,button{{font:inherit;padding:.5rem;box-sizing:border-box;max-width:100%}}input{{width:100%;margin:.3rem 0 .8rem}}
</style></head><body><main><h1>{title}</h1><p>{text}</p>{form}</main></body></html>"""
FORM = (
    f'<form method="post" action="{SIGN_IN}"><label for="token">Link or access token</label>'
    '<input id="token" name="token" type="password" autocomplete="off" required><button>Open the dashboard</button>'
    "</form>"
)
POLICY = "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
CLOSED = (
    "Please open this dashboard with the link that spa dashboard printed, which contains an access token, or with the "
    "link that was made for you."
)


class Hosts:
    """The names under which the dashboard answers, ports aside.

    Where it listens at all addresses of the machine, any address will do: what another site's name leads to comes
    under that name, never under an address.
    """

    def __init__(self, host: str, public_url: str | None = None) -> None:
        public = urlsplit(public_url or "")
        self.anywhere = host in EVERYWHERE
        own = socket.gethostname() if self.anywhere else host
        self.names = tuple(dict.fromkeys(name.lower() for name in (*HERE, own, public.hostname or "") if name))
        self.origin = f"{public.scheme}://{public.netloc}".lower() if public.netloc else None

    @property
    def for_streamlit(self) -> list[str]:
        """The same as Streamlit's ``server.allowedHosts``, which knows no addresses in general."""
        return ["*"] if self.anywhere else list(self.names)

    def allow(self, host: str | None) -> bool:
        """Return whether a ``Host`` header names this dashboard."""
        name = _host_name(host or "")
        return name is not None and (name in self.names or (self.anywhere and _is_address(name)))

    def is_own_origin(self, origin: str, host: str) -> bool:
        """Return whether a page of this dashboard asks: its host and port are those that were asked for."""
        return origin.lower() == self.origin or urlsplit(origin).netloc.lower() == host.lower()


class Door:
    """Lets a request or a websocket pass to the application, or answers it."""

    def __init__(self, app: ASGIApp, *, access: DashboardAccess, hosts: Hosts, secure: bool = False) -> None:
        self.app = app
        self._access = access
        self._hosts = hosts
        self._secure = secure  # whether browsers come over TLS

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check one request or websocket."""
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        asked = HTTPConnection(scope)
        refusal = self._refusal(asked)
        if refusal is None and scope["type"] == "http":
            refusal = await self._signing_in(Request(scope, receive))
        if refusal is None and scope["path"] != HEALTH and self._person(asked) is None:
            refusal = _page("Access token needed", CLOSED, status=403, form=FORM)
        if refusal is None:
            if scope["type"] == "websocket":
                receive, send = self._checked(asked, receive, send)
            await self.app(scope, receive, send)
        elif scope["type"] == "http":
            await refusal(scope, receive, send)
        else:
            await send({"type": "websocket.close", "code": POLICY_VIOLATION})

    def _refusal(self, asked: HTTPConnection) -> Response | None:
        """Refuse what comes under another name, or from a page that is not this dashboard's."""
        hosts, headers = asked.headers.getlist("host"), asked.headers
        if len(hosts) != 1 or not self._hosts.allow(hosts[0]):
            text = f"This dashboard answers to {', '.join(self._hosts.names)}. To reach it by another name, start it "
            return _page("Another name", f"{text}with --public-url https://NAME.", status=421)
        acts = asked.scope["type"] == "websocket" or asked.scope["method"] not in SAFE
        foreign = acts and not all(self._hosts.is_own_origin(one, hosts[0]) for one in headers.getlist("origin"))
        elsewhere = headers.get("sec-fetch-site", "none") not in ("same-origin", "none")
        if foreign or (elsewhere and headers.get("sec-fetch-mode") != "navigate"):
            return _page("Refused", "This was asked for by a page of another site.", status=403)
        return None

    async def _signing_in(self, request: Request) -> Response | None:
        if request.url.path == SIGN_IN:
            if request.method != "POST":
                return _page("Access token needed", CLOSED, status=403, form=FORM)
            return self._sign_in(request, _secret_in(await _body(request)), "/")
        if request.method in SAFE and "token" in request.query_params:
            kept = [(name, value) for name, value in parse_qsl(request.url.query) if name not in ("token", "reviewer")]
            there = "/" + request.url.path.lstrip("/\\") + ("?" + urlencode(kept) if kept else "")
            return self._sign_in(request, request.query_params["token"], there)
        return None

    def _sign_in(self, request: Request, secret: str, there: str) -> Response:
        """Give a browser the cookie of a person; it stays that person's for as long as the cookie leads to them."""
        found, already = self._access.person(secret), self._person(request)
        if found is None:
            return _page("Wrong access token", f"This link leads nowhere (any more). {CLOSED}", status=403, form=FORM)
        if already is not None and already.name is not None and found.name not in (None, already.name):
            text = f"This browser is {already.name}'s. {found.name} needs another browser, or another profile of it."
            return _page("Somebody else's browser", text, status=409)
        answer = RedirectResponse(there, status_code=303, headers={"cache-control": "no-store"})
        if already is None or found.name is not None:
            answer.set_cookie(
                self._access.cookie,
                secret,
                max_age=COOKIE_SECONDS,
                path="/",
                secure=self._secure,
                httponly=True,
                samesite="lax",  # a link in a message leads here; websocket and posts are checked by their origin
            )
        return answer

    def _person(self, asked: HTTPConnection) -> Person | None:
        return self._access.person(asked.cookies.get(self._access.cookie, ""))

    def _checked(self, asked: HTTPConnection, receive: Receive, send: Send) -> tuple[Receive, Send]:
        """Return what receives and sends a websocket's messages for as long as its secret is somebody's."""
        closed = False

        async def receive_checked() -> Message:
            nonlocal closed
            message = await receive()
            if message["type"] == "websocket.receive" and self._person(asked) is None:
                if not closed:
                    closed = True
                    await send({"type": "websocket.close", "code": POLICY_VIOLATION})
                return {"type": "websocket.disconnect", "code": POLICY_VIOLATION}
            return message

        async def send_checked(message: Message) -> None:
            if not closed:
                await send(message)

        return receive_checked, send_checked


def _page(title: str, text: str, *, status: int, form: str = "") -> Response:
    html = PAGE.format(title=escape(title), text=escape(text), form=form)
    return HTMLResponse(html, status_code=status, headers={"content-security-policy": POLICY})


async def _body(request: Request) -> bytes:
    found = b""
    async for part in request.stream():
        found += part
        if len(found) > LONGEST_BODY:
            return b""
    return found


def _secret_in(body: bytes) -> str:
    """Return the secret that was typed, or that of a link that was pasted."""
    typed = _first(parse_qs(body.decode("latin-1")).get("token", ()))
    return _first(parse_qs(urlsplit(typed).query).get("token", ())) if "token=" in typed else typed


def _first(values: Iterable[str]) -> str:
    return next(iter(values), "").strip()


def _host_name(host: str) -> str | None:
    """Return the name in a ``Host`` header without its port; ``None`` if it holds anything else."""
    try:
        parts = urlsplit(f"//{host}")
        _ = parts.port  # refuses what is no number
    except ValueError:
        return None
    if parts.path or parts.query or parts.fragment or "@" in host or not parts.hostname:
        return None
    return parts.hostname.lower().rstrip(".")


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True
