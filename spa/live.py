"""Live studies: which pairs are decided so far, what is asked of the next annotator, and when it is enough.

The analysis decides; a package that does registers a :class:`LiveAnalysis` under ``spa.live``. What it returns follows
from the answers in the store alone. Who lets people in follows it with each answer (:class:`LiveFollower`), and reads
the store from its beginning when the process starts: a killed one loses nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import EntryPoints, entry_points
from threading import Lock
from typing import TYPE_CHECKING, Literal, Protocol, TypeVar

from spa.errors import StudyError

if TYPE_CHECKING:
    from spa.records.study import Deciding, Study
    from spa.responses.store import Store
    from spa.responses.tidy_tables import Tables
    from spa.study.narrowing import CountedUpTo, DealtPair, Pair

GROUP = "spa.live"
Decision = Literal["x", "y", "equal", "futile"]  # x or y is better; equal within the margin; not to be decided


class RankedSystem(Protocol):
    """A system of a live ranking, now or in results."""

    @property
    def score(self) -> float | None:
        """Share won."""

    @property
    def leads(self) -> bool:
        """Whether it is among the best."""

    @property
    def rank_low(self) -> int | None:
        """Best rank that the bounds allow."""

    @property
    def rank_high(self) -> int | None:
        """Worst rank that the bounds allow."""


Ranked = TypeVar("Ranked", bound=RankedSystem)


@dataclass(frozen=True, slots=True, kw_only=True)
class LivePair:
    """What is known of one pair by now. Means and bounds are on [0, 1]; above 0.5 system_x is better."""

    criterion: str
    exposure: int | None
    system_x: str
    system_y: str
    n: int  # units that answered before it was decided
    mean: float | None  # of these; biased where the decision ended the asking
    low: float  # of the confidence sequence
    high: float
    decision: Decision | None = None  # None: open
    decided_after: int | None = None  # units of the group, when the decision fell
    expected_more: float | None = None  # units, until it may be decided
    n_asked: int = 0  # units that answered at all, also after the decision
    mean_asked: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveSystem:
    """What is known by now of one of many systems, of which the best few or the order are looked for."""

    system: str
    n: int  # annotators whose choices count for it
    score: float | None  # share won against systems drawn at random
    low: float  # bounds of all systems hold together at every moment
    high: float
    leads: bool  # whether it is among the best so far; of an order, the first
    rank_low: int  # ranks that the bounds allow, 1 = best
    rank_high: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditProgress:
    """How far an audit has come whose forms are drawn for people in waves."""

    wave: int
    passed: int  # forms that were drawn for people or passed over
    forms: int
    drawn: int  # of those passed, forms that people are given
    completed: int
    rated: int  # of all forms, those that the rater has answered
    by_doubt: bool  # whether the last wave was drawn by the rater's doubt

    @property
    def share(self) -> float:
        """Of the forms passed, the share drawn for people."""
        return self.drawn / self.passed if self.passed else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveState:
    """One group's answers so far: people, simulated annotators, or one LLM."""

    group: str
    answers: Deciding
    units: int  # annotators whose answers count; of an LLM its assignments
    excluded: int
    most: int
    pairs: tuple[LivePair, ...] = ()
    systems: tuple[LiveSystem, ...] = ()  # in the place of pairs, where the best few or the order are looked for
    systems_decided: bool = False  # whether the best few, or the order, are decided
    waiting: int = 0  # completed, and counted once those who began before have completed or had their time
    late: int = 0  # completed too late to count
    next_pairs: tuple[DealtPair, ...] = ()  # to be asked in the place of pairs drawn
    audit: AuditProgress | None = None  # in an audit: ``units`` are people whose answers count

    @property
    def all_decided(self) -> bool:
        """Whether every pair is decided, or who the best few are, or the order."""
        return self.systems_decided or (bool(self.pairs) and all(pair.decision is not None for pair in self.pairs))

    @property
    def enough(self) -> bool:
        """Whether nobody else needs to be asked."""
        if self.audit is not None:
            at_end = self.audit.drawn == self.audit.completed and self.audit.passed == self.audit.forms
            return self.all_decided or at_end or self.audit.completed >= self.most
        return self.units >= self.most or self.all_decided

    @property
    def outcome(self) -> str:
        """What is decided, in words."""
        if self.audit is not None and not self.pairs:
            return f"wave {self.audit.wave} of the audit"
        if self.systems:
            return f"the ranking of the systems is {'' if self.systems_decided else 'not '}decided"
        decided = sum(pair.decision is not None for pair in self.pairs)
        return f"{decided} of {len(self.pairs)} comparisons are decided"

    @property
    def decided(self) -> tuple[Pair, ...]:
        """Pairs of systems that are decided on every criterion and at every exposure."""
        return decided_pairs((pair.system_x, pair.system_y, pair.decision is None) for pair in self.pairs)

    @property
    def decisions(self) -> LiveDecisions:
        """What of it the asking goes by."""
        return LiveDecisions(
            group=self.group,
            units=self.units,
            most=self.most,
            all_decided=self.all_decided,
            decided=() if self.audit else self.decided,  # an audit's forms stay those that its rater answered
            next_pairs=self.next_pairs,
            over=self.audit is not None and self.enough,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveDecisions:
    """What the asking goes by: whether anybody else is asked, and about what. A state without bounds and means."""

    group: str
    units: int
    most: int
    all_decided: bool
    decided: tuple[Pair, ...] = ()
    next_pairs: tuple[DealtPair, ...] = ()
    counted: CountedUpTo | None = field(default=None, compare=False)  # None: not followed
    over: bool = False  # whether an audit has come to its end otherwise

    @property
    def enough(self) -> bool:
        """Whether nobody else needs to be asked."""
        return self.over or self.units >= self.most or self.all_decided


class LiveFollower(Protocol):
    """Follows the decisions on one group."""

    def decisions(self, now: float) -> LiveDecisions | None:
        """Return what is decided ``now``, the same object while nobody else counts; ``None`` while nobody does."""


class LiveAnalysis(Protocol):
    """What a package registers that decides."""

    def __call__(
        self, study: Study, store: Store, exported: Tables | None = None, *, now: float | None = None
    ) -> Iterable[LiveState]:
        """Return the state of each group that has answered."""

    def follow(self, study: Study, store: Store, group: str) -> LiveFollower:
        """Return what follows the decisions on one group, in one process."""

    def draw_due_wave(self, study: Study, store: Store) -> bool:
        """Draw the next wave of an audit if the one before has come in; return whether this call did."""


def decided_pairs(pairs: Iterable[tuple[str, str, bool]]) -> tuple[Pair, ...]:
    """Return the pairs that are never open, from system_x, system_y, and whether a comparison of the two is open."""
    known: dict[Pair, bool] = {}
    for x, y, is_open in pairs:
        known[x, y] = known.get((x, y), False) or is_open
    return tuple(pair for pair, is_open in known.items() if not is_open)


def decision_words(decision: Decision | None, x: str, y: str, within: str) -> str:
    """Return what is decided of a pair of names; ``within``: the margin, as :func:`margin_words` says it."""
    match decision:
        case "x" | "y":
            return f"{x if decision == 'x' else y} is better"
        case "equal":
            return f"equal within {within}"
        case "futile":
            return "futile: a decision was unlikely"
    return "open"


def margin_words(margin: float | None, scale_width: float | None) -> str:
    """Return the margin as "10 percentage points of 50%", or in points of a rating scale of that width."""
    if scale_width is not None:
        return f"{2 * (margin or 0.0) * scale_width:g} points"
    return f"{100 * (margin or 0.0):g} percentage points of 50%"


def compared_with(margin: float | None) -> tuple[float, ...]:
    """Return the means that a bound is compared with: no difference, and the ends of the margin."""
    return (0.5,) if margin is None else (0.5 - margin, 0.5, 0.5 + margin)


def ranked(systems: Iterable[Ranked]) -> list[Ranked]:
    """Return systems by their share of wins, the leaders first."""
    return sorted(systems, key=lambda row: (not row.leads, -(row.score or 0)))


def rank_words(row: RankedSystem) -> str:
    """Return the ranks that a system may have: "3" or "3 to 5"."""
    return str(row.rank_low) if row.rank_low == row.rank_high else f"{row.rank_low} to {row.rank_high}"


def is_live(study: Study) -> bool:
    """Return whether a study ends when its pairs are decided."""
    return study.stopping.rule == "when_decided"


def in_waves(study: Study) -> bool:
    """Return whether places are opened wave by wave: in live studies, and in audits that draw people's forms so."""
    return is_live(study) or (study.audit is not None and study.audit.in_waves)


def draw_due_wave(study: Study, store: Store) -> bool:
    """Draw the next wave of an audit if the one before has come in; return whether this call did."""
    if study.audit is None or not study.audit.in_waves:
        return False
    return any([one.draw_due_wave(study, store) for one in _analyses()])


def live_states(
    study: Study, store: Store, exported: Tables | None = None, *, now: float | None = None
) -> tuple[LiveState, ...]:
    """Return what is decided by now, for each group that has answered; nothing in a study of fixed size.

    Of an audit in waves the state of people, answered or not.

    ``exported``: all tables of the store, where somebody has them already. ``now``: in seconds since 1970; by default
    the time of the machine.
    """
    if not in_waves(study):
        return ()
    at = time.time() if now is None else now
    return tuple(state for analysis in _analyses() for state in analysis(study, store, exported, now=at))


def _analyses() -> list[LiveAnalysis]:
    points = _deciding()
    if not points:
        raise StudyError('[stopping] rule = "when_decided" needs the analysis package, which is not installed')
    return [point.load() for point in points]


@cache
def _deciding() -> EntryPoints:
    """Look up once who decides: that reads a file of every package that is installed."""
    return entry_points(group=GROUP)


def live_state(study: Study, store: Store, group: str, *, now: float | None = None) -> LiveState | None:
    """Return the state of one group; ``None`` in a study of fixed size, or while nobody of it counts."""
    states = live_states(study, store) if now is None else live_states(study, store, now=now)
    return next((state for state in states if state.group == group), None)


def narrow(study: Study, store: Store, group: str = "human", *, now: float | None = None) -> LiveState | None:
    """Ask in the assignments that nobody has begun only what is open; returns the state that says what that is."""
    draw_due_wave(study, store)
    state = live_state(study, store, group, now=now)
    if state is not None:
        _ask_what_is_open(study, store, state.decisions)
    return state


def _ask_what_is_open(study: Study, store: Store, found: LiveDecisions) -> None:
    if found.enough:
        return
    if found.next_pairs:
        store.assignments.deal(found.next_pairs, each=study.items_per_annotator, counted=found.counted)
    elif found.decided:
        store.assignments.leave_out(found.decided, counted=found.counted)


class LiveProgress:
    """The decisions on one group, followed from answer to answer in one process; safe for several threads.

    Several processes agree: each reads what has counted by now from the store, and who knows less changes nothing.
    """

    def __init__(self, study: Study, store: Store, group: str, *, clock: Callable[[], float] | None = None) -> None:
        self.decisions: LiveDecisions | None = None
        self._study, self._store, self._group = study, store, group
        self._clock = time.time if clock is None else clock
        self._followers: list[LiveFollower] | None = None
        self._left_out: tuple[tuple[Pair, ...], int] | None = None  # and of how many assignments
        self._lock = Lock()

    @property
    def enough(self) -> bool:
        """Whether nobody else needs to be asked, as of the last :meth:`refresh`."""
        return self.decisions is not None and self.decisions.enough

    @property
    def more_to_come(self) -> bool:
        """Whether an audit will draw another wave, as of the last :meth:`refresh`."""
        audit = self._study.audit
        return audit is not None and audit.in_waves and self.decisions is not None and not self.enough

    def refresh(self) -> LiveDecisions | None:
        """Take note of what was completed, and leave what is decided out of what nobody has begun.

        In an audit draw the next wave, if the one before has come in.
        """
        if in_waves(self._study):
            with self._lock:
                if self._followers is None:
                    analyses = _analyses()
                    self._followers = [one.follow(self._study, self._store, self._group) for one in analyses]
                now = self._clock()
                each = (follower.decisions(now) for follower in self._followers)
                found = next((one for one in each if one is not None), None)
                if found is not None and found is not self.decisions:
                    self._narrow(found)
                self.decisions = found
        return self.decisions

    def _narrow(self, found: LiveDecisions) -> None:
        """Change what is to be asked, unless it was left out of all assignments before."""
        if found.enough or not (found.decided or found.next_pairs):
            return
        pairs = None if found.next_pairs else (found.decided, len(self._store.assignments))
        if pairs is None or pairs != self._left_out:
            _ask_what_is_open(self._study, self._store, found)
            self._left_out = pairs
