"""What the dashboard leads a reviewer to: alarms, single submissions, forms of images, on a desk and on a phone."""

from __future__ import annotations

import random
import shutil
import sqlite3
import struct
import zlib
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from spa.responses.decisions import Decision, add_decision, parse_amount
from spa.responses.store import Store
from tests.streamlit_app.answering import answer, typed
from tests.streamlit_app.conftest import Dashboard, started
from tests.streamlit_app.looking import expect, newcomer, photograph, settled, turn_to, visit

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext
    from playwright.sync_api import Page as Tab

pytestmark = [pytest.mark.browser, pytest.mark.one_process("dashboard")]

PAGES = ("", "submissions", "systems", "annotators", "conduct", "raters", "report", "plan")
SIDE = 600  # pixels of an image; a form with some of them is far larger than the 2 MB that an address may hold


@pytest.fixture(scope="module")
def needing(watched: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the study with a visit that no platform confirmed, and a bonus that nobody paid."""
    study = Path(shutil.copytree(watched.parent, tmp_path_factory.mktemp("needing") / "study")) / watched.name
    store = study.with_suffix(".sqlite")
    with sqlite3.connect(store) as connection:
        first, second, *_ = [
            row[0] for row in connection.execute("SELECT submission_id FROM submissions WHERE annotator_kind <> 'llm'")
        ]
        changed = "UPDATE submissions SET source = 'mturk', external_id = ? WHERE submission_id = ?"
        connection.execute(changed, ("claimed by the first", first))
        connection.execute(changed, ("a submission", second))
    connection.close()
    with Store.open(store) as opened, opened.transaction() as connection:
        bonus = Decision(
            submission_id=second,
            action="bonus",
            reviewer="Ana",
            decided_at=0.0,
            note="Explained with care.",
            amount=parse_amount("0.50"),
        )
        add_decision(connection, bonus)
    return study


@pytest.fixture(scope="module")
def running(needing: Path) -> Iterator[Dashboard]:
    with started(needing, "--host", "127.0.0.2", "--show-systems") as dashboard:
        yield dashboard


@pytest.fixture
def phone(context: BrowserContext) -> Iterator[Tab]:
    page = newcomer(context, 390, 800)
    yield page
    page.close()


def wider_than_the_screen(tab: Tab) -> bool:
    return bool(tab.locator("[data-testid=stMain]").evaluate("page => page.scrollWidth > page.clientWidth"))


def test_what_needs_a_look_leads_to_its_page_in_the_same_session(tab: Tab, running: Dashboard) -> None:
    visit(tab, running, "")
    expect(tab.get_by_text("Who wins")).to_be_visible()
    expect(tab.get_by_role("heading", name="Needs attention")).to_be_visible()
    expect(tab.get_by_text("Submitted but not confirmed by the platform: 1 visit.")).to_be_visible()
    expect(tab.get_by_text("0.00 GBP", exact=True)).to_be_visible()  # simulated annotators are not paid
    expect(tab.get_by_text("24.00 GBP", exact=True)).to_be_visible()
    tab.get_by_role("link", name="Bonuses decided but not paid: 1, 0.50 in total.").click()
    expect(tab.get_by_role("heading", level=1, name="Submissions")).to_be_visible()


def test_dashboard_submission_by_address(tab: Tab, running: Dashboard, needing: Path) -> None:
    """One submission is opened by its address whatever its status."""
    with Store.open(needing.with_suffix(".sqlite"), read_only=True) as store:
        unconfirmed = next(each for each in store.visits.of_people() if each.claimed)
    base, _, token = running.url.partition("/?")
    tab.goto(f"{base}/submissions?submission={unconfirmed.submission_id}&{token}")
    expect(tab.get_by_text("submitted, not confirmed by the platform").first).to_be_visible()
    frame = tab.frame_locator("iframe").first
    expect(frame.locator("input:checked, .whole-number:not([value=''])").first).to_be_attached()


def test_a_form_is_given_with_the_token_alone_and_in_a_sandbox(
    browser: Browser, running: Dashboard, needing: Path
) -> None:
    context = browser.new_context()
    with Store.open(needing.with_suffix(".sqlite"), read_only=True) as store:
        submission_id = next(iter(store.visits.of_people())).submission_id
    base, _, token = running.url.partition("/?")
    address = f"{base}/submitted-form/{submission_id}"
    assert [context.request.get(f"{address}{more}").status for more in ("", "?token=wrong", f"?{token}", "")] == [
        403,
        403,
        200,
        200,
    ]
    policy = context.request.get(address).headers["content-security-policy"]
    assert policy.startswith("sandbox; default-src 'none'")
    assert context.request.get(f"{base}/submitted-form/nobody").status == 404
    context.close()


def test_every_page_fits_a_phone(phone: Tab, running: Dashboard, tmp_path: Path) -> None:
    visit(phone, running, PAGES[-1])
    for page in PAGES:
        turn_to(phone, page)
        photograph(phone, tmp_path / f"{page or 'overview'}.png")
        assert not wider_than_the_screen(phone), page


def test_verdicts_and_p_values_stay_in_sight_on_a_phone(phone: Tab, running: Dashboard) -> None:
    visit(phone, running, "systems")
    phone.get_by_text("Preferences", exact=True).first.click()
    rows = phone.locator("table.stacked tbody tr")
    expect(rows.first).to_be_visible()
    for label in ("Verdict", "Adjusted p"):
        cell = rows.first.locator(f"td[data-label='{label}']").bounding_box()
        assert cell is not None
        assert cell["x"] + cell["width"] <= 390, label


def test_a_study_that_nobody_has_answered_says_so_on_every_page(phone: Tab, watched: Path, tmp_path: Path) -> None:
    for name in ("study.toml", "outputs.jsonl"):
        shutil.copy(watched.parent / name, tmp_path)
    typed(["build", str(tmp_path / "study.toml")])
    with started(tmp_path / "study.toml") as dashboard:
        visit(phone, dashboard, PAGES[-1])
        for page in (*PAGES[1:], ""):
            turn_to(phone, page)
            settled(phone)
            assert not wider_than_the_screen(phone), page
        expect(phone.get_by_text("Planned hourly pay")).to_be_visible()
        minutes = phone.get_by_test_id("stMetric").filter(has_text="Planned minutes")
        assert float(minutes.inner_text().split()[-1]) > 0


def noise(side: int, rng: random.Random) -> bytes:
    """Return a PNG that cannot be compressed."""
    rows = b"".join(b"\0" + rng.randbytes(3 * side) for _ in range(side))
    parts = {b"IHDR": struct.pack(">2I5B", side, side, 8, 2, 0, 0, 0), b"IDAT": zlib.compress(rows), b"IEND": b""}
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in parts.items()
    )


def test_a_form_of_large_images_is_shown_whole(tab: Tab, tmp_path: Path) -> None:
    study, rng = tmp_path / "images" / "study.toml", random.Random(1)
    shutil.copytree(str(files("spa.examples") / "images"), study.parent)
    for path in sorted(study.parent.rglob("*.png")):
        path.write_bytes(noise(SIDE if rng.random() < 0.3 else 20, rng))
    typed(["build", str(study)])
    answer(study, 2)
    with started(study) as dashboard:
        visit(tab, dashboard, "submissions")
        expect(tab.frame_locator("iframe").first.get_by_role("heading").first).to_be_visible()
        settled(tab)
        form = next(frame for frame in tab.frames if "submitted-form" in frame.url)
        form.wait_for_load_state()
        widths = form.evaluate("[...document.images].map(image => image.naturalWidth)")
        assert set(widths) == {SIDE, 20}
        assert len(form.content()) > 5_000_000
