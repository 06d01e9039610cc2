"""One simulated person on the survey server, as a browser without script sees it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from urllib.parse import parse_qs, urljoin, urlsplit

import httpx2

from spa.errors import ResponseError
from spa.forms.form import Form
from spa.simulation.survey_client import ServedForm, fill_in, read_page

MOST_REDIRECTS = 10
MOST_STEPS = 3  # requests a page, before a server that leads in circles is given up
AnswerSource = Callable[[str], tuple[Form, Mapping[str, str]]]  # assignment id -> its form, answers by question id


@dataclass(frozen=True, slots=True, kw_only=True)
class VisitResult:
    """Where a person is: on a page of the form, at a notice, or sent back to the platform with a code."""

    url: str
    status: int = 200
    form: ServedForm | None = None
    code: str | None = None


def visit_survey(
    client: httpx2.Client, url: str, answering: AnswerSource, *, share: float = 1.0, decline: bool = False
) -> VisitResult:
    """Open an address as a person whom ``client`` does not know, answer page after page, and return where it ended.

    Below 1, ``share`` is how much of the way the person goes; opening the address again goes on from there. Who
    ``decline``s does so where the study asks for consent. Raise ResponseError if the server fails, refuses an answer,
    or serves fields that are not the form's questions.
    """
    client.cookies.clear()
    try:
        return _walk(client, url, answering, share=share, decline=decline)
    except httpx2.HTTPError as error:
        place = urlsplit(url).netloc
        raise ResponseError(f"{place}: expected the survey server, got {type(error).__name__}") from error


def _walk(client: httpx2.Client, url: str, answering: AnswerSource, *, share: float, decline: bool) -> VisitResult:
    place = _follow(client, url)
    steps = 0
    while (served := place.form) is not None:
        form, answers = answering(served.assignment_id)
        order = [page.page_id for page in form.pages]
        if order.index(served.page_id) >= share * len(order):
            return place
        steps += 1
        if steps > MOST_STEPS * len(order):
            raise ResponseError(f"assignment {served.assignment_id}: the server leads in circles")
        page = next(page for page in form.pages if page.page_id == served.page_id)
        action = urljoin(place.url, served.action)
        if decline and page.kind == "consent":
            place = _send(client, f"{action}?go=decline", dict(served.hidden))
        else:
            place = _send(client, action, fill_in(served, form, answers))
    return place


def _follow(client: httpx2.Client, url: str) -> VisitResult:
    origin = urlsplit(url).netloc
    for _ in range(MOST_REDIRECTS):
        parts = urlsplit(url)
        if parts.netloc != origin:
            return VisitResult(url=url, code=next(iter(parse_qs(parts.query).get("cc", [])), None))
        response = client.get(url)
        if response.status_code not in (302, 303, 307):
            if response.status_code >= HTTPStatus.INTERNAL_SERVER_ERROR:
                raise ResponseError(f"{parts.path}: the survey server failed with {response.status_code}")
            shown = read_page(response.text)
            if shown.onward is None:
                return VisitResult(url=url, status=response.status_code, form=shown.form)
            url = urljoin(url, shown.onward)
            continue
        url = urljoin(url, response.headers.get("location", ""))
    raise ResponseError(f"{origin}: more than {MOST_REDIRECTS} redirects")


def _send(client: httpx2.Client, action: str, payload: Mapping[str, str]) -> VisitResult:
    response = client.post(action, data=dict(payload))
    if response.status_code != HTTPStatus.SEE_OTHER:
        raise ResponseError(f"{urlsplit(action).path}: expected the answers accepted, got {response.status_code}")
    return _follow(client, urljoin(action, response.headers["location"]))
