"""How long HITs stand and how many annotators they take: extended, expired, and at the end disposed of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import partial
from typing import Any

from sqlalchemy import Connection

from mturk import records
from mturk.collecting import STATUSES, SUBMITTED
from mturk.fees import MANY, HitCostEstimate, assignment_fee, estimate, parse_money
from mturk.idempotent_calls import IdempotentMTurkCalls
from mturk.publishing import fetch_hit
from mturk.replies import call, entries, fetch
from mturk.settings import MTurkTable
from spa.errors import PlatformError

LIFETIMES = "lifetimes"  # scope of the journal
LONG_AGO = datetime(2015, 1, 1, tzinfo=UTC)  # an expiry in the past takes a HIT off the list at once
REVIEWABLE = ("Reviewable", "Reviewing")


class Keeper:
    """Extends, expires and disposes of the HITs of one study."""

    def __init__(self, idempotent_calls: IdempotentMTurkCalls, settings: MTurkTable) -> None:
        self.idempotent_calls = idempotent_calls
        self.store = idempotent_calls.store
        self.endpoint = idempotent_calls.endpoint
        self.settings = settings

    def choose(self, named: Sequence[str]) -> tuple[records.PublishedHit, ...]:
        """Return the HITs named, or all that are not disposed of.

        Raises
        ------
        PlatformError
            If one of those named is none of this study's.
        """
        own = {hit.hit_id: hit for hit in records.all_hits(self.store, self.endpoint.origin)}
        for hit_id in named:
            if hit_id not in own:
                raise PlatformError(f"--hit {hit_id[:64]!r}: none of this study's HITs at {self.endpoint.origin}")
        chosen = [own[hit_id] for hit_id in dict.fromkeys(named)] or list(own.values())
        return tuple(hit for hit in chosen if hit.disposed_at is None)

    def estimate_more(self, hits: Sequence[records.PublishedHit], places: int) -> HitCostEstimate:
        """Estimate what more places cost in each of the HITs.

        Raises
        ------
        PlatformError
            If a HIT of fewer than ten places would get ten or more.
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
            raise PlatformError(
                f"extend: the HITs pay {', '.join(sorted(rewards))}; name those of one reward with --hit"
            )
        reward = parse_money(rewards.pop())
        cost = estimate([places] * len(hits), reward, masters=self.settings.masters, rules=self.settings.fees)
        masters, rules = self.settings.masters, self.settings.fees
        sizes = (hit.max_assignments + places for hit in hits)
        fees = (assignment_fee(reward, max_assignments=size, masters=masters, rules=rules) for size in sizes)
        return replace(cost, fees=places * sum(fees, Decimal("0.00")))

    def add_places(self, hits: Sequence[records.PublishedHit], places: int) -> Iterator[str]:
        """Give each HIT more places, once for each number that it had before."""
        for hit in hits:
            before = hit.max_assignments
            self.idempotent_calls.execute_call(
                self.idempotent_calls.new_call(
                    scope=LIFETIMES,
                    key=f"more/{hit.hit_id}/{before}+{places}",
                    method=self.endpoint.client_without_retries.create_additional_assignments_for_hit,
                    request={"HITId": hit.hit_id, "NumberOfAdditionalAssignments": places},
                    find=partial(self._find_places, hit.hit_id, before + places),
                    keep=partial(_keep_places, hit.hit_id, before + places),
                )
            )
            yield hit.hit_id

    def extend(self, hits: Sequence[records.PublishedHit], hours: float) -> Iterator[str]:
        """Let HITs stand so many hours from now."""
        until = datetime.fromtimestamp(self.idempotent_calls.clock(), UTC) + timedelta(hours=hours)
        for hit in hits:
            yield self._set_expiry(hit.hit_id, until)

    def expire(self, hits: Sequence[records.PublishedHit]) -> Iterator[str]:
        """Take HITs off the list now."""
        for hit in hits:
            yield self._set_expiry(hit.hit_id, LONG_AGO)

    def check_disposal(self, hits: Sequence[records.PublishedHit]) -> None:
        """Refuse to dispose of anything that is not finished, reviewed, collected and archived.

        Raises
        ------
        PlatformError
            With a line for each HIT that is not ready.
        """
        problems = []
        for hit in hits:
            now = fetch_hit(self.endpoint, hit.hit_id)
            query = {"HITId": hit.hit_id, "AssignmentStatuses": STATUSES}
            at_endpoint = list(entries(self.endpoint.reading, "list_assignments_for_hit", "Assignments", **query))
            collected = records.known_works(self.store, hit.hit_id)
            if now["HITStatus"] not in REVIEWABLE:
                problems.append(
                    f"HIT {hit.hit_id}: is {now['HITStatus']}; run `spa mturk expire` and wait for those at work"
                )
            elif waiting := sum(one["AssignmentStatus"] == SUBMITTED for one in at_endpoint):
                problems.append(
                    f"HIT {hit.hit_id}: {waiting} submissions wait for review; approve or reject them first"
                )
            elif missing := sum(one["AssignmentId"] not in collected for one in at_endpoint):
                problems.append(f"HIT {hit.hit_id}: {missing} submissions are not collected; run `spa mturk collect`")
            elif hit.archived_at is None or hit.archived_assignments < len(at_endpoint):
                problems.append(
                    f"HIT {hit.hit_id}: not archived since its last submission; run `spa mturk export`, because "
                    "disposal deletes everything at the endpoint"
                )
        if problems:
            raise PlatformError(*problems)

    def dispose(self, hits: Sequence[records.PublishedHit]) -> Iterator[str]:
        """Delete HITs at the endpoint; what was collected stays."""
        for hit in hits:
            self.idempotent_calls.execute_call(
                self.idempotent_calls.new_call(
                    scope=LIFETIMES,
                    key=f"dispose/{hit.hit_id}",
                    method=self.endpoint.client_without_retries.delete_hit,
                    request={"HITId": hit.hit_id},
                    find=partial(self._find_disposed, hit.hit_id),
                    token_name=None,
                    repeatable=True,
                    keep=partial(_keep_disposed, hit.hit_id, self.idempotent_calls.clock()),
                )
            )
            yield hit.hit_id

    def _set_expiry(self, hit_id: str, until: datetime) -> str:
        fetch(self.endpoint.reading.update_expiration_for_hit, HITId=hit_id, ExpireAt=until)
        with self.store.transaction() as connection:
            records.change_hit(connection, hit_id, expires_at=until.timestamp())
        return hit_id

    def _find_places(self, hit_id: str, places: int, token: str) -> Mapping[str, Any] | None:
        return {} if int(fetch_hit(self.endpoint, hit_id)["MaxAssignments"]) >= places else None

    def _find_disposed(self, hit_id: str, token: str) -> Mapping[str, Any] | None:
        reply = call(self.endpoint.reading.get_hit, {"HITId": hit_id})
        if reply.state == "refused":
            return {}  # it was there when this study's HITs were listed, and is no longer
        return {} if reply.state == "done" and reply.content["HIT"]["HITStatus"] == "Disposed" else None


def _keep_places(hit_id: str, places: int, connection: Connection, answer: Mapping[str, Any]) -> None:
    records.change_hit(connection, hit_id, max_assignments=places)


def _keep_disposed(hit_id: str, now: float, connection: Connection, answer: Mapping[str, Any]) -> None:
    records.change_hit(connection, hit_id, disposed_at=now)
