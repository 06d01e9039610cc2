"""The first page of a visit in a browser."""

from __future__ import annotations

import re

from playwright.sync_api import Page as Tab


def begin(tab: Tab, address: str) -> None:
    """Open a personal link and press the first page's button, unless its visit has begun."""
    tab.goto(address)
    button = tab.locator("form[data-begin] button")
    if button.count():
        button.click()
        tab.wait_for_url(re.compile("/p/"))
