"""A short-lived cache of visits, so that the redirect after a page needs no query."""

from __future__ import annotations

import time
from collections.abc import Callable

from spa.server.form_progress import FormProgress

MOMENT = 2.0  # seconds
MOST_JUST_TAKEN = 2_000


class RecentVisits:
    """Visits whose page was saved within the last two seconds.

    Used only if one process serves the study (``kept``): otherwise another may have saved a page since.
    """

    def __init__(self, *, kept: bool, clock: Callable[[], float] = time.monotonic) -> None:
        self._kept = kept
        self._clock = clock
        self._visits: dict[str, tuple[float, FormProgress]] = {}

    def put(self, token: str, visit: FormProgress) -> None:
        """Keep a visit for the request that follows."""
        if self._kept:
            self._visits.pop(token, None)
            self._visits[token] = (self._clock(), visit)
            if len(self._visits) > MOST_JUST_TAKEN:
                del self._visits[next(iter(self._visits))]

    def pop(self, token: str) -> FormProgress | None:
        """Return a visit once, unless it is too old to be relied on."""
        then, visit = self._visits.pop(token, (0.0, None))
        return visit if self._clock() - then < MOMENT else None
