#!/usr/bin/env bash
# doccano 1.8.4: places of marks count units of UTF-16, in grapheme mode visible signs: in Python other text stands there.
#
# Guess: text[start:end] of an exported [start, end, label] is what was marked. Seen: marking "good" behind an emoji gives
# [3, 7], the places of JavaScript; text[3:7] in Python is "ood ". With the project's grapheme mode it is [2, 6], and
# nothing in the export says which; imports and exports pass the numbers on as they are.
set -euo pipefail
chromium=$(command -v chromium) || { echo "needs Debian's chromium"; exit 1; }
place=$(mktemp -d)
trap 'kill "${server:-}" 2>/dev/null || true; rm -rf "$place"' EXIT
python3 -m venv "$place/env"
"$place/env/bin/pip" install --quiet doccano==1.8.4 'marshmallow<4' 'setuptools<80' 'numpy<2'
python3 -m venv "$place/play"
"$place/play/bin/pip" install --quiet playwright==1.55.0
backend=$("$place/env/bin/python" -c 'import importlib.util as u; print(u.find_spec("backend").submodule_search_locations[0])')
export DJANGO_SETTINGS_MODULE=config.settings.production DATABASE_URL=sqlite:///$place/db.sqlite SECRET_KEY=x DEBUG=True
cd "$backend"
"$place/env/bin/python" manage.py migrate --verbosity 0 >"$place/log" 2>&1
"$place/env/bin/python" manage.py create_roles >>"$place/log" 2>&1
"$place/env/bin/python" - <<'PYTHON'
from importlib.metadata import version

import django

django.setup()
from django.contrib.auth import get_user_model
from examples.models import Example
from label_types.models import SpanType
from projects.models import Member, SequenceLabelingProject
from roles.models import Role

print("doccano", version("doccano"))
user = get_user_model().objects.create_superuser("ann", "ann@example.org", "pass")
for name, graphemes in (("project one", False), ("project two", True)):
    about = {"name": name, "description": "A project", "project_type": "SequenceLabeling", "created_by": user}
    project = SequenceLabelingProject.objects.create(grapheme_mode=graphemes, **about)
    Member.objects.get_or_create(project=project, user=user, defaults={"role": Role.objects.get(name="project_admin")})
    Example.objects.create(project=project, text="\U0001f600 good end", meta={})
    SpanType.objects.create(project=project, text="major")
PYTHON
"$place/env/bin/python" manage.py runserver --noreload 127.0.0.1:26008 >>"$place/log" 2>&1 &
server=$!
CHROMIUM=$chromium "$place/play/bin/python" - <<'PYTHON'
import os
import time
from urllib.error import URLError
from urllib.request import urlopen

from playwright.sync_api import sync_playwright

ADDRESS = "http://127.0.0.1:26008"
for _ in range(60):
    try:
        urlopen(f"{ADDRESS}/auth").close()
        break
    except URLError:
        time.sleep(1)
SELECT = """() => { const texts = document.createTreeWalker(document.querySelector("#container"), NodeFilter.SHOW_TEXT);
let text; while ((text = texts.nextNode())) { const at = text.data.indexOf("good"); if (at < 0) continue;
const range = document.createRange(); range.setStart(text, at); range.setEnd(text, at + 4);
getSelection().removeAllRanges(); getSelection().addRange(range);
const click = new MouseEvent("click", {bubbles: true, clientX: 400, clientY: 300});
document.querySelector("#container").dispatchEvent(click); return true; } return false; }"""
with sync_playwright() as play:
    browser = play.chromium.launch(executable_path=os.environ["CHROMIUM"], args=["--no-sandbox"])
    page = browser.new_page(viewport={"width": 1300, "height": 900})
    page.goto(f"{ADDRESS}/auth")
    page.fill("input[name=username]", "ann")
    page.fill("input[name=password]", "pass")
    page.press("input[name=password]", "Enter")
    page.wait_for_url("**/projects**")
    for project in (1, 2):
        page.goto(f"{ADDRESS}/projects/{project}/sequence-labeling?page=1")
        page.wait_for_selector("#container text")
        page.wait_for_timeout(1500)
        assert page.evaluate(SELECT)
        entry = page.locator(".v-menu__content >> text=major").last
        entry.wait_for()
        page.wait_for_timeout(500)
        with page.expect_response(lambda one: one.url.endswith("/spans") and one.request.method == "POST"):
            entry.click()
    browser.close()
PYTHON
"$place/env/bin/python" - <<'PYTHON'
import django

django.setup()
from labels.models import Span

found = {}
for span in Span.objects.order_by("example__project"):
    first, last, text = span.start_offset, span.end_offset, span.example.text
    found[span.example.project.name] = first, last
    print(f"{span.example.project.name}: marked 'good' in {text!r}; [{first}, {last}] is {text[first:last]!r} in Python")
assert found == {"project one": (3, 7), "project two": (2, 6)}, "places are counted otherwise now"
PYTHON
