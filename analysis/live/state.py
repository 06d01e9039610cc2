"""What the answers in a store have decided so far, and what every look at them would have found."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from analysis.live.audit_follower import AuditFollower
from analysis.live.audited import audit_state, audited_groups, draw_due_wave
from analysis.live.follower import AnswerFollower
from analysis.live.hypotheses import stopping_rule
from analysis.live.next_pairs import open_pairs, systems_state
from analysis.live.unit_matrix import UnitMatrix, unit_matrices
from analysis.sequential.monitor import HypothesisState, Monitor
from spa.live import LiveFollower, LivePair, LiveState, is_live
from spa.records.study import Study
from spa.responses.store import Store
from spa.responses.tidy_tables import Tables
from spa.study.stopping import planned_annotators, ranks_systems

MOST_POINTS = 60  # of one history; more cannot be told apart on a small chart


@dataclass(frozen=True, slots=True, kw_only=True)
class LivePoint:
    """What was known of one pair after so many units of its group; fields as those of LivePair."""

    units: int
    n: int
    mean: float | None
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveHistory:
    """A group's state, and how the confidence sequence of each of its pairs came there.

    Attributes
    ----------
    paths : tuple of tuple of LivePoint
        One for each of ``state.pairs``, until its decision; none where the best few are looked for.
    """

    state: LiveState
    paths: tuple[tuple[LivePoint, ...], ...]


@dataclass(frozen=True, slots=True)
class GroupStates:
    """What is registered under ``spa.live``: states of a store, and what follows one group of it."""

    def __call__(
        self, study: Study, store: Store, exported: Tables | None = None, *, now: float | None = None
    ) -> list[LiveState]:
        """Return the state of each group that has answered; who counts, and in which order: :func:`unit_matrices`."""
        if not is_live(study):
            return [audit_state(study, store, group) for group in audited_groups(store)]
        return states_of(study, store, unit_matrices(study, store, exported=exported, now=now))

    def follow(self, study: Study, store: Store, group: str) -> LiveFollower:
        """Return what follows the decisions on one group."""
        if not is_live(study):
            return AuditFollower(study, store, group)
        return AnswerFollower(study, store, group)

    def draw_due_wave(self, study: Study, store: Store) -> bool:
        """Draw the next wave of an audit if the one before has come in; return whether this call did."""
        return draw_due_wave(study, store)


live_states = GroupStates()


def states_of(study: Study, store: Store, matrices: Iterable[UnitMatrix]) -> list[LiveState]:
    """Return the states of groups from what their units said."""
    if ranks_systems(study):
        return [systems_state(study, matrix, store.assignments.dealt(matrix.respondents)) for matrix in matrices]
    return [_state(study, matrix, dict(_last(study, matrix))) for matrix in matrices]


def live_history(study: Study, store: Store, group: str) -> LiveHistory | None:
    """Return a group's state with the confidence sequences after its units; ``None`` while nobody has answered.

    Parameters
    ----------
    study, store : Study, Store
        A live study, or an audit in waves, whose intervals are those of now alone.
    group : str
        As :class:`~spa.live.LiveState` names it.

    Returns
    -------
    LiveHistory
        At most :data:`MOST_POINTS` points a pair; the last one before a decision is that of the decision.
    """
    if not is_live(study):
        return LiveHistory(state=audit_state(study, store, group), paths=())
    found = unit_matrices(study, store, group)
    if not found:
        return None
    (matrix,) = found
    if ranks_systems(study):
        dealt = store.assignments.dealt(matrix.respondents)
        return LiveHistory(state=systems_state(study, matrix, dealt), paths=())
    looks = sorted(set(np.linspace(1, len(matrix.units), MOST_POINTS).round().astype(int).tolist()))
    paths: dict[int, list[LivePoint]] = {place: [] for place in range(len(matrix.hypotheses))}
    last: dict[int, HypothesisState] = {}
    for units, place, state in _replayed(study, matrix, looks):
        fell = state.decided_at
        if fell is None or not paths[place] or paths[place][-1].units < fell:
            at = units if fell is None else fell
            paths[place].append(LivePoint(units=at, n=state.n, mean=state.mean, low=state.low, high=state.high))
        last[place] = state
    return LiveHistory(
        state=_state(study, matrix, last), paths=tuple(tuple(paths[place]) for place in range(len(paths)))
    )


def _last(study: Study, matrix: UnitMatrix) -> Iterator[tuple[int, HypothesisState]]:
    for _, place, state in _replayed(study, matrix, [len(matrix.units)]):
        yield place, state


def _replayed(study: Study, matrix: UnitMatrix, looks: Iterable[int]) -> Iterator[tuple[int, int, HypothesisState]]:
    """Yield units so far, place of the hypothesis and its state, after the given numbers of units."""
    shown, rule = set(looks), stopping_rule(study)
    if rule is None:
        raise ValueError("expected a live study, got one of fixed size")
    for family in matrix.families:
        monitor = Monitor.start(rule, len(family))
        for units in range(len(matrix.units) + 1):
            if units:
                monitor = monitor.after(matrix.values[units - 1, family])
            if units in shown:
                for place, state in zip(family, monitor.states, strict=True):
                    yield units, place, state


def _state(study: Study, matrix: UnitMatrix, states: dict[int, HypothesisState]) -> LiveState:
    asked = np.isfinite(matrix.values)
    pairs = []
    for place, (criterion, exposure, x, y) in enumerate(matrix.hypotheses):
        state, column = states[place], matrix.values[asked[:, place], place]
        pairs.append(
            LivePair(
                criterion=criterion,
                exposure=exposure,
                system_x=x,
                system_y=y,
                n=state.n,
                mean=state.mean,
                low=state.low,
                high=state.high,
                decision=state.decision,
                decided_after=state.decided_at,
                expected_more=state.expected_more,
                n_asked=len(column),
                mean_asked=float(column.mean()) if len(column) else None,
            )
        )
    left = [(pair.system_x, pair.system_y) for pair in pairs if pair.decision is None]
    return LiveState(
        group=matrix.group,
        answers=matrix.answers,
        units=len(matrix.units),
        excluded=matrix.excluded,
        waiting=matrix.waiting,
        late=matrix.late,
        most=planned_annotators(study),
        pairs=tuple(pairs),
        next_pairs=tuple(open_pairs(study, left, of=len(pairs), seed=(study.seed, len(matrix.units)))),
    )
