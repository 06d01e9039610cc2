"""The client: one class for each area of the API, and :class:`Prolific` with all of them."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Literal, Self

from prolific.api.access import Access, checked_id
from prolific.api.money import amount_text
from prolific.api.problems import ProlificError
from prolific.api.records import (
    BonusBatch,
    ParticipantFilter,
    PayRates,
    StudyRecord,
    SubmissionRecord,
    Subscription,
    WorkspaceBalance,
    batch_from,
    filter_from,
    study_from,
    submission_from,
    subscription_from,
    whole,
)
from prolific.api.transport import TRIES, Transport

SUBMISSIONS = "/api/v1/submissions/"
STUDIES = "/api/v1/studies/"
HOOKS = "/api/v1/hooks/"
GROUPS = "/api/v1/participant-groups/"
Transition = Literal["PUBLISH", "PAUSE", "START", "STOP"]


class ApiCalls:
    """The calls of one area of the API."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def _of_workspace(self, workspace_id: str) -> dict[str, Any]:
        return {"workspace_id": checked_id("workspace", workspace_id)}


class Submissions(ApiCalls):
    """The submissions of an account's studies."""

    def of_study(self, study_id: str) -> Iterator[SubmissionRecord]:
        """Yield the submissions of a study."""
        path = f"/api/v1/studies/{checked_id('study', study_id)}/submissions/"
        yield from map(submission_from, self._transport.pages(path))

    def fetch(self, submission_id: str) -> SubmissionRecord:
        """Return a submission."""
        return submission_from(self._transport.call("GET", self._path(submission_id)).record)

    def approve_many(self, submission_ids: Sequence[str]) -> None:
        """Request approvals, which the platform executes later; the submissions' statuses show when."""
        ids = [checked_id("submission", one) for one in submission_ids]
        self._transport.call("POST", SUBMISSIONS + "bulk-approve/", {"submission_ids": ids}, repeat="always")

    def reject(self, submission_id: str, *, category: str, message: str) -> None:
        """Reject a submission, which withholds the reward; repeating it has no effect."""
        body = {"action": "REJECT", "message": message, "rejection_category": category}
        self._transport.call("POST", self._path(submission_id) + "transition/", body, repeat="always")

    def request_return(self, submission_id: str, reasons: Sequence[str]) -> None:
        """Ask the participant to return the submission instead of rejecting it."""
        body = {"request_return_reasons": list(reasons)}
        self._transport.call("POST", self._path(submission_id) + "request-return/", body)

    def send_message(self, participant_ids: Sequence[str], body: str, study_id: str) -> None:
        """Send a message to participants. Not idempotent: a repeat is sent again."""
        ids = [checked_id("participant", one) for one in participant_ids]
        content = {"ids": ids, "body": body, "study_id": checked_id("study", study_id)}
        self._transport.call("POST", "/api/v1/messages/bulk/", content)

    def messages(self, participant_id: str) -> Iterator[Mapping[str, object]]:
        """Yield the messages exchanged with a participant."""
        query = {"user_id": checked_id("participant", participant_id)}
        yield from self._transport.pages("/api/v1/messages/", query)

    def _path(self, submission_id: str) -> str:
        return f"{SUBMISSIONS}{checked_id('submission', submission_id)}/"


class Studies(ApiCalls):
    """The studies of an account."""

    def create(self, body: Mapping[str, Any]) -> StudyRecord:
        """Create a draft. Not idempotent: the platform offers no key to recognise a repeat."""
        return study_from(self._transport.call("POST", STUDIES, dict(body)).record)

    def fetch(self, study_id: str) -> StudyRecord:
        """Return a study."""
        return study_from(self._transport.call("GET", self._path(study_id)).record)

    def of_project(self, project_id: str) -> Iterator[StudyRecord]:
        """Yield the studies of a project."""
        path = f"/api/v1/projects/{checked_id('project', project_id)}/studies/"
        yield from map(study_from, self._transport.pages(path))

    def change(self, study_id: str, body: Mapping[str, Any]) -> StudyRecord:
        """Set fields of a study; setting them again changes nothing."""
        answer = self._transport.call("PATCH", self._path(study_id), dict(body), repeat="always")
        return study_from(answer.record)

    def transition(self, study_id: str, action: Transition) -> StudyRecord:
        """Publish, pause, resume or stop a study. Sent once; the study's status shows the effect."""
        answer = self._transport.call("POST", self._path(study_id) + "transition/", {"action": action})
        return study_from(answer.record)

    def calculate_cost(self, reward: int, places: int) -> int:
        """Return in cents what a study costs with the account's fees and taxes."""
        body = {"reward": reward, "total_available_places": places}
        answer = self._transport.call("POST", "/api/v1/study-cost-calculator/", body, repeat="always")
        return whole(answer.record, "total_cost")

    def try_out(self, study_id: str) -> str:
        """Open a draft to the account's test participants and return the address of the study."""
        return str(self._transport.call("POST", self._path(study_id) + "test-study").record.get("study_url", ""))

    def _path(self, study_id: str) -> str:
        return f"{STUDIES}{checked_id('study', study_id)}/"


class Payments(ApiCalls):
    """The money of a workspace."""

    def set_up_bonuses(self, study_id: str, amounts: Mapping[str, int]) -> BonusBatch:
        """Set up a batch of bonuses (participant or submission id -> cents) and return its cost; nothing is paid."""
        lines = [f"{checked_id('recipient', who)},{amount_text(amount)}" for who, amount in amounts.items()]
        body = {"study_id": checked_id("study", study_id), "csv_bonuses": "\n".join(lines)}
        return batch_from(self._transport.call("POST", "/api/v1/submissions/bonus-payments/", body).record)

    def pay_bonuses(self, batch_id: str) -> None:
        """Pay a batch of bonuses. Never sent twice: a repeat pays everybody again."""
        path = f"/api/v1/bulk-bonus-payments/{checked_id('bonuses', batch_id)}/pay/"
        self._transport.call("POST", path, repeat="never")

    def balance(self, workspace_id: str) -> WorkspaceBalance:
        """Return the money that a workspace can spend."""
        row = self._transport.call("GET", f"/api/v1/workspaces/{checked_id('workspace', workspace_id)}/balance/").record
        return WorkspaceBalance(currency=str(row.get("currency_code") or ""), available=whole(row, "available_balance"))

    def pay_rates(self, workspace_id: str, currency: str) -> PayRates:
        """Return the minimum and the recommended hourly pay."""
        query = self._of_workspace(workspace_id) | {"currency": currency}
        answer = self._transport.call("GET", "/api/v1/reward-recommendations/", query=query)
        rows: list[Any] = answer.value if isinstance(answer.value, list) else [answer.value]
        for row in rows:
            if isinstance(row, dict) and row.get("currency", currency) == currency:
                return PayRates(
                    minimum=whole(row, "min_reward_per_hour"), recommended=whole(row, "recommended_reward_per_hour")
                )
        raise ProlificError(f"Prolific: expected pay rates in {currency}, got none; does the account use {currency}?")


class Hooks(ApiCalls):
    """The webhooks of a workspace."""

    def secrets(self, workspace_id: str) -> tuple[str, ...]:
        """Return the secrets that sign a workspace's webhooks; there is one or none."""
        rows = self._transport.pages(HOOKS + "secrets/", self._of_workspace(workspace_id))
        return tuple(str(row["value"]) for row in rows if row.get("value"))

    def create_secret(self, workspace_id: str) -> str:
        """Create the secret that signs webhooks; it replaces the workspace's old one for all subscriptions."""
        body = self._of_workspace(workspace_id)
        value = self._transport.call("POST", HOOKS + "secrets/", body).record.get("value")
        if not isinstance(value, str) or not value:
            raise ProlificError("Prolific: expected the new secret of the webhooks, got none")
        return value

    def subscriptions(self, workspace_id: str) -> Iterator[Subscription]:
        """Yield the webhook subscriptions of a workspace."""
        rows = self._transport.pages(HOOKS + "subscriptions/", self._of_workspace(workspace_id))
        yield from map(subscription_from, rows)

    def subscribe(self, workspace_id: str, event_type: str, target_url: str) -> Subscription:
        """Subscribe a URL to events and confirm the subscription with the secret in the response's header."""
        body = self._of_workspace(workspace_id) | {"event_type": event_type, "target_url": target_url}
        answer = self._transport.call("POST", HOOKS + "subscriptions/", body)
        made = subscription_from(_only(answer.record))
        secret = next((value for name, value in answer.headers.items() if name.lower() == "x-hook-secret"), None)
        if secret is None:
            raise ProlificError(f"Prolific: subscription {made.subscription_id}: no X-Hook-Secret came with it")
        self._transport.call("POST", self._path(made.subscription_id), {"secret": secret}, repeat="always")
        return made

    def delete(self, subscription_id: str) -> None:
        """End a subscription."""
        self._transport.call("DELETE", self._path(subscription_id))

    def _path(self, subscription_id: str) -> str:
        return f"{HOOKS}subscriptions/{checked_id('subscription', subscription_id)}/"


def _only(record: dict[str, Any]) -> dict[str, Any]:
    """Return the subscription in a response; the API's description shows it in a list as well as alone."""
    rows = record.get("results")
    return rows[0] if isinstance(rows, list) and len(rows) == 1 and isinstance(rows[0], dict) else record


class Audience(ApiCalls):
    """The participants that a workspace can reach."""

    def filters(self, workspace_id: str) -> tuple[ParticipantFilter, ...]:
        """Return the properties that participants can be chosen by, with the names of their values."""
        return tuple(map(filter_from, self._transport.pages("/api/v1/filters/", self._of_workspace(workspace_id))))

    def count(self, workspace_id: str, filters: Sequence[Mapping[str, Any]]) -> int:
        """Return how many participants pass the filters; 0 means fewer than 25."""
        body = self._of_workspace(workspace_id) | {"filters": list(filters)}
        return whole(self._transport.call("POST", "/api/v1/eligibility-count/", body, repeat="always").record, "count")

    def groups(self, workspace_id: str) -> Iterator[tuple[str, str]]:
        """Yield id and name of the participant groups of a workspace that are not deleted."""
        for row in self._transport.pages(GROUPS, self._of_workspace(workspace_id)):
            if row.get("is_deleted") is not True:
                yield str(row.get("id", "")), str(row.get("name", ""))

    def create_group(self, workspace_id: str, name: str) -> str:
        """Create a participant group and return its id. Not idempotent: a repeat creates a second one."""
        body = self._of_workspace(workspace_id) | {"name": name}
        group = self._transport.call("POST", GROUPS, body).record.get("id")
        if not isinstance(group, str):
            raise ProlificError(f"Prolific: expected the id of the new group, got {group!r}")
        return checked_id("participant group", group)

    def members(self, group_id: str) -> frozenset[str]:
        """Return the ids of the participants in a group."""
        rows = self._transport.pages(self._members(group_id))
        return frozenset(str(row["participant_id"]) for row in rows if "participant_id" in row)

    def add(self, group_id: str, participant_ids: Sequence[str]) -> None:
        """Add participants to a group; idempotent."""
        body = {"participant_ids": [checked_id("participant", one) for one in participant_ids]}
        self._transport.call("POST", self._members(group_id), body, repeat="always")

    def _members(self, group_id: str) -> str:
        return f"{GROUPS}{checked_id('participant group', group_id)}/participants/"


class Prolific:
    """A client of Prolific's API; nothing is sent before the first call. A context manager that closes connections.

    Arguments are those of :class:`prolific.api.transport.Transport`.
    """

    def __init__(
        self,
        access: Access,
        *,
        sleep: Callable[[float], None] = time.sleep,
        rng: random.Random | None = None,
        timeout: float = 30.0,
        tries: int = TRIES,
    ) -> None:
        self.transport = Transport(access, sleep=sleep, rng=rng, timeout=timeout, tries=tries)
        self.studies = Studies(self.transport)
        self.submissions = Submissions(self.transport)
        self.payments = Payments(self.transport)
        self.audience = Audience(self.transport)
        self.hooks = Hooks(self.transport)

    def workspace_of(self, project_id: str) -> str:
        """Return the id of the workspace that a project belongs to."""
        row = self.transport.call("GET", f"/api/v1/projects/{checked_id('project', project_id)}/").record
        workspace = row.get("workspace")
        if not isinstance(workspace, str):
            raise ProlificError(f"Prolific: project {project_id}: expected its workspace, got {workspace!r}")
        return checked_id("workspace", workspace)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.transport.close()
