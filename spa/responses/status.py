"""Status of a study with people: who is at work, who has left, how long it takes and what it pays."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from heapq import merge
from statistics import median
from typing import Literal

from sqlalchemy import Connection, func, select

from spa.records.people import People
from spa.responses.leases import Lease
from spa.responses.outcomes import COMPLETED, OUTCOMES, REPLACED, WITHDRAWN
from spa.responses.store_schema import decisions, payloads, submissions
from spa.responses.visits import PersonVisit

CENT = Decimal("0.01")
MOST_POINTS = 400  # on a curve; a screen shows no more
COUNTED = ("begun", "at_work", "standby", "dropped", "unconfirmed", *OUTCOMES, WITHDRAWN, "extra")
COUNT_WORDS = {name: name.replace("_", " ") for name in COUNTED} | {
    "begun": "started",
    "at_work": "in progress",
    "standby": "in reserve",
    "dropped": "dropped out",
    COMPLETED: "submitted",
    "extra": "late (excluded)",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class VisitCounts:
    """The visits of one source and quota group, counted; every visit is in exactly one count but ``begun``."""

    source: str
    people_group: str | None
    places: int | None  # of the group
    begun: int
    at_work: int  # hold a place and have not ended
    standby: int  # at work beside the holder of a place
    dropped: int  # gave their place up before the end
    unconfirmed: int  # hold a place and have ended, by their own word alone
    completed: int
    screened_out: int
    no_consent: int
    failed_checks: int
    quota_full: int
    withdrawn: int  # answers deleted on request
    extra: int  # completed when the place was somebody else's


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """The status of a study at one moment. Times are in seconds since 1970, money in major units."""

    now: float
    assignments: int
    places: int  # to be completed: assignments times people for each
    completed: int  # places that are done
    at_work: int
    free: int
    lines: tuple[VisitCounts, ...]
    median_minutes: float | None  # of completed visits
    planned_minutes: float | None
    pay: Decimal | None
    currency: str
    hourly_pay: Decimal | None  # at the median
    planned_hourly_pay: Decimal | None
    expected_end: float | None  # at the pace so far; None before the second completed visit, or with nobody at work

    @property
    def stalled(self) -> str | None:
        """Return, in words, what is left to do where places are missing and nobody is at work; else ``None``."""
        if _working(self.lines) or self.completed >= self.places:
            return None
        counts = {"free": self.free, "to be confirmed by the platform": self.places - self.completed - self.free}
        left = [f"{count:,} {'place' if count == 1 else 'places'} {what}" for what, count in counts.items() if count]
        return ", ".join([*left, "nobody at work"])


def summarise_visits(visits: Iterable[Lease], *, assignments: int, people: People, now: float) -> Status:
    """Count the visits of people and say when the study will be complete at the pace so far.

    Whoever is overdue by ``now`` counts as dropped. Simulated annotators are timed only where nobody else came, and
    their time says nothing of pay.
    """
    tally = VisitTally(assignments=assignments, people=people)
    for visit in visits:
        tally.put(visit)
    return tally.status(now)


class VisitTally:
    """The visits of people, counted one by one, and again where one has changed."""

    def __init__(self, *, assignments: int, people: People) -> None:
        self._assignments = assignments
        self._people = people
        self._visits: dict[str, Lease] = {}
        self._open: dict[str, Lease] = {}  # whose state may depend on the time
        self._lines: dict[tuple[str, str | None], Counter[str]] = {}
        self._kinds: Counter[str] = Counter()
        self._minutes: defaultdict[str, list[float]] = defaultdict(list)  # by kind of annotator, in order
        self._ends: defaultdict[str, list[float]] = defaultdict(list)

    def put(self, visit: Lease) -> None:
        """Count a visit, instead of what was counted of it before."""
        former = self._visits.get(visit.submission_id)
        if former == visit:
            return
        if former is not None:
            self._count(former, -1)
        self._visits[visit.submission_id] = visit
        self._count(visit, 1)

    def _count(self, visit: Lease, one: Literal[1, -1]) -> None:
        self._kinds[visit.annotator_kind] += one
        if visit.release_reason == REPLACED and not visit.finished:
            return  # continued in another visit of the same person
        line = self._lines.setdefault((visit.source, visit.people_group), Counter())
        line["begun"] += one
        if visit.finished:
            line[_state(visit, 0.0)] += one
        elif one == 1:
            self._open[visit.submission_id] = visit
        else:
            del self._open[visit.submission_id]
        if visit.completed and visit.completed_at is not None:
            change = insort if one == 1 else _take_out
            change(self._minutes[visit.annotator_kind], visit.seconds_until(visit.completed_at) / 60)
            if not visit.extra:
                change(self._ends[visit.annotator_kind], visit.completed_at)

    def status(self, now: float) -> Status:
        """Return the counts at one moment."""
        people = self._people
        counts = {key: Counter(line) for key, line in self._lines.items() if line["begun"]}
        for visit in self._open.values():
            counts[visit.source, visit.people_group][_state(visit, now)] += 1
        timed = _timed({kind for kind, count in self._kinds.items() if count})
        minutes, ends = (_merged([known[kind] for kind in timed]) for known in (self._minutes, self._ends))
        in_groups = {group.name: group.places for group in people.groups}
        lines = tuple(
            VisitCounts(
                source=source,
                people_group=group,
                places=None if group is None else in_groups.get(group),
                **{name: counted[name] for name in COUNTED},
            )
            for (source, group), counted in counts.items()
        )
        places = self._assignments * people.per_assignment
        done, at_work = sum(line.completed for line in lines), sum(line.at_work for line in lines)
        typical = _median(minutes) if minutes else None
        return Status(
            now=now,
            assignments=self._assignments,
            places=places,
            completed=done,
            at_work=at_work,
            free=places - done - at_work - sum(line.unconfirmed for line in lines),
            lines=lines,
            median_minutes=None if typical is None else round(typical, 2),
            planned_minutes=people.minutes,
            pay=people.pay,
            currency=people.currency,
            hourly_pay=hourly_pay(people.pay, typical) if "human" in timed else None,  # simulated ones take no time
            planned_hourly_pay=hourly_pay(people.pay, people.minutes),
            expected_end=_expected_end(ends, places - done, now, goes_on=_working(lines)),
        )


def _merged(ordered: list[list[float]]) -> list[float]:
    return ordered[0] if len(ordered) == 1 else list(merge(*ordered))


def _median(ordered: list[float]) -> float:
    return (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2


def _take_out(ordered: list[float], value: float) -> None:
    del ordered[bisect_left(ordered, value)]


def _working(lines: Iterable[VisitCounts]) -> bool:
    return any(line.at_work or line.standby for line in lines)


def timed_kinds(visits: Iterable[PersonVisit]) -> set[str]:
    """Return the kinds of annotators whose time counts: simulated ones only where nobody else came."""
    return _timed({visit.annotator_kind for visit in visits})


def _timed(kinds: set[str]) -> set[str]:
    return {"human"} if "human" in kinds else kinds


def _state(visit: Lease, now: float) -> str:
    if visit.extra:
        return "extra"
    if visit.outcome is not None:
        return "unconfirmed" if visit.claimed and visit.outcome == COMPLETED else visit.outcome
    overdue = visit.deadline is not None and visit.deadline < now
    if visit.standing_by and not overdue:
        return "standby"
    return "dropped" if visit.seat is None or overdue else "at_work"


def hourly_pay(pay: Decimal | None, minutes: float | None) -> Decimal | None:
    """Return what a form pays an hour where it takes some minutes; ``None`` where one of them is not known."""
    if pay is None or not minutes:
        return None
    return (pay * 60 / Decimal(repr(minutes))).quantize(CENT, ROUND_HALF_UP)


def _expected_end(ends: list[float], left: int, now: float, *, goes_on: bool) -> float | None:
    """Extrapolate the pace between the first completed visit and now; with nobody at work there is no pace."""
    if left == 0:
        return ends[-1] if ends else None
    if not goes_on or len(ends) < 2 or now <= ends[0]:
        return None
    return now + left * (now - ends[0]) / (len(ends) - 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class PacePoint:
    """Where a study stood when one more form had been handed in."""

    at: float  # seconds since 1970
    handed_in: int
    median_minutes: float  # of all forms up to then
    hourly_pay: Decimal | None  # at that median, in major units


def pace_of(visits: Iterable[PersonVisit], pay: Decimal | None) -> list[PacePoint]:
    """Return how the completed visits added up, oldest first; of very many, some spread evenly and the last.

    Late answers do not count, and simulated annotators only where nobody else came; ``pay`` for one form, in major
    units, is left out of theirs.
    """
    visits = list(visits)
    kinds = timed_kinds(visits)
    earned = pay if "human" in kinds else None
    done = sorted(
        (visit.completed_at, visit.seconds_until(visit.completed_at))
        for visit in visits
        if visit.completed and visit.completed_at is not None and not visit.extra and visit.annotator_kind in kinds
    )
    seconds: list[float] = []
    points = []
    for at, took in done:
        insort(seconds, took)
        minutes = median(seconds) / 60
        pay_so_far = hourly_pay(earned, minutes)
        points.append(PacePoint(at=at, handed_in=len(seconds), median_minutes=minutes, hourly_pay=pay_so_far))
    step = -(-len(points) // MOST_POINTS)
    return [*points[: -1 : max(1, step)], *points[-1:]]


def state_of(connection: Connection) -> str:
    """Return a version string of the store: another one once a visit, page, form or decision came or a place was left.

    No answer is read for it, so that its cost does not grow with them.
    """
    counted = (
        select(func.max(submissions.c.number)),
        select(func.count(submissions.c.completed_at)),
        select(func.count(submissions.c.released_at)),
        select(func.max(payloads.c.number)),
        select(func.max(decisions.c.number)),
    )
    return "/".join(str(connection.scalar(query) or 0) for query in counted)
