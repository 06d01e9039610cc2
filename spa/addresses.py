"""Which addresses lead to this machine."""

from __future__ import annotations

from ipaddress import ip_address
from urllib.parse import urlsplit


def is_loopback_host(host: str) -> bool:
    """Return whether a host is this machine.

    >>> [is_loopback_host(host) for host in ("localhost", "127.0.0.1", "::1", "127.0.0.1.example.org", "")]
    [True, True, True, False, False]
    """
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def is_loopback(url: str) -> bool:
    """Return whether a URL leads to this machine.

    >>> is_loopback("http://127.0.0.1:8000/v1"), is_loopback("https://localhost.example.org/v1")
    (True, False)
    """
    return is_loopback_host(urlsplit(url).hostname or "")
