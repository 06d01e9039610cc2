"""Bonuses on any platform: reading them from files and reviewers' decisions, and paying each once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from spa.errors import NoRows, ResponseError, StudyError, TableError
from spa.journal import STARTED, JournalEntry
from spa.platforms.idempotent_calls import DONE, IdempotentCalls, PlatformCall
from spa.responses.decisions import Decision, VisitDecisions, parse_amount
from spa.tables.options import TableOptions
from spa.tables.paths import as_text
from spa.tables.reading import open_table, reading
from spa.tables.source import Wanted

DECISION = "decision"  # begins the name of what a reviewer decided on


@dataclass(frozen=True, slots=True, kw_only=True)
class Bonus:
    """An amount in major units for one submission of a platform, which gets one bonus for each purpose."""

    submission_id: str  # the platform's
    amount: Decimal
    purpose: str
    reason: str  # as the recipient reads it, where the platform shows it
    session: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class BonusPayment:
    """A journal entry that pays bonuses, and their amounts in major units by name."""

    entry: JournalEntry
    amounts: Mapping[str, Decimal]


class BonusPayer(ABC):
    """Pays bonuses on one platform, each once; a subclass defines how they are named, grouped and paid."""

    def __init__(self, calls: IdempotentCalls) -> None:
        self.calls = calls

    @abstractmethod
    def name(self, bonus: Bonus) -> str:
        """Return the name of a bonus in the journal."""

    @abstractmethod
    def payments(self) -> Iterator[BonusPayment]:
        """Yield all payments in the journal, the oldest first."""

    @abstractmethod
    def groups(self, bonuses: Iterable[Bonus]) -> Iterator[Sequence[Bonus]]:
        """Yield the bonuses that are paid together."""

    @abstractmethod
    def payment_call(self, group: Sequence[Bonus]) -> PlatformCall:
        """Return the call that pays a group."""

    def paid(self) -> dict[str, Decimal]:
        """Return the amounts of all bonuses that are known to be paid, by name."""
        done = (payment.amounts for payment in self.payments() if payment.entry.outcome == DONE)
        return {name: amount for amounts in done for name, amount in amounts.items()}

    def in_doubt(self) -> tuple[BonusPayment, ...]:
        """Return the payments for which it is unknown whether they took effect."""
        return tuple(payment for payment in self.payments() if payment.entry.outcome == STARTED)

    def unpaid(self, bonuses: Iterable[Bonus]) -> tuple[Bonus, ...]:
        """Return the bonuses that are not known to be paid."""
        paid = self.paid()
        return tuple(bonus for bonus in bonuses if self.name(bonus) not in paid)

    def pay(self, bonuses: Iterable[Bonus]) -> Iterator[Bonus]:
        """Pay bonuses group by group, each once, and yield those paid.

        Raises
        ------
        PlatformError
            If the platform refuses, or it remains unknown whether a payment took effect.
        """
        for group in self.groups(bonuses):
            self.calls.execute_call(self.payment_call(group))
            yield from group


def decision_name(decision: Decision) -> str:
    """Return the name of a reviewer's decision, under which it is executed once.

    >>> decision_name(Decision(submission_id="s1", action="approve", reviewer="Ana", decided_at=0, number=7))
    'decision 7'
    """
    return f"{DECISION} {decision.number}"


def decided_bonuses(decided: Iterable[tuple[str, VisitDecisions]], *, session: int = 1) -> list[Bonus]:
    """Return the bonuses that reviewers decided on for a platform's submissions in a session.

    Each decision is a purpose of its own, its note the reason.
    """
    return [
        Bonus(
            submission_id=submission_id,
            amount=decision.amount,
            purpose=decision_name(decision),
            reason=decision.note or "",
            session=session,
        )
        for submission_id, decisions in decided
        for decision in decisions.bonuses
        if decision.amount is not None
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class BonusRow:
    """One row of a list of bonuses, the amount in major units."""

    recipient: str
    amount: Decimal
    reason: str  # as written
    purpose: str | None = None
    place: str  # file and line


def read_bonus_rows(path: Path, *, recipient: str) -> list[BonusRow]:
    """Read a table with the columns ``recipient`` names, amount and reason, and purpose where it varies.

    Raise StudyError with one line for each mistake.
    """
    columns = (recipient, "amount", "reason")
    expected = f"{path}: expected the columns {', '.join(columns)} and at least one bonus, got"
    try:
        with reading(path):
            source = open_table(path, Wanted(columns=frozenset({*columns, "purpose"}), guarded=False), TableOptions())
            values = {name: source.values(name) for name in (*columns, "purpose") if name in source.schema}
    except NoRows as error:
        raise StudyError(f"{expected} nothing") from error
    except TableError as error:
        raise StudyError(*error.problems) from error
    if missing := [name for name in columns if name not in values]:
        raise StudyError(f"{expected} no {', '.join(missing)}")
    given = [(number, row) for number, *row in zip(source.numbers(), *values.values(), strict=True) if any(row)]
    if not given:
        raise StudyError(f"{expected} a header alone")
    found, problems = [], []
    for number, row in given:
        place = f"{path} row {number}"
        cells = {"purpose": ""} | {name: as_text(cell) or "" for name, cell in zip(values, row, strict=True)}
        try:
            found.append(
                BonusRow(
                    recipient=_present(cells, recipient).strip(),
                    amount=parse_amount(cells["amount"]),
                    reason=_present(cells, "reason"),
                    purpose=cells["purpose"].strip() or None,
                    place=place,
                )
            )
        except (StudyError, ResponseError) as error:
            problems += [f"{place}: {problem}" for problem in error.problems]
    if problems:
        raise StudyError(*problems)
    return found


def above_cap(place: str, amount: str, cap: str) -> str:
    """Return the line that refuses an amount which is probably a mistake."""
    return f"{place}: {amount} is above the cap of {cap}; is it in major units? Raise the cap with --cap if it is meant"


def _present(cells: dict[str, str], name: str) -> str:
    if not cells[name].strip():
        raise StudyError(f"expected {'an' if name[0] in 'aeiou' else 'a'} {name}, got none")
    return cells[name]
