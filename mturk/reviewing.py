"""Approving and rejecting what was handed in: paid once, refused only by hand and with a reason."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from typing import Any, Literal

from sqlalchemy import Connection

from mturk import records
from mturk.collecting import DOUBTS
from mturk.endpoints import MTurkEndpoint
from mturk.fees import CostWithFees
from mturk.idempotent_calls import IdempotentMTurkCalls
from mturk.records import APPROVED, REJECTED, SOURCE, SUBMITTED
from mturk.replies import fetch
from mturk.review_rules import LONGEST_REASON, OVERRIDE_DAYS, SHORTEST_REASON
from spa.errors import PlatformError
from spa.platforms.review import (
    ReviewQueue,
    decided_by_reviewers,
    is_approved,
    proposed_rejection,
    reason_to_look,
    sort_for_approval,
)
from spa.responses.decisions import VisitDecisions
from spa.responses.store import Store

REVIEWS = "reviews"  # scope of the journal
DAY = 86_400.0  # seconds
IS_REJECTED = "a reviewer approved it, but it is rejected; take that back with --assignment and --override"
PAID_ALREADY = "approved already, and an approval cannot be taken back"


@dataclass(frozen=True, slots=True, kw_only=True)
class DecidedWork:
    """The work that reviewers decided on, with what stands of the decisions, and the decisions without any work yet."""

    works: tuple[tuple[records.Work, VisitDecisions], ...]
    waiting: tuple[VisitDecisions, ...]

    @property
    def by_id(self) -> list[tuple[str, VisitDecisions]]:
        """The decisions by the endpoint's submission."""
        return [(work.mturk_assignment_id, decisions) for work, decisions in self.works]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejections:
    """Work that reviewers proposed to reject."""

    works: tuple[tuple[records.Work, str], ...]  # each with the words that its annotator reads
    done: int  # rejected before
    left: tuple[tuple[records.Work, str], ...]  # not to be rejected, and why


def decided_works(store: Store, endpoint: MTurkEndpoint) -> DecidedWork:
    """Read the decisions and the work that they are about, in the order in which it was collected."""
    decisions = decided_by_reviewers(store)
    works = tuple(
        (work, decisions[work.submission_id])
        for work in records.all_works(store, endpoint.origin)
        if work.submission_id in decisions
    )
    here = {work.submission_id for work, _ in works}
    ours = (visit.submission_id for visit in store.visits.of_people(SOURCE))
    return DecidedWork(
        works=works, waiting=tuple(decisions[one] for one in ours if one in decisions and one not in here)
    )


def to_approve(
    store: Store,
    endpoint: MTurkEndpoint,
    decided: Mapping[str, VisitDecisions],
    *,
    also: Iterable[str] = (),
    except_for: Iterable[str] = (),
) -> ReviewQueue[records.Work]:
    """Find what is to be approved of all that waits for review.

    ``decided`` holds what reviewers decided, by our visit; ``also`` and ``except_for`` are the endpoint's ids of
    submissions to approve or to leave alone, whatever is known of them.

    Raises
    ------
    PlatformError
        If one of those named is not known, or one to approve does not wait for review.
    """
    also = {_checked(store, one, SUBMITTED, 0.0).mturk_assignment_id for one in also}
    except_for = {known(store, one).mturk_assignment_id for one in except_for}
    waiting: list[tuple[str, records.Work, str | None]] = []
    for work in records.all_works(store, endpoint.origin, statuses=[SUBMITTED, REJECTED]):
        decisions = decided.get(work.submission_id or "")
        if work.status == SUBMITTED:
            waiting.append((work.mturk_assignment_id, work, _reason_to_look(work, decisions)))
        elif is_approved(decisions):
            waiting.append((work.mturk_assignment_id, work, IS_REJECTED))
    return sort_for_approval(waiting, also=also, except_for=except_for)


def named_to_approve(store: Store, named: Sequence[str], *, override: bool, now: float) -> ReviewQueue[records.Work]:
    """Return those named by the endpoint's ids that are not approved yet, whatever is known of them or was decided.

    ``override`` means rejected ones; ``now`` is in seconds since 1970.

    Raises
    ------
    PlatformError
        If one of those named is not known, not in a state to be approved, or rejected too long ago.
    """
    if override and not named:
        raise PlatformError("approve: taking back a rejection is done by hand; name each with --assignment")
    expected = REJECTED if override else SUBMITTED
    works = [_checked(store, one, expected, now) for one in dict.fromkeys(named)]
    return ReviewQueue(approve=tuple(work for work in works if work.status != APPROVED), look_at=())


def approval_cost(store: Store, endpoint: MTurkEndpoint, works: Iterable[records.Work]) -> CostWithFees:
    """Return what approving costs, in dollars."""
    hits = {hit.hit_id: hit for hit in records.all_hits(store, endpoint.origin)}
    return CostWithFees.of((Decimal(hits[work.hit_id].reward), Decimal(hits[work.hit_id].fee)) for work in works)


def review(
    idempotent_calls: IdempotentMTurkCalls,
    action: Literal["approve", "override", "reject"],
    works: Iterable[tuple[records.Work, str | None]],
) -> Iterator[str]:
    """Approve or reject submissions one by one, each once, with what its annotator reads; yields their ids.

    The status at the endpoint tells whether it is done; "override" approves what was rejected.
    """
    client = idempotent_calls.endpoint.client_without_retries
    for work, feedback in works:
        request: dict[str, Any] = {"AssignmentId": work.mturk_assignment_id}
        if feedback:
            request["RequesterFeedback"] = feedback
        if action == "override":
            request["OverrideRejection"] = True
        status = REJECTED if action == "reject" else APPROVED
        idempotent_calls.execute_call(
            idempotent_calls.new_call(
                scope=REVIEWS,
                key=f"{action}/{work.mturk_assignment_id}",
                method=client.reject_assignment if action == "reject" else client.approve_assignment,
                request=request,
                find=partial(_find, idempotent_calls.endpoint, work.mturk_assignment_id, status),
                token_name=None,
                repeatable=True,
                keep=partial(_keep, work.mturk_assignment_id, status, request.get("RequesterFeedback")),
            )
        )
        yield work.mturk_assignment_id


def decided_rejections(decided: DecidedWork, except_for: Collection[str] = ()) -> Rejections:
    """Return the rejections that reviewers proposed.

    Raises
    ------
    PlatformError
        One line for each message that would tell its annotator nothing; then none is to be sent.
    """
    works: list[tuple[records.Work, str]] = []
    left: list[tuple[records.Work, str]] = []
    problems: list[str] = []
    done = 0
    for work, decisions in decided.works:
        proposal = proposed_rejection(decisions)
        if proposal is None or work.mturk_assignment_id in except_for:
            continue
        if work.status == REJECTED:
            done += 1
        elif work.status == APPROVED:
            left.append((work, PAID_ALREADY))
        else:
            reason = proposal.note or ""
            try:
                check_reason(reason, f"decision {proposal.number} on {work.mturk_assignment_id}, message")
            except PlatformError as error:
                problems += error.problems
            works.append((work, reason))
    if problems:
        raise PlatformError(*problems)
    return Rejections(works=tuple(works), done=done, left=tuple(left))


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
    doubtful = work.problem is not None and work.problem.startswith(tuple(DOUBTS.values()))
    return reason_to_look(
        decisions, held=work.problem if doubtful else None, lacking=None if doubtful else work.problem
    )


def _checked(store: Store, mturk_assignment_id: str, expected: str, now: float) -> records.Work:
    work = known(store, mturk_assignment_id)
    if work.status not in (expected, APPROVED):
        remedy = "add --override to take a rejection back" if work.status == REJECTED else "leave out --override"
        raise PlatformError(
            f"approve: {mturk_assignment_id} is {work.status.lower()}, not {expected.lower()}; {remedy}"
        )
    if expected == REJECTED and work.status == REJECTED and now - (work.submitted_at or 0.0) > OVERRIDE_DAYS * DAY:
        raise PlatformError(
            f"approve: {mturk_assignment_id} was submitted more than {OVERRIDE_DAYS} days ago, so its rejection "
            "stands; pay the annotator with a bonus"
        )
    return work


def _find(endpoint: MTurkEndpoint, mturk_assignment_id: str, status: str, token: str) -> Mapping[str, Any] | None:
    answer = fetch(endpoint.reading.get_assignment, AssignmentId=mturk_assignment_id)
    return {} if answer["Assignment"]["AssignmentStatus"] == status else None


def _keep(
    mturk_assignment_id: str, status: str, feedback: str | None, connection: Connection, answer: Mapping[str, Any]
) -> None:
    records.change_work(connection, mturk_assignment_id, status=status, feedback=feedback)
