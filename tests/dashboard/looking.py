"""How the tests look at the dashboard: patiently, and with a photograph of what they saw."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tests.dashboard.conftest import PATIENCE, Dashboard

if TYPE_CHECKING:
    from playwright.sync_api import Locator, LocatorAssertions
    from playwright.sync_api import Page as Tab


def expect(locator: Locator) -> LocatorAssertions:
    """Assert something that may take a while to come true."""
    from playwright.sync_api import expect as eventually

    eventually.set_options(timeout=PATIENCE)
    return eventually(locator)


def visit(tab: Tab, dashboard: Dashboard, page: str) -> None:
    """Open a page by its address, with the token of the link where it has one."""
    base, asked, token = dashboard.url.partition("/?")
    tab.goto(f"{base}/{page}{'?' * bool(asked)}{token}")
    expect(tab.get_by_role("heading", level=1)).to_be_visible()


def choose(tab: Tab, part: str) -> None:
    """Press a part of the segmented control."""
    tab.get_by_role("radio", name=part, exact=True).click()


def settled(tab: Tab) -> None:
    """Wait until nothing is being worked out, and see that no error stands on the page."""
    busy = "[data-testid=stStatusWidget], [data-testid=stSpinner], [data-testid=stSkeleton]"
    expect(tab.locator("[data-testid=stApp]")).to_have_attribute("data-test-script-state", "notRunning")
    expect(tab.locator(busy)).to_have_count(0)
    assert tab.locator("[data-testid=stException]").count() == 0


def photograph(tab: Tab, path: Path) -> None:
    """Take the whole page once it has settled."""
    settled(tab)
    tab.screenshot(path=path, full_page=True)
    assert path.stat().st_size > 10_000  # an empty page is smaller
