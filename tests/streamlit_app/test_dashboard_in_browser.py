"""The dashboard as a researcher sees it: every page opened, acted on, and safe with hostile outputs."""

from __future__ import annotations

import os
import re
import shutil
import signal
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from spa.responses.decisions import Decision, read_decisions
from spa.responses.store import Store
from tests.streamlit_app.answering import typed
from tests.streamlit_app.conftest import HOSTILE, Dashboard, started
from tests.streamlit_app.looking import choose, expect, settled, turn_to, visit

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext
    from playwright.sync_api import Page as Tab

pytestmark = [pytest.mark.browser, pytest.mark.one_process("dashboard")]


SOURCES = ("mturk", "prolific", "link", "panel")


@pytest.fixture(scope="module")
def systems(context: BrowserContext, dashboard: Dashboard) -> Iterator[Tab]:
    """Return the page on systems, opened once: its parts are chosen on it."""
    page = context.new_page()
    visit(page, dashboard, "systems")
    yield page
    assert page.evaluate("window.hacked") is None
    page.close()


@pytest.fixture(scope="module")
def reading(context: BrowserContext, dashboard: Dashboard) -> Iterator[Tab]:
    """Return a tab that was opened once: to turn to a page is half the work of opening it."""
    page = context.new_page()
    visit(page, dashboard, "plan")
    yield page
    assert page.evaluate("window.hacked") is None
    page.close()


@pytest.fixture(scope="module")
def decided_on(watched: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the study with one submission of each source, each of which one test decides on."""
    study = Path(shutil.copytree(watched.parent, tmp_path_factory.mktemp("decided-on") / "study")) / watched.name
    with sqlite3.connect(study.with_suffix(".sqlite")) as connection:
        people = connection.execute("SELECT submission_id FROM submissions WHERE annotator_kind <> 'llm'").fetchall()
        for source, (submission_id,) in zip(SOURCES, people, strict=False):
            connection.execute("UPDATE submissions SET source = ? WHERE submission_id = ?", (source, submission_id))
    connection.close()
    return study


@pytest.fixture(scope="module")
def deciding(decided_on: Path) -> Iterator[Dashboard]:
    """Return a dashboard on which Ana decides, on another address than loopback."""
    with started(decided_on, "--reviewer", "Ana", "--host", "127.0.0.2") as running:
        yield running


def open_submission(tab: Tab, running: Dashboard, source: str) -> None:
    """Open the one submission of a source."""
    visit(tab, running, "submissions")
    tab.get_by_role("combobox", name="Source").click()
    tab.get_by_role("option", name=source, exact=True).click()
    expect(tab.get_by_text("1 of 1. Annotator")).to_be_visible()


def logged(study: Path, source: str | None = None) -> list[Decision]:
    with Store.open(study.with_suffix(".sqlite"), read_only=True) as store, store.reading() as connection:
        sources = {visit.submission_id: visit.source for visit in store.visits.of_people()}
        return [each for each in read_decisions(connection) if source in (None, sources[each.submission_id])]


def test_the_overview_counts_what_is_in_the_store(reading: Tab) -> None:
    turn_to(reading, "")
    expect(reading.get_by_text("10 of 12")).to_be_visible()
    expect(reading.get_by_role("heading", name="Raters")).to_be_visible()
    expect(reading.get_by_text("<b>A watched study</b> for $1$ or $2$")).to_be_visible()


@pytest.mark.parametrize(
    ("part", "seen"),
    [
        ("Preferences", "Mean chance that the first system of a pair is better"),
        ("Ratings", "Mean ratings"),
        ("Strengths", "Bradley-Terry"),
        ("All pairs", "the row's system is better than the column's"),
        ("Exclusions", "Planned bound"),
    ],
)
def test_systems_show_every_part(systems: Tab, part: str, seen: str) -> None:
    choose(systems, part)
    expect(systems.get_by_text(seen).first).to_be_visible()
    settled(systems)
    if part != "Exclusions":
        expect(systems.get_by_role("img").first).to_be_visible()


def test_pages_load_and_run_only_what_is_the_dashboards(tab: Tab, dashboard: Dashboard) -> None:
    """Streamlit's own page has one inline script, which says when the page may be indexed; it is not run."""
    refused: list[str] = []
    tab.on("console", lambda said: refused.append(said.text) if "Content Security Policy" in said.text else None)
    for page in ("", "submissions", "annotators"):  # text, a form in a frame, charts and tables
        with tab.expect_response(re.compile(f"/{page}$")) as waiting:
            visit(tab, dashboard, page)
        headers = waiting.value.headers
        assert "script-src 'self';" in headers["content-security-policy"]
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert "camera=()" in headers["permissions-policy"]
        assert (headers["x-content-type-options"], headers["referrer-policy"]) == ("nosniff", "same-origin")
        settled(tab)
    assert len(refused) == 3, refused


def test_names_of_systems_stay_text(systems: Tab) -> None:
    choose(systems, "Preferences")
    expect(systems.get_by_text("Beta over =Alpha <i>one</i>").first).to_be_visible()


def test_annotators_raters_report_and_plan_open(reading: Tab) -> None:
    for page, seen in (
        ("annotators", "Show the distribution of"),
        ("raters", "LLM raters side by side"),
        ("report", "Who was excluded"),
        ("plan", "Annotators for 80"),
    ):
        turn_to(reading, page)
        expect(reading.get_by_text(seen).first).to_be_visible()
        settled(reading)
        shown = reading.locator("body").inner_text()
        assert not re.search("[0-9a-f]{20}", shown)  # ids are short, and whole on hover
        assert page != "report" or reading.locator("abbr[title]").count()


def test_a_download_holds_no_formula(reading: Tab, tmp_path: Path) -> None:
    turn_to(reading, "report")
    settled(reading)
    with reading.expect_download() as waiting:
        reading.get_by_role("button", name="Tables (CSV, LaTeX)").click()
    waiting.value.save_as(tmp_path / "tables.zip")
    import zipfile

    with zipfile.ZipFile(tmp_path / "tables.zip") as packed:
        names = [name for name in packed.namelist() if name.endswith(".csv")]
        assert "tables/preferences.csv" in names
        cells = [
            cell
            for name in names
            for line in packed.read(name).decode().splitlines()
            for cell in line.split(",")
            if cell[:1] in "=+@" and cell
        ]
    assert cells == []


def test_a_raw_answer_can_be_read_whole(reading: Tab) -> None:
    turn_to(reading, "raters")
    choose(reading, "Calls and raw answers")
    expect(reading.get_by_text("Choose a row to read what was sent")).to_be_visible()
    reading.locator("[data-testid=stDataFrame]").first.click(position={"x": 16, "y": 52})
    expect(reading.get_by_text("What came back")).to_be_visible()
    expect(reading.locator("code").filter(has_text="chat.completion")).to_be_visible()


def test_dashboard_shows_form_inert(reading: Tab) -> None:
    """A form is shown as it was seen and its outputs do not run."""
    turn_to(reading, "submissions")
    frame = reading.frame_locator("iframe").first
    expect(frame.get_by_text(HOSTILE).first).to_be_visible()
    expect(frame.locator("input:checked, .whole-number:not([value=''])").first).to_be_attached()
    expect(reading.get_by_text("Read-only. Start the dashboard with")).to_be_visible()
    assert reading.get_by_role("button", name="Approve").count() == 0


def test_blind_mode_hides_systems_and_others(tab: Tab, dashboard: Dashboard) -> None:
    visit(tab, dashboard, "submissions")
    expect(tab.get_by_text("Compared with the others")).to_be_visible()
    tab.get_by_text("Blind: hide systems").click()
    expect(tab.get_by_text("Compared with the others")).to_have_count(0)
    assert "Beta" not in tab.locator("body").inner_text()


def test_dashboard_decisions_survive_a_kill(tab: Tab, copied: Path) -> None:
    """Decisions are in the store after a kill and can be undone."""
    with started(copied, "--reviewer", "Ana <script>") as running:
        visit(tab, running, "submissions")
        tab.get_by_role("button", name="Approve").click()
        expect(tab.get_by_text("1. approve (Ana <script>")).to_be_visible()
        os.kill(running.process.pid, signal.SIGKILL)
    assert [(each.action, each.reviewer) for each in logged(copied)] == [("approve", "Ana <script>")]
    with started(copied, "--reviewer", "Ben") as running:
        visit(tab, running, "submissions")
        expect(tab.get_by_text("1. approve (Ana <script>")).to_be_visible()
        settled(tab)  # the key is listened to once the button is there
        tab.locator("body").press("u")
        expect(tab.get_by_text("2. undo number 1 (Ben")).to_be_visible()
        settled(tab)
        tab.get_by_role("textbox", name="Rule").fill("one key")
        tab.get_by_role("textbox", name="Note").fill("the same answer throughout")
        tab.get_by_role("button", name="Save this decision").click()
        expect(tab.get_by_text("3. leave out: one key: the same answer throughout (Ben")).to_be_visible()
    assert [each.action for each in logged(copied)] == ["approve", "undo", "exclude"]


def test_a_decision_without_a_reason_is_refused_in_one_line(tab: Tab, deciding: Dashboard, decided_on: Path) -> None:
    open_submission(tab, deciding, "panel")
    tab.get_by_role("button", name="Save this decision").click()
    expect(tab.get_by_text("exclude wants a note that says why, got none")).to_be_visible()
    assert logged(decided_on, "panel") == []


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("mturk", "spa mturk notify {study} --decided"),
        ("prolific", "spa prolific message {study} --decided"),
        ("link", "the source link is not a platform that pays"),
    ],
)
def test_dashboard_names_commands_of_the_source(
    tab: Tab, deciding: Dashboard, decided_on: Path, source: str, told: str
) -> None:
    """What carries decisions out is named for where the submission came from."""
    open_submission(tab, deciding, source)
    expect(tab.get_by_text(told.format(study=decided_on))).to_be_visible()
    tab.get_by_role("combobox", name="Decision with a note").click()
    tab.get_by_role("option", name="Propose rejection").click()
    tab.get_by_role("textbox", name="Text to the annotator").fill("Every question was answered with 50.")
    if source == "mturk":  # has no categories to choose from
        tab.get_by_role("textbox", name="Rule").fill("one key")
    tab.get_by_role("button", name="Save this decision").click()
    expect(tab.get_by_text(re.compile(r"\d\. propose rejection"))).to_be_visible()
    rule = {"mturk": "one key", "prolific": "TOO_QUICKLY", "link": None}[source]
    assert [(each.action, each.rule) for each in logged(decided_on, source)] == [("propose_rejection", rule)]


def test_another_address_wants_the_token_of_the_link(tab: Tab, deciding: Dashboard) -> None:
    base, _, token = deciding.url.partition("/?token=")
    assert len(token) > 20
    tab.context.clear_cookies()
    tab.goto(base)
    expect(tab.get_by_text("contains an access token")).to_be_visible()
    assert "watched" not in tab.locator("body").inner_text()
    tab.get_by_label("Link or access token").fill(deciding.url)
    tab.get_by_role("button", name="Open the dashboard").click()
    expect(tab.get_by_text("10 of 12")).to_be_visible()
    assert "token" not in tab.url
    tab.goto(deciding.url)
    expect(tab.get_by_text("10 of 12")).to_be_visible()


def test_tables_of_another_tool_are_shown_without_a_store(tab: Tab, shared_data: Path, tmp_path: Path) -> None:
    from tests.spa.importers.test_importers import POTATO

    (tmp_path / "import.toml").write_text(POTATO)
    folder = shared_data / "sottana" / "potato_simplification"
    arguments = ["import", "potato", str(folder), "--map", str(tmp_path / "import.toml"), "--out", str(tmp_path / "t")]
    typed(arguments)
    with started(None, "--tables", str(tmp_path / "t")) as running:
        visit(tab, running, "raters")
        expect(tab.get_by_text("gpt-4").first).to_be_visible()
        visit(tab, running, "")  # the first page there is, by its own address
        choose(tab, "Ratings")
        expect(tab.get_by_text("google/flan-t5-xxl").first).to_be_visible()
        assert tab.get_by_text("Submissions").count() == 0
