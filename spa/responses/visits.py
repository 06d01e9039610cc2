"""The visits of a store: people come and go, answers are saved, places given and taken; and what is known of each."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from sqlalchemy import Connection, Row, Select, case, func, select

from spa.records.platforms import LINK
from spa.records.submission import AnnotatorKind, Submission
from spa.responses import admission, capacity, completion_codes, leases
from spa.responses.admission import AdmissionRules, Arrival
from spa.responses.begun_order import BEGUN_UNTIL, BegunOrder, begun_order
from spa.responses.database import Database, retry_on_conflict
from spa.responses.leases import LEASE_COLUMNS, Lease, lease_facts
from spa.responses.outcomes import COMPLETED, Outcome, forgotten_name
from spa.responses.payloads import UNREADABLE, Payload, read_pages
from spa.responses.store_schema import payloads, people, submissions, tokens
from spa.responses.tokens import is_token
from spa.responses.visit_ends import EVERYBODY, finish_visit

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonVisit(Lease):
    """A person's visit: its lease, who the person is, and how far they came.

    ``outcome`` is ``None`` while it is open (``released`` says whether the place was given up meanwhile);
    ``extra`` marks answers that came when the place was somebody else's.
    """

    person: str | None  # the platform's name of the person; None for links, and once forgotten
    pages: int  # pages that something was sent for
    last_seen: float | None  # when the last page arrived


class StoredVisits:
    """The visits of a store, of people and of raters."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def admit(
        self,
        *,
        source: str,
        person: str,
        now: float,
        external_id: str | None = None,
        session: int = 1,
        group: str | None = None,
        minutes_allowed: float | None = None,
        annotator_kind: AnnotatorKind = "human",
        overbook: bool = False,
        vouched: bool = False,
        named: bool = True,
        proven: bool = True,
        new_token: str | None = None,
        displaces: Collection[str] = (),
        rules: AdmissionRules = EVERYBODY,
    ) -> Lease:
        """Find or make the visit of a platform's person, which continues at ``/a/{lease.token}``.

        The same ``external_id`` leads to the same visit; the same person with an open visit to the same assignment,
        also under a new ``external_id`` (the pages sent before come along). Otherwise the least-answered assignment is
        given out, one that this person never had. Overdue places are given up first.

        The platform's name of the person is kept to pay them, until ``spa forget``; the bridge has verified the
        ``external_id``, its name of the visit. With ``overbook``, where all places are taken but not all done, the
        person answers an assignment beside its holder (``standing_by``): the answers take the place if the holder
        drops out, and are ``extra`` otherwise. That is for people whom a platform has promised pay, since it may fill
        a place before we know that somebody has left it. After ``minutes_allowed`` the place goes to somebody else;
        the lease is ``released`` where that has happened. So it does after the rules' ``minutes_to_begin`` unless
        something was sent, but for people whom the platform has ``vouched`` for. Raise AdmissionRefused (SecondVisit,
        WrongSession, QuotaFull, IdInUse or NoneLeft), whose ``notice`` names the page that the person is shown. A
        name of the visit that the platform has not ``named`` itself keeps nobody out who comes with the same. Who has
        not ``proven`` to be this person continues no visit, and is refused where the person has one. A new visit opens
        with ``new_token``, unless another one does.
        """
        arrival = Arrival(
            annotator_id=self._database.person_id(source, person),
            source=source,
            person=person,
            external_id=external_id,
            session=session,
            group=group,
            minutes_allowed=minutes_allowed,
            annotator_kind=annotator_kind,
            overbook=overbook,
            vouched=vouched,
            named=named,
            proven=proven,
            new_token=new_token,
            displaces=frozenset(displaces),
        )
        return self._change(lambda connection: admission.admit(connection, arrival, rules, now=now))

    def admit_link(
        self,
        token: str,
        *,
        now: float,
        source: str = LINK,
        minutes_allowed: float | None = None,
        annotator_kind: AnnotatorKind = "human",
        rules: AdmissionRules = EVERYBODY,
    ) -> Lease:
        """Find or make the visit of the person who holds a link; as :meth:`admit`, without a platform's names."""
        arrival = Arrival(
            annotator_id=self._database.keyed(token),
            source=source,
            token=token,
            minutes_allowed=minutes_allowed,
            annotator_kind=annotator_kind,
        )
        return self._change(lambda connection: admission.admit(connection, arrival, rules, now=now))

    def of_token(self, token: str) -> Lease | None:
        """Return the visit that a token opens; ``None`` before its first use and for a token of nobody."""
        if not is_token(token):
            return None
        with self._database.reading() as connection:
            return leases.lease_of_token(connection, token)

    def of_annotator(self, annotator_id: str) -> list[Lease]:
        """Return all visits of a person, oldest first."""
        with self._database.reading() as connection:
            return leases.leases_of(connection, annotator_id)

    def attempt(self, submission_id: str) -> int:
        """Return 1 and as many as visits of the same kind to the same assignment have given their place up before."""
        before, own = submissions.alias(), submissions.c
        gone = before.c.number < own.number, before.c.seat.is_(None), before.c.annotator_kind == own.annotator_kind
        count = select(func.count()).select_from(before).where(before.c.assignment_id == own.assignment_id, *gone)
        with self._database.reading() as connection:
            earlier = select(count.scalar_subquery()).where(own.submission_id == submission_id)
            return 1 + (connection.scalar(earlier) or 0)

    def release(self, submission_id: str, reason: str, *, now: float, finished: bool = False) -> bool:
        """Give up the place of a visit, so that its assignment goes out again, and return whether one became free.

        Nothing that was sent is touched. The reason "timed_out" leaves the person the chance to take the place again
        while it is free; any other ("returned", ...) does not, unless the platform sends the person back through
        :meth:`admit`. With ``finished`` a visit that has ended gives its place up too, and completed answers become
        ``extra`` (a person who gave the visit back after answering).
        """
        return self._change(
            lambda connection: capacity.release(connection, submission_id, reason, now=now, finished=finished)
        )

    def release_overdue(self, now: float) -> int:
        """Give up the places of all open visits whose deadline has passed, and return how many these were."""
        with self._database.reading() as connection:  # mostly there are none, and nobody has to wait
            if connection.scalar(select(submissions.c.number).where(*capacity.overdue(now)).limit(1)) is None:
                return 0
        return self._change(lambda connection: capacity.release_overdue(connection, now=now))

    def finish(
        self, submission: Submission, outcome: Outcome, code: str, *, now: float, rules: AdmissionRules = EVERYBODY
    ) -> Lease:
        """Save the answers of a visit and how it ended, in one transaction, and return the visit as it ended.

        An outcome other than "completed" gives the place up. A late visit takes its place again if that is free; else
        it is kept as ``extra``. Without consent nothing that was sent is kept. A second call changes nothing: the
        visit has the code of the first.
        """
        return self._change(
            lambda connection: finish_visit(connection, submission, outcome, code, now=now, rules=rules)
        )

    def outcome_codes(self, source: str) -> dict[Outcome, str]:
        """Return the random completion code of each outcome for one source, made once and kept."""
        return self._change(lambda connection: completion_codes.outcome_codes(connection, source))

    def find(self, source: str, external_id: str) -> PersonVisit | None:
        """Return the visit that a platform calls by this name, also where the person was forgotten since."""
        with self._database.reading() as connection:
            names = (external_id, forgotten_name(self._database.keyed(external_id)))
            named = submissions.c.source == source, submissions.c.external_id.in_(names)
            row = connection.execute(_select_visits(*named)).first()
        return None if row is None else _visit_from_row(row)

    def get(self, submission_id: str) -> PersonVisit | None:
        """Return the visit of a person by our own id."""
        with self._database.reading() as connection:
            row = connection.execute(_select_visits(submissions.c.submission_id == submission_id)).first()
        return None if row is None else _visit_from_row(row)

    def of_people(self, source: str | None = None) -> Iterator[PersonVisit]:
        """Yield the visits of people, of one source or all, in the order in which they began."""
        conditions = () if source is None else (submissions.c.source == source,)
        for row in self._database.stream(_select_visits(*conditions)):
            yield _visit_from_row(row)

    def count_free(self, per_assignment: int) -> int:
        """Return how many places nobody holds."""
        with self._database.reading() as connection:
            return capacity.count_free(connection, per_assignment)

    def seat_again(self, submission_id: str, *, rules: AdmissionRules = EVERYBODY) -> bool:
        """Give a completed visit, which the platform counts after all, a free place; return whether it has one."""
        return self._change(lambda connection: capacity.seat_again(connection, submission_id, rules.per_assignment))

    def count_completed(self) -> int:
        """Return how many visits are completed, raters' too."""
        with self._database.reading() as connection:
            done = select(func.count()).select_from(submissions).where(submissions.c.outcome == COMPLETED)
            return connection.scalar(done) or 0

    def completion_order(self) -> dict[tuple[str, str], int]:
        """Return annotator and assignment of every completed visit, raters' too, numbered as they were completed."""
        done = submissions.c.outcome == COMPLETED
        query = select(submissions.c.annotator_id, submissions.c.assignment_id).where(done)
        rows = self._database.stream(query.order_by(submissions.c.completed_at, submissions.c.number))
        return {(row.annotator_id, row.assignment_id): place for place, row in enumerate(rows)}

    def begun_order(self, now: float) -> dict[str, BegunOrder]:
        """Return which people count ``now`` in a live study that counts them as they began, by kind of annotator."""
        query = leases.select_leases().where(submissions.c.annotator_kind != "llm")
        until = self._database.meta(BEGUN_UNTIL)
        visits = (leases.lease_from_row(row) for row in self._database.stream(query))
        return begun_order(visits, now, None if until is None else float(until))

    def leases(self) -> Iterator[Lease]:
        """Yield all leases in the order in which they were given."""
        for row in self._database.stream(leases.select_leases()):
            yield leases.lease_from_row(row)

    def payloads(self, submission_id: str) -> tuple[Payload, ...]:
        """Return what arrived in one visit, oldest first; a page that was sent again is there again."""
        with self._database.reading() as connection:
            return read_pages(connection, submission_id)

    def _change(self, work: Callable[[Connection], T]) -> T:
        """Run work that gives or takes places, one transaction at a time; retried after a conflict."""

        def run() -> T:
            with self._database.transaction() as connection:
                leases.lock_leases(connection)
                return work(connection)

        return retry_on_conflict(run)


def _select_visits(*conditions: Any) -> Select[Any]:
    """Select the visits of people under some conditions, in the order in which they began."""
    sent = (
        select(
            payloads.c.submission_id,
            func.count(case((~payloads.c.page_id.endswith(UNREADABLE), payloads.c.page_id)).distinct()).label("pages"),
            func.max(payloads.c.received_at).label("last_seen"),
        )
        .group_by(payloads.c.submission_id)
        .subquery()
    )
    visited = (
        submissions.outerjoin(tokens, tokens.c.submission_id == submissions.c.submission_id)
        .outerjoin(people, people.c.annotator_id == submissions.c.annotator_id)
        .outerjoin(sent, sent.c.submission_id == submissions.c.submission_id)
    )
    columns: Sequence[Any] = (*LEASE_COLUMNS, people.c.external_person, sent.c.pages, sent.c.last_seen)
    found = select(*columns).select_from(visited).where(submissions.c.annotator_kind != "llm", *conditions)
    return found.order_by(submissions.c.number)


def _visit_from_row(row: Row[Any]) -> PersonVisit:
    return PersonVisit(**lease_facts(row), person=row.external_person, pages=row.pages or 0, last_seen=row.last_seen)
