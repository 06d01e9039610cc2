"""The part of the store that people need: coming, going, being late, ending."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypedDict, TypeVar, Unpack

from sqlalchemy import Connection, Select, delete, select, update

from spa.errors import ResponseError
from spa.responses import admission, capacity, completion_codes, leases
from spa.responses.admission import AdmissionRules, Arrival
from spa.responses.answer_rows import save_answers
from spa.responses.database import again_on_conflict
from spa.responses.leases import Lease
from spa.responses.outcomes import COMPLETED, NO_CONSENT, STANDBY, TIMED_OUT, Outcome, forgotten_name
from spa.responses.store_names import StoreOfNames
from spa.responses.store_schema import payloads, submissions
from spa.responses.submission import AnnotatorKind, Submission
from spa.responses.tokens import is_token, note_consent
from spa.responses.visits import PersonVisit, select_visits, visit_from_row

EVERYBODY = AdmissionRules()
T = TypeVar("T")


class ArrivalFacts(TypedDict, total=False):
    """What is said of somebody who comes, by a link or from a platform.

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


class StoreOfPeople(StoreOfNames):
    """Leases of people. A part of :class:`spa.responses.store.Store`, which see."""

    name: str
    stream: Callable[[Select[Any]], Iterator[Any]]

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
        """Find or make the visit of a platform's person, who is then sent to ``/a/{lease.token}``.

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
            ``session``, ``group``, ``minutes_allowed``, ``annotator_kind`` (:class:`Coming`).

        Returns
        -------
        Lease
            ``released`` where the deadline has passed and the place has gone to somebody else.

        Raises
        ------
        SecondVisit, WrongSession, QuotaFull, NoneLeft
            All of them ``Refused``; its ``notice`` names what to tell the person.
        """
        arrival = Arrival(
            annotator_id=self.person_id(source, person),
            source=source,
            person=person,
            external_id=external_id,
            overbook=overbook,
            **coming,
        )
        return self._seating(lambda connection: admission.admit(connection, arrival, rules, now=now))

    def admit_link(
        self,
        token: str,
        *,
        now: float,
        source: str = "link",
        rules: AdmissionRules = EVERYBODY,
        **coming: Unpack[ArrivalFacts],
    ) -> Lease:
        """Find or make the visit of whoever holds a link; as :meth:`admit`, without a platform's names."""
        arrival = Arrival(annotator_id=self.annotator_id(token), source=source, token=token, **coming)
        return self._seating(lambda connection: admission.admit(connection, arrival, rules, now=now))

    def take_in_within(
        self,
        connection: Connection,
        *,
        source: str,
        person: str,
        external_id: str,
        assignment_id: str,
        now: float,
        annotator_kind: AnnotatorKind = "human",
        rules: AdmissionRules = EVERYBODY,
    ) -> Lease:
        """Make the visit of somebody whose form a platform handed out itself, inside a :meth:`transaction`.

        What was handed in is there already, so nobody is refused: without a free place, the answers become
        ``extra`` when the visit is finished. The same ``external_id`` leads to the same visit.

        Parameters
        ----------
        connection : Connection
            Of a writing transaction.
        source, person, external_id : str
            As for :meth:`admit`.
        assignment_id : str
            Which form it was.
        now : float
            When the person began, in seconds since 1970.
        annotator_kind : {"human", "simulated"}
            What the person is recorded as.
        rules : AdmissionRules
            What the study says about who may come.
        """
        arrival = Arrival(
            annotator_id=self.person_id(source, person),
            source=source,
            annotator_kind=annotator_kind,
            person=person,
            external_id=external_id,
        )
        leases.lock_leases(connection)
        return admission.take_in(connection, arrival, assignment_id, rules, now=now)

    def lease_of_token(self, token: str) -> Lease | None:
        """Return the visit that a token opens; ``None`` before its first use and for a token of nobody."""
        if not is_token(token):
            return None
        with self.reading() as connection:
            return leases.lease_of_token(connection, token)

    def join_group(self, submission_id: str, group: str, *, rules: AdmissionRules) -> None:
        """Put a visit into a quota group, as its answers to the screening say.

        Raises
        ------
        QuotaFull
            If the group's places are all held by people at work or done.
        """
        self._seating(lambda connection: admission.join_group(connection, submission_id, group, rules))

    def consent(self, submission_id: str, *, text_hash: str, now: float) -> None:
        """Note that a person agreed to the text with this SHA-256; the first time counts."""
        with self.transaction() as connection:
            note_consent(connection, submission_id, text_hash=text_hash, now=now)

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
        return self._seating(
            lambda connection: capacity.release(connection, submission_id, reason, now=now, finished=finished)
        )

    def release_overdue(self, now: float) -> int:
        """Give up the places of all open visits whose deadline has passed, and return how many these were."""
        with self.reading() as connection:  # mostly there are none, and nobody has to wait
            if connection.scalar(select(submissions.c.number).where(*capacity.overdue(now)).limit(1)) is None:
                return 0
        return self._seating(lambda connection: capacity.release_overdue(connection, now=now))

    def reclaim(self, submission_id: str, *, now: float, rules: AdmissionRules = EVERYBODY) -> Lease:
        """Give a late visit its place back where that is still free; returns the visit as it then stands."""

        def claim(connection: Connection) -> Lease:
            lease = self._lease(connection, submission_id)
            if lease.release_reason != TIMED_OUT:
                return lease
            return capacity.reclaim(connection, lease, rules.per_assignment, now=now)

        return self._seating(claim)

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
        return self._seating(
            lambda connection: self.finish_within(connection, submission, outcome, code, now=now, rules=rules)
        )

    def finish_within(
        self,
        connection: Connection,
        submission: Submission,
        outcome: Outcome,
        code: str,
        *,
        now: float,
        rules: AdmissionRules = EVERYBODY,
    ) -> Lease:
        """Do what :meth:`finish` does inside a :meth:`transaction` of the caller's."""
        own = submissions.c.submission_id == submission.submission_id
        number = connection.scalar(select(submissions.c.number).where(own).with_for_update())
        lease = self._lease(connection, submission.submission_id)
        if lease.finished:
            return lease
        if (lease.assignment_id, lease.annotator_id) != (submission.assignment_id, submission.annotator_id):
            raise ResponseError(
                f"{self.name}: submission {submission.submission_id!r} was leased for assignment "
                f"{lease.assignment_id!r} by annotator {lease.annotator_id!r}, got assignment "
                f"{submission.assignment_id!r} by {submission.annotator_id!r}"
            )
        seat, freed = lease.seat, None
        if outcome == COMPLETED and lease.release_reason in (TIMED_OUT, STANDBY) and seat is None:
            seat = capacity.free_seat(connection, lease.assignment_id, rules.per_assignment)
        elif outcome != COMPLETED:
            seat, freed = None, lease.seat
        if outcome == NO_CONSENT:  # also where consent was given at first and then taken back
            connection.execute(delete(payloads).where(payloads.c.submission_id == submission.submission_id))
        else:
            save_answers(connection, number or 0, submission.answers)
        connection.execute(
            update(submissions)
            .where(own)
            .values(
                seat=seat,
                extra=outcome == COMPLETED and seat is None,
                outcome=outcome,
                completed_at=now,
                completion_code=code,
                seconds=submission.seconds,
            )
        )
        if freed is not None:
            capacity.seat_extra(connection, lease.assignment_id, freed)
        if seat != lease.seat:
            capacity.recount(connection, lease.assignment_id)
        return self._lease(connection, submission.submission_id)

    def confirm_within(
        self, connection: Connection, lease: Lease, external_id: str, *, rules: AdmissionRules = EVERYBODY
    ) -> None:
        """Let a visit that was only claimed count, by the platform's name of it; it takes a free place if it has none.

        Runs inside a :meth:`transaction` of the caller's.
        """
        leases.lock_leases(connection)
        seat, done = lease.seat, lease.outcome == COMPLETED
        if done and seat is None:
            seat = capacity.free_seat(connection, lease.assignment_id, rules.per_assignment)
        connection.execute(
            update(submissions)
            .where(submissions.c.submission_id == lease.submission_id)
            .values(external_id=external_id, seat=seat, extra=done and seat is None)
        )
        capacity.recount(connection, lease.assignment_id)

    def outcome_codes(self, source: str) -> dict[Outcome, str]:
        """Return the random completion code of each outcome for one source, made once and kept."""
        return self._seating(lambda connection: completion_codes.outcome_codes(connection, source))

    # Looking

    def find_visit(self, source: str, external_id: str) -> PersonVisit | None:
        """Return the visit that a platform calls by this name, also where the person was forgotten since."""
        with self.reading() as connection:
            names = (external_id, forgotten_name(self.keyed(external_id)))
            named = submissions.c.source == source, submissions.c.external_id.in_(names)
            row = connection.execute(select_visits(*named)).first()
        return None if row is None else visit_from_row(row)

    def find_lease_within(self, connection: Connection, source: str, external_id: str) -> Lease | None:
        """Return the lease of the visit that a platform calls by this name, inside a transaction of the caller's."""
        return leases.lease_of_external(connection, source, external_id)

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

    def _seating(self, work: Callable[[Connection], T]) -> T:
        """Run what gives or takes places, one at a time, once more where another process was preferred."""

        def run() -> T:
            with self.transaction() as connection:
                leases.lock_leases(connection)
                return work(connection)

        return again_on_conflict(run)

    def _lease(self, connection: Connection, submission_id: str) -> Lease:
        lease = leases.lease_of(connection, submission_id)
        if lease is None:
            raise ResponseError(f"{self.name}: no submission {submission_id!r}; lease an assignment first")
        return lease
