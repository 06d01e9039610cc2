"""Without script a page's outputs are served one a step, and nothing else leads past them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from hypothesis import given
from hypothesis import strategies as st

from spa.commands.workspace import Workspace
from spa.records.form import Page
from spa.responses.reading_rows import exposure_rows, exposures_of
from spa.responses.reading_steps import ServedOutput, parse_served, unserved_outputs, write_served
from spa.server.app import create_app
from tests.reading_evidence import evidence_of
from tests.spa.responses.test_reading import READ, Visitor, opened
from tests.spa.served_pages import ReadPage
from tests.spa.small_study import raw_answer
from tests.spa.web_forms import small_form

SECONDS = "seconds_per_100_words = 100"  # an output of three words takes three
SLOW = READ.replace("annotators = 6", f"annotators = 6, {SECONDS}")
READING_PAGE = small_form().pages[2]


class Scriptless(Visitor):
    """Somebody without script, whose clock stands still unless it is moved."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace)
        self.now = 1_000.0
        self.client = TestClient(create_app(workspace, clock=lambda: self.now))

    def open(self, page: Page) -> ReadPage:
        """Open a page."""
        return ReadPage(self.client.get(f"/a/{self.token}/p/{page.page_id}").text)

    def press(self, shown: ReadPage, page: Page, *, after: float, **answers: str) -> Any:
        """Press the button of what is shown, some seconds later."""
        self.now += after
        (form,) = shown.all("form")
        fields = {str(one.attributes["name"]): one.attributes["value"] for one in hidden(shown)}
        return self.client.post(str(form.attributes["action"]), data=fields | answers, follow_redirects=False)

    def go_to(self, kind: str) -> Page:
        """Answer what comes before the first page of a kind, as a browser without script does."""
        for page in self.form.pages:
            if page.kind == kind:
                return page
            assert self.send(page).status_code == 303
        raise AssertionError(kind)


def hidden(shown: ReadPage) -> list[Any]:
    return [one for one in shown.all("input") if one.attributes.get("type") == "hidden"]


def captions(shown: ReadPage, page: Page) -> list[str]:
    """Return the outputs that are shown, by their captions."""
    known = {exhibit.caption for exhibit in page.outputs}
    return [one.text for one in shown.elements if one.tag in ("h2", "h3") and one.text in known]


def test_each_output_has_a_step_of_its_own(tmp_path: Path) -> None:
    with opened(tmp_path, SLOW) as workspace:
        visitor = Scriptless(workspace)
        page = visitor.go_to("reading")
        names = [exhibit.caption for exhibit in page.outputs]
        seen = []
        for _ in names:
            shown = visitor.open(page)
            seen += captions(shown, page)
            answer = visitor.press(shown, page, after=3.5)
            assert answer.status_code == 303
        assert seen == names
        assert answer.headers["location"].endswith(
            f"/p/{visitor.form.pages[visitor.form.pages.index(page) + 1].page_id}"
        )


def test_a_step_takes_its_time_and_the_waiting_counts(tmp_path: Path) -> None:
    """By hand: three words at 100 seconds for 100 words are three seconds."""
    with opened(tmp_path, SLOW) as workspace:
        visitor = Scriptless(workspace)
        page = visitor.go_to("reading")
        hasty = visitor.press(visitor.open(page), page, after=2.0)
        assert hasty.status_code == 422
        again = ReadPage(hasty.text)
        assert captions(again, page) == [page.outputs[0].caption]
        assert [one.text for one in again.all("li")] == [one.caption for one in page.outputs]
        assert visitor.press(again, page, after=1.1).status_code == 303
        assert captions(visitor.open(page), page) == [page.outputs[1].caption]


def test_the_server_knows_how_long_each_was_served(tmp_path: Path) -> None:
    """Of a browser without script the table has the server's seconds, and no share of the height."""
    with opened(tmp_path, SLOW) as workspace:
        visitor = Scriptless(workspace)
        page = visitor.go_to("reading")
        for _ in page.outputs:
            visitor.press(visitor.open(page), page, after=3.5)
        lease = next(workspace.store.visits.leases())
        exposures = exposures_of(
            visitor.form,
            workspace.store.visits.payloads(lease.submission_id),
            submission_id=lease.submission_id,
            keyed=workspace.store.keyed,
            clocked=True,
        )
        found = exposures[page.page_id]
        assert found.known_by == "server"
        assert found.exposure.seconds == 3.5 * len(page.outputs)
        served = found.exposure.outputs.values()
        assert [(one.first_seen, one.seconds, one.scrolled) for one in served] == [
            (3.5 * place, 3.5, None) for place in range(len(page.outputs))
        ]
        _, key = workspace.store.assignments.draw(lease.assignment_id)
        rows = list(exposure_rows(visitor.form, exposures, key.systems, {}))
        assert {row[-1] for row in rows} == {"server"}
        of_another = exposures_of(
            visitor.form,
            workspace.store.visits.payloads(lease.submission_id),
            submission_id="another",
            keyed=workspace.store.keyed,
            clocked=True,
        )
        assert page.page_id not in of_another  # signed for one visit alone


def test_reading_steps_without_evidence(tmp_path: Path) -> None:
    """A post without evidence and steps is answered with what is left."""
    with opened(tmp_path, READ) as workspace:
        visitor = Scriptless(workspace)
        page = visitor.go_to("reading")
        for fields in ({}, {"served": ""}, {"served": "e1@1.00 00"}):
            url = f"/a/{visitor.token}/p/{page.page_id}"
            answer = visitor.client.post(url, data=fields, follow_redirects=False)
            assert answer.status_code == (400 if fields else 422)
            due = visitor.client.post(f"/a/{visitor.token}", follow_redirects=False).headers["location"]
            assert due == url


def test_the_field_of_another_page_or_person_is_refused(tmp_path: Path) -> None:
    with opened(tmp_path, SLOW) as workspace:
        visitor = Scriptless(workspace)
        page = visitor.go_to("reading")
        (served,) = (one.attributes["value"] for one in hidden(visitor.open(page)))
        other = Scriptless(workspace)
        other.token = workspace.store.tokens()[1]
        workspace.store.visits.admit_link(other.token, now=0)
        other.form = workspace.form("a00002")
        page = other.go_to("reading")
        for who, where in ((visitor, visitor.form.pages[0]), (other, page)):
            url = f"/a/{who.token}/p/{where.page_id}?go=step"
            assert who.client.post(url, data={"served": served}).status_code == 400


def test_refused_evidence_is_not_taken_for_none(tmp_path: Path) -> None:
    """What is refused stays refused: the page is due until it is sent with evidence, or in steps."""
    with opened(tmp_path, READ) as workspace:
        visitor = Visitor(workspace)
        page = visitor.page("reading")
        assert visitor.send(page, {"seconds": -1, "outputs": {}}).status_code == 400
        due = visitor.client.post(f"/a/{visitor.token}", follow_redirects=False).headers["location"]
        assert due.endswith(f"/p/{page.page_id}")


def test_answers_given_before_the_steps_are_kept(tmp_path: Path) -> None:
    """A script that fails on a page of questions: they were answered, and are there after the outputs were seen."""
    with opened(tmp_path, SLOW.replace("comparisons =", 'reading = "with_questions"\ncomparisons =')) as workspace:
        visitor = Scriptless(workspace)
        page = visitor.page("comparison")
        answer = visitor.send(page)
        assert answer.status_code == 422
        given = {question.question_id: raw_answer(question) for question in page.questions}
        shown = ReadPage(answer.text)
        assert given.items() <= {one.attributes["name"]: one.attributes["value"] for one in hidden(shown)}.items()
        assert not any(one.attributes.get("type") == "number" for one in shown.all("input"))
        for _ in range(len(page.outputs) - 1):
            assert visitor.press(shown, page, after=4).status_code == 303
            shown = visitor.open(page)
        assert visitor.press(shown, page, after=4).headers["location"] != f"/a/{visitor.token}/p/{page.page_id}"


def test_questions_come_after_the_last_output(tmp_path: Path) -> None:
    with opened(tmp_path, SLOW.replace("comparisons =", 'reading = "with_questions"\ncomparisons =')) as workspace:
        visitor = Scriptless(workspace)
        page = visitor.go_to("comparison")
        for _ in page.outputs:
            shown = visitor.open(page)
            assert "number" not in {one.attributes.get("type") for one in shown.all("input")}
            assert visitor.press(shown, page, after=4).status_code == 303
        whole = visitor.open(page)
        assert len(captions(whole, page)) == len(page.outputs)
        assert visitor.press(whole, page, after=0).status_code == 422
        given = {question.question_id: raw_answer(question) for question in page.questions}
        assert visitor.press(whole, page, after=0, **given).status_code == 303


def test_a_single_output_stands_beside_its_questions(tmp_path: Path) -> None:
    text = SLOW.replace('[spa]\nexposure = 4\ncomparisons = "chain"\n', 'likert.pages = "output"\n')
    with opened(tmp_path, text) as workspace:
        visitor = Scriptless(workspace)
        page = next(page for page in visitor.form.pages if len({*page.new_outputs}) == 1)
        for before in visitor.form.pages[: visitor.form.pages.index(page)]:
            visitor.send(before, json.loads(evidence_of(before)["reading"]))
        visitor.send(page)
        whole = visitor.open(page)
        assert captions(whole, page)
        given = {question.question_id: raw_answer(question) for question in page.questions}
        assert visitor.press(whole, page, after=1, **given).status_code == 422
        assert visitor.press(visitor.open(page), page, after=4, **given).status_code == 303


def test_a_script_that_comes_back_gets_the_page_as_it_is(tmp_path: Path) -> None:
    with opened(tmp_path, SLOW) as workspace:
        visitor = Scriptless(workspace)
        page = visitor.go_to("reading")
        assert "data-step" in visitor.client.get(f"/a/{visitor.token}/p/{page.page_id}").text
        whole = visitor.client.get(f"/a/{visitor.token}/p/{page.page_id}?script").text
        assert ("data-step" in whole, "data-reading" in whole) == (False, True)
        assert visitor.send(page, json.loads(evidence_of(page)["reading"])).status_code == 303


def test_a_program_that_plays_a_person_is_not_held_up(tmp_path: Path) -> None:
    with opened(tmp_path, SLOW) as workspace:
        visitor = Visitor(workspace, annotator_kind="simulated")
        for page in visitor.form.pages:
            assert visitor.send(page).status_code == 303


def sign(text: str) -> str:
    return f"{len(text):x}{sum(map(ord, text)):x}"


OUTPUTS = st.lists(
    st.builds(
        ServedOutput,
        exhibit_id=st.from_regex(r"e[1-9][0-9]{0,3}", fullmatch=True),
        served_at=st.integers(0, 10**12).map(lambda hundredths: hundredths / 100),
    ),
    max_size=8,
).map(tuple)


@given(OUTPUTS)
def test_what_was_written_is_read(served: tuple[ServedOutput, ...]) -> None:
    assert parse_served(write_served(served, sign), sign) == served


@given(st.text() | OUTPUTS.map(lambda served: re.sub("[0-9]", "7", write_served(served, sign), count=2)))
def test_whatever_was_not_signed_is_refused(text: str) -> None:
    try:
        served = parse_served(text, sign)
    except ValueError:
        return
    assert write_served(served, sign) == text


@pytest.mark.parametrize(
    ("times", "until", "left"),
    [
        ((), 99.0, ["e2", "e3", "e4"]),
        ((0,), 2.99, ["e2", "e3", "e4"]),
        ((0,), 3.0, ["e3", "e4"]),
        ((0, 3, 6), 8.9, ["e4"]),
        ((0, 3, 5), 60.0, ["e3"]),
        ((0, 3, 6), 9.0, []),
    ],
)
def test_an_output_is_with_the_reader_until_the_next_one(
    times: tuple[float, ...], until: float, left: list[str]
) -> None:
    """By hand: six words at 50 seconds for 100 words are three seconds for each of e2, e3 and e4."""
    served = [
        ServedOutput(exhibit_id=f"e{number}", served_at=float(time)) for number, time in enumerate(times, start=2)
    ]
    assert [one.exhibit_id for one in unserved_outputs(READING_PAGE, served, 50.0, until=until)] == left
