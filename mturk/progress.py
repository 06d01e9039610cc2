"""How the HITs of a study stand at the endpoint, in the store and in the journal; a live study's next wave."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from mturk import records
from mturk.collecting import APPROVED, SUBMITTED
from mturk.endpoints import MTurkEndpoint
from mturk.idempotent_calls import KIND
from mturk.publishing import PublishingPlan, make_plan, offered_places
from mturk.replies import entries
from mturk.settings import MTurkTable
from spa.errors import PlatformError
from spa.journal import Journal
from spa.live import LiveState, narrow
from spa.platforms.waves import Wave, check_live, next_wave
from spa.responses.store import Store
from spa.study.stopping import planned_places

if TYPE_CHECKING:
    from spa.commands.workspace import Workspace


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedPlaces:
    """The places of a study's HITs."""

    completed: int
    at_work: int
    free: int
    open_hits: tuple[records.PublishedHit, ...]  # with free places

    @property
    def places(self) -> int:
        """All of them, but for those that expired before anybody took them."""
        return self.completed + self.at_work + self.free


@dataclass(frozen=True, slots=True, kw_only=True)
class HitRecruitment:
    """Where a live study stands at an endpoint."""

    places: PublishedPlaces
    state: LiveState | None
    wave: Wave
    plan: PublishingPlan  # of the wave

    @property
    def over(self) -> bool:
        """Whether nothing is left to wait for: nobody else is needed or may come, and nobody is at work."""
        return self.wave.reason in ("enough", "most") and not self.places.at_work


def look(workspace: Workspace, settings: MTurkTable, endpoint: MTurkEndpoint) -> HitRecruitment:
    """Return where a live study stands, and plan its next wave; what was handed in must be collected.

    Decided pairs are left out of the forms that no HIT holds yet.

    Raises
    ------
    StudyError
        If the study is of fixed size.
    PlatformError
        If no HIT is published.
    """
    check_live(workspace.study)
    found = published_places(workspace.store, endpoint)
    if not found.places:
        raise PlatformError(f"{endpoint.origin}: expected HITs of this study, got none; run `spa mturk publish`")
    state = narrow(workspace.study, workspace.store)
    wave = next_wave(
        state,
        wave=workspace.study.stopping.wave,
        most=planned_places(workspace.study),
        places=found.places,
        completed=found.completed,
        at_work=found.at_work,
    )
    offered = offered_places(records.all_hits(workspace.store, endpoint.origin))
    plan = make_plan(workspace, settings, endpoint, annotators=offered + wave.places)
    return HitRecruitment(places=found, state=state, wave=wave, plan=plan)


def published_places(store: Store, endpoint: MTurkEndpoint) -> PublishedPlaces:
    """Count the places of a study's HITs, as the endpoint lists them."""
    now = time.time()
    listed = {hit["HITId"]: hit for hit in entries(endpoint.reading, "list_hits", "HITs")}
    collected = records.counts(store, endpoint.origin)
    completed = at_work = free = 0
    open_hits = []
    for hit in records.all_hits(store, endpoint.origin):
        seen = listed.get(hit.hit_id)
        if seen is None:  # disposed of
            completed += sum(collected.get(hit.hit_id, {}).values())
            continue
        available, pending = (int(seen[f"NumberOfAssignments{name}"]) for name in ("Available", "Pending"))
        at_work += pending
        completed += int(seen["MaxAssignments"]) - available - pending
        if available and seen["Expiration"].timestamp() > now:
            free += available
            open_hits.append(hit)
    return PublishedPlaces(completed=completed, at_work=at_work, free=free, open_hits=tuple(open_hits))


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


def hit_status_of(store: Store, endpoint: MTurkEndpoint) -> HitStatus:
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
