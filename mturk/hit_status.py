"""How the HITs of a study stand: at the endpoint, in the store, and in the journal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from mturk import records
from mturk.collecting import APPROVED, SUBMITTED
from mturk.endpoints import MTurkEndpoint
from mturk.idempotent_calls import KIND
from mturk.replies import entries
from spa.journal import Journal
from spa.responses.store import Store

GONE = "Gone"  # no longer listed: disposed of, here or by the endpoint


@dataclass(frozen=True, slots=True, kw_only=True)
class HitStatus:
    """The counts of one moment."""

    hits: tuple[str, ...]
    places: int
    states: Mapping[str, int]  # HITStatus -> HITs
    available: int
    pending: int
    collected: Mapping[str, int]  # AssignmentStatus -> submissions
    uncollected: int
    problems: int  # submissions that wait for review and have one
    earliest_auto_approval: float | None  # seconds since 1970
    spent: Decimal  # dollars: rewards and fees of what is approved
    unfinished: int  # calls of which nobody knows whether they took effect

    def facts(self) -> dict[str, Any]:
        """Return everything as JSON knows it."""
        return {
            "hits": len(self.hits),
            "places": self.places,
            "states": dict(self.states),
            "available": self.available,
            "pending": self.pending,
            "collected": dict(self.collected),
            "uncollected": self.uncollected,
            "problems": self.problems,
            "earliest_auto_approval": self.earliest_auto_approval,
            "currency": "USD",
            "spent": str(self.spent),
            "unfinished_calls": self.unfinished,
        }


def look(store: Store, endpoint: MTurkEndpoint) -> HitStatus:
    """Ask the endpoint for the HITs published there, and set beside it what is known here."""
    own = records.all_hits(store, endpoint.origin)
    listed = {hit["HITId"]: hit for hit in entries(endpoint.reading, "list_hits", "HITs")}
    here = [listed[hit.hit_id] for hit in own if hit.hit_id in listed]
    counted = records.counts(store, endpoint.origin)
    available = sum(int(hit["NumberOfAssignmentsAvailable"]) for hit in here)
    pending = sum(int(hit["NumberOfAssignmentsPending"]) for hit in here)
    places = sum(int(hit["MaxAssignments"]) for hit in here)
    collected_here = sum(sum(counted.get(hit["HITId"], {}).values()) for hit in here)
    waiting = list(records.all_works(store, endpoint.origin, statuses=[SUBMITTED]))
    prices = {hit.hit_id: Decimal(hit.reward) + Decimal(hit.fee) for hit in own}
    return HitStatus(
        hits=tuple(hit.hit_id for hit in own),
        places=sum(hit.max_assignments for hit in own),
        states=Counter(str(listed[hit.hit_id]["HITStatus"]) if hit.hit_id in listed else GONE for hit in own),
        available=available,
        pending=pending,
        collected=Counter(
            {status: sum(by.get(status, 0) for by in counted.values()) for by in counted.values() for status in by}
        ),
        uncollected=max(places - available - pending - collected_here, 0),
        problems=sum(work.problem is not None for work in waiting),
        earliest_auto_approval=min(
            (work.auto_approval_at for work in waiting if work.auto_approval_at is not None), default=None
        ),
        spent=sum((prices[hit_id] * by.get(APPROVED, 0) for hit_id, by in counted.items()), Decimal("0.00")),
        unfinished=len(Journal(store).unfinished(KIND)),
    )
