"""A connection that breaks, and a visit that goes on with another device."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx2
import pytest
from click.testing import CliRunner
from starlette.responses import PlainTextResponse

from spa.cli import main
from spa.commands.workspace import open_workspace
from spa.forms.texts import load_texts
from spa.server.app import create_app
from spa.server.http_server import serve_on_loopback
from tests import patience
from tests.browser.chromium import DESK, PHONE, expect, open_context
from tests.browser.first_page import begin
from tests.browser.hand_made import WORDS, HandMade
from tests.spa.small_study import raw_answer, write_study
from tests.spa.store_steps import save_payload
from tests.spa.web_forms import small_form
from tests.warm import WarmProcess

if TYPE_CHECKING:
    from playwright.sync_api import Browser
    from playwright.sync_api import Page as Tab
    from starlette.types import Receive, Scope, Send

pytestmark = [pytest.mark.browser, pytest.mark.one_process("browser")]
UNSENT = "Not sent yet: no connection. Your answers are kept."
OLDER = (  # phones that are in use lack these
    "delete AbortSignal.timeout; delete HTMLFormElement.prototype.requestSubmit; "
    "delete SubmitEvent.prototype.submitter;"
)
KEPT = "() => [localStorage, sessionStorage].flatMap(Object.keys).filter((name) => name.startsWith('answers:'))"


@pytest.fixture
def made(tmp_path: Path) -> Iterator[HandMade]:
    found = HandMade(tmp_path, small_form(text=WORDS))
    with found.store:
        yield found


def sent(made: HandMade) -> list[tuple[str, dict[str, Any]]]:
    """Return what arrived, page by page."""
    (lease,) = made.store.visits.leases()
    return [(each.page_id, json.loads(each.body)) for each in made.store.visits.payloads(lease.submission_id)]


def to_comparison(tab: Tab, address: str) -> None:
    begin(tab, address)
    tab.check("#q1")
    tab.click(".next")
    tab.check("#q2")
    tab.click(".next")
    tab.wait_for_url("**/p/p3")
    tab.click(".next")
    tab.wait_for_url("**/p/p4")


def test_offline_answers_are_sent_once(browser: Browser, made: HandMade) -> None:
    """What is answered offline is sent once when the connection is back."""
    with serve_on_loopback(create_app(made)) as url, open_context(browser, viewport=PHONE) as context:
        tab = context.new_page()
        status = tab.locator(".connection")
        to_comparison(tab, f"{url}/a/{made.store.tokens()[0]}")
        context.set_offline(True)
        tab.fill("#q3", "70")
        tab.fill("#q4", "20")
        tab.click(".next")
        expect(status).to_have_text(UNSENT)
        tab.fill("#q4", "25")  # still there, and still to be changed
        assert tab.url.endswith("/p/p4")
        context.set_offline(False)
        tab.wait_for_url("**/p/p5")
        expect(status).to_have_text("Saved")
        tab.check("#q5-2")
        context.set_offline(True)
        expect(status).to_have_text(UNSENT)
        context.set_offline(False)
        expect(status).to_have_text("Saved")
        tab.check("#q6-3")
        tab.click(".next")
        tab.wait_for_url("**/done")
        expect(tab.locator("code[data-completion-code]")).to_be_visible()
        assert tab.evaluate(KEPT) == []
    pages = Counter(page_id for page_id, _ in sent(made))
    assert pages["p4"] == 1
    assert dict(sent(made))["p4"].items() >= {"q3": "70", "q4": "25"}.items()
    (submission,) = made.store.submissions()
    assert [answer.raw for answer in submission.answers][2:] == ["70", "25", "2", "3"]


@contextmanager
def served(study: Path, port: int) -> Iterator[WarmProcess]:
    """Serve a study in a process of its own until the block ends, which kills it."""
    process = WarmProcess(["serve", study, "--port", port])
    try:
        until = time.monotonic() + patience.SECONDS
        while time.monotonic() < until:
            with suppress(httpx2.HTTPError):
                if httpx2.get(f"http://127.0.0.1:{port}/health", trust_env=False).is_success:
                    break
            time.sleep(0.1)
        yield process
    finally:
        process.kill()
        process.communicate()


def test_killed_server_gets_everything_later(browser: Browser, tmp_path: Path) -> None:
    """A server that was killed gets everything when it is back."""
    study = write_study(tmp_path)
    assert CliRunner().invoke(main, ["build", str(study)]).exit_code == 0
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with open_workspace(study) as workspace:
        token = workspace.store.tokens()[0]
        lease = workspace.store.visits.admit_link(token, now=0, annotator_kind="human")
        form = workspace.form(lease.assignment_id)
        page = next(page for page in form.pages if page.kind == "comparison")
        for before in form.pages[: form.pages.index(page)]:
            fields = {question.question_id: raw_answer(question) for question in before.questions}
            save_payload(workspace.store, lease.submission_id, before.page_id, json.dumps(fields))
        following = form.pages[form.pages.index(page) + 1].page_id
        with open_context(browser, viewport=DESK) as context:
            tab = context.new_page()
            with served(study, port) as process:
                begin(tab, f"http://127.0.0.1:{port}/a/{token}")
                for question in page.questions:
                    tab.fill(f"#{question.question_id}", "40")
                process.kill()
                process.wait()
                tab.click(".next")
                expect(tab.locator(".connection")).to_have_text(UNSENT)
            with served(study, port):
                tab.wait_for_url(f"**/p/{following}")
                expect(tab.locator(".connection")).to_have_text("Saved")
        arrived = [
            each for each in workspace.store.visits.payloads(lease.submission_id) if each.page_id == page.page_id
        ]
    (payload,) = arrived
    assert json.loads(payload.body) == {question.question_id: "40" for question in page.questions}


def test_browser_closed_in_outage_keeps_answers(browser: Browser, made: HandMade) -> None:
    """A browser that is closed in an outage has the answers still."""
    away, app = threading.Event(), create_app(made)

    async def broken(scope: Scope, receive: Receive, send: Send) -> None:
        refused = scope["type"] == "http" and scope["method"] == "POST" and away.is_set()
        await (PlainTextResponse("", 503) if refused else app)(scope, receive, send)

    with serve_on_loopback(broken) as url, open_context(browser, viewport=DESK) as context:
        tab = context.new_page()
        address = f"{url}/a/{made.store.tokens()[0]}"
        to_comparison(tab, address)
        away.set()
        tab.fill("#q3", "70")
        tab.click(".next")
        expect(tab.locator(".connection")).to_have_text(UNSENT)
        tab.close()
        tab = context.new_page()
        begin(tab, address)
        expect(tab.locator(".connection")).to_have_text(UNSENT)
        assert tab.input_value("#q3") == "70"
        assert tab.locator(".slider").first.input_value() == "70"
        away.clear()
        expect(tab.locator(".connection")).to_have_text("Saved")
        assert dict(sent(made))["p4"]["q3"] == "70"
        away.set()
        tab.fill("#q3", "71")
        tab.click(".next")
        expect(tab.locator(".connection")).to_have_text(UNSENT)
        tab.close()
        (lease,) = made.store.visits.leases()
        save_payload(made.store, lease.submission_id, "p4", json.dumps({"q3": "33", "q4": ""}))  # later, elsewhere
        away.clear()
        tab = context.new_page()
        tab.goto(f"{address}/p/p4")
        expect(tab.locator("#q3")).to_have_value("33")
        assert tab.evaluate(KEPT) == []
    assert dict(sent(made))["p4"] == {"q3": "33", "q4": ""}


def test_visit_finished_on_another_device(browser: Browser, made: HandMade) -> None:
    """The visit begun on a phone is finished on another, older device; a tab that stays open there changes nothing."""
    with serve_on_loopback(create_app(made)) as url:
        with open_context(browser, viewport=PHONE) as context:
            tab = context.new_page()
            begin(tab, f"{url}/a/{made.store.tokens()[0]}")
            expect(tab.locator(".pause")).to_have_count(0)  # nothing to go on with yet
            tab.go_back()
            to_comparison(tab, f"{url}/a/{made.store.tokens()[0]}")
            tab.fill("#q3", "70")
            tab.locator(".pause summary").click()
            address = tab.locator(".pause input").input_value()
            tab.locator(".pause button").click()
            expect(tab.locator(".pause button")).to_have_text("Copied")
            expect(tab.locator(".pause")).to_contain_text("keep it to yourself")
        assert address == f"{url}/a/{made.store.tokens()[0]}"
        with open_context(browser, viewport=DESK) as context:
            context.add_init_script(OLDER)
            tab, stale = context.new_page(), context.new_page()
            begin(tab, address)
            tab.wait_for_url("**/p/p4")
            assert tab.input_value("#q3") == "70"
            tab.fill("#q4", "20")
            tab.click(".back")
            tab.wait_for_url("**/p/p3")
            tab.click(".next")
            tab.wait_for_url("**/p/p4")
            tab.click(".next")
            tab.wait_for_url("**/p/p5")
            stale.goto(f"{address}/p/p5")
            tab.check("#q5-2")
            tab.click(".next")
            expect(tab.locator(".has-gap")).to_have_count(1)
            tab.check("#q6-3")
            context.set_offline(True)
            tab.click(".next")
            expect(tab.locator(".connection")).to_have_text(UNSENT)
            context.set_offline(False)
            tab.wait_for_url("**/done")
            code = tab.locator("code[data-completion-code]").inner_text()
            stale.check("#q5-4")
            stale.click(".next")
            stale.wait_for_url("**/done")
            assert stale.locator("code[data-completion-code]").inner_text() == code
            tab.go_back()
            tab.wait_for_url("**/done")
            assert tab.locator("code[data-completion-code]").inner_text() == code
    (submission,) = made.store.submissions()
    assert [answer.raw for answer in submission.answers] == ["yes", "Yes", "70", "20", "2", "3"]


def test_whoever_comes_from_a_platform_goes_on_from_there(browser: Browser, made: HandMade) -> None:
    token = made.store.visits.admit(
        source="panel", person="P1", external_id="S1", minutes_allowed=None, now=0, annotator_kind="human"
    ).token
    with serve_on_loopback(create_app(made)) as url, open_context(browser, viewport=PHONE) as context:
        tab = context.new_page()
        to_comparison(tab, f"{url}/a/{token}")
        tab.locator(".pause summary").click()
        expect(tab.locator(".pause")).to_contain_text("the site that sent you here")
        expect(tab.locator(".pause input")).to_have_count(0)


def test_a_language_without_these_sentences_does_without(browser: Browser, made: HandMade) -> None:
    missing = ("page.unsent", "page.pause_copy")
    texts = load_texts("en", {})
    for name in missing:
        object.__setattr__(texts, "entries", {key: text for key, text in texts.entries.items() if key != name})
    made.texts = texts
    with serve_on_loopback(create_app(made)) as url, open_context(browser, viewport=PHONE) as context:
        tab = context.new_page()
        to_comparison(tab, f"{url}/a/{made.store.tokens()[0]}")
        expect(tab.locator(".pause, .connection")).to_have_count(0)
        tab.fill("#q3", "70")
        tab.fill("#q4", "20")
        tab.click(".next")
        tab.wait_for_url("**/p/p5")


def test_whoever_declines_leaves_nothing_in_the_browser(browser: Browser, tmp_path: Path) -> None:
    form = small_form()
    found = HandMade(tmp_path, replace(form, pages=(replace(form.pages[0], kind="consent"), *form.pages[1:])))
    with found.store, serve_on_loopback(create_app(found)) as url, open_context(browser) as context:
        tab = context.new_page()
        begin(tab, f"{url}/a/{found.store.tokens()[0]}")
        context.set_offline(True)
        tab.check("#q1")
        tab.click(".next")
        expect(tab.locator(".connection")).to_have_text(UNSENT)
        assert tab.evaluate(KEPT) != []
        tab.locator('button[formaction$="go=decline"]').click()
        context.set_offline(False)
        tab.wait_for_url("**/done")
        expect(tab.locator("h1")).to_have_text("Thank you for your interest")
        assert tab.evaluate(KEPT) == []
        (lease,) = found.store.visits.leases()
        assert found.store.visits.payloads(lease.submission_id) == ()


def test_an_outage_that_nobody_noticed_loses_nothing(browser: Browser, made: HandMade) -> None:
    """Answered, and the tab closed, while nothing gets through; the answers are gone once the server has them."""
    with serve_on_loopback(create_app(made)) as url, open_context(browser, viewport=PHONE) as context:
        tab = context.new_page()
        to_comparison(tab, f"{url}/a/{made.store.tokens()[0]}")
        assert tab.evaluate(KEPT) == []
        tab.evaluate("() => { window.fetch = () => new Promise(() => {}); }")  # though it is online
        tab.fill("#q3", "70")
        tab.close()
        assert "p4" not in dict(sent(made))
        tab = context.new_page()
        asked: list[str] = []
        tab.on("request", lambda request: asked.append(f"{request.method} {request.url.removeprefix(url)}"))
        begin(tab, f"{url}/a/{made.store.tokens()[0]}")
        expect(tab.locator(".connection")).to_have_text("Saved")
        assert (tab.input_value("#q3"), tab.evaluate(KEPT)) == ("70", [])
        tab.fill("#q4", "20")
        asked.clear()
        tab.click(".next")
        tab.wait_for_url("**/p/p5")
        assert [line for line in asked if "/static/" not in line and "favicon" not in line] == [
            f"POST {tab.url.removeprefix(url).replace('p5', 'p4')}?seen=1",
            f"GET {tab.url.removeprefix(url)}",
        ]
        assert not any(line.startswith("HEAD") for line in asked)
    assert dict(sent(made))["p4"].items() >= {"q3": "70", "q4": "20"}.items()
