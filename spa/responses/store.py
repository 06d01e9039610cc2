"""The store: assignments with their keys, who works on them, and everything that came back.

What a method acknowledges by returning is on disk. Payloads are only ever added; answers are
written once, when a visit is completed.
"""

from __future__ import annotations

import os
import secrets
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypedDict, TypeVar, Unpack

from sqlalchemy import Connection, Engine, Select, bindparam, func, insert, inspect, select

from spa.errors import ResponseError
from spa.responses import admission, builds, capacity, completion_codes, database, leases, payloads
from spa.responses.admission import AdmissionRules, Arrival
from spa.responses.answer_rows import read_submissions
from spa.responses.leases import Lease
from spa.responses.migration import migrate
from spa.responses.outcomes import Outcome, forgotten_name
from spa.responses.payloads import Payload
from spa.responses.store_schema import assignments, blinding, meta, metadata, submissions, tokens
from spa.responses.store_versions import SCHEMA
from spa.responses.submission import AnnotatorKind, Submission
from spa.responses.tokens import add_token, is_token, keyed, random_token
from spa.responses.visit_ends import EVERYBODY, finish_visit
from spa.responses.visits import PersonVisit, select_visits, visit_from_row
from spa.study.assignment import Assignment, BlindingKey
from spa.study.assignment_json import assignment_from_json, key_from_json

CHUNK = 500  # rows written or read at once, so that memory stays flat
T = TypeVar("T")
_DRAWS = (  # run for every visit of a rater, made once
    select(assignments.c.assignment_id, assignments.c.record, blinding.c.record)
    .join(blinding, blinding.c.assignment_id == assignments.c.assignment_id)
    .where(assignments.c.assignment_id.in_(bindparam("assignment_ids", expanding=True)))
)


class ArrivalFacts(TypedDict, total=False):
    """Facts about an arrival, by a link or from a platform.

    Keys
    ----
    session : int
        Which session of a study in several.
    group : str, optional
        Quota group, one of ``rules.places``.
    minutes_allowed : float, optional
        After these the place is given to somebody else.
    annotator_kind : {"human", "simulated"}
        What the person is recorded as.
    """

    session: int
    group: str | None
    minutes_allowed: float | None
    annotator_kind: AnnotatorKind


class Store:
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
        try:
            with database.database_errors(where.name):
                return inspect(engine).has_table(meta.name)
        finally:
            engine.dispose()

    @classmethod
    def open(cls, target: str | Path, *, read_only: bool = False, wait: float = database.LOCK_WAIT) -> Self:
        """Open a store, and wait for a locked one up to ``wait`` seconds.

        A store of an earlier version is migrated first, even with ``read_only``.
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
        """Whether the store is an SQLite file, used by one machine."""
        return self._engine.dialect.name == "sqlite"

    def close(self) -> None:
        """Close the connections; what was acknowledged is on disk already."""
        self._engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    # Facts about the store

    def meta(self, name: str) -> str | None:
        """Return a fact noted with :meth:`set_meta`; ``None`` where there is none."""
        with self.reading() as connection:
            return connection.scalar(select(meta.c.value).where(meta.c.name == name))

    def set_meta(self, name: str, value: str) -> None:
        """Note a fact about the store, such as the seed of its draw."""
        with self.transaction() as connection:
            builds.note(connection, name, value)

    def scrub(self) -> None:
        """Let the database forget what was deleted: its log and its dead rows still hold it."""
        with database.database_errors(self.name):
            database.scrub(self._engine)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Yield a connection to read from."""
        with database.database_errors(self.name), self._engine.connect() as connection:
            yield connection

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """Yield a connection in a writing transaction, on disk when the block ends without an error."""
        with self._one_writer, database.database_errors(self.name), self._writer.begin() as connection:
            yield connection

    def stream(self, query: Select[Any]) -> Iterator[Any]:
        """Yield the rows of a query, a few hundred in memory at a time."""
        with self.reading() as connection, connection.execute(query.execution_options(yield_per=CHUNK)) as rows:
            yield from rows

    def _set_up(self) -> None:
        with self.transaction() as connection:
            metadata.create_all(connection, checkfirst=False)
            connection.execute(
                insert(meta),
                [
                    {"name": SCHEMA.fact, "value": str(SCHEMA.version)},
                    {"name": "secret", "value": secrets.token_hex(32)},
                ],
            )

    # Assignments, and what their labels hide

    @property
    def fingerprint(self) -> str:
        """Fingerprint of the study that was built into this store; a ``ResponseError`` before :meth:`save_build`."""
        found = self.meta("fingerprint")
        if found is None:
            raise ResponseError(f"{self.name}: nothing has been built into this store yet; run `spa build`")
        return found

    def save_build(
        self, fingerprint: str, draws: Iterable[tuple[Assignment, BlindingKey]], *, seed: int | None = None
    ) -> int:
        """Save a draw of assignments, or the further ones of the same draw, in one transaction.

        Existing assignments are compared with the draw and never changed. Each new one gets a token.
        The seed is kept as the fact "seed".

        Returns
        -------
        int
            How many assignments were new.

        Raises
        ------
        ResponseError
            If the store holds another study, or another draw of this one.
        """
        with self.transaction() as connection:
            return builds.save_build(connection, fingerprint, draws, seed=seed, store=self.name)

    def count_assignments(self) -> int:
        """Return how many assignments there are."""
        with self.reading() as connection:
            return connection.scalar(select(func.count()).select_from(assignments)) or 0

    def assignment_ids(self) -> list[str]:
        """Return the ids of all assignments in the order of the draw."""
        with self.reading() as connection:
            return list(connection.scalars(select(assignments.c.assignment_id).order_by(assignments.c.number)))

    def assignments(self) -> Iterator[Assignment]:
        """Yield all assignments in the order of the draw."""
        for row in self.stream(select(assignments.c.record).order_by(assignments.c.number)):
            yield assignment_from_json(row.record)

    def key(self, assignment_id: str) -> BlindingKey:
        """Return what the labels of one assignment hide."""
        with self.reading() as connection:
            record = connection.scalar(select(blinding.c.record).where(blinding.c.assignment_id == assignment_id))
        return key_from_json(self._known(record, assignment_id))

    def draw(self, assignment_id: str) -> tuple[Assignment, BlindingKey]:
        """Return one assignment with what its labels hide."""
        found = self.draws([assignment_id]).get(assignment_id)
        if found is None:
            raise self._unknown(assignment_id)
        return found

    def draws(self, assignment_ids: Sequence[str]) -> dict[str, tuple[Assignment, BlindingKey]]:
        """Return several assignments with what their labels hide, by id; unknown ids are left out."""
        with self.reading() as connection:
            rows = connection.execute(_DRAWS, {"assignment_ids": assignment_ids}).all()
        return {name: (assignment_from_json(record), key_from_json(key)) for name, record, key in rows}

    def keys(self) -> Iterator[BlindingKey]:
        """Yield the keys of all assignments."""
        for row in self.stream(select(blinding.c.record).order_by(blinding.c.assignment_id)):
            yield key_from_json(row.record)

    def _known(self, record: str | None, assignment_id: str) -> str:
        if record is None:
            raise self._unknown(assignment_id)
        return record

    def _unknown(self, assignment_id: str) -> ResponseError:
        return ResponseError(f"{self.name}: no assignment {assignment_id!r}")

    # Names

    def annotator_id(self, token: str) -> str:
        """Return the id of the person behind a link: keyed with a secret of this store, so it leads nowhere else."""
        return self.keyed(token)

    def person_id(self, source: str, person: str) -> str:
        """Return the ``annotator_id`` of a platform's person: keyed with a secret of this store."""
        return self.keyed(f"{source}\x00{person}")

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

    def keyed(self, text: str) -> str:
        """Return the keyed hash of a name: the same in this store, and nothing to anybody else."""
        return keyed(self.meta("secret") or "", text)

    # Coming

    def admit(
        self,
        *,
        source: str,
        person: str,
        now: float,
        external_id: str | None = None,
        overbook: bool = False,
        rules: AdmissionRules = EVERYBODY,
        **coming: Unpack[ArrivalFacts],
    ) -> Lease:
        """Find or make the visit of a platform's person, which continues at ``/a/{lease.token}``.

        The same ``external_id`` leads to the same visit; the same person with an open visit to the same
        assignment, also under a new ``external_id`` (the pages sent before come along). Otherwise the
        least-answered assignment is given out, one that this person never had. Overdue places are
        given up first.

        Parameters
        ----------
        source, person : str
            The platform, and its name of the person; kept to pay, until ``spa forget``.
        now : float
            Seconds since 1970.
        external_id : str, optional
            The platform's name of the visit, verified by the bridge.
        overbook : bool
            Where all places are taken but not all done, answer an assignment beside its holder (``standing_by``):
            the answers take the place if the holder drops out, and are ``extra`` otherwise. For people whom a
            platform has promised pay, since it may fill a place before we know that somebody has left it.
        rules : AdmissionRules
            What the study says about who may come: ``AdmissionRules.of(study.people)``.
        **coming
            ``session``, ``group``, ``minutes_allowed``, ``annotator_kind`` (:class:`ArrivalFacts`).

        Returns
        -------
        Lease
            ``released`` where the deadline has passed and the place has gone to somebody else.

        Raises
        ------
        SecondVisit, WrongSession, QuotaFull, NoneLeft
            All of them ``AdmissionRefused``; its ``notice`` names the page that the person is shown.
        """
        arrival = Arrival(
            annotator_id=self.person_id(source, person),
            source=source,
            person=person,
            external_id=external_id,
            overbook=overbook,
            **coming,
        )
        return self._place(lambda connection: admission.admit(connection, arrival, rules, now=now))

    def admit_link(
        self,
        token: str,
        *,
        now: float,
        source: str = "link",
        rules: AdmissionRules = EVERYBODY,
        **coming: Unpack[ArrivalFacts],
    ) -> Lease:
        """Find or make the visit of the person who holds a link; as :meth:`admit`, without a platform's names."""
        arrival = Arrival(annotator_id=self.annotator_id(token), source=source, token=token, **coming)
        return self._place(lambda connection: admission.admit(connection, arrival, rules, now=now))

    def lease_of_token(self, token: str) -> Lease | None:
        """Return the visit that a token opens; ``None`` before its first use and for a token of nobody."""
        if not is_token(token):
            return None
        with self.reading() as connection:
            return leases.lease_of_token(connection, token)

    # Going

    def release(self, submission_id: str, reason: str, *, now: float, finished: bool = False) -> bool:
        """Give up the place of a visit, so that its assignment goes out again; nothing sent is touched.

        Parameters
        ----------
        submission_id : str
            Our own id of the visit.
        reason : str
            "timed_out" leaves the person the chance to take the place again while it is free; any other
            ("returned", ...) does not, unless the platform sends the person back through :meth:`admit`.
        now : float
            Seconds since 1970.
        finished : bool
            Also where the visit has ended: completed answers become ``extra`` (a person who gave the visit
            back after answering).

        Returns
        -------
        bool
            Whether a place became free.
        """
        return self._place(
            lambda connection: capacity.release(connection, submission_id, reason, now=now, finished=finished)
        )

    def release_overdue(self, now: float) -> int:
        """Give up the places of all open visits whose deadline has passed, and return how many these were."""
        with self.reading() as connection:  # mostly there are none, and nobody has to wait
            if connection.scalar(select(submissions.c.number).where(*capacity.overdue(now)).limit(1)) is None:
                return 0
        return self._place(lambda connection: capacity.release_overdue(connection, now=now))

    # Ending

    def finish(
        self, submission: Submission, outcome: Outcome, code: str, *, now: float, rules: AdmissionRules = EVERYBODY
    ) -> Lease:
        """Save the answers of a visit and how it ended, in one transaction; a second call changes nothing.

        An outcome other than "completed" gives the place up. A late visit takes its place again if that is
        free; else it is kept as ``extra``. Without consent nothing that was sent is kept.

        Returns
        -------
        Lease
            The visit as it ended, with the code of the first call.
        """
        return self._place(lambda connection: finish_visit(connection, submission, outcome, code, now=now, rules=rules))

    def outcome_codes(self, source: str) -> dict[Outcome, str]:
        """Return the random completion code of each outcome for one source, made once and kept."""
        return self._place(lambda connection: completion_codes.outcome_codes(connection, source))

    # Looking

    def find_visit(self, source: str, external_id: str) -> PersonVisit | None:
        """Return the visit that a platform calls by this name, also where the person was forgotten since."""
        with self.reading() as connection:
            names = (external_id, forgotten_name(self.keyed(external_id)))
            named = submissions.c.source == source, submissions.c.external_id.in_(names)
            row = connection.execute(select_visits(*named)).first()
        return None if row is None else visit_from_row(row)

    def visit(self, submission_id: str) -> PersonVisit | None:
        """Return the visit of a person by our own id."""
        with self.reading() as connection:
            row = connection.execute(select_visits(submissions.c.submission_id == submission_id)).first()
        return None if row is None else visit_from_row(row)

    def visits(self, source: str | None = None) -> Iterator[PersonVisit]:
        """Yield the visits of people, of one source or all, in the order in which they began."""
        conditions = () if source is None else (submissions.c.source == source,)
        for row in self.stream(select_visits(*conditions)):
            yield visit_from_row(row)

    def _place(self, work: Callable[[Connection], T]) -> T:
        """Run work that gives or takes places, one transaction at a time; retried after a conflict."""

        def run() -> T:
            with self.transaction() as connection:
                leases.lock_leases(connection)
                return work(connection)

        return database.again_on_conflict(run)

    # Answers

    def leases(self) -> Iterator[Lease]:
        """Yield all leases in the order in which they were given."""
        for row in self.stream(leases.select_leases()):
            yield leases.lease_from_row(row)

    # What came back

    def payloads(self, submission_id: str) -> tuple[Payload, ...]:
        """Return what arrived in one visit, oldest first; a page that was sent again is there again."""
        with self.reading() as connection:
            return payloads.read_pages(connection, submission_id)

    def submissions(self, *, probes: bool = False) -> Iterator[Submission]:
        """Yield the completed visits in the order in which they began; or those that only tried a rater out."""
        last, chunk = 0, CHUNK
        while chunk == CHUNK:
            with self.reading() as connection:
                found = read_submissions(connection, after=last, limit=CHUNK, probes=probes)
            yield from (submission for _, submission in found)
            last, chunk = (found[-1][0] if found else last), len(found)
