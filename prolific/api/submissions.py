"""Calls about participants' submissions: list, fetch, approve, reject, ask to return, write to them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from prolific.api.access import checked_id
from prolific.api.records import SubmissionRecord, normal_status, submission_from
from prolific.api.transport import Transport

ROOT = "/api/v1/submissions/"


class Submissions:
    """The submissions of an account's studies."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def of_study(self, study_id: str) -> Iterator[SubmissionRecord]:
        """Yield the submissions of a study."""
        path = f"/api/v1/studies/{checked_id('study', study_id)}/submissions/"
        yield from map(submission_from, self._transport.pages(path))

    def counts(self, study_id: str) -> Mapping[str, int]:
        """Return how many submissions of a study have each status; "TOTAL" is their sum."""
        path = f"/api/v1/studies/{checked_id('study', study_id)}/submissions/counts/"
        found = self._transport.call("GET", path).record
        return {normal_status(name): int(number) for name, number in found.items() if isinstance(number, int | float)}

    def fetch(self, submission_id: str) -> SubmissionRecord:
        """Return a submission."""
        return submission_from(self._transport.call("GET", self._path(submission_id)).record)

    def approve(self, submission_id: str) -> None:
        """Approve, which pays the reward; the platform ignores a repeat."""
        self._transport.call("POST", self._path(submission_id) + "transition/", {"action": "APPROVE"}, repeat="always")

    def approve_many(self, submission_ids: Sequence[str]) -> None:
        """Ask for approvals, which the platform makes afterwards: look at the submissions to see them."""
        ids = [checked_id("submission", one) for one in submission_ids]
        self._transport.call("POST", ROOT + "bulk-approve/", {"submission_ids": ids}, repeat="always")

    def reject(self, submission_id: str, *, category: str, message: str) -> None:
        """Reject, which withholds the reward; the platform ignores a repeat."""
        body = {"action": "REJECT", "message": message, "rejection_category": category}
        self._transport.call("POST", self._path(submission_id) + "transition/", body, repeat="always")

    def request_return(self, submission_id: str, reasons: Sequence[str]) -> None:
        """Ask the participant to return the submission instead of rejecting it."""
        body = {"request_return_reasons": list(reasons)}
        self._transport.call("POST", self._path(submission_id) + "request-return/", body)

    def send_message(self, participant_ids: Sequence[str], body: str, study_id: str) -> None:
        """Write to participants. The platform sends a repeat again."""
        ids = [checked_id("participant", one) for one in participant_ids]
        content = {"ids": ids, "body": body, "study_id": checked_id("study", study_id)}
        self._transport.call("POST", "/api/v1/messages/bulk/", content)

    def messages(self, participant_id: str) -> Iterator[Mapping[str, object]]:
        """Yield the messages exchanged with a participant."""
        query = {"user_id": checked_id("participant", participant_id)}
        yield from self._transport.pages("/api/v1/messages/", query)

    def _path(self, submission_id: str) -> str:
        return f"{ROOT}{checked_id('submission', submission_id)}/"
