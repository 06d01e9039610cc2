"""Responses that the survey server and the preview share: pages, files shown, style sheet, notices."""

from __future__ import annotations

from http import HTTPStatus

from fastapi import HTTPException, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from spa.forms.assets import asset_content, asset_name, media_types
from spa.forms.form_text import exhibits_of
from spa.forms.html import Addresses, PageState, render_notice, render_page
from spa.media import all_media, medium_of
from spa.media.captions import MEDIA_TYPE
from spa.records.form import Exhibit, Form, Page
from spa.records.texts import Texts
from spa.server.byte_ranges import send_ranges

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
