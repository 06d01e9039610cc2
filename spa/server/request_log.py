"""Structured logs of the server: one JSON object a line, without anything that identifies a person."""

from __future__ import annotations

import json
import logging
import re
import sys
from datetime import UTC, datetime
from typing import Any

from starlette.types import ASGIApp, Receive, Scope, Send

from spa.server.request_metrics import noted

REQUESTS = "spa.requests"
# tokens, submissions, annotators, addresses of networks: none of them is anybody's business but the store's
SECRETS = re.compile(
    r"\b(?:[a-z2-9]{16}|s[0-9a-f]{16}|[0-9a-f]{20,}|\d{1,3}(?:\.\d{1,3}){3})\b|\b(?:[0-9a-f]*:){2,7}[0-9a-f]+\b"
)


class JsonLines(logging.Formatter):
    """One JSON object a record."""

    def format(self, record: logging.LogRecord) -> str:
        """Format a record; anything that could identify a person is removed."""
        facts: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": without_secrets(record.getMessage()),
            **getattr(record, "facts", {}),
        }
        if record.exc_info:
            facts["error"] = without_secrets(self.formatException(record.exc_info))
        return json.dumps(facts, ensure_ascii=False)


class RequestLog:
    """Logs every request with the pattern of its route, never with the values in it."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self._log = logging.getLogger(REQUESTS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on and note what came of it."""

        def log(status: int, seconds: float) -> None:
            facts = {
                "method": scope["method"],
                "route": pattern_of(scope),
                "status": status,
                "ms": round(1000 * seconds, 1),
            }
            self._log.info("request", extra={"facts": facts})

        await noted(self.app, scope, receive, send, log)


def pattern_of(scope: Scope) -> str:
    """Return the address of a request with names for its parts; "unknown" where no route took it."""
    if "endpoint" not in scope:
        return "unknown"
    values = {str(value): f"{{{name}}}" for name, value in scope.get("path_params", {}).items()}
    return "/".join(values.get(part, part) for part in scope["path"].split("/"))


def without_secrets(text: str) -> str:
    """Leave out what looks like one of our ids, a token or a network address.

    >>> without_secrets("submission 's0123456789abcdef' from 10.0.0.1 was leased")
    "submission '...' from ... was leased"
    """
    return SECRETS.sub("...", text)


def log_as_json() -> None:
    """Write the records of the server and of its requests to the standard error output, a line of JSON each."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    for name, level in ((REQUESTS, logging.INFO), ("uvicorn", logging.INFO), ("spa", logging.INFO)):
        logger = logging.getLogger(name)
        logger.handlers = [handler]
        logger.setLevel(level)
        logger.propagate = False
