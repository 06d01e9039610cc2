"""The estimated cost of a study, by the platform's calculator or, marked as such, offline."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Any

from prolific.api.client import Prolific
from prolific.api.money import amount_text, cents, money
from prolific.api.problems import ProlificError
from prolific.api.records import PayRates, WorkspaceBalance
from prolific.offer import SessionOffer
from prolific.settings import OutcomeCode, OutcomeCodes, ProlificTable

AUTO_APPROVAL_DAYS = 21  # an unreviewed submission is then approved by the platform
OFFLINE_RATES = {  # an hour, of 2026; the platform's own rates are asked for where it can be reached
    "GBP": PayRates(minimum=600, recommended=900),
    "USD": PayRates(minimum=800, recommended=1200),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyCostEstimate:
    """Estimated cost of all sessions, or of a live study's first wave; in cents, ``None`` where fees are not known."""

    currency: str
    rewards: int
    total: int | None
    most_rewards: int  # of a live study, should nothing be decided before; else as ``rewards``
    most_total: int | None
    from_platform: bool
    why_offline: str | None
    completion_bonus: int  # to participants, without fees; part of no other amount
    completion_bonus_total: int | None
    screened_out: int  # to participants, without fees, where those screened out are paid; part of no other amount
    hourly: float
    rates: PayRates | None
    rates_from_platform: bool
    balance: WorkspaceBalance | None
    auto_approval: datetime.date  # of who submits today

    @property
    def everything(self) -> int | None:
        """Return the cost with the completion bonus."""
        if self.total is None or self.completion_bonus_total is None:
            return None
        return self.total + self.completion_bonus_total


def make_estimate(
    offer: SessionOffer,
    table: ProlificTable,
    client: Prolific | None,
    *,
    workspace_id: str | None,
    why_offline: str | None,
    now: float,
) -> StudyCostEstimate:
    """Estimate the cost of a study, by the platform's calculator where there is a ``client``.

    ``workspace_id`` is the workspace that pays, ``why_offline`` why the platform was not asked, and ``now`` in seconds
    since 1970.
    """
    rewards = offer.reward * offer.places * offer.sessions
    most_rewards = offer.reward * offer.most * offer.sessions
    total = most_total = balance = rates = problem = None
    if client is not None:
        try:
            total = client.studies.calculate_cost(offer.reward, offer.places) * offer.sessions
            live = offer.most > offer.places
            most_total = client.studies.calculate_cost(offer.reward, offer.most) * offer.sessions if live else total
            if workspace_id is not None:
                balance = client.payments.balance(workspace_id)
                rates = client.payments.pay_rates(workspace_id, offer.currency)
        except ProlificError as error:
            problem = str(error)
    from_platform = total is not None
    if total is None and table.fee_percent is not None:
        total, most_total = (round(one * (1 + table.fee_percent / 100)) for one in (rewards, most_rewards))
    bonus = round(rewards * (table.completion_bonus_percent or 0) / 100)
    return StudyCostEstimate(
        currency=offer.currency,
        rewards=rewards,
        total=total,
        most_rewards=most_rewards,
        most_total=most_total,
        from_platform=from_platform,
        why_offline=None if from_platform else (why_offline or problem or "there is no token"),
        completion_bonus=bonus,
        completion_bonus_total=None if total is None else round(total * bonus / rewards),
        screened_out=offer.sessions * _screen_out_rewards(table),
        hourly=offer.hourly,
        rates=rates or OFFLINE_RATES.get(offer.currency),
        rates_from_platform=rates is not None,
        balance=balance,
        auto_approval=auto_approval(now),
    )


def estimate_facts(estimate: StudyCostEstimate) -> dict[str, Any]:
    """Return an estimate as ``--json`` prints it: amounts in major units as strings."""
    amounts = {
        "rewards_amount": estimate.rewards,
        "total_amount": estimate.total,
        "most_rewards_amount": estimate.most_rewards,
        "most_total_amount": estimate.most_total,
        "completion_bonus_amount": estimate.completion_bonus,
        "completion_bonus_total_amount": estimate.completion_bonus_total,
        "screened_out_amount": estimate.screened_out,
        "hourly_amount": estimate.hourly,
        "hourly_minimum_amount": None if estimate.rates is None else estimate.rates.minimum,
        "hourly_recommended_amount": None if estimate.rates is None else estimate.rates.recommended,
        "balance_amount": None if estimate.balance is None else estimate.balance.available,
    }
    return {
        "currency": estimate.currency,
        **{name: None if amount is None else amount_text(amount) for name, amount in amounts.items()},
        "balance_currency": None if estimate.balance is None else estimate.balance.currency,
        "from_platform": estimate.from_platform,
        "why_offline": estimate.why_offline,
        "rates_from_platform": estimate.rates_from_platform,
        "auto_approval": estimate.auto_approval,
    }


def auto_approval(submitted_at: float) -> datetime.date:
    """Return the day (UTC) on which the platform approves a submission that nobody has reviewed."""
    return (
        datetime.datetime.fromtimestamp(submitted_at, datetime.UTC) + datetime.timedelta(days=AUTO_APPROVAL_DAYS)
    ).date()


def estimate_lines(estimate: StudyCostEstimate, offer: SessionOffer) -> list[str]:
    """Return an estimate as lines of text."""
    say = estimate.currency
    sessions = f" x {offer.sessions} sessions" if offer.sessions > 1 else ""
    lines = [
        f"rewards: {offer.places} places x {money(offer.reward, say)}{sessions} = {money(estimate.rewards, say)}",
    ]
    if estimate.from_platform and estimate.total is not None:
        lines.append(f"cost with fees and taxes: {money(estimate.total, say)} (Prolific's calculator)")
    elif estimate.total is not None:
        lines.append(
            f"cost with fees: {money(estimate.total, say)} (OFFLINE ESTIMATE with your fee_percent; "
            f"{estimate.why_offline})"
        )
    else:
        lines.append(
            f"cost with fees: unknown (OFFLINE: {estimate.why_offline}; set [prolific] fee_percent for an estimate)"
        )
    if offer.most > offer.places:
        most = estimate.most_rewards if estimate.most_total is None else estimate.most_total
        fees = "without fees" if estimate.most_total is None else "with fees"
        lines.append(
            f"this is the first wave; further ones are opened as they are needed: at most {offer.most} places, "
            f"{money(most, say)} {fees}"
        )
    if estimate.completion_bonus:
        whole = "" if estimate.everything is None else f"; everything about {money(estimate.everything, say)}"
        lines.append(
            f"completion bonus: at most {money(estimate.completion_bonus, say)} to participants, fees on top{whole}"
        )
    if estimate.screened_out:
        lines.append(f"who is screened out: at most {money(estimate.screened_out, say)} to them, fees on top")
    lines.append(_hourly_line(estimate, offer))
    if estimate.balance is not None:
        lines.append(f"available balance: {money(estimate.balance.available, estimate.balance.currency)}")
    lines.append(f"automatic approval of who submits today and is not reviewed: {estimate.auto_approval.isoformat()}")
    return lines


def _screen_out_rewards(table: ProlificTable) -> int:
    """Return the maximum paid to those screened out in a session, in cents."""
    codes: list[OutcomeCode] = [getattr(table.codes, outcome) for outcome in OutcomeCodes.model_fields]
    return sum(cents(code.reward) * code.slots for code in codes if code.reward is not None and code.slots is not None)


def _hourly_line(estimate: StudyCostEstimate, offer: SessionOffer) -> str:
    line = f"pay an hour: {money(round(estimate.hourly), estimate.currency)} at {offer.minutes:g} minutes"
    if estimate.rates is None:
        return f"{line} (Prolific's rates in {estimate.currency} are not known offline)"
    rates = estimate.rates
    whence = "Prolific's rates" if estimate.rates_from_platform else "rates of 2026"
    return (
        f"{line}; minimum {money(rates.minimum, estimate.currency)}, recommended "
        f"{money(rates.recommended, estimate.currency)} ({whence})"
    )
