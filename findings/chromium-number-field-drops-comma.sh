#!/usr/bin/env bash
# Chromium (Debian's, 150 here, English): a number field takes "1,5" for 15 and a typographic "−5" for 5, both valid.
#
# Guess: what is no number in the browser's own language makes the field's badInput true, as "70-80" does. Seen: comma,
# typographic minus, slash and Arabic-Indic digits are dropped as they are typed or pasted; what is left is a valid answer
# (15 of 100 for one and a half), and neither the page nor the server can tell. An answer field that must not guess is a
# text field with inputmode.
set -euo pipefail
chromium=$(command -v chromium) || { echo "needs Debian's chromium"; exit 1; }
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python3 -m venv "$place/env"
"$place/env/bin/pip" install --quiet playwright==1.55.0
CHROMIUM=$chromium "$place/env/bin/python" - <<'PYTHON'
import os

from playwright.sync_api import sync_playwright

SEEN = {"1,5": ("15", True), "\u22125": ("5", True), "50/50": ("5050", False), "\u0667\u0660": ("", True)}
with sync_playwright() as play:
    browser = play.chromium.launch(executable_path=os.environ["CHROMIUM"], args=["--no-sandbox"])
    print("Chromium", browser.version)
    page = browser.new_context(locale="en-US").new_page()
    for typed, (value, valid) in SEEN.items():
        page.set_content("<input type=number min=-100 max=100 step=any>")
        page.focus("input")
        page.keyboard.type(typed)
        found = page.eval_on_selector("input", "field => [field.value, field.validity.valid, field.validity.badInput]")
        print(f"typed {typed!r}: value {found[0]!r}, valid {found[1]}, badInput {found[2]}")
        assert found == [value, valid, False], "the field does otherwise now"
    browser.close()
PYTHON
