"""What a server says of its limiter, in the headers of a response."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

PART_OF_TIME = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ms|s|m|h|d)?")
SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "": 1.0}
KINDS = ("requests", "tokens")


@dataclass(frozen=True, slots=True, kw_only=True)
class RateLimitHint:
    """What is left of an limiter: the share of it, and the seconds until it is whole again."""

    share_left: float  # 0 to 1, the least of requests and tokens
    reset: float  # seconds


def rate_limit_hint(headers: Mapping[str, str]) -> RateLimitHint | None:
    """Read ``x-ratelimit-limit-*``, ``-remaining-*`` and ``-reset-*``; ``None`` where they are absent or odd.

    >>> rate_limit_hint({"x-ratelimit-limit-requests": "60", "x-ratelimit-remaining-requests": "15",
    ...          "x-ratelimit-reset-requests": "1m30s"})
    RateLimitHint(share_left=0.25, reset=90.0)
    """
    found = []
    for kind in KINDS:
        try:
            limit = float(headers.get(f"x-ratelimit-limit-{kind}", ""))
            left = float(headers.get(f"x-ratelimit-remaining-{kind}", ""))
        except ValueError:
            continue
        reset = seconds_of(headers.get(f"x-ratelimit-reset-{kind}", ""))
        if reset is not None and 0 < limit < float("inf") and 0 <= left <= limit:
            found.append(RateLimitHint(share_left=left / limit, reset=reset))
    return min(found, key=lambda hint: hint.share_left, default=None)


def seconds_of(text: str) -> float | None:
    """Read a time such as "1m30s", "250ms" or "2.5"; ``None`` for anything else.

    >>> seconds_of("6m0s"), seconds_of("20ms"), seconds_of("soon")
    (360.0, 0.02, None)
    """
    text = text.strip()
    parts = PART_OF_TIME.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        return None
    return sum(float(number) * SECONDS[unit] for number, unit in parts)


def retry_after_seconds(headers: Mapping[str, str], *, now: float | None = None) -> float | None:
    """Return the seconds that a server asks us to wait, in milliseconds, in seconds or as a date; ``None`` for none.

    ``now`` is in seconds since 1970; the clock's where absent.

    >>> retry_after_seconds({"retry-after": "2"}), retry_after_seconds({"retry-after-ms": "250"})
    (2.0, 0.25)
    >>> retry_after_seconds({"retry-after": "Thu, 01 Jan 1970 00:01:00 GMT"}, now=50.0)
    10.0
    """
    for name, scale in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        try:
            seconds = float(headers.get(name, "")) / scale
        except ValueError:  # absent, or a date
            continue
        if 0 <= seconds < float("inf"):
            return seconds
    try:
        date = parsedate_to_datetime(headers.get("retry-after", "")).timestamp()
    except (ValueError, OverflowError):
        return None
    return max(0.0, date - (time.time() if now is None else now))
