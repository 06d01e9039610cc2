"""Chromium draws the very pixels that a model on this machine is given."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from PIL import Image

from spa.forms.html import Posting, render_whole
from spa.forms.prompt import render_prompt
from spa.forms.texts import load_texts
from spa.media import model_files
from spa.server.http_server import serve_on_loopback
from spa.server.preview import create_preview
from tests.browser.chromium import open_context
from tests.spa.media.test_media import made
from tests.spa.media.test_neutral_image import halves, image_study, saved, swapping, turned

if TYPE_CHECKING:
    from playwright.sync_api import Browser
    from playwright.sync_api import Page as Tab

pytestmark = [pytest.mark.browser, pytest.mark.one_process("browser")]
DRAWN = """images => Promise.all(images.map(async image => {
    await image.decode();
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [image.naturalWidth, image.naturalHeight];
    const context = canvas.getContext("2d");
    context.drawImage(image, 0, 0);
    const { data } = context.getImageData(0, 0, canvas.width, canvas.height);
    return [canvas.height, canvas.width, [...data]];
}))"""
JPEG_DIFFERENCE = 2  # of 255: two decoders may round otherwise


def odd_pictures() -> list[bytes]:
    """Return pictures that were shown otherwise than they were sent, and a plain JPEG."""
    noise = Image.effect_noise((40, 24), 60)
    grey = np.linspace(0, 65535, 40 * 24).astype(np.uint16).reshape(24, 40)
    return [
        saved(noise.convert("RGB"), "JPEG", exif=turned(6)),
        saved(halves((0, 0, 0, 0), (0, 0, 255, 128), "RGBA"), "PNG"),
        saved(Image.fromarray(grey), "PNG"),
        saved(halves((0, 255, 255, 0), (0, 0, 0, 255), "CMYK"), "JPEG"),
        saved(halves().convert("P"), "GIF", save_all=True, append_images=[noise.convert("P")], duration=20),
        saved(halves(), "PNG", icc_profile=swapping()),
        saved(halves(), "WEBP", lossless=True, exif=turned(8)),
        saved(Image.merge("RGB", [noise, noise.transpose(Image.Transpose.ROTATE_180), noise]), "JPEG", quality=60),
    ]


def drawn(tab: Tab) -> list[np.ndarray[Any, Any]]:
    """Return the pixels of the pictures on a page, in its order."""
    found = tab.locator("img").evaluate_all(DRAWN)
    return [np.array(data).reshape(height, width, 4) for height, width, data in found]


def test_people_see_the_pixels_that_models_get(browser: Browser, tmp_path: Path) -> None:
    """On the pages of the survey and in a HIT, pixel by pixel."""
    pictures = odd_pictures()
    path = image_study(tmp_path, pictures)
    path.write_text(path.read_text().replace("exposure = 2", "exposure = 4"))
    _, _, form = made(path)
    (message,) = render_prompt(form).chat_messages("")
    sent = [(model_files(part), part) for part in message["content"]]
    given = [np.asarray(models.decoded(part)).astype(int) for models, part in sent if models is not None]
    texts = load_texts("en", {})
    posting = Posting(script="", origins=("https://platform.example",), fields={})
    (tmp_path / "hit.html").write_text(render_whole(form, texts, posting=posting), encoding="utf-8")
    seen: dict[str, np.ndarray[Any, Any]] = {}
    with open_context(browser) as window, serve_on_loopback(create_preview(form, texts)) as address:
        tab = window.new_page()
        for page in form.pages:
            tab.goto(f"{address}/p/{page.page_id}")
            sources = tab.locator("img").evaluate_all("images => images.map(image => image.src)")
            seen |= dict(zip(sources, drawn(tab), strict=True))
        tab.goto((tmp_path / "hit.html").as_uri())
        in_hit = drawn(tab)
    assert len(given) == len(seen) == len(pictures)
    for model, person in zip(given, seen.values(), strict=True):
        assert person.shape[:2] == model.shape[:2]
        assert (person[..., 3] == 255).all()
        assert abs(person[..., :3] - model).max() <= JPEG_DIFFERENCE
    for person in in_hit:
        same = [one for one in given if one.shape[:2] == person.shape[:2]]
        assert min(abs(person[..., :3] - one).max() for one in same) <= JPEG_DIFFERENCE
