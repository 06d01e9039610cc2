"""Axe finds nothing on any kind of page that people meet: desktop, phone, dark, right to left."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx2
import pytest
from click.testing import CliRunner
from fastapi import FastAPI
from fastapi.responses import Response

from spa.cli import main
from spa.commands.workspace import open_workspace
from spa.server.app import create_app
from spa.server.http_server import serve_on_loopback
from spa.server.preview import create_preview
from spa.server.survey_context import SurveyContext
from tests import patience
from tests.browser.chromium import DESK, PHONE
from tests.conftest import missing_part
from tests.reading_evidence import evidence_of
from tests.spa.small_study import PEOPLE, STUDY, raw_answer, write_study

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser
SMALL: Any = {"width": 320, "height": 256}  # 1280 by 1024 at 400 %
RULES = {"resultTypes": ["violations"], "rules": {"target-size": {"enabled": True}}}  # off by default
NOTICES = ("expired", "busy")  # all of them are one template
EVERYTHING = """
consent = {text = "## What this is\\n\\nYou rate short texts. [More](https://example.org)."}
people = {seconds_per_100_words = 600}
continuous = {criteria = ["fluent"], overall = false}
categories = {criteria = ["errors"]}

[[criteria]]
id = "fluent"
name = "fluent language"

[[criteria]]
id = "errors"
name = "having few errors"
question = "How many errors are in this text?"
options = [{ text = "0", score = 2 }, { text = "1", score = 1 }, { text = "2 or more", score = 0 }]
"""


def whole_study(language: str) -> str:
    """Return a study that asks in every way there is."""
    text = STUDY.replace('criteria = [{id = "meaning", name = "meaning", against_source = true}]\n', "")
    text = text.replace("likert.identical_pairs = 1\n", 'likert = {criteria = ["meaning"], identical_pairs = 1}\n')
    meaning = '[[criteria]]\nid = "meaning"\nname = "meaning"\nagainst_source = true\n'
    text = text.replace(f"{PEOPLE}\n", "")
    text += '[[interview]]\nid = "comments"\nquestion = "Anything else?"\n'
    before, _, after = text.partition("[spa]")
    scales, _, criteria = EVERYTHING.partition("[[criteria]]")
    spa = '[spa]\ncriteria = ["meaning"]'
    return f'language = "{language}"\n{before}{scales}\n{meaning}\n[[criteria]]{criteria}\n{spa}{after}'


def mount(app: FastAPI, context: SurveyContext) -> None:
    """Show any notice on demand."""

    @app.get("/notice/{name}", response_model=None)
    def show(name: str) -> Response:
        return context.notice(name, link="/")


@pytest.mark.parametrize(("language", "scheme"), [("en", "light"), ("ar", "dark")])
def test_axe_finds_nothing_and_pages_reflow(browser: Browser, tmp_path: Path, language: str, scheme: Any) -> None:
    try:
        from axe_playwright_python.sync_playwright import Axe
    except ModuleNotFoundError:
        missing_part("axe-playwright-python is not installed")
    path = write_study(tmp_path, whole_study(language))
    built = CliRunner().invoke(main, ["build", str(path)])
    assert built.exit_code == 0, built.output
    found: list[tuple[str, int, str, str]] = []
    seen: list[str] = []
    with open_workspace(path) as workspace, serve_on_loopback(create_app(workspace, adapters=[mount])) as url:
        context = browser.new_context(color_scheme=scheme, reduced_motion="reduce")
        context.set_default_timeout(patience.MILLISECONDS)
        tab = context.new_page()

        def look(what: str) -> None:
            seen.append(what)
            assert tab.locator("h1").first.is_visible()
            for size, axe in ((DESK, Axe()), (PHONE, Axe("0"))):  # "0": axe is in the page by then
                tab.set_viewport_size(size)
                for one in axe.run(tab, options=RULES).response["violations"]:
                    found.append((what, size["width"], one["id"], one["nodes"][0]["html"][:120]))
                if os.environ.get("SPA_SCREENSHOTS"):
                    name = f"{language}-{what}-{size['width']}.png"
                    tab.screenshot(path=f"{os.environ['SPA_SCREENSHOTS']}/{name}", full_page=True)
            tab.set_viewport_size(SMALL)
            assert tab.evaluate("document.documentElement.scrollWidth") <= SMALL["width"], what

        tab.goto(url)
        look("start")
        for notice in NOTICES:
            tab.goto(f"{url}/notice/{notice}")
            look(notice)
        tab.goto(f"{url}/a/nobody")
        look("unknown")
        answering, screened, declining = workspace.store.tokens()[:3]
        form = workspace.form(workspace.store.visits.admit_link(answering, now=0).assignment_id)
        for page in form.pages:
            tab.goto(f"{url}/a/{answering}/p/{page.page_id}")
            if page.kind not in seen:
                look(page.kind)
                if page.kind == "reading" or (page.questions and page.kind != "interview"):
                    tab.locator("button.next").click()
                    tab.locator(".gaps:not([hidden])").first.wait_for()
                    look(f"{page.kind}-gaps")
            fields = {question.question_id: raw_answer(question) for question in page.questions} | evidence_of(page)
            httpx2.post(f"{url}/a/{answering}/p/{page.page_id}", data=fields, trust_env=False)
        tab.goto(f"{url}/a/{answering}/done")
        look("done")
        with serve_on_loopback(create_preview(form, workspace.texts)) as preview:
            tab.goto(preview)
            look("preview")
        for token, how in ((screened, ""), (declining, "?go=decline")):
            other = workspace.form(workspace.store.visits.admit_link(token, now=0).assignment_id)
            for page in other.pages[:2]:
                fields = {question.question_id: raw_answer(question) for question in page.questions}
                if page.kind == "screening":
                    fields = dict.fromkeys(fields, "No")
                httpx2.post(f"{url}/a/{token}/p/{page.page_id}{how}", data=fields, trust_env=False)
            tab.goto(f"{url}/a/{token}/done")
            look("declined" if how else "screened")
        context.close()
    assert found == []
    kinds = {page.kind for page in form.pages}
    assert {"consent", "screening", "instructions", "reading", "comparison", "rating", "choice"} <= kinds
    assert {"check", "interview"} <= kinds
    assert len(seen) > 20
