"""Two reviewers of each visit: who decided what without seeing the other, where they differ, what stands after a third.

The log of decisions stays the only record. Pay and analysis are two questions about a visit. The first two who answer
a question are its reviewers; where they differ a third settles it. A bonus or message stands once two people decided
on the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Literal

from sqlalchemy import Connection, select

from spa.errors import ResponseError
from spa.responses.database import note
from spa.responses.decisions import (
    ANALYSIS,
    PAYMENT,
    PROGRAM,
    Action,
    Awaited,
    Decision,
    VisitDecisions,
    add_decision,
    read_decisions,
    visit_decisions,
)
from spa.responses.store_schema import meta, submissions

Question = Literal["payment", "analysis"]
Status = Literal["waiting", "agreed", "conflict", "adjudicated"]
QUESTIONS: dict[Question, tuple[Action, ...]] = {"payment": PAYMENT, "analysis": ANALYSIS}
FACT = "reviewers"  # of the store: how many decide on each visit; 1 where absent


@dataclass(slots=True, kw_only=True)
class Review:
    """What reviewers decided on one question about one visit.

    ``answers`` holds each reviewer's decisions in force, oldest first, the two reviewers before the adjudicator.
    ``independent`` are the two decisions made before either reviewer saw the other's; nothing changes them later.
    """

    submission_id: str
    question: Question
    answers: dict[str, list[Decision]] = field(default_factory=dict)
    independent: tuple[Decision, Decision] | None = None

    @property
    def reviewers(self) -> tuple[str, ...]:
        """The first two who decided; only one, or none, as long as not both have."""
        if self.independent is not None:
            return tuple(each.reviewer for each in self.independent)
        return tuple(name for name, own in self.answers.items() if own)

    @property
    def adjudication(self) -> Decision | None:
        """What a third decided, in force."""
        third = [own[-1] for name, own in self.answers.items() if own and name not in self.reviewers]
        return third[0] if third else None

    @property
    def status(self) -> Status:
        """Where the question stands."""
        if self.adjudication is not None:
            return "adjudicated"
        actions = self._actions
        if len(actions) < 2:
            return "waiting"
        return "agreed" if actions[0] == actions[1] else "conflict"

    @property
    def awaits(self) -> Awaited | None:
        """Who is to decide next; ``None`` once the question is settled."""
        awaited: tuple[Awaited, ...] = ("two reviewers", "a second reviewer", "a third reviewer")
        return None if self.settled is not None else awaited[len(self._actions)]

    @property
    def _actions(self) -> list[Action]:
        return [own[-1].action for name in self.reviewers if (own := self.answers[name])]

    @property
    def settled(self) -> Decision | None:
        """The decision that stands: the adjudicator's, else the later of two that agree."""
        if self.status == "agreed":
            return max((self.answers[name][-1] for name in self.reviewers), key=_number)
        return self.adjudication

    def add(self, decision: Decision) -> None:
        """Follow the log by one decision on this question."""
        self.answers.setdefault(decision.reviewer, []).append(decision)
        if self.independent is None and len(self.reviewers) == 2:
            first, second = (self.answers[name][-1] for name in self.reviewers)
            self.independent = (first, second)

    def remove(self, number: int) -> None:
        """Follow the log by an undo; who has taken back all before the other decided is no reviewer any more."""
        for name, own in [*self.answers.items()]:
            own[:] = [each for each in own if each.number != number]
            if not own and self.independent is None:
                del self.answers[name]


def two_decide(connection: Connection) -> bool:
    """Return whether two reviewers decide on each visit of a store."""
    return connection.scalar(select(meta.c.value).where(meta.c.name == FACT)) == "2"


def let_decide(connection: Connection, reviewers: Literal[1, 2]) -> None:
    """Note how many reviewers decide on each visit; the log stays as it is."""
    note(connection, FACT, str(reviewers))


def reviews_of(log: Iterable[Decision]) -> list[Review]:
    """Follow a log that is in order, question by question, visits in the order in which they were decided on.

    >>> ana = Decision(submission_id="s1", action="approve", reviewer="Ana", decided_at=0, number=1)
    >>> [review.status for review in reviews_of([ana])]
    ['waiting']
    >>> ben = replace(ana, action="propose_rejection", reviewer="Ben", note="one key", number=2)
    >>> [review.status for review in reviews_of([ana, ben])]
    ['conflict']
    """
    found: dict[tuple[str, Question], Review] = {}
    for decision in log:
        if decision.reviewer.startswith(PROGRAM):
            continue
        for question, actions in QUESTIONS.items():
            place = (decision.submission_id, question)
            if decision.undoes is not None and place in found:
                found[place].remove(decision.undoes)
            elif decision.action in actions:
                found.setdefault(place, Review(submission_id=place[0], question=question)).add(decision)
    return [review for review in found.values() if review.answers]


def settled_decisions(log: Sequence[Decision], *, seen_by: str | None = None) -> dict[str, VisitDecisions]:
    """Return what stands, by visit, where two reviewers decide.

    That is what both or an adjudicator decided and what commands noted; ``seen_by`` a reviewer also that reviewer's
    own decisions on questions that are not settled.
    """
    reviews = reviews_of(log)
    undone = {each.undoes for each in log}
    kept = [
        *(each for each in log if each.reviewer.startswith(PROGRAM) and each.number not in undone),
        *_seconded(log),
    ]
    for review in reviews:
        own = [] if seen_by is None else review.answers.get(seen_by, [])
        decision = review.settled or (own[-1] if own else None)
        kept += [decision] if decision is not None else []
    found = visit_decisions(sorted((each for each in kept if each.action != "undo"), key=_number))
    for review in reviews:
        if review.question == "payment" and review.awaits is not None:
            known = found.get(review.submission_id, VisitDecisions(submission_id=review.submission_id))
            found[review.submission_id] = replace(known, awaits=review.awaits)
    return found


def visible_to(log: Sequence[Decision], reviewer: str | None) -> list[Decision]:
    """Return the entries that a reviewer may see: their own, and all about a question that two have decided.

    Bonuses and messages belong to the question of pay. Without a name only the latter are visible.
    """
    by_number = {each.number: each for each in log}
    decided = {(each.submission_id, each.question) for each in reviews_of(log) if each.independent is not None}

    def shown(decision: Decision) -> bool:
        action = by_number[decision.undoes].action if decision.undoes in by_number else decision.action
        question: Question = "analysis" if action in ANALYSIS else "payment"
        mine = decision.reviewer == reviewer or decision.reviewer.startswith(PROGRAM)
        return mine or (decision.submission_id, question) in decided

    return [each for each in log if shown(each)]


def read_visit_decisions(connection: Connection) -> dict[str, VisitDecisions]:
    """Return what stands, by visit.

    Where two reviewers decide, each visit of a person is in it, else only those that somebody decided on.
    """
    log = read_decisions(connection)
    if not two_decide(connection):
        return visit_decisions(log)
    found = settled_decisions(log)
    people = select(submissions.c.submission_id).where(submissions.c.annotator_kind == "human")
    for visit in connection.scalars(people):
        known = found.get(visit, VisitDecisions(submission_id=visit))
        if known.payment is None and known.awaits is None:
            found[visit] = replace(known, awaits="two reviewers")
    return found


def decide(connection: Connection, decision: Decision) -> int:
    """Add a reviewer's decision to the log inside the caller's writing transaction and return its number.

    Raises
    ------
    ResponseError
        Where two reviewers decide: if it would undo somebody else's decision, or a third decides where no two differ.
    """
    if two_decide(connection):
        visit = select(submissions.c.number).where(submissions.c.submission_id == decision.submission_id)
        connection.execute(visit.with_for_update())  # who decides on it at the same moment waits
        _check_role(decision, read_decisions(connection, decision.submission_id))
    return add_decision(connection, decision)


def _check_role(decision: Decision, log: list[Decision]) -> None:
    place = f"decision on {decision.submission_id!r}"
    if decision.reviewer.startswith(PROGRAM):
        raise ResponseError(f"{place}: expected the name of a person, got {decision.reviewer!r}")
    for each in log:
        if each.number == decision.undoes and each.reviewer != decision.reviewer:
            raise ResponseError(f"{place}: expected an undo of your own decision, got number {each.number}, not yours")
    for review in reviews_of(log):
        if decision.action not in QUESTIONS[review.question] or review.independent is None:
            continue
        if decision.reviewer in review.reviewers:
            continue
        named, third = " and ".join(review.reviewers), review.adjudication
        if third is not None and third.reviewer != decision.reviewer:
            raise ResponseError(f"{place}: {third.reviewer} has settled where {named} differ; nobody else decides")
        if review.status == "agreed":
            raise ResponseError(f"{place}: {named} agree on {review.question}; a third decides only where two differ")


def _seconded(log: Sequence[Decision]) -> list[Decision]:
    """Return bonuses and messages that two people decided on, each under the number of the first second.

    That number names the payment: whoever joins or leaves later, the same bonus is not paid again.
    """
    by_content: dict[tuple[str, Action, Decimal | None, str | None], list[Decision]] = {}
    for each in log:
        if each.action in ("bonus", "message") and not each.reviewer.startswith(PROGRAM):
            text = each.note if each.action == "message" else None
            by_content.setdefault((each.submission_id, each.action, each.amount, text), []).append(each)
    undone_at = {each.undoes: _number(each) for each in log if each.undoes is not None}
    end = max(map(_number, log), default=0)

    def in_force(own: list[Decision], moment: int) -> set[str]:
        return {each.reviewer for each in own if _number(each) <= moment < undone_at.get(_number(each), end + 1)}

    found = []
    for own in by_content.values():
        second = next((each for each in own if len(in_force(own, _number(each))) > 1), None)
        if second is not None and len(in_force(own, end)) > 1:
            found.append(second)
    return found


def _number(decision: Decision) -> int:
    return decision.number or 0
