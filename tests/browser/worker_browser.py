"""What the browser tests of the worker site share: a worker's first steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.browser.chromium import expect
from tests.mturk.lab import Lab

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext
    from playwright.sync_api import Page as Tab


def signed_in(context: BrowserContext, lab: Lab, worker_id: str) -> Tab:
    """Come in by an invitation, as a worker does."""
    tab = context.new_page()
    tab.goto(lab.invitation(worker_id))
    tab.locator("main button").click()
    expect(tab.locator(".top nav [aria-current]")).to_be_visible()
    return tab


def accepted(tab: Tab, title: str = "Rate a story") -> str:
    """Find a HIT in the list, accept it and return the assignment's id."""
    tab.get_by_role("link", name=title).click()
    tab.get_by_role("button", name="Accept and work").click()
    expect(tab.get_by_role("link", name="Return")).to_be_visible()
    return tab.url.rpartition("/")[2]
