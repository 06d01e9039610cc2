"""Replies of endpoints are read as far as a reply may go: one that never ends would hold a run up, or fill the memory.

A client's timeouts bound the wait for the next bytes alone: a server that sends one now and then is never late.
"""

from __future__ import annotations

import asyncio
from typing import Any

import httpx2

LARGEST = 1 << 27  # bytes of a reply, unpacked: a few hundred times the longest text with its probabilities
LONGER = 10.0  # times the seconds until the next bytes: until the last; some routers send blanks while a model thinks
PACKED = ("content-encoding", "content-length", "transfer-encoding")  # headers, untrue of what was unpacked


class BoundedReplies(httpx2.AsyncClient):
    """A client, for a class beside one of a vendor's library, whose replies end."""

    async def send(self, request: httpx2.Request, *, stream: bool = False, **more: Any) -> httpx2.Response:
        """Send a request and read its reply; raise httpx2.ReadError of one too large, ReadTimeout of one too long."""
        response = await super().send(request, stream=True, **more)
        if stream:
            return response
        wait = request.extensions.get("timeout", {}).get("read")
        content = bytearray()
        try:
            async with asyncio.timeout(None if wait is None else LONGER * wait):
                async for piece in response.aiter_bytes():
                    content += piece
                    if len(content) > LARGEST:
                        raise httpx2.ReadError(f"more than {LARGEST:,} bytes", request=request)
        except TimeoutError as error:
            raise httpx2.ReadTimeout(f"no end within {LONGER * wait:g} s", request=request) from error
        finally:
            await response.aclose()
        headers = [(name, value) for name, value in response.headers.multi_items() if name not in PACKED]
        return httpx2.Response(
            response.status_code,
            headers=headers,
            content=bytes(content),
            request=request,
            extensions=response.extensions,
        )
