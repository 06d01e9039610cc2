"""Responses that the survey server and the preview share: pages, images, style sheet, notices."""

from __future__ import annotations

from http import HTTPStatus

from fastapi import HTTPException
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from spa.forms.assets import ASSETS, asset_name, asset_text
from spa.forms.form import Exhibit, Form, Page
from spa.forms.form_text import exhibits_of
from spa.forms.html import Addresses, PageState, image_type, render_notice, render_page
from spa.forms.texts import Texts

FOR_EVER = "public, max-age=31536000, immutable"
# An SVG is a document of its own: opened alone, it may show itself but not run.
IMAGE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; sandbox"


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
    """Send the style sheet or the script under the name that carries its hash."""
    for asset, media_type in ASSETS.items():
        if name == asset_name(asset):
            return Response(asset_text(asset), media_type=media_type, headers={"cache-control": FOR_EVER})
    raise HTTPException(404)


def find_image(form: Form, exhibit_id: str) -> Exhibit:
    """Return the image exhibit of a form by its opaque id."""
    shown = (exhibit for page in form.pages for block in page.exhibits for exhibit in exhibits_of(block))
    for exhibit in shown:
        if exhibit.exhibit_id == exhibit_id and exhibit.image is not None:
            return exhibit
    raise HTTPException(404)


def send_image(exhibit: Exhibit) -> Response:
    """Send an image without its name, date or size on disk: any of them could tell systems apart."""
    if exhibit.image is None or not exhibit.image.is_file():
        raise HTTPException(404)
    headers = {"content-security-policy": IMAGE_POLICY}
    return Response(exhibit.image.read_bytes(), media_type=image_type(exhibit), headers=headers)


def redirect_to(address: str) -> RedirectResponse:
    """Redirect to another page with a GET, so that a reload sends nothing twice."""
    return RedirectResponse(address, status_code=303)
