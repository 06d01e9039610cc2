"""``UniqueRequestToken``: a call that was made before is told, for 24 hours, instead of being made again."""

from __future__ import annotations

from sqlalchemy import delete, insert, select

from mturk.endpoint.operations.call import OperationCall
from mturk.endpoint.schema import request_tokens

REMEMBERED = 86_400.0  # seconds


def earlier_result(call: OperationCall, purpose: str) -> str | None:
    """Return the id of what the first call with this token made; None where there was none, or long ago."""
    token = call.given.get("UniqueRequestToken")
    if token is None:
        return None
    row = call.tx.connection.execute(select(request_tokens).where(*_same(call, purpose))).first()
    if row is None:
        return None
    if call.now - row.at < REMEMBERED:
        return str(row.made)
    call.tx.connection.execute(delete(request_tokens).where(*_same(call, purpose)))
    return None


def remember(call: OperationCall, purpose: str, made: str) -> None:
    """Remember what this call made."""
    token = call.given.get("UniqueRequestToken")
    if token is not None:
        call.tx.connection.execute(
            insert(request_tokens).values(
                requester_id=call.requester_id, purpose=purpose, token=token, made=made, at=call.now
            )
        )


def _same(call: OperationCall, purpose: str):  # type: ignore[no-untyped-def]
    return (
        request_tokens.c.requester_id == call.requester_id,
        request_tokens.c.purpose == purpose,
        request_tokens.c.token == call.given["UniqueRequestToken"],
    )
