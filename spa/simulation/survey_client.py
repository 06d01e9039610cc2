"""An HTTP client that answers served forms page by page, as a browser would.

It reads the fields from the HTML alone and compares them with the form.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from html.parser import HTMLParser
from urllib.parse import urljoin, urlsplit

import httpx2

from spa.errors import ResponseError
from spa.records.form import Form, Page
from spa.responses.conduct_evidence import HONEYPOT
from spa.responses.reading_evidence import READING
from spa.widgets import widget_of

THREADS = 4
MOST_STEPS = 2  # requests a page, before a server that leads in circles is given up
MOST_REDIRECTS = 10
SECONDS = 30.0
NONE_LEFT = 410  # status of the page that says so
UNSENT = ("submit", "button", "reset", "image", "file")

Origin = tuple[str, str]  # scheme and host
Answering = Callable[[str], tuple[Form, Mapping[str, str]]]
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class CompletedVisit:
    """One completed visit."""

    token: str
    assignment_id: str
    completion_code: str | None  # None: screened out, or sent on to the platform's own page
    pages: int
    next_session: str | None = None  # address that begins it


def visit_all(
    base_url: str,
    tokens: Sequence[str],
    annotator_of: Callable[[str], Answering],
    *,
    threads: int = THREADS,
    progress: Progress | None = None,
) -> list[CompletedVisit]:
    """Answer the forms of several people at the survey server, ``threads`` of them at a time.

    ``annotator_of`` says who answers behind a link: assignment id -> its form, and the answers by question id, beside
    which the evidence of reading may stand by page id; pages without are sent as by a browser without script. Whoever
    completed one of several sessions goes on with the next. ``progress`` is called with (people done, people in all).
    Return the visits in the order of the tokens. Raise ResponseError if the server fails, refuses an answer, or serves
    fields that are not the form's questions.
    """
    local = threading.local()
    clients: list[httpx2.Client] = []

    def connect() -> None:
        local.client = httpx2.Client(timeout=SECONDS, trust_env=False)
        clients.append(local.client)

    def come(token: str) -> list[CompletedVisit]:
        return list(visit_sessions(local.client, base_url, token, annotator_of(token)))

    done: dict[str, list[CompletedVisit]] = {}
    try:
        with ThreadPoolExecutor(max_workers=threads, initializer=connect) as pool:
            waiting = {pool.submit(come, token): token for token in tokens}
            try:
                for finished in as_completed(waiting):
                    done[waiting[finished]] = finished.result()
                    if progress is not None:
                        progress(len(done), len(tokens))
            finally:
                pool.shutdown(cancel_futures=True)
    finally:
        for client in clients:
            client.close()
    return [each for token in tokens for each in done[token]]


def visit_sessions(client: httpx2.Client, base_url: str, token: str, answering: Answering) -> Iterator[CompletedVisit]:
    """Answer one session after another, until the last page offers no further one or no assignment is left for it."""
    while True:
        yield (found := visit(client, base_url, token, answering))
        if found.next_session is None:
            return
        try:
            status = client.post(urljoin(base_url, found.next_session)).status_code
        except httpx2.HTTPError as error:
            raise ResponseError(f"{base_url}: expected the next session, got {_reason(error)}") from error
        if status == NONE_LEFT:
            return
        if status != 303:
            raise ResponseError(f"{base_url}: expected the next session, got status {status}")


def visit(client: httpx2.Client, base_url: str, token: str, answering: Answering) -> CompletedVisit:
    """Open one link and answer page after page until there is nothing left to answer."""
    origin = origin_of(base_url)
    response = _get(client, f"{base_url.rstrip('/')}/a/{token}", origin)
    assignment_id, pages = "", 0
    while response is not None:
        served = read_page(response.text)
        if served.form is None:
            if pages == 0 and served.completion_code is None:
                raise ResponseError(f"{origin[1]}: expected a page with a form, got {response.url.path} without one")
            return CompletedVisit(
                token=token,
                assignment_id=assignment_id,
                completion_code=served.completion_code,
                pages=pages,
                next_session=served.next_session,
            )
        assignment_id = served.form.assignment_id
        form, answers = answering(assignment_id)
        pages += 1
        if pages > MOST_STEPS * len(form.pages):
            raise ResponseError(
                f"assignment {assignment_id}: expected the visit to end, got a server that redirects in circles"
            )
        payload = fill_in(served.form, form, answers)
        response = _post(client, urljoin(str(response.url), served.form.action), payload, origin)
    return CompletedVisit(token=token, assignment_id=assignment_id, completion_code=None, pages=pages)


def fill_in(served: ServedForm, form: Form, answers: Mapping[str, str]) -> dict[str, str]:
    """Return what a browser would send for a served page.

    Raise ResponseError if the fields served are not exactly the questions of that page, or do not offer what the form
    offers.
    """
    place = f"assignment {served.assignment_id}, page {served.page_id}"
    page = next((page for page in form.pages if page.page_id == served.page_id), None)
    if page is None or form.assignment_id != served.assignment_id:
        raise ResponseError(f"{place}: expected a page of the form of {form.assignment_id}, which has no such page")
    offered = offered_by(page)
    if set(served.offered) != set(offered):
        raise ResponseError(
            f"{place}: expected fields for {', '.join(offered) or 'no question'}, "
            f"got {', '.join(served.offered) or 'none'}; the page does not ask what the form asks"
        )
    for name, values in offered.items():
        if served.offered[name] != values:
            raise ResponseError(f"{place}, {name}: expected the values {values}, got {served.offered[name]}")
    measured = {READING: answers[page.page_id]} if served.measured and page.page_id in answers else {}
    filled: dict[str, str] = {}
    for one in page.questions:
        filled |= widget_of(one.answer).sends(one.answer, one.question_id, answers[one.question_id])
    return {**served.hidden, **filled, **measured}


def offered_by(page: Page) -> dict[str, list[str] | None]:
    """Return the values that each field of a page offers; ``None`` for free entry."""
    offered: dict[str, list[str] | None] = {}
    for question in page.questions:
        offered |= widget_of(question.answer).controls(question.answer, question.question_id)
    return offered


def _get(client: httpx2.Client, url: str, origin: Origin) -> httpx2.Response | None:
    """Return the page at a URL; ``None`` where the server sends the person on to another site."""
    for _ in range(MOST_REDIRECTS):
        if origin_of(url) != origin:
            return None
        try:
            response = client.get(url)
        except httpx2.HTTPError as error:
            raise ResponseError(f"{origin[1]}: expected the survey server's page, got {_reason(error)}") from error
        if response.status_code == 200:
            shown = read_page(response.text)
            if shown.begin is not None:
                url = _press(client, urljoin(url, shown.begin), origin)
                continue
            if shown.onward is None:
                return response
            url = urljoin(url, shown.onward)
            continue
        if response.status_code not in (302, 303, 307):
            raise ResponseError(f"{origin[1]}: expected the next page, got status {response.status_code}")
        url = urljoin(url, response.headers.get("location", ""))
    raise ResponseError(f"{origin[1]}: expected the next page, got more than {MOST_REDIRECTS} redirects")


def _press(client: httpx2.Client, url: str, origin: Origin) -> str:
    """Take a place by the button of the first page; return where it leads."""
    if origin_of(url) != origin:
        raise ResponseError(f"{origin[1]}: expected a button of this server, got the address {url}")
    try:
        response = client.post(url)
    except httpx2.HTTPError as error:
        raise ResponseError(f"{origin[1]}: expected a place, got {_reason(error)}") from error
    if response.status_code != 303:
        raise ResponseError(f"{origin[1]}: expected a place, got status {response.status_code}")
    return urljoin(url, response.headers.get("location", ""))


def _post(client: httpx2.Client, url: str, payload: Mapping[str, str], origin: Origin) -> httpx2.Response | None:
    """Send one page and return the next, as :func:`_get` does."""
    if origin_of(url) != origin:
        raise ResponseError(f"{origin[1]}: expected answers to be sent to this server, got the address {url}")
    try:
        response = client.post(url, data=dict(payload))
    except httpx2.HTTPError as error:
        raise ResponseError(f"{origin[1]}: expected a page to be saved, got {_reason(error)}") from error
    if response.status_code != 303:
        page = urlsplit(url).path.rpartition("/")[2]
        status = f"status {response.status_code}" + (" with a list of gaps" if response.status_code == 422 else "")
        raise ResponseError(f"{origin[1]}, page {page}: expected the answers {dict(payload)} accepted, got {status}")
    return _get(client, urljoin(url, response.headers.get("location", "")), origin)


def origin_of(url: str) -> Origin:
    """Return the scheme and the host of a URL."""
    parts = urlsplit(url)
    return parts.scheme, parts.netloc


def _reason(error: httpx2.HTTPError) -> str:
    return str(error) or type(error).__name__


@dataclass(frozen=True, slots=True)
class ServedForm:
    """A ``<form>`` as it was served."""

    action: str
    assignment_id: str
    page_id: str
    measured: bool = False  # whether the page asks its script for evidence of reading
    hidden: dict[str, str] = field(default_factory=dict)
    offered: dict[str, list[str] | None] = field(default_factory=dict)  # field -> its values; None: free entry


@dataclass(slots=True)
class ServedPage:
    """What one page holds."""

    form: ServedForm | None = None
    completion_code: str | None = None
    begin: str | None = None  # where the button of the first page takes a place
    onward: str | None = None  # where a link leads that ends the visit
    next_session: str | None = None  # address that begins it


def read_page(html: str) -> ServedPage:
    """Read the questionnaire's form or the completion code from a page.

    >>> read_page('<code data-completion-code>AB12</code>').completion_code
    'AB12'
    """
    reader = PageReader()
    reader.feed(html)
    reader.close()
    return reader.page


class PageReader(HTMLParser):
    """Collects the fields of the form that carries ``data-assignment``."""

    def __init__(self) -> None:
        super().__init__()
        self.page = ServedPage()
        self._in_form = False
        self._in_code = False
        self._select: str | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a form, a field or the beginning of the code."""
        given = {name: value or "" for name, value in attrs}
        if tag == "form" and "data-assignment" in given:
            self._in_form = True
            self.page.form = ServedForm(
                given.get("action", ""), given["data-assignment"], given.get("data-page", ""), "data-reading" in given
            )
        elif tag == "form" and "data-begin" in given:
            self.page.begin = given.get("action", "")
        elif tag == "form" and given.get("action", "").endswith("/next"):
            self.page.next_session = given["action"]
        elif tag == "code" and "data-completion-code" in given:
            self._in_code = True
            self.page.completion_code = ""
        elif tag == "a" and "data-onward" in given:
            self.page.onward = given.get("href")
        elif self._in_form and self.page.form is not None and "form" not in given and "disabled" not in given:
            self._note_field(tag, given, self.page.form)

    def handle_endtag(self, tag: str) -> None:
        """Leave the form, the list or the code."""
        if tag == "form":
            self._in_form = False
        elif tag == "select":
            self._select = None
        elif tag == "code":
            self._in_code = False

    def handle_data(self, data: str) -> None:
        """Collect the code."""
        if self._in_code and self.page.completion_code is not None:
            self.page.completion_code += data.strip()

    def _note_field(self, tag: str, given: dict[str, str], form: ServedForm) -> None:
        name, kind = given.get("name", ""), given.get("type", "text").lower()
        if tag == "option" and self._select is not None:
            values = form.offered[self._select]
            if values is not None and given.get("value"):
                values.append(given["value"])
        if not name or name == HONEYPOT:  # which no person sees
            return
        if tag == "select":
            self._select = name
            form.offered[name] = []
        elif tag == "textarea":
            form.offered[name] = None
        elif tag == "input" and kind == "hidden":
            form.hidden[name] = given.get("value", "")
        elif tag == "input" and kind in ("radio", "checkbox"):
            values = form.offered.setdefault(name, [])
            if values is not None:
                values.append(given.get("value", "on"))
        elif tag == "input" and kind not in UNSENT:
            form.offered[name] = None
