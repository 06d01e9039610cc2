"""Responses that the survey server and the preview share: pages, files shown, style sheet, notices.

Files are sent in ranges of bytes (RFC 9110, section 14), read from disk as the client takes them. A browser keeps at
most six connections to a server, and one that plays a clip for a moment leaves the answer to it open. No answer to a
range is therefore longer than ``LONGEST``: it is taken whole, and the connection is free again. RFC 9110, section
15.3.7, lets a server send less than was asked for; players ask for the rest.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import BinaryIO

from fastapi import HTTPException, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response, StreamingResponse

from spa.forms.assets import asset_content, asset_name, media_types
from spa.forms.form_text import exhibits_of
from spa.forms.html import Addresses, PageState, render_notice, render_page
from spa.media import all_media, medium_of
from spa.media.captions import MEDIA_TYPE
from spa.records.form import Exhibit, Form, Page
from spa.records.texts import Texts

LONGEST = 1 << 20  # bytes of an answer to a range
PIECE = 1 << 18  # bytes in memory at a time
_READERS = ThreadPoolExecutor(2, thread_name_prefix="ranges")  # of their own: a slow disk holds up no other page
_RANGE = re.compile(r"bytes=[ \t]*(?:(\d{1,18})-(\d{0,18})|-(\d{1,18}))[ \t]*", re.ASCII | re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ByteRange:
    """Bytes from ``start`` to before ``end``; none where both are the same, which no file can satisfy."""

    start: int
    end: int


FOR_EVER = "public, max-age=31536000, immutable"
ASKED_AGAIN = "private, no-cache"
# An SVG is a document of its own: opened alone, it may show itself but not run.
FILE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; sandbox"


def page_response(form: Form, page: Page, texts: Texts, *, addresses: Addresses, state: PageState) -> HTMLResponse:
    """Render a page of a form; gaps and unseen outputs make it a 422."""
    html = render_page(form, page, texts, addresses=addresses, state=state)
    return HTMLResponse(html, status_code=422 if state.gaps or state.unseen else 200)


def send_notice(texts: Texts, name: str, *, status: int, link: str | None = None) -> HTMLResponse:
    """Say something that is no part of a form; ``name`` is that of its texts, ``link`` leads back."""
    title, text = texts.say(f"page.{name}_title"), texts.say(f"page.{name}_text")
    ended = status == HTTPStatus.GONE
    html = render_notice("notice", texts, title=title, text=text, link=link, ended=ended)
    return HTMLResponse(html, status_code=status)


def send_asset(name: str) -> Response:
    """Send the style sheet, a script or a font under the name that carries its hash."""
    for asset, media_type in media_types().items():
        if name == asset_name(asset):
            return Response(asset_content(asset), media_type=media_type, headers={"cache-control": FOR_EVER})
    raise HTTPException(404)


def find_shown(form: Form, exhibit_id: str) -> Exhibit:
    """Return the exhibit of a form that is a file, or a file within it, by its opaque id."""
    shown = (exhibit for page in form.pages for block in page.exhibits for exhibit in exhibits_of(block))
    for one in (one for exhibit in shown for one in (exhibit, *exhibit.inner.values())):
        if one.exhibit_id == exhibit_id and one.file is not None:
            return one
    raise HTTPException(404)


def send_shown(request: Request, form: Form, exhibit: Exhibit, *, kept: bool = True) -> Response:
    """Send a file without its name or date: either could tell systems apart.

    Long files are sent part by part. Browsers may keep these, where ``kept``, and ask before they use them again: they
    stand for themselves under the names of their form and exhibit, as one address may lead to several forms in turn.
    """
    files = medium_of(exhibit).files
    if files is None or exhibit.file is None or not exhibit.file.is_file():
        raise HTTPException(404)
    headers = {"content-security-policy": FILE_POLICY}
    if files.streamed:
        tag, media_type = f"{form.assignment_id}-{exhibit.exhibit_id}", files.media_type(exhibit.file)
        headers |= {"cache-control": ASKED_AGAIN} if kept else {}
        return send_ranges(request, exhibit.file, tag=tag, media_type=media_type, headers=headers)
    return Response(exhibit.file.read_bytes(), media_type=files.media_type(exhibit.file), headers=headers)


def send_captions(exhibit: Exhibit) -> Response:
    """Send the captions of a clip, which are short and hold nothing but times and words."""
    if exhibit.captions is None or not exhibit.captions.is_file():
        raise HTTPException(404)
    headers = {"content-security-policy": FILE_POLICY}
    return Response(exhibit.captions.read_bytes(), media_type=MEDIA_TYPE, headers=headers)


def paths_of_clips(before: str) -> tuple[str, ...]:
    """Return where files are served that are sent part by part."""
    clips = (medium for medium in all_media() if medium.files is not None and medium.files.streamed)
    return tuple(f"{before}/{medium.key}/{{exhibit_id}}" for medium in clips)


def paths_of_captions(before: str) -> tuple[str, ...]:
    """Return where the captions of clips are served, below the paths of these."""
    return tuple(f"{path}/captions" for path in paths_of_clips(before))


def paths_of_files(before: str) -> tuple[str, ...]:
    """Return where files are served, a path for each medium with files.

    >>> paths_of_files("/a/{token}")
    ('/a/{token}/image/{exhibit_id}', '/a/{token}/audio/{exhibit_id}', '/a/{token}/video/{exhibit_id}')
    """
    return tuple(f"{before}/{medium.key}/{{exhibit_id}}" for medium in all_media() if medium.files is not None)


def redirect_to(address: str) -> RedirectResponse:
    """Redirect to another page with a GET, so that a reload sends nothing twice."""
    return RedirectResponse(address, status_code=303)


def parse_range(header: str | None, size: int) -> ByteRange | None:
    """Return which bytes of a file of ``size`` are asked for; ``None`` where that is all of it.

    What is no range of bytes is ignored, as RFC 9110, section 14.2, wants, and so are several at once.

    >>> parse_range("bytes=5-", 10), parse_range("bytes=0-2", 10), parse_range("bytes=-3", 10)
    (ByteRange(start=5, end=10), ByteRange(start=0, end=3), ByteRange(start=7, end=10))
    >>> parse_range("bytes=10-", 10)
    ByteRange(start=0, end=0)
    """
    found = None if header is None else _RANGE.fullmatch(header)
    if found is None:
        return None
    first, last, suffix = found.groups()
    if suffix is not None:
        start, end = max(size - int(suffix), 0), size
    else:
        start, end = int(first), min(int(last) + 1, size) if last else size
        if last and int(last) < start:
            return None
    return ByteRange(start, end) if start < size else ByteRange(0, 0)


def send_ranges(request: Request, path: Path, *, tag: str, media_type: str, headers: dict[str, str]) -> Response:
    """Answer a request for a file: whole, in a range, or not at all where the client has it.

    Parameters
    ----------
    request : Request
        Its method is GET or HEAD.
    path : Path
        A file; its size is asked for here, so that OSError is raised before anything is sent.
    tag : str
        What tells one file at this address from another, for the header ``ETag``. Neither the name nor the date of the
        file is sent.
    media_type : str
        Of the file.
    headers : dict of str to str
        Sent with every answer.
    """
    headers = {**headers, "accept-ranges": "bytes", "etag": f'"{tag}"'}
    if _is_known(request.headers.get("if-none-match"), headers["etag"]):
        return Response(status_code=HTTPStatus.NOT_MODIFIED, headers=headers)
    size = path.stat().st_size
    part = None
    if request.method == "GET" and request.headers.get("if-range", headers["etag"]) == headers["etag"]:
        part = parse_range(request.headers.get("range"), size)
    if part is not None and part.start == part.end:
        headers["content-range"] = f"bytes */{size}"
        return Response(status_code=HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE, headers=headers)
    status = HTTPStatus.OK
    if part is not None:
        part = ByteRange(part.start, min(part.end, part.start + LONGEST))
        status, headers["content-range"] = HTTPStatus.PARTIAL_CONTENT, f"bytes {part.start}-{part.end - 1}/{size}"
    part = part or ByteRange(0, size)
    headers["content-length"] = str(part.end - part.start)
    if request.method == "HEAD":
        return Response(media_type=media_type, headers=headers)
    return StreamingResponse(_pieces(path, part), status, headers, media_type)


async def _pieces(path: Path, part: ByteRange) -> AsyncIterator[bytes]:
    """Yield the bytes; a change of threads costs more than to read a piece, and there is one for each."""
    read = partial(asyncio.get_running_loop().run_in_executor, _READERS)
    left = part.end - part.start
    file, piece = await read(_open_at, path, part.start, min(left, PIECE))
    try:
        while piece:
            left -= len(piece)
            yield piece
            piece = await read(file.read, min(left, PIECE)) if left else b""
    finally:
        file.close()


def _open_at(path: Path, start: int, length: int) -> tuple[BinaryIO, bytes]:
    """Open a file and read its first piece from ``start`` on."""
    file = path.open("rb")
    try:
        file.seek(start)
        return file, file.read(length)
    except OSError:
        file.close()
        raise


def _is_known(header: str | None, etag: str) -> bool:
    """Return whether ``If-None-Match`` names what would be sent; weak marks do not matter there."""
    if header is None:
        return False
    names = [name.strip().removeprefix("W/") for name in header.split(",")]
    return etag in names or names == ["*"]
