"""Bonuses: a submission gets one for each purpose, once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

from mturk.collecting import worker_of
from mturk.endpoints import MTurkEndpoint
from mturk.fees import FeeRules, bonus_fee, format_money, parse_money
from mturk.idempotent_calls import KIND, IdempotentCall, IdempotentMTurkCalls, written
from mturk.replies import pages
from spa.errors import PlatformError
from spa.journal import STARTED
from spa.platforms.bonuses import read_bonus_rows
from spa.platforms.idempotent_calls import DONE

BONUSES = "bonuses"  # scope of the journal


@dataclass(frozen=True, slots=True, kw_only=True)
class MTurkBonus:
    """An amount of dollars for whoever handed in a submission."""

    mturk_assignment_id: str
    amount: Decimal
    reason: str  # the annotator reads it
    purpose: str = "bonus"  # a second bonus for the same submission needs another

    @property
    def key(self) -> str:
        """Its name in the journal."""
        return f"bonus/{self.mturk_assignment_id}/{self.purpose}"


@dataclass(frozen=True, slots=True, kw_only=True)
class BonusCost:
    """What bonuses cost, in dollars."""

    bonuses: tuple[MTurkBonus, ...]
    amounts: Decimal
    fees: Decimal

    @property
    def total(self) -> Decimal:
        """Amounts and fees together."""
        return self.amounts + self.fees


def bonuses_of(named: Sequence[str], amount: str, reason: str, purpose: str) -> list[MTurkBonus]:
    """Return the same bonus for several submissions.

    Raises
    ------
    PlatformError
        If the amount or the reason cannot be paid with.
    """
    dollars = parse_money(amount)
    if dollars <= 0:
        raise PlatformError(f"bonus, --amount: expected more than nothing, got {amount}")
    if not reason.strip():
        raise PlatformError("bonus, --reason: expected a reason, which the annotator reads, got none")
    return [
        MTurkBonus(mturk_assignment_id=one, amount=dollars, reason=reason, purpose=purpose)
        for one in dict.fromkeys(named)
    ]


def read_bonuses(path: Path, purpose: str) -> list[MTurkBonus]:
    """Read bonuses from a CSV file with the columns assignment, amount and reason, and purpose where it varies.

    Raises
    ------
    StudyError
        One line for each mistake.
    """
    return [
        MTurkBonus(
            mturk_assignment_id=row.recipient, amount=row.amount, reason=row.reason, purpose=row.purpose or purpose
        )
        for row in read_bonus_rows(path, recipient="assignment")
    ]


class Payer:
    """Pays bonuses at one endpoint."""

    def __init__(self, idempotent_calls: IdempotentMTurkCalls, endpoint: MTurkEndpoint) -> None:
        self.idempotent_calls = idempotent_calls
        self.endpoint = endpoint
        self.scope = f"{BONUSES} {endpoint.origin}"

    def unpaid(self, bonuses: Iterable[MTurkBonus], rules: FeeRules) -> BonusCost:
        """Return those not paid yet, and what they cost.

        Raises
        ------
        PlatformError
            If another amount or reason was given for the same submission and purpose before, or one is named twice.
        """
        wanted = list(bonuses)
        if len({bonus.key for bonus in wanted}) < len(wanted):
            raise PlatformError("bonus: a submission is named twice for one purpose; give a --purpose to each")
        left = tuple(bonus for bonus in wanted if not self._is_paid(bonus))
        return BonusCost(
            bonuses=left,
            amounts=sum((bonus.amount for bonus in left), Decimal("0.00")),
            fees=sum((bonus_fee(bonus.amount, rules=rules) for bonus in left), Decimal("0.00")),
        )

    def pay(self, bonuses: Iterable[MTurkBonus]) -> Iterator[MTurkBonus]:
        """Pay bonuses one by one, each once; yields those paid."""
        for bonus in bonuses:
            worker_id = worker_of(self.endpoint, bonus.mturk_assignment_id)
            self.idempotent_calls.execute(
                IdempotentCall(
                    scope=self.scope,
                    key=bonus.key,
                    method=self.endpoint.client_without_retries.send_bonus,
                    request=_request(bonus),
                    hidden={"WorkerId": worker_id},
                    find=partial(self._find, bonus),
                )
            )
            yield bonus

    def interrupted(self, wanted: Iterable[MTurkBonus]) -> tuple[str, ...]:
        """Return the journal's names of bonuses whose payment was interrupted and that are no longer wanted."""
        still = {bonus.key for bonus in wanted}
        last = {call.key: call.outcome for call in self.idempotent_calls.journal.calls(KIND, self.scope)}
        return tuple(key for key, outcome in last.items() if outcome == STARTED and key not in still)

    def _is_paid(self, bonus: MTurkBonus) -> bool:
        calls = self.idempotent_calls.journal.calls(KIND, self.scope, bonus.key)
        if not calls or calls[-1].outcome not in (DONE, STARTED):
            return False
        if calls[-1].request != written(_request(bonus)):
            raise PlatformError(
                f"bonus for {bonus.mturk_assignment_id}: {calls[-1].request} was sent for {bonus.purpose!r} before; "
                "repeat it as it was, or give a further bonus another --purpose"
            )
        return calls[-1].outcome == DONE

    def _find(self, bonus: MTurkBonus, token: str) -> Mapping[str, Any] | None:
        """Look whether a bonus is listed that no finished call of ours accounts for."""
        listed = [
            payment
            for page in pages(self.endpoint.reading, "list_bonus_payments", AssignmentId=bonus.mturk_assignment_id)
            for payment in page["BonusPayments"]
            if parse_money(str(payment["BonusAmount"])) == bonus.amount and payment.get("Reason") == bonus.reason
        ]
        ours = [
            call
            for call in self.idempotent_calls.journal.calls(KIND, self.scope)
            if call.outcome == DONE and call.request == written(_request(bonus))
        ]
        return {} if len(listed) > len(ours) else None


def _request(bonus: MTurkBonus) -> dict[str, Any]:
    return {
        "AssignmentId": bonus.mturk_assignment_id,
        "BonusAmount": format_money(bonus.amount),
        "Reason": bonus.reason,
    }
