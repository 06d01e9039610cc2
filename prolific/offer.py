"""What a study offers on Prolific: places, minutes and reward, with every default filled in."""

from __future__ import annotations

import math
from dataclasses import dataclass

from prolific.api.money import cents
from prolific.settings import ProlificTable
from spa.errors import StudyError
from spa.live import in_waves
from spa.platforms.waves import next_wave
from spa.records.study import Study
from spa.study.audit import wave_size
from spa.study.stopping import planned_places

LONGEST_MINUTES = 1439  # under a day


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionOffer:
    """What one session of a study offers."""

    title: str
    places: int  # published with; of a live study those of the first wave
    most: int  # places in all, at most
    minutes: float  # estimated
    maximum_minutes: float
    reward: int  # cents, for one session
    currency: str
    sessions: int

    @property
    def hourly(self) -> float:
        """Return the hourly pay, in cents, for the estimated duration."""
        return self.reward * 60 / self.minutes


def least_maximum(minutes: float) -> float:
    """Return the shortest time limit that Prolific allows for an estimate, in minutes.

    >>> round(least_maximum(10), 1)
    28.3
    """
    return 2 + 2 * minutes + 2 * math.sqrt(minutes)


def offer_of(study: Study, table: ProlificTable, file: str) -> SessionOffer:
    """Return what a study offers.

    Raises
    ------
    StudyError
        If reward or minutes are missing, or the time limit is too long.
    """
    problems = []
    pay = table.reward or study.people.pay
    minutes = table.minutes or study.people.minutes
    if not pay:
        problems.append(
            "expected what a completed submission is paid in [prolific] reward or [people] pay, got nothing"
        )
    elif pay * 100 != (pay * 100).to_integral_value():
        problems.append(f"[people] pay: expected whole cents, got {pay}")
    if not minutes or minutes < 1:
        problems.append(f"expected at least 1 in [prolific] minutes or [people] minutes, got {minutes or 'nothing'}")
    if minutes and minutes >= 1:
        limit = table.maximum_minutes or math.ceil(least_maximum(minutes))
        if limit > LONGEST_MINUTES:
            problems.append(
                f"[prolific] minutes: expected a visit that ends within a day, got a limit of {limit:g} minutes"
            )
    if in_waves(study) and table.taskflow:
        problems.append("[prolific] taskflow: expected false in a live study, which opens places in waves, got true")
    if problems or not pay or not minutes:
        raise StudyError(*(f"{file}: {problem}" for problem in problems))
    places = most = table.places or study.people.annotators
    if in_waves(study):
        most = table.places or planned_places(study)
        places = next_wave(None, wave=wave_size(study), most=most, places=0).places
    return SessionOffer(
        title=table.title or study.title,
        places=places,
        most=most,
        minutes=minutes,
        maximum_minutes=limit,
        reward=cents(pay),
        currency=study.people.currency,
        sessions=study.people.sessions,
    )
