"""The answer to a sign-in that is lost on its way: the browser that used an invitation may use it again for a while."""

from __future__ import annotations

import re
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import pytest
from sqlalchemy import select

from mturk.endpoint.schema import worker_tokens
from mturk.endpoint.site.security import TRIES
from mturk.endpoint.site.sessions import AGAIN, redeem
from mturk.endpoint.site.settings import SiteSettings
from mturk.endpoint.transaction import Transaction
from mturk.endpoint.workers import change_worker
from tests import patience
from tests.mturk.lab import Lab, Visitor, open_lab, title_of


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    with open_lab(tmp_path / "lab.sqlite") as made:
        yield made


def invited(lab: Lab, worker_id: str | None = None, **settings: float) -> str:
    """Return the path of a new invitation."""
    return lab.invitation(worker_id or lab.worker(), **settings).removeprefix(lab.site_url)


def press_and_lose(visitor: Visitor, path: str) -> None:
    """Open an invitation, press its button and break the connection off; what the server then does is on disk."""
    visitor.get(path)
    lab, cookies = visitor.lab, "; ".join(f"{one.name}={one.value}" for one in visitor.client.cookies.jar)
    place, answered = urlsplit(lab.site_url), len(lab.posted)
    head = f"POST {path} HTTP/1.1\r\nHost: {place.netloc}\r\nOrigin: {lab.site_url}\r\nCookie: {cookies}\r\n"
    with socket.create_connection((str(place.hostname), int(place.port or 80))) as line:
        line.sendall(f"{head}Content-Length: 0\r\n\r\n".encode())
        end = time.monotonic() + patience.SECONDS
        while len(lab.posted) == answered:
            assert time.monotonic() < end, "the server did not answer"
            time.sleep(0.01)
    assert lab.posted[-1].status == 303


def sessions(lab: Lab) -> list[str]:
    """Return the workers of all sessions that the store knows."""
    query = select(worker_tokens.c.worker_id).where(worker_tokens.c.purpose == "session")
    return list(lab.endpoint.call(lambda tx: tx.connection.scalars(query).all()))


def test_the_same_browser_comes_in_where_the_answer_was_lost(lab: Lab) -> None:
    worker = lab.worker()
    link = invited(lab, worker)
    with lab.visitor() as visitor:
        press_and_lose(visitor, link)
        assert sessions(lab) == [worker]
        assert title_of(visitor.get("/hits")) == "Sign in"
        assert title_of(visitor.get(link)) == "Welcome"
        assert visitor.post(link).url.path == "/hits"
        assert worker in visitor.get("/account").text
        assert sessions(lab) == [worker]


def test_the_same_browser_comes_in_after_the_server_died(tmp_path: Path) -> None:
    """The process ends between what is on disk and the answer; another one serves the same store."""
    with open_lab(tmp_path / "lab.sqlite") as lab:
        worker = lab.worker()
        link = invited(lab, worker)
        with lab.visitor() as visitor:
            visitor.get(link)
            mark = visitor.client.cookies[lab.settings.mark_cookie]
        token = link.rpartition("/")[2]
        assert lab.endpoint.call(lambda tx: redeem(tx, token, mark)) is not None
    with open_lab(tmp_path / "lab.sqlite") as lab, lab.visitor() as visitor:
        visitor.client.cookies.set(lab.settings.mark_cookie, mark)
        assert visitor.post(link).url.path == "/hits"
        assert sessions(lab) == [worker]


def test_pressing_again_is_no_failed_attempt(lab: Lab) -> None:
    link = invited(lab)
    with lab.visitor() as visitor:
        for _ in range(2 * TRIES):
            press_and_lose(visitor, link)
        assert visitor.press(link).url.path == "/hits"


def test_pressing_often_at_once_opens_one_session(lab: Lab) -> None:
    link, gate = invited(lab), threading.Barrier(8)
    with lab.visitor() as visitor:
        visitor.get(link)
        held = dict(visitor.client.cookies)

    def press(_: int) -> tuple[int, str]:
        gate.wait()
        headers = {"origin": lab.site_url}
        sent = httpx2.post(f"{lab.site_url}{link}", data={}, headers=headers, cookies=held, timeout=60)
        return sent.status_code, sent.cookies[lab.settings.cookie]

    with ThreadPoolExecutor(8) as pool:
        pressed = set(pool.map(press, range(8)))
    assert [status for status, _ in pressed] == [303]
    assert len(sessions(lab)) == 1


def test_another_browser_stays_out_and_is_counted(lab: Lab) -> None:
    link = invited(lab)
    with lab.visitor() as owner, lab.visitor() as stranger:
        press_and_lose(owner, link)
        stranger.get(invited(lab))  # has a mark, but another
        assert stranger.client.cookies[lab.settings.mark_cookie] != owner.client.cookies[lab.settings.mark_cookie]
        for _ in range(TRIES // 2):
            assert title_of(stranger.get(link)) == "This link does not work"
            assert stranger.post(link).status_code == 404
        assert stranger.post(link).status_code == 429
        assert len(sessions(lab)) == 1


def test_a_session_that_was_ended_does_not_come_back(lab: Lab) -> None:
    worker = lab.worker()
    for way in ("/sign-out", "/sign-out-everywhere"):
        link = invited(lab, worker)
        with lab.visitor() as visitor:
            press_and_lose(visitor, link)
            assert visitor.post(link).url.path == "/hits"
            visitor.post(way)
            assert lab.settings.mark_cookie in visitor.client.cookies
            assert visitor.post(link).status_code == 404
            assert title_of(visitor.get(link)) == "This link does not work"
            assert sessions(lab) == []


def test_after_ten_minutes_the_link_is_used(lab: Lab) -> None:
    link = invited(lab)
    with lab.visitor() as visitor:
        press_and_lose(visitor, link)
        lab.clock.now += AGAIN - 1
        assert visitor.post(link).url.path == "/hits"
        lab.clock.now += 1  # counted from the first press
        assert visitor.post(link).status_code == 404
        assert title_of(visitor.get("/hits")) == "HITs"


def test_lost_answers_link_expires(lab: Lab) -> None:
    """A link that is too old or of a closed account stays shut."""
    late, closed = lab.worker("Late"), lab.worker("Closed")
    links = [invited(lab, late, life=60.0), invited(lab, closed)]
    with lab.visitor() as visitor:
        for link in links:
            press_and_lose(visitor, link)
        lab.clock.now += 60
        lab.endpoint.call(lambda tx: close(tx, closed))
        for link in links:
            assert visitor.post(link).status_code == 404
            assert visitor.get(link).status_code == 404


def close(tx: Transaction, worker_id: str) -> None:
    change_worker(tx, worker_id, closed_at=tx.now)


@pytest.mark.parametrize("held", [None, "", "short", "x" * 43 + " ", "ü" * 43])
def test_a_browser_without_a_mark_uses_nothing_up(lab: Lab, held: str | None) -> None:
    """Such a browser keeps no cookies, or kept the page open for days; it is told what to do and given a mark."""
    link = f"{lab.site_url}{invited(lab)}"
    headers = {"origin": lab.site_url}
    if held is not None:
        headers["cookie"] = f'{lab.settings.mark_cookie}="{held}"'
    for _ in range(2 * TRIES):
        shown = httpx2.post(link, data={}, headers={k: v.encode() for k, v in headers.items()}, timeout=60)
        assert (shown.status_code, title_of(shown)) == (200, "Welcome")
        assert "allow cookies" in shown.text
    assert sessions(lab) == []
    cookies = {name: str(shown.cookies[name]) for name in (lab.settings.mark_cookie,)}
    pressed = httpx2.post(link, data={}, headers={"origin": lab.site_url}, cookies=cookies, timeout=60)
    assert (pressed.status_code, pressed.headers["location"]) == (303, "/hits")


def test_lost_answers_mark_is_opaque(lab: Lab) -> None:
    """The mark is kept from scripts and says nothing of the session."""
    worker = lab.worker()
    links = [invited(lab, worker) for _ in "ab"]
    with lab.visitor() as visitor:
        cookie = visitor.get(links[0]).headers["set-cookie"].lower()
        assert all(part in cookie for part in ("httponly", "samesite=lax", "path=/", "max-age=86400"))
        assert "domain" not in cookie
        mark = visitor.client.cookies[lab.settings.mark_cookie]
        assert re.fullmatch(r"[\w-]{43}", mark)
        held = set()
        for link in links:
            visitor.press(link)
            held.add(visitor.client.cookies[lab.settings.cookie])
        assert visitor.client.cookies[lab.settings.mark_cookie] == mark
        assert len({mark, *held}) == 3
    secure = SiteSettings(site_url="https://a.example", frame_url="https://b.example", clock=lambda: 0.0)
    assert secure.mark_cookie.startswith("__Host-")
    with lab.visitor() as stranger:
        assert "set-cookie" not in stranger.get("/invite/guess").headers
