"""What people and rehearsals do to an emulated platform, over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx2

from tests import patience


class People:
    """The other side of an emulated platform: ``/emulator/``. Every method fails the test if it is refused."""

    def __init__(self, client: httpx2.Client) -> None:
        self.client = client

    @classmethod
    @contextmanager
    def at(cls, url: str) -> Iterator[People]:
        """Connect to a running emulator."""
        with httpx2.Client(base_url=url, timeout=patience.SECONDS, trust_env=False) as client:
            yield cls(client)

    def do(self, method: str, path: str, body: Any = None) -> Any:
        """Send one request and return what came."""
        response = self.client.request(method, f"/emulator/{path}", json=body)
        assert response.is_success, f"{method} {path}: {response.status_code} {response.text}"
        return response.json() if response.content else None

    def join(self, count: int = 1, **attributes: Any) -> list[str]:
        """Let people join; return their ids. Names of attributes may have _ for -."""
        body = {"count": count, "attributes": attributes}
        return list(self.do("POST", "participants/", body)["participant_ids"])

    def take(self, study_id: str, person: str, device: str = "desktop") -> dict[str, Any]:
        """Take a place, without opening the study."""
        return dict(self.do("POST", f"studies/{study_id}/take/", {"participant_id": person, "device": device}))

    def enter(self, study_id: str, person: str | None = None) -> dict[str, Any]:
        """Let somebody (new, without a name) take a place and open the study."""
        taken = self.take(study_id, person or self.join()[0])
        return dict(self.do("POST", f"submissions/{taken['id']}/start/"))

    def complete(self, submission_id: str, code: str | None) -> dict[str, Any]:
        """Enter a code; None for NOCODE."""
        return dict(self.do("POST", f"submissions/{submission_id}/complete/", {"code": code}))

    def give_back(self, submission_id: str) -> dict[str, Any]:
        """Return a place."""
        return dict(self.do("POST", f"submissions/{submission_id}/return/"))

    def see(self, submission_id: str) -> dict[str, Any]:
        """Look at a submission as its person does."""
        return dict(self.do("GET", f"submissions/{submission_id}/"))

    def advance(self, *, seconds: float = 0, minutes: float = 0, days: float = 0) -> float:
        """Put the clock forward."""
        total = seconds + minutes * 60 + days * 86_400
        return float(self.do("POST", "clock/", {"advance": total})["now"])

    def behave(self, **switches: Any) -> None:
        """Switch behaviour."""
        self.do("PATCH", "behaviour/", switches)

    def plan(self, operation: str, kind: str, **details: Any) -> None:
        """Let something go wrong with requests to come."""
        self.do("POST", "faults/", {"operation": operation, "kind": kind, **details})

    def requests(self, operation: str | None = None) -> list[dict[str, Any]]:
        """Return the requests to the API that came."""
        return list(self.do("GET", "requests/" + (f"?operation={operation}" if operation else ""))["results"])

    def payments(self) -> list[dict[str, Any]]:
        """Return the bonuses asked for, one row each time."""
        return list(self.do("GET", "payments/")["results"])
