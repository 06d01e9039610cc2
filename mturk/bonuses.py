"""Bonuses over the MTurk protocol, each paid by its own call."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

from mturk.collecting import worker_of
from mturk.fees import CostWithFees, FeeRules, bonus_fee, format_money, parse_money
from mturk.idempotent_calls import IdempotentMTurkCalls, written
from mturk.replies import entries
from mturk.review_rules import LONGEST_REASON
from spa.errors import PlatformError
from spa.journal import STARTED
from spa.platforms.bonuses import Bonus, BonusPayer, BonusPayment, above_cap, read_bonus_rows
from spa.platforms.idempotent_calls import DONE, PlatformCall

BONUSES = "bonuses"  # scope of the journal


def bonuses_of(named: Sequence[str], amount: str, reason: str, purpose: str) -> list[Bonus]:
    """Return the same bonus for several submissions.

    Raises
    ------
    PlatformError
        If the amount or the reason is not valid.
    """
    dollars = parse_money(amount)
    if dollars <= 0:
        raise PlatformError(f"bonus, --amount: expected more than nothing, got {amount}")
    if not reason.strip():
        raise PlatformError("bonus, --reason: expected a reason, which the annotator reads, got none")
    return [Bonus(submission_id=one, amount=dollars, reason=reason, purpose=purpose) for one in dict.fromkeys(named)]


def read_bonuses(path: Path, purpose: str) -> list[Bonus]:
    """Read bonuses from a CSV file with the columns assignment, amount and reason, and purpose where it varies.

    Raises
    ------
    StudyError
        One line for each mistake.
    """
    return [
        Bonus(submission_id=row.recipient, amount=row.amount, reason=row.reason, purpose=row.purpose or purpose)
        for row in read_bonus_rows(path, recipient="assignment")
    ]


def bonus_cost(bonuses: Iterable[Bonus], rules: FeeRules) -> CostWithFees:
    """Return what bonuses cost, in dollars."""
    return CostWithFees.of((bonus.amount, bonus_fee(bonus.amount, rules=rules)) for bonus in bonuses)


class MTurkBonusPayer(BonusPayer):
    """Pays bonuses at one endpoint."""

    calls: IdempotentMTurkCalls

    def name(self, bonus: Bonus) -> str:
        """Return the key of its call."""
        return f"bonus/{bonus.submission_id}/{bonus.purpose}"

    def payments(self) -> Iterator[BonusPayment]:
        """Yield the calls of this endpoint, each for one bonus."""
        for entry in self.calls.entries(BONUSES):
            yield BonusPayment(entry=entry, amounts={entry.key: Decimal(json.loads(entry.request)["BonusAmount"])})

    def groups(self, bonuses: Iterable[Bonus]) -> Iterator[Sequence[Bonus]]:
        """Yield each bonus alone."""
        yield from ([bonus] for bonus in bonuses)

    def payment_call(self, group: Sequence[Bonus]) -> PlatformCall:
        """Return the call that pays one bonus; its token makes the endpoint recognise a repeat."""
        (bonus,) = group
        endpoint = self.calls.endpoint
        return self.calls.new_call(
            scope=BONUSES,
            key=self.name(bonus),
            method=endpoint.client_without_retries.send_bonus,
            request=_request(bonus),
            hidden={"WorkerId": worker_of(endpoint, bonus.submission_id)},
            find=partial(self._find, bonus),
        )

    def unpaid(self, bonuses: Iterable[Bonus]) -> tuple[Bonus, ...]:
        """Return the bonuses that are not known to be paid.

        Raises
        ------
        PlatformError
            If another amount or reason was given for the same submission and purpose before, or one is named twice.
        """
        bonuses = list(bonuses)
        if len({self.name(bonus) for bonus in bonuses}) < len(bonuses):
            raise PlatformError("bonus: a submission is named twice for one purpose; give a --purpose to each")
        sent = {payment.entry.key: payment.entry for payment in self.payments()}
        for bonus in bonuses:
            last = sent.get(self.name(bonus))
            if last is not None and last.outcome in (DONE, STARTED) and last.request != written(_request(bonus)):
                raise PlatformError(
                    f"bonus for {bonus.submission_id}: {last.request} was sent for {bonus.purpose!r} before; "
                    "repeat it as it was, or give a further bonus another --purpose"
                )
        return super().unpaid(bonuses)

    def _find(self, bonus: Bonus, token: str) -> Mapping[str, Any] | None:
        """Return a reply if the endpoint lists an equal bonus that no finished call of ours accounts for."""
        endpoint, submission_id = self.calls.endpoint, bonus.submission_id
        listed = [
            payment
            for payment in entries(endpoint.reading, "list_bonus_payments", "BonusPayments", AssignmentId=submission_id)
            if parse_money(str(payment["BonusAmount"])) == bonus.amount and payment.get("Reason") == bonus.reason
        ]
        request = written(_request(bonus))
        ours = [one for one in self.calls.entries(BONUSES) if one.outcome == DONE and one.request == request]
        return {} if len(listed) > len(ours) else None


def check_bonuses(bonuses: Iterable[Bonus], caps: Mapping[str, Decimal]) -> None:
    """Refuse amounts above the caps (by submission, in dollars), and reasons that are too long for the protocol.

    Raises
    ------
    PlatformError
        One line for each; then none is to be paid.
    """
    problems = []
    for bonus in bonuses:
        cap, place = caps[bonus.submission_id], f"bonus for {bonus.submission_id} ({bonus.purpose})"
        if bonus.amount > cap:
            problems.append(above_cap(place, f"${format_money(bonus.amount)}", f"${format_money(cap)}"))
        if len(bonus.reason) > LONGEST_REASON:
            problems.append(
                f"{place}: expected a note of at most {LONGEST_REASON} characters, which the annotator reads as the "
                f"reason, got {len(bonus.reason)}; undo the decision and decide again"
            )
    if problems:
        raise PlatformError(*problems)


def _request(bonus: Bonus) -> dict[str, Any]:
    return {
        "AssignmentId": bonus.submission_id,
        "BonusAmount": format_money(bonus.amount),
        "Reason": bonus.reason,
    }
