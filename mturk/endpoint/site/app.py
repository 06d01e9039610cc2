"""The application of the worker site, and both ports in one server."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from mturk.endpoint.errors import MTurkRequestError
from mturk.endpoint.service import MTurkService
from mturk.endpoint.site import tasks
from mturk.endpoint.site.handlers import Answer, SiteHandlers, Visit, make_link, redirect, show_account
from mturk.endpoint.site.rendering import send_asset
from mturk.endpoint.site.security import SITE_HEADERS
from mturk.endpoint.site.settings import SiteSettings
from mturk.endpoints import SITES_PATH
from spa.errors import ResponseError
from spa.server.http_server import Listener, run
from spa.server.request_guard import PlainPaths
from spa.server.security_headers import SecurityHeaders, content_policy

PAGES: tuple[tuple[str, str, Callable[[Visit], Answer]], ...] = (  # for whoever is signed in
    ("/", "GET", lambda visit: redirect("/hits")),
    ("/account", "GET", show_account),
    ("/account/link", "POST", make_link),
    ("/hits", "GET", tasks.show_list),
    ("/groups/{group}", "GET", tasks.show_group),
    ("/groups/{group}/accept", "POST", tasks.accept_hit),
    ("/work", "GET", tasks.show_in_hand),
    ("/work/{assignment}", "GET", tasks.show_work),
    ("/work/{assignment}/state", "GET", tasks.report_state),
    ("/work/{assignment}/done", "GET", tasks.show_done),
    ("/work/{assignment}/return", "GET", tasks.ask_return),
    ("/work/{assignment}/return", "POST", tasks.return_hit),
    ("/history", "GET", tasks.show_history),
    ("/earnings", "GET", tasks.show_earnings),
    ("/messages", "GET", tasks.show_messages),
    ("/qualifications", "GET", tasks.show_qualifications),
    ("/qualifications/{type}/request", "POST", tasks.ask_qualification),
)


def add_site(app: FastAPI, endpoint: MTurkService, settings: SiteSettings) -> None:
    """Add the pages of the site, and its headers, to the endpoint's application."""
    handlers = SiteHandlers(endpoint, settings)
    for path, method, route in (
        ("/invite/{token}", "GET", handlers.show_invitation),
        ("/invite/{token}", "POST", handlers.sign_in),
        ("/sign-out", "POST", handlers.sign_out),
        ("/sign-out-everywhere", "POST", handlers.sign_out_everywhere),
        ("/account/language", "POST", handlers.set_language),
        ("/mturk/preview", "GET", tasks.redirect_to_group),
        ("/static/{name}", "GET", _send),
    ):
        app.add_route(path, route, methods=[method])
    for path, method, show in PAGES:
        app.add_route(path, partial(handlers.for_worker, show), methods=[method])
    sites = {"sites": [settings.site_url, settings.frame_url]}

    async def tell_sites(request: Request) -> Response:
        return JSONResponse(sites)

    app.add_route(SITES_PATH, tell_sites, methods=["GET"])
    app.add_middleware(SecurityHeaders, policy=content_policy, headers=SITE_HEADERS)
    app.add_middleware(PlainPaths)
    for error in (HTTPException, MTurkRequestError, ResponseError):
        app.add_exception_handler(error, handlers.failed)


async def _send(request: Request) -> Response:
    return send_asset(request.path_params["name"])


class PortDispatcher:
    """Passes a request to the application of the port on which it arrived, whatever its Host header."""

    def __init__(self, main: ASGIApp, frames: ASGIApp, *, frame_port: int) -> None:
        self.main = main
        self.frames = frames
        self.frame_port = frame_port

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on."""
        server = scope.get("server")
        behind = self.frames if server is not None and server[1] == self.frame_port else self.main
        await behind(scope, receive, send)


def serve_both_ports(
    main: ASGIApp,
    frames: ASGIApp,
    listener: Listener,
    frame_listener: Listener,
    *,
    when_ready: Callable[[], object] = lambda: None,
) -> None:
    """Serve both until interrupted; ``when_ready`` as in :func:`spa.server.http_server.run`."""
    app = PortDispatcher(main, frames, frame_port=frame_listener.socket.getsockname()[1])
    run(app, listener, frame_listener, when_ready=when_ready, lifespan="off")
