"""What an address of a frame is signed for: to see one HIT there for a short time, to submit one assignment."""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from dataclasses import dataclass
from typing import Literal, cast

Kind = Literal["work", "preview"]
LIFE = 900.0  # seconds; the site makes a new one whenever it shows the page around the frame
SHAPE = re.compile(r"(work|preview)-([A-Z0-9]{1,64})-([A-Z0-9]{1,64})-([0-9]{1,12})-([A-Za-z0-9_-]{43})", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Capability:
    """What a frame may show, to whom and until when.

    Parameters
    ----------
    kind : {"work", "preview"}
        An assignment that the worker holds, or a HIT that is only looked at.
    name : str
        The id of the assignment or of the HIT.
    worker_id : str
        For whom the address was made.
    until : int
        Seconds since 1970.
    """

    kind: Kind
    name: str
    worker_id: str
    until: int


def sign(secret: bytes, capability: Capability) -> str:
    """Return a capability as a part of an address."""
    body = f"{capability.kind}-{capability.name}-{capability.worker_id}-{capability.until}"
    return f"{body}-{_mac(secret, body)}"


def sign_submission(secret: bytes, *, assignment_id: str, worker_id: str) -> str:
    """Return the part of an address at which this worker's assignment is submitted; the same each time."""
    return _mac(secret, f"submit-{assignment_id}-{worker_id}")


def may_submit(secret: bytes, signature: str, *, assignment_id: str, worker_id: str) -> bool:
    """Say whether an address was handed out to submit this worker's assignment.

    >>> signature = sign_submission(b"secret", assignment_id="3A", worker_id="A1")
    >>> [may_submit(b"secret", signature, assignment_id=name, worker_id="A1") for name in ("3A", "3B")]
    [True, False]
    """
    expected = sign_submission(secret, assignment_id=assignment_id, worker_id=worker_id)
    return hmac.compare_digest(expected.encode(), signature.encode())


def read_capability(secret: bytes, token: str, *, now: float) -> Capability | None:
    """Return the capability of an address; None for one that is made up, changed or too old.

    >>> made = Capability(kind="work", name="3A", worker_id="A1", until=100)
    >>> token = sign(b"secret", made)
    >>> read_capability(b"secret", token, now=99) == made
    True
    >>> read_capability(b"secret", token, now=100), read_capability(b"other", token, now=99)
    (None, None)
    """
    found = SHAPE.fullmatch(token)
    if found is None:
        return None
    body = token[: -len(found[5]) - 1]
    if not hmac.compare_digest(_mac(secret, body), found[5]) or now >= int(found[4]):
        return None
    return Capability(kind=cast("Kind", found[1]), name=found[2], worker_id=found[3], until=int(found[4]))


def _mac(secret: bytes, body: str) -> str:
    digest = hmac.new(secret, b"frame address " + body.encode(), hashlib.sha256).digest()
    return base64.urlsafe_b64encode(digest).decode().rstrip("=")
