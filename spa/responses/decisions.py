"""What reviewers decided about visits: a log that is only added to, and what stands after all of it.

A decision changes no answer and pays nobody. The analysis reads which visits are left out; a bridge's
commands read what is to be approved, proposed for rejection, paid or written, and carry it out.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from decimal import Decimal, InvalidOperation
from typing import Any, Literal, get_args

from sqlalchemy import Connection, Select, insert, select

from spa.errors import ResponseError
from spa.responses.store_schema import decisions, submissions

Awaited = Literal["two reviewers", "a second reviewer", "a third reviewer"]
Action = Literal["approve", "exclude", "include", "propose_rejection", "bonus", "message", "settle", "undo"]
ACTIONS: tuple[Action, ...] = get_args(Action)
WITH_NOTE = ("exclude", "propose_rejection", "bonus", "message", "settle")  # that nobody should have to guess
PAYMENT: tuple[Action, ...] = ("approve", "propose_rejection")  # the later of the two stands
ANALYSIS: tuple[Action, ...] = ("exclude", "include")
PROGRAM = "spa "  # begins the name of a command that logs what a platform did; it needs no second reviewer
LARGEST = 10_000  # of an amount; more is a typing mistake
LONGEST = 4000  # characters of a note


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """One entry of the log.

    ``rule`` names why (of a platform's rules for a rejection, of the reviewer's own for an exclusion), ``note``
    says it in words (of a message: its text), ``amount`` is in major units of the study's currency. To settle is to
    answer as a third where two reviewers of explanations differ.
    """

    submission_id: str
    action: Action
    reviewer: str
    decided_at: float  # seconds since 1970
    rule: str | None = None
    note: str | None = None
    amount: Decimal | None = None
    undoes: int | None = None
    number: int | None = None  # given by the log

    def __post_init__(self) -> None:
        """Refuse what nobody could act on."""
        place = f"decision on {self.submission_id!r}"
        if self.action not in ACTIONS:
            raise ResponseError(f"{place}: expected one of {', '.join(ACTIONS)}, got {self.action!r}")
        if not self.reviewer.strip():
            raise ResponseError(f"{place}: expected the name of who decides, got none")
        if self.action in WITH_NOTE and not (self.note or "").strip():
            raise ResponseError(f"{place}: {self.action} wants a note that says why, got none")
        if self.note is not None and len(self.note) > LONGEST:
            raise ResponseError(f"{place}: expected a note of at most {LONGEST} characters, got {len(self.note)}")
        if (self.action == "bonus") != (self.amount is not None):
            raise ResponseError(f"{place}: a bonus, and nothing else, has an amount; got {self.amount}")
        if self.amount is not None and not (self.amount.is_finite() and self.amount > 0):
            raise ResponseError(f"{place}: expected an amount above 0, got {self.amount}")
        if (self.action == "undo") != (self.undoes is not None):
            raise ResponseError(f"{place}: an undo, and nothing else, names the decision taken back")


@dataclass(frozen=True, slots=True, kw_only=True)
class VisitDecisions:
    """What stands of all decisions on one visit."""

    submission_id: str
    payment: Decision | None = None  # approve or propose_rejection
    exclusion: Decision | None = None  # None: the visit counts
    bonuses: tuple[Decision, ...] = ()
    messages: tuple[Decision, ...] = ()
    inclusion: Decision | None = None  # the decision that the visit counts, if there was one
    awaits: Awaited | None = None  # where two reviewers decide, who has not decided on pay yet

    @property
    def decisions(self) -> tuple[Decision, ...]:
        """All of them."""
        single = (self.payment, self.exclusion, self.inclusion)
        return (*(each for each in single if each is not None), *self.bonuses, *self.messages)


def parse_amount(text: str) -> Decimal:
    """Read an amount of money as written.

    >>> parse_amount("1.50")
    Decimal('1.50')
    """
    try:
        amount = Decimal(text.strip())
    except InvalidOperation:
        raise ResponseError(f"expected an amount such as 1.50, got {text!r}") from None
    if not amount.is_finite() or not 0 < amount <= LARGEST or -int(amount.as_tuple().exponent) > 2:
        raise ResponseError(f"expected an amount above 0 and up to {LARGEST}, two decimals at most, got {text!r}")
    return amount


def add_decision(connection: Connection, decision: Decision) -> int:
    """Add one decision to the log inside the caller's writing transaction and return its number.

    Raise ResponseError if there is no such visit, or an undo names a decision that is not this visit's or was undone
    already.
    """
    known = select(submissions.c.number).where(submissions.c.submission_id == decision.submission_id)
    if connection.scalar(known) is None:
        raise ResponseError(f"decision on {decision.submission_id!r}: no such visit in this store")
    if decision.action == "undo":
        _check_undo(connection, decision)
    values = {**asdict(decision), "amount": None if decision.amount is None else str(decision.amount)}
    del values["number"]
    number = connection.execute(insert(decisions).values(values)).inserted_primary_key
    assert number is not None
    return int(number[0])


def read_decisions(connection: Connection, submission_id: str | None = None) -> list[Decision]:
    """Return the log, oldest first, of one visit or of all."""
    query: Select[Any] = select(decisions).order_by(decisions.c.number)
    if submission_id is not None:
        query = query.where(decisions.c.submission_id == submission_id)
    return [
        Decision(**{**row._mapping, "amount": None if row.amount is None else Decimal(row.amount)})
        for row in connection.execute(query)
    ]


def visit_decisions(log: Iterable[Decision]) -> dict[str, VisitDecisions]:
    """Work out what stands after a log that is in order.

    >>> first = Decision(submission_id="s1", action="exclude", reviewer="Ana", decided_at=0, note="one key", number=1)
    >>> visit_decisions([first])["s1"].exclusion.note
    'one key'
    >>> back = Decision(submission_id="s1", action="undo", reviewer="Ana", decided_at=1, undoes=1, number=2)
    >>> visit_decisions([first, back])["s1"].exclusion is None
    True
    """
    listed = list(log)
    undone = {decision.undoes for decision in listed if decision.action == "undo"}
    by_visit: dict[str, list[Decision]] = {}
    for decision in listed:
        own = by_visit.setdefault(decision.submission_id, [])
        if decision.action != "undo" and decision.number not in undone:
            own.append(decision)
    return {visit: _in_force(visit, own) for visit, own in by_visit.items()}


def _in_force(visit: str, own: list[Decision]) -> VisitDecisions:
    payment = next((each for each in reversed(own) if each.action in PAYMENT), None)
    counting = next((each for each in reversed(own) if each.action in ANALYSIS), None)
    return VisitDecisions(
        submission_id=visit,
        payment=payment,
        exclusion=counting if counting is not None and counting.action == "exclude" else None,
        inclusion=counting if counting is not None and counting.action == "include" else None,
        bonuses=tuple(each for each in own if each.action == "bonus"),
        messages=tuple(each for each in own if each.action == "message"),
    )


def _check_undo(connection: Connection, decision: Decision) -> None:
    place = f"decision on {decision.submission_id!r}"
    taken_back = connection.execute(select(decisions).where(decisions.c.number == decision.undoes)).first()
    if taken_back is None or taken_back.submission_id != decision.submission_id:
        raise ResponseError(f"{place}: there is no decision number {decision.undoes} on this visit to undo")
    if taken_back.action == "undo":
        raise ResponseError(f"{place}: an undo cannot be undone; decide again instead")
    if taken_back.action == "settle" and taken_back.reviewer != decision.reviewer:
        raise ResponseError(f"{place}: expected an undo by {taken_back.reviewer}, who settled, got {decision.reviewer}")
    if connection.scalar(select(decisions.c.number).where(decisions.c.undoes == decision.undoes)) is not None:
        raise ResponseError(f"{place}: decision number {decision.undoes} was undone already")
