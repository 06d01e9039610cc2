"""Visits of simulated participants to the survey server, over HTTP without scripts or in a real browser."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urljoin, urlsplit

import httpx2

from spa.errors import PlatformError, ResponseError
from spa.records.form import Form, Question
from spa.simulation.survey_client import ServedForm, fill_in, read_page
from spa.widgets import widget_of

if TYPE_CHECKING:
    from playwright.sync_api import Page as Tab


MOST_REDIRECTS = 10
MOST_STEPS = 3  # requests a page, before a server that leads in circles is given up
AnswerSource = Callable[[str], tuple[Form, Mapping[str, str]]]  # assignment id -> its form, answers by question id
PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
MILLISECONDS = 30_000
SLOWEST_OUTPUT = 600_000  # milliseconds on screen, all of a page
LOOK = 300  # milliseconds between looks at what is left
MOST_PAGES = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class VisitResult:
    """Where a visit ended: on a page of the form, at a notice, or redirected to the platform with a code."""

    url: str
    status: int = 200
    form: ServedForm | None = None
    code: str | None = None


def visit_survey(
    client: httpx2.Client, url: str, answering: AnswerSource, *, share: float = 1.0, decline: bool = False
) -> VisitResult:
    """Open a URL as a new participant, answer page after page, and return where the visit ended.

    With a ``share`` below 1 only this share of the pages is answered; opening the URL again continues the visit. With
    ``decline`` consent is declined. Raise ResponseError if the server fails, refuses an answer, or serves fields that
    are not the form's questions.
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
            place = _send(client, str(httpx2.URL(action).copy_merge_params({"go": "decline"})), dict(served.hidden))
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
            if shown.begin is not None:
                return _press_begin(client, urljoin(url, shown.begin))
            if shown.onward is None:
                return VisitResult(url=url, status=response.status_code, form=shown.form)
            url = urljoin(url, shown.onward)
            continue
        url = urljoin(url, response.headers.get("location", ""))
    raise ResponseError(f"{origin}: more than {MOST_REDIRECTS} redirects")


def _press_begin(client: httpx2.Client, action: str) -> VisitResult:
    """Press the button of the first page; whoever is refused stays at the notice."""
    response = client.post(action)
    if response.status_code == HTTPStatus.SEE_OTHER:
        return _follow(client, urljoin(action, response.headers["location"]))
    if response.status_code >= HTTPStatus.INTERNAL_SERVER_ERROR:
        raise ResponseError(f"{urlsplit(action).path}: the survey server failed with {response.status_code}")
    return VisitResult(url=action, status=response.status_code)


def _send(client: httpx2.Client, action: str, payload: Mapping[str, str]) -> VisitResult:
    response = client.post(action, data=dict(payload))
    if response.status_code != HTTPStatus.SEE_OTHER:
        raise ResponseError(f"{urlsplit(action).path}: expected the answers accepted, got {response.status_code}")
    return _follow(client, urljoin(action, response.headers["location"]))


def visit_in_browser(submission_id: str, answering: AnswerSource, platform_url: str) -> None:
    """Take the study of a submission in a browser, until the platform at ``platform_url`` has taken the code.

    Raise PlatformError if there is no browser, ResponseError if the form cannot be completed.
    """
    try:
        from playwright.sync_api import Error, sync_playwright
    except ModuleNotFoundError as missing:
        raise PlatformError("--browsers: playwright is not installed; pip install playwright") from missing
    program = next((found for name in PROGRAMS if (found := shutil.which(name))), None)
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
            try:
                tab = browser.new_page()
                tab.set_default_timeout(MILLISECONDS)
                tab.goto(f"{platform_url}/emulator/submissions/{submission_id}/go/")
                _answer_pages(tab, answering, platform_url)
            finally:
                browser.close()
    except Error as error:
        problem = error.message.splitlines()[0]
        raise ResponseError(f"--browsers: the form could not be gone through: {problem}") from error


def _answer_pages(tab: Tab, answering: AnswerSource, platform_url: str) -> None:
    for _ in range(MOST_PAGES):
        if tab.url.startswith(platform_url):
            return
        begin = tab.locator("form[data-begin] button")
        if begin.count():
            begin.click()
            tab.wait_for_selector("form:not([data-begin]), body.notice:not(:has(form[data-begin]))")
            continue
        onward = tab.locator("a[data-onward]")
        if onward.count():
            onward.click()
            tab.wait_for_url(re.compile(r"^(?!.*/done$)"))
            continue
        form_of_page = tab.locator("form[data-assignment]")
        if not form_of_page.count():
            raise ResponseError(f"{tab.url}: expected a page of the form, got {tab.title()!r}")
        page_id = form_of_page.get_attribute("data-page")
        form, answers = answering(str(form_of_page.get_attribute("data-assignment")))
        page = next(page for page in form.pages if page.page_id == page_id)
        for question in page.questions:
            _fill(tab, question, answers[question.question_id])
        _go_on(tab)
        tab.wait_for_url(re.compile(rf"^(?!.*/p/{re.escape(page.page_id)}$)"))
    raise ResponseError(f"{tab.url}: the form has no end")


def _go_on(tab: Tab) -> None:
    """Press the button; if the page asks to read outputs first, show each for as long as required."""
    button = tab.locator("form[data-assignment] button.next").last
    button.click()
    if not _is_asking(tab):
        return
    for _ in range(SLOWEST_OUTPUT // LOOK):
        if not _is_asking(tab):
            break
        tab.locator(".unseen-outputs").evaluate("box => box.querySelector('li:not(.done) button')?.click()")
        tab.wait_for_timeout(LOOK)
    button.click()


def _is_asking(tab: Tab) -> bool:
    from playwright.sync_api import Error

    try:
        return tab.locator(".unseen-outputs:visible li:not(.done) button").count() > 0
    except Error:  # the page is being left
        return False


def _fill(tab: Tab, question: Question, value: str) -> None:
    widget, answer, name = widget_of(question.answer), question.answer, question.question_id
    controls, sent = widget.controls(answer, name), widget.sends(answer, name, value)
    for field, filled in sent.items():
        named = f'[name="{field}"]'
        if controls[field] is not None:
            tab.locator(f'input{named}[value="{filled}"]').set_checked(True, force=True)
        elif len(sent) > 1:  # boxes that the script hides; as a browser without script would
            tab.locator(named).evaluate("(box, filled) => { box.value = filled; }", filled)
        else:
            tab.locator(f"input{named}, textarea{named}").first.fill(filled, force=True)
