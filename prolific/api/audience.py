"""Calls about who may take part: filters, how many there are, participant groups."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from prolific.api.access import checked_id
from prolific.api.problems import ProlificError
from prolific.api.records import ParticipantFilter, filter_from, whole
from prolific.api.transport import Transport

GROUPS = "/api/v1/participant-groups/"


class Audience:
    """The participants that a workspace can reach."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def filters(self, workspace_id: str) -> tuple[ParticipantFilter, ...]:
        """Return the properties that participants can be chosen by, with the names of their values."""
        query = {"workspace_id": checked_id("workspace", workspace_id)}
        return tuple(map(filter_from, self._transport.pages("/api/v1/filters/", query)))

    def count(self, workspace_id: str, filters: Sequence[Mapping[str, Any]]) -> int:
        """Return how many participants fit; 0 means fewer than 25."""
        body = {"workspace_id": checked_id("workspace", workspace_id), "filters": list(filters)}
        return whole(self._transport.call("POST", "/api/v1/eligibility-count/", body, repeat="always").record, "count")

    def groups(self, workspace_id: str) -> Iterator[tuple[str, str]]:
        """Yield id and name of the participant groups of a workspace that are not deleted."""
        query = {"workspace_id": checked_id("workspace", workspace_id)}
        for row in self._transport.pages(GROUPS, query):
            if row.get("is_deleted") is not True:
                yield str(row.get("id", "")), str(row.get("name", ""))

    def create_group(self, workspace_id: str, name: str) -> str:
        """Make a participant group and return its id. The platform makes a second one when it is repeated."""
        body = {"workspace_id": checked_id("workspace", workspace_id), "name": name}
        group = self._transport.call("POST", GROUPS, body).record.get("id")
        if not isinstance(group, str):
            raise ProlificError(f"Prolific: expected the id of the new group, got {group!r}")
        return checked_id("participant group", group)

    def members(self, group_id: str) -> frozenset[str]:
        """Return the ids of the participants in a group."""
        rows = self._transport.pages(self._members(group_id))
        return frozenset(str(row["participant_id"]) for row in rows if "participant_id" in row)

    def add(self, group_id: str, participant_ids: Sequence[str]) -> None:
        """Put participants into a group; those who are in it stay."""
        body = {"participant_ids": [checked_id("participant", one) for one in participant_ids]}
        self._transport.call("POST", self._members(group_id), body, repeat="always")

    def _members(self, group_id: str) -> str:
        return f"{GROUPS}{checked_id('participant group', group_id)}/participants/"
