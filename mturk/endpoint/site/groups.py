"""The groups of HITs shown to a worker, and their requirements."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import func, select

from mturk.endpoint.hits import ASSIGNABLE, HitType, HostedHit
from mturk.endpoint.repository import HIT_COLUMNS, find_type, hit_from
from mturk.endpoint.requirements import ADULT, ALL_MASTERS, LOCALE, NUMBER_APPROVED, PERCENT_APPROVED, meets
from mturk.endpoint.schema import hit_types, hits, qualification_types, requesters
from mturk.endpoint.site.records import PER_PAGE
from mturk.endpoint.transaction import Transaction
from mturk.endpoint.worker_actions import OpenHitGroup, next_hit, not_taken, offers
from mturk.endpoint.workers import Worker, find_worker, may_discover, unmet

KNOWN_NAMES: Mapping[str, str] = {
    LOCALE: "locale",
    NUMBER_APPROVED: "approved",
    PERCENT_APPROVED: "rate",
    ADULT: "adult",
    **dict.fromkeys(ALL_MASTERS, "masters"),
}
ORDERS: Mapping[str, Callable[[OpenHitGroup], Any]] = {
    "newest": lambda offer: 0,  # as they come
    "reward": lambda offer: -offer.kind.reward,
    "count": lambda offer: -offer.count,
    "time": lambda offer: offer.kind.duration,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RequirementCheck:
    """A requirement, and whether the worker meets it; named by ``known`` (a key of the texts) or ``name``."""

    known: str | None
    name: str | None
    comparator: str
    values: tuple[str, ...]
    met: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class HitGroup:
    """A HIT type as shown to a worker."""

    kind: HitType
    requester: str
    available: int
    expires_at: float | None
    qualified: bool
    requirements: tuple[RequirementCheck, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class HitGroupPage:
    """A page of groups, and the total number."""

    groups: tuple[HitGroup, ...]
    count: int
    pages: int


def find_groups(
    tx: Transaction, worker_id: str, *, query: str, order: str, everything: bool, page: int
) -> HitGroupPage:
    """Return a page of the groups that match and that the worker qualifies for, or (``everything``) may see."""
    words = query.casefold().split()
    visible = [offer for offer in offers(tx, worker_id) if everything or not offer.to_accept]
    matching = [offer for offer in visible if _matches(offer, words)]
    matching.sort(key=ORDERS[order])
    worker = find_worker(tx, worker_id)
    shown = matching[(page - 1) * PER_PAGE : page * PER_PAGE]
    groups = tuple(_group(tx, worker, one.kind, one.requester, one.count, one.last_expiry) for one in shown)
    return HitGroupPage(groups=groups, count=len(matching), pages=max(1, -(-len(matching) // PER_PAGE)))


def find_group(
    tx: Transaction, worker_id: str, group_id: str, *, after: int
) -> tuple[HitGroup, HostedHit | None] | None:
    """Return a group and the HIT to show after the one with this number; None if the worker may not see it."""
    worker = find_worker(tx, worker_id)
    row = tx.first(
        select(hit_types.c.hit_type_id, requesters.c.name)
        .join(requesters, requesters.c.requester_id == hit_types.c.requester_id)
        .where(hit_types.c.group_id == group_id)
    )
    if row is None:
        return None
    kind = find_type(tx, row.hit_type_id)
    if not may_discover(worker, kind):
        return None
    open_hits = (hits.c.hit_type_id == kind.hit_type_id, hits.c.status == ASSIGNABLE, not_taken(worker_id))
    count, expiry = tx.connection.execute(select(func.count(), func.max(hits.c.expires_at)).where(*open_hits)).one()
    group = _group(tx, worker, kind, row.name, count, expiry)
    later = select(*HIT_COLUMNS).where(*open_hits, hits.c.number > after)
    found = tx.first(later.order_by(hits.c.number).limit(1))
    return group, hit_from(found) if found is not None else next_hit(tx, worker_id, group_id)


def _group(
    tx: Transaction, worker: Worker, kind: HitType, requester: str, available: int, expires_at: float | None
) -> HitGroup:
    return HitGroup(
        kind=kind,
        requester=requester,
        available=available,
        expires_at=expires_at,
        qualified=not unmet(worker, kind.requirements, "Accept"),
        requirements=check_each_requirement(tx, worker, kind.requirements),
    )


def check_each_requirement(tx: Transaction, worker: Worker, requirements: str) -> tuple[RequirementCheck, ...]:
    """Return the requirements of a HIT type, each with whether this worker meets it."""
    asked: list[Mapping[str, Any]] = json.loads(requirements)
    names = type_names(tx, {one["QualificationTypeId"] for one in asked} - KNOWN_NAMES.keys())
    return tuple(
        RequirementCheck(
            known=KNOWN_NAMES.get(one["QualificationTypeId"]),
            name=names.get(one["QualificationTypeId"]),
            comparator=one["Comparator"],
            values=_values(one),
            met=meets(one, worker.held.get(one["QualificationTypeId"])),
        )
        for one in asked
    )


def type_names(tx: Transaction, type_ids: set[str]) -> dict[str, str]:
    """Return the names of qualification types."""
    if not type_ids:
        return {}
    c = qualification_types.c
    query = select(c.qualification_type_id, c.name).where(c.qualification_type_id.in_(type_ids))
    return {type_id: name for type_id, name in tx.connection.execute(query)}


def _values(asked: Mapping[str, Any]) -> tuple[str, ...]:
    places = tuple(
        "-".join(part for part in (place["Country"], place.get("Subdivision")) if part)
        for place in asked.get("LocaleValues") or ()
    )
    return places or tuple(str(number) for number in asked.get("IntegerValues") or ())


def _matches(offer: OpenHitGroup, words: list[str]) -> bool:
    kind = offer.kind
    text = "\n".join((kind.title, kind.keywords, kind.description, offer.requester)).casefold()
    group = kind.group_id.casefold()  # matched as a whole only
    return all(word in text or word == group for word in words)
