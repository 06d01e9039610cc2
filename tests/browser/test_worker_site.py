"""The worker site in a real browser: a worker's day, old HITs unchanged, and HITs that mean harm."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx2
import pytest

from spa.server.http_server import serve_on_loopback
from tests.browser.chromium import expect, open_context
from tests.browser.worker_browser import accepted, signed_in
from tests.browser.worker_pages import (
    WITH_FILE_FIELD,
    WITH_HELPER,
    WITH_OWN_READER,
    elsewhere,
    hostile,
    read_report,
)
from tests.mturk.lab import Lab, Posted, open_lab

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext
    from playwright.sync_api import Page as Tab

pytestmark = [pytest.mark.browser, pytest.mark.one_process("browser")]


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    with open_context(browser) as made:
        yield made


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    with open_lab(tmp_path / "lab.sqlite") as made:
        yield made


def reported(tab: Tab) -> dict[str, str]:
    """Wait for a hostile page's report."""
    report = tab.frame_locator("iframe.hit").locator("#report[data-done]")
    report.wait_for(state="attached")
    return read_report(report.inner_text())


def is_held(lab: Lab, name: str) -> bool:
    """Say whether an assignment is still in the worker's hand, and the worker still signed in."""
    from mturk.endpoint.repository import find_assignment

    return lab.endpoint.call(lambda tx: find_assignment(tx, name)).status == "Accepted"


# ---- old HITs ----


def test_a_hit_with_the_services_own_helper_works_unchanged(context: BrowserContext, lab: Lab) -> None:
    hit = lab.publish(WITH_HELPER)
    tab = signed_in(context, lab, lab.worker())
    tab.get_by_role("link", name="Rate a story").click()
    preview = tab.frame_locator("iframe.hit")
    expect(preview.locator("#submitButton")).to_be_disabled()
    tab.get_by_role("button", name="Accept and work").click()
    frame = tab.frame_locator("iframe.hit")
    frame.get_by_label("Sad").check()
    frame.get_by_label("its words").check()
    frame.get_by_label("its rhythm").check()
    frame.get_by_label("Comment").fill("slow & <soft>\n…then loud")
    frame.get_by_role("button", name="Submit").click()
    expect(tab.get_by_role("heading", name="Submitted")).to_be_visible()
    (sent,) = lab.submissions(hit)
    assert sent["fields"] == {"mood": "sad", "why": "words|rhythm", "comment": "slow & <soft>\r\n…then loud"}


def test_a_hit_that_reads_its_address_itself_works_unchanged(context: BrowserContext, lab: Lab) -> None:
    hit = lab.publish(WITH_OWN_READER)
    worker = lab.worker()
    tab = signed_in(context, lab, worker)
    tab.get_by_role("link", name="Rate a story").click()
    expect(tab.frame_locator("iframe.hit").locator("#note")).to_have_text("Please accept this HIT")
    tab.get_by_role("button", name="Accept and work").click()
    frame = tab.frame_locator("iframe.hit")
    expect(frame.locator("#note")).to_have_text(f"worker {worker}")
    said: list[str] = []
    tab.on("dialog", lambda dialog: (said.append(dialog.message), dialog.accept())[0])
    frame.locator("#go").click()
    assert said == ["Please answer"]
    frame.locator("#stars").fill("4")
    frame.locator("#go").click()
    expect(tab.get_by_role("heading", name="Submitted")).to_be_visible()
    assert [one["fields"] for one in lab.submissions(hit)] == [{"stars": "4"}]


def test_sandbox_hit_with_file_field(context: BrowserContext, lab: Lab) -> None:
    """A HIT of the sandbox with a field for files works unchanged."""
    hit = lab.publish(WITH_FILE_FIELD)
    tab = signed_in(context, lab, lab.worker())
    accepted(tab)
    frame = tab.frame_locator("iframe.hit")
    frame.get_by_label("Colour").select_option("blue")
    frame.get_by_role("button", name="Submit HIT").click()
    expect(tab.get_by_role("heading", name="Submitted")).to_be_visible()
    assert [one["fields"] for one in lab.submissions(hit)] == [{"colour": "blue"}]


# ---- HITs that mean harm ----


def test_a_hostile_hit_cannot_reach_the_session(context: BrowserContext, lab: Lab) -> None:
    site = lab.site_url
    hit = lab.publish(
        hostile(f"""
  readParent: () => window.parent.document.body.innerHTML,
  readTop: () => window.top.location.href,
  moveTop: () => {{ window.top.location = "{lab.frame_url}/evil"; return "moved"; }},
  cookie: () => document.cookie,
  writeCookie: () => {{ document.cookie = "worker=x"; return "written"; }},
  localStorage: () => window.localStorage.length,
  sessionStorage: () => window.sessionStorage.length,
  database: () => window.indexedDB.open("x"),
  popup: () => window.open("{site}/account"),
  serviceWorker: () => navigator.serviceWorker.register("/static/frame.js"),
  readSite: async () => (await fetch("{site}/account", {{credentials: "include"}})).text(),
  readState: async () => (await fetch("{site}/hits", {{credentials: "include", mode: "no-cors"}})).text(),
  returnWork: async () => (await fetch("{site}/work/" + new URLSearchParams(location.search).get("assignmentId") +
    "/return", {{method: "POST", credentials: "include", mode: "no-cors", body: new URLSearchParams("a=1")}})).type,
  signOut: async () => (await fetch("{site}/sign-out-everywhere", {{method: "POST", credentials: "include",
    mode: "no-cors", body: new URLSearchParams("a=1")}})).type,
  postForm: async () => {{
    f.action = "{site}/sign-out-everywhere"; f.target = "inner";
    const inner = document.createElement("iframe"); inner.name = "inner"; document.body.append(inner);
    f.submit(); return "sent";
  }},
  embedSite: async () => {{
    const inner = document.createElement("iframe"); inner.src = "{site}/account"; document.body.append(inner);
    await new Promise((done) => {{ inner.onload = done; }});
    return inner.contentDocument;
  }},
  lies: () => {{
    for (const height of [1e9, -5, "900px", NaN]) parent.postMessage({{type: "hit-frame", height}}, "*");
    parent.postMessage({{type: "hit-frame", event: "changed", status: "Submitted"}}, "*");
    parent.postMessage("<img src=x onerror=alert(1)>", "*"); return "told";
  }},
""")
    )
    tab = signed_in(context, lab, lab.worker())
    dialogs: list[str] = []
    tab.on("dialog", lambda dialog: dialogs.append(dialog.message))
    name = accepted(tab)
    report = reported(tab)
    assert [one for one in lab.posted if one.status == 403][-2:] == [  # the preview tried before
        Posted(path=f"/work/{name}/return", status=403, with_cookies=False),
        Posted(path="/sign-out-everywhere", status=403, with_cookies=False),
    ]
    refused = "refused: SecurityError"
    assert report == {
        "readParent": refused,
        "readTop": refused,
        "moveTop": refused,
        "cookie": refused,
        "writeCookie": refused,
        "localStorage": refused,
        "sessionStorage": refused,
        "database": refused,
        "popup": "nothing",
        "serviceWorker": report["serviceWorker"],
        "readSite": "refused: TypeError",
        "readState": report["readState"],
        "returnWork": report["returnWork"],
        "signOut": report["signOut"],
        "postForm": "sent",
        "embedSite": report["embedSite"],
        "lies": "told",
    }
    assert report["serviceWorker"].startswith("refused")
    assert report["readState"] in ("", "refused: TypeError")  # an opaque answer has no text
    assert report["embedSite"] in ("nothing", "waiting", refused)
    assert tab.url == f"{site}/work/{name}"
    assert [page.url for page in context.pages] == [tab.url]
    assert is_held(lab, name)
    assert (tab.locator("iframe.hit").bounding_box() or {"height": 0})["height"] < 2000
    assert dialogs == []
    tab.goto(f"{site}/account")
    expect(tab.get_by_role("heading", name="Account")).to_be_visible()  # still signed in
    assert lab.submissions(hit) == []


def test_site_session_of_other_pages(context: BrowserContext, lab: Lab) -> None:
    """On another port of one host cookies come with its requests: what is left is where a request comes from."""
    site = lab.site_url

    def page(request: Any) -> str:
        name = request.query_params.get("assignmentId", "")
        return hostile(f"""
  readTop: () => window.top.document.body.innerHTML,
  moveTop: () => {{ window.top.location = "/evil"; return "moved"; }},
  cookie: () => document.cookie || "empty",
  popup: () => window.open("{site}/account"),
  readSite: async () => (await fetch("{site}/account", {{credentials: "include"}})).text(),
  returnWork: async () => (await fetch("{site}/work/{name}/return", {{method: "POST", credentials: "include",
    mode: "no-cors", body: new URLSearchParams("a=1")}})).type,
  signOut: async () => (await fetch("{site}/sign-out-everywhere", {{method: "POST", credentials: "include",
    mode: "no-cors", body: new URLSearchParams("a=1")}})).type,
  postForm: async () => {{
    f.action = "{site}/work/{name}/return"; f.target = "inner";
    const inner = document.createElement("iframe"); inner.name = "inner"; document.body.append(inner);
    const done = new Promise((loaded) => {{ inner.onload = loaded; }});
    f.submit(); await done; return "sent";
  }},
""")

    other = elsewhere(page)
    with serve_on_loopback(other) as url:
        lab.publish(url=f"{url}/hit")
        tab = signed_in(context, lab, lab.worker())
        name = accepted(tab)
        report = reported(tab)
        sent = [one for one in lab.posted if one.status == 403]
    assert [one.path for one in sent[-3:]] == [f"/work/{name}/return", "/sign-out-everywhere", f"/work/{name}/return"]
    assert all(one.with_cookies for one in sent)  # so it is the guard that refuses them
    assert report["readTop"] == report["moveTop"] == "refused: SecurityError"
    assert report["cookie"] == "empty"  # what is there is kept from scripts
    assert report["popup"] == "nothing"
    assert report["readSite"] == "refused: TypeError"
    assert report["returnWork"] == report["signOut"] == "refused: TypeError"
    assert is_held(lab, name)
    tab.goto(f"{site}/account")
    expect(tab.get_by_role("heading", name="Account")).to_be_visible()


def test_a_page_elsewhere_cannot_show_the_site_in_a_frame(context: BrowserContext, lab: Lab) -> None:
    lab.publish()
    tab = signed_in(context, lab, lab.worker())
    accepted(tab)
    work = tab.url
    inside = tab.locator("iframe.hit").get_attribute("src")
    tab.goto(f"{lab.site_url}/hits")

    def page(request: Any) -> str:
        return "".join(f'<iframe name="f{n}" src="{url}"></iframe>' for n, url in enumerate((work, inside)))

    with serve_on_loopback(elsewhere(page)) as url:
        trap = context.new_page()
        trap.goto(url)
        trap.wait_for_function("document.querySelectorAll('iframe').length === 2")
        trap.wait_for_load_state("load")
        texts = [frame.content() for frame in trap.frames if frame is not trap.main_frame]
    assert len(texts) == 2
    assert not any('class="bar"' in text or 'name="score"' in text for text in texts)


def test_who_lost_the_answer_comes_in_by_the_same_link_in_mail(context: BrowserContext, lab: Lab) -> None:
    """A page on another site stands for the mail; a browser keeps strict cookies at home when it comes from there."""
    link = lab.invitation(lab.worker())
    tab = context.new_page()

    def lose(route: Any) -> None:
        route.fetch(max_redirects=0)
        context.clear_cookies(name=lab.settings.cookie)  # of an answer that never came
        route.abort()

    with serve_on_loopback(elsewhere(lambda request: f'<a href="{link}">Your invitation</a>')) as url:
        mail = url.replace("127.0.0.1", "localhost")
        tab.goto(mail)
        tab.get_by_text("Your invitation").click()
        tab.route(link, lambda route: lose(route) if route.request.method == "POST" else route.continue_())
        with tab.expect_event("requestfailed"):
            tab.locator("main button").click(no_wait_after=True)
        tab.unroute_all()
        tab.goto(f"{lab.site_url}/hits")
        expect(tab.get_by_role("heading", name="Sign in")).to_be_visible()
        tab.goto(mail)
        tab.get_by_text("Your invitation").click()
        tab.locator("main button").click()
        expect(tab.locator(".top nav [aria-current]")).to_be_visible()
    assert [(one.path, one.status) for one in lab.posted] == [(link.removeprefix(lab.site_url), 303)] * 2


def test_an_address_of_a_frame_opens_nothing_elsewhere_or_later(
    browser: Browser, context: BrowserContext, lab: Lab
) -> None:
    lab.publish()
    tab = signed_in(context, lab, lab.worker())
    name = accepted(tab)
    address = str(tab.locator("iframe.hit").get_attribute("src"))
    thief = browser.new_context()
    try:
        page = signed_in(thief, lab, lab.worker("Thief"))
        opened = page.goto(address)  # while it is valid: the address bar is no frame of the site
        assert opened is not None
        assert opened.status == 410
        expect(page.get_by_role("heading", name="This page is no longer open")).to_be_visible()
    finally:
        thief.close()
    # Without a browser's word about where it is shown, the signature alone decides, and how long it is good.
    assert httpx2.get(address).status_code == 200
    assert httpx2.get(address.replace("/f/work-", "/f/preview-")).status_code == 410
    assert httpx2.get(re.sub(r"-(\d{10})-", lambda found: f"-{int(found[1]) + 9}-", address)).status_code == 410
    lab.clock.now += 901
    assert httpx2.get(address).status_code == 410
    assert is_held(lab, name)


def test_a_hit_may_open_windows_only_where_the_host_says_so(context: BrowserContext, tmp_path: Path) -> None:
    opens = hostile('popup: () => window.open("about:blank") === null ? null : "opened",')
    with open_lab(tmp_path / "popups.sqlite", popups=True) as lab:
        lab.publish(opens)
        tab = signed_in(context, lab, lab.worker())
        accepted(tab)
        assert "allow-popups" in str(tab.locator("iframe.hit").get_attribute("sandbox"))
        assert "escape" not in str(tab.locator("iframe.hit").get_attribute("sandbox"))
