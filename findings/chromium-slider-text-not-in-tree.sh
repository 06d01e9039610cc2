#!/usr/bin/env bash
# Chromium (Debian's, 156 here), Playwright 1.55.0: an unanswered slider is "50" on the tree that browser agents read.
#
# Guess: aria-valuetext="no answer yet" on a range input is what the accessibility tree says of it, as ARIA has it stand
# in for the number. Seen: the tree over the DevTools protocol and Playwright's snapshot, which agents are shown, say
# "50" of an <input type=range>, and of a <div role=slider> the number 50 or its text content, never aria-valuetext. So
# an agent cannot tell an untouched slider from an answer of exactly half, and 50 from a study's answers is no sign of a
# program.
set -euo pipefail
chromium=$(command -v chromium) || { echo "needs Debian's chromium"; exit 1; }
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python3 -m venv "$place/env"
"$place/env/bin/pip" install --quiet playwright==1.55.0
CHROMIUM=$chromium "$place/env/bin/python" - <<'PYTHON'
import os

from playwright.sync_api import sync_playwright

PAGE = """<label>native <input type=range min=0 max=100 aria-valuetext="no answer yet"></label>
<div role=slider tabindex=0 aria-label=own aria-valuemin=0 aria-valuemax=100 aria-valuenow=50
aria-valuetext="no answer yet"></div>"""
with sync_playwright() as play:
    browser = play.chromium.launch(executable_path=os.environ["CHROMIUM"], args=["--no-sandbox"])
    print("Chromium", browser.version)
    page = browser.new_page()
    page.set_content(PAGE)
    tree = page.context.new_cdp_session(page).send("Accessibility.getFullAXTree")["nodes"]
    found = {}
    for node in tree:
        if node.get("role", {}).get("value") == "slider":
            text = [one["value"]["value"] for one in node["properties"] if one["name"] == "valuetext"]
            found[node["name"]["value"]] = (node["value"]["value"], *text)
    snapshot = page.locator("body").aria_snapshot()
    browser.close()
print(found)
print(snapshot)
assert found["native"] == (50, "50"), "the tree says something else of a native slider now"
assert found["own"][0] == 50
assert "no answer yet" not in snapshot + str(found), "the text is in the tree now"
PYTHON
