#!/usr/bin/env bash
# jsPsych 8.3.0, html-slider-response 2.1.0: a slider that nobody moved records the top of its scale, not its start.
#
# Guess: an answer equal to slider_start, which is in the data, is one of a slider that was not moved. Seen: on a scale of
# 1 to 7 slider_start is 50 unless it is set; the browser shows, and records, 7 for whoever presses Continue at once, and
# min and max are not in the data: response == slider_start finds nobody, and a system whose sliders were left alone wins.
set -euo pipefail
chromium=$(command -v chromium) || { echo "needs Debian's chromium"; exit 1; }
command -v npm >/dev/null || { echo "needs npm"; exit 1; }
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
npm install --silent --prefix "$place" jspsych@8.3.0 @jspsych/plugin-html-slider-response@2.1.0 >/dev/null
python3 -m venv "$place/env"
"$place/env/bin/pip" install --quiet playwright==1.55.0
CHROMIUM=$chromium PLACE=$place "$place/env/bin/python" - <<'PYTHON'
import json
import os
from pathlib import Path

from playwright.sync_api import sync_playwright

place = Path(os.environ["PLACE"])
modules = place / "node_modules"
scripts = (modules / "jspsych", modules / "@jspsych" / "plugin-html-slider-response")
for folder in scripts:
    found = json.loads((folder / "package.json").read_text())
    print(found["name"], found["version"])
tags = "".join(f'<script src="{folder / "dist" / "index.browser.js"}"></script>' for folder in scripts)
(place / "study.html").write_text(f"""<!DOCTYPE html><html><head>{tags}</head><body></body><script>
window.study = initJsPsych({{on_finish: () => {{ document.title = "done"; }}}});
study.run([{{type: jsPsychHtmlSliderResponse, stimulus: "How good?", min: 1, max: 7}}]);
</script></html>""")
with sync_playwright() as play:
    browser = play.chromium.launch(executable_path=os.environ["CHROMIUM"], args=["--no-sandbox"])
    page = browser.new_page()
    page.goto((place / "study.html").as_uri())
    page.click("#jspsych-html-slider-response-next")
    page.wait_for_function("document.title === 'done'")
    (trial,) = json.loads(page.evaluate("study.data.get().json()"))
    browser.close()
print({name: trial.get(name) for name in ("slider_start", "response", "min", "max")})
assert trial["slider_start"] == 50
assert trial["response"] == 7, "an untouched slider records something else now"
assert "min" not in trial and "max" not in trial, "the ends of the scale are in the data now"
PYTHON
