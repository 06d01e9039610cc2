"""The store: assignments with their keys, who works on them, and everything that came back.

What a method acknowledges by returning is on disk. Payloads are only ever added; answers are
written once, when a visit is completed.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Self

from sqlalchemy import Connection, Engine, bindparam, func, insert, inspect, literal, select, update

from spa.errors import ResponseError
from spa.forms.prompt_turns import WHOLE
from spa.records.submission import Submission
from spa.responses import database
from spa.responses.answer_rows import read_submissions
from spa.responses.capacity import PERSON, people_seated
from spa.responses.database import CHUNK, VISITS, Database
from spa.responses.leases import RATER
from spa.responses.log_mark import LogMark, log_of
from spa.responses.migration import Former, Schema, migrate
from spa.responses.outcomes import COMPLETED
from spa.responses.sqlite_dialect import create_tables
from spa.responses.store_schema import (
    SCHEMA_VERSION,
    adapted,
    assignments,
    from_bytes,
    journal,
    meta,
    metadata,
    people,
    places,
    submissions,
    tokens,
)
from spa.responses.stored_assignments import LIVE_RULES, StoredAssignments
from spa.responses.tokens import add_token, keyed, random_token
from spa.responses.visits import StoredVisits


def _derive(connection: Connection, version: int, former: Former) -> None:
    if version < 2:
        _number_visits_of_raters(connection)
        _record_attempts(connection, former)
        if "personal" not in former["tokens"].c:
            # the first tokens were made with the assignments, as many as there are of these
            built = select(func.count()).select_from(assignments).scalar_subquery()
            connection.execute(update(tokens).where(tokens.c.number <= built).values(personal=True))
    if version < 3:
        connection.execute(update(submissions).where(submissions.c.seat == PERSON).values(seat=f"{PERSON} 1"))
        ended = submissions.c.completed_at.is_not(None)
        connection.execute(update(submissions).where(ended).values(outcome=COMPLETED))
        _tie_tokens_to_visits(connection)
    if version < 4:
        name = assignments.c.assignment_id
        counted = select(name, assignments.c.number, people_seated(name))
        connection.execute(insert(places).from_select(["assignment_id", "number", "people"], counted))
    if version == 6:
        by_llm = select(submissions.c.assignment_id).where(submissions.c.annotator_kind == "llm")
        seen = select(adapted.c.assignment_id, literal("llm"), adapted.c.left_out, adapted.c.dealt)
        names = ["assignment_id", "respondents", "left_out", "dealt"]
        connection.execute(insert(adapted).from_select(names, seen.where(adapted.c.assignment_id.in_(by_llm))))


def _number_visits_of_raters(connection: Connection) -> None:
    """Name the visits of raters as the first of several repeats; how they were asked is not known."""
    visit = submissions.c
    name = visit.annotator_id + "/1"
    named = {"seat": RATER + name, "submission_id": name + "/" + visit.assignment_id}
    connection.execute(update(submissions).where(visit.annotator_kind == "llm").values(named))


def _record_attempts(connection: Connection, former: Former) -> None:
    attempts = former["attempts"].c
    query = select(former["attempts"]).order_by(attempts.requested_at).execution_options(yield_per=CHUNK)
    for rows in connection.execute(query).partitions():
        calls = [
            {
                "kind": "llm",
                "scope": f"{row.rater_id}/1/{row.assignment_id}",
                "key": WHOLE,
                "attempt": row.attempt,
                "begun_at": row.requested_at,
                "outcome": row.outcome,
                "finished_at": None if row.seconds is None else row.requested_at + row.seconds,
                "facts": json.dumps(
                    {"completion_tokens": row.completion_tokens, "prompt_tokens": row.prompt_tokens}, sort_keys=True
                ),
                "request": from_bytes(row.request),
                "response": None if row.response is None else from_bytes(row.response),
            }
            for row in rows
        ]
        connection.execute(insert(journal), calls)


def _tie_tokens_to_visits(connection: Connection) -> None:
    """Note which visit a token opens: that of the person whom its keyed hash names."""
    secret = str(connection.scalar(select(meta.c.value).where(meta.c.name == "secret")))
    of_people = submissions.c.annotator_kind != "llm"
    query = select(submissions.c.annotator_id, submissions.c.submission_id).where(of_people)
    visits = {row.annotator_id: row.submission_id for row in connection.execute(query)}
    found = [
        {"of_token": token, "visit": visits[person]}
        for token in connection.scalars(select(tokens.c.token))
        if (person := keyed(secret, token)) in visits
    ]
    if found:
        opened = update(tokens).where(tokens.c.token == bindparam("of_token"))
        connection.execute(opened.values(submission_id=bindparam("visit")), found)


SCHEMA = Schema(
    version=SCHEMA_VERSION, metadata=metadata, facts=meta, fact="schema", dropped=("attempts",), derive=_derive
)


class Store(Database):
    """The database of one study: its assignments, links, visits and submissions.

    Made by :meth:`create` or :meth:`open`.
    """

    def __init__(self, name: str, engine: Engine, mark: LogMark | None = None) -> None:
        super().__init__(name, engine, mark)
        self.assignments = StoredAssignments(self)
        self.visits = StoredVisits(self)

    @classmethod
    def create(cls, target: str | Path, *, wait: float = database.LOCK_WAIT) -> Self:
        """Create an empty store in a new file, or in an empty database named by an SQLAlchemy URL."""
        with cls.being_created(target, wait=wait):
            pass
        return cls.open(target, wait=wait)

    @classmethod
    @contextmanager
    def being_created(cls, target: str | Path, *, wait: float = database.LOCK_WAIT) -> Iterator[Self]:
        """Yield a new store that is saved as ``target`` when the block ends without an error.

        A file is written under a temporary name and renamed; a database named by a URL is set up in place.
        """
        where = database.parse_target(target)
        with ExitStack() as stack:
            beside = where
            if where.path is not None:
                beside = database.parse_target(stack.enter_context(database.created_file(where.path)))
            engine = database.open_engine(beside, read_only=False, wait=wait)
            with cls(where.name, engine) as store:
                store._set_up()
                yield store

    @staticmethod
    def exists(target: str | Path) -> bool:
        """Return whether there is a file, or a database with a store's tables, at ``target``."""
        where = database.parse_target(target)
        if where.path is not None:
            return os.path.exists(where.path)  # False also for a name that no file can have
        engine = database.open_engine(where, read_only=True, wait=database.LOCK_WAIT)
        with Database(where.name, engine) as opened, opened.reading() as connection:
            return inspect(connection).has_table(meta.name)

    @classmethod
    def open(
        cls, target: str | Path, *, read_only: bool = False, alone: bool = False, wait: float = database.LOCK_WAIT
    ) -> Self:
        """Open a store, and wait for a locked one up to ``wait`` seconds.

        A store of an earlier version is migrated first, even with ``read_only``. Raise ResponseError if it cannot be
        opened, or is an SQLite file without the log that it needs, unless ``alone`` takes what the file holds.
        """
        where = database.parse_target(target)
        engine = database.open_engine(where, read_only=read_only, wait=wait)
        if where.path is not None and not alone and Database(where.name, engine).misses_log(where.path):
            engine.dispose()
            raise ResponseError(
                f"{where.name}: expected {log_of(where.path).name} beside it, got none: it was copied while it was in "
                "use, so that the latest answers are missing, or another program opened it after a crash, and all are "
                "there; copy that file too or use `spa backup`, or go on with what it holds: "
                f"`spa restore STUDY --backup {where.name} --yes`"
            )
        mark = None if where.path is None or read_only else database.log_mark(where.path, wait=wait)
        store = cls(where.name, engine, mark)
        try:
            if SCHEMA.is_current(store.meta(SCHEMA.fact), where.name):
                return store
        except ResponseError:
            store.close()
            raise
        store.close()
        migrate(where, SCHEMA, wait=wait)
        return cls.open(target, read_only=read_only, alone=alone, wait=wait)

    def _set_up(self) -> None:
        with self.transaction() as connection:
            create_tables(connection, metadata)
            connection.execute(
                insert(meta),
                [
                    {"name": SCHEMA.fact, "value": str(SCHEMA.version)},
                    {"name": "secret", "value": secrets.token_hex(32)},
                ],
            )

    @property
    def fingerprint(self) -> str:
        """Fingerprint of the study that was built into this store; a ``ResponseError`` before ``spa build``."""
        found = self.meta("fingerprint")
        if found is None:
            raise ResponseError(f"{self.name}: nothing has been built into this store yet; run `spa build`")
        return found

    @property
    def live_rules(self) -> int:
        """Which rules decide in a live study where its file leaves them open: those of the release that built it.

        1: families of one criterion each, people in order of completion; 2: one family, people in the order in which
        they began.
        """
        return int(self.meta(LIVE_RULES) or 1)

    def new_token(self, name: str = "") -> str:
        """Make and record a token: one person's link; this store always makes the same one of a name."""
        token = self.keyed(name) if name else random_token()
        with self.transaction() as connection:
            add_token(connection, token)
        return token

    def tokens(self, *, personal: bool = False) -> tuple[str, ...]:
        """Return all tokens, oldest first, or only those made with the assignments, to be handed out."""
        query = select(tokens.c.token).order_by(tokens.c.number)
        with self.reading() as connection:
            return tuple(connection.scalars(query.where(tokens.c.personal) if personal else query))

    def secrets(self) -> dict[str, str]:
        """Return what must not leave this machine, and what each is: keys, codes, links, who people are elsewhere."""
        known = select(meta.c.value, meta.c.name).where((meta.c.name == "secret") | meta.c.name.startswith("code:"))
        with self.reading() as connection:
            found = {
                value: "a completion code" if ":" in name else "its key" for value, name in connection.execute(known)
            }
            found |= dict.fromkeys(connection.scalars(select(tokens.c.token)), "somebody's link")
            named = (people.c.external_person, submissions.c.external_id)
            for column in named:
                given = connection.scalars(select(column).where(column.is_not(None)))
                found |= dict.fromkeys(given, "somebody's name on a platform")
        return found

    def submissions(self, *, probes: bool = False) -> Iterator[Submission]:
        """Yield the completed visits in the order in which they began; or those that only tried a rater out."""
        last, chunk = 0, VISITS
        while chunk == VISITS:
            with self.reading() as connection:
                found = read_submissions(connection, after=last, limit=VISITS, probes=probes)
            yield from (submission for _, submission in found)
            last, chunk = (found[-1][0] if found else last), len(found)
