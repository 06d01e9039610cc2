"""Whether people reach the survey server of this study at an address."""

from __future__ import annotations

from urllib.parse import urlsplit

import httpx2

from prolific.study_body import ENTRY_PATH
from spa.addresses import is_loopback

SECONDS = 10.0


def address_problem(public_url: str, fingerprint: str, *, allow_http: bool) -> str | None:
    """Return what is wrong with an address; ``None`` where it serves the study.

    Parameters
    ----------
    public_url : str
        Where people are to come in.
    fingerprint : str
        That of the study's store, which the server tells.
    allow_http : bool
        Whether an address on this machine will do, as for an emulator.
    """
    if urlsplit(public_url).scheme != "https" and not (allow_http and is_loopback(public_url)):
        return f"{public_url} is not https, and Prolific takes no other"
    base = public_url.rstrip("/")
    try:
        with httpx2.Client(timeout=SECONDS, trust_env=not is_loopback(public_url)) as client:
            health, entry = client.get(f"{base}/health"), client.get(f"{base}{ENTRY_PATH}/health")
    except httpx2.HTTPError as error:
        return f"{public_url} cannot be reached ({type(error).__name__}); is `spa serve` running there?"
    for name, answer in (("/health", health), (f"{ENTRY_PATH}/health", entry)):
        if answer.status_code != 200:
            return f"{base}{name} answers HTTP {answer.status_code}; expected `spa serve` of this study there"
    try:
        served, opened = health.json(), entry.json()
    except ValueError:
        return f"{base}/health is not that of `spa serve`"
    if not isinstance(served, dict) or served.get("fingerprint") != fingerprint:
        return f"{public_url} serves another study or another build of it"
    if not isinstance(opened, dict) or opened.get("verifies") is not True:
        return f"{public_url} cannot ask Prolific who comes; set PROLIFIC_API_TOKEN where `spa serve` runs"
    return None
