"""Which people a live study counts, where it counts them in the order in which they began.

Whoever began waits for everybody who began before, until these have completed, have left, or have had their time:
then it is known for good whether they count. So what was counted once is counted ever after, in the same order, and
how fast people are says nothing about who counts. Only stored times and ``now`` decide.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from spa.responses.capacity import deadline
from spa.responses.leases import Lease
from spa.responses.outcomes import COMPLETED, NOT_SUBMITTED

BEGUN_UNTIL = "begun_until"  # fact of a store: everybody who began earlier is known, though a platform hands out forms


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


def standing(visit: Lease, now: float, known_until: float | None = None) -> Literal["counts", "open", "passed over"]:
    """Return what is known of a visit ``now``; all but "open" is for good."""
    if visit.outcome not in (None, COMPLETED) or (visit.claimed and visit.release_reason == NOT_SUBMITTED):
        return "passed over"
    ended = now if visit.outcome is None or visit.completed_at is None else visit.completed_at
    if not in_time(visit, ended):
        return "passed over"
    others_unknown = known_until is not None and visit.leased_at >= known_until
    return "open" if visit.outcome is None or visit.claimed or others_unknown else "counts"


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
            stands = standing(visit, now, known_until)
            blocked = blocked or stands == "open"
            late += stands == "passed over" and visit.completed
            known = visit.annotator_id in counted or visit.assignment_id in answered
            if stands == "passed over" or visit.outcome is None or known:
                continue
            waiting += blocked
            if not blocked:
                counted[visit.annotator_id] = visit
                answered.add(visit.assignment_id)
        found[kind] = BegunOrder(counted=tuple(counted.values()), waiting=waiting, late=late)
    return found
