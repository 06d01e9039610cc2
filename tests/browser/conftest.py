"""The browser of the tests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.browser.chromium import open_browser

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """Return Debian's Chromium; closed with the package, as its event loop would stand in the way of other tests."""
    with open_browser() as found:
        yield found
