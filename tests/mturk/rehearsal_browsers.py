"""Annotators of a rehearsal who work in real browsers: they find, accept, answer and hand in, and reload what broke."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from spa.records.form import Form
from tests.browser.chromium import BROWSER
from tests.mturk.studies import answers_to

if TYPE_CHECKING:
    from playwright.async_api import Browser, FrameLocator, Locator, Page

STEP = 10_000  # milliseconds that a step may take before the page is loaded again
SHOWN = ".notice:not(.inside) form, form[data-assignment]"  # what waits for a button to be pressed


def take_part_in_browsers(
    site_url: str, links: Sequence[str], form_of: Callable[[str], Form], *, at_once: int = 2, seconds: float = 300.0
) -> list[str]:
    """Let everybody with a link take one HIT, a few at a time; returns the assignments' ids.

    Parameters
    ----------
    site_url : str
        Origin of the worker site.
    links : sequence of str
        Invitations that were not used yet.
    form_of : callable
        Gives the form of an assignment of the study.
    at_once : int
        How many browsers' windows are open.
    seconds : float
        How long one annotator goes on trying.

    Raises
    ------
    AssertionError
        If one did not come to the end.
    """
    return asyncio.run(_all(site_url, links, form_of, at_once, seconds))


async def _all(
    site_url: str, links: Sequence[str], form_of: Callable[[str], Form], at_once: int, seconds: float
) -> list[str]:
    from playwright.async_api import async_playwright

    places = asyncio.Semaphore(at_once)
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])

        async def one(link: str) -> str:
            async with places:
                return await Worker(browser, site_url, link, form_of, seconds).take_part()

        try:
            return list(await asyncio.gather(*(one(link) for link in links)))
        finally:
            await browser.close()


class Worker:
    """Somebody with an invitation and a browser."""

    def __init__(
        self, browser: Browser, site_url: str, link: str, form_of: Callable[[str], Form], seconds: float
    ) -> None:
        self.browser = browser
        self.site_url = site_url
        self.link = link
        self.form_of = form_of
        self.seconds = seconds
        self.answers: dict[str, Mapping[str, str]] = {}
        self.held: str | None = None
        self.troubles: list[str] = []

    async def take_part(self) -> str:
        """Come in, take a HIT, answer it and hand it in; whatever breaks is begun again from the list of work."""
        from playwright.async_api import Error

        end = time.monotonic() + self.seconds
        context = await self.browser.new_context(viewport={"width": 1280, "height": 800}, locale="en")
        context.set_default_timeout(STEP)
        page = await context.new_page()
        try:
            while time.monotonic() < end:
                try:
                    work = await self._try(page)
                except Error as error:
                    self.troubles.append(f"{page.url}: {error.message[:300]}")
                    await asyncio.sleep(0.3)
                else:
                    return work
        finally:
            await context.close()
        raise AssertionError(f"{self.link}: not done after {self.seconds:.0f} s; {self.troubles[-3:]}")

    async def _try(self, page: Page) -> str:
        await page.goto(f"{self.site_url}/work")
        if await page.locator(".top nav").count() == 0:
            await page.goto(self.link)
            await page.get_by_role("button", name="Sign in").click()
            await page.locator(".top nav").wait_for()
            await page.goto(f"{self.site_url}/work")
        held = page.locator("a.primary[href^='/work/']")
        if await held.count():
            await held.first.click()
        else:
            done = await self._done_before(page)
            if done is not None:
                return done
            await self._accept(page)
        await page.locator(".left").wait_for()
        work = page.url.rpartition("/")[2]
        await self._answer(page, page.frame_locator("iframe.hit"))
        await page.wait_for_url(f"**/work/{work}/done")
        await page.get_by_role("heading", name="Submitted").wait_for()
        return work

    async def _done_before(self, page: Page) -> str | None:
        """Return what was handed in when only the page that says so did not come."""
        if self.held is None:
            return None
        await page.goto(f"{self.site_url}/work/{self.held}/done")
        return self.held if await page.get_by_role("heading", name="Submitted").count() else None

    async def _accept(self, page: Page) -> None:
        await page.goto(f"{self.site_url}/hits")
        await page.locator(".groups h2 a").first.click()
        await page.get_by_role("button", name="Accept and work").click()
        await page.locator(".left").wait_for()

    async def _answer(self, page: Page, frame: FrameLocator) -> None:
        """Go through what the frame shows until the HIT is handed in."""
        self.held = page.url.rpartition("/")[2]
        while True:
            form = frame.locator(SHOWN).last
            await form.wait_for()
            action = str(await form.get_attribute("action"))
            name = await form.get_attribute("data-assignment")
            if name is None and await form.get_attribute("data-begin") is not None:
                await form.locator("button").click()
                await frame.locator("form[data-begin]").wait_for(state="detached")
                continue
            if name is None:  # all is on disk; one button is left
                await form.locator("button").last.click()
                return
            await self._fill(form, name)
            whole = await form.get_attribute("data-origins") is not None
            button = form.locator("button[type=submit]" if whole else "button.next").last
            await button.click()
            waiting = frame.locator(".unseen-outputs:visible li:not(.done) button")
            if await waiting.count():
                while await waiting.count():
                    box = frame.locator(".unseen-outputs")
                    await box.evaluate("box => box.querySelector('li:not(.done) button')?.click()")
                    await asyncio.sleep(0.3)
                await button.click()
            if whole:
                return
            await frame.locator(f'form[action="{action}"]').wait_for(state="detached")

    async def _fill(self, form: Locator, assignment_id: str) -> None:
        """Give the answers that stand in this form."""
        if assignment_id not in self.answers:
            self.answers[assignment_id] = answers_to(self.form_of(assignment_id))
        asked: list[list[str]] = await form.evaluate(
            "form => [...form.elements].filter(e => e.name && e.form === form && e.type !== 'hidden')"
            ".map(e => [e.name, e.type])"
        )
        for name, kind in dict(map(tuple, asked)).items():
            value = self.answers[assignment_id].get(name)
            if value is None:
                continue
            if kind in ("radio", "checkbox"):
                await form.locator(f'[name="{name}"][value="{value}"]').set_checked(True, force=True)
            else:
                await form.locator(f'[name="{name}"]').first.fill(value)
