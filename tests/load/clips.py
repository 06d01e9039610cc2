"""Fifty people who play clips of 20 MB at once: ``python -m tests.load.clips``.

Prints how much memory the survey server takes meanwhile, and how long other pages take with and without them: with all
programs on all cores, and with the server on a core of its own, so that what the player costs does not count. With
``--first``, as root, nothing else on the machine goes before them.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import select
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import aiohttp
import numpy as np

from spa.records.form import ExhibitsBlock, Form
from spa.server.app import create_app
from spa.server.http_server import listen, run
from spa.server.rate_limits import Limits, Rate
from tests.benchmarks.bench_server import Memory, free_port, running
from tests.browser.hand_made import HandMade
from tests.spa.web_forms import small_form

PEOPLE = 50
BYTES = 20_000_000  # of each clip
SECONDS = 200.0  # for which each plays
LINE = 2_500_000.0  # bytes a second: 20 Mbit/s
PLAYED = {  # bytes a second, without a limit 0, and seconds within which all begin; None: nobody plays
    "none": None,
    "lines of 20 Mbit/s, begun at once": (LINE, 0.0),
    "lines of 20 Mbit/s, begun within 5 s": (LINE, 5.0),
    "as fast as they can": (0.0, 0.0),
    "none, after these": None,
}
PIECE = 1 << 16
FIRST, SECOND = 20, 10  # priorities: of who measures, of the server and who plays
PROBES = 400  # pages asked for in each part
BETWEEN = 0.02  # seconds between two of them


class Clips(HandMade):
    """A study each of whose forms shows clips of its own."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, small_form(), seconds_per_100_words=6.0, assignments=PEOPLE)
        self._folder = folder

    def form(self, assignment_id: str) -> Form:
        """Return the small form with one of the files in the place of each text."""
        file = self._folder / f"{assignment_id}.wav"
        pages = []
        for page in self.made.pages:
            shown = (
                replace(
                    block,
                    exhibits=tuple(
                        replace(one, medium="audio", segments=(), file=file, seconds=SECONDS) for one in block.exhibits
                    ),
                )
                if isinstance(block, ExhibitsBlock)
                else block
                for block in page.blocks
            )
            pages.append(replace(page, blocks=tuple(shown)))
        return replace(self.made, assignment_id=assignment_id, pages=tuple(pages))


def serve(folder: Path, port: int) -> None:
    """Serve the study, and write the tokens of its links."""
    made = Clips(folder)
    (folder / "tokens").write_text(" ".join(made.store.tokens()))
    many = Rate(burst=10**6, a_second=10**6)
    with made.store, listen("127.0.0.1", port) as listener:
        run(create_app(made, limits=Limits(requests=many, new_visits=many, block_visits=many)), listener)


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """What was measured of one part of the run."""

    p50: float  # seconds of a page
    p99: float
    memory: float  # MiB, at most
    served: int  # bytes of clips
    seconds: float
    cpu: float  # seconds of the server
    pages: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """Which cores the server has, and which the programs that play and measure."""

    name: str
    server: set[int]
    others: set[int]
    first: bool  # whether they go before all else on the machine


def cpu_of(pid: int) -> float:
    """Return the CPU time of a process, in seconds."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Player:
    """Fetches a clip as a browser does, range after range, at no more than so many bytes a second."""

    def __init__(self, base: str, token: str, line: float, begins: float) -> None:
        host, port = base.removeprefix("http://").split(":")
        self.socket = socket.create_connection((host, int(port)))
        self.socket.setblocking(False)
        self.taken = 0
        self._request = f"GET /a/{token}/audio/e2 HTTP/1.1\r\nhost: {host}:{port}\r\nrange: bytes=%d-\r\n\r\n"
        self._line, self._begins, self._head, self._left = line, begins, b"", -1

    @property
    def begun(self) -> bool:
        """Whether it has asked for anything."""
        return self._left >= 0

    @property
    def due(self) -> float:
        """When it takes more."""
        return self._begins + (self.taken / self._line if self._line else 0.0)

    def go_on(self, memory: memoryview) -> None:
        """Take what has come, and ask for the next range at the end of one."""
        if self._left > 0:
            came = self.socket.recv_into(memory[: min(self._left, PIECE)])
            assert came, "the server closed"
            self._left -= came
            self.taken += came
        elif self._left == 0:
            self._head += self.socket.recv(1 << 12)
            head, ended, body = self._head.partition(b"\r\n\r\n")
            if not ended:
                return
            assert head.startswith(b"HTTP/1.1 206"), head
            self._left = int(head.lower().partition(b"content-length:")[2].split()[0]) - len(body)
            self._head, self.taken = b"", self.taken + len(body)
        if self._left <= 0 and self.taken < BYTES:
            self.socket.send((self._request % self.taken).encode())
            self._left = 0


def play(base: str, tokens: list[str], line: float, spread: float) -> None:
    """Play the clips of all people, who begin within ``spread`` seconds, at little cost for the machine."""
    rng, now = np.random.default_rng(2), time.monotonic()
    memory = memoryview(bytearray(PIECE))
    players = [Player(base, token, line, now + spread * rng.random()) for token in tokens]
    while players:
        now = time.monotonic()
        due = {one.socket.fileno(): one for one in players if one.due <= now}
        if not due:
            time.sleep(min(one.due for one in players) - now + 0.001)
            continue
        poll = select.poll()
        for number, one in due.items():
            poll.register(number, select.POLLIN if one.begun else select.POLLOUT)
        for number, _ in poll.poll(5.0):
            due[number].go_on(memory)
        players = [one for one in players if one.taken < BYTES]


async def probe(base: str, tokens: list[str], until: subprocess.Popen[bytes] | None) -> list[float]:
    """Ask for the first pages of people, one after the other, and return the seconds that each took."""
    taken: list[float] = []
    async with aiohttp.ClientSession() as session:
        while len(taken) < PROBES or until is not None:
            if until is not None and until.poll() is not None:
                break
            began = time.monotonic()
            async with session.get(f"{base}/a/{tokens[len(taken) % len(tokens)]}/p/p1") as answer:
                await answer.read()
                assert answer.status == 200, answer.status
            taken.append(time.monotonic() - began)
            await asyncio.sleep(BETWEEN)
    return taken


async def enter(base: str, tokens: list[str]) -> None:
    """Give all people their places."""
    async with aiohttp.ClientSession() as session:
        for token in tokens:
            async with session.post(f"{base}/a/{token}", allow_redirects=False) as answer:
                assert answer.status == 303, answer.status


def place(pid: int, cores: set[int], priority: int) -> None:
    """Run a process on some cores, before all else on the machine where there is a priority."""
    for thread in Path(f"/proc/{pid}/task").iterdir():
        os.sched_setaffinity(int(thread.name), cores)
        if priority:
            os.sched_setscheduler(int(thread.name), os.SCHED_RR, os.sched_param(priority))


def measured(base: str, tokens: list[str], pid: int, played: tuple[float, float] | None, on: Placed) -> Part:
    """Measure other pages and memory, while clips are played unless nobody plays."""
    player = None
    began, before = time.monotonic(), cpu_of(pid)
    if played is not None:
        command = [sys.executable, "-m", "tests.load.clips", "--play", base, *map(str, played), *tokens]
        player = subprocess.Popen(command)
        place(player.pid, on.others, on.first and SECOND)
    with Memory(pid) as memory:
        seconds = asyncio.run(probe(base, tokens, player))
        time.sleep(1.1)
    passed = time.monotonic() - began
    assert player is None or player.wait() == 0
    p50, p99 = np.quantile(seconds, (0.5, 0.99))
    return Part(
        p50=float(p50),
        p99=float(p99),
        memory=max(memory.samples),
        served=0 if played is None else BYTES * len(tokens),
        seconds=passed,
        cpu=cpu_of(pid) - before,
        pages=len(seconds),
    )


def rows(on: Placed, folder: Path) -> Iterator[str]:
    """Yield the rows of one way to share the machine."""
    port = free_port()
    command = [sys.executable, "-m", "tests.load.clips", "--serve", str(folder), str(port)]
    with running(command, port, folder=Path.cwd(), log=folder / "log") as server:
        place(server.pid, on.server, on.first and SECOND)
        place(os.getpid(), on.others, on.first and FIRST)
        base, tokens = f"http://127.0.0.1:{port}", (folder / "tokens").read_text().split()
        asyncio.run(enter(base, tokens))
        idle = measured(base, tokens, server.pid, None, on)  # warms it, too
        for what, played in PLAYED.items():
            one = measured(base, tokens, server.pid, played, on)
            speed = cost = "-"
            if one.served:
                speed = f"{one.served / one.seconds / 1e6:.0f}"
                cost = f"{1e9 * (one.cpu - one.pages * idle.cpu / idle.pages) / one.served:.1f}"
            times = f"{1e3 * one.p50:.1f} | {1e3 * one.p99:.1f}"
            yield f"| {on.name} | {what} | {times} | {one.memory:.0f} | {speed} | {cost} |"
    (folder / "answers.sqlite").unlink()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", action="store_true")
    parser.add_argument("--serve", nargs=2)
    parser.add_argument("--play", nargs="+")
    given = parser.parse_args()
    if given.serve:
        serve(Path(given.serve[0]), int(given.serve[1]))
        return
    if given.play:
        base, line, spread, *tokens = given.play
        play(base, tokens, float(line), float(spread))
        return
    alone, *others = cores = sorted(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        noise = np.random.default_rng(1).bytes(BYTES)
        for number in range(1, PEOPLE + 1):
            (folder / f"a{number:05}.wav").write_bytes(noise)
        sys.stdout.write(f"load average {os.getloadavg()[0]:.1f}\n\n")
        sys.stdout.write(
            "| programs | clips | p50 of other pages, ms | p99, ms | memory, MiB | MB a second | CPU, ms a MB |\n"
        )
        sys.stdout.write("|---|---|---|---|---|---|---|\n")
        for on in (
            Placed(name="together", server=set(cores), others=set(cores), first=given.first),
            Placed(name="server alone", server={alone}, others=set(others), first=given.first),
        ):
            for row in rows(on, folder):
                sys.stdout.write(f"{row}\n")
                sys.stdout.flush()


if __name__ == "__main__":
    main()
