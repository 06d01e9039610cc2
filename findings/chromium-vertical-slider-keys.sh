#!/usr/bin/env bash
# Chromium (Debian's, 150 here): on a vertical slider, Arrow Up and Page Up go opposite ways.
#
# Guess: on <input type=range style="writing-mode: vertical-lr"> (a thermometer scale), keys that point up agree with each
# other. Seen: Arrow Up lowers the value, since the minimum lies on top, while Page Up raises it by a tenth, so the thumb
# moves down; only with direction: rtl, which puts the minimum below, do both raise it.
set -euo pipefail
chromium=$(command -v chromium) || { echo "needs Debian's chromium"; exit 1; }
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python3 -m venv "$place/env"
"$place/env/bin/pip" install --quiet playwright==1.55.0
CHROMIUM=$chromium "$place/env/bin/python" - <<'PYTHON'
import os

from playwright.sync_api import sync_playwright

STYLES = {"vertical": "writing-mode: vertical-lr", "vertical, rtl": "writing-mode: vertical-lr; direction: rtl"}
found = {}
with sync_playwright() as play:
    browser = play.chromium.launch(executable_path=os.environ["CHROMIUM"], args=["--no-sandbox"])
    print("Chromium", browser.version)
    page = browser.new_page()
    for name, style in STYLES.items():
        page.set_content(f'<input type=range min=0 max=100 value=50 style="{style}">')
        for key in ("ArrowUp", "PageUp", "ArrowDown", "PageDown"):
            page.eval_on_selector("input", "slider => { slider.value = 50; slider.focus() }")
            page.keyboard.press(key)
            found[name, key] = int(page.input_value("input"))
        print(f"{name}:", {key: value for (one, key), value in found.items() if one == name})
    browser.close()
assert found["vertical", "ArrowUp"] < 50 < found["vertical", "PageUp"], "both go one way now"
assert min(found["vertical, rtl", "ArrowUp"], found["vertical, rtl", "PageUp"]) > 50
PYTHON
