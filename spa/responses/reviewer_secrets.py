"""Reviewers with a secret of their own: a link that only they have, of which the store keeps a hash.

A secret has 192 random bits, so that a plain SHA-256 of it cannot be tried out. The table is made with the first.
"""

from __future__ import annotations

import hashlib
import secrets
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, get_args

from sqlalchemy import Column, Connection, Float, MetaData, String, Table, delete, insert, inspect, select, update

from spa.errors import ResponseError
from spa.responses.dashboard_log import OPERATOR, DashboardAction, DashboardEntry, add_entry
from spa.responses.decisions import PROGRAM
from spa.responses.store_schema import Verbatim

DashboardRole = Literal["read", "review", "export"]
DASHBOARD_ROLES: tuple[DashboardRole, ...] = get_args(DashboardRole)
SECRET_BYTES = 24
LONGEST_NAME = 100  # characters

_metadata = MetaData()
_reviewers = Table(
    "reviewers",
    _metadata,
    Column("key", Verbatim, primary_key=True),  # the name, such that names that look alike are one
    Column("name", Verbatim, nullable=False),
    Column("secret_hash", String, nullable=False, unique=True),
    Column("roles", String, nullable=False),  # with commas
    Column("since", Float, nullable=False),  # of the secret; seconds since 1970
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reviewer:
    """Somebody who may use the dashboard, and what for; everybody may read."""

    name: str
    roles: frozenset[DashboardRole]
    secret_hash: str


def hash_of(secret: str) -> str:
    """Return what is kept of a secret."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def new_secret() -> str:
    """Make a secret that nobody can guess."""
    return secrets.token_urlsafe(SECRET_BYTES)


def read_reviewers(connection: Connection) -> list[Reviewer]:
    """Return the reviewers with secrets of their own, by name."""
    if not inspect(connection).has_table(_reviewers.name):
        return []
    rows = connection.execute(select(_reviewers).order_by(_reviewers.c.key))
    return [
        Reviewer(
            name=row.name,
            roles=frozenset(role for role in DASHBOARD_ROLES if role in row.roles.split(",")),
            secret_hash=row.secret_hash,
        )
        for row in rows
    ]


def reviewer_name(name: str) -> str:
    """Return the name of a person without needless spaces; raise ResponseError if it is no person's.

    >>> reviewer_name(" Ana  Maria ")
    'Ana Maria'
    """
    name = " ".join(name.split())
    if not name or not name.isprintable() or len(name) > LONGEST_NAME:
        raise ResponseError(f"reviewer: expected a name of at most {LONGEST_NAME} characters, got {name[:50]!r}")
    if f"{_key(name)} ".startswith(PROGRAM):
        raise ResponseError(f"reviewer {name!r}: expected a name of a person; names with spa are those of commands")
    return name


def are_alike(name: str, other: str) -> bool:
    """Return whether two names are one person's, capitals and spaces aside.

    >>> are_alike("Ana", "ANA "), are_alike("Ana", "Anna")
    (True, False)
    """
    return _key(name) == _key(other)


def is_one_of(name: str, reviewers: Iterable[Reviewer]) -> bool:
    """Return whether a name is that of one of these, capitals and spaces aside."""
    return _key(name) in {_key(each.name) for each in reviewers}


def add_reviewer(connection: Connection, name: str, roles: Iterable[DashboardRole], *, now: float) -> str:
    """Add a reviewer inside the caller's writing transaction and return the secret, which nobody can look up later.

    Raise ResponseError if the name is no person's, or has a secret already.
    """
    name = reviewer_name(name)
    if is_one_of(name, read_reviewers(connection)):
        raise ResponseError(f"reviewer {name!r} has a link already; --renew-reviewer replaces it by a new one")
    secret, kept = new_secret(), {"read", *roles}
    _reviewers.create(connection, checkfirst=True)
    connection.execute(
        insert(_reviewers).values(
            key=_key(name),
            name=name,
            secret_hash=hash_of(secret),
            roles=",".join(role for role in DASHBOARD_ROLES if role in kept),
            since=now,
        )
    )
    _note(connection, "add reviewer", f"{name}: {', '.join(role for role in DASHBOARD_ROLES if role in kept)}", now)
    return secret


def renew_reviewer(connection: Connection, name: str, *, now: float) -> str:
    """Replace a reviewer's secret, the former of which opens nothing any more, and return the new one."""
    _check_known(connection, name)
    secret = new_secret()
    own = update(_reviewers).where(_reviewers.c.key == _key(name))
    connection.execute(own.values(secret_hash=hash_of(secret), since=now))
    _note(connection, "renew reviewer", name, now)
    return secret


def remove_reviewer(connection: Connection, name: str, *, now: float) -> None:
    """Remove a reviewer's secret; decisions stay in their log under the name."""
    _check_known(connection, name)
    connection.execute(delete(_reviewers).where(_reviewers.c.key == _key(name)))
    _note(connection, "remove reviewer", name, now)


def _check_known(connection: Connection, name: str) -> None:
    known = read_reviewers(connection)
    if not is_one_of(name, known):
        named = ", ".join(each.name for each in known[:5]) or "nobody (--add-reviewer adds one)"
        raise ResponseError(f"reviewer {name!r}: expected one who has a link of their own: {named}")


def _key(name: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())


def _note(connection: Connection, action: DashboardAction, detail: str, now: float) -> None:
    add_entry(connection, DashboardEntry(noted_at=now, who=OPERATOR, action=action, detail=detail))
