"""The URL to which participants return with the completion code of their outcome."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import quote

from spa.responses.completion_codes import code_source

if TYPE_CHECKING:
    from prolific.api.access import Access
    from spa.responses.store import Store

COMPLETE = "https://app.prolific.com/submissions/complete"


def session_codes(store: Store, session: int) -> Mapping[str, str]:
    """Return outcome -> code of a session; no two sessions share a code."""
    return {
        str(outcome): code for outcome, code in store.visits.outcome_codes(code_source("prolific", session)).items()
    }


def completion_base(access: Access | None) -> str:
    """Return the URL of the page that takes codes: Prolific's, or that of an emulator on this machine."""
    return f"{access.base_url}/submissions/complete" if access is not None and access.local else COMPLETE


def completion_address(code: str, base: str = COMPLETE) -> str:
    """Return the URL to which the browser is redirected at the end of a visit.

    >>> completion_address("C7QK2M9Z")
    'https://app.prolific.com/submissions/complete?cc=C7QK2M9Z'
    """
    return f"{base}?cc={quote(code, safe='')}"
