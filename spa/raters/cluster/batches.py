"""Open visits in batches: whole assignments, those that begin with the same item beside each other."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from spa.raters.stopping import RaterStopping
from spa.raters.summary import RatingSummary
from spa.raters.visits import RaterVisit, visit_states
from spa.records.assignment import Assignment
from spa.responses.store import Store

WINDOW = 512  # assignments that are put in another order at most


@dataclass(frozen=True, slots=True, kw_only=True)
class VisitBatch:
    """Visits that a worker answers in one task."""

    number: int
    visits: tuple[RaterVisit, ...]
    lost: int = 0  # times that a worker died, or lost its store, over it
    stopped: int = 0  # times that its share of the budget was used up
    counted: int = 0  # visits that were seen to be finished

    @property
    def again(self) -> bool:
        """Whether it was handed out before."""
        return self.lost + self.stopped > 0


class OpenBatches:
    """Batches of the visits that are open, made when they are wanted; those put back come first.

    A worker gets assignments that begin with the item of its last ones, whose prompts a model has in its cache; in a
    live study all come in the order of the draw. Visits that are completed, or not needed, are counted in ``summary``.
    """

    def __init__(
        self, store: Store, visits: Sequence[RaterVisit], summary: RatingSummary, stopping: RaterStopping | None
    ) -> None:
        self._store, self._visits, self._summary, self._stopping = store, visits, summary, stopping
        self._place = 0  # of the first visit that was not looked at
        self._window: dict[str, deque[list[RaterVisit]]] = {}  # open visits by assignment, by its first item
        self._items: dict[str, str] = {}  # where each worker is
        self._returned: deque[VisitBatch] = deque()
        self._batches = 0

    @property
    def left(self) -> int:
        """Visits that were not handed out, at most."""
        waiting = sum(len(visits) for group in self._window.values() for visits in group)
        waiting += sum(len(batch.visits) for batch in self._returned)
        return len(self._visits) - self._place + waiting

    def put_back(self, batch: VisitBatch) -> None:
        """Have a batch handed out again."""
        self._returned.append(batch)

    def take(self, most: int, worker: str) -> VisitBatch | None:
        """Return a batch of about ``most`` visits, one assignment at least; ``None`` where nothing is open."""
        while self._returned:
            batch = self._returned.popleft()
            if needed := self._needed(batch.visits):
                return replace(batch, visits=tuple(needed))
        taken: list[RaterVisit] = []
        while len(taken) < most:
            if not self._window and not self._fill():
                break
            item = self._item_for(worker)
            group = self._window[item]
            if taken and len(taken) + len(group[0]) > most:
                break
            taken += self._needed(group.popleft())
            if not group:
                del self._window[item]
        if not taken:
            return None
        self._batches += 1
        return VisitBatch(number=self._batches, visits=tuple(taken))

    def drop(self, outcome: str) -> None:
        """Count what was handed out and came back, and leave it for a rerun."""
        while self._returned:
            self._summary.unfinished[outcome] += len(self._returned.popleft().visits)

    def _item_for(self, worker: str) -> str:
        """Return the item that a worker is at, else one that no other is at, if there is any."""
        if (item := self._items.get(worker)) not in self._window:
            others = set(self._items.values())
            item = next((each for each in self._window if each not in others), next(iter(self._window)))
            self._items[worker] = item
        return str(item)

    def _needed(self, visits: Sequence[RaterVisit]) -> list[RaterVisit]:
        """Return the visits that a live study still needs, else all."""
        if self._stopping is None:
            return list(visits)
        needed = [visit for visit in visits if not self._stopping.is_enough(visit)]
        self._summary.not_needed += len(visits) - len(needed)
        return needed

    def _fill(self) -> bool:
        """Look at further visits until some are open; False where there are none."""
        while not self._window and self._place < len(self._visits):
            ways = sum(1 for _ in same_assignment(self._visits, self._place))
            chunk = self._visits[self._place : self._place + WINDOW * ways]
            opened: dict[str, list[RaterVisit]] = {}
            finished = 0
            for state in visit_states(self._store, chunk, lambda assignment_ids: None):
                if state.open:
                    opened.setdefault(state.visit.assignment_id, []).append(state.visit)
                finished += not state.open
            drawn = self._store.assignments.draws(list(opened), "llm") if self._stopping is None else {}
            for name, visits in opened.items():
                first = first_item(drawn[name][0]) if name in drawn else ""
                self._window.setdefault(first, deque()).append(visits)
            self._place += len(chunk)  # all at once: a store that goes away meanwhile is read again
            self._summary.finished_before += finished
        return bool(self._window)


def same_assignment(visits: Sequence[RaterVisit], place: int) -> Iterator[RaterVisit]:
    """Yield the visits of one assignment, which stand together."""
    name = visits[place].assignment_id
    while place < len(visits) and visits[place].assignment_id == name:
        yield visits[place]
        place += 1


def first_item(assignment: Assignment) -> str:
    """Return the item with which a form begins: prompts that begin alike are read from a model's cache.

    >>> first_item(Assignment(assignment_id="a1", number=0, blocks=()))
    ''
    """
    return next((shown.item_id for block in assignment.blocks for shown in block.shown), "")


def add_summary(total: RatingSummary, part: RatingSummary, batch: VisitBatch) -> VisitBatch:
    """Add the counts of a batch and return it as counted; what it finds finished when it is back was by this run."""
    for name in ("answered", "shared", "cut_prompts", "prompt_tokens", "completion_tokens"):
        setattr(total, name, getattr(total, name) + getattr(part, name))
    done = part.finished + part.finished_before
    total.finished += max(0, done - batch.counted) if batch.again else part.finished
    total.finished_before += 0 if batch.again else part.finished_before
    for name in ("missing", "outcomes"):
        getattr(total, name).update(getattr(part, name))
    total.notes += unknown(part.notes, total.notes)
    return replace(batch, counted=max(batch.counted, done))


def unknown(notes: Iterable[str], known: Sequence[str]) -> list[str]:
    """Return the notes that are not known yet."""
    return [note for note in notes if note not in known]
