"""The client: one object with the calls of each area."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from prolific.api.access import Access, checked_id
from prolific.api.audience import Audience
from prolific.api.hooks import Hooks
from prolific.api.payments import Payments
from prolific.api.problems import ProlificError
from prolific.api.studies import Studies
from prolific.api.submissions import Submissions
from prolific.api.transport import Transport


@dataclass(frozen=True, slots=True, kw_only=True)
class Prolific:
    """Prolific's API. A context manager that closes its connections."""

    transport: Transport
    studies: Studies
    submissions: Submissions
    payments: Payments
    audience: Audience
    hooks: Hooks

    def account(self) -> tuple[str, str]:
        """Return id and currency of the account that the token belongs to; the currency may be empty."""
        row = self.transport.call("GET", "/api/v1/users/me/").record
        return str(row.get("id") or ""), str(row.get("currency_code") or "")

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


def connect(
    access: Access,
    *,
    sleep: Callable[[float], None] = time.sleep,
    rng: random.Random | None = None,
    timeout: float = 30.0,
    tries: int | None = None,
) -> Prolific:
    """Return a client for an address and a token; nothing is sent yet.

    Parameters
    ----------
    access : Access
        From :func:`prolific.api.access.find_access`.
    sleep, rng : callable and random.Random
        Wait between tries, and draw for how long.
    timeout : float
        Seconds to wait for an answer.
    tries : int, optional
        How often a call is made at most, where it may be made again.
    """
    more = {} if tries is None else {"tries": tries}
    transport = Transport(access, sleep=sleep, rng=rng, timeout=timeout, **more)
    return Prolific(
        transport=transport,
        studies=Studies(transport),
        submissions=Submissions(transport),
        payments=Payments(transport),
        audience=Audience(transport),
        hooks=Hooks(transport),
    )
