"""A worker's day at the site in a real browser: by keyboard, on a phone, with a study's own forms, for everybody."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner, Result

from spa.cli import main
from spa.commands.workspace import open_workspace
from spa.server.app import create_app
from spa.server.http_server import listen
from spa.server.survey_context import installed_adapters
from tests import patience
from tests.browser.chromium import PHONE, expect, open_context
from tests.browser.worker_browser import signed_in
from tests.conftest import missing_part
from tests.mturk.lab import Lab, open_lab, serving
from tests.mturk.studies import STUDY, answers_to
from tests.spa.small_study import write_study

if TYPE_CHECKING:
    from playwright.sync_api import Browser, FrameLocator
    from playwright.sync_api import Page as Tab

    from spa.records.form import Form

pytestmark = [pytest.mark.browser, pytest.mark.one_process("browser")]
SHOTS = os.environ.get("WORKER_SITE_SHOTS")  # a folder for pictures of every page, to be looked at
PAGES = ("/hits?all=1", "/work", "/history", "/earnings", "/messages", "/qualifications", "/account")


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lab]:
    with open_lab(tmp_path / "lab.sqlite", clock=time.time) as made:
        monkeypatch.setenv("MTURK_ENDPOINT_URL", made.site_url)
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", made.key.access_key_id)
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", made.key.secret_access_key)
        yield made


def run(*arguments: str) -> Result:
    result = CliRunner().invoke(main, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output + result.stderr
    return result


def published(folder: Path, *, annotators: int = 2, mturk: str = "") -> Path:
    """Write, build and publish the small study."""
    text = STUDY.replace("ANNOTATORS", str(annotators)) + mturk
    study = write_study(folder, text)
    run("build", str(study))
    run("mturk", "publish", str(study), "--yes")
    return study


def form_of(study: Path, hit_id: str) -> Form:
    from mturk import records

    with open_workspace(study) as workspace:
        hit = records.find_hit(workspace.store, hit_id)
        assert hit is not None
        return workspace.form(hit.assignment_id or workspace.store.assignments.ids()[0])


def fill(page: Any, answers: dict[str, str]) -> None:
    """Give every answer that the page asks for."""
    for name, value in answers.items():
        field = page.locator(f'[name="{name}"]')
        if field.count() == 0:
            continue
        if field.first.get_attribute("type") in ("radio", "checkbox"):
            page.locator(f'[name="{name}"][value="{value}"]').set_checked(True, force=True)
        else:
            field.first.fill(value)


def snap(tab: Tab, name: str) -> None:
    if SHOTS:
        tab.screenshot(path=f"{SHOTS}/{name}.png", full_page=True)


def test_a_study_from_the_list_to_the_earnings(browser: Browser, lab: Lab, tmp_path: Path) -> None:
    study = published(tmp_path)
    worker = lab.worker(country="US")
    with open_context(browser) as context:
        tab = signed_in(context, lab, worker)
        tab.get_by_role("link", name="Which writer is better?").click()
        frame = tab.frame_locator("iframe.hit")
        expect(frame.locator("#only-preview")).to_be_visible()
        assert frame.locator("input[name]:enabled:not([type=hidden]):not([form])").count() == 0
        snap(tab, "study-preview")
        tab.get_by_role("button", name="Accept and work").click()
        expect(frame.locator("button[type=submit]")).to_be_enabled()
        hit = lab.endpoint.call(lambda tx: lookup(tx, tab.url.rpartition("/")[2]))
        answers = dict(answers_to(form_of(study, hit)))
        fill(frame, answers)
        snap(tab, "study-work")
        refused = iter([True, True])  # a server that has too much to do answers the question later
        tab.route("**/state", lambda asked: asked.fulfill(status=503) if next(refused, None) else asked.continue_())
        leave(frame, "button[type=submit]", lambda: tab.get_by_role("heading", name="Submitted").is_visible())
        assert next(refused, None) is None
        snap(tab, "study-submitted")

        collected = json.loads(run("mturk", "collect", str(study), "--json").stdout)
        assert (collected["new"], collected["problems"]) == (1, 0)
        assert json.loads(run("mturk", "approve", str(study), "--yes", "--json").stdout)["approved"] == 1
        tab.goto(f"{lab.site_url}/earnings")
        expect(tab.locator(".total dd")).to_have_text("$1.00")
        tab.goto(f"{lab.site_url}/history")
        expect(tab.locator(".mark")).to_have_text("Approved")
        tab.goto(f"{lab.site_url}/hits?all=1")  # who took part once is kept from the study's other HITs
        expect(tab.get_by_text("No HITs for you at the moment.")).to_be_visible()
    with open_workspace(study) as workspace:
        visits = list(workspace.store.visits.of_people(source="mturk"))
        payloads = list(workspace.store.visits.payloads(visits[0].submission_id))
        assert any("reading" in payload.body for payload in payloads)
    assert [(visit.external_id is not None, visit.outcome) for visit in visits] == [(True, "completed")]
    owed = json.loads(run("mturk", "ledger", "--store", str(tmp_path / "lab.sqlite"), "--format", "json").stdout)
    assert sum(Decimal(str(entry["amount"])) for entry in entries_of(owed)) == Decimal("1.00")


def entries_of(owed: Any) -> list[dict[str, Any]]:
    return list(owed["entries"] if isinstance(owed, dict) else owed)


def lookup(tx: Any, assignment_id: str) -> str:
    from mturk.endpoint.repository import find_assignment

    return find_assignment(tx, assignment_id).hit_id


def test_a_study_on_its_own_server_inside_a_hit_on_a_phone(browser: Browser, lab: Lab, tmp_path: Path) -> None:
    with listen("127.0.0.1", 0) as door:
        study = published(tmp_path, annotators=2, mturk=f'\nform = "external"\npublic_url = "{door.address}"\n')
        with open_workspace(study) as workspace:
            app = create_app(workspace, adapters=installed_adapters(), public_url=door.address)
            with serving(app, (door,)), open_context(browser, viewport=PHONE) as context:
                tab = signed_in(context, lab, lab.worker(country="US"))
                tab.get_by_role("link", name="Which writer is better?").click()
                expect(tab.frame_locator("iframe.hit").locator("form, main").first).to_be_visible()
                snap(tab, "external-preview-phone")
                assert list(workspace.store.visits.of_people(source="mturk")) == []  # a preview takes nothing
                tab.get_by_role("button", name="Accept and work").click()
                walk_through(tab, tab.frame_locator("iframe.hit"), workspace)
                expect(tab.get_by_role("heading", name="Submitted")).to_be_visible()
                assert width_of(tab) <= PHONE["width"]
        collected = json.loads(run("mturk", "collect", str(study), "--json").stdout)
    assert (collected["new"], collected["problems"]) == (1, 0)


def walk_through(tab: Tab, frame: FrameLocator, workspace: Any) -> None:
    """Answer page after page of the survey inside the frame, and hand the HIT in at the end."""
    answers: dict[str, str] = {}
    shown = ""
    for number in range(60):
        form = frame.locator("form").last
        expect(form).to_be_visible()
        if "externalSubmit" in str(form.get_attribute("action")):
            snap(tab, "external-hand-in-phone")
            form.locator("button").last.click()
            return
        if form.get_attribute("data-begin") is not None:  # accepted, and no place taken before the button is pressed
            assert list(workspace.store.visits.of_people(source="mturk")) == []
            form.locator("button").click()
            expect(frame.locator("form[data-begin]")).to_have_count(0)
            continue
        if not answers:
            visit = next(iter(workspace.store.visits.of_people(source="mturk")))
            answers = dict(answers_to(workspace.form(visit.assignment_id)))
        page = str(form.get_attribute("action"))
        assert page != shown, f"page {page} did not go on: {frame.locator('body').inner_text()[:2000]}"
        shown = page
        fill(frame, answers)
        if number in (1, 3):
            snap(tab, f"external-page-{number}-phone")
        here = frame.locator(f'form[action="{page}"]')
        leave(frame, "button.next", lambda here=here: here.count() == 0)  # type: ignore[misc]
    raise AssertionError("the survey has no end")


def leave(frame: FrameLocator, button: str, has_left: Callable[[], bool]) -> None:
    """Press the button that leaves a page, again after every look at outputs that the page asks for."""
    waiting = frame.locator(".unseen-outputs:visible li:not(.done) button")
    frame.locator(button).last.click()
    until = time.monotonic() + patience.SECONDS
    while not has_left():
        if waiting.count():
            while waiting.count():
                frame.locator(".unseen-outputs").evaluate("box => box.querySelector('li:not(.done) button')?.click()")
                time.sleep(0.3)
            frame.locator(button).last.click()
        shown = frame.locator("body").inner_text()[:2000] if time.monotonic() > until else None
        assert shown is None, f"the page stays, {frame.locator(':invalid').count()} entries invalid: {shown}"
        time.sleep(0.1)


def width_of(tab: Tab) -> int:
    """Return how wide the page is; wider than the window means that it has to be pushed to and fro."""
    return int(tab.evaluate("document.documentElement.scrollWidth"))


def test_everything_can_be_done_by_keyboard(browser: Browser, lab: Lab) -> None:
    hit = lab.publish()
    with open_context(browser) as context:
        tab = context.new_page()
        tab.goto(lab.invitation(lab.worker()))
        press_to(tab, "Sign in")
        tab.keyboard.press("Enter")
        expect(tab.get_by_role("heading", name="HITs", exact=True)).to_be_visible()
        tab.keyboard.press("Tab")
        assert tab.evaluate("document.activeElement.className") == "skip"
        press_to(tab, "Rate a story")
        tab.keyboard.press("Enter")
        expect(tab.get_by_text("Preview", exact=True)).to_be_visible()
        press_to(tab, "Accept and work")
        tab.keyboard.press("Enter")
        frame = tab.frame_locator("iframe.hit")
        expect(frame.locator("[name=score]")).to_be_visible()
        expect(tab.get_by_role("link", name="Return")).to_be_visible()
        press_to(tab, "Return")
        tab.keyboard.press("Tab")  # into the frame
        tab.keyboard.press("Tab")
        if frame.locator("[name=score]:focus").count() == 0:
            tab.keyboard.press("Shift+Tab")
        expect(frame.locator("[name=score]:focus")).to_have_count(1)
        tab.keyboard.type("6")
        tab.keyboard.press("Enter")
        expect(tab.get_by_role("heading", name="Submitted")).to_be_visible()
    assert [one["fields"] for one in lab.submissions(hit)] == [{"score": "6"}]


def test_the_site_works_without_script(browser: Browser, lab: Lab) -> None:
    lab.publish()
    with open_context(browser, java_script_enabled=False) as context:
        tab = signed_in(context, lab, lab.worker())
        tab.get_by_label("Search").fill("story")
        tab.get_by_role("button", name="Show").click()
        tab.get_by_role("link", name="Rate a story").click()
        tab.get_by_role("button", name="Accept and work").click()
        expect(tab.get_by_text("until 20")).to_be_visible()  # a date in place of the countdown
        expect(tab.get_by_role("link", name="I have submitted")).to_be_visible()
        tab.get_by_role("link", name="Return", exact=True).click()
        tab.get_by_role("button", name="Yes, return it").click()
        expect(tab.get_by_text("The HIT was returned.")).to_be_visible()


def press_to(tab: Tab, name: str) -> None:
    """Press Tab until an element with this text has the focus, which must be seen."""
    for _ in range(40):
        tab.keyboard.press("Tab")
        if str(tab.evaluate("document.activeElement.textContent.trim()")) == name:
            assert tab.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"
            return
    raise AssertionError(f"no way to {name!r} by keyboard")


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("desk", {}),
        ("arabic-phone-dark", {"locale": "ar", "viewport": PHONE, "color_scheme": "dark"}),
    ],
)
def test_pages_are_accessible_and_fit(browser: Browser, lab: Lab, name: str, settings: dict[str, Any]) -> None:
    try:
        from axe_playwright_python.sync_playwright import Axe
    except ModuleNotFoundError:
        missing_part("axe-playwright-python is not installed")
    worker = full_account(lab)
    said: list[str] = []
    with open_context(browser, **settings) as context:
        tab = signed_in(context, lab, worker)
        tab.on("console", lambda message: said.append(message.text) if message.type == "error" else None)
        tab.on("pageerror", lambda error: said.append(str(error)))
        group = tab.locator(".groups h2 a").first.get_attribute("href")
        work = accepted_by_post(tab)
        for path in (*PAGES, str(group), f"/work/{work}", f"/work/{work}/return", "/nowhere"):
            tab.goto(lab.site_url + path)
            expect(tab.locator("h1").first).to_be_visible()
            snap(tab, f"{name}-{path.strip('/').partition('?')[0].replace('/', '-')[:12]}")
            found = Axe().run(tab, options={"iframes": False}).response["violations"]
            bad = [(one["id"], one["nodes"][0]["html"][:120]) for one in found]
            assert (path, bad) == (path, [])
            assert width_of(tab) <= int(tab.evaluate("innerWidth"))
        assert [one for one in said if "404" not in one] == []


def accepted_by_post(tab: Tab) -> str:
    tab.locator(".groups h2 a").first.click()
    tab.locator(".actions button").click()
    expect(tab.locator(".left")).to_be_visible()
    return tab.url.rpartition("/")[2]


def full_account(lab: Lab) -> str:
    """Return a worker whose every page has something to show, long and short."""
    worker = lab.worker(country="GB")
    made = [
        lab.ask("CreateQualificationType", Name=text, Description=text * 3, QualificationTypeStatus="Active")
        for text in ("Trained in rating stories. ", "Reads_Arabic_and_writes_it_" * 4)
    ]
    held, lacking = (one["QualificationType"]["QualificationTypeId"] for one in made)
    lab.ask("AssociateQualificationWithWorker", QualificationTypeId=held, WorkerId=worker, IntegerValue=87)
    asked = [
        {"QualificationTypeId": held, "Comparator": "GreaterThan", "IntegerValues": [80]},
        {"QualificationTypeId": "00000000000000000071", "Comparator": "In", "LocaleValues": [{"Country": "GB"}]},
    ]
    hits = [lab.publish(Reward="1.25", QualificationRequirements=asked) for _ in range(4)]
    exists = {"QualificationTypeId": lacking, "Comparator": "Exists"}
    lab.publish(title="اختر القصة الأفضل", Description="اقرأ قصتين.", QualificationRequirements=[exists])
    lab.publish(title="Averylongwordwithoutanyspace" * 4, Keywords="k" * 200, Reward="1234.00")
    with lab.visitor(worker) as visitor:
        for hit in hits[:3]:
            done = visitor.accept(hit)
            visitor.submit(assignmentId=done, score="6")
    first, second = (lab.submissions(hit)[0]["AssignmentId"] for hit in hits[:2])
    lab.ask("ApproveAssignment", AssignmentId=first, RequesterFeedback="Thank you, that was careful work.")
    lab.ask("RejectAssignment", AssignmentId=second, RequesterFeedback="Nothing was answered. " * 10)
    bonus = {"BonusAmount": "0.30", "Reason": "For the long comment.", "UniqueRequestToken": "1"}
    lab.ask("SendBonus", WorkerId=worker, AssignmentId=first, **bonus)
    lab.ask("NotifyWorkers", Subject="A second round", MessageText="Dear all,\n\nit opens soon.", WorkerIds=[worker])
    return worker
