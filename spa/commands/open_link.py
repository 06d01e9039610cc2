"""What ``spa serve`` says of the open link: where it is, or why nobody could come in by it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spa.commands.workspace import Workspace


@dataclass(frozen=True, slots=True, kw_only=True)
class Doors:
    """What is left of the places of a study for who comes next."""

    places: int
    free: int
    completed: int  # of those taken; the others are in progress
    unused_links: int  # personal ones
    reserved: int  # of the free places, for these
    decided: bool  # whether a live study needs nobody else

    @property
    def closed(self) -> str | None:
        """Why nobody could come in by the open link; ``None`` if somebody can."""
        if self.decided:
            return "every pair is decided"
        if self.free == 0:
            working = self.places - self.completed
            may = " and may be given up" * (working > 0)
            taken = f"all {self.places} places are taken ({self.completed} completed, {working} in progress{may})"
            return f"{taken}; `spa build STUDY --annotators N` makes more"
        return self._kept if self.reserved >= self.free else None

    @property
    def _kept(self) -> str:
        return f"{self.reserved} places are reserved for personal links; --reserve N changes that"

    def link_lines(self, public_url: str, *, links_only: bool) -> list[str]:
        """Return where the open link is and what is reserved, or why there is none."""
        closed = "personal links only" if links_only else self.closed
        if closed is not None:
            return [f"open link: closed, {closed}"]
        return [f"open link: {public_url}/", *([self._kept] if self.reserved > 0 else [])]

    def personal_line(self, links: int, path: object) -> str:
        """Return how many personal links are in a file, and whether there is no place for the unused ones."""
        useless = self.unused_links > 0 and (self.decided or self.free == 0)
        why = f"; no place is left for {self.unused_links} unused ones" if useless else ""
        return f"personal links: {links} in {path}{why}"


def doors_of(workspace: Workspace, reserved: int) -> Doors:
    """Return what is left of the places of a study, of which some are reserved for personal links."""
    from spa.live import live_state
    from spa.responses.capacity import count_free
    from spa.responses.rehearsal import is_rehearsal
    from spa.responses.tokens import count_personal

    store, per_assignment = workspace.store, workspace.study.people.per_assignment
    store.visits.release_overdue(time.time())
    places = len(store.assignments) * per_assignment
    with store.reading() as connection:
        free = count_free(connection, per_assignment)
        used, unused = count_personal(connection)
    completed = 0
    if free == 0:
        completed = sum(lease.finished and lease.seat is not None for lease in store.visits.of_people())
    state = live_state(workspace.study, store, "simulated" if is_rehearsal(store) else "human")
    return Doors(
        places=places,
        free=free,
        completed=completed,
        unused_links=unused,
        reserved=max(min(unused, reserved - used), 0),
        decided=state is not None and state.enough,
    )
