"""What an operation is given, what it answers, and how lists are paged."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Column, Row, Select, delete, insert, select

from mturk.endpoint.errors import MTurkRequestError, invalid, not_supported, refused
from mturk.endpoint.schema import request_tokens
from mturk.endpoint.store import secret_of
from mturk.endpoint.transaction import Transaction

Answer = dict[str, Any]
PAGE = 10  # results of a page where MaxResults is not given


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationCall:
    """A request whose sender is known and whose parameters fit the model."""

    tx: Transaction
    requester_id: str
    operation: str
    given: Answer

    @property
    def now(self) -> float:
        """Seconds since 1970."""
        return self.tx.now

    @property
    def visible_until(self) -> float:
        """What was made later does not show in lists yet."""
        return self.tx.now - self.tx.rules.lag


def one_page(
    call: OperationCall,
    query: Select[Any],
    order: Column[Any],
    write: Callable[[Row[Any]], Answer],
    name: str,
    *,
    descending: bool = False,
) -> Answer:
    """Answer with one page of a list.

    The next page begins after the last row of this one, so that rows made in between neither repeat nor hide
    others. ``query`` selects ``order`` as its first column.
    """
    most = int(call.given.get("MaxResults", PAGE))
    token = call.given.get("NextToken")
    if token is not None:
        last = _read_token(call, token)
        query = query.where(order < last if descending else order > last)
    query = query.order_by(order.desc() if descending else order).limit(most + 1)
    rows: Sequence[Row[Any]] = call.tx.connection.execute(query).all()
    shown = rows[:most]
    following = _write_token(call, int(shown[-1][0])) if len(rows) > most else None
    return {"NextToken": following, "NumResults": len(shown), name: [write(row) for row in shown]}


def _sum(call: OperationCall, number: bytes) -> bytes:
    """Return what ties a token to its list: operation, requester and filters."""
    filters = sorted(
        (name, str(value)) for name, value in call.given.items() if name not in ("NextToken", "MaxResults")
    )
    text = f"{call.operation} {call.requester_id} {filters}".encode() + number
    return hmac.new(secret_of(call.tx.connection), text, hashlib.sha256).digest()[:12]


def _write_token(call: OperationCall, number: int) -> str:
    raw = number.to_bytes(8, "big")
    return base64.urlsafe_b64encode(raw + _sum(call, raw)).decode()


def _read_token(call: OperationCall, token: str) -> int:
    try:
        raw = base64.urlsafe_b64decode(token.encode("ascii", "strict"))
    except (binascii.Error, ValueError):
        raw = b""
    if len(raw) != 20 or not hmac.compare_digest(raw[8:], _sum(call, raw[:8])):
        raise invalid("NextToken", "expected the token that the page before gave, with the same parameters as there")
    return int.from_bytes(raw[:8], "big")


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


def duplicate_request(call: OperationCall) -> MTurkRequestError:
    """Return the error of a call whose ``UniqueRequestToken`` was used before."""
    token = call.given["UniqueRequestToken"]
    return refused("DuplicateRequest", f'The idempotency token "{token}" has already been processed.')


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


UNSUPPORTED: Mapping[str, tuple[str, str]] = {  # parameter: what it is, what to do instead
    "AssignmentReviewPolicy": ("AssignmentReviewPolicy", "list the assignments and approve or reject them yourself"),
    "HITReviewPolicy": ("HITReviewPolicy", "list the assignments, compare them and extend the HIT yourself"),
    "HITLayoutId": ("HITLayoutId", "send the whole page as Question, an HTMLQuestion"),
    "HITLayoutParameters": ("HITLayoutParameters", "fill in the page yourself and send it as Question"),
    "Test": (
        "a qualification test",
        "leave out Test and grant the qualification by hand, or ask the questions in a HIT of their own",
    ),
    "AnswerKey": ("AnswerKey", "score the answers yourself and grant with AssociateQualificationWithWorker"),
    "TestDurationInSeconds": ("TestDurationInSeconds", "leave it out together with Test"),
}


def refuse_unsupported(given: Mapping[str, Any]) -> None:
    """Refuse parameters that are left out.

    Raise MTurkRequestError naming the first of them.
    """
    for name, (what, instead) in UNSUPPORTED.items():
        if name in given:
            raise not_supported(what, instead)


def get_file_upload_url(call: OperationCall) -> Answer:
    """Refuse: only native forms upload files, and those are left out."""
    raise not_supported("GetFileUploadURL", "let an ExternalQuestion's own server take files")


def list_review_policy_results(call: OperationCall) -> Answer:
    """Refuse: there are no review policies."""
    raise not_supported("ListReviewPolicyResultsForHIT", "use ListAssignmentsForHIT and judge the answers yourself")
