"""A live study goes on: what was handed in is collected, and the HITs of the next wave are planned."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mturk import records
from mturk.publishing import PublishingPlan, make_plan, offered_places
from mturk.replies import entries
from mturk.settings import MTurkTable
from spa.errors import PlatformError
from spa.live import LiveState, narrow
from spa.platforms.waves import Wave, check_live, next_wave
from spa.study.stopping import planned_places

if TYPE_CHECKING:
    from mturk.endpoints import MTurkEndpoint
    from spa.commands.workspace import Workspace
    from spa.responses.store import Store


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
