"""The endpoint of the MTurk protocol, boto3 clients for it, and the origins of its worker site.

Amazon's own service closed on 30 September 2026, so there is no default endpoint, and Amazon's hosts are refused
before anything is sent. The protocol does not name the origins that show HITs and receive submissions, since MTurk had
one worker site: an endpoint of ``spa mturk serve`` publishes them at a well-known URL, and those of other endpoints are
named in the study file.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from functools import cache, cached_property
from json import JSONDecodeError
from typing import Any
from urllib.parse import urlsplit

import httpx2

from spa.addresses import is_loopback_host
from spa.errors import PlatformError, how_to_install

VARIABLE = "MTURK_ENDPOINT_URL"
REGION = "us-east-1"  # signed into every request; an endpoint of another provider knows the protocol's
CLOSED = (
    "Amazon closed Mechanical Turk on 30 September 2026, so nothing can be published there; host HITs for annotators "
    "of your own with `spa mturk serve` and name it with --endpoint-url or MTURK_ENDPOINT_URL, name another endpoint "
    "that speaks the protocol, find people with `spa prolific`, or hand out links with `spa serve`"
)
CONNECT_SECONDS = 10
READ_SECONDS = 60
READ_ATTEMPTS = 8
SITES_PATH = "/.well-known/hit-sites"
ORIGIN = re.compile(r"https?://[^/?#\s@\"';,]{1,200}", re.ASCII)
MOST_SITES = 8  # origins
LARGEST_REPLY = 10_000  # bytes
SITES_SECONDS = 10.0


@dataclass(frozen=True)
class MTurkEndpoint:
    """An endpoint that speaks the MTurk protocol."""

    url: str

    @property
    def origin(self) -> str:
        """Scheme, host and port."""
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.netloc}"

    @cached_property
    def reading(self) -> Any:
        """The client for reads and idempotent calls, which retries failures with adaptive delays."""
        return _client(self._session, self.url, mode="adaptive", attempts=READ_ATTEMPTS)

    @cached_property
    def client_without_retries(self) -> Any:
        """The client for calls that create something or move money; it sends each once, and we decide on repeats."""
        return _client(self._session, self.url, mode="standard", attempts=1)

    @cached_property
    def _session(self) -> Any:
        """A session of its own, since another endpoint in this process may have other keys."""
        try:
            import boto3
        except ModuleNotFoundError as missing:
            raise PlatformError(f"boto3 is not installed ({missing}); {how_to_install('mturk')}") from missing
        import botocore.session

        own = botocore.session.get_session()
        own.register_component("data_loader", _descriptions(own.get_config_variable("data_path")))
        return boto3.session.Session(botocore_session=own)


def choose_endpoint(named: str | None) -> MTurkEndpoint:
    """Return the endpoint that an option or the environment names.

    Raises
    ------
    PlatformError
        If none is named, it is Amazon's, or requests would travel over plain HTTP.
    """
    url = (named or os.environ.get(VARIABLE) or "").strip()
    if not url:
        raise PlatformError(f"no endpoint is named: {CLOSED}")
    parts = urlsplit(url)
    host = (parts.hostname or "").rstrip(".").lower()
    if not host or parts.scheme not in ("http", "https") or parts.query or parts.fragment or parts.username:
        raise PlatformError(f"endpoint: expected an address such as https://hits.example.org, got {url!r}")
    if _is_amazon(host):
        raise PlatformError(f"endpoint {host}: {CLOSED}")
    if parts.scheme == "http" and not is_loopback_host(host):
        raise PlatformError(
            f"endpoint {url}: expected https, because requests and answers would be sent unencrypted; "
            "http is for this machine alone (127.0.0.1)"
        )
    return MTurkEndpoint(url.rstrip("/"))


def _is_amazon(host: str) -> bool:
    return host == "mturk.com" or host.endswith((".mturk.com", ".amazonaws.com")) or host == "amazonaws.com"


@cache
def _descriptions(paths: str | None) -> Any:
    """Return what reads botocore's descriptions of services, each file once for all sessions of this process."""
    from botocore.loaders import create_loader

    return create_loader(paths)


def _client(session: Any, url: str, *, mode: str, attempts: int) -> Any:
    from botocore.config import Config
    from botocore.exceptions import BotoCoreError

    settings = Config(
        retries={"mode": mode, "total_max_attempts": attempts},
        connect_timeout=CONNECT_SECONDS,
        read_timeout=READ_SECONDS,
    )
    try:
        return session.client("mturk", region_name=REGION, endpoint_url=url, config=settings)
    except (BotoCoreError, ValueError) as error:
        raise PlatformError(
            f"boto3 cannot make a client for {url}: {error}; if this release no longer knows mturk, "
            "install an older one"
        ) from error


def fetch_sites(endpoint: MTurkEndpoint) -> tuple[str, ...]:
    """Fetch the origins of an endpoint's worker site; none if it does not publish them.

    Raises
    ------
    PlatformError
        If the endpoint does not answer, or not with origins.
    """
    try:
        answer = httpx2.get(endpoint.origin + SITES_PATH, timeout=SITES_SECONDS)
    except httpx2.HTTPError as error:
        raise PlatformError(
            f"{endpoint.origin}: does not answer ({error or type(error).__name__}); is it running?"
        ) from error
    if answer.status_code != 200 or "json" not in answer.headers.get("content-type", ""):
        return ()
    try:
        found = answer.json()["sites"] if len(answer.content) <= LARGEST_REPLY else None
    except (JSONDecodeError, KeyError, TypeError, UnicodeDecodeError):
        found = None
    if (
        not isinstance(found, list)
        or len(found) > MOST_SITES
        or not all(isinstance(one, str) and ORIGIN.fullmatch(one) for one in found)
    ):
        raise PlatformError(f"{endpoint.origin}{SITES_PATH}: expected up to {MOST_SITES} origins, got something else")
    return tuple(dict.fromkeys(found))
