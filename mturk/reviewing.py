"""Approving and rejecting what was handed in: paid once, refused only by hand and with a reason."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from typing import Any

from sqlalchemy import Connection

from mturk import records
from mturk.collecting import APPROVED, DOUBTS, REJECTED, SUBMITTED
from mturk.endpoints import MTurkEndpoint
from mturk.idempotent_calls import IdempotentCall, IdempotentMTurkCalls
from mturk.replies import fetch
from mturk.review_rules import LONGEST_REASON, OVERRIDE_DAYS, SHORTEST_REASON
from spa.errors import PlatformError
from spa.platforms.review import is_approved, reason_to_look
from spa.responses.decisions import VisitDecisions
from spa.responses.store import Store

REVIEWS = "reviews"  # scope of the journal
DAY = 86_400.0  # seconds
IS_REJECTED = "a reviewer approved it, but it is rejected; take that back with --assignment and --override"


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """What approving costs, in dollars."""

    works: tuple[records.Work, ...]
    vouched_for: tuple[records.Work, ...]  # of these: with a problem, but a reviewer approved them
    left: tuple[tuple[records.Work, str], ...]  # not approved, and why somebody must look
    rewards: Decimal
    fees: Decimal

    @property
    def total(self) -> Decimal:
        """Rewards and fees together."""
        return self.rewards + self.fees


def to_approve(
    store: Store,
    endpoint: MTurkEndpoint,
    decided: Mapping[str, VisitDecisions],
    *,
    also: Iterable[str] = (),
    except_for: Iterable[str] = (),
) -> Due:
    """Find what is to be approved of all that waits for review, and what that costs.

    Parameters
    ----------
    store : Store
        Where the submissions were collected.
    endpoint : MTurkEndpoint
        Where they were handed in.
    decided : mapping
        Our visit -> what reviewers decided about it.
    also, except_for : iterable of str
        The endpoint's ids of submissions to approve or to leave alone, whatever is known of them.

    Raises
    ------
    PlatformError
        If one of those named is not known, or one to approve does not wait for review.
    """
    also = {_checked(store, one, SUBMITTED, 0.0).mturk_assignment_id for one in also}
    except_for = {known(store, one).mturk_assignment_id for one in except_for}
    chosen: list[records.Work] = []
    left: list[tuple[records.Work, str]] = []
    for work in records.all_works(store, endpoint.origin, statuses=[SUBMITTED, REJECTED]):
        if work.mturk_assignment_id in except_for:
            continue
        decisions = decided.get(work.submission_id or "")
        if work.status == REJECTED:
            if is_approved(decisions):
                left.append((work, IS_REJECTED))
            continue
        reason = _reason_to_look(work, decisions)
        if reason is None or work.mturk_assignment_id in also:
            chosen.append(work)
        else:
            left.append((work, reason))
    vouched_for = [
        work for work in chosen if work.problem is not None and is_approved(decided.get(work.submission_id or ""))
    ]
    return _due(store, endpoint, chosen, left, vouched_for)


def named_to_approve(store: Store, endpoint: MTurkEndpoint, named: Sequence[str], *, override: bool, now: float) -> Due:
    """Find what those named cost to approve, whatever is known of them or was decided.

    Parameters
    ----------
    store : Store
        Where the submissions were collected.
    endpoint : MTurkEndpoint
        Where they were handed in.
    named : sequence of str
        The endpoint's ids of submissions.
    override : bool
        Whether rejected ones are meant.
    now : float
        Seconds since 1970.

    Raises
    ------
    PlatformError
        If one of those named is not known, not in a state to be approved, or rejected too long ago.
    """
    if override and not named:
        raise PlatformError("approve: taking back a rejection is done by hand; name each with --assignment")
    wanted = REJECTED if override else SUBMITTED
    chosen = [_checked(store, one, wanted, now) for one in dict.fromkeys(named)]
    return _due(store, endpoint, [work for work in chosen if work.status != APPROVED])


class Reviewer:
    """Approves and rejects at one endpoint."""

    def __init__(self, idempotent_calls: IdempotentMTurkCalls, endpoint: MTurkEndpoint) -> None:
        self.idempotent_calls = idempotent_calls
        self.endpoint = endpoint
        self.scope = f"{REVIEWS} {endpoint.origin}"

    def approve(self, works: Iterable[records.Work], *, feedback: str | None, override: bool) -> Iterator[str]:
        """Approve submissions one by one, each once; yields their ids."""
        for work in works:
            request: dict[str, Any] = {"AssignmentId": work.mturk_assignment_id}
            if feedback:
                request["RequesterFeedback"] = feedback
            if override:
                request["OverrideRejection"] = True
            method = self.endpoint.client_without_retries.approve_assignment
            self.idempotent_calls.execute(
                self._idempotent_call(work, "override" if override else "approve", method, request, APPROVED)
            )
            yield work.mturk_assignment_id

    def reject(self, rejections: Iterable[tuple[records.Work, str]]) -> Iterator[str]:
        """Reject submissions one by one, each with the reason that its annotator reads; yields their ids."""
        for work, reason in rejections:
            request = {"AssignmentId": work.mturk_assignment_id, "RequesterFeedback": reason}
            self.idempotent_calls.execute(
                self._idempotent_call(
                    work, "reject", self.endpoint.client_without_retries.reject_assignment, request, REJECTED
                )
            )
            yield work.mturk_assignment_id

    def _idempotent_call(
        self,
        work: records.Work,
        name: str,
        method: Callable[..., Mapping[str, Any]],
        request: Mapping[str, Any],
        status: str,
    ) -> IdempotentCall:
        """Return a review as an idempotent call: the status at the endpoint tells whether it is done."""
        return IdempotentCall(
            scope=self.scope,
            key=f"{name}/{work.mturk_assignment_id}",
            method=method,
            request=request,
            find=lambda token: self._find(work.mturk_assignment_id, status),
            token_name=None,
            repeatable=True,
            keep=partial(_keep, work.mturk_assignment_id, status, request.get("RequesterFeedback")),
        )

    def _find(self, mturk_assignment_id: str, status: str) -> Mapping[str, Any] | None:
        answer = fetch(self.endpoint.reading.get_assignment, AssignmentId=mturk_assignment_id)
        return {} if answer["Assignment"]["AssignmentStatus"] == status else None


def to_reject(store: Store, named: Sequence[str]) -> tuple[records.Work, ...]:
    """Return the submissions named, each of which must wait for review.

    Raises
    ------
    PlatformError
        If one is not known or was reviewed already.
    """
    if not named:
        raise PlatformError("reject: name each submission with --assignment; there is no rejecting of all")
    found = []
    for one in dict.fromkeys(named):
        work = known(store, one)
        if work.status == APPROVED:
            raise PlatformError(f"reject: {one} is approved, and an approval cannot be taken back")
        if work.status != REJECTED:
            found.append(work)
    return tuple(found)


def check_reason(reason: str, place: str = "--reason") -> None:
    """Refuse a reason that tells an annotator nothing."""
    if not SHORTEST_REASON <= len(reason.strip()) <= LONGEST_REASON:
        raise PlatformError(
            f"{place}: expected {SHORTEST_REASON} to {LONGEST_REASON} characters that tell the annotator what was "
            f"wrong, got {len(reason.strip())}"
        )


def known(store: Store, mturk_assignment_id: str) -> records.Work:
    """Return a submission that was collected."""
    work = records.find_work(store, mturk_assignment_id)
    if work is None:
        raise PlatformError(
            f"--assignment {mturk_assignment_id[:64]!r}: no such submission has been collected; run `spa mturk collect`"
        )
    return work


def _reason_to_look(work: records.Work, decisions: VisitDecisions | None) -> str | None:
    doubtful = work.problem is not None and work.problem.startswith(DOUBTS)
    return reason_to_look(
        decisions, held=work.problem if doubtful else None, lacking=None if doubtful else work.problem
    )


def _due(
    store: Store,
    endpoint: MTurkEndpoint,
    chosen: Sequence[records.Work],
    left: Sequence[tuple[records.Work, str]] = (),
    vouched_for: Sequence[records.Work] = (),
) -> Due:
    prices = {hit.hit_id: hit for hit in records.all_hits(store, endpoint.origin)}
    return Due(
        works=tuple(chosen),
        vouched_for=tuple(vouched_for),
        left=tuple(left),
        rewards=sum((Decimal(prices[work.hit_id].reward) for work in chosen), Decimal("0.00")),
        fees=sum((Decimal(prices[work.hit_id].fee) for work in chosen), Decimal("0.00")),
    )


def _checked(store: Store, mturk_assignment_id: str, wanted: str, now: float) -> records.Work:
    work = known(store, mturk_assignment_id)
    if work.status not in (wanted, APPROVED):
        remedy = "add --override to take a rejection back" if work.status == REJECTED else "leave out --override"
        raise PlatformError(f"approve: {mturk_assignment_id} is {work.status.lower()}, not {wanted.lower()}; {remedy}")
    if wanted == REJECTED and work.status == REJECTED and now - (work.submitted_at or 0.0) > OVERRIDE_DAYS * DAY:
        raise PlatformError(
            f"approve: {mturk_assignment_id} was handed in more than {OVERRIDE_DAYS} days ago, so its rejection "
            "stands; pay the annotator with a bonus"
        )
    return work


def _keep(
    mturk_assignment_id: str, status: str, feedback: str | None, connection: Connection, answer: Mapping[str, Any]
) -> None:
    records.change_work(connection, mturk_assignment_id, status=status, feedback=feedback)
