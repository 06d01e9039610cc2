"""Signed links of a panel: HMAC-SHA256 over the parameters, with a secret that only the panel and the server know.

What is signed are all parameters but the signature, in the order of their names, percent-encoded with capital letters
(RFC 3986: letters, digits and ``-._~`` stay) and joined by ``&``. The signature is in hexadecimal digits.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable, Mapping
from hashlib import sha256
from urllib.parse import quote, urlencode

from spa.errors import StudyError
from spa.study.panel import Panel

SHORTEST = 16  # characters of a secret


def signature_of(secret: str, parameters: Iterable[tuple[str, str]]) -> str:
    """Return the signature of a link with these parameters.

    >>> signature_of("a secret that nobody knows", [("participant", "ada@x"), ("a", "1")])[:16]
    '5b7a37da78ebb19a'
    """
    signed = urlencode(sorted(parameters), quote_via=quote, safe="")
    return hmac.new(secret.encode(), signed.encode(), sha256).hexdigest()


def is_signed(secret: str, parameters: Iterable[tuple[str, str]], *, name: str) -> bool:
    """Return whether a link's parameters, none given twice, carry their own signature under ``name``."""
    given = list(parameters)
    found = dict(given)
    if len(found) < len(given):
        return False
    signature = found.pop(name, "")
    expected = signature_of(secret, found.items())
    return hmac.compare_digest(signature.lower().encode("utf-8", "surrogatepass"), expected.encode())


def panel_secret(panel: Panel, environment: Mapping[str, str]) -> str | None:
    """Return the secret with which the panel signs its links; ``None`` where it signs none.

    Raise StudyError where the environment does not have it.
    """
    if panel.secret_env is None:
        return None
    secret = environment.get(panel.secret_env, "")
    if len(secret) < SHORTEST:
        got = "none" if not secret else f"{len(secret)} characters"
        raise StudyError(
            f"[panel] secret_env: expected the panel's secret in the environment variable {panel.secret_env}, at least "
            f"{SHORTEST} characters, got {got}; set it before `spa serve`, or remove the key if the panel cannot sign"
        )
    return secret
