"""The call of an operation, paging of lists, and request tokens."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Column, Row, Select, delete, select

from mturk.endpoint.assignments import HitAssignment
from mturk.endpoint.errors import invalid, not_supported, refused
from mturk.endpoint.hits import HitType, HostedHit
from mturk.endpoint.repository import find_assignment, find_hit, find_type
from mturk.endpoint.schema import request_tokens
from mturk.endpoint.store import secret_of
from mturk.endpoint.transaction import Transaction

Answer = dict[str, Any]
PAGE = 10  # results of a page where MaxResults is not given
REMEMBERED = 86_400.0  # seconds
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


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationCall:
    """A request from an authenticated requester, with parameters that fit the service model."""

    tx: Transaction
    requester_id: str
    operation: str
    parameters: Answer

    @property
    def now(self) -> float:
        """Seconds since 1970."""
        return self.tx.now

    @property
    def visible_until(self) -> float:
        """Objects created later do not show in lists yet."""
        return self.tx.now - self.tx.rules.lag

    def hit(self) -> HostedHit:
        """Return the requester's HIT that the request names."""
        return find_hit(self.tx, self.parameters["HITId"], requester_id=self.requester_id)

    def hit_type(self) -> HitType:
        """Return the requester's HIT type that the request names."""
        return find_type(self.tx, self.parameters["HITTypeId"], requester_id=self.requester_id)

    def assignment(self) -> HitAssignment:
        """Return the assignment of the requester's HITs that the request names."""
        return find_assignment(self.tx, self.parameters["AssignmentId"], requester_id=self.requester_id)


def one_page(
    call: OperationCall,
    name: str,
    query: Select[Any],
    order: Column[Any],
    write: Callable[[Row[Any]], Answer],
    *,
    descending: bool = False,
) -> Answer:
    """Respond with one page of the rows of ``query``, ordered by a column.

    The next page starts after the last row of this one, so that rows created in between neither repeat nor hide others.
    """
    query = query.add_columns(order.label("place"))
    most = int(call.parameters.get("MaxResults", PAGE))
    token = call.parameters.get("NextToken")
    if token is not None:
        last = _read_token(call, token)
        query = query.where(order < last if descending else order > last)
    query = query.order_by(order.desc() if descending else order).limit(most + 1)
    rows: Sequence[Row[Any]] = call.tx.connection.execute(query).all()
    shown = rows[:most]
    following = _write_token(call, int(shown[-1].place)) if len(rows) > most else None
    return {"NextToken": following, "NumResults": len(shown), name: [write(row) for row in shown]}


def _sum(call: OperationCall, number: bytes) -> bytes:
    """Return the checksum that binds a page token to its list: operation, requester and filters."""
    paging = ("NextToken", "MaxResults")
    filters = sorted((name, str(value)) for name, value in call.parameters.items() if name not in paging)
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


def earlier_result(call: OperationCall, purpose: str) -> str | None:
    """Return the id of what an earlier call with this request token created; None if there was none recently."""
    token, c = call.parameters.get("UniqueRequestToken"), request_tokens.c
    same = (c.requester_id == call.requester_id, c.purpose == purpose, c.token == token)
    row = None if token is None else call.tx.first(select(request_tokens).where(*same))
    if row is None:
        return None
    if call.now - row.at < REMEMBERED:
        return str(row.made)
    call.tx.connection.execute(delete(request_tokens).where(*same))
    return None


def refuse_duplicate(call: OperationCall, purpose: str) -> None:
    """Refuse a call whose ``UniqueRequestToken`` was used before."""
    if earlier_result(call, purpose) is not None:
        token = call.parameters["UniqueRequestToken"]
        raise refused("DuplicateRequest", f'The idempotency token "{token}" has already been processed.')


def remember(call: OperationCall, purpose: str, made: str) -> None:
    """Record what this call created under its request token."""
    token = call.parameters.get("UniqueRequestToken")
    if token is not None:
        facts = {"requester_id": call.requester_id, "purpose": purpose, "token": token}
        call.tx.insert(request_tokens, **facts, made=made, at=call.now)


def refuse_unsupported(parameters: Mapping[str, Any]) -> None:
    """Refuse parameters that this endpoint does not support."""
    for name, (what, instead) in UNSUPPORTED.items():
        if name in parameters:
            raise not_supported(what, instead)


def get_file_upload_url(call: OperationCall) -> Answer:
    """Refuse: only QuestionForms upload files, and they are not supported."""
    raise not_supported("GetFileUploadURL", "let an ExternalQuestion's own server take files")


def list_review_policy_results(call: OperationCall) -> Answer:
    """Refuse: there are no review policies."""
    raise not_supported("ListReviewPolicyResultsForHIT", "use ListAssignmentsForHIT and judge the answers yourself")
