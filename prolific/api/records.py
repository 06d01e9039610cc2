"""Records of the API's objects; fields that the API names in two ways have one name here."""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from prolific.api.problems import ProlificError

RESERVED = "RESERVED"
ACTIVE = "ACTIVE"
AWAITING_REVIEW = "AWAITING REVIEW"
APPROVED = "APPROVED"
PARTIALLY_APPROVED = "PARTIALLY APPROVED"
RETURNED = "RETURNED"
REJECTED = "REJECTED"
TIMED_OUT = "TIMED-OUT"
SCREENED_OUT = "SCREENED OUT"
PAID = frozenset({APPROVED, PARTIALLY_APPROVED})
KNOWN = PAID | {RESERVED, ACTIVE, AWAITING_REVIEW, "PROCESSING", RETURNED, REJECTED, TIMED_OUT, SCREENED_OUT}
UNPUBLISHED = "UNPUBLISHED"


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyRecord:
    """A study on the platform."""

    study_id: str
    internal_name: str
    status: str  # UNPUBLISHED, PUBLISHING, SCHEDULED, ACTIVE, PAUSED, AWAITING REVIEW, COMPLETED
    places: int
    places_taken: int
    reward: int  # cents

    @property
    def draft(self) -> bool:
        """Whether it has not been published."""
        return self.status == UNPUBLISHED


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmissionRecord:
    """A participant's visit as the platform has it."""

    submission_id: str
    participant_id: str
    study_id: str | None  # None in lists that leave it out
    status: str
    started_at: float | None  # seconds since 1970
    completed_at: float | None
    code: str | None  # what was entered
    return_requested: bool
    bonuses: tuple[int, ...]  # cents
    reward: int | None  # cents

    @property
    def seconds(self) -> float | None:
        """Duration of the visit by the platform's clock."""
        if self.started_at is None or self.completed_at is None:
            return None
        return max(0.0, self.completed_at - self.started_at)


@dataclass(frozen=True, slots=True, kw_only=True)
class BonusBatch:
    """A batch of bonuses that is set up but not paid; amounts in cents."""

    batch_id: str
    amount: int
    fees: int
    vat: int
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceBalance:
    """The money of a workspace, in cents."""

    currency: str
    available: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PayRates:
    """Minimum and recommended hourly pay, in cents."""

    minimum: int
    recommended: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ParticipantFilter:
    """A property that participants can be chosen by."""

    filter_id: str
    title: str
    question: str
    kind: str  # select or range
    choices: Mapping[str, str]  # id of a choice -> its name
    lower: Any
    upper: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Subscription:
    """A webhook subscription: events of one type are posted to a URL."""

    subscription_id: str
    event_type: str
    target_url: str
    enabled: bool


def study_from(row: Mapping[str, Any]) -> StudyRecord:
    """Read a study."""
    return StudyRecord(
        study_id=_text(row, "id"),
        internal_name=str(row.get("internal_name") or ""),
        status=str(row.get("status") or "UNKNOWN"),
        places=_whole(row, "total_available_places", 0),
        places_taken=_whole(row, "places_taken", 0),
        reward=_whole(row, "reward", 0),
    )


def submission_from(row: Mapping[str, Any]) -> SubmissionRecord:
    """Read a submission from a list's row or from its own record, which use different names."""
    study = row.get("study_id") or row.get("study")
    reward = row.get("reward")
    code = row.get("entered_code", row.get("study_code"))
    return SubmissionRecord(
        submission_id=_text(row, "id"),
        participant_id=str(row.get("participant_id") or row.get("participant") or ""),
        study_id=study if isinstance(study, str) else None,
        status=normal_status(_text(row, "status")),
        started_at=_instant(row.get("started_at")),
        completed_at=_instant(row.get("completed_at")),
        code=None if code is None else str(code),
        return_requested=row.get("return_requested") is not None,
        bonuses=_amounts(row.get("bonus_payments")),
        reward=None if reward is None else _whole(row, "reward", 0),
    )


def normal_status(status: str) -> str:
    """Return a submission's status as the platform's records spell it.

    >>> normal_status("AWAITING_REVIEW"), normal_status("TIMED_OUT"), normal_status("TIMED-OUT")
    ('AWAITING REVIEW', 'TIMED-OUT', 'TIMED-OUT')
    """
    spaced = status.replace("_", " ").upper()
    return TIMED_OUT if spaced == "TIMED OUT" else spaced


def batch_from(row: Mapping[str, Any]) -> BonusBatch:
    """Read bonuses that were set up."""
    return BonusBatch(
        batch_id=_text(row, "id"),
        amount=_whole(row, "amount", 0),
        fees=_whole(row, "fees", 0),
        vat=_whole(row, "vat", 0),
        total=_whole(row, "total_amount"),
    )


def filter_from(row: Mapping[str, Any]) -> ParticipantFilter:
    """Read a filter."""
    choices = row.get("choices")
    return ParticipantFilter(
        filter_id=_text(row, "filter_id"),
        title=str(row.get("title") or ""),
        question=str(row.get("question") or ""),
        kind=str(row.get("type") or ""),
        choices={str(key): str(name) for key, name in choices.items()} if isinstance(choices, dict) else {},
        lower=row.get("min"),
        upper=row.get("max"),
    )


def subscription_from(row: Mapping[str, Any]) -> Subscription:
    """Read a webhook's subscription."""
    return Subscription(
        subscription_id=_text(row, "id"),
        event_type=str(row.get("event_type") or ""),
        target_url=str(row.get("target_url") or ""),
        enabled=row.get("is_enabled") is not False,
    )


def whole(row: Mapping[str, Any], name: str) -> int:
    """Return a field that must be a whole number."""
    return _whole(row, name)


def _text(row: Mapping[str, Any], name: str) -> str:
    value = row.get(name)
    if not isinstance(value, str) or not value:
        raise ProlificError(f"Prolific: expected a text {name!r} in an answer, got {value!r}; is the address right?")
    return value


def _whole(row: Mapping[str, Any], name: str, otherwise: int | None = None) -> int:
    value = row.get(name)
    if value is None and otherwise is not None:
        return otherwise
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ProlificError(f"Prolific: expected a number {name!r} in an answer, got {value!r}")
    return round(value)


def _amounts(value: Any) -> tuple[int, ...]:
    """Read bonus payments: amounts in cents, bare or as objects with an ``amount``."""
    found = []
    for entry in value if isinstance(value, list) else []:
        amount = entry.get("amount") if isinstance(entry, dict) else entry
        if isinstance(amount, int | float) and not isinstance(amount, bool):
            found.append(round(amount))
    return tuple(found)


def _instant(value: Any) -> float | None:
    if not isinstance(value, str) or not value:
        return None
    try:
        parsed = datetime.datetime.fromisoformat(value)
    except ValueError as error:
        raise ProlificError(f"Prolific: expected a date and time, got {value[:40]!r}") from error
    if parsed.tzinfo is None:
        parsed = parsed.replace(tzinfo=datetime.UTC)
    return parsed.timestamp()
