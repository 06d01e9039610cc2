"""Letting somebody into a live study after 10 to 2,857 visits, beside a bare insert and commit of SQLite.

Nothing is decided at any size, so that each admission looks at all pairs. Studies differ in what decides and in the
rules by which people leave; pairs that are dealt are dealt anew by the answers, at each admission that knows more of
them, and where forms stand in HITs all but the people measured answer there. Of an audit a rater has answered all
forms, and waves are of 100.
Targets: 10 ms of CPU at each size; 30 inserts at 400 visits, 100 at 2,857.
``python -m tests.benchmarks.bench_admission`` writes admission.md.
"""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from time import process_time

import numpy as np
from click.testing import CliRunner
from sqlalchemy import text as text_of_sql

from spa.cli import main
from spa.commands.workspace import Workspace, open_workspace
from spa.elicitation.choices import ChoiceTarget
from spa.elicitation.ranking import RankingTarget
from spa.elicitation.ratings import RatingTarget
from spa.elicitation.spa import PreferenceTarget
from spa.live import LiveProgress
from spa.records.form import Form
from spa.records.submission import RaterCondition
from spa.responses.begun_order import BEGUN_UNTIL
from spa.responses.leases import Lease
from spa.responses.outcomes import COMPLETED
from tests.analysis.live_history import RULES, HitWork, send_reading
from tests.benchmarks.measure import Figure
from tests.spa.small_study import BEGINNING, STUDY, answer_form, write_study
from tests.spa.store_steps import lease_for_rater

CONDUCT = "[1,240,0,0,83,0,12,1,0,1,0,0]"  # of a page
VISITS = (10, 200, 400, 2_857)
TIMES = 5  # of which the median is taken
HITS = "live admission, forms in HITs"
START, APART = 1_000_000.0, 30.0  # seconds since 1970, and between two people
PLACES = VISITS[-1] + 1_000
PLAIN = STUDY.replace("annotators = 6", f"annotators = {PLACES}")
ALONE = f"{BEGINNING}\npeople = {{annotators = {PLACES}, seconds_per_100_words = 0}}\n"
READ_MEASURED = PLAIN.replace("seconds_per_100_words = 0", "seconds_per_100_words = 0.01")
SAME, SEEN = "max_same_answers = 0.99\n", "min_outputs_seen = 0.01\n"
WORDS, SPEED = "max_words_per_minute = 100000\n", "max_reading_speed = 50\n"
UNDECIDED = """
[stopping]
rule = "when_decided"
effect = 0.45
error_rate = 1e-12
"""
STUDIES = {
    "live admission": PLAIN + UNDECIDED,
    "live admission, several criteria": f'{PLAIN}{UNDECIDED}criteria = ["overall", "meaning"]\n',
    "live admission, best of all": f"{ALONE}[choices]\nper_annotator = 6\n"
    f"{UNDECIDED.replace('effect = 0.45', 'top = 1')}tolerance = 1e-5\n",
    "live admission, rankings": f"{ALONE}[ranking]\n{UNDECIDED}",
    "live admission, same answers": f"{PLAIN}{UNDECIDED}[analysis]\n{SAME}",
    "live admission, careless rules": f"{PLAIN}{UNDECIDED}[analysis]\n{SAME}{SEEN}{WORDS}",
    "live admission, max_reading_speed": f"{PLAIN}{UNDECIDED}[analysis]\n{SPEED}",
    "live admission, every rule, conduct": f"{READ_MEASURED}{UNDECIDED}[analysis]\n{SAME}{SEEN}{WORDS}{SPEED}",
    "live admission, as completed": f'{PLAIN}{UNDECIDED}counted = "completed"\n',
    HITS: PLAIN + UNDECIDED,
}
AUDIT = "live admission, audit"
STUDIES[AUDIT] = f"""{PLAIN}
[[raters]]
id = "judge"
model = "judge"

[audit]
rater = "judge"
draw = "unsure"
rule = "when_decided"
effect = 0.45
wave = 100
forms = {PLACES + 1_000}

[analysis]
fwer = 1e-12
"""
PAGE = Path(__file__).with_name("admission.md")
HEAD = """# Letting somebody into a live study

Written by `python -m tests.benchmarks.bench_admission`: milliseconds of CPU of one admission after so many visits (the
median of {times}), and of a server's start, by what visits add that is kept beside their answers (of all but the last
few), and where nothing is kept, as in stores of earlier releases. A bare insert and commit of SQLite took {bare:.2f} ms
meanwhile.

| study | {sizes} | start | nothing kept |
|---|{rules}---|---|
"""


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
            if name == AUDIT:
                _rate(workspace, rng)
            for visits in VISITS:
                while people < visits:
                    people += 1
                    if name == HITS:
                        _answer_hit(workspace, people, rng)
                    else:
                        if people > workspace.store.assignments.for_people:
                            live.refresh()  # draws a wave
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
                    if name == HITS:
                        people += 1
                        _answer_hit(workspace, people, rng)
                assert not live.enough
                note = f"median of {TIMES}; {median(took) / median(bare):.0f} x a bare insert and commit"
                yield Figure(name=f"{name}, {visits:,} visits", value=median(took), unit="ms CPU", note=note)
            for kept in ("", ", nothing kept"):
                if kept:
                    with workspace.store.transaction() as connection:
                        connection.execute(text_of_sql("DELETE FROM visit_units"))
                began = process_time()
                state = _followed(workspace).refresh()
                took = [1000 * (process_time() - began)]
                assert state is not None
                assert state.units > 0.75 * VISITS[-1]  # some see less of an output than counts as seen
                start = f"{name}: the first, {people:,} visits{kept}"
                yield Figure(name=start, value=took[0], unit="ms CPU", note="of a start")


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


def _rate(workspace: Workspace, rng: np.random.Generator) -> None:
    """Have the rater of an audit answer all forms."""
    asked = RaterCondition(variant=None, repeat=1, readout="verbalised", form="identical", fingerprint="judge")
    for name in workspace.store.assignments.ids():
        lease, form = lease_for_rater(workspace.store, "judge", name, asked), workspace.form(name)
        raw = _raw(form, rng)
        workspace.store.visits.finish(answer_form(lease, form, **raw), COMPLETED, "code", now=START)


def _answer_hit(workspace: Workspace, number: int, rng: np.random.Generator) -> None:
    """Answer a form in a HIT, and collect it when all who began before are known."""
    began = START + APART * number
    name = workspace.store.assignments.ids()[-number]
    worked = HitWork(person=f"worker {number}", assignment_id=name, began=began, ended=began + 20)
    worked.collect(workspace, _raw(workspace.form(worked.assignment_id), rng))
    workspace.store.set_meta(BEGUN_UNTIL, repr(began + APART / 2))


def _answer(workspace: Workspace, lease: Lease, number: int, rng: np.random.Generator) -> None:
    """Answer without preferring anything."""
    form, plan = workspace.form(lease.assignment_id), workspace.study.analysis
    now = START + APART * number + 20
    if plan.min_outputs_seen is not None or plan.max_reading_speed is not None:
        send_reading(workspace, lease, rng, now=now, conduct=CONDUCT if workspace.study.people.conduct else None)
    raw = _raw(form, rng)
    workspace.store.visits.finish(answer_form(lease, form, **raw), COMPLETED, "code", now=now, rules=RULES)


def _raw(form: Form, rng: np.random.Generator) -> dict[str, str]:
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
    return raw


def table(found: Sequence[Figure]) -> str:
    """Return what stands in the page: one row a study."""
    bare, *rest = found
    each = len(VISITS) + 2
    rows = []
    for first in range(0, len(rest), each):
        own = rest[first : first + each]
        name = own[0].name.removeprefix("live admission").rpartition(", ")[0].removeprefix(", ") or "plain"
        cells = [name, *(f"{one.value:.1f}" for one in own[:-2]), *(f"{one.value:,.0f}" for one in own[-2:])]
        rows.append(f"| {' | '.join(cells)} |\n")
    sizes = " | ".join(f"{visits:,}" for visits in VISITS)
    return HEAD.format(times=TIMES, bare=bare.value, sizes=sizes, rules="---|" * len(VISITS)) + "".join(rows)


def write_page() -> None:
    """Measure, and write the page."""
    PAGE.write_text(table([*figures()]), encoding="utf-8")


if __name__ == "__main__":
    write_page()
