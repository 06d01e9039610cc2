"""Which visits of people have ended: kept up for live studies that count people as they complete.

Only visits that are new, or had not ended, are looked at, and those that had one more time once a place of completed
answers has changed hands (:func:`spa.responses.recounts.note_reseated`).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlalchemy import Connection, bindparam, literal, or_, select

from spa.responses.leases import LEASE_COLUMNS, Lease, lease_from_row
from spa.responses.prepared_statements import PreparedStatement
from spa.responses.store_schema import submissions

_OF_KIND = submissions.c.annotator_kind == bindparam("kind")
_CHANGING = PreparedStatement(
    select(submissions.c.number, submissions.c.outcome)
    .where(_OF_KIND, or_(submissions.c.outcome.is_(None), submissions.c.number > bindparam("after")))
    .order_by(submissions.c.number)
)
_EXTRA = PreparedStatement(select(submissions.c.number).where(_OF_KIND, submissions.c.extra))
_NUMBERED = PreparedStatement(
    select(*LEASE_COLUMNS[:-1], literal(None)).where(submissions.c.number == bindparam("number"))
)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewlyEnded:
    """What has ended, or changed since it did, at one moment.

    Attributes
    ----------
    visits : dict of int to Lease
        By number, whatever the outcome.
    last : int
        Number of the last visit that is there.
    waiting : frozenset of int
        Those that have not ended, or that a platform has not confirmed.
    reseated : int
        How many times completed answers had lost a place, or found one.
    """

    visits: dict[int, Lease]
    last: int
    waiting: frozenset[int]
    reseated: int


@dataclass(slots=True, kw_only=True)
class EndedVisits:
    """The visits of one kind of annotators that are known to have ended."""

    last: int = 0
    waiting: frozenset[int] = frozenset()
    extra: set[int] = field(default_factory=set)  # completed without a place
    reseated: int = 0
    n: int = 0

    def newly_ended(self, connection: Connection, kind: str, reseated: int) -> NewlyEnded:
        """Return what has ended besides, and change nothing yet; ``reseated`` as the store notes it."""
        seen = _CHANGING.rows(connection, kind=kind, after=self.last)
        waiting = {number for number, outcome in seen if outcome is None}
        changed = self.waiting - waiting | {number for number, _ in seen if number > self.last} - waiting
        if reseated != self.reseated:
            changed |= {number for (number,) in _EXTRA.rows(connection, kind=kind)} ^ self.extra
        found: dict[int, Lease] = {}
        for number in sorted(changed):
            for row in _NUMBERED.rows(connection, number=number):
                found[number] = lease_from_row(row)
        claimed = {number for number, visit in found.items() if visit.claimed}
        return NewlyEnded(
            visits={number: visit for number, visit in found.items() if number not in claimed},
            last=max([self.last, *(number for number, _ in seen)]),
            waiting=frozenset(waiting | claimed),
            reseated=reseated,
        )

    def note(self, newly: NewlyEnded) -> None:
        """Note what :meth:`newly_ended` found."""
        before = self.waiting | {*range(self.last + 1, newly.last + 1)}
        self.n += len(before & newly.visits.keys())
        for number, visit in newly.visits.items():
            (self.extra.add if visit.extra else self.extra.discard)(number)
        self.last, self.waiting, self.reseated = newly.last, newly.waiting, newly.reseated
