#!/usr/bin/env bash
# jsPsych 8.3.0: of reaction times, mean() leaves out trials without an answer; sd(), median() and min() take them for 0 ms.
#
# Guess: what summarises a column (data.get().select("rt")) leaves out null, which a trial that ran out of time has for
# "rt" and "response". Seen: mean() does; sd(), variance(), median() and min() count a null as zero. Of two answers and
# one time-out the median is the quicker answer, the least time is 0, and the deviation more than two thirds of the mean,
# however alike the answers: "mean plus three deviations" then excludes next to nobody. Drop null first:
# filterCustom((trial) => trial.rt !== null).
set -euo pipefail
chromium=$(command -v chromium) || { echo "needs Debian's chromium"; exit 1; }
command -v npm >/dev/null || { echo "needs npm"; exit 1; }
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
npm install --silent --prefix "$place" jspsych@8.3.0 @jspsych/plugin-html-button-response@2.1.0 >/dev/null
python3 -m venv "$place/env"
"$place/env/bin/pip" install --quiet playwright==1.55.0
CHROMIUM=$chromium PLACE=$place "$place/env/bin/python" - <<'PYTHON'
import json
import os
from pathlib import Path
from statistics import mean, median, stdev

from playwright.sync_api import sync_playwright

place = Path(os.environ["PLACE"])
modules = place / "node_modules"
scripts = (modules / "jspsych", modules / "@jspsych" / "plugin-html-button-response")
for folder in scripts:
    found = json.loads((folder / "package.json").read_text())
    print(found["name"], found["version"])
tags = "".join(f'<script src="{folder / "dist" / "index.browser.js"}"></script>' for folder in scripts)
(place / "study.html").write_text(f"""<!DOCTYPE html><html><head>{tags}</head><body></body><script>
window.study = initJsPsych({{on_finish: () => {{ document.title = "done"; }}}});
const trial = (limit) => ({{type: jsPsychHtmlButtonResponse, stimulus: "Which?", choices: ["A", "B"],
  trial_duration: limit, data: {{limit}}}});
study.run([trial(null), trial(null), trial(300)]);
</script></html>""")
NAMES = ("mean", "median", "sd", "min")
with sync_playwright() as play:
    browser = play.chromium.launch(executable_path=os.environ["CHROMIUM"], args=["--no-sandbox"])
    page = browser.new_page()
    page.goto((place / "study.html").as_uri())
    for number in range(2):
        page.wait_for_function(f"study.data.get().count() === {number} && document.querySelector('button')")
        page.wait_for_timeout(500)
        page.click("text=A")
    page.wait_for_function("document.title === 'done'")
    times = page.evaluate("study.data.get().select('rt').values")
    told = {name: page.evaluate(f"study.data.get().select('rt').{name}()") for name in NAMES}
    browser.close()
answered = [time for time in times if time is not None]
print("times", times)
for name, of_answers in zip(NAMES, (mean, median, stdev, min), strict=True):
    print(f"{name}: {told[name]:.0f}, of the answers {of_answers(answered):.0f}")
assert times[2] is None and len(answered) == 2
assert abs(told["mean"] - mean(answered)) < 1e-9
assert told["median"] == min(answered) and told["min"] == 0, "trials without an answer are no longer times of zero"
assert told["sd"] > 0.7 * told["mean"] > 0 and told["sd"] > stdev(answered), "the deviation leaves them out now"
PYTHON
