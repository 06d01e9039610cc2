"""Clips on the form in Chromium: what counts as heard and seen, what holds up the page, and what does not play."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from spa.forms.html import render_whole
from spa.forms.texts import load_texts
from spa.records.form import ExhibitsBlock, Form
from spa.server.app import create_app
from spa.server.http_server import serve_on_loopback
from spa.server.page_responses import LONGEST
from tests import patience
from tests.browser.chromium import DESK, PHONE, expect, open_context
from tests.browser.hand_made import HandMade
from tests.browser.test_reading_in_browser import evidence, to_reading
from tests.conftest import missing_part
from tests.spa.tiny_clips import film, tone, wav
from tests.spa.web_forms import exhibits, small_form

if TYPE_CHECKING:
    from playwright.sync_api import Browser
    from playwright.sync_api import Page as Tab

pytestmark = [pytest.mark.browser, pytest.mark.one_process("browser")]
SECONDS = 1.2
LONG = 6.0  # a clip that is stopped before its end, also on a busy machine
LINES = ".unseen-outputs li"


def form_of_clips(files: dict[str, Path], medium: str, captions: Path | None = None, **seconds: float) -> Form:
    """Return the small form whose reading page shows these clips, by label, of as many seconds where not usual."""

    def shown(block: ExhibitsBlock) -> ExhibitsBlock:
        clips = (
            replace(
                one,
                medium=medium,
                segments=(),
                file=files[one.label],
                seconds=seconds.get(one.label, SECONDS),
                captions=captions,
            )
            if one.label
            else one
            for one in block.exhibits
        )
        return replace(block, exhibits=tuple(clips))

    form = small_form()
    pages = list(form.pages[:4])
    pages[2] = replace(pages[2], blocks=(exhibits(1, "".join(files)),))
    pages[3] = replace(pages[3], blocks=pages[3].questions)
    of_clips = [
        replace(page, blocks=tuple(shown(one) if isinstance(one, ExhibitsBlock) else one for one in page.blocks))
        for page in pages
    ]
    return replace(form, pages=tuple(of_clips))


@contextmanager
def survey(folder: Path, form: Form, language: str = "en", share_played: float = 1.0) -> Iterator[tuple[HandMade, str]]:
    made = HandMade(folder, form, seconds_per_100_words=1.0, language=language, share_played=share_played)
    with made.store, serve_on_loopback(create_app(made)) as url:
        yield made, f"{url}/a/{made.store.tokens()[0]}"


def sounds(folder: Path, labels: str, seconds: float = SECONDS) -> dict[str, Path]:
    files = {label: folder / f"davinci-{label}.wav" for label in labels}
    for number, file in enumerate(files.values()):
        file.write_bytes(wav(tone(300 + 100 * number, seconds=seconds)))
    return files


def press_play(tab: Tab, number: int) -> None:
    """Play or pause a clip with the keyboard."""
    tab.locator(".clip audio, .clip video").nth(number).focus()
    tab.keyboard.press("Space")


def paused(tab: Tab) -> list[bool]:
    found: list[bool] = tab.evaluate("[...document.querySelectorAll('audio, video')].map((one) => one.paused)")
    return found


def wait_until(tab: Tab, condition: str) -> None:
    """Wait for something about the ``clips``; Playwright's own waiting needs a policy that lets strings be run."""
    ends = time.monotonic() + patience.SECONDS
    while not tab.evaluate(
        f"(() => {{ const clips = document.querySelectorAll('audio, video'); return {condition}; }})()"
    ):
        assert time.monotonic() < ends, condition
        tab.wait_for_timeout(50)


def test_page_is_left_once_clips_were_heard(browser: Browser, tmp_path: Path) -> None:
    """On a phone, by keyboard: one plays at a time, and what is muted, fast or skipped is not heard."""
    captions = tmp_path / "a.vtt"
    captions.write_text("WEBVTT\n\n00:00.000 --> 00:10.000\nOne &amp; only\n")
    files = sounds(tmp_path, "AB")
    files["A"].write_bytes(wav(tone(300, seconds=LONG)))
    form = form_of_clips(files, "audio", captions, A=LONG)
    with (
        survey(tmp_path, form) as (made, address),
        open_context(browser, viewport=PHONE) as context,
    ):
        tab = context.new_page()
        to_reading(tab, address)
        expect(tab.locator(".clip .length")).to_have_text(["0:06", "0:01"])
        assert tab.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
        tab.click(".next")
        expect(tab.locator(LINES)).to_have_text(["Writer A, text 1", "Writer B, text 1"])
        expect(tab.locator(".unseen-outputs h2")).to_contain_text("play clips to the end")
        tab.locator(".tab-2").click()
        for spoil in ("one.muted = true", "one.volume = 0", "one.playbackRate = 2", "one.currentTime = 1.1"):
            tab.evaluate(f"(() => {{ const [, one] = document.querySelectorAll('audio'); {spoil}; }})()")
            press_play(tab, 1)
            wait_until(tab, "clips[1].ended")
            mended = "muted: false, volume: 1, playbackRate: 1, currentTime: 0"
            tab.evaluate(f"Object.assign(document.querySelectorAll('audio')[1], {{ {mended} }})")
            expect(tab.locator(".clip.played")).to_have_count(0)
        tab.click(".next")
        assert tab.url.endswith("/p/p3")
        tab.locator(".tab-1").click()
        press_play(tab, 0)
        wait_until(tab, "clips[0].currentTime > 0.3")
        tab.locator(".tab-2").click()
        press_play(tab, 1)
        expect(tab.locator(".cues").nth(1)).to_have_text("One & only")  # which browsers show of films alone
        wait_until(tab, "clips[0].paused && clips[1].ended")
        expect(tab.locator(".clip.played")).to_have_count(1)
        expect(tab.locator(f"{LINES}:not(.done)")).to_have_text(["Writer A, text 1"])
        tab.reload()  # what was heard is kept
        expect(tab.locator(".clip.played")).to_have_count(1)
        tab.locator(".tab-1").click()
        press_play(tab, 0)
        wait_until(tab, "clips[0].ended")
        tab.click(".next")
        tab.wait_for_url("**/p/p4")
    found = evidence(made)
    assert set(found["played"]) == {"e2", "e3"}
    for name, seconds in (("e2", LONG), ("e3", SECONDS)):
        times = found["played"][name]
        assert sum(times[1::2]) - sum(times[::2]) == pytest.approx(seconds, abs=0.3)


def test_switching_beside_a_reference_keeps_the_place(browser: Browser, tmp_path: Path) -> None:
    """A clip that is begun while its labelled reference plays goes on where that was; after a pause it does not."""
    form = form_of_clips(sounds(tmp_path, "AB", seconds=4), "audio", seconds=4)
    reading = form.pages[2]
    (block,) = (one for one in reading.blocks if isinstance(one, ExhibitsBlock))
    labelled = replace(block.exhibits[0], label=None, exhibit_id="e9", caption="Reference")
    page = replace(reading, blocks=(ExhibitsBlock(heading=None, exhibits=(labelled,)), block))
    form = replace(form, pages=(*form.pages[:2], page, form.pages[3]))
    with survey(tmp_path, form) as (_, address), open_context(browser, viewport=DESK) as context:
        tab = context.new_page()
        to_reading(tab, address)
        press_play(tab, 0)
        wait_until(tab, "clips[0].currentTime > 1.5")
        press_play(tab, 2)
        wait_until(tab, "clips[2].currentTime > 1.4 && clips[2].played.length && clips[0].paused")
        assert tab.evaluate("document.querySelectorAll('audio')[2].played.start(0)") > 1.4
        press_play(tab, 2)
        press_play(tab, 1)
        wait_until(tab, "clips[1].currentTime > 0.1 && clips[1].played.length")
        assert tab.evaluate("document.querySelectorAll('audio')[1].played.start(0)") < 0.1
        tab.set_viewport_size(PHONE)  # where the reference is out of sight: its button stands beside each clip
        assert tab.locator("article.reference button").count() == 0
        buttons = tab.get_by_role("button", name="Reference")
        expect(buttons).to_have_count(2)
        tab.evaluate("scrollTo(0, document.body.scrollHeight)")
        expect(buttons.nth(1)).to_be_in_viewport()
        tab.locator("audio").nth(2).evaluate("clip => { clip.currentTime = 2; clip.play(); }")
        wait_until(tab, "clips[2].currentTime > 2.2")
        buttons.nth(1).focus()
        tab.keyboard.press("Enter")
        wait_until(tab, "!clips[0].paused && clips[0].currentTime > 2.1 && clips[2].paused")
        expect(buttons.nth(1)).to_have_attribute("aria-pressed", "true")
        tab.keyboard.press("Enter")
        expect(buttons.nth(0)).to_have_attribute("aria-pressed", "false")
        assert all(paused(tab))
        expect(tab.locator(".switch")).to_have_count(0)


def test_clip_that_does_not_play_is_told(browser: Browser, tmp_path: Path) -> None:
    """A broken file, and a connection that breaks: what does not play can be left, and goes on when it can."""
    files = sounds(tmp_path, "AB", seconds=3.0)
    files["A"].write_bytes(b"RIFF....WAVEnothing of the kind")
    with (
        survey(tmp_path, form_of_clips(files, "audio", A=3.0, B=3.0)) as (made, address),
        open_context(browser) as context,
    ):
        tab = context.new_page()
        to_reading(tab, address)
        press_play(tab, 0)
        failed = tab.locator(".play-failed")
        expect(failed).to_contain_text("does not play at the moment")
        failed.get_by_role("button", name="It does not play").click()
        expect(failed).to_contain_text("Noted")
        context.set_offline(True)
        press_play(tab, 1)
        expect(failed).to_have_count(2)
        context.set_offline(False)  # it goes on by itself
        wait_until(tab, "clips[1].ended")
        expect(failed).to_have_count(1)
        tab.click(".next")
        tab.wait_for_url("**/p/p4")
    found = evidence(made)
    assert found["unplayable"] == ["e2"]
    assert set(found["played"]) == {"e3"}


def test_films_are_seen_and_play_in_step(browser: Browser, tmp_path: Path) -> None:
    """Two films of a pair play in step, the first with its sound; the other is still to be heard."""
    files = {label: tmp_path / f"{label}.mp4" for label in "AB"}
    for file in files.values():
        file.write_bytes(film(SECONDS))
    with survey(tmp_path, form_of_clips(files, "video")) as (made, address), open_context(browser) as context:
        tab = context.new_page()
        to_reading(tab, address)
        tab.get_by_role("button", name="Play both in step").click()
        wait_until(tab, "!clips[0].paused && !clips[1].paused && clips[1].muted && !clips[0].muted")
        wait_until(tab, "clips[0].ended && clips[1].ended && !clips[1].muted")
        expect(tab.locator(".clip.played")).to_have_count(1)
        tab.click(".next")
        expect(tab.locator(f"{LINES}:not(.done)")).to_have_text(["Writer B, text 1"])
        press_play(tab, 1)
        wait_until(tab, "clips[1].ended")
        assert tab.evaluate("[...document.querySelectorAll('video')].map((one) => one.videoWidth)") == [64, 64]
        tab.click(".next")
        tab.wait_for_url("**/p/p4")
    assert set(evidence(made)["played"]) == {"e2", "e3"}


def test_eight_paused_clips_do_not_hold_up_the_page(browser: Browser, tmp_path: Path) -> None:
    """A browser has six connections to a server: clips of 20 MB, heard for a moment and paused, leave them free."""
    files = dict.fromkeys("ABCDEFGH", tmp_path / "long.wav")
    seconds = 20 * LONGEST / 2 / 48_000
    files["A"].write_bytes(wav(tone(300, seconds=seconds, rate=48_000), rate=48_000))
    form = form_of_clips(files, "audio", **dict.fromkeys(files, seconds))
    with survey(tmp_path, form, share_played=0.0) as (_, address), open_context(browser) as context:
        tab = context.new_page()
        sizes: list[int] = []
        tab.on("response", lambda answer: sizes.append(int(answer.headers.get("content-length", 0))))
        to_reading(tab, address)
        for number in range(len(files)):
            press_play(tab, number)
            wait_until(tab, f"clips[{number}].currentTime > 0.1")
            press_play(tab, number)
        assert all(paused(tab))
        tab.click(".next")
        tab.wait_for_url("**/p/p4")
    assert max(sizes) == LONGEST


@pytest.mark.parametrize(("language", "scheme"), [("en", "light"), ("ar", "dark")])
def test_axe_finds_nothing_on_pages_of_clips(browser: Browser, tmp_path: Path, language: str, scheme: Any) -> None:
    try:
        from axe_playwright_python.sync_playwright import Axe
    except ModuleNotFoundError:
        missing_part("axe-playwright-python is not installed")
    form = form_of_clips(sounds(tmp_path, "AB"), "audio")
    with survey(tmp_path, form, language) as (_, address), open_context(browser, color_scheme=scheme) as context:
        tab = context.new_page()
        to_reading(tab, address)
        tab.click(".next")
        expect(tab.locator(LINES)).to_have_count(2)
        for size in (DESK, PHONE):
            tab.set_viewport_size(size)
            assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
            assert Axe().run(tab).violations_count == 0


def test_without_script_the_page_says_so(browser: Browser, tmp_path: Path) -> None:
    with survey(tmp_path, form_of_clips(sounds(tmp_path, "AB"), "audio")) as (made, address):
        with open_context(browser, java_script_enabled=False) as context:
            tab = context.new_page()
            to_reading(tab, address)
            expect(tab.get_by_text("cannot work without JavaScript")).to_be_visible()
            expect(tab.locator("audio[controls]")).to_have_count(2)
            tab.click(".next")
            expect(tab.locator(LINES)).to_have_count(2)
            assert not next(iter(made.store.visits.leases())).finished


def test_clips_play_in_a_form_that_stands_alone(browser: Browser, tmp_path: Path) -> None:
    """In a preview in one file, and in the form that reviewers see: its own policy lets it load what it holds."""
    (tmp_path / "form.html").write_text(
        render_whole(form_of_clips(sounds(tmp_path, "A"), "audio"), load_texts("en", {})), encoding="utf-8"
    )
    with open_context(browser) as context:
        tab = context.new_page()
        tab.goto((tmp_path / "form.html").as_uri())
        clip = tab.locator("audio").first
        lasts = clip.evaluate(
            "clip => new Promise(ended => { clip.onloadedmetadata = () => ended(clip.duration);"
            " clip.onerror = () => ended(0); clip.preload = 'metadata'; clip.load(); })"
        )
        assert lasts == pytest.approx(SECONDS, abs=0.1)
