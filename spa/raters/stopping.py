"""When a rater of a live study has answered enough: each of its groups by itself, its unit the assignment."""

from __future__ import annotations

from spa import live
from spa.raters.visits import RaterVisit
from spa.records.study import Study
from spa.responses.store import Store


class RaterStopping:
    """Which groups of a rater have answered enough, looked at after each wave of finished visits."""

    def __init__(self, study: Study, store: Store) -> None:
        self.wave = study.stopping.wave
        self._study, self._store = study, store
        self._enough: dict[str, live.LiveState] = {}
        self.look_again()

    def count_visit(self) -> None:
        """Count a visit whose answers are on disk."""
        self._finished += 1

    def look_again(self) -> None:
        """Look at what is decided before the next answer to :meth:`is_enough`."""
        self._finished = self.wave

    def is_enough(self, visit: RaterVisit) -> bool:
        """Return whether the group of a visit needs no further answers, as of the last look."""
        if self._finished >= self.wave:
            self._finished = 0
            states = live.live_states(self._study, self._store)
            self._enough = {state.group: state for state in states if state.enough}
        return visit.asked.name in self._enough

    def notes(self) -> list[str]:
        """Return a line for each group that is not asked any more."""
        return [
            f"{name}: {state.outcome} after {state.units} assignments, which is enough; --all asks the rest too"
            for name, state in self._enough.items()
        ]


def stopping_of(study: Study, store: Store) -> RaterStopping | None:
    """Return what stops the raters of a study; ``None`` in a study of fixed size."""
    return RaterStopping(study, store) if live.is_live(study) else None
