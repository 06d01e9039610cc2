#!/usr/bin/env bash
# Firefox (Debian's ESR, 153 here) lets a wide formula run out of the page, though its <math> has `overflow-x: auto`.
#
# Guess: a <math display="block"> with an <mrow> and `max-width: 100%; overflow-x: auto` scrolls where it is wider than its
# column, as any block does, and as in Chromium. Seen: in Firefox the rule does nothing, and the whole page gets as
# wide as the formula, on phones above all. Whoever shows formulas puts a block around each, and lets that scroll.
set -euo pipefail
firefox=$(command -v firefox-esr) || { echo "needs Debian's firefox-esr"; exit 1; }
chromium=$(command -v chromium) || { echo "needs Debian's chromium"; exit 1; }
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python3 -m venv "$place/env"
"$place/env/bin/pip" install --quiet playwright==1.55.0 websockets==15.0.1
FIREFOX=$firefox CHROMIUM=$chromium PROFILE=$place/profile "$place/env/bin/python" - <<'PYTHON'
import json
import os
import re
import subprocess

from playwright.sync_api import sync_playwright
from websockets.sync.client import connect

formula = "".join(f"<mi>a</mi><mo>+</mo><mn>{number}</mn>" for number in range(100))
math = f'<math display="block" style="max-width: 100%; overflow-x: auto"><mrow>{formula}</mrow></math>'
PAGES = {"on the math": math, "on a block around it": f'<div style="overflow-x: auto">{math}</div>'}
SEEN = {"Chromium": {"on the math": False, "on a block around it": False},
        "Firefox": {"on the math": True, "on a block around it": False}}
WIDER = "document.documentElement.scrollWidth > innerWidth"
found = {"Chromium": {}, "Firefox": {}}

with sync_playwright() as play:
    browser = play.chromium.launch(executable_path=os.environ["CHROMIUM"], args=["--no-sandbox"])
    print("Chromium", browser.version)
    page = browser.new_page(viewport={"width": 390, "height": 800})
    for name, html in PAGES.items():
        page.set_content(html)
        found["Chromium"][name] = page.evaluate(WIDER)
    browser.close()

os.mkdir(os.environ["PROFILE"])
command = [os.environ["FIREFOX"], "--headless", "--no-remote", "--profile", os.environ["PROFILE"]]
run = subprocess.Popen(
    [*command, "--remote-debugging-port=0"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
)
try:
    address = next(line.group() for text in run.stderr if (line := re.search(r"ws://\S+", text)))
    with connect(f"{address}/session", max_size=None) as socket:
        def call(number, method, **parameters):
            socket.send(json.dumps({"id": number, "method": method, "params": parameters}))
            while (told := json.loads(socket.recv(timeout=60))).get("id") != number:
                pass
            assert told["type"] == "success", told
            return told["result"]

        print("Firefox", call(1, "session.new", capabilities={})["capabilities"]["browserVersion"])
        tab = call(2, "browsingContext.getTree")["contexts"][0]["context"]
        call(3, "browsingContext.setViewport", context=tab, viewport={"width": 390, "height": 800})
        for number, (name, html) in enumerate(PAGES.items(), start=4):
            script = f"document.body.innerHTML = {json.dumps(html)}; {WIDER}"
            told = call(number, "script.evaluate", expression=script, target={"context": tab}, awaitPromise=False)
            found["Firefox"][name] = told["result"]["value"]
finally:
    run.kill()
    run.wait()

for engine, pages in found.items():
    for name, wider in pages.items():
        print(f"{engine}, overflow-x {name}: the page is {'wider than' if wider else 'as wide as'} the window")
assert found == SEEN, "wide formulas are laid out otherwise now"
PYTHON
