"""The store: assignments with their keys, who works on them, and everything that came back.

What a method acknowledges by returning is on disk. Payloads are only ever added; answers are
written once, when a visit is completed.
"""

from __future__ import annotations

import os
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from sqlalchemy import Connection, Engine, Select, bindparam, insert, inspect, select, update

from spa.errors import ResponseError
from spa.responses import builds, database, leases, payloads
from spa.responses.admission import AdmissionRules, Arrival, admit
from spa.responses.answer_rows import read_submissions, save_answers
from spa.responses.leases import Lease
from spa.responses.migration import migrate
from spa.responses.outcomes import COMPLETED
from spa.responses.payloads import Payload
from spa.responses.prepared_statements import PreparedStatement
from spa.responses.store_builds import StoreOfBuilds
from spa.responses.store_people import StoreOfPeople
from spa.responses.store_schema import meta, metadata, submissions
from spa.responses.store_versions import SCHEMA
from spa.responses.submission import AnnotatorKind, RaterCondition, Submission

CHUNK = 500  # rows written or read at once, so that memory stays flat
# Run for every visit of a rater: it ends one that is open and its annotator's
_COMPLETE = PreparedStatement(
    update(submissions)
    .where(
        submissions.c.submission_id == bindparam("visit"),
        submissions.c.assignment_id == bindparam("of_assignment"),
        submissions.c.annotator_id == bindparam("of_annotator"),
        submissions.c.outcome.is_(None),
        submissions.c.seat.is_not(None),
    )
    .values(
        outcome=COMPLETED,
        extra=False,
        completed_at=bindparam("now"),
        completion_code=bindparam("code"),
        seconds=bindparam("took"),
    )
    .returning(submissions.c.number)
)


class Store(StoreOfBuilds, StoreOfPeople):
    """Assignments, blinding keys, leases, payloads and submissions of one study.

    Made by :meth:`create` or :meth:`open`; safe to use from several threads; a context manager.
    """

    def __init__(self, name: str, engine: Engine) -> None:
        self.name = name  # as a user would call it
        self._engine = engine
        self._writer = database.writing(engine)
        self._one_writer = threading.Lock()  # threads of this process queue here, not in the database

    @classmethod
    def create(cls, target: str | Path, *, wait: float = database.LOCK_WAIT) -> Self:
        """Create an empty store in a new file, or in an empty database named by an SQLAlchemy URL."""
        with cls.being_created(target, wait=wait):
            pass
        return cls.open(target, wait=wait)

    @classmethod
    @contextmanager
    def being_created(cls, target: str | Path, *, wait: float = database.LOCK_WAIT) -> Iterator[Self]:
        """Yield a new store that comes to stand at ``target`` when the block ends without an error.

        A file is written under another name and renamed; a database named by a URL is set up in place.
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
        try:
            with database.told(where.name):
                return inspect(engine).has_table(meta.name)
        finally:
            engine.dispose()

    @classmethod
    def open(cls, target: str | Path, *, read_only: bool = False, wait: float = database.LOCK_WAIT) -> Self:
        """Open a store that :meth:`create` made; ``wait`` is how many seconds a locked one is waited for.

        A store of an earlier version is migrated, also where it is opened to be read only.
        """
        where = database.parse_target(target)
        store = cls(where.name, database.open_engine(where, read_only=read_only, wait=wait))
        try:
            if SCHEMA.is_current(store.meta(SCHEMA.fact), where.name):
                return store
        except ResponseError:
            store.close()
            raise
        store.close()
        migrate(where, SCHEMA, wait=wait)
        return cls.open(target, read_only=read_only, wait=wait)

    @property
    def is_file(self) -> bool:
        """Whether the store is a file, which is one machine's and best one process's."""
        return self._engine.dialect.name == "sqlite"

    def close(self) -> None:
        """Give back the connections; what was acknowledged is on disk already."""
        self._engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    # Who may answer, and who does

    def lease(
        self,
        annotator_id: str,
        *,
        source: str,
        annotator_kind: AnnotatorKind,
        token: str | None = None,
        rules: AdmissionRules | None = None,
    ) -> Lease:
        """Give a person an assignment that no other person has; the same person gets the same again.

        Raises
        ------
        NoneLeft
            If every assignment has been given out.
        """
        with self._reading() as connection:  # most visits are returning ones, and need not queue with the writers
            found = leases.leases_of(connection, annotator_id)
        if found:
            return found[-1]
        who = Arrival(annotator_id=annotator_id, source=source, annotator_kind=annotator_kind, token=token)
        with self._writing() as connection:
            leases.lock_leases(connection)
            return admit(connection, who, rules or AdmissionRules(), now=time.time())

    def lease_for_rater(self, rater_id: str, assignment_id: str, asked: RaterCondition) -> Lease:
        """Give an LLM rater an assignment, whoever else works on it."""
        with self._writing() as connection:
            leases.lock_leases(connection)
            return leases.lease_for_rater(connection, rater_id, assignment_id, asked)

    def completed_by_raters(self) -> set[str]:
        """Return the submission ids of the visits that raters have completed."""
        with self._reading() as connection:
            return leases.completed_by_raters(connection)

    def leases(self) -> Iterator[Lease]:
        """Yield all leases in the order in which they were given."""
        for row in self._stream(leases.select_leases()):
            yield leases.lease_from_row(row)

    # What came back

    def save_payload(self, submission_id: str, page_id: str, body: str) -> None:
        """Keep what arrived for a page, verbatim; it is on disk when this returns."""
        with self._writing() as connection:
            self._visit(connection, submission_id)
            payloads.save_page(connection, submission_id, page_id, body, now=time.time())

    def payloads(self, submission_id: str) -> tuple[Payload, ...]:
        """Return what arrived in one visit, oldest first; a page that was sent again is there again."""
        with self._reading() as connection:
            return payloads.read_pages(connection, submission_id)

    def complete(self, submission: Submission, *, completion_code: str) -> str:
        """Save the answers of a completed visit; a second call changes nothing.

        Returns
        -------
        str
            The completion code: the one given here, or that of the first call.
        """
        return str(self.finish(submission, COMPLETED, completion_code, now=time.time()).completion_code)

    def complete_within(self, connection: Connection, submission: Submission, *, completion_code: str) -> str:
        """Do what :meth:`complete` does inside a :meth:`transaction` of the caller's."""
        now = time.time()
        for (number,) in _COMPLETE.rows(
            connection,
            visit=submission.submission_id,
            of_assignment=submission.assignment_id,
            of_annotator=submission.annotator_id,
            now=now,
            code=completion_code,
            took=submission.seconds,
        ):
            save_answers(connection, number, submission.answers)
            return completion_code
        ended = self.finish_within(connection, submission, COMPLETED, completion_code, now=now)
        return str(ended.completion_code)

    def submissions(self) -> Iterator[Submission]:
        """Yield the completed visits in the order in which they began."""
        yield from self._submissions(probes=False)

    def probes(self) -> Iterator[Submission]:
        """Yield the completed visits that tried a rater out; their answers are none of the study's."""
        yield from self._submissions(probes=True)

    def _submissions(self, *, probes: bool) -> Iterator[Submission]:
        last, chunk = 0, CHUNK
        while chunk == CHUNK:
            with self._reading() as connection:
                found = read_submissions(connection, after=last, limit=CHUNK, probes=probes)
            yield from (submission for _, submission in found)
            last, chunk = (found[-1][0] if found else last), len(found)

    # Facts about the store

    def meta(self, name: str) -> str | None:
        """Return a fact noted with :meth:`set_meta`; ``None`` where there is none."""
        with self._reading() as connection:
            return connection.scalar(select(meta.c.value).where(meta.c.name == name))

    def set_meta(self, name: str, value: str) -> None:
        """Note a fact about the store, such as the seed of its draw."""
        with self._writing() as connection:
            builds.note(connection, name, value)

    def scrub(self) -> None:
        """Let the database forget what was deleted: its log and its dead rows still hold it."""
        with database.told(self.name):
            database.scrub(self._engine)

    # Transactions, for what keeps records of its own beside these

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """Yield a connection in a writing transaction, on disk when the block ends without an error."""
        with self._writing() as connection:
            yield connection

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Yield a connection to read from."""
        with self._reading() as connection:
            yield connection

    def stream(self, query: Select[Any]) -> Iterator[Any]:
        """Yield the rows of a query, a few hundred in memory at a time."""
        yield from self._stream(query)

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        with database.told(self.name), self._engine.connect() as connection:
            yield connection

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        with self._one_writer, database.told(self.name), self._writer.begin() as connection:
            yield connection

    def _stream(self, query: Select[Any]) -> Iterator[Any]:
        with self._reading() as connection, connection.execute(query.execution_options(yield_per=CHUNK)) as rows:
            yield from rows

    def _set_up(self) -> None:
        with self._writing() as connection:
            metadata.create_all(connection, checkfirst=False)
            connection.execute(
                insert(meta),
                [
                    {"name": SCHEMA.fact, "value": str(SCHEMA.version)},
                    {"name": "secret", "value": secrets.token_hex(32)},
                ],
            )

    def _visit(self, connection: Connection, submission_id: str) -> Any:
        query = select(submissions).where(submissions.c.submission_id == submission_id).with_for_update()
        visit = connection.execute(query).first()
        if visit is None:
            raise ResponseError(f"{self.name}: no submission {submission_id!r}; lease an assignment first")
        return visit
