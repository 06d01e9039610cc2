"""How far a run on a cluster is: what has ended, and what workers report of the batches under way."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from spa.raters.summary import Progress, RatingSummary

COUNTED = ("finished", "answered", "shared", "prompt_tokens", "completion_tokens")


class ClusterProgress:
    """Reports ``summary`` with the counts of the batches under way."""

    def __init__(self, summary: RatingSummary, progress: Progress | None) -> None:
        self._summary, self._progress = summary, progress
        self._partial: dict[int, Mapping[str, Any]] = {}
        self._began = time.monotonic()

    def note(self, counts: Mapping[str, Any]) -> None:
        """Note what a worker reports of a batch."""
        self._partial[counts["batch"]] = counts

    def forget(self, number: int) -> None:
        """Forget a batch, which is in the summary from now on, or lost."""
        self._partial.pop(number, None)

    def report(self, workers: int) -> None:
        """Tell how far the run is."""
        self._summary.workers = workers
        self._summary.seconds = time.monotonic() - self._began
        if self._progress is None:
            return
        partial = list(self._partial.values())
        now = replace(self._summary, outcomes=self._summary.outcomes.copy())
        for name in COUNTED:
            setattr(now, name, getattr(now, name) + sum(counts[name] for counts in partial))
        now.outcomes["ok"] += sum(counts["outcomes"] for counts in partial)
        if now.cost is not None:
            now.cost += sum(counts["cost"] or 0.0 for counts in partial)
        self._progress(now)
