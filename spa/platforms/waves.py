"""Waves of a live study or an audit: how many places a platform opens, and when, while answers are needed."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from spa import live
from spa.errors import SpaError, StudyError
from spa.live import LiveState
from spa.records.study import Study
from spa.study.audit import wave_size
from spa.study.stopping import planned_places

if TYPE_CHECKING:
    from spa.responses.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class Wave:
    """The number of places to open now, and the reason.

    ``reason`` is "open" (``places`` are to be opened), "enough" (no further answers are needed), "under way" (open
    places are still free or being worked on), or "most" (no more places may be opened).
    """

    places: int
    reason: Literal["open", "enough", "under way", "most"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Recruitment:
    """The places of a live study on a platform, what is decided, and the next wave."""

    places: int  # opened so far, without those that expired before anybody took them
    completed: int
    at_work: int
    free: int
    state: LiveState | None  # None while nobody has answered
    wave: Wave

    @property
    def over(self) -> bool:
        """Whether recruitment has ended: nobody else is needed or may come, and nobody is at work."""
        return self.wave.reason in ("enough", "most") and not self.at_work

    def counts(self) -> dict[str, int]:
        """Return the places by their state."""
        return {"places": self.places, "completed": self.completed, "at_work": self.at_work, "free": self.free}

    def lines(self) -> tuple[str, str]:
        """Return the places by their state, and what follows, as text."""
        places = f"{self.places} places, {self.completed} submitted, {self.at_work} in progress, {self.free} free"
        return places, f"  {describe_wave(self.state, self.wave)}"


def next_wave(
    state: LiveState | None, *, wave: int, most: int, places: int, completed: int = 0, at_work: int = 0
) -> Wave:
    """Return how many places to open now: a wave of them, where ``state`` leaves anything to ask.

    A wave is opened once every place is taken and at most half a wave of people are at work: nobody waits for the
    slowest, and no more than a wave of people are asked whose answers are not known yet. The platform may open
    ``most`` places in all, also in the place of people who are excluded. ``places`` were opened so far, less those
    that nobody can take any more; of these, ``completed`` are, and ``at_work`` are held by people who may still
    complete them. Of an audit those forms are offered that were drawn, and again where somebody submitted no answers.
    """
    if state is not None and state.enough:
        return Wave(places=0, reason="enough")
    if state is not None and state.audit is not None:  # a place for each form that is drawn and not answered
        waiting = state.audit.drawn - state.audit.completed
        more = min(waiting - max(places - completed, at_work), most - places)
        if more > 0:
            return Wave(places=more, reason="open")
        return Wave(places=0, reason="most" if places >= most and not at_work else "under way")
    if completed + at_work < places or 2 * at_work > wave:
        return Wave(places=0, reason="under way")
    if places >= most:
        return Wave(places=0, reason="under way" if at_work else "most")
    needed = most if state is None else state.most - state.units - state.waiting - at_work
    more = min(wave - at_work, most - places, needed)
    return Wave(places=more, reason="open") if more > 0 else Wave(places=0, reason="under way")


def room_for(study: Study, store: Store) -> int:
    """Return how many people a store has assignments for; of an audit those count whose wave is yet to be drawn."""
    if study.audit is not None and study.audit.in_waves and len(store.assignments) >= study.audit.forms:
        return planned_places(study)
    return store.assignments.for_people * study.people.per_assignment


def first_wave(study: Study, store: Store, *, most: int) -> int:
    """Return how many places a study in waves is published with; of an audit no more than forms are drawn."""
    places = next_wave(None, wave=wave_size(study), most=most, places=0).places
    return places if study.audit is None else min(places, store.assignments.for_people)


def describe_wave(state: LiveState | None, wave: Wave) -> str:
    """Describe in one line what is decided, and what follows for the places."""
    decided = "no answers yet" if state is None else f"{state.outcome} after {state.units} annotators"
    gone = f", {state.excluded} of them by people who are excluded" if state is not None and state.excluded else ""
    follows = {
        "open": f"next wave: {wave.places} places",
        "enough": "no further places are needed",
        "under way": "open places are still free or in progress",
        "most": f"all planned places are completed{gone}, so none may be opened; raise [people] annotators to continue",
    }
    return f"{decided}; {follows[wave.reason]}"


def repeat_until_over(
    step: Callable[[], bool],
    *,
    every: float | None,
    passing: tuple[type[SpaError], ...],
    announce: Callable[[str], None],
    sleep: Callable[[float], None] = time.sleep,
) -> bool:
    """Call ``step`` once, or every so many seconds until it returns that the study has ended; return whether it has.

    After the first success, ``passing`` (transient) errors are announced, and ``step`` is called again.
    """
    seen = False
    while True:
        try:
            over = step()
            seen = True
        except passing as error:
            if every is None or not seen:
                raise
            over = False
            announce(f"{error}; trying again in {every:g} seconds")
        if every is None or over:
            return over
        sleep(every)


def people_state(study: Study, store: Store, *, rehearsed: bool = False) -> LiveState | None:
    """Return the live state of the platforms' annotators: people, or simulated ones in a rehearsal."""
    groups = ("human", "simulated") if rehearsed else ("human",)
    states = live.live_states(study, store)
    return next((state for group in groups for state in states if state.group == group), None)


def check_live(study: Study) -> None:
    """Refuse a study of fixed size, which has no waves."""
    if not live.in_waves(study):
        raise StudyError(
            '[stopping] rule: expected "when_decided", got "fixed"; a fixed study is published whole, not in waves'
        )
