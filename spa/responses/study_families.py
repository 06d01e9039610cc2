"""Studies of one family take each person of a platform once: a small store that they share.

It holds keyed hashes only, with a secret of its own; a person is recognised only on arrival.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    Float,
    MetaData,
    String,
    Table,
    UniqueConstraint,
    delete,
    insert,
    inspect,
    select,
    text,
)

from spa.errors import ResponseError
from spa.responses import database
from spa.responses.admission import SecondVisit

LOCK = 7_302_114_559  # of PostgreSQL, so that one transaction at a time admits to a family
tables = MetaData()
family_facts = Table(
    "family_facts", tables, Column("name", String, primary_key=True), Column("value", String, nullable=False)
)
family_people = Table(
    "family_people",
    tables,
    Column("family", String, nullable=False),
    Column("person", String, nullable=False),  # keyed hash
    Column("study", String, nullable=False),  # its id, and the fingerprint of its store
    Column("noted_at", Float, nullable=False),  # seconds since 1970
    UniqueConstraint("family", "person"),
)


class StudyFamily:
    """The people of one family of studies, as one ``study`` sees them.

    ``target`` is an SQLite file, made if there is none, or an SQLAlchemy URL; it may hold several families. Raise
    ResponseError if it cannot be made or used.
    """

    def __init__(self, target: str | Path, *, family: str, study: str) -> None:
        where = database.parse_target(target)
        if where.path is not None and not os.path.exists(where.path):
            try:
                where.path.touch(mode=0o600)
            except OSError as error:
                place = "[people] family_store"
                raise ResponseError(f"{place}: {where.path}: cannot be written ({error.strerror})") from error
        self.name, self.family, self.study = where.name, family, study
        self._engine = database.open_engine(where, read_only=False, wait=database.LOCK_WAIT)
        with self._writing() as connection:
            if not inspect(connection).has_table(family_facts.name):
                tables.create_all(connection)
                connection.execute(insert(family_facts).values(name="secret", value=secrets.token_hex(32)))
            found = connection.scalar(select(family_facts.c.value).where(family_facts.c.name == "secret"))
        self._secret = bytes.fromhex(str(found))

    def enter(self, source: str, person: str, *, now: float) -> bool:
        """Note a person as one of this study's, and return whether they were new to the family.

        Raise SecondVisit if another study of the family has taken them.
        """
        with self._writing() as connection:
            study = connection.scalar(select(family_people.c.study).where(*self._of(source, person)))
            if study is None:
                hashed = self._hashed(source, person)
                row = {"family": self.family, "person": hashed, "study": self.study, "noted_at": now}
                connection.execute(insert(family_people), row)
                return True
        self._refuse_other(study)
        return False

    def refuse_others(self, source: str, person: str) -> None:
        """Raise ``SecondVisit`` where another study has taken a person, and note nobody."""
        with self._writing() as connection:
            study = connection.scalar(select(family_people.c.study).where(*self._of(source, person)))
        if study is not None:
            self._refuse_other(study)

    def _refuse_other(self, study: str) -> None:
        if study != self.study:
            raise SecondVisit(f"family {self.family!r}: study {study!r} has taken this person")

    def leave(self, source: str, person: str) -> None:
        """Remove a person whom this study had no place for after all."""
        of_study = family_people.c.study == self.study
        with self._writing() as connection:
            connection.execute(delete(family_people).where(*self._of(source, person), of_study))

    def close(self) -> None:
        """Give back the connections."""
        self._engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _of(self, source: str, person: str) -> tuple[ColumnElement[bool], ...]:
        return family_people.c.family == self.family, family_people.c.person == self._hashed(source, person)

    def _hashed(self, source: str, person: str) -> str:
        return hmac.new(self._secret, f"{source}\x00{person}".encode(), hashlib.sha256).hexdigest()

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        with database.database_errors(self.name), database.writing(self._engine).begin() as connection:
            if connection.dialect.name == "postgresql":
                connection.execute(text("SELECT pg_advisory_xact_lock(:number)"), {"number": LOCK})
            yield connection
