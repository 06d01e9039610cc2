"""Which people a live study counts, where it counts them in the order in which they began.

Whoever began waits for everybody who began before, until these have completed, have left, or have had their time:
then it is known for good whether they count. So what was counted once is counted ever after, in the same order, and
how fast people are says nothing about who counts. Only stored times and ``now`` decide.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from sqlalchemy import Connection, and_, bindparam, literal, or_, select

from spa.responses.capacity import deadline
from spa.responses.leases import LEASE_COLUMNS, Lease, lease_from_row, leases_after
from spa.responses.outcomes import COMPLETED, NOT_SUBMITTED
from spa.responses.prepared_statements import PreparedStatement
from spa.responses.recounts import RECOUNTED, RESEATED
from spa.responses.store_schema import meta, submissions

BEGUN_UNTIL = "begun_until"  # fact of a store: everybody who began earlier is known, though a platform hands out forms
_NAME = meta.c.name
_NOTED = PreparedStatement(
    select(_NAME, meta.c.value).where(or_(*(_NAME == bindparam(name) for name in ("recounted", "reseated", "until"))))
)
_VISIT = submissions.c
_BEGUN_BEFORE = PreparedStatement(  # those to be looked at, and those that came in before somebody who counts
    select(*LEASE_COLUMNS[:-1], literal(None), _VISIT.number)
    .where(
        _VISIT.annotator_kind == bindparam("kind"),
        _VISIT.leased_at < bindparam("until"),
        or_(
            _VISIT.leased_at > bindparam("at"),
            and_(_VISIT.leased_at == bindparam("at"), _VISIT.number > bindparam("after")),
            _VISIT.number > bindparam("last"),
        ),
    )
    .order_by(_VISIT.leased_at, _VISIT.number)
)
VisitStatus = Literal["counts", "open", "passed over"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BegunOrder:
    """Where the people of one kind stand.

    Attributes
    ----------
    counted : tuple of Lease
        Visits that count, in the order in which they began; of each person, and of each assignment, the first.
    waiting : int
        Completed in time, while somebody who began before may still complete, or may not be known yet.
    late : int
        Completed after their time, or after they had given up their place: never counted.
    """

    counted: tuple[Lease, ...]
    waiting: int
    late: int


def in_time(visit: Lease, at: float) -> bool:
    """Return whether answers completed ``at`` some time count: before the time is up, the place never given up."""
    limit = deadline(visit.leased_at, visit.minutes_allowed)
    given_up = visit.released_at is not None and visit.released_at <= at
    again = limit is not None and visit.deadline is not None and visit.deadline > limit  # sooner: to begin until then
    return not given_up and not again and (limit is None or at <= limit)


def visit_status(visit: Lease, now: float, known_until: float | None = None) -> VisitStatus:
    """Return what is known of a visit ``now``; all but "open" is for good."""
    if visit.outcome not in (None, COMPLETED) or (visit.claimed and visit.release_reason == NOT_SUBMITTED):
        return "passed over"
    ended = now if visit.outcome is None or visit.completed_at is None else visit.completed_at
    if not in_time(visit, ended):
        return "passed over"
    others_unknown = known_until is not None and visit.leased_at >= known_until
    return "open" if visit.outcome is None or visit.claimed or others_unknown else "counts"


@dataclass(frozen=True, slots=True, kw_only=True)
class CountingFacts:
    """What a store notes of how its visits are counted.

    Attributes
    ----------
    recounts, reseated : int
        How many times visits were to be counted anew, and completed answers lost a place or found one.
    known_until : float or None
        As for :func:`begun_order`.
    """

    recounts: int
    reseated: int
    known_until: float | None


def counting_facts(connection: Connection) -> CountingFacts:
    """Return what is noted by now."""
    noted = dict(_NOTED.rows(connection, recounted=RECOUNTED, reseated=RESEATED, until=BEGUN_UNTIL))
    until = noted.get(BEGUN_UNTIL)
    return CountingFacts(
        recounts=int(noted.get(RECOUNTED, 0)),
        reseated=int(noted.get(RESEATED, 0)),
        known_until=None if until is None else float(until),
    )


def begun_order(visits: Iterable[Lease], now: float, known_until: float | None = None) -> dict[str, BegunOrder]:
    """Return the order of people by kind of annotator.

    Parameters
    ----------
    visits : iterable of Lease
        Of people (and simulated annotators), in the order in which they began.
    now : float
        Seconds since 1970; the last stored time where that is later, as in a rehearsal on a clock of its own.
    known_until : float, optional
        Where a platform hands out forms and says who began when they are submitted: before this time, all are known.
    """
    began = list(visits)
    if known_until is not None:
        began.sort(key=lambda visit: visit.leased_at)
    times = [each for visit in began for each in (visit.leased_at, visit.completed_at, visit.released_at) if each]
    now = max(now, *times) if times else now
    found: dict[str, BegunOrder] = {}
    for kind in dict.fromkeys(visit.annotator_kind for visit in began):
        counted: dict[str, Lease] = {}
        answered: set[str] = set()
        blocked, waiting, late = False, 0, 0
        for visit in began:
            if visit.annotator_kind != kind:
                continue
            status = visit_status(visit, now, known_until)
            blocked = blocked or status == "open"
            late += status == "passed over" and visit.completed
            known = visit.annotator_id in counted or visit.assignment_id in answered
            if status == "passed over" or visit.outcome is None or known:
                continue
            waiting += blocked
            if not blocked:
                counted[visit.annotator_id] = visit
                answered.add(visit.assignment_id)
        found[kind] = BegunOrder(counted=tuple(counted.values()), waiting=waiting, late=late)
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class NewlyCounted:
    """What later visits add to those that count already.

    Attributes
    ----------
    counted : tuple of Lease
        Further visits that count, in order.
    at, after : float, int
        When the last visit began of which all is known for good, and of everybody before, and its number.
    last : int
        The highest number of a visit that was looked at.
    now : float
        Seconds since 1970, never before an earlier look.
    known_until : float or None
        As for :func:`begun_order`.
    """

    counted: tuple[Lease, ...]
    at: float
    after: int
    last: int
    now: float
    known_until: float | None


@dataclass(slots=True, kw_only=True)
class CountedVisits:
    """The people of one kind who count, kept up: what :func:`begun_order` finds, without reading all visits again.

    Only visits after the first that is open are looked at, since of those before all is known for good; where
    something undoes that, :mod:`spa.responses.recounts` says so, and whoever keeps this begins anew.
    """

    at: float = 0.0  # when the visit ``after`` began, where a platform hands out forms; else 0
    after: int = 0  # number of a visit; everything up to it is known for good
    last: int = 0
    now: float = 0.0
    known_until: float | None = None
    people: set[str] = field(default_factory=set)
    assignments: set[str] = field(default_factory=set)

    def later_visits(
        self, connection: Connection, annotator_kind: str, known_until: float | None
    ) -> list[tuple[int, Lease]]:
        """Return the visits that :meth:`newly_counted` needs, each with its number."""
        if known_until is None:
            return leases_after(connection, self.after, annotator_kind)
        rows = _BEGUN_BEFORE.rows(
            connection, kind=annotator_kind, until=known_until, at=self.at, after=self.after, last=self.last
        )
        return [(row[-1], lease_from_row(row)) for row in rows]

    def are_later(self, visits: Sequence[tuple[int, Lease]], known_until: float | None) -> bool:
        """Tell whether these come after all who are known; else all are to be counted anew.

        So it is where a platform names somebody late who began before others that count, or the first form that it
        handed out.
        """
        if not self.last:
            return True
        if known_until is None or self.known_until is None:
            return known_until == self.known_until
        first = [(visit.leased_at, number) for number, visit in visits[:1]]
        return known_until >= self.known_until and all(place > (self.at, self.after) for place in first)

    def newly_counted(
        self, visits: Iterable[tuple[int, Lease]], now: float, known_until: float | None = None
    ) -> NewlyCounted:
        """Return who counts besides by ``now``, and change nothing yet.

        Parameters
        ----------
        visits : iterable of (int, Lease)
            Number and lease of all visits of this kind after the last of which all is known, in the order of their
            numbers; where a platform hands out forms those that began before ``known_until``, in the order in which
            they began, among them all of higher numbers than any seen.
        now, known_until : float, float or None
            As for :func:`begun_order`.
        """
        began = [((0.0 if known_until is None else visit.leased_at, number), visit) for number, visit in visits]
        times = [time for _, one in began for time in (one.leased_at, one.completed_at, one.released_at) if time]
        now = max(now, self.now, *times)
        counted: list[Lease] = []
        people, assignments, place = set[str](), set[str](), (self.at, self.after)
        for here, visit in began:
            status = visit_status(visit, now, known_until)
            if status == "open":
                break
            place = here
            known = visit.annotator_id in self.people or visit.assignment_id in self.assignments
            again = visit.annotator_id in people or visit.assignment_id in assignments
            if status == "counts" and not known and not again:
                counted.append(visit)
                people.add(visit.annotator_id)
                assignments.add(visit.assignment_id)
        return NewlyCounted(
            counted=tuple(counted),
            at=place[0],
            after=place[1],
            last=max([self.last, *(number for (_, number), _ in began)]),
            now=now,
            known_until=known_until,
        )

    def note(self, counted: NewlyCounted) -> None:
        """Note what :meth:`newly_counted` found."""
        self.at, self.after, self.last = counted.at, counted.after, counted.last
        self.now, self.known_until = counted.now, counted.known_until
        self.people.update(visit.annotator_id for visit in counted.counted)
        self.assignments.update(visit.assignment_id for visit in counted.counted)
