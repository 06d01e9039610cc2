"""One simulated person in a real browser: from the platform's door through the form and back with the code."""

from __future__ import annotations

import re
import shutil
from typing import TYPE_CHECKING

from prolific.rehearse.http_client import AnswerSource
from spa.errors import PlatformError, ResponseError
from spa.forms.form import ConfirmAnswer, OptionsAnswer, OrderAnswer, Question
from spa.responses.orders import order_fields

if TYPE_CHECKING:
    from playwright.sync_api import Page as Tab

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
MILLISECONDS = 30_000
SLOWEST_OUTPUT = 600_000  # milliseconds on screen, all of a page
LOOK = 300  # milliseconds between looks at what is left
MOST_PAGES = 1_000


def visit_in_browser(submission_id: str, answering: AnswerSource, platform_url: str) -> None:
    """Go through the study of a submission as a person does, until the platform at ``platform_url`` has taken the code.

    Raise PlatformError if there is no browser to be used, ResponseError if the form cannot be gone through.
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
    """Press the button; where the page asks for outputs first, look at each for as long as it wants."""
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
    """Say whether the page lists outputs that are still to be looked at."""
    from playwright.sync_api import Error

    try:
        return tab.locator(".unseen-outputs:visible li:not(.done) button").count() > 0
    except Error:  # the page is being left
        return False


def _fill(tab: Tab, question: Question, value: str) -> None:
    name = f'[name="{question.question_id}"]'
    if isinstance(question.answer, OrderAnswer):  # as a browser without script would
        for field, rank in order_fields(question, value).items():
            tab.locator(f'[name="{field}"]').evaluate("(box, rank) => { box.value = rank; }", rank)
    elif isinstance(question.answer, OptionsAnswer):
        tab.locator(f'input{name}[value="{value}"]').set_checked(True, force=True)
    elif isinstance(question.answer, ConfirmAnswer):
        tab.locator(f"input{name}").set_checked(value == "yes", force=True)
    else:
        tab.locator(f"input{name}, textarea{name}").first.fill(value, force=True)
