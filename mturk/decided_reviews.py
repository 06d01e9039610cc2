"""What reviewers decided in the dashboard about submissions: rejections, bonuses and messages to execute.

A decision names our own visit, the endpoint its assignment; a decision on a visit of which nothing is collected waits.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from mturk import records
from mturk.bonuses import MTurkBonus
from mturk.collecting import APPROVED, REJECTED
from mturk.endpoints import MTurkEndpoint
from mturk.fees import format_money
from mturk.idempotent_calls import IdempotentMTurkCalls
from mturk.people import AnnotatorMessage, MessageDelivery, send
from mturk.receipts import SOURCE
from mturk.review_rules import LONGEST_REASON
from mturk.reviewing import check_reason
from spa.errors import PlatformError
from spa.platforms.bonuses import above_cap
from spa.platforms.review import decided_by_reviewers, proposed_rejection
from spa.responses.decisions import Decision, VisitDecisions
from spa.responses.store import Store

DECISION = "decision"  # begins the name of a bonus or message that a reviewer decided on
PAID_ALREADY = "approved already, and an approval cannot be taken back"


@dataclass(frozen=True, slots=True, kw_only=True)
class DecidedWork:
    """The work that reviewers decided on, with what stands of the decisions, and the decisions without any work yet."""

    works: tuple[tuple[records.Work, VisitDecisions], ...]
    waiting: tuple[VisitDecisions, ...]

    @property
    def waiting_rejections(self) -> int:
        """Proposals to reject that wait."""
        return sum(proposed_rejection(one) is not None for one in self.waiting)

    @property
    def waiting_bonuses(self) -> int:
        """Bonuses that wait."""
        return sum(len(one.bonuses) for one in self.waiting)

    @property
    def waiting_messages(self) -> int:
        """Messages that wait."""
        return sum(len(one.messages) for one in self.waiting)


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


def decided_bonuses(decided: DecidedWork) -> list[MTurkBonus]:
    """Return the bonuses that reviewers decided on; each decision is a purpose of its own, its note the reason."""
    return [
        MTurkBonus(
            mturk_assignment_id=work.mturk_assignment_id,
            amount=decision.amount,
            reason=decision.note or "",
            purpose=name_of(decision),
        )
        for work, decisions in decided.works
        for decision in decisions.bonuses
        if decision.amount is not None
    ]


def check_bonuses(
    bonuses: Iterable[MTurkBonus], decided: DecidedWork, rewards: Mapping[str, Decimal], cap: Decimal | None
) -> None:
    """Refuse amounts that are probably mistakes, and reasons that the protocol does not carry.

    Parameters
    ----------
    bonuses : iterable of MTurkBonus
        Those to be paid.
    decided : DecidedWork
        The work that they are for.
    rewards : mapping
        HIT -> its reward in dollars, which is the cap where none is given.
    cap : Decimal or None
        Most that one bonus may be, in dollars.

    Raises
    ------
    PlatformError
        One line for each; then none is to be paid.
    """
    hits = {work.mturk_assignment_id: work.hit_id for work, _ in decided.works}
    problems = []
    for bonus in bonuses:
        most = rewards[hits[bonus.mturk_assignment_id]] if cap is None else cap
        place = f"bonus for {bonus.mturk_assignment_id} ({bonus.purpose})"
        if bonus.amount > most:
            problems.append(above_cap(place, f"${format_money(bonus.amount)}", f"${format_money(most)}"))
        if len(bonus.reason) > LONGEST_REASON:
            problems.append(
                f"{place}: expected a note of at most {LONGEST_REASON} characters, which the annotator reads as the "
                f"reason, got {len(bonus.reason)}; undo the decision and decide again"
            )
    if problems:
        raise PlatformError(*problems)


def decided_messages(decided: DecidedWork, subject: str) -> list[tuple[records.Work, AnnotatorMessage]]:
    """Return the messages that reviewers decided on, and the work of those whom they are for."""
    return [
        (work, AnnotatorMessage(subject=subject, text=decision.note or "", name=name_of(decision)))
        for work, decisions in decided.works
        for decision in decisions.messages
    ]


def send_all(
    idempotent_calls: IdempotentMTurkCalls,
    endpoint: MTurkEndpoint,
    messages: Sequence[tuple[records.Work, AnnotatorMessage]],
    *,
    again: bool,
) -> Iterator[MessageDelivery]:
    """Send messages one by one, each once, and yield what became of each."""
    for work, message in messages:
        yield send(idempotent_calls, endpoint, message, [work], again=again)


def name_of(decision: Decision) -> str:
    """Return the name under which a decision is executed once.

    >>> name_of(Decision(submission_id="s1", action="approve", reviewer="Ana", decided_at=0, number=7))
    'decision 7'
    """
    return f"{DECISION} {decision.number}"
