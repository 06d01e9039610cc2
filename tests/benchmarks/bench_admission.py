"""Letting somebody into a live study after 10 to 2,857 visits, beside a bare insert and commit of SQLite.

Nothing is decided at any size, so that each admission looks at all pairs; in the second study the pairs to ask about
next are dealt anew by the answers, at each admission that knows more of them. The others leave out by rules of careless
answering, decide by orders, or count people as they complete.
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
from spa.elicitation.choices import ChoiceTarget
from spa.elicitation.ranking import RankingTarget
from spa.elicitation.ratings import RatingTarget
from spa.elicitation.spa import PreferenceTarget
from spa.live import LiveProgress
from spa.responses.leases import Lease
from spa.responses.outcomes import COMPLETED
from tests.analysis.live_history import RULES, send_reading
from tests.benchmarks.measure import Figure
from tests.spa.small_study import BEGINNING, STUDY, answer_form, write_study

VISITS = (10, 200, 400, 2_857)
TIMES = 5  # of which the median is taken
START, APART = 1_000_000.0, 30.0  # seconds since 1970, and between two people
PLACES = VISITS[-1] + 1_000
PLAIN = STUDY.replace("annotators = 6", f"annotators = {PLACES}")
ALONE = f"{BEGINNING}\npeople = {{annotators = {PLACES}, seconds_per_100_words = 0}}\n"
RULES_DECLARED = "\n[analysis]\nmax_same_answers = 0.99\nmin_outputs_seen = 0.01\nmax_words_per_minute = 100000\n"
UNDECIDED = """
[stopping]
rule = "when_decided"
effect = 0.45
error_rate = 1e-12
"""
STUDIES = {
    "live admission": PLAIN + UNDECIDED,
    "live admission, best of all": f"{ALONE}[choices]\nper_annotator = 6\n"
    f"{UNDECIDED.replace('effect = 0.45', 'top = 1')}tolerance = 1e-5\n",
    "live admission, careless rules": PLAIN + UNDECIDED + RULES_DECLARED,
    "live admission, rankings": f"{ALONE}[ranking]\n{UNDECIDED}",
    "live admission, as completed": f'{PLAIN}{UNDECIDED}counted = "completed"\n',
}


def figures() -> Iterator[Figure]:
    """Yield the CPU of one admission after as many visits as :data:`VISITS` say, and of a server's start after all."""
    bare = milliseconds_of_an_insert()
    yield Figure(name="bare insert and commit, SQLite", value=bare, unit="ms CPU", note=f"median of {TIMES}")
    for name, text in STUDIES.items():
        yield from _admissions(name, text)


def _admissions(name: str, text: str) -> Iterator[Figure]:
    rng = np.random.default_rng(1)
    with tempfile.TemporaryDirectory() as folder:
        path = write_study(Path(folder), text)
        assert CliRunner().invoke(main, ["build", str(path)]).exit_code == 0
        with open_workspace(path) as workspace:
            people, live = 0, _followed(workspace)
            for visits in VISITS:
                while people < visits:
                    people += 1
                    _answer(workspace, _admit(workspace, people), people, rng)
                live.refresh()  # the first time, it reads all there is
                took, bare = [], []
                for _ in range(TIMES):
                    people += 1
                    began = process_time()
                    live.refresh()
                    lease = _admit(workspace, people)
                    took.append(1000 * (process_time() - began))
                    bare.append(milliseconds_of_an_insert(times=1))
                    _answer(workspace, lease, people, rng)
                assert not live.enough
                note = f"median of {TIMES}; {median(took) / median(bare):.0f} x a bare insert and commit"
                yield Figure(name=f"{name}, {visits:,} visits", value=median(took), unit="ms CPU", note=note)
            began = process_time()
            state = _followed(workspace).refresh()
            took = [1000 * (process_time() - began)]
            assert state is not None
            assert state.units > 0.9 * VISITS[-1]
            yield Figure(name=f"{name}: the first, {people:,} visits", value=took[0], unit="ms CPU", note="of a start")


def milliseconds_of_an_insert(rows: int = 200, times: int = TIMES) -> float:
    """Return the CPU of one row inserted and committed as the store does it: in the log, synchronised."""
    took = []
    with tempfile.TemporaryDirectory() as folder:
        connection = sqlite3.connect(Path(folder) / "bare.sqlite", isolation_level=None)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("CREATE TABLE visits (number INTEGER PRIMARY KEY, name TEXT, at REAL)")
        for repeat in range(times):
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
    """Answer without preferring anything."""
    form = workspace.form(lease.assignment_id)
    if workspace.study.analysis.min_outputs_seen is not None:
        send_reading(workspace, lease, rng, now=START + APART * number + 20)
    raw = {}
    for question in form.questions("people"):
        if isinstance(question.target, PreferenceTarget):
            raw[question.question_id] = str(int(rng.integers(40, 51)))
        elif isinstance(question.target, RatingTarget):
            raw[question.question_id] = str(int(rng.integers(1, 6)))
        elif isinstance(question.target, ChoiceTarget):
            raw[question.question_id] = str(rng.choice(["x", "y"]))
        elif isinstance(question.target, RankingTarget):
            raw[question.question_id] = " > ".join(rng.permutation(question.target.labels).tolist())
    now = START + APART * number + 20
    workspace.store.visits.finish(answer_form(lease, form, **raw), COMPLETED, "code", now=now, rules=RULES)
