"""Read form posts: size-limited, strictly decoded, refused as a whole if malformed."""

from __future__ import annotations

import asyncio
from typing import Annotated
from urllib.parse import parse_qsl

from fastapi import Depends, HTTPException, Request

LARGEST_BODY = 1_000_000  # bytes; the longest page of answers has a few thousand
SLOWEST_BODY = 60.0  # seconds within which a body must have arrived
MOST_FIELDS = 2_000
FORM_TYPE = "application/x-www-form-urlencoded"


async def read_body(request: Request, most: int) -> bytes | None:
    """Return the body of a request; ``None`` for one of more than ``most`` bytes, of which no more is read."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > most:
            return None
    return bytes(body)


async def read_fields(request: Request) -> dict[str, str]:
    """Return the fields of a form post.

    Raise HTTPException: 413 for a body beyond the limit, 408 for one that does not arrive, 415 for another content
    type, 400 for what is not UTF-8, too many fields, or a field sent twice (no form of ours has one).
    """
    if request.headers.get("content-type", FORM_TYPE).partition(";")[0].strip().lower() != FORM_TYPE:
        raise HTTPException(415)
    try:
        async with asyncio.timeout(SLOWEST_BODY):
            body = await read_body(request, LARGEST_BODY)
    except TimeoutError:
        raise HTTPException(408) from None
    if body is None:
        raise HTTPException(413)
    try:
        pairs = parse_qsl(body.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=MOST_FIELDS)
    except ValueError as error:
        raise HTTPException(400) from error
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise HTTPException(400)
    return fields


Fields = Annotated[dict[str, str], Depends(read_fields)]
