"""Errors of API calls, by whether the call can have taken effect."""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import Any

from spa.errors import PlatformError

LONGEST_LINE = 600  # characters of a platform's message that an error repeats


class ProlificError(PlatformError):
    """A call to Prolific failed. The subclasses say whether it can have had an effect."""


class ProlificRequestRefused(ProlificError):
    """The platform refused the call (a status from 400 to 499), which had no effect.

    ``body`` is the response verbatim, ``wait`` the seconds that the platform asks to wait.
    """

    def __init__(self, problem: str, *, status: int, body: str = "", wait: float = 0.0) -> None:
        super().__init__(problem)
        self.status = status
        self.body = body
        self.wait = wait

    @property
    def missing(self) -> bool:
        """Whether the requested object does not exist."""
        return self.status == HTTPStatus.NOT_FOUND


class Unreachable(ProlificError):
    """No connection was established, so the call had no effect."""


class Unanswered(ProlificError):
    """The call was sent and got no usable response: it is unknown whether it took effect."""


def error_line(status: int, body: str) -> str:
    """Return an error response as one line.

    The platform sends ``{"error": {...}}``, the same without the wrapper, or ``{"message", "detail"}``;
    ``detail`` is a text, a list, or an object of fields with their messages.

    >>> error_line(400, '{"error": {"status": 400, "title": "Bad", "detail": {"reward": ["Too low."]}}}')
    'HTTP 400, Bad: reward: Too low.'
    >>> error_line(502, "<html>")
    'HTTP 502, Bad Gateway: an answer that is not JSON'
    """
    phrase = next((known.phrase for known in HTTPStatus if known == status), "unknown status")
    try:
        content = json.loads(body)
    except ValueError:
        return f"HTTP {status}, {phrase}: {'no words' if not body.strip() else 'an answer that is not JSON'}"
    if isinstance(content, dict) and isinstance(content.get("error"), dict):
        content = content["error"]
    if not isinstance(content, dict):
        return f"HTTP {status}, {phrase}: {_flat(content)}"[:LONGEST_LINE]
    title = content.get("title") or content.get("message") or phrase
    rest = [_flat(content[name]) for name in ("detail", "additional_information") if content.get(name)]
    return f"HTTP {status}, {': '.join([_flat(title), *rest])}"[:LONGEST_LINE]


def _flat(value: Any) -> str:
    if isinstance(value, dict):
        return "; ".join(f"{name}: {_flat(inner)}" for name, inner in value.items())
    if isinstance(value, list):
        return "; ".join(_flat(inner) for inner in value)
    return " ".join(str(value).split())
