"""Which workers of a cluster a rater uses, and how many requests at once each of them may have."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from spa.cluster import unfit_workers
from spa.errors import PlatformError
from spa.raters.cluster.worker import worker_id
from spa.raters.vendors import vendor_of
from spa.records.raters import Rater

if TYPE_CHECKING:
    import distributed

LOST = "the scheduler of the cluster is lost ({}); run the command again, what is answered is kept"
AWAY = 300.0  # seconds that a store may be away, or a cluster without workers


class WorkerPool:
    """The workers that there are at a look; those that come later and do not fit are named in ``notes`` and left out.

    Attributes
    ----------
    ids : dict of str to str
        Ids of processes by their addresses: another process may come to an address.
    gpus : bool
        Whether workers declare a GPU, and a local model goes to these alone.
    looked : float
        When, on the monotonic clock.
    """

    def __init__(self, client: distributed.Client, rater: Rater, notes: list[str]) -> None:
        self._client: Any = client
        self._rater, self._notes = rater, notes
        self._here = vendor_of(rater).on_this_machine  # on the workers, that is
        self._unfit: set[str] = set()
        self._looks = 0
        self.ids: dict[str, str] = {}
        self.gpus = False
        self.looked = self._seen = time.monotonic()

    @property
    def used(self) -> list[str]:
        """The addresses of the workers that get batches: no more than requests at once."""
        most = None if self._here else self._rater.concurrency
        return sorted(self.ids)[:most]

    def share(self, worker: str, at_work: Iterable[tuple[str, int]]) -> int:
        """Return how many requests at once a worker may have; 0 while others have more than is now theirs.

        ``at_work`` names workers with what they have.
        """
        if self._here:
            return 1
        share, rest = divmod(self._rater.concurrency, len(used := self.used))
        others: dict[str, int] = {}
        for address, requests in at_work:
            if address != worker:
                others[address] = max(others.get(address, 0), requests)
        return min(share + (used.index(worker) < rest), self._rater.concurrency - sum(others.values()))

    def look(self) -> None:
        """Find out which workers there are, and which process is behind each.

        Raises
        ------
        PlatformError
            If the scheduler is lost, or there has been no worker for ``AWAY`` seconds.
        """
        self.looked = time.monotonic()
        try:
            if self._client.scheduler is None:  # it did not answer for a while
                raise OSError("it does not answer")
            # scheduler_info() may return what the client asks for itself now and then, which names no workers
            found: Mapping[str, Any] = self._client.sync(self._client.scheduler.identity)["workers"]
            self.gpus = self._here and any("GPU" in one["resources"] for one in found.values())
            there = [name for name, one in found.items() if not self.gpus or "GPU" in one["resources"]]
            new = [name for name in there if name not in self.ids and name not in self._unfit]
            if new and self._looks:  # else the cluster was looked through when it was opened
                new = self._without_unfit(new)
            ids: Mapping[str, str] = self._client.run(worker_id, workers=new, on_error="ignore") if new else {}
        except (OSError, RuntimeError, TimeoutError) as error:  # of Dask: CommClosedError, a client that is closed
            if self._client.status in ("closing", "closed") or self.looked - self._seen > AWAY:
                raise PlatformError(LOST.format(error)) from error
            return
        self._looks += 1
        self.ids = {name: known for name in there if (known := self.ids.get(name) or ids.get(name))}
        if self.ids:
            self._seen = self.looked
        elif self.looked - self._seen > AWAY:
            raise PlatformError(
                f"the cluster has had no worker for {AWAY:g} s; see their logs and run the command again, "
                "what is answered is kept"
            )

    def _without_unfit(self, new: list[str]) -> list[str]:
        """Leave out workers that came later with other versions or several threads, and note why."""
        unfit = unfit_workers(self._client)
        for worker in unfit.keys() & set(new):
            self._unfit.add(worker)
            self._notes.append(f"{unfit[worker]}; it got no forms")
        return [worker for worker in new if worker not in self._unfit]
