#!/usr/bin/env bash
# Chromium (Debian's, 150 here): scrolling a page on a phone answers the slider under the finger.
#
# Guess: a vertical swipe that begins on <input type=range> and becomes a scroll (the slider gets "pointercancel") leaves
# the slider as it was. Seen: the page scrolls, and the slider stays where the finger touched it (18 instead of 50), with
# "input" and "change" fired: for a survey that watches for "change", an answer. Touched sliders are no sign of a reader.
set -euo pipefail
chromium=$(command -v chromium) || { echo "needs Debian's chromium"; exit 1; }
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python3 -m venv "$place/env"
"$place/env/bin/pip" install --quiet playwright==1.55.0
CHROMIUM=$chromium "$place/env/bin/python" - <<'PYTHON'
import os

from playwright.sync_api import sync_playwright

PAGE = """<meta name=viewport content="width=device-width"><div style="height: 300px"></div>
<input type=range value=50 style="width: 300px"><div style="height: 3000px"></div>"""
WATCH = """() => { window.seen = []; const slider = document.querySelector("input");
for (const kind of ["input", "change", "pointercancel"]) slider.addEventListener(kind, () => seen.push(kind)); }"""

with sync_playwright() as play:
    browser = play.chromium.launch(executable_path=os.environ["CHROMIUM"], args=["--no-sandbox"])
    print("Chromium", browser.version)
    context = browser.new_context(viewport={"width": 393, "height": 727}, has_touch=True, is_mobile=True)
    page = context.new_page()
    page.set_content(PAGE)
    page.evaluate(WATCH)
    box = page.locator("input").bounding_box()
    x, y = box["x"] + box["width"] / 5, box["y"] + box["height"] / 2
    touch = context.new_cdp_session(page)
    send = lambda kind, points: touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
    send("touchStart", [{"x": x, "y": y}])
    for up in range(10, 160, 10):
        send("touchMove", [{"x": x, "y": y - up}])
        page.wait_for_timeout(16)
    send("touchEnd", [])
    page.wait_for_function("scrollY > 0")
    page.wait_for_timeout(300)
    value, seen, scrolled = page.input_value("input"), page.evaluate("seen"), page.evaluate("scrollY")
    browser.close()
print(f"scrolled by {scrolled:.0f} px; slider 50 -> {value}; events {', '.join(seen)}")
assert "pointercancel" in seen, "the swipe was no scroll"
assert value != "50" and "change" in seen, "the slider keeps its value now"
PYTHON
