"""Makes the README's two pictures of the demo, a form and its report: ``python -m tests.pictures``.

Each file holds the words that it shows, in its PNG text ``Description``; a test compares them with today's demo.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tests.browser.chromium import open_browser, open_context
from tests.guides.reader import reader_in
from tests.guides.servers import Server, free_port, start

if TYPE_CHECKING:
    from PIL.Image import Image
    from playwright.sync_api import Page

IMAGES = Path(__file__).resolve().parents[1] / "docs" / "images"
WINDOW = {"width": 620, "height": 830}
COLOURS = 48  # enough for text and lines: a third of the bytes
ANSWERS = ("77", "20")  # the chances that somebody has stated


def words_in(picture: Path) -> list[str]:
    """Return the lines of text that a picture shows."""
    from PIL import Image

    with Image.open(picture) as opened:
        return str(opened.info["Description"]).splitlines()


def form(page: Page, address: str) -> Sequence[str]:
    """Show a page on which two systems are compared, answered."""
    page.goto(f"{address}/p/p1")
    number = 1
    while not page.locator(".with-slider").count():
        number += 1
        page.goto(f"{address}/p/p{number}")
    for field, answer in zip(page.locator(".whole-number").all(), ANSWERS, strict=True):
        field.fill(answer)
    page.locator("details.item:visible").last.locator("summary").click()
    page.evaluate("document.activeElement.blur(); scrollTo(0, document.body.scrollHeight)")
    return [*page.locator(".asked").all_inner_texts(), *page.locator(".end").all_inner_texts()]


def report(page: Page, address: str) -> Sequence[str]:
    """Show the first page of a report."""
    page.goto(address)
    page.locator("#answer").evaluate("shown => shown.scrollIntoView()")
    return [line for line in page.locator("#answer").inner_text().splitlines() if line.strip()]


@contextmanager
def stopping(server: Server) -> Iterator[None]:
    """Stop a server in the end."""
    try:
        yield
    finally:
        server.stop()


def main() -> None:
    """Run the demo, look at it in Chromium, and write what is seen."""
    with tempfile.TemporaryDirectory() as base, reader_in(Path(base)) as reader:
        reader.spa("demo", "--out", "demo")
        server = start(("preview", "demo/study"), port=free_port(), environment=dict(os.environ), log=Path(base, "log"))
        with stopping(server), open_browser() as browser:
            for name, show, address in (
                ("form", form, server.url),
                ("report", report, Path(base, "demo", "report", "report.html").as_uri()),
            ):
                with open_context(browser, viewport=WINDOW, device_scale_factor=2) as window:
                    page = window.new_page()
                    words = show(page, address)
                    save(page.screenshot(), IMAGES / f"{name}.png", words)


def save(shown: bytes, path: Path, words: Sequence[str]) -> None:
    """Write a screenshot with few colours and the words that it shows."""
    from io import BytesIO

    from PIL import Image, PngImagePlugin

    described = PngImagePlugin.PngInfo()
    described.add_itxt("Description", "\n".join(words))
    small: Image = Image.open(BytesIO(shown)).convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    small.save(path, optimize=True, pnginfo=described)
    sys.stdout.write(f"{path}: {path.stat().st_size // 1000} kB\n")


if __name__ == "__main__":
    main()
