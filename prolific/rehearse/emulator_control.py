"""What simulated people do on the emulated platform, over HTTP."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import httpx2

from spa.errors import PlatformError

SECONDS = 60.0
JOIN_AT_ONCE = 10_000


class ActionRefused(PlatformError):
    """The platform does not let a person do something."""


class EmulatorControl:
    """The routes under ``/emulator/``."""

    def __init__(self, client: httpx2.Client) -> None:
        self._client = client

    @classmethod
    @contextmanager
    def at(cls, url: str) -> Iterator[EmulatorControl]:
        """Connect to a running emulator."""
        with httpx2.Client(base_url=url, timeout=SECONDS, trust_env=False) as client:
            yield cls(client)

    def now(self) -> float:
        """Return the platform's time, in seconds since 1970."""
        return float(self._do("GET", "clock/")["now"])

    def advance(self, seconds: float) -> None:
        """Put the platform's clock forward."""
        self._do("POST", "clock/", {"advance": seconds})

    def behave(self, **switches: Any) -> None:
        """Switch how the platform behaves."""
        self._do("PATCH", "behaviour/", switches)

    def plan_fault(self, operation: str, kind: str, **details: Any) -> None:
        """Let something go wrong."""
        self._do("POST", "faults/", {"operation": operation, "kind": kind, **details})

    def faults(self) -> list[dict[str, Any]]:
        """Return the faults that were planned, with how often each happened."""
        return self._list("faults/")

    def requests(self, operation: str) -> list[dict[str, Any]]:
        """Return the requests of one operation that came."""
        return self._list(f"requests/?operation={operation}")

    def payments(self) -> list[dict[str, Any]]:
        """Return the bonuses that were asked for, one row each time."""
        return self._list("payments/")

    def join(self, participant_id: str, attributes: Mapping[str, Any]) -> None:
        """Let somebody join the platform who has not yet."""
        try:
            self._do("POST", "participants/", {"id": participant_id, "attributes": dict(attributes)})
        except ActionRefused as refusal:
            if "joined already" not in str(refusal):
                raise

    def offer(self, names: Sequence[str], choices: Sequence[str], lowest: Any, highest: Any) -> list[str]:
        """See that people can be asked for a property, and return what had to be added to the platform for it."""
        body = {"names": list(names), "choices": list(choices), "lowest": lowest, "highest": highest}
        return list(self._do("POST", "filters/", body)["added"])

    def crowd(self, wanted: int, attributes: Mapping[str, Any]) -> None:
        """Let so many others be on the platform who could take part, and do not."""
        missing = wanted - len(self._list("participants/"))
        if missing > 0:
            self._do("POST", "participants/", {"count": min(missing, JOIN_AT_ONCE), "attributes": dict(attributes)})

    def submissions(self, study_id: str) -> list[dict[str, Any]]:
        """Return all submissions of a study, as their people see them."""
        return self._list(f"studies/{study_id}/submissions/")

    def study(self, study_id: str) -> dict[str, Any]:
        """Return how a study stands."""
        return dict(self._do("GET", f"studies/{study_id}/state/"))

    def take(self, study_id: str, participant_id: str) -> dict[str, Any]:
        """Take a place."""
        return dict(self._do("POST", f"studies/{study_id}/take/", {"participant_id": participant_id}))

    def open(self, submission_id: str) -> dict[str, Any]:
        """Open the study."""
        return dict(self._do("POST", f"submissions/{submission_id}/start/"))

    def see(self, submission_id: str) -> dict[str, Any]:
        """Look at a submission."""
        return dict(self._do("GET", f"submissions/{submission_id}/"))

    def enter_code(self, submission_id: str, code: str | None) -> dict[str, Any]:
        """Enter a code, or say that there was none."""
        return dict(self._do("POST", f"submissions/{submission_id}/complete/", {"code": code}))

    def give_back(self, submission_id: str) -> dict[str, Any]:
        """Return a place."""
        return dict(self._do("POST", f"submissions/{submission_id}/return/"))

    def _list(self, path: str) -> list[dict[str, Any]]:
        return list(self._do("GET", path)["results"])

    def _do(self, method: str, path: str, body: Any = None) -> Any:
        try:
            response = self._client.request(method, f"/emulator/{path}", json=body)
        except httpx2.HTTPError as error:
            raise PlatformError(f"the emulated platform does not answer ({type(error).__name__})") from error
        if not response.is_success:
            raise ActionRefused(f"the emulated platform refuses {path}: {response.text}")
        return response.json() if response.content else None
