"""Bonuses on Prolific: a batch is set up, which shows its cost, and then paid by one call.

Repeating that call would pay everybody again, so it is never repeated automatically. If it gets no response, the
bonuses are looked up on the platform; if that does not settle it, a person decides.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from decimal import ROUND_HALF_UP, Decimal
from hashlib import sha256
from itertools import groupby
from pathlib import Path
from typing import Any, Literal

from prolific.api.money import cents, major, money
from prolific.api.records import PAID, BonusBatch, SubmissionRecord
from prolific.collecting import SessionReconciliation
from prolific.idempotent_calls import IdempotentProlificCalls, UnknownOutcome
from prolific.prolific_study import ProlificStudy
from spa.errors import StudyError
from spa.journal import JournalEntry
from spa.platforms.bonuses import (
    Bonus,
    BonusPayer,
    BonusPayment,
    BonusRow,
    above_cap,
    decided_bonuses,
    read_bonus_rows,
)
from spa.platforms.idempotent_calls import Content, PlatformCall
from spa.platforms.review import decided_by_reviewers

ALL_SESSIONS = "all sessions completed"
PAY = "pay bonuses "  # then the batch
MOST_POLLS = 20
Settlement = Literal["paid", "unpaid"]  # what a person saw on the platform


class ProlificBonusPayer(BonusPayer):
    """Pays the bonuses of one study."""

    calls: IdempotentProlificCalls

    def __init__(self, prolific_study: ProlificStudy) -> None:
        super().__init__(prolific_study.idempotent_calls)
        self.prolific_study = prolific_study
        self.platform = prolific_study.platform

    def name(self, bonus: Bonus) -> str:
        """Return submission and purpose."""
        return f"{bonus.submission_id} {bonus.purpose}"

    def payments(self) -> Iterator[BonusPayment]:
        """Yield the calls of this study that paid a batch."""
        for entry in self.calls.entries():
            if entry.key.startswith(PAY):
                lines = json.loads(entry.request)["bonuses"]
                yield BonusPayment(entry=entry, amounts={line["name"]: major(line["amount"]) for line in lines})

    def groups(self, bonuses: Iterable[Bonus]) -> Iterator[Sequence[Bonus]]:
        """Yield the bonuses of each session, which make one batch."""
        ordered = sorted(bonuses, key=lambda bonus: bonus.session)
        for _, group in groupby(ordered, key=lambda bonus: bonus.session):
            yield tuple(group)

    def set_up(self, group: Sequence[Bonus]) -> BonusBatch:
        """Set up a batch of one session's bonuses and return its cost; nothing is paid.

        A set-up that got no response is repeated, since an unpaid batch costs nothing.
        """
        study_id = self.prolific_study.need_study(group[0].session)
        amounts: Counter[str] = Counter()
        for one in group:
            amounts[one.submission_id] += cents(one.amount)
        lines = sorted([self.name(one), cents(one.amount)] for one in group)
        digest = sha256(json.dumps([study_id, *lines]).encode()).hexdigest()

        def send() -> Content:
            return asdict(self.platform.payments.set_up_bonuses(study_id, amounts))

        request = {"study_id": study_id, "amounts": dict(amounts)}
        call = self.calls.new_call(f"set up bonuses {digest[:16]}", request, send=send, find=lambda entry: None)
        return BonusBatch(**self.calls.execute_call(call))

    def payment_call(self, group: Sequence[Bonus]) -> PlatformCall:
        """Return the call that pays a session's bonuses."""
        batch = self.set_up(group)
        request = {
            "batch_id": batch.batch_id,
            "bonuses": [
                {"name": self.name(one), "submission_id": one.submission_id, "amount": cents(one.amount)}
                for one in group
            ],
            "before": {one.submission_id: list(self._listed(one.submission_id)) for one in group},
        }
        return self._call(f"{PAY}{batch.batch_id}", request, total=batch.total, polls=MOST_POLLS)

    def settle(self, settlement: Settlement | None) -> None:
        """Settle payments that got no response by the bonuses on the platform, else by what a person saw there.

        Raises
        ------
        UnknownOutcome
            If the platform does not show all bonuses and no ``settlement`` is given.
        """
        for payment in self.in_doubt():
            entry = payment.entry
            self.calls.resolve_call(self._call(entry.key, json.loads(entry.request), settlement=settlement), entry)

    def count_unseen(self, entry: JournalEntry, polls: int = MOST_POLLS) -> int:
        """Return how many bonuses of a payment the platform does not show after up to ``polls`` looks."""
        request = json.loads(entry.request)
        amounts: Counter[str] = Counter()
        for line in request["bonuses"]:
            amounts[line["submission_id"]] += line["amount"]
        unseen = 0
        for number in range(polls):
            if number == 1:
                self.calls.announce("Prolific pays with a delay; waiting until the bonuses can be seen")
            if number:
                self.prolific_study.sleep(self.prolific_study.poll_seconds)
            before = request["before"]
            missing = {
                submission_id
                for submission_id, amount in amounts.items()
                if not (Counter(self._listed(submission_id)) - Counter(before.get(submission_id, [])))[amount]
            }
            unseen = sum(line["submission_id"] in missing for line in request["bonuses"])
            if not unseen:
                break
        return unseen

    def _call(
        self,
        key: str,
        request: Mapping[str, Any],
        *,
        total: int | None = None,
        polls: int = 1,
        settlement: Settlement | None = None,
    ) -> PlatformCall:
        """Return the call that pays a batch: sent once; if it gets no response, the bonuses are looked up."""

        def send() -> Content:
            self.platform.payments.pay_bonuses(request["batch_id"])
            return {"total": total}

        def find(entry: JournalEntry) -> Content | None:
            unseen, bonuses = self.count_unseen(entry, polls), len(request["bonuses"])
            if not unseen:
                return {"seen": "on the platform"}
            if settlement is None:
                raise UnknownOutcome(
                    f"Prolific: the payment of {bonuses} bonuses ({request['batch_id']}) got no answer, and the "
                    f"platform shows {bonuses - unseen} of them; it pays late, and twice when asked twice, so nothing "
                    "was sent again. Look at the study's bonuses on the platform in some minutes, then run the "
                    "command again, with --settle paid or --settle unpaid if it is still undecided"
                )
            return {"seen": f"a person says {settlement}"} if settlement == "paid" else None

        call = self.calls.new_call(key, request, send=send, find=find)
        absent_facts = {"seen": f"a person says {settlement}"}
        return replace(call, attempts=1, visible_after=0.0, absent_facts=absent_facts)

    def _listed(self, submission_id: str) -> tuple[int, ...]:
        return self.platform.submissions.fetch(submission_id).bonuses


def read_bonuses(path: Path, collected: Sequence[SessionReconciliation]) -> list[Bonus]:
    """Read a CSV file of bonuses with the columns recipient, amount (major units, such as 1.50) and reason.

    A recipient is a submission or a participant of the study, whose submissions are in ``collected``.

    Raises
    ------
    StudyError
        With one line for each mistake.
    """
    found, problems = [], []
    for row in read_bonus_rows(path, recipient="recipient"):
        try:
            found.append(_bonus(row, collected))
        except StudyError as error:
            problems += [f"{row.place}: {problem}" for problem in error.problems]
    if problems:
        raise StudyError(*problems)
    return found


def completion_bonuses(prolific_study: ProlificStudy, collected: Sequence[SessionReconciliation]) -> list[Bonus]:
    """Return the completion bonuses: a share of all rewards, for those who were paid for every session.

    Raises
    ------
    StudyError
        If the study has one session only or no such bonus.
    """
    percent, last = prolific_study.table.completion_bonus_percent, prolific_study.offer.sessions
    if percent is None or last < 2:
        raise StudyError(
            f"{prolific_study.file}: expected [prolific] completion_bonus_percent and [people] sessions of at least 2 "
            "for a completion bonus"
        )
    by_session: dict[int, dict[str, SubmissionRecord]] = {}
    for one in collected:
        paid = [record for record in one.records if record.status in PAID and _answered(one, record)]
        by_session[one.session] = {record.participant_id: record for record in paid}
    if set(by_session) != set(range(1, last + 1)):
        return []
    found = []
    for person, record in by_session[last].items():
        if all(person in by_session[session] for session in range(1, last)):
            rewards = sum(by_session[session][person].reward or prolific_study.offer.reward for session in by_session)
            share = (Decimal(rewards) * Decimal(str(percent)) / 100).quantize(Decimal(1), rounding=ROUND_HALF_UP)
            found.append(
                Bonus(
                    submission_id=record.submission_id,
                    amount=major(int(share)),
                    purpose=ALL_SESSIONS,
                    reason=ALL_SESSIONS,
                    session=last,
                )
            )
    return found


def bonuses_of_reviewers(prolific_study: ProlificStudy, collected: Sequence[SessionReconciliation]) -> list[Bonus]:
    """Return the bonuses that reviewers decided on in the dashboard."""
    decisions = decided_by_reviewers(prolific_study.store)
    found = [bonus for one in collected for bonus in decided_bonuses(one.decided(decisions), session=one.session)]
    return [replace(bonus, purpose=f"{bonus.purpose}: {bonus.reason}") for bonus in found]


def check_bonuses(bonuses: Iterable[Bonus], *, cap: Decimal, currency: str) -> None:
    """Refuse amounts above the cap, and the same bonus twice in one list.

    Raises
    ------
    StudyError
        With one line for each mistake.
    """
    problems, seen = [], set()
    for one in bonuses:
        place = f"bonus for {one.submission_id}"
        if one.amount > cap:
            problems.append(above_cap(place, money(cents(one.amount), currency), money(cents(cap), currency)))
        if (one.submission_id, one.purpose) in seen:
            problems.append(f"{place}: the reason {one.purpose!r} is listed twice; remove one")
        seen.add((one.submission_id, one.purpose))
    if problems:
        raise StudyError(*problems)


def _answered(one: SessionReconciliation, record: SubmissionRecord) -> bool:
    visit = one.visit(record.submission_id)
    return visit is not None and visit.completed


def _bonus(row: BonusRow, collected: Sequence[SessionReconciliation]) -> Bonus:
    matching = [
        (one.session, record)
        for one in collected
        for record in one.records
        if row.recipient in (record.submission_id, record.participant_id)
    ]
    if len(matching) != 1:
        found = "did not take part" if not matching else f"took part {len(matching)} times; name the submission"
        raise StudyError(f"recipient {row.recipient!r} {found}")
    session, record = matching[0]
    reason = " ".join(row.reason.split())
    return Bonus(submission_id=record.submission_id, amount=row.amount, purpose=reason, reason=reason, session=session)
