"""Injected faults: planned for an operation, for ``count`` requests after ``skip`` others."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, StrictStr
from sqlalchemy import Row, update

from prolific.emulator import schema
from prolific.emulator.request_transaction import RequestTransaction
from prolific.emulator.study_body import RequestBody

ANY = "*"
WEBHOOKS = "webhooks"
Kind = Literal[
    "429",  # refused, with or without Retry-After; nothing was done
    "500",  # failed; nothing was done
    "500_after_effect",  # done, and then answered as if it had failed
    "timeout_after_effect",  # done, and never answered
    "drop_after_effect",  # done, and the connection closed without an answer
    "drop",  # the connection closed; nothing was done
    "slow",  # done and answered late
    "wallet_short",  # refused as if the wallet did not cover it
    "duplicate",  # of webhooks: delivered once more although it was taken
    "reorder",  # of webhooks: the next one overtakes it
    "lose",  # of webhooks: not sent, and tried again later
]
BEFORE = frozenset({"429", "500", "drop", "wallet_short"})


class FaultBody(RequestBody):
    """A planned fault."""

    operation: StrictStr = ANY
    kind: Kind
    count: Annotated[int, Field(ge=1, le=1_000_000)] = 1
    skip: Annotated[int, Field(ge=0)] = 0
    retry_after: Annotated[int | None, Field(ge=0)] = None
    seconds: Annotated[float, Field(ge=0, le=3600)] = 60.0  # of timeout_after_effect and slow


def next_fault(tx: RequestTransaction, operation: str) -> Row[Any] | None:
    """Return the fault (kind, details) to inject into this request, if any, and count it."""
    c = schema.faults.c
    among = [operation] if operation == WEBHOOKS else [operation, ANY]
    for row in tx.rows(schema.faults, c.operation.in_(among), c.remaining > 0):
        own = update(schema.faults).where(c.number == row.number)
        if not row.skip:
            tx.connection.execute(own.values(remaining=row.remaining - 1, happened=row.happened + 1))
            return row
        tx.connection.execute(own.values(skip=row.skip - 1))
    return None
