"""Whether a webhook was signed by the platform, over the bytes as they arrived, and not long ago."""

from __future__ import annotations

import base64
import hashlib
import hmac

WINDOW_SECONDS = 300.0


def signature(secret: str, timestamp: str, body: bytes) -> str:
    """Return the signature of a webhook: base64 of HMAC-SHA-256 over timestamp and raw body.

    >>> signature("s", "1", b"{}")
    'CiV1TD0Yu7cq2KGtsIxzYnuIl8N8IS89HrZiz9VpEGE='
    """
    digest = hmac.new(secret.encode(), timestamp.encode() + body, hashlib.sha256).digest()
    return base64.b64encode(digest).decode()


def is_signed(secret: str, *, given: str, timestamp: str, body: bytes) -> bool:
    """Compare a signature in constant time."""
    return hmac.compare_digest(signature(secret, timestamp, body).encode(), given.encode("utf-8", "surrogatepass"))


def is_recent(timestamp: str, now: float) -> bool:
    """Return whether a timestamp (seconds or milliseconds since 1970) lies within five minutes of now.

    >>> is_recent("1000", 1200.0), is_recent("1000000", 1200.0), is_recent("1000", 1301.0), is_recent("soon", 1.0)
    (True, True, False, False)
    """
    try:
        seconds = float(timestamp)
    except ValueError:
        return False
    return any(abs(now - value) <= WINDOW_SECONDS for value in (seconds, seconds / 1000))
