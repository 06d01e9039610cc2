"""Review on any platform: what reviewers' decisions mean for approval, and the rules for rejections.

The dashboard shows the rules of the platform that a visit came from; the platform's own commands check them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

from spa.records.platforms import find_platform
from spa.responses.decisions import Decision, VisitDecisions
from spa.responses.store import Store
from spa.responses.two_reviewers import read_visit_decisions

PROPOSED = "a reviewer proposed a rejection"
Waiting = TypeVar("Waiting")  # as a platform has it


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewRules:
    """A platform's rules for rejecting submissions.

    ``categories`` are those that a rejection must name one of, ``shortest_message`` is in characters, and
    ``lines`` say in plain words what must be shown. ``commands`` execute what reviewers decided; in them
    STUDY stands for the study file. ``paid_bonuses`` returns the numbers of the decisions on bonuses that were paid.
    """

    platform: str
    categories: tuple[str, ...]  # none: the platform has no list of them
    shortest_message: int
    lines: tuple[str, ...]
    commands: tuple[str, ...]
    paid_bonuses: Callable[[Store], Collection[int]]


class WaitsFor(str):
    """Why a person must look: other reviewers decide first. Its text says so, ``reviewers`` are who."""

    __slots__ = ("reviewers",)
    reviewers: str

    def __new__(cls, reviewers: str) -> WaitsFor:  # noqa: D102
        found = super().__new__(cls, f"waits for {reviewers}")
        found.reviewers = reviewers
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewQueue(Generic[Waiting]):
    """Submissions that wait for review: those to approve, and those that a person must look at, with the reason."""

    approve: tuple[Waiting, ...]
    look_at: tuple[tuple[Waiting, str], ...]


def rules_for(source: str) -> ReviewRules | None:
    """Return the rules of the platform that visits of a source came from; ``None`` where it has none.

    >>> rules_for("link") is None
    True
    """
    platform = find_platform(source)
    if platform is None or platform.review_rules is None:
        return None
    rules = platform.review_rules()
    if not isinstance(rules, ReviewRules):
        raise TypeError(f"the platform {source}: expected ReviewRules, got {type(rules).__name__}")
    return rules


def decided_by_reviewers(store: Store) -> dict[str, VisitDecisions]:
    """Return the decisions in force by visit; where two reviewers decide, also the visits that wait for them."""
    with store.reading() as connection:
        return read_visit_decisions(connection)


def unpaid_bonuses(store: Store) -> list[Decision]:
    """Return reviewers' bonuses that no command has paid yet; none for visits without a platform."""
    decided = decided_by_reviewers(store)
    if not any(decisions.bonuses for decisions in decided.values()):
        return []
    sources = {visit.submission_id: visit.source for visit in store.visits.of_people()}
    rules = {source: rules_for(source) for source in sources.values()}
    paid = {source: own.paid_bonuses(store) for source, own in rules.items() if own is not None}
    return [
        bonus
        for submission_id, decisions in decided.items()
        for bonus in decisions.bonuses
        if (source := sources.get(submission_id)) in paid and bonus.number not in paid[source]
    ]


def proposed_rejection(decisions: VisitDecisions | None) -> Decision | None:
    """Return the reviewers' proposal to reject, if one is in force."""
    decision = None if decisions is None else decisions.payment
    return decision if decision is not None and decision.action == "propose_rejection" else None


def is_approved(decisions: VisitDecisions | None) -> bool:
    """Return whether a reviewer's approval is in force."""
    return decisions is not None and decisions.payment is not None and decisions.payment.action == "approve"


def reason_to_look(decisions: VisitDecisions | None, *, held: str | None, lacking: str | None) -> str | None:
    """Return why a person must look at a submission before it is approved; ``None`` if nobody needs to.

    A reviewer's approval outweighs missing answers, which the reviewer saw. It does not outweigh a doubt about who
    submitted or how often, which only the platform's records show.

    Parameters
    ----------
    decisions : VisitDecisions or None
        The decisions in force on the visit.
    held : str or None
        The doubt about who submitted, in words.
    lacking : str or None
        What is wrong with the answers, in words.

    Examples
    --------
    >>> approved = Decision(submission_id="s1", action="approve", reviewer="Ana", decided_at=0)
    >>> decisions = VisitDecisions(submission_id="s1", payment=approved)
    >>> [reason_to_look(one, held=None, lacking="no answers") for one in (decisions, None)]
    [None, 'no answers']
    >>> reason_to_look(decisions, held="twice", lacking=None)
    'twice'
    """
    if decisions is not None and decisions.awaits is not None:
        return WaitsFor(decisions.awaits)
    if proposed_rejection(decisions) is not None:
        return PROPOSED
    if held is not None:
        return held
    return None if is_approved(decisions) else lacking


def sort_for_approval(
    waiting: Iterable[tuple[str, Waiting, str | None]],
    *,
    also: Collection[str] = (),
    except_for: Collection[str] = (),
) -> ReviewQueue[Waiting]:
    """Sort submissions that wait for review: the platform's id, its submission, and why somebody must look.

    The reason is that of :func:`reason_to_look`; the ids in ``also`` are approved in any case, those in ``except_for``
    left out.

    >>> sort_for_approval([("a", 1, None), ("b", 2, "twice"), ("c", 3, None)], except_for=["c"])
    ReviewQueue(approve=(1,), look_at=((2, 'twice'),))
    """
    approve: list[Waiting] = []
    look_at: list[tuple[Waiting, str]] = []
    for name, submission, reason in waiting:
        if name in except_for:
            continue
        if reason is None or name in also:
            approve.append(submission)
        else:
            look_at.append((submission, reason))
    return ReviewQueue(approve=tuple(approve), look_at=tuple(look_at))


def lines_to_look_at(reasons: Iterable[tuple[str, str]]) -> list[str]:
    r"""Return a line for each submission that a person must look at, and one for all that wait for reviewers.

    ``reasons`` says who handed in what, and why somebody must look.

    >>> print(*lines_to_look_at([("a", "twice"), ("b", WaitsFor("two reviewers"))]), sep="\n")
    a: twice
    1 waits for two reviewers (spa dashboard); --json lists these, --also ID pays one nonetheless
    """
    listed = list(reasons)
    lines = [f"{name}: {reason}" for name, reason in listed if not isinstance(reason, WaitsFor)]
    awaited = Counter(reason.reviewers for _, reason in listed if isinstance(reason, WaitsFor))
    if awaited:
        counts = ", ".join(f"{n} {'waits' if n == 1 else 'wait'} for {who}" for who, n in sorted(awaited.items()))
        lines.append(f"{counts} (spa dashboard); --json lists these, --also ID pays one nonetheless")
    return lines
