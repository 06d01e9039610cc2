"""The links of people, and the keyed ids that stand for names; functions run inside the caller's transaction."""

from __future__ import annotations

import hashlib
import hmac
import secrets

from sqlalchemy import Connection, bindparam, case, exists, func, insert, select, update

from spa.responses.outcomes import TIMED_OUT
from spa.responses.prepared_statements import PreparedStatement
from spa.responses.store_schema import payloads, submissions, tokens

LONGEST = 100  # characters; ours are far shorter
TOKEN_LETTERS = "abcdefghijkmnpqrstuvwxyz23456789"  # none that is mistaken for another
TOKEN_LENGTH = 16  # 80 bits

_KNOWN = PreparedStatement(select(tokens.c.number).where(tokens.c.token == bindparam("token")))


def random_token() -> str:
    """Make a token that nobody can guess and that can be read out."""
    return "".join(secrets.choice(TOKEN_LETTERS) for _ in range(TOKEN_LENGTH))


def keyed(secret: str, text: str) -> str:
    """Return the keyed hash of a name; ``secret`` is the store's, in hexadecimal digits."""
    return hmac.new(bytes.fromhex(secret), text.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()[:20]


def is_token(token: str) -> bool:
    """Refuse what no database need be asked about; some refuse null characters."""
    return len(token) <= LONGEST and token.isascii() and token.isprintable()


def add_token(connection: Connection, token: str) -> None:
    """Record a link that is made on arrival."""
    connection.execute(insert(tokens), {"token": token, "personal": False})


def has_token(connection: Connection, token: str) -> bool:
    """Return whether this store gave out the token."""
    return bool(_KNOWN.rows(connection, token=token))


def is_personal(connection: Connection, token: str) -> bool:
    """Return whether a link was made with the assignments, to be handed out."""
    return bool(connection.scalar(select(tokens.c.personal).where(tokens.c.token == token)))


def count_personal(connection: Connection) -> tuple[int, int]:
    """Return how many personal links were used, and how many were not, or expired before anything was sent."""
    sent = exists().where(payloads.c.submission_id == tokens.c.submission_id)
    visit = submissions.c.submission_id == tokens.c.submission_id
    expired = exists().where(visit, submissions.c.outcome.is_(None), submissions.c.release_reason == TIMED_OUT)
    used = tokens.c.submission_id.is_not(None) & (sent | ~expired)
    counted = select(func.count(case((used, 1))), func.count()).where(tokens.c.personal)
    begun, links = connection.execute(counted).one()
    return begun, links - begun


def note_consent(connection: Connection, submission_id: str, *, text_hash: str, now: float) -> None:
    """Note that a person agreed to the text with this SHA-256; the first time counts."""
    own = submissions.c.submission_id == submission_id, submissions.c.consented_at.is_(None)
    connection.execute(update(submissions).where(*own).values(consented_at=now, consent_hash=text_hash))
