"""What the page's script counts of people's ways of answering and of programs'; the table is tests/calibration's."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.browser.chromium import expect, open_context
from tests.calibration import conduct as measured
from tests.calibration.conduct_traces import RATINGS, Hand, layout_of

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = [pytest.mark.browser, pytest.mark.one_process("browser")]


@pytest.mark.parametrize(
    ("hand", "seed"), [(Hand(pastes=True), 1), (Hand(by="keyboard"), 4)], ids=["mouse", "keyboard"]
)
def test_script_counts_what_traces_hold(browser: Browser, tmp_path: Path, hand: Hand, seed: int) -> None:
    """A walk in Chromium is counted as the trace is, and shows nothing that no hand does."""
    counted, shown = measured.walked(browser, tmp_path, hand, seed, cap=0.02)
    assert measured.agree(counted, shown), (counted, shown)
    assert shown.followed == measured.NOTHING_FOLLOWED
    assert (counted.answers, counted.unprompted, counted.fast) == (5, 0, 0)
    assert counted.away == counted.pastes == hand.pastes


def test_programs_that_press_no_key_are_seen(browser: Browser, tmp_path: Path) -> None:
    """Answers and a text that come without a key, and the browser's own word."""
    for name, unprompted, timed in (("Playwright, at once", 1, 3), ("a script in the page", 5, 0)):
        folder = tmp_path / name
        folder.mkdir()
        found = measured.visit(browser, folder, measured.PROGRAMS[name], 1).known.conduct
        assert found is not None
        assert (found.answers, found.unprompted, found.timed, found.automated) == (5, unprompted, timed, 1)


def test_presses_sooner_than_a_hand_are_fast(browser: Browser, tmp_path: Path) -> None:
    """By hand: 0.01 s after the answer before, with the clock of the presses set; 3 s after it is no sign."""
    with measured.survey(tmp_path) as (made, address), open_context(browser, viewport=measured.WINDOW) as context:
        tab = context.new_page()
        measured.open_page(tab, address)
        layout, now = layout_of(tab), time.time()
        for name, after in zip(RATINGS, (0.0, 3.0, 3.01, 6.01), strict=True):
            left, top, width, height = layout[f"{name}/1"]
            press = {"x": left + width / 2, "y": top + height / 2, "button": "left", "clickCount": 1}
            for kind in ("mousePressed", "mouseReleased"):
                context.new_cdp_session(tab).send(
                    "Input.dispatchMouseEvent", {"type": kind, "timestamp": now + after, **press}
                )
            expect(tab.locator(f"input[name={name}]").nth(1)).to_be_checked()
        measured.leave_page(tab)
        found = measured.evidence(made).known.conduct
    assert found is not None
    assert (found.answers, found.timed, found.fast) == (4, 3, 1)


def test_post_without_browser_has_no_evidence(tmp_path: Path) -> None:
    assert measured.post(tmp_path).known.known_by == "none"


def test_page_opened_again_counts_on(browser: Browser, tmp_path: Path) -> None:
    with (
        measured.survey(tmp_path) as (made, address),
        open_context(browser, viewport=measured.WINDOW) as context,
    ):
        tab = context.new_page()
        measured.open_page(tab, address)
        measured.at_once(tab, 0)
        tab.click(".back")
        tab.wait_for_url("**/p/p1")
        before = measured.evidence(made).known.conduct
        tab.click(".next")
        tab.wait_for_url("**/p/p2")
        tab.locator("#q6").press_sequentially("now")
        measured.leave_page(tab)
        after = measured.evidence(made).known.conduct
    assert before is not None
    assert after is not None
    assert (after.answers, after.keys) == (before.answers + 1, before.keys + 3)
    assert replace(after, answers=0, keys=0, moves=0) == replace(before, answers=0, keys=0, moves=0)


def test_people_are_seldom_said_to_be_faster_than_hands() -> None:
    """Of 200 hurried visits by mouse none is; at seven bits a second, far above what people reach, few are."""
    fast = [*measured.SIGNS].index("fast")
    rng = measured.np.random.default_rng(2)
    assert measured.shares(measured.people(Hand(hurried=True), 200, rng))[fast] <= 0.01
    assert measured.shares(measured.people(Hand(), 200, rng))[fast] == 0


def test_tree_hides_the_box_and_says_the_word(browser: Browser, tmp_path: Path) -> None:
    """Whoever reads the accessibility tree, as screen readers do, meets no box; a keyboard never reaches it."""
    with measured.survey(tmp_path) as (made, address), open_context(browser, viewport=measured.WINDOW) as context:
        tab = context.new_page()
        measured.open_page(tab, address)
        measured.at_once(tab, 0)
        tree = tab.locator("body").aria_snapshot()
        assert "tick this box" not in tree
        assert measured.WORD in tree
        box = tab.locator("input[name=honeypot]")
        assert box.count() == 1
        assert box.evaluate("box => box.tabIndex") == -1
        measured._write_word(tab, tree)
        measured.leave_page(tab)
        followed = measured.evidence(made).followed
        assert (followed.honeypot, followed.injected) == (False, True)
