"""The states of a HIT: pure functions from one state to the next.

``Assignable`` while workers may accept it, ``Unassignable`` while its remaining assignments are being worked on,
``Reviewable`` when no more will be submitted, ``Reviewing`` if the requester says so, ``Disposed`` after deletion.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from mturk.endpoint.errors import refused, wrong_state

ASSIGNABLE, UNASSIGNABLE = "Assignable", "Unassignable"
REVIEWABLE, REVIEWING, DISPOSED = "Reviewable", "Reviewing", "Disposed"
DAY = 86_400.0
KEPT = 120 * DAY  # after its last event a finished HIT is deleted
MANY = 10  # assignments; a HIT with fewer cannot be extended to as many
MOST = 1_000_000_000  # assignments


@dataclass(frozen=True, slots=True, kw_only=True)
class HitType:
    """The properties that the HITs of a group share."""

    hit_type_id: str
    group_id: str
    requester_id: str
    title: str
    description: str
    keywords: str
    reward: int  # cents
    duration: int  # seconds that a worker has
    auto_approval_delay: int  # seconds
    requirements: str  # JSON


@dataclass(frozen=True, slots=True, kw_only=True)
class HostedHit:
    """One HIT; ``number`` is its place in the order of creation."""

    number: int
    hit_id: str
    requester_id: str
    hit_type_id: str
    question: str
    annotation: str | None
    created_at: float
    expires_at: float
    maximum: int
    pending: int = 0
    submitted: int = 0
    completed: int = 0
    expired: bool = False
    reviewing: bool = False
    active_at: float
    disposed_at: float | None = None

    @property
    def available(self) -> int:
        """The number of assignments that nobody has accepted."""
        return self.maximum - self.pending - self.submitted - self.completed

    @property
    def payable(self) -> int:
        """The number of assignments that may still have to be paid."""
        if self.disposed_at is not None:
            return 0
        return self.pending + self.submitted + (0 if self.expired else self.available)

    @property
    def status(self) -> str:
        """The state, which follows from counters and dates."""
        if self.disposed_at is not None:
            return DISPOSED
        if self.reviewing:
            return REVIEWING
        if self.available and not self.expired:
            return ASSIGNABLE
        return UNASSIGNABLE if self.pending else REVIEWABLE

    @property
    def due_at(self) -> float | None:
        """When the HIT expires or is deleted, seconds since 1970."""
        if self.disposed_at is not None:
            return None
        dates = [] if self.expired else [self.expires_at]
        if self.status in (REVIEWABLE, REVIEWING) and not self.submitted and not self.pending:
            dates.append(self.active_at + KEPT)
        return min(dates, default=None)


def accepted(hit: HostedHit, now: float) -> HostedHit:
    """Return the HIT after a worker accepted an assignment."""
    if hit.status != ASSIGNABLE:
        raise wrong_state("HIT", hit.hit_id, hit.status, [ASSIGNABLE])
    return replace(hit, pending=hit.pending + 1, active_at=now)


def released(hit: HostedHit, now: float) -> HostedHit:
    """Return the HIT after an assignment was returned or abandoned."""
    return replace(hit, pending=hit.pending - 1, active_at=now)


def submitted(hit: HostedHit, now: float) -> HostedHit:
    """Return the HIT after an accepted assignment was submitted, which is possible after expiry, too."""
    return replace(hit, pending=hit.pending - 1, submitted=hit.submitted + 1, active_at=now)


def reviewed(hit: HostedHit, now: float) -> HostedHit:
    """Return the HIT after a submitted assignment was approved or rejected."""
    return replace(hit, submitted=hit.submitted - 1, completed=hit.completed + 1, active_at=now)


def extended(hit: HostedHit, more: int, now: float) -> HostedHit:
    """Return the HIT with more assignments; one of fewer than ten cannot get ten or more."""
    _require_not_disposed(hit)
    maximum = hit.maximum + more
    if hit.maximum < MANY <= maximum:
        raise refused(
            "InvalidMaximumAssignmentsIncrease",
            f"HIT {hit.hit_id} has {hit.maximum} assignments; one with fewer than {MANY} cannot be extended to {MANY} "
            f"or more, and {maximum} were asked for. Create another HIT.",
        )
    if maximum > MOST:
        raise refused("InvalidMaximumAssignmentsIncrease", f"HIT {hit.hit_id}: at most {MOST} assignments.")
    return replace(hit, maximum=maximum, reviewing=False, active_at=now)


def expiring(hit: HostedHit, at: float, now: float) -> HostedHit:
    """Return the HIT with another expiry; one in the past expires it now."""
    _require_not_disposed(hit)
    reopened = at > now
    return replace(hit, expires_at=at, expired=not reopened, reviewing=hit.reviewing and not reopened, active_at=now)


def expired(hit: HostedHit) -> HostedHit:
    """Return the HIT after its expiry."""
    return replace(hit, expired=True, active_at=max(hit.active_at, hit.expires_at))


def in_review(hit: HostedHit, reviewing: bool, now: float) -> HostedHit:
    """Return the HIT as Reviewing, or as Reviewable again."""
    if hit.status not in (REVIEWABLE, REVIEWING):
        raise wrong_state("HIT", hit.hit_id, hit.status, [REVIEWABLE, REVIEWING])
    return replace(hit, reviewing=reviewing, active_at=now)


def retyped(hit: HostedHit, hit_type_id: str, now: float) -> HostedHit:
    """Return the HIT with another HIT type."""
    _require_not_disposed(hit)
    return replace(hit, hit_type_id=hit_type_id, active_at=now)


def disposed(hit: HostedHit, now: float) -> HostedHit:
    """Return the HIT deleted; refuse if it is not finished, or has submissions that were not reviewed."""
    if hit.status not in (REVIEWABLE, REVIEWING):
        raise wrong_state("HIT", hit.hit_id, hit.status, [REVIEWING, REVIEWABLE], "Expire it first.")
    if hit.submitted:
        why = f"{hit.submitted} of its assignments are neither approved nor rejected."
        raise wrong_state("HIT", hit.hit_id, hit.status, [REVIEWING, REVIEWABLE], why)
    return replace(hit, disposed_at=now, expired=True, reviewing=False, active_at=now)


def _require_not_disposed(hit: HostedHit) -> None:
    if hit.disposed_at is not None:
        others = [ASSIGNABLE, UNASSIGNABLE, REVIEWABLE, REVIEWING]
        raise wrong_state("HIT", hit.hit_id, DISPOSED, others, "Create another HIT.")
