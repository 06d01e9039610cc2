"""Ids and times in the platform's format."""

from __future__ import annotations

import secrets
from datetime import UTC, datetime

PATTERN = r"^[a-f\d]{24}$"


def new_id() -> str:
    """Return a new id: 24 hexadecimal digits."""
    return secrets.token_hex(12)


def iso_time(seconds: float | None) -> str | None:
    """Return a time as the platform writes it.

    >>> iso_time(0.25)
    '1970-01-01T00:00:00.250000Z'
    """
    if seconds is None:
        return None
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
