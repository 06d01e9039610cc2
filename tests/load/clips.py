"""Fifty people who play clips of 20 MB at once: ``python -m tests.load.clips``.

Prints how much memory the survey server takes meanwhile, and how long other pages take with and without them.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path

import aiohttp
import numpy as np

from spa.records.form import ExhibitsBlock, Form
from spa.server.app import create_app
from spa.server.http_server import listen, run
from spa.server.rate_limits import Limits, Rate
from tests.benchmarks.bench_server import Memory, free_port, running
from tests.browser.test_form_in_browser import HandMade
from tests.spa.web_forms import small_form

PEOPLE = 50
BYTES = 20_000_000  # of each clip
SECONDS = 200.0  # for which each plays
LINES = {"as fast as they can": 0.0, "over lines of 20 Mbit/s": 2_500_000.0}  # bytes a second; 0: no limit
PIECE = 1 << 16
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


def cpu_of(pid: int) -> float:
    """Return the CPU time of a process, in seconds."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def play(session: aiohttp.ClientSession, address: str, line: float) -> int:
    """Fetch a clip as a browser does, range after range, at no more than so many bytes a second."""
    taken, began = 0, time.monotonic()
    while taken < BYTES:
        async with session.get(address, headers={"range": f"bytes={taken}-"}) as answer:
            assert answer.status == 206, answer.status
            async for piece in answer.content.iter_chunked(PIECE):
                taken += len(piece)
                if line:
                    await asyncio.sleep(max(began + taken / line - time.monotonic(), 0.0))
    return taken


async def playing(base: str, tokens: list[str], line: float) -> None:
    """Play the clips of all people at once."""
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
        await asyncio.gather(*(play(session, f"{base}/a/{token}/audio/e2", line) for token in tokens))


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


def measured(base: str, tokens: list[str], pid: int, line: float | None) -> Part:
    """Measure other pages and memory, while clips are played unless there is no line."""
    player = None
    began, before = time.monotonic(), cpu_of(pid)
    if line is not None:
        player = subprocess.Popen([sys.executable, "-m", "tests.load.clips", "--play", base, str(line), *tokens])
    with Memory(pid) as memory:
        seconds = asyncio.run(probe(base, tokens, player))
        time.sleep(1.1)
    passed = time.monotonic() - began
    assert player is None or player.wait() == 0
    p50, p99 = np.quantile(seconds, (0.5, 0.99))
    served = 0 if line is None else BYTES * len(tokens)
    return Part(
        p50=float(p50),
        p99=float(p99),
        memory=max(memory.samples),
        served=served,
        seconds=passed,
        cpu=cpu_of(pid) - before,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--serve", nargs=2)
    parser.add_argument("--play", nargs="+")
    given = parser.parse_args()
    if given.serve:
        serve(Path(given.serve[0]), int(given.serve[1]))
        return
    if given.play:
        base, line, *tokens = given.play
        asyncio.run(playing(base, tokens, float(line)))
        return
    with tempfile.TemporaryDirectory() as name:
        folder, port = Path(name), free_port()
        noise = np.random.default_rng(1).bytes(BYTES)
        for number in range(1, PEOPLE + 1):
            (folder / f"a{number:05}.wav").write_bytes(noise)
        command = [sys.executable, "-m", "tests.load.clips", "--serve", str(folder), str(port)]
        with running(command, port, folder=Path.cwd(), log=folder / "log") as server:
            base, tokens = f"http://127.0.0.1:{port}", (folder / "tokens").read_text().split()
            asyncio.run(enter(base, tokens))
            measured(base, tokens, server.pid, None)  # warm
            sys.stdout.write(f"load average {os.getloadavg()[0]:.1f}\n\n")
            sys.stdout.write(
                "| clips | p50 of other pages, ms | p99, ms | memory, MiB | MB a second | CPU, ms a MB |\n"
            )
            sys.stdout.write("|---|---|---|---|---|---|\n")
            for what, line in [("none", None), *LINES.items(), ("none", None)]:
                one = measured(base, tokens, server.pid, line)
                speed = f"{one.served / one.seconds / 1e6:.0f}" if one.served else "-"
                cost = f"{1e9 * one.cpu / one.served:.1f}" if one.served else "-"
                sys.stdout.write(
                    f"| {what} | {1e3 * one.p50:.1f} | {1e3 * one.p99:.1f} | {one.memory:.1f} | {speed} | {cost} |\n"
                )
                sys.stdout.flush()


if __name__ == "__main__":
    main()
