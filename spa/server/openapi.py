"""The OpenAPI document of the survey server's own routes; not served, but written to ``docs/server-openapi.json``.

Regenerate it with ``python -m spa.server.openapi > docs/server-openapi.json``.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from spa.server.form_posts import FORM_TYPE

Answers = dict[int, str]
Paths = dict[str, dict[str, dict[str, Any]]]
HTML = "text/html"
JSON = "application/json"
CLOSED = "The open link is closed"
GONE_OR_FULL = "The time limit has passed, or the study is full"
COMMON: Answers = {429: "Too many requests with this link, or too many new visits", 503: "The store is locked or full"}
UNKNOWN = "No such link or page"
PLACES: dict[str, dict[str, Any]] = {
    "token": {"description": "The annotator's personal link", "schema": {"type": "string", "minLength": 1}},
    "page_id": {"description": "A page of the person's form, such as p3", "schema": {"type": "string", "minLength": 1}},
    "exhibit_id": {"description": "An image of the person's form", "schema": {"type": "string", "minLength": 1}},
    "name": {
        "description": "The style sheet or the script, with its hash",
        "schema": {"type": "string", "minLength": 1},
    },
}
GO = {
    "name": "go",
    "in": "query",
    "required": False,
    "description": "After saving: next page, previous page, stay (a draft), or decline on the consent page",
    "schema": {"type": "string", "enum": ["on", "back", "stay", "decline"], "default": "on"},
}
FIELDS = {
    "required": False,
    "content": {FORM_TYPE: {"schema": {"type": "object", "additionalProperties": {"type": "string"}}}},
}


def describe(version: str) -> dict[str, Any]:
    """Return the document: every path, what it may be sent and how it answers."""
    paths = {**for_everybody(), **for_a_person(), **for_the_administrator()}
    for path, operations in paths.items():
        places = [
            {"name": name, "in": "path", "required": True, **facts}
            for name, facts in PLACES.items()
            if f"{{{name}}}" in path
        ]
        for each in operations.values():
            each["parameters"] = [*places, *each["parameters"]]
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "The survey server of spa serve",
            "version": version,
            "description": "HTML pages for browsers. The personal link is the credential; a cookie only remembers it.",
        },
        "paths": paths,
        "components": {"securitySchemes": {"administrator": {"type": "http", "scheme": "bearer"}}},
    }


def for_everybody() -> Paths:
    """Return the public paths: start page, health check, assets."""
    return {
        "/": {
            "get": operation(
                "Start page of the open link",
                {200: "A page with a button", 403: "The link names no group", 404: CLOSED},
            ),
            "post": operation(
                "Create a personal link",
                {
                    303: "Redirect to the link, or to this browser's visit",
                    403: "Posted by another site, or the link names no group",
                    404: CLOSED,
                    410: GONE_OR_FULL,
                },
            ),
        },
        "/health": {"get": operation("Health of the server and its store", {200: "Both respond"}, media=JSON)},
        "/static/{name}": {
            "get": operation("Style sheet and script", {200: "The file", 404: "No such file"}, media="*/*")
        },
    }


def for_a_person() -> Paths:
    """Return the paths of a personal link."""
    return {
        "/a/{token}": {
            "get": operation(
                "Redirect to the page that is due",
                {303: "To the page", 403: "Not yet", 404: UNKNOWN, 410: GONE_OR_FULL},
            )
        },
        "/a/{token}/p/{page_id}": {
            "get": operation("One page", {200: "The page", 303: "To the due page", 404: UNKNOWN, 410: GONE_OR_FULL}),
            "post": saving_a_page(),
        },
        "/a/{token}/done": {
            "get": operation(
                "End of the visit",
                {200: "How the visit ended", 303: "To the due page or the platform", 404: UNKNOWN, 410: GONE_OR_FULL},
            )
        },
        "/a/{token}/next": {
            "post": operation("Begin the next session", {303: "To it", 403: "Not yet", 404: UNKNOWN, 410: GONE_OR_FULL})
        },
        "/a/{token}/image/{exhibit_id}": {
            "get": operation("An image", {200: "The image", 404: UNKNOWN, 410: GONE_OR_FULL}, media="*/*")
        },
    }


def saving_a_page() -> dict[str, Any]:
    """Return the operation that saves answers, with every way in which it can fail."""
    return operation(
        "Save a page",
        {
            204: "The draft is saved",
            303: "Saved; to the next page",
            400: "Saved, but the fields are not those of the page; or the form data is malformed",
            403: "Posted by another site",
            404: UNKNOWN,
            408: "The body did not arrive in time",
            410: GONE_OR_FULL,
            413: "The body is too large",
            415: "Not a form post (content type)",
            422: "Saved; the page again, with missing answers marked",
        },
        parameters=[GO],
        body=FIELDS,
    )


def for_the_administrator() -> Paths:
    """Return the paths that need the administrator's token."""
    closed: Answers = {200: "The numbers", 401: "The administrator's token is missing or wrong"}
    return {
        "/admin/status": {"get": operation("Progress of the study", closed, media=JSON, secured=True)},
        "/metrics": {"get": operation("Progress as Prometheus metrics", closed, media="text/plain", secured=True)},
    }


def operation(
    summary: str,
    answers: Answers,
    *,
    media: str = HTML,
    parameters: list[dict[str, Any]] | None = None,
    body: dict[str, Any] | None = None,
    secured: bool = False,
) -> dict[str, Any]:
    """Return one operation; an answer with a body has the media type, a failure is a page in the study's language."""
    responses = {}
    for status, text in sorted({**answers, **COMMON}.items()):
        response: dict[str, Any] = {"description": text}
        if status == 200:
            response["content"] = {media: {}}
        elif status >= 400 and status != 401:
            response["content"] = {HTML: {}}
        elif status == 401:
            response["content"] = {"text/plain": {}}
        responses[str(status)] = response
    found: dict[str, Any] = {"summary": summary, "parameters": parameters or [], "responses": responses}
    if body is not None:
        found["requestBody"] = body
    if secured:
        found["security"] = [{"administrator": []}]
    return found


def main() -> None:
    """Write the document to the standard output."""
    from importlib.metadata import version

    json.dump(describe(version("spa-eval")), sys.stdout, indent=1)
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
