"""How fast an endpoint takes and gives HITs over HTTP with boto3, how much memory it needs, and that cost is linear.

``python -m tests.benchmarks.bench_hits`` creates 10,000 HITs, lets nine workers do each, collects 90,000 assignments,
approves some, and prints a line for every quarter of the way; a cost that grows shows as a rate that falls.
"""

from __future__ import annotations

import argparse
import os
import resource
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2

from tests.benchmarks.measure import Figure
from tests.mturk.emulated import HIT
from tests.mturk.serving import Server, serving

HITS = 10_000
SHORT = 500  # HITs beside the other benchmarks, in one piece
EACH = 9  # assignments of a HIT
CLIENTS = 4  # boto3 clients side by side
PARTS = 4
ANSWER = {f"q{number}": "70" for number in range(1, 25)}  # fields of a form as a study has them


class Load:
    """One running endpoint and the boto3 clients that load it."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.clients = [server.client() for _ in range(CLIENTS)]
        self.control = httpx2.Client(base_url=f"{server.url}/emulator/", timeout=600)
        self.workers = self.post("workers", count=EACH)["worker_ids"]
        self.post("fund", name="emulator", amount="900000")
        self.hits: list[str] = []
        self.collected = 0
        self.answer_bytes = 0

    def post(self, route: str, **given: Any) -> dict[str, Any]:
        """Post to a control route."""
        answer = self.control.post(route, json=given)
        answer.raise_for_status()
        return dict(answer.json())

    def side_by_side(self, work: Callable[[Any, Any], Any], items: list[Any]) -> list[Any]:
        """Share items among the clients."""

        def share(number: int) -> list[Any]:
            return [work(self.clients[number], item) for item in items[number::CLIENTS]]

        with ThreadPoolExecutor(CLIENTS) as pool:
            return [result for results in pool.map(share, range(CLIENTS)) for result in results]

    def create(self, first: int, last: int) -> None:
        """Create HITs, each with a token."""

        def one(client: Any, number: int) -> str:
            given = {**HIT, "MaxAssignments": EACH, "LifetimeInSeconds": 31_536_000, "UniqueRequestToken": f"t{number}"}
            return str(client.create_hit(**given)["HIT"]["HITId"])

        self.hits += self.side_by_side(one, [*range(first, last)])

    def answer(self, hits: list[str]) -> None:
        """Let all workers do these HITs, a hundred in one transaction."""
        for begin in range(0, len(hits), 100):
            self.post("work", hit_ids=hits[begin : begin + 100], worker_ids=self.workers, fields=ANSWER)

    def collect(self, hits: list[str]) -> None:
        """Fetch all assignments of HITs as a collector does."""

        def one(client: Any, hit_id: str) -> tuple[int, int]:
            works = client.list_assignments_for_hit(HITId=hit_id, MaxResults=100)["Assignments"]
            return len(works), sum(len(work["Answer"]) for work in works)

        for count, size in self.side_by_side(one, hits):
            self.collected += count
            self.answer_bytes += size

    def close(self) -> None:
        """Close what was opened."""
        self.control.close()
        for client in self.clients:
            client.close()


def short_figures() -> Iterator[Figure]:
    """Yield the rates of few HITs, for a process that measures other things too; without Linux's /proc none."""
    if Path("/proc/self/stat").exists():
        yield from figures(SHORT, parts=1, alone=False)


def figures(count: int = HITS, *, parts: int = PARTS, alone: bool = True) -> Iterator[Figure]:
    """Yield rates of creating, answering, collecting and listing, by parts of the way, and the memory of both sides.

    ``alone`` says that this process does nothing else, so that its memory is that of collecting.
    """
    part = count // parts
    with tempfile.TemporaryDirectory() as folder, serving(Path(folder) / "lab.sqlite") as server:
        load = Load(server)
        for number in range(parts):
            begin, end = number * part, (number + 1) * part
            place = f"{begin:,} to {end:,}"
            yield _timed(f"HITs created, {place}", part, server, lambda b=begin, e=end: load.create(b, e))  # type: ignore[misc]
            mine = load.hits[begin:end]
            yield _timed(f"assignments done, {place}", part * EACH, server, lambda m=mine: load.answer(m))  # type: ignore[misc]
            yield _timed(f"assignments collected, {place}", part * EACH, server, lambda m=mine: load.collect(m))  # type: ignore[misc]
        yield _timed("HITs listed, 100 a page", count, server, lambda: _list_all(load, count))
        assert load.collected == count * EACH
        load.close()
        if alone:
            own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            size = (Path(folder) / "lab.sqlite").stat().st_size / 2**20
            note = f"{load.answer_bytes / 2**20:,.0f} MiB of answers in a store of {size:,.0f} MiB"
            yield Figure(name="peak memory of the collecting side", value=own, unit="MiB", note=note)


def _list_all(load: Load, count: int) -> None:
    pages = load.clients[0].get_paginator("list_hits").paginate(PaginationConfig={"PageSize": 100})
    assert sum(len(page["HITs"]) for page in pages) == count


def _timed(name: str, count: int, server: Server, work: Callable[[], Any]) -> Figure:
    wall, busy = time.perf_counter(), _cpu(server)
    work()
    wall, busy = time.perf_counter() - wall, _cpu(server) - busy
    note = f"{1000 * busy / count:.2f} ms of the server's processor each"
    return Figure(name=name, value=count / wall, unit="1/s", peak_mib=_memory(server), note=note)


def _memory(server: Server) -> float:
    """Return the largest memory that the server held until now, MiB."""
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    return next(int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmHWM"))


def _cpu(server: Server) -> float:
    """Return the seconds of processor time that the server has used."""
    ticks = Path(f"/proc/{server.process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(ticks[11]) + int(ticks[12])) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Print one line a figure."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.bench_hits")
    parser.add_argument("--hits", type=int, default=HITS)
    for figure in figures(parser.parse_args().hits):
        memory = "" if figure.peak_mib is None else f"{figure.peak_mib:6.0f} MiB  "
        print(f"{figure.name:45} {figure.value:9,.1f} {figure.unit:5} {memory}{figure.note}", flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
