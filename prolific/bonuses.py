"""Who is to get which bonus and why: read from a file, from reviewers' decisions, or for having done all sessions.

A bonus is one submission, one amount and one reason; the same submission gets a bonus for the same reason once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

from prolific.api.money import cents, money
from prolific.api.records import PAID, SubmissionRecord
from prolific.collecting import SessionReconciliation
from prolific.prolific_study import ProlificStudy
from spa.errors import StudyError
from spa.platforms.bonuses import BonusRow, above_cap, read_bonus_rows
from spa.platforms.review import decided_by_reviewers

ALL_SESSIONS = "all sessions completed"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProlificBonus:
    """One bonus; the amount in cents."""

    session: int
    submission_id: str
    participant_id: str
    amount: int
    reason: str

    @property
    def name(self) -> str:
        """Return what makes it one bonus."""
        return f"{self.submission_id} {self.reason}"


def read_bonuses(path: Path, collected: Sequence[SessionReconciliation]) -> tuple[ProlificBonus, ...]:
    """Read a list of bonuses.

    Parameters
    ----------
    path : Path
        CSV with the columns recipient (a submission or a participant of the study), amount (major units,
        such as 1.50) and reason.
    collected : sequence of SessionReconciliation
        The sessions' submissions.

    Raises
    ------
    StudyError
        One line a mistake.
    """
    found, problems = [], []
    for row in read_bonus_rows(path, recipient="recipient"):
        try:
            found.append(_bonus(row, collected))
        except StudyError as error:
            problems += [f"{row.place}: {problem}" for problem in error.problems]
    if problems:
        raise StudyError(*problems)
    return tuple(found)


def completion_bonuses(
    prolific_study: ProlificStudy, collected: Sequence[SessionReconciliation]
) -> tuple[ProlificBonus, ...]:
    """Return the bonuses of those who were paid for every session, a share of all their rewards.

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
        return ()
    found = []
    for person, record in by_session[last].items():
        if all(person in by_session[session] for session in range(1, last)):
            rewards = sum(by_session[session][person].reward or prolific_study.offer.reward for session in by_session)
            share = (Decimal(rewards) * Decimal(str(percent)) / 100).quantize(Decimal(1), rounding=ROUND_HALF_UP)
            found.append(
                ProlificBonus(
                    session=last,
                    submission_id=record.submission_id,
                    participant_id=person,
                    amount=int(share),
                    reason=ALL_SESSIONS,
                )
            )
    return tuple(found)


def decided_bonuses(
    prolific_study: ProlificStudy, collected: Sequence[SessionReconciliation]
) -> tuple[ProlificBonus, ...]:
    """Return the bonuses that reviewers decided on in the dashboard."""
    decisions = decided_by_reviewers(prolific_study.store)
    found = []
    for one in collected:
        by_id = {record.submission_id: record for record in one.records}
        for visit in one.visits:
            record = by_id.get(visit.external_id or "")
            if record is None or visit.submission_id not in decisions:
                continue
            for decision in decisions[visit.submission_id].bonuses:
                if decision.amount is not None:
                    found.append(
                        ProlificBonus(
                            session=one.session,
                            submission_id=record.submission_id,
                            participant_id=record.participant_id,
                            amount=cents(decision.amount),
                            reason=f"decision {decision.number}: {decision.note}",
                        )
                    )
    return tuple(found)


def check_bonuses(bonuses: Iterable[ProlificBonus], *, cap: int, currency: str) -> None:
    """Refuse amounts that are probably mistakes, and the same bonus twice in one list.

    Raises
    ------
    StudyError
        One line a mistake.
    """
    problems, seen = [], set()
    for one in bonuses:
        if one.amount > cap:
            problems.append(
                above_cap(f"bonus for {one.submission_id}", money(one.amount, currency), money(cap, currency))
            )
        if one.name in seen:
            problems.append(f"bonus for {one.submission_id}: the reason {one.reason!r} is listed twice; remove one")
        seen.add(one.name)
    if problems:
        raise StudyError(*problems)


def _answered(one: SessionReconciliation, record: SubmissionRecord) -> bool:
    visit = one.visit(record.submission_id)
    return visit is not None and visit.completed


def _bonus(row: BonusRow, collected: Sequence[SessionReconciliation]) -> ProlificBonus:
    matching = [
        (one.session, record)
        for one in collected
        for record in one.records
        if row.recipient in (record.submission_id, record.participant_id)
    ]
    if len(matching) != 1:
        told = "did not take part" if not matching else f"took part {len(matching)} times; name the submission"
        raise StudyError(f"recipient {row.recipient!r} {told}")
    session, record = matching[0]
    return ProlificBonus(
        session=session,
        submission_id=record.submission_id,
        participant_id=record.participant_id,
        amount=cents(row.amount),
        reason=" ".join(row.reason.split()),
    )
