"""A form that a worker sends from the frame: read up to a limit, then stored as the answer of an assignment."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from http import HTTPStatus
from typing import Literal
from urllib.parse import parse_qsl

from starlette.datastructures import Headers, UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import Request

from mturk.answers import MOST_FIELDS, AnswerRefused, NothingAnswered, render_answers
from mturk.endpoint.assignments import ACCEPTED, KNOWN_TO_REQUESTERS
from mturk.endpoint.errors import MTurkRequestError
from mturk.endpoint.repository import find_assignment
from mturk.endpoint.site.capabilities import may_submit
from mturk.endpoint.site.frame_pages import NOT_AVAILABLE
from mturk.endpoint.store import secret_of
from mturk.endpoint.transaction import Transaction
from mturk.endpoint.worker_actions import submit

Outcome = Literal["submitted", "preview", "unknown", "already", "expired", "empty", "large", "file", "refused"]
LARGEST_BODY = 2_000_000  # bytes; the answers' XML has a lower limit of its own
PLAIN, PARTS = "application/x-www-form-urlencoded", "multipart/form-data"
STATUS: dict[Outcome, HTTPStatus] = {
    "submitted": HTTPStatus.OK,
    "preview": HTTPStatus.BAD_REQUEST,
    "unknown": HTTPStatus.NOT_FOUND,
    "already": HTTPStatus.CONFLICT,
    "expired": HTTPStatus.GONE,
    "empty": HTTPStatus.BAD_REQUEST,
    "large": HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    "file": HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
    "refused": HTTPStatus.BAD_REQUEST,
}


class SubmissionRefused(Exception):
    """A form that is not taken; the argument is the outcome."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(outcome)
        self.outcome: Outcome = outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class SentForm:
    """The assignment that a form names, and its answers as XML."""

    assignment_id: str
    answer: str


async def read_form(request: Request) -> SentForm:
    """Read a form post.

    Raises
    ------
    SubmissionRefused
        If it is a preview's, names no assignment, is empty, too large, has a file, or is no form post.
    """
    pairs = await read_pairs(request)
    asked = next((value for name, value in pairs if name == "assignmentId" and value), None)
    assignment_id = asked or request.query_params.get("assignmentId", "")
    if assignment_id == NOT_AVAILABLE:
        raise SubmissionRefused("preview")
    if not (assignment_id.isascii() and assignment_id.isalnum() and len(assignment_id) <= 64):
        raise SubmissionRefused("unknown")
    try:
        return SentForm(assignment_id=assignment_id, answer=render_answers(pairs))
    except NothingAnswered as error:
        raise SubmissionRefused("empty") from error
    except AnswerRefused as error:
        raise SubmissionRefused("large") from error


async def read_pairs(request: Request) -> list[tuple[str, str]]:
    """Return the fields of a form post in the order sent."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in (PLAIN, PARTS):
        raise SubmissionRefused("refused")
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > LARGEST_BODY:
            raise SubmissionRefused("large")
    if kind == PARTS:
        return await _read_parts(request.headers, bytes(body))
    try:
        return parse_qsl(body.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=MOST_FIELDS + 10)
    except ValueError as error:
        raise SubmissionRefused("refused") from error


def take(tx: Transaction, form: SentForm, *, signature: str) -> Outcome:
    """Store an answer sent to an address that was handed out for it; the same again (a reload) is told as stored."""
    try:
        work = find_assignment(tx, form.assignment_id)
    except MTurkRequestError:
        return "unknown"
    secret = secret_of(tx.connection)
    if not may_submit(secret, signature, assignment_id=work.assignment_id, worker_id=work.worker_id):
        return "unknown"
    if work.status in KNOWN_TO_REQUESTERS:
        return "submitted" if work.answer == form.answer else "already"
    if work.status != ACCEPTED or tx.now >= work.deadline:
        return "expired"
    submit(tx, work.worker_id, work.assignment_id, form.answer)
    return "submitted"


async def _read_parts(headers: Headers, body: bytes) -> list[tuple[str, str]]:
    async def whole() -> AsyncGenerator[bytes, None]:
        yield body

    parser = MultiPartParser(headers, whole(), max_files=20, max_fields=MOST_FIELDS + 10, max_part_size=LARGEST_BODY)
    try:
        form = await parser.parse()
    except (MultiPartException, KeyError, UnicodeDecodeError) as error:
        raise SubmissionRefused("refused") from error
    try:
        pairs = []
        for name, value in form.multi_items():
            if not isinstance(value, UploadFile):
                pairs.append((name, value))
            elif value.filename or value.size:  # a field for a file that was left empty is sent without a name
                raise SubmissionRefused("file")
        return pairs
    finally:
        await form.close()
