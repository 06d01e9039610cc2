"""What the browser tests share: Chromium where it is installed, and windows of it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tests import patience
from tests.conftest import missing_part

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Locator, LocatorAssertions

CHROMIUM = "/usr/bin/chromium"
BROWSER = shutil.which("chromium-headless-shell") or CHROMIUM  # the same engine without a desktop: half the work
PHONE: Any = {"width": 390, "height": 844}
UNHURRIED = "--js-flags=--no-opt --no-maglev"  # to compile a page's code for speed costs more than its short life gains
DESK: Any = {"width": 1280, "height": 800}


def expect(locator: Locator) -> LocatorAssertions:
    """Wait for what is asserted: a page that was just asked for may still be on its way."""
    from playwright.sync_api import expect as eventually

    eventually.set_options(timeout=patience.MILLISECONDS)
    return eventually(locator)


@contextmanager
def open_browser(*more: str) -> Iterator[Browser]:
    """Run Chromium, with more of its arguments, while a block runs."""
    if shutil.which(BROWSER) is None:
        missing_part(f"no browser at {BROWSER} (Debian: apt-get install chromium)")
    try:
        from playwright.sync_api import sync_playwright
    except ModuleNotFoundError:
        missing_part("playwright is not installed")
    with sync_playwright() as playwright:
        arguments = ["--no-sandbox", "--disable-background-networking", "--disable-component-update", UNHURRIED, *more]
        found = playwright.chromium.launch(executable_path=BROWSER, args=arguments)
        yield found
        found.close()


@contextmanager
def open_context(browser: Browser, **settings: Any) -> Iterator[BrowserContext]:
    """Open a window that shares nothing with others."""
    made = browser.new_context(**{"viewport": DESK, "reduced_motion": "reduce", **settings})
    made.set_default_timeout(patience.MILLISECONDS)
    yield made
    made.close()
