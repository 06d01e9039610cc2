"""How the tests look at the dashboard: patiently, and with a photograph of what they saw."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tests.streamlit_app.conftest import PATIENCE, Dashboard

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Locator, LocatorAssertions
    from playwright.sync_api import Page as Tab


# A run that is over before the browser draws once is never seen running, but its heading is another one.
TURNED = """page => new Promise(ended => {
  const app = document.querySelector('[data-testid=stApp]')
  const heading = () => document.querySelector('h1')?.textContent
  const before = heading()
  let ran = false
  const watching = new MutationObserver(() => {
    if (app.dataset.testScriptState !== 'notRunning') ran = true
    else if (ran || (heading() && heading() !== before)) { watching.disconnect(); ended() }
  })
  const changes = {attributes: true, childList: true, characterData: true, subtree: true}
  watching.observe(app, {...changes, attributeFilter: ['data-test-script-state']})
  history.pushState({}, '', `/${page}${location.search}`)
  dispatchEvent(new PopStateEvent('popstate'))
})"""


def expect(locator: Locator) -> LocatorAssertions:
    """Assert something that may take a while to come true."""
    from playwright.sync_api import expect as eventually

    eventually.set_options(timeout=PATIENCE)
    return eventually(locator)


def newcomer(context: BrowserContext, width: int, height: int = 1000) -> Tab:
    """Open a tab for somebody whom no dashboard knows yet, in a browser that has loaded what all pages share."""
    context.clear_cookies()
    tab = context.new_page()
    tab.set_viewport_size({"width": width, "height": height})
    return tab


def visit(tab: Tab, dashboard: Dashboard, page: str, who: str | None = None) -> None:
    """Open a page by its address, with the token of the first link, or of a reviewer's."""
    base, _, token = (dashboard.url if who is None else dashboard.links[who]).partition("/?")
    tab.goto(f"{base}/{page}?{token}")
    expect(tab.get_by_role("heading", level=1)).to_be_visible()


def turn_to(tab: Tab, page: str) -> None:
    """Go on to another page as the browser's buttons do: what Streamlit has loaded, most of a visit's work, stays."""
    settled(tab)  # or the end of the page before is taken for this one's
    tab.evaluate(TURNED, page)
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
