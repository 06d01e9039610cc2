"""Read form posts: size-limited, strictly decoded; what is malformed is no form, and is kept as it came."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated
from urllib.parse import parse_qsl

from fastapi import Depends, HTTPException, Request

from spa.records.form import Form, Page, Question
from spa.widgets import fields_of, widget_of

LARGEST_BODY = 1_000_000  # bytes; the longest page of answers has a few thousand
SMALL_BODY = 16_384  # bytes: read before it is known whose they are
SLOWEST_BODY = 60.0  # seconds within which a body must have arrived
MOST_FIELDS = 2_000
FORM_TYPE = "application/x-www-form-urlencoded"
FIELD = 1_000  # bytes of a field beside what its answer may take, so that an answer that is none is kept too
OUTPUT = 500  # bytes of the evidence of reading that tell of one output
SMALL_VISIT = 500_000  # bytes that every visit may send
SENT_AGAIN = 4  # how often all pages of a visit may be sent at their largest; drafts are far smaller


@dataclass(frozen=True, slots=True)
class FormPost:
    """What arrived for a page: its bytes, and its fields; ``None`` if they are no form, and the ``status`` for that."""

    body: bytes
    fields: dict[str, str] | None
    status: int = 400


def largest_post(page: Page) -> int:
    """Return how many bytes a post of a page may have, from its fields."""
    evidence = 2 * (FIELD + OUTPUT * len(page.measured))
    return min(FIELD + evidence + sum(_largest(question) for question in page.questions), LARGEST_BODY)


def largest_visit(form: Form) -> int:
    """Return how many bytes may be kept of one visit."""
    return max(SMALL_VISIT, SENT_AGAIN * sum(largest_post(page) for page in form.pages))


def _largest(question: Question) -> int:
    return FIELD * len(fields_of(question)) + widget_of(question.answer).longest(question.answer)


async def read_body(request: Request, most: int) -> bytes | None:
    """Return the body of a request; ``None`` for one of more than ``most`` bytes, of which no more is read."""

    async def known() -> int:
        return most

    return await _read(request, most, known)


async def _read(request: Request, first: int, largest: Callable[[], Awaitable[int]]) -> bytes | None:
    """Return the body; ``largest`` is asked for the limit where there are, or will be, more than ``first`` bytes."""
    body, most = bytearray(), None
    declared = request.headers.get("content-length", "")
    if declared.isascii() and declared.isdigit() and len(declared) < 20 and int(declared) > first:
        most = await largest()
        if int(declared) > most:
            return None
    async for chunk in request.stream():
        body += chunk
        if len(body) > first:
            most = await largest() if most is None else most
            if len(body) > most:
                return None
    return bytes(body)


async def read_post(request: Request, largest: Callable[[], Awaitable[int]]) -> FormPost:
    """Return what is posted; ``largest`` says how many bytes it may have, and is asked where these are not few.

    Raise HTTPException: 413 for a body beyond the limit, 408 for one that does not arrive.
    """
    try:
        async with asyncio.timeout(SLOWEST_BODY):
            body = await _read(request, SMALL_BODY, largest)
    except TimeoutError:
        raise HTTPException(408) from None
    if body is None:
        raise HTTPException(413)
    return parse_post(body, request.headers.get("content-type", FORM_TYPE))


def parse_post(body: bytes, content_type: str = FORM_TYPE) -> FormPost:
    """Read the fields of a form post.

    There are none, and the status says why, in another content type (415), and where something is not UTF-8, there are
    too many fields, or one is sent twice, which no form of ours has (400).
    """
    if content_type.partition(";")[0].strip().lower() != FORM_TYPE:
        return FormPost(body, None, 415)
    try:
        pairs = parse_qsl(body.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=MOST_FIELDS)
    except ValueError:
        return FormPost(body, None)
    fields = dict(pairs)
    return FormPost(body, fields if len(fields) == len(pairs) else None)


async def read_fields(request: Request) -> dict[str, str]:
    """Return the fields of a small form post that is not kept, such as the press of a button.

    Raise HTTPException as :func:`read_post` does, and with the status of a post without fields.
    """

    async def small() -> int:
        return SMALL_BODY

    return _fields_of(await read_post(request, small))


async def read_press(request: Request) -> dict[str, str]:
    """Return the fields that the button of a first page sent; none where a program posts nothing, or no form."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != FORM_TYPE:
        return {}
    return await read_fields(request)


async def _fields_of_any(request: Request) -> dict[str, str]:
    async def large() -> int:
        return LARGEST_BODY

    return _fields_of(await read_post(request, large))


def _fields_of(post: FormPost) -> dict[str, str]:
    if post.fields is None:
        raise HTTPException(post.status)
    return post.fields


Fields = Annotated[dict[str, str], Depends(_fields_of_any)]
Press = Annotated[dict[str, str], Depends(read_press)]
