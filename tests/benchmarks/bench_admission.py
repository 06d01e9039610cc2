"""Letting somebody into a live study after 10 to 2,857 visits, beside a bare insert and commit of SQLite.

Targets: 10 ms of CPU at each size; 30 inserts at 400 visits, 100 at 2,857.
"""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from time import process_time

import numpy as np
from click.testing import CliRunner

from spa.cli import main
from spa.commands.workspace import Workspace, open_workspace
from spa.live import LiveProgress
from spa.responses.leases import Lease
from tests.analysis.live_history import RULES, hand_in
from tests.benchmarks.measure import Figure
from tests.spa.small_study import STUDY, write_study

VISITS = (10, 200, 400, 2_857)
TIMES = 5  # of which the median is taken
START, APART = 1_000_000.0, 30.0  # seconds since 1970, and between two people
PLACES = VISITS[-1] + 100
UNDECIDED = f"""{STUDY.replace("annotators = 6", f"annotators = {PLACES}")}
[analysis]
consistency_tau = "2.0"

[stopping]
rule = "when_decided"
effect = 0.02
error_rate = 1e-12
"""


def figures() -> Iterator[Figure]:
    """Yield the CPU of one admission after as many visits as :data:`VISITS` say, and of a server's start after all."""
    rng, bare = np.random.default_rng(1), milliseconds_of_an_insert()
    yield Figure(name="bare insert and commit, SQLite", value=bare, unit="ms CPU", note=f"median of {TIMES}")
    with tempfile.TemporaryDirectory() as folder:
        path = write_study(Path(folder), UNDECIDED)
        assert CliRunner().invoke(main, ["build", str(path)]).exit_code == 0
        with open_workspace(path) as workspace:
            people, live = 0, _followed(workspace)
            for visits in VISITS:
                while people < visits:
                    people += 1
                    _answer(workspace, _admit(workspace, people), people, rng)
                live.refresh()  # the first time, it reads all there is
                took = []
                for _ in range(TIMES):
                    people += 1
                    began = process_time()
                    live.refresh()
                    lease = _admit(workspace, people)
                    took.append(1000 * (process_time() - began))
                    _answer(workspace, lease, people, rng)
                note = f"median of {TIMES}; {median(took) / bare:.0f} x a bare insert and commit"
                yield Figure(name=f"live admission, {visits:,} visits", value=median(took), unit="ms CPU", note=note)
            began = process_time()
            state = _followed(workspace).refresh()
            took = [1000 * (process_time() - began)]
            assert state is not None
            assert state.units > 0.9 * VISITS[-1]
            yield Figure(name=f"the first, {people:,} visits", value=took[0], unit="ms CPU", note="after a start")


def milliseconds_of_an_insert(rows: int = 200) -> float:
    """Return the CPU of one row inserted and committed as the store does it: in the log, synchronised."""
    took = []
    with tempfile.TemporaryDirectory() as folder:
        connection = sqlite3.connect(Path(folder) / "bare.sqlite", isolation_level=None)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("CREATE TABLE visits (number INTEGER PRIMARY KEY, name TEXT, at REAL)")
        for repeat in range(TIMES):
            began = process_time()
            for row in range(rows):
                connection.execute("BEGIN IMMEDIATE")
                connection.execute("INSERT INTO visits (name, at) VALUES (?, ?)", (f"{repeat}/{row}", 1.0))
                connection.execute("COMMIT")
            took.append(1000 * (process_time() - began) / rows)
        connection.close()
    return median(took)


def _followed(workspace: Workspace) -> LiveProgress:
    return LiveProgress(workspace.study, workspace.store, "human", clock=lambda: START + APART * PLACES)


def _admit(workspace: Workspace, number: int) -> Lease:
    name, now = f"person {number}", START + APART * number
    return workspace.store.visits.admit(
        source="link", person=name, external_id=name, minutes_allowed=60.0, rules=RULES, now=now
    )


def _answer(workspace: Workspace, lease: Lease, number: int, rng: np.random.Generator) -> None:
    hand_in(workspace, lease, rng, now=START + APART * number + 20)
