"""The part of the store that says what people are called in it: keyed ids, and the tokens of their links."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

from sqlalchemy import Connection, select

from spa.responses.store_schema import tokens
from spa.responses.tokens import add_token, has_token, is_token, keyed, random_token


class StoreOfNames:
    """Ids and links of people. A part of :class:`spa.responses.store.Store`, which see."""

    meta: Callable[[str], str | None]
    transaction: Callable[[], AbstractContextManager[Connection]]
    reading: Callable[[], AbstractContextManager[Connection]]

    def annotator_id(self, token: str) -> str:
        """Return the id of the person behind a link: keyed with a secret of this store, so it leads nowhere else."""
        return self.keyed(token)

    def person_id(self, source: str, person: str) -> str:
        """Return the ``annotator_id`` of a platform's person: keyed with a secret of this store."""
        return self.keyed(f"{source}\x00{person}")

    def new_token(self) -> str:
        """Make and record a token: one person's link."""
        token = random_token()
        with self.transaction() as connection:
            add_token(connection, token)
        return token

    def tokens(self, *, personal: bool = False) -> tuple[str, ...]:
        """Return all tokens, oldest first, or only those made with the assignments, to be handed out."""
        query = select(tokens.c.token).order_by(tokens.c.number)
        with self.reading() as connection:
            return tuple(connection.scalars(query.where(tokens.c.personal) if personal else query))

    def has_token(self, token: str) -> bool:
        """Return whether this store gave out the token."""
        if not is_token(token):
            return False
        with self.reading() as connection:
            return has_token(connection, token)

    def keyed(self, text: str) -> str:
        """Return the keyed hash of a name: the same in this store, and nothing to anybody else."""
        return keyed(self.meta("secret") or "", text)
