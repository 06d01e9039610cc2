"""The doors in a browser: a visit stays with who began it."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from fastapi import FastAPI
from fastapi.responses import HTMLResponse

from spa.commands.workspace import open_workspace
from spa.platforms.panel.routes import mount_with
from spa.server.app import create_app
from spa.server.http_server import serve_on_loopback
from tests.browser.chromium import open_context
from tests.browser.first_page import begin
from tests.spa.platforms.test_panel import PLAIN
from tests.spa.server.served_study import build
from tests.spa.small_study import STUDY

if TYPE_CHECKING:
    from playwright.sync_api import Browser

PHONE = {"width": 360, "height": 700}


def test_panel_person_goes_on_in_another_browser(browser: Browser, tmp_path: Path) -> None:
    """A panel's person goes on in another browser by the visit's own address."""
    study = build(tmp_path, STUDY + PLAIN)
    with open_workspace(study) as workspace:
        app = create_app(workspace, adapters=[partial(mount_with, environment={})])
        with serve_on_loopback(app) as url:
            link = f"{url}/panel?id=ada"
            with open_context(browser) as context:
                tab = context.new_page()
                begin(tab, link)
                mine = tab.url
                tab.goto(link)
                assert tab.url == mine  # the cookie
            with open_context(browser, viewport=PHONE) as context:
                tab = context.new_page()
                tab.goto(link)
                assert tab.locator("h1").inner_text() == "Somebody has begun with your link"
                assert tab.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
                tab.get_by_label("Address of your visit").fill(mine.partition("/p/")[0])
                tab.get_by_role("button", name="Continue").click()
                tab.wait_for_url(re.compile("/p/"))
                assert tab.url == mine
        assert len(list(workspace.store.visits.of_people())) == 1


def test_door_link_on_another_site(browser: Browser, tmp_path: Path) -> None:
    """A link on another site does not become this browser's visit."""
    with open_workspace(build(tmp_path, STUDY)) as workspace, serve_on_loopback(create_app(workspace)) as url:
        theirs = f"{url}/a/{workspace.store.tokens()[0]}"
        other = FastAPI()

        @other.get("/", response_class=HTMLResponse)
        def show() -> str:
            return f'<img src="{theirs}" alt=""><a href="{theirs}">See this</a>'

        with serve_on_loopback(other) as elsewhere, open_context(browser) as context:
            tab = context.new_page()
            tab.goto(elsewhere.replace("127.0.0.1", "localhost"))
            assert list(workspace.store.visits.of_people()) == []
            tab.get_by_role("link").click()
            tab.locator("form[data-begin] button").click()
            tab.wait_for_url(re.compile("/p/"))
            assert context.cookies() == []
            begin(tab, url)
            assert not tab.url.startswith(theirs)
            mine = tab.url
            begin(tab, url)
            assert tab.url == mine
