"""Progress of a study's HITs at the endpoint, in the store and in the journal; a live study's next wave."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

from mturk import records
from mturk.idempotent_calls import KIND
from mturk.publishing import PublishingPlan, make_plan, offered_places
from mturk.records import APPROVED, SUBMITTED
from mturk.replies import entries
from spa.errors import PlatformError
from spa.journal import Journal
from spa.live import narrow
from spa.platforms.waves import Recruitment, check_live, next_wave
from spa.study.audit import wave_size
from spa.study.stopping import planned_places

if TYPE_CHECKING:
    from mturk.hit_study import HitStudy
    from spa.responses.store import Store
GONE = "Gone"  # no longer listed: disposed of, here or by the endpoint


@dataclass(frozen=True, slots=True, kw_only=True)
class HitRecruitment(Recruitment):
    """The recruitment of a live study at an endpoint."""

    open_hits: tuple[records.PublishedHit, ...]  # with free places
    plan: PublishingPlan  # of the wave


def recruitment_of(hit_study: HitStudy) -> HitRecruitment:
    """Return the state of a live study and plan its next wave, after its submissions were collected.

    Decided pairs are left out of the forms that no HIT holds yet.

    Raises
    ------
    StudyError
        If the study is of fixed size.
    PlatformError
        If no HIT is published.
    """
    study, store, endpoint = hit_study.workspace.study, hit_study.store, hit_study.endpoint
    check_live(study)
    listed = {hit["HITId"]: hit for hit in entries(endpoint.reading, "list_hits", "HITs")}
    collected = records.counts(store, endpoint.origin)
    published = records.all_hits(store, endpoint.origin)
    now = time.time()
    completed = at_work = free = 0
    open_hits, taken = [], set[str | None]()  # with free places; forms that somebody may still answer
    for hit in published:
        seen = listed.get(hit.hit_id)
        if seen is None:  # deleted
            completed += sum(collected.get(hit.hit_id, {}).values())
            continue
        available, pending = (int(seen[f"NumberOfAssignments{name}"]) for name in ("Available", "Pending"))
        at_work += pending
        completed += int(seen["MaxAssignments"]) - available - pending
        if available and seen["Expiration"].timestamp() > now:
            free += available
            open_hits.append(hit)
            taken.add(hit.assignment_id)
        if pending:
            taken.add(hit.assignment_id)
    places = completed + at_work + free
    if not places:
        raise PlatformError(f"{endpoint.origin}: expected HITs of this study, got none; run `spa mturk publish`")
    state, most = narrow(study, store), planned_places(study)
    wave = next_wave(state, wave=wave_size(study), most=most, places=places, completed=completed, at_work=at_work)
    again = None if study.audit is None else _unanswered(store, published, taken)
    return HitRecruitment(
        places=places,
        completed=completed,
        at_work=at_work,
        free=free,
        state=state,
        wave=wave,
        open_hits=tuple(open_hits),
        plan=make_plan(hit_study, annotators=offered_places(published) + wave.places, again=again),
    )


def _unanswered(store: Store, published: tuple[records.PublishedHit, ...], taken: Collection[str | None]) -> list[str]:
    """Return the forms that stood in HITs, which nobody has answered and nobody is at work on."""
    answered = {visit.assignment_id for visit in store.visits.of_people() if visit.completed and visit.seat is not None}
    offered = dict.fromkeys(hit.assignment_id for hit in published if hit.assignment_id is not None)
    return [name for name in offered if name not in answered and name not in taken]


@dataclass(frozen=True, slots=True, kw_only=True)
class HitStatus:
    """The progress of a study's HITs."""

    hits: int
    places: int
    states: Mapping[str, int]  # HITStatus -> HITs
    available: int
    pending: int
    collected: Mapping[str, int]  # AssignmentStatus -> submissions
    uncollected: int
    problems: int  # submissions that wait for review and have one
    earliest_auto_approval: float | None  # seconds since 1970
    spent: Decimal  # dollars: rewards and fees of what is approved
    unfinished_calls: int  # of which it is unknown whether they took effect


def hit_status_of(hit_study: HitStudy) -> HitStatus:
    """Return the progress of a study's HITs, by the endpoint's list and the store."""
    store, endpoint = hit_study.store, hit_study.endpoint
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
        hits=len(own),
        places=sum(hit.max_assignments for hit in own),
        states=dict(Counter(str(listed[hit.hit_id]["HITStatus"]) if hit.hit_id in listed else GONE for hit in own)),
        available=available,
        pending=pending,
        collected=dict(sum((Counter(by) for by in counted.values()), Counter[str]())),
        uncollected=max(places - available - pending - collected_here, 0),
        problems=sum(work.problem is not None for work in waiting),
        earliest_auto_approval=min(
            (work.auto_approval_at for work in waiting if work.auto_approval_at is not None), default=None
        ),
        spent=sum((prices[hit_id] * by.get(APPROVED, 0) for hit_id, by in counted.items()), Decimal("0.00")),
        unfinished_calls=len(Journal(store).unfinished(KIND)),
    )
