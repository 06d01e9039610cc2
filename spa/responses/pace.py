"""How a study with people came along: what had been handed in when, and what it paid an hour up to then."""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from statistics import median

from spa.responses.status import hourly_pay, timed_kinds
from spa.responses.visits import PersonVisit

MOST_POINTS = 400  # on a curve; more cannot be told apart on a screen


@dataclass(frozen=True, slots=True, kw_only=True)
class PacePoint:
    """Where a study stood when one more form had been handed in."""

    at: float  # seconds since 1970
    handed_in: int
    median_minutes: float  # of all forms up to then
    hourly_pay: Decimal | None  # at that median, in major units


def pace_of(visits: Iterable[PersonVisit], pay: Decimal | None) -> list[PacePoint]:
    """Return how the completed visits added up, oldest first; of very many, some spread evenly and the last.

    Parameters
    ----------
    visits : iterable of PersonVisit
        Visits of people; simulated annotators count only where nobody else came, late answers not at all.
    pay : Decimal or None
        For one form, in major units; what that makes an hour is left out of simulated annotators.
    """
    visits = list(visits)
    kinds = timed_kinds(visits)
    earned = pay if "human" in kinds else None
    done = sorted(
        (visit.completed_at, visit.completed_at - visit.leased_at)
        for visit in visits
        if visit.completed and visit.completed_at is not None and not visit.extra and visit.annotator_kind in kinds
    )
    seconds: list[float] = []
    points = []
    for at, took in done:
        insort(seconds, took)
        points.append(_point(at, seconds, earned))
    step = -(-len(points) // MOST_POINTS)
    return [*points[: -1 : max(1, step)], *points[-1:]]


def _point(at: float, seconds: list[float], pay: Decimal | None) -> PacePoint:
    minutes = median(seconds) / 60
    return PacePoint(at=at, handed_in=len(seconds), median_minutes=minutes, hourly_pay=hourly_pay(pay, minutes))
