"""Which run of a rater hands out batches on a store, and waiting until the workers of an earlier one have ended."""

from __future__ import annotations

import os
import secrets
import socket
import time
from collections.abc import Callable
from datetime import UTC, datetime

from spa.errors import PlatformError, expected_got, shortened
from spa.responses.run_lock import AlreadyRunning, exclusive_run, lock_holders
from spa.responses.store import Store

ORPHANS = 60.0  # seconds that workers of an earlier run may finish in


def new_run() -> str:
    """Return a name for a run that begins now, which says who began it."""
    now = datetime.now(UTC)
    return f"{secrets.token_hex(4)} of process {os.getpid()} on {socket.gethostname()}, begun {now:%Y-%m-%d %H:%M} UTC"


def run_fact(rater_id: str) -> str:
    """Return the name of the fact that tells which run of a rater hands out batches."""
    return f"cluster run of rater {rater_id}"


def workers_of(rater_id: str) -> str:
    """Return the name of the lock that workers share."""
    return f"{rater_id} on a cluster"


def begin_run(
    store: Store, rater_id: str, run: str = "", *, say: Callable[[str], object], wait: float = ORPHANS
) -> None:
    """Wait until no worker of an earlier run is at work, and note which run hands out batches from now on.

    Raises
    ------
    PlatformError
        If one still is after ``wait`` seconds.
    """
    until, waiting = time.monotonic() + wait, False
    while True:
        try:
            with exclusive_run(store.name, workers_of(rater_id), store.reading):
                if run or store.meta(run_fact(rater_id)):
                    store.set_meta(run_fact(rater_id), run)
                return
        except AlreadyRunning as error:
            if time.monotonic() > until:
                place = f"{store.name}: rater {rater_id!r}"
                do = "end it, or the SLURM jobs or dask workers of that run, and start again"
                got = f"one at work: {at_work(store, rater_id)}"
                raise PlatformError(expected_got(place, "no worker of an earlier run", got, do)) from error
        if not waiting:
            say(f"waiting at most {wait:g} s for workers of an earlier run of {rater_id!r}: {at_work(store, rater_id)}")
        waiting = True
        time.sleep(0.5)


def at_work(store: Store, rater_id: str) -> str:
    """Return the run whose workers are at work, and these where the database knows them."""
    holders = "; ".join(lock_holders(store.name, workers_of(rater_id), store.reading))
    return shortened(f"run {store.meta(run_fact(rater_id))}" + (f"; {holders}" if holders else ""), 250)
