"""How long HITs stay listed and how many annotators they take: extending, expiring and deleting them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import partial
from typing import Any

from sqlalchemy import Connection

from mturk import records
from mturk.endpoints import MTurkEndpoint
from mturk.fees import MANY, HitCostEstimate, assignment_fee, estimate, parse_money
from mturk.hit_study import HitStudy
from mturk.publishing import fetch_hit
from mturk.records import STATUSES, SUBMITTED
from mturk.replies import call, entries, fetch
from spa.errors import PlatformError

LIFETIMES = "lifetimes"  # scope of the journal
LONG_AGO = datetime(2015, 1, 1, tzinfo=UTC)  # an expiry in the past takes a HIT off the list at once
REVIEWABLE = ("Reviewable", "Reviewing")


def choose_hits(hit_study: HitStudy, named: Sequence[str]) -> tuple[records.PublishedHit, ...]:
    """Return the HITs named by ``--hit``, by default all; those already deleted are left out.

    Raises
    ------
    PlatformError
        If one of those named is none of this study's.
    """
    origin = hit_study.endpoint.origin
    own = {hit.hit_id: hit for hit in records.all_hits(hit_study.store, origin)}
    for hit_id in named:
        if hit_id not in own:
            raise PlatformError(f"--hit {hit_id[:64]!r}: none of this study's HITs at {origin}")
    chosen = [own[hit_id] for hit_id in dict.fromkeys(named)] or list(own.values())
    return tuple(hit for hit in chosen if hit.disposed_at is None)


def estimate_places(hit_study: HitStudy, hits: Sequence[records.PublishedHit], places: int) -> HitCostEstimate:
    """Estimate what adding this many places to each of the HITs costs.

    Raises
    ------
    PlatformError
        If a HIT of fewer than ten places would get ten or more, or the HITs pay different rewards.
    """
    if not hits:
        raise PlatformError("extend: no HIT is left to extend")
    for hit in hits:
        if hit.max_assignments < MANY <= hit.max_assignments + places:
            raise PlatformError(
                f"HIT {hit.hit_id}: has {hit.max_assignments} places and cannot be given {places} more, because "
                "from ten on another fee holds; publish for more annotators instead"
            )
    rewards = {hit.reward for hit in hits}
    if len(rewards) > 1:
        raise PlatformError(f"extend: the HITs pay {', '.join(sorted(rewards))}; name those of one reward with --hit")
    reward = parse_money(rewards.pop())
    masters, rules = hit_study.settings.masters, hit_study.settings.fees
    cost = estimate([places] * len(hits), reward, masters=masters, rules=rules)
    sizes = (hit.max_assignments + places for hit in hits)
    fees = (assignment_fee(reward, max_assignments=size, masters=masters, rules=rules) for size in sizes)
    return replace(cost, fees=places * sum(fees, Decimal("0.00")))


def add_places(hit_study: HitStudy, hits: Sequence[records.PublishedHit], places: int) -> Iterator[str]:
    """Add places to each HIT and yield its id; running it again adds none to a HIT that already has them."""
    calls, endpoint = hit_study.idempotent_calls, hit_study.endpoint
    for hit in hits:
        total = hit.max_assignments + places
        calls.execute_call(
            calls.new_call(
                scope=LIFETIMES,
                key=f"more/{hit.hit_id}/{hit.max_assignments}+{places}",
                method=endpoint.client_without_retries.create_additional_assignments_for_hit,
                request={"HITId": hit.hit_id, "NumberOfAdditionalAssignments": places},
                find=partial(_find_places, endpoint, hit.hit_id, total),
                keep=partial(_keep, hit.hit_id, {"max_assignments": total}),
            )
        )
        yield hit.hit_id


def set_expiry(hit_study: HitStudy, hits: Sequence[records.PublishedHit], hours: float | None) -> Iterator[str]:
    """Let HITs expire this many hours from now, or at once where ``hours`` is None, and yield their ids."""
    now = datetime.fromtimestamp(hit_study.idempotent_calls.clock(), UTC)
    until = LONG_AGO if hours is None else now + timedelta(hours=hours)
    for hit in hits:
        fetch(hit_study.endpoint.reading.update_expiration_for_hit, HITId=hit.hit_id, ExpireAt=until)
        with hit_study.store.transaction() as connection:
            records.change_hit(connection, hit.hit_id, expires_at=until.timestamp())
        yield hit.hit_id


def check_disposal(hit_study: HitStudy, hits: Sequence[records.PublishedHit]) -> None:
    """Refuse to delete a HIT that is not finished, reviewed, collected and archived.

    Raises
    ------
    PlatformError
        With a line for each HIT that is not ready.
    """
    problems = []
    for hit in hits:
        now = fetch_hit(hit_study.endpoint, hit.hit_id)
        query = {"HITId": hit.hit_id, "AssignmentStatuses": STATUSES}
        at_endpoint = list(entries(hit_study.endpoint.reading, "list_assignments_for_hit", "Assignments", **query))
        collected = records.known_works(hit_study.store, hit.hit_id)
        if now["HITStatus"] not in REVIEWABLE:
            problems.append(
                f"HIT {hit.hit_id}: is {now['HITStatus']}; run `spa mturk expire` and wait for those at work"
            )
        elif waiting := sum(one["AssignmentStatus"] == SUBMITTED for one in at_endpoint):
            problems.append(f"HIT {hit.hit_id}: {waiting} submissions wait for review; approve or reject them first")
        elif missing := sum(one["AssignmentId"] not in collected for one in at_endpoint):
            problems.append(f"HIT {hit.hit_id}: {missing} submissions are not collected; run `spa mturk collect`")
        elif hit.archived_at is None or hit.archived_assignments < len(at_endpoint):
            problems.append(
                f"HIT {hit.hit_id}: not archived since its last submission; run `spa mturk export`, because "
                "disposal deletes everything at the endpoint"
            )
    if problems:
        raise PlatformError(*problems)


def dispose(hit_study: HitStudy, hits: Sequence[records.PublishedHit]) -> Iterator[str]:
    """Delete HITs at the endpoint and yield their ids; what was collected is kept."""
    calls, endpoint = hit_study.idempotent_calls, hit_study.endpoint
    for hit in hits:
        calls.execute_call(
            calls.new_call(
                scope=LIFETIMES,
                key=f"dispose/{hit.hit_id}",
                method=endpoint.client_without_retries.delete_hit,
                request={"HITId": hit.hit_id},
                find=partial(_find_disposed, endpoint, hit.hit_id),
                token_name=None,
                repeatable=True,
                keep=partial(_keep, hit.hit_id, {"disposed_at": calls.clock()}),
            )
        )
        yield hit.hit_id


def _find_places(endpoint: MTurkEndpoint, hit_id: str, places: int, token: str) -> Mapping[str, Any] | None:
    return {} if int(fetch_hit(endpoint, hit_id)["MaxAssignments"]) >= places else None


def _find_disposed(endpoint: MTurkEndpoint, hit_id: str, token: str) -> Mapping[str, Any] | None:
    reply = call(endpoint.reading.get_hit, {"HITId": hit_id})
    if reply.state == "refused":
        return {}  # it was there when this study's HITs were listed, and is no longer
    return {} if reply.state == "done" and reply.content["HIT"]["HITStatus"] == "Disposed" else None


def _keep(hit_id: str, values: Mapping[str, Any], connection: Connection, answer: Mapping[str, Any]) -> None:
    records.change_hit(connection, hit_id, **values)
