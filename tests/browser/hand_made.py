"""A survey of one form made by hand, served to people, and how a test looks at its pages."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from spa.forms.texts import load_texts
from spa.records.assignment import Assignment, BlindingKey
from spa.records.form import Form
from spa.records.people import People
from spa.records.study import OutputFiles, Study, System
from spa.records.submission import Response
from spa.responses.answers import parse_answers
from spa.responses.store import Store
from spa.server.app import create_app
from spa.server.http_server import serve_on_loopback
from tests.browser.chromium import open_context
from tests.browser.first_page import begin
from tests.spa.store_steps import lease_assignment, save_payload
from tests.spa.web_forms import small_form

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext
    from playwright.sync_api import Page as Tab


WORDS = "It was a dark and stormy night, and the lamp went out for the third time. "


class HandMade:
    """A study whose forms are made by hand, with a store of its own."""

    def __init__(
        self,
        folder: Path,
        form: Form,
        *,
        language: str = "en",
        seconds_per_100_words: float = 0.0,
        share_played: float = 1.0,
        assignments: int = 2,
    ) -> None:
        self.study = Study(
            id="small",
            title=form.title,
            outputs=OutputFiles(files=(folder / "none.jsonl",)),
            systems=(System(id="x"), System(id="y")),
            people=People(seconds_per_100_words=seconds_per_100_words, share_played=share_played),
        )
        self.texts = load_texts(language, {})
        self.store = Store.create(folder / "answers.sqlite")
        self.made = form
        draws = [
            (
                Assignment(assignment_id=name, number=number, blocks=()),
                BlindingKey(assignment_id=name, systems={}, blocks={}),
            )
            for number, name in enumerate(f"a{number:05}" for number in range(1, assignments + 1))
        ]
        self.store.assignments.save("0" * 64, draws)

    def form(self, assignment_id: str) -> Form:
        """Return the form under the name of an assignment."""
        return replace(self.made, assignment_id=assignment_id)


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    with open_context(browser) as made:
        yield made


@pytest.fixture
def survey(tmp_path: Path) -> Iterator[tuple[HandMade, str]]:
    """Serve the small form to people; yield the study and the address of the first person."""
    made = HandMade(tmp_path, small_form(text=WORDS * 12))
    with made.store, serve_on_loopback(create_app(made)) as url:
        yield made, f"{url}/a/{made.store.tokens()[0]}"


def watched(context: BrowserContext) -> tuple[Tab, list[str]]:
    """Open a tab; whatever the page complains about is collected."""
    tab = context.new_page()
    said: list[str] = []
    tab.on("console", lambda message: said.append(message.text) if message.type in ("error", "warning") else None)
    tab.on("pageerror", lambda error: said.append(str(error)))
    tab.on("dialog", lambda dialog: said.append(f"dialog: {dialog.message}"))
    return tab, said


def outline_of(tab: Tab) -> float:
    """Return the width of the outline on the focused element or on what frames it, in pixels."""
    return float(
        tab.evaluate(
            """() => Math.max(...[document.activeElement, document.activeElement.closest('label')]
              .filter(Boolean).map((element) => getComputedStyle(element))
              .map((style) => style.outlineStyle === 'none' ? 0 : parseFloat(style.outlineWidth)))"""
        )
    )


def go_to(tab: Tab, made: HandMade, address: str, page_id: str) -> None:
    """Answer what comes before a page over the store, then open the page."""
    store = made.store
    token = address.rpartition("/")[2]
    lease = lease_assignment(store, store.keyed(token), source="link", annotator_kind="human", token=token)
    for page in made.made.pages:
        if page.page_id == page_id:
            break
        answers = {"q1": "yes", "q2": "Yes", "q3": "70", "q4": "20"}
        fields = {question.question_id: answers[question.question_id] for question in page.questions}
        save_payload(store, lease.submission_id, page.page_id, str(fields).replace("'", '"'))
        assert all(isinstance(answer, Response) for answer in parse_answers(page.questions, fields))
    begin(tab, address)
    tab.wait_for_url(f"**/p/{page_id}")
