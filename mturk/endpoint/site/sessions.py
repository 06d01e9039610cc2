"""Invitations, which work once and in one browser, and the sessions that they start.

Tokens are random and stored as hashes only, so that a copy of the store signs nobody in. The token of a session is
derived from its invitation and the browser's mark cookie, so that a browser that lost the response can get it again.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, delete, func, select, update

from mturk.endpoint.schema import assignments, messages, worker_tokens, workers
from mturk.endpoint.store import secret_of
from mturk.endpoint.transaction import Transaction
from spa.errors import PlatformError

INVITATION, SESSION = "invitation", "session"
DAY = 86_400.0
INVITATION_LIFE = 30 * DAY
DEVICE_LIFE = 900.0  # of a link that a worker makes for another device
SESSION_LIFE = 90 * DAY
AGAIN = 600.0  # seconds after its use in which the browser that used an invitation is given the same session


@dataclass(frozen=True, slots=True, kw_only=True)
class Visitor:
    """A signed-in worker, and the counts shown on each page."""

    worker_id: str
    session: str  # digest
    place: str | None
    in_hand: int
    unread: int


def invite(tx: Transaction, worker_id: str, *, life: float = INVITATION_LIFE) -> str:
    """Return a new token that signs a worker in once."""
    known = select(workers.c.worker_id).where(workers.c.worker_id == worker_id, workers.c.closed_at.is_(None))
    if tx.connection.scalar(known) is None:
        raise PlatformError(f"expected the id of a worker, got {worker_id[:80]!r}; `spa mturk workers list` shows them")
    token = secrets.token_urlsafe(32)
    _keep(tx, token, worker_id, INVITATION, life)
    return token


def redeem(tx: Transaction, token: str, mark: str) -> str | None:
    """Redeem an invitation and return the token of its session; None if the invitation is not valid.

    The response with the session may be lost after the session is on disk. So the browser that redeemed the invitation,
    recognised by its ``mark``, gets the same session again for a while, unless the session was ended.
    """
    used = tx.connection.execute(
        update(worker_tokens)
        .where(*_valid_invitation(tx, token), worker_tokens.c.used_at.is_(None))
        .values(used_at=tx.now)
        .returning(worker_tokens.c.worker_id)
    ).first()
    session = _session_of(tx, token, mark)
    if used is not None:
        _keep(tx, session, used.worker_id, SESSION, SESSION_LIFE)
        return session
    return session if _recently_redeemed(tx, token, session) else None


def is_redeemable(tx: Transaction, token: str, mark: str | None) -> bool:
    """Return whether an invitation can be redeemed in the browser with this mark, without redeeming it."""
    unused = select(worker_tokens.c.digest).where(*_valid_invitation(tx, token), worker_tokens.c.used_at.is_(None))
    if tx.connection.scalar(unused) is not None:
        return True
    return mark is not None and _recently_redeemed(tx, token, _session_of(tx, token, mark))


def find_visitor(tx: Transaction, token: str | None) -> Visitor | None:
    """Return the worker of a session, or None."""
    if not token:
        return None
    digest = digest_of(token)
    token_row = worker_tokens.c
    session = (token_row.digest == digest, token_row.purpose == SESSION, token_row.expires_at > tx.now)
    row = tx.first(
        select(workers.c.worker_id, workers.c.country, workers.c.subdivision)
        .join(worker_tokens, token_row.worker_id == workers.c.worker_id)
        .where(*session, workers.c.closed_at.is_(None))
    )
    if row is None:
        return None
    in_hand = select(func.count()).where(assignments.c.worker_id == row.worker_id, assignments.c.status == "Accepted")
    unread = select(func.count()).where(messages.c.worker_id == row.worker_id, messages.c.read_at.is_(None))
    return Visitor(
        worker_id=row.worker_id,
        session=digest,
        place="-".join(part for part in (row.country, row.subdivision) if part) or None,
        in_hand=tx.connection.scalar(in_hand) or 0,
        unread=tx.connection.scalar(unread) or 0,
    )


def known_sessions(tx: Transaction, worker_id: str) -> Sequence[Any]:
    """Return digest and created_at of a worker's open sessions, the newest first."""
    c = worker_tokens.c
    query = select(c.digest, c.created_at).where(c.worker_id == worker_id, c.purpose == SESSION, c.expires_at > tx.now)
    return tx.connection.execute(query.order_by(c.created_at.desc())).all()


def end_session(tx: Transaction, digest: str) -> None:
    """End one session."""
    tx.connection.execute(
        delete(worker_tokens).where(worker_tokens.c.digest == digest, worker_tokens.c.purpose == SESSION)
    )


def end_all(tx: Transaction, worker_id: str) -> int:
    """End all sessions and invitations of a worker, and return their number."""
    return tx.connection.execute(delete(worker_tokens).where(worker_tokens.c.worker_id == worker_id)).rowcount


def digest_of(token: str) -> str:
    """Return the hash by which the store knows a token."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def _valid_invitation(tx: Transaction, token: str) -> tuple[ColumnElement[bool], ...]:
    """Return the SQL conditions of an invitation that has not expired and whose worker's account is open."""
    return (
        worker_tokens.c.digest == digest_of(token),
        worker_tokens.c.purpose == INVITATION,
        worker_tokens.c.expires_at > tx.now,
        worker_tokens.c.worker_id.in_(select(workers.c.worker_id).where(workers.c.closed_at.is_(None))),
    )


def _recently_redeemed(tx: Transaction, token: str, session: str) -> bool:
    """Return whether an invitation was redeemed recently and its session is still open."""
    used = select(worker_tokens.c.digest).where(*_valid_invitation(tx, token), worker_tokens.c.used_at > tx.now - AGAIN)
    return tx.connection.scalar(used) is not None and find_visitor(tx, session) is not None


def _session_of(tx: Transaction, token: str, mark: str) -> str:
    """Derive a session's token from the invitation, the browser's mark and the store's secret."""
    text = f"session {token} {mark}".encode("utf-8", "surrogatepass")
    digest = hmac.new(secret_of(tx.connection), text, hashlib.sha256).digest()
    return base64.urlsafe_b64encode(digest).decode().rstrip("=")


def _keep(tx: Transaction, token: str, worker_id: str, purpose: str, life: float) -> None:
    times = {"created_at": tx.now, "expires_at": tx.now + life}
    tx.insert(worker_tokens, digest=digest_of(token), worker_id=worker_id, purpose=purpose, **times)
