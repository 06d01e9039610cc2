"""Calls about studies: make, look at, publish, stop."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from prolific.api.access import checked_id
from prolific.api.records import StudyRecord, study_from, whole
from prolific.api.transport import Transport

Transition = Literal["PUBLISH", "PAUSE", "START", "STOP"]
ROOT = "/api/v1/studies/"


class Studies:
    """The studies of an account."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def create(self, body: Mapping[str, Any]) -> StudyRecord:
        """Make a draft. The platform has no key that makes this safe to repeat."""
        return study_from(self._transport.call("POST", ROOT, dict(body)).record)

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

    def delete(self, study_id: str) -> None:
        """Delete a draft."""
        self._transport.call("DELETE", self._path(study_id))

    def transition(self, study_id: str, action: Transition) -> StudyRecord:
        """Publish, pause, go on or stop. Sent once: what came of it is seen by looking at the study."""
        answer = self._transport.call("POST", self._path(study_id) + "transition/", {"action": action})
        return study_from(answer.record)

    def calculate_cost(self, reward: int, places: int) -> int:
        """Return in cents what a study costs with the account's fees and taxes."""
        body = {"reward": reward, "total_available_places": places}
        answer = self._transport.call("POST", "/api/v1/study-cost-calculator/", body, repeat="always")
        return whole(answer.record, "total_cost")

    def cost(self, study_id: str, *, projected: bool = False) -> Mapping[str, Any]:
        """Return rewards and bonuses, each with fees and tax, as the platform has booked or projects them."""
        query = {"is_projected": "true" if projected else "false"}
        return self._transport.call("GET", self._path(study_id) + "cost/", query=query).record

    def try_out(self, study_id: str) -> str:
        """Open a draft to the account's test participants and return the address of the study."""
        return str(self._transport.call("POST", self._path(study_id) + "test-study").record.get("study_url", ""))

    def _path(self, study_id: str) -> str:
        return f"{ROOT}{checked_id('study', study_id)}/"
