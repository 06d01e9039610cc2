"""Annotators at work, hundreds at once, in a process of their own: ``python -m tests.load.annotators --help``.

Each goes through whole forms over HTTP as a browser does: opens a link, sends a page, fetches the next. What is
measured is a **page submission**: from sending the answers until the next page is there.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path

import aiohttp

from tests.load.sites import SITES, Refused, Site

PATIENCE = 60.0  # seconds for one request
RETRY = 0.05  # seconds before a broken request is made again


@dataclass
class Tally:
    """What happened from ``begins`` on; times are those of the monotonic clock, in seconds."""

    begins: float
    seconds: list[float] = field(default_factory=list)  # of each page submission
    opened: list[float] = field(default_factory=list)  # of each way from the link to the first page
    forms: int = 0
    errors: Counter[str] = field(default_factory=Counter)
    timeline: Counter[int] = field(default_factory=Counter)  # second -> page submissions

    def count(self, seconds: float) -> None:
        """Note one page submission that has just come to its end."""
        now = time.monotonic()
        if now >= self.begins:
            self.seconds.append(seconds)
            self.timeline[int(now - self.begins)] += 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What a run says at its end; times in seconds."""

    kind: str
    annotators: int
    measured_for: float
    pages: int
    pages_per_second: float
    p50: float
    p99: float
    longest: float
    open_p50: float
    open_p99: float
    forms: int
    errors: dict[str, int]
    cpu: float  # of this process
    per_second: list[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a run is to do."""

    kind: str
    url: str
    annotators: int
    seconds: float
    warmup: float
    think: float  # mean seconds between two pages; exponentially distributed
    patient: bool  # go on after an error, such as a server that was killed
    acknowledged: Path | None  # every page whose answers the server has acknowledged, a line of JSON each
    seed: int


async def run(plan: Plan) -> Summary:
    """Let all annotators work until the time is over."""
    begins = time.monotonic() + plan.warmup
    ends = begins + plan.seconds
    tally = Tally(begins=begins)
    stopped = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopped.set)
    log = None if plan.acknowledged is None else plan.acknowledged.open("a", buffering=1, encoding="utf-8")

    def note(line: dict[str, str]) -> None:
        if log is not None:
            log.write(json.dumps(line) + "\n")

    timeout = aiohttp.ClientTimeout(total=PATIENCE)
    site = SITES[plan.kind]

    async def annotator(number: int) -> None:
        chance = random.Random(f"{plan.seed}/{number}")
        await asyncio.sleep(chance.random() * min(plan.warmup, 5.0))
        visit = 0
        connector = aiohttp.TCPConnector(limit=2)
        jar = aiohttp.CookieJar(unsafe=True)  # a host that is a number may set cookies too
        async with aiohttp.ClientSession(timeout=timeout, connector=connector, cookie_jar=jar) as session:
            while time.monotonic() < ends:
                name = f"{plan.seed}-{number}-{visit}"
                visit += 1
                await whole_form(plan, site(session, plan.url, name), tally, note, chance, ends)
                session.cookie_jar.clear()

    people = [asyncio.create_task(annotator(number)) for number in range(plan.annotators)]
    told = asyncio.create_task(stopped.wait())
    everybody = asyncio.create_task(asyncio.wait(people, return_when=asyncio.FIRST_EXCEPTION))
    await asyncio.wait([everybody, told], return_when=asyncio.FIRST_COMPLETED)
    for task in people:
        if task.done():
            task.result()  # raises what nobody foresaw
        task.cancel()
    told.cancel()
    await asyncio.wait([everybody, told])
    measured = time.monotonic() - begins
    return summary(plan, tally, measured)


async def whole_form(
    plan: Plan, site: Site, tally: Tally, note: Callable[[dict[str, str]], None], chance: random.Random, ends: float
) -> None:
    """Open a link and answer until the form is at its end or the time is over."""
    started = time.monotonic()
    if not await tried(plan, site.open, tally, ends):
        return
    tally.opened.append(time.monotonic() - started)
    while not site.finished and time.monotonic() < ends:
        if plan.think:
            await asyncio.sleep(min(chance.expovariate(1 / plan.think), 5 * plan.think))
        answers = site.answers(chance)
        started = time.monotonic()

        async def send(answers: dict[str, str] = answers) -> None:
            await site.send(answers, note)

        if not await tried(plan, send, tally, ends):
            return
        tally.count(time.monotonic() - started)
    tally.forms += site.finished


async def tried(plan: Plan, act: Callable[[], Awaitable[None]], tally: Tally, ends: float) -> bool:
    """Do something; again after an error if the plan is patient. Every error is counted."""
    while True:
        try:
            await act()
        except (Refused, aiohttp.ClientError, TimeoutError, OSError) as error:
            tally.errors[f"{type(error).__name__}: {error}"[:120]] += 1
            await asyncio.sleep(RETRY)
            if not plan.patient or time.monotonic() > ends:
                return False
        else:
            return True


def summary(plan: Plan, tally: Tally, measured: float) -> Summary:
    """Put together what a run says."""
    return Summary(
        kind=plan.kind,
        annotators=plan.annotators,
        measured_for=measured,
        pages=len(tally.seconds),
        pages_per_second=len(tally.seconds) / measured,
        p50=quantile(tally.seconds, 0.50),
        p99=quantile(tally.seconds, 0.99),
        longest=max(tally.seconds, default=float("nan")),
        open_p50=quantile(tally.opened, 0.50),
        open_p99=quantile(tally.opened, 0.99),
        forms=tally.forms,
        errors=dict(tally.errors.most_common(10)),
        cpu=time.process_time(),
        per_second=[tally.timeline[second] for second in range(int(measured) + 1)],
    )


def quantile(values: list[float], share: float) -> float:
    """Return the value below which a share of the values lie; NaN where there is none."""
    ordered = sorted(values)
    return ordered[min(int(share * len(ordered)), len(ordered) - 1)] if ordered else float("nan")


def main() -> None:
    """Run and write the summary as JSON."""
    parser = argparse.ArgumentParser(prog="python -m tests.load.annotators", description=__doc__)
    parser.add_argument("--kind", choices=sorted(SITES), default="spa")
    parser.add_argument("--url", required=True)
    parser.add_argument("--annotators", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--warmup", type=float, default=5.0)
    parser.add_argument("--think", type=float, default=0.0)
    parser.add_argument("--patient", action="store_true")
    parser.add_argument("--acknowledged", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    plan = Plan(**vars(parser.parse_args()))
    gc.freeze()
    try:
        import uvloop
    except ModuleNotFoundError:
        found = asyncio.run(run(plan))
    else:
        found = uvloop.run(run(plan))
    json.dump(asdict(found), sys.stdout)


if __name__ == "__main__":
    main()
