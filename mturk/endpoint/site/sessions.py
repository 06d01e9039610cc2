"""Who may come in: invitations that work once, in one browser, and the sessions that they open.

What a browser holds is random; the store knows it by its hash alone, so a copy of the store opens no door. A session
follows from its invitation and the browser's mark, so that a browser which never got the answer can be given it again.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from dataclasses import dataclass

from sqlalchemy import ColumnElement, delete, func, insert, select, update

from mturk.endpoint.moment import Moment
from mturk.endpoint.schema import assignments, messages, worker_tokens, workers
from mturk.endpoint.store import secret_of
from spa.errors import PlatformError

INVITATION, SESSION = "invitation", "session"
DAY = 86_400.0
INVITATION_LIFE = 30 * DAY
DEVICE_LIFE = 900.0  # of a link that a worker makes for another device
SESSION_LIFE = 90 * DAY
AGAIN = 600.0  # seconds after its use in which the browser that used an invitation is given the same session


@dataclass(frozen=True, slots=True, kw_only=True)
class Visitor:
    """A worker who is signed in, and what each page tells them of."""

    worker_id: str
    session: str  # digest
    place: str | None
    in_hand: int
    unread: int


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownSession:
    """A browser that is signed in."""

    digest: str
    created_at: float


def invite(moment: Moment, worker_id: str, *, life: float = INVITATION_LIFE) -> str:
    """Return a new token that signs a worker in once.

    Raises
    ------
    PlatformError
        If there is no such worker.
    """
    known = select(workers.c.worker_id).where(workers.c.worker_id == worker_id, workers.c.closed_at.is_(None))
    if moment.connection.scalar(known) is None:
        raise PlatformError(f"expected the id of a worker, got {worker_id[:80]!r}; `spa mturk workers list` shows them")
    token = secrets.token_urlsafe(32)
    _keep(moment, token, worker_id, INVITATION, life)
    return token


def redeem(moment: Moment, token: str, mark: str) -> str | None:
    """Return the token of the session that an invitation opens in one browser; None where it opens nothing.

    The answer that carries a session may be lost when the session is on disk already (a server dies, a line breaks).
    So the browser that used the invitation up is given the same session for a while, unless it was ended.

    Parameters
    ----------
    moment : Moment
        One transaction at one time.
    token : str
        Of the invitation.
    mark : str
        What the browser was given when it was shown the invitation.
    """
    used = moment.connection.execute(
        update(worker_tokens)
        .where(*_is_good(moment, token), worker_tokens.c.used_at.is_(None))
        .values(used_at=moment.now)
        .returning(worker_tokens.c.worker_id)
    ).first()
    session = _session_of(moment, token, mark)
    if used is not None:
        _keep(moment, session, used.worker_id, SESSION, SESSION_LIFE)
        return session
    return session if _opened_just_now(moment, token, session) else None


def opens(moment: Moment, token: str, mark: str | None) -> bool:
    """Say whether an invitation would sign somebody in now in the browser with a mark; nothing is used up."""
    unused = select(worker_tokens.c.digest).where(*_is_good(moment, token), worker_tokens.c.used_at.is_(None))
    if moment.connection.scalar(unused) is not None:
        return True
    return mark is not None and _opened_just_now(moment, token, _session_of(moment, token, mark))


def find_visitor(moment: Moment, token: str | None) -> Visitor | None:
    """Return who holds a session, or None."""
    if not token:
        return None
    digest = digest_of(token)
    row = moment.connection.execute(
        select(workers.c.worker_id, workers.c.country, workers.c.subdivision)
        .join(worker_tokens, worker_tokens.c.worker_id == workers.c.worker_id)
        .where(
            worker_tokens.c.digest == digest,
            worker_tokens.c.purpose == SESSION,
            worker_tokens.c.expires_at > moment.now,
            workers.c.closed_at.is_(None),
        )
    ).first()
    if row is None:
        return None
    in_hand = select(func.count()).where(assignments.c.worker_id == row.worker_id, assignments.c.status == "Accepted")
    unread = select(func.count()).where(messages.c.worker_id == row.worker_id, messages.c.read_at.is_(None))
    return Visitor(
        worker_id=row.worker_id,
        session=digest,
        place="-".join(part for part in (row.country, row.subdivision) if part) or None,
        in_hand=moment.connection.scalar(in_hand) or 0,
        unread=moment.connection.scalar(unread) or 0,
    )


def known_sessions(moment: Moment, worker_id: str) -> tuple[KnownSession, ...]:
    """Return the sessions of a worker that are open, the newest first."""
    rows = moment.connection.execute(
        select(worker_tokens.c.digest, worker_tokens.c.created_at)
        .where(
            worker_tokens.c.worker_id == worker_id,
            worker_tokens.c.purpose == SESSION,
            worker_tokens.c.expires_at > moment.now,
        )
        .order_by(worker_tokens.c.created_at.desc())
    )
    return tuple(KnownSession(digest=row.digest, created_at=row.created_at) for row in rows)


def end_session(moment: Moment, digest: str) -> None:
    """End one session."""
    moment.connection.execute(
        delete(worker_tokens).where(worker_tokens.c.digest == digest, worker_tokens.c.purpose == SESSION)
    )


def end_all(moment: Moment, worker_id: str) -> int:
    """End every session of a worker, make every invitation of theirs useless, and return how many there were."""
    return moment.connection.execute(delete(worker_tokens).where(worker_tokens.c.worker_id == worker_id)).rowcount


def digest_of(token: str) -> str:
    """Return what the store knows of a token."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def _is_good(moment: Moment, token: str) -> tuple[ColumnElement[bool], ...]:
    """Return what holds of an invitation that is not too old and whose worker may come in, used or not."""
    return (
        worker_tokens.c.digest == digest_of(token),
        worker_tokens.c.purpose == INVITATION,
        worker_tokens.c.expires_at > moment.now,
        worker_tokens.c.worker_id.in_(select(workers.c.worker_id).where(workers.c.closed_at.is_(None))),
    )


def _opened_just_now(moment: Moment, token: str, session: str) -> bool:
    """Say whether an invitation was used of late and this session, which follows from it, is still open."""
    used = select(worker_tokens.c.digest).where(*_is_good(moment, token), worker_tokens.c.used_at > moment.now - AGAIN)
    return moment.connection.scalar(used) is not None and find_visitor(moment, session) is not None


def _session_of(moment: Moment, token: str, mark: str) -> str:
    """Return the session's token: nobody can compute it who lacks the invitation, the mark or the store's secret."""
    text = f"session {token} {mark}".encode("utf-8", "surrogatepass")
    digest = hmac.new(secret_of(moment.connection), text, hashlib.sha256).digest()
    return base64.urlsafe_b64encode(digest).decode().rstrip("=")


def _keep(moment: Moment, token: str, worker_id: str, purpose: str, life: float) -> None:
    moment.connection.execute(
        insert(worker_tokens).values(
            digest=digest_of(token),
            worker_id=worker_id,
            purpose=purpose,
            created_at=moment.now,
            expires_at=moment.now + life,
        )
    )
