"""Workers as the host enters them: who they are, and what only the host can know of them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from sqlalchemy import insert, select, update

from mturk.endpoint.schema import workers
from mturk.endpoint.transaction import Transaction, new_id
from spa.errors import PlatformError

CODE = re.compile(r"[A-Z0-9]{2}", re.ASCII)
WORKER_ID = re.compile(r"A[A-Z0-9]{1,63}", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownWorker:
    """A worker as the host sees them."""

    worker_id: str
    name: str
    country: str | None = None
    subdivision: str | None = None
    masters: bool = False
    adult: bool = False
    closed_at: float | None = None


def add_worker(
    tx: Transaction,
    name: str,
    *,
    country: str | None = None,
    subdivision: str | None = None,
    masters: bool = False,
    adult: bool = False,
    worker_id: str | None = None,
) -> KnownWorker:
    """Enter a worker.

    Raises
    ------
    PlatformError
        If the name is empty, the country is no code of two capital letters, or the id is taken or no worker id.
    """
    if not name.strip() or len(name) > 200 or not name.isprintable():
        raise PlatformError(f"worker: expected a name of 1 to 200 printable characters, got {name[:40]!r}")
    for what, code in (("country", country), ("subdivision", subdivision)):
        if code is not None and CODE.fullmatch(code) is None:
            raise PlatformError(f"worker {name}: expected a {what} such as US or CA, got {code!r}")
    if subdivision is not None and country is None:
        raise PlatformError(f"worker {name}: a subdivision needs its country")
    if worker_id is not None and WORKER_ID.fullmatch(worker_id) is None:
        raise PlatformError(f"worker {name}: expected an id of A and capital letters and digits, got {worker_id!r}")
    made = worker_id or new_id("A", 14)
    if tx.connection.scalar(select(workers.c.number).where(workers.c.worker_id == made)) is not None:
        raise PlatformError(f"worker {name}: the id {made} is taken")
    tx.connection.execute(
        insert(workers).values(
            worker_id=made,
            name=name,
            country=country,
            subdivision=subdivision,
            masters=masters,
            adult=adult,
            created_at=tx.now,
        )
    )
    return KnownWorker(
        worker_id=made, name=name, country=country, subdivision=subdivision, masters=masters, adult=adult
    )


def change_worker(tx: Transaction, worker_id: str, **changes: object) -> None:
    """Change what the host knows of a worker: country, subdivision, masters, adult, closed_at.

    Raises
    ------
    PlatformError
        If there is no such worker.
    """
    changed = tx.connection.execute(update(workers).where(workers.c.worker_id == worker_id).values(**changes))
    if not changed.rowcount:
        raise PlatformError(f"worker {worker_id!r}: there is none; `spa mturk workers list` shows them")


def known_workers(tx: Transaction) -> tuple[KnownWorker, ...]:
    """Return all workers, in the order in which they were entered."""
    columns = [workers.c[name] for name in KnownWorker.__slots__]
    return tuple(
        KnownWorker(**row._mapping) for row in tx.connection.execute(select(*columns).order_by(workers.c.number))
    )
