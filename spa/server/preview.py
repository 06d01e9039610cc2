"""One form to look at: every page can be reached without answers, and nothing is stored."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, Response
from starlette.exceptions import HTTPException

from spa.forms.html import Addresses, PageState
from spa.records.form import Form, Page
from spa.records.texts import Texts
from spa.server.form_posts import Fields
from spa.server.page_responses import (
    find_shown,
    page_response,
    paths_of_captions,
    paths_of_files,
    redirect_to,
    send_asset,
    send_captions,
    send_notice,
    send_shown,
)
from spa.server.request_guard import PlainPaths
from spa.server.security_headers import SecurityHeaders, content_policy


def create_preview(form: Form, texts: Texts, *, minutes: int | None = None) -> FastAPI:
    """Create a server of one form, which takes ``minutes``; a post leads to the next page whatever it holds."""
    app = FastAPI(title=form.title, docs_url=None, redoc_url=None, openapi_url=None, redirect_slashes=False)
    app.add_middleware(SecurityHeaders, policy=content_policy)
    app.add_middleware(PlainPaths)
    pages = {page.page_id: page for page in form.pages}
    order = list(pages)
    state = PageState(preview=True, minutes=minutes)

    def known(page_id: str) -> Page:
        if page_id not in pages:
            raise HTTPException(404)
        return pages[page_id]

    def first() -> Response:
        return redirect_to(f"/p/{order[0]}")

    def show(page_id: str) -> Response:
        addresses = Addresses(action=f"/p/{page_id}", file=lambda exhibit: f"/{exhibit.medium}/{exhibit.exhibit_id}")
        return page_response(form, known(page_id), texts, addresses=addresses, state=state)

    def leave(page_id: str, fields: Fields, go: str = "on") -> Response:
        if go == "decline":
            return send_notice(texts, "declined", status=200)
        place = form.pages.index(known(page_id)) + (-1 if go == "back" else 1)
        return redirect_to(f"/p/{order[max(place, 0)]}" if place < len(order) else "/done")

    def done() -> Response:
        return send_notice(texts, "done", status=200)

    def shown(request: Request, exhibit_id: str) -> Response:
        return send_shown(request, form, find_shown(form, exhibit_id), kept=False)  # the next form has this address

    def captions(exhibit_id: str) -> Response:
        return send_captions(find_shown(form, exhibit_id))

    def failed(request: object, error: Exception) -> Response:
        return send_notice(texts, "unknown", status=error.status_code if isinstance(error, HTTPException) else 400)

    routes: list[tuple[str, str, Callable[..., Any]]] = [
        ("/", "GET", first),
        ("/p/{page_id}", "GET", show),
        ("/p/{page_id}", "POST", leave),
        ("/done", "GET", done),
        *((path, "GET", shown) for path in paths_of_files("")),
        *((path, "GET", captions) for path in paths_of_captions("")),
        ("/static/{name}", "GET", send_asset),
    ]
    for path, method, route in routes:
        methods = ["GET", "HEAD"] if method == "GET" else [method]
        app.add_api_route(path, route, methods=methods, response_class=HTMLResponse, response_model=None)
    app.add_exception_handler(HTTPException, failed)
    return app
