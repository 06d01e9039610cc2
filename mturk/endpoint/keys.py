"""Access keys of requesters, and the host key from which their secrets are derived.

The store contains no secrets. A requester's secret access key, and the secret that signs events sent to them, are
derived (HMAC-SHA-256) from the access key id and the host key. The host key is in a file beside the store that only
its owner can read, or in the environment variable ``MTURK_ENDPOINT_KEY``. Whoever has it can sign as any requester, so
keep it like a password, apart from copies of the store. If it is lost, new access keys must be issued.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import re
import secrets
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Connection, bindparam, select

from mturk.endpoint.schema import access_keys, grants, requesters
from mturk.endpoint.transaction import Transaction, new_id
from spa.errors import PlatformError
from spa.responses.database import parse_target

VARIABLE = "MTURK_ENDPOINT_KEY"
HOST_KEY = re.compile(r"[0-9a-f]{64}")
OWNER = select(access_keys.c.requester_id).where(
    access_keys.c.access_key_id == bindparam("name"), access_keys.c.revoked_at.is_(None)
)
KEY_ID = re.compile(r"SPAK[A-Z0-9]{16}", re.ASCII)
NAME = re.compile(r"[^\x00-\x1f\x7f\ud800-\udfff]{1,100}")


@dataclass(frozen=True, slots=True, kw_only=True)
class IssuedKey:
    """A new key with its secrets, which are shown once."""

    requester_id: str
    access_key_id: str
    secret_access_key: str
    hook_secret: str


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownKey:
    """A key without its secrets."""

    name: str
    requester_id: str
    access_key_id: str
    created_at: float
    revoked_at: float | None


def load_host_key(store: str, *, create: bool = False) -> bytes:
    """Return the host key of a store: from the environment, or from the file beside it.

    Raise PlatformError if there is none, or it is not 64 hexadecimal digits, or others may read the file.
    """
    given = os.environ.get(VARIABLE)
    if given is not None:
        return _parsed(given, f"environment variable {VARIABLE}")
    place = parse_target(store).path
    if place is None:
        raise PlatformError(
            f"{VARIABLE} is not set; for a store in another database, set it to 64 random hexadecimal digits, such as "
            'of `python -c "import secrets; print(secrets.token_hex(32))"`, and keep them'
        )
    path = place.with_name(place.name + ".key")
    if create and not path.exists():
        _write_new(path)
    try:
        mode = path.stat().st_mode
        text = path.read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError) as error:
        raise PlatformError(
            f"{path}: expected the host key of {place} there or in {VARIABLE}, got nothing to read ({error}); "
            "restore it, or issue new keys with `spa mturk keys add`"
        ) from error
    if mode & 0o077:
        raise PlatformError(f"{path}: others may read the host key; run `chmod 600 {path}`")
    return _parsed(text, str(path))


def secret_access_key(host_key: bytes, access_key_id: str) -> str:
    """Return the secret of an access key id: 40 characters."""
    return _derived(host_key, f"access key {access_key_id}")


def hook_secret(host_key: bytes, requester_id: str) -> str:
    """Return the secret that signs the events sent to a requester."""
    return _derived(host_key, f"hooks of {requester_id}")


def issue(tx: Transaction, name: str, host_key: bytes, *, budget: int = 0) -> IssuedKey:
    """Issue an access key to a requester, who is created if the name is new."""
    if NAME.fullmatch(name) is None:
        raise PlatformError(f"expected a name of 1 to 100 printable characters, got {name!r}")
    requester_id = tx.connection.scalar(select(requesters.c.requester_id).where(requesters.c.name == name))
    if requester_id is None:
        requester_id, amounts = new_id("A", 14), {"held": 0, "spent": 0, "granted": 0}
        tx.insert(requesters, requester_id=requester_id, name=name, created_at=tx.now, **amounts)
    if budget:
        grant(tx, requester_id, budget, note="with the key")
    key_id = new_id("SPAK", 20)
    tx.insert(access_keys, access_key_id=key_id, requester_id=requester_id, created_at=tx.now)
    return reissued(requester_id, key_id, host_key)


def reissued(requester_id: str, access_key_id: str, host_key: bytes) -> IssuedKey:
    """Return an existing key with its secrets."""
    return IssuedKey(
        requester_id=requester_id,
        access_key_id=access_key_id,
        secret_access_key=secret_access_key(host_key, access_key_id),
        hook_secret=hook_secret(host_key, requester_id),
    )


def revoke(tx: Transaction, access_key_id: str) -> None:
    """Revoke a key; raise PlatformError if it does not exist, or was revoked before."""
    own = (access_keys.c.access_key_id == access_key_id, access_keys.c.revoked_at.is_(None))
    if tx.update(access_keys, *own, revoked_at=tx.now) != 1:
        raise PlatformError(f"expected a key that is in use, got {access_key_id!r}; `spa mturk keys list` shows them")


def known_keys(tx: Transaction) -> tuple[KnownKey, ...]:
    """Return all keys, the oldest first, without their secrets."""
    rows = tx.connection.execute(
        select(requesters.c.name, access_keys)
        .join(requesters, requesters.c.requester_id == access_keys.c.requester_id)
        .order_by(access_keys.c.created_at, access_keys.c.access_key_id)
    )
    return tuple(KnownKey(**row._mapping) for row in rows)


def owner_of(connection: Connection, access_key_id: str) -> str | None:
    """Return the requester of a key; None if it is unknown or revoked."""
    return connection.scalar(OWNER, {"name": access_key_id})


def grant(tx: Transaction, requester_id: str, cents: int, *, note: str) -> None:
    """Raise a requester's budget, or lower it by negative ``cents``."""
    tx.insert(grants, requester_id=requester_id, cents=cents, note=note, at=tx.now)
    tx.update(requesters, requesters.c.requester_id == requester_id, granted=requesters.c.granted + cents)


def _derived(host_key: bytes, purpose: str) -> str:
    digest = hmac.new(host_key, purpose.encode(), hashlib.sha256).digest()
    return base64.urlsafe_b64encode(digest[:30]).decode()


def _parsed(text: str, where: str) -> bytes:
    if HOST_KEY.fullmatch(text.strip()) is None:
        raise PlatformError(f"{where}: expected a host key of 64 hexadecimal digits, got something else")
    return bytes.fromhex(text.strip())


def _write_new(path: Path) -> None:
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return
    except OSError as error:
        raise PlatformError(f"{path}: cannot be written ({error.strerror}); make its folder writable") from error
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(secrets.token_hex(32) + "\n")
        file.flush()
        os.fsync(file.fileno())
