"""CPU of the survey server for a page, after 10 to 2,857 visits, beside a bare server of FastAPI and SQLite.

A page is what a browser does between two: it posts answers, is sent on, and fetches the next. Turns alternate.
"""

from __future__ import annotations

import asyncio
import os
import random
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import aiohttp

from spa.commands.workspace import Workspace, open_workspace
from spa.responses.outcomes import COMPLETED
from tests.benchmarks.bench_admission import VISITS
from tests.benchmarks.bench_server import family, free_port, running
from tests.benchmarks.measure import Figure
from tests.load.sites import Spa
from tests.load.studies import PAGES, build_load_study
from tests.spa.small_study import answer_form

TIMES, FORMS = 5, 5  # turns of which the median is taken, and forms of ten pages in each
START = 1_000_000.0  # seconds since 1970
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True, kw_only=True)
class PageCost:
    """CPU seconds of a page after so many visits, ours and the bare server's."""

    visits: int
    ours: float
    bare: float


def figures() -> Iterator[Figure]:
    """Yield the CPU of one page after as many visits as :data:`bench_admission.VISITS` say."""
    for cost in costs():
        note = f"median of {TIMES}; {cost.ours / cost.bare:.1f} x a bare server ({1000 * cost.bare:.2f} ms)"
        yield Figure(name=f"a page, {cost.visits:,} visits", value=1000 * cost.ours, unit="ms CPU", note=note)


def costs() -> Iterator[PageCost]:
    """Fill a study's store with visits while it is served, and measure at each size."""
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder, ports = Path(name), (free_port(), free_port())
        path = build_load_study(folder, str(folder / "study.sqlite"), assignments=VISITS[-1] + 500)
        serve = [str(Path(sys.executable).with_name("spa")), "serve", str(path), "--new-visits", "1000000"]
        ours = stack.enter_context(running([*serve, "--port", str(ports[0])], ports[0], folder=folder))
        workspace = stack.enter_context(open_workspace(path))
        (folder / "page.html").write_text(asyncio.run(_first_page(ports[0])), encoding="utf-8")
        command = [sys.executable, "-m", "tests.benchmarks.peers.pages", str(ports[1]), str(folder)]
        bare = stack.enter_context(running(command, ports[1], folder=Path.cwd(), log=folder / "bare.log"))
        people = 0
        for visits in VISITS:
            while people < visits:
                people += 1
                _visit(workspace, people)
            taken: tuple[list[float], list[float]] = ([], [])
            for turn in range(TIMES + 1):
                for server, work, own in zip((ours, bare), (_forms, _posts), taken, strict=True):
                    before = _used(server.pid)
                    pages = asyncio.run(work(ports[server is bare]))
                    if turn:  # the first warms up
                        own.append((_used(server.pid) - before) / pages)
                people += FORMS
            yield PageCost(visits=visits, ours=median(taken[0]), bare=median(taken[1]))


def _visit(workspace: Workspace, number: int) -> None:
    """Let somebody come and answer at once."""
    name, visits = f"person {number}", workspace.store.visits
    lease = visits.admit(source="link", person=name, external_id=name, minutes_allowed=60.0, now=START + number)
    answers = answer_form(lease, workspace.form(lease.assignment_id))
    visits.finish(answers, COMPLETED, "code", now=START + number + 1)


def _used(pid: int) -> float:
    """Return the CPU seconds that a server has taken so far, its children's too."""
    fields = [Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split() for each in family(pid)]
    return sum(int(each[11]) + int(each[12]) for each in fields) / TICKS


async def _first_page(port: int) -> str:
    async with _browser() as session:
        site = Spa(session, f"http://127.0.0.1:{port}/", "first")
        await site.open()
        async with session.get(site.address) as response:
            return await response.text()


async def _forms(port: int) -> int:
    """Answer whole forms, one after another, and return how many pages were sent."""
    pages, chance = 0, random.Random(1)
    for number in range(FORMS):
        async with _browser() as session:
            site = Spa(session, f"http://127.0.0.1:{port}/", str(number))
            await site.open()
            while not site.finished:
                await site.send(site.answers(chance), lambda line: None)
                pages += 1
    return pages


async def _posts(port: int) -> int:
    """Send as many pages to the bare server."""
    url = f"http://127.0.0.1:{port}/"
    async with _browser() as session:
        for number in range(FORMS * PAGES):
            sent = {"answer-1": str(number % 7), "answer-2": "3"}
            async with session.post(url, data=sent, allow_redirects=False) as response:
                await response.read()
            async with session.get(url) as response:
                await response.read()
    return FORMS * PAGES


def _browser() -> aiohttp.ClientSession:
    return aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True))
