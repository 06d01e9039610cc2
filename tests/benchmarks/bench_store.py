"""How fast a draw is stored and how fast completed submissions become tidy tables."""

from __future__ import annotations

import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter

from spa.responses.capacity import give_place
from spa.responses.export import export_tables
from spa.responses.leases import Lease
from spa.responses.store import Store
from tests.benchmarks.measure import Figure
from tests.spa.responses.test_export import PREFERENCE, RATING, answered, build_by_hand, save_all
from tests.spa.responses.test_store import draws


def assignments_stored_per_second(count: int = 10_000) -> Figure:
    """Store a draw of two labels in one transaction."""
    drawn = list(draws(count))
    with tempfile.TemporaryDirectory() as folder, Store.create(Path(folder) / "study.sqlite") as store:
        started = perf_counter()
        store.assignments.save("fingerprint", drawn)
        seconds = perf_counter() - started
    return Figure(name="assignments stored", value=count / seconds, unit="1/s", note=f"{count:,} in one transaction")


def milliseconds_of_an_admission(count: int = 50_000, taken: int = 40_000, times: int = 30) -> Figure:
    """Let newcomers in where most assignments are taken."""
    with tempfile.TemporaryDirectory() as folder, Store.create(Path(folder) / "study.sqlite") as store:
        store.assignments.save("fingerprint", draws(count))
        with store.transaction() as connection:
            for name in store.assignments.ids()[:taken]:
                give_place(connection, at_work_on(name))
        took = []
        for newcomer in range(times):
            started = perf_counter()
            store.visits.admit(source="panel", person=f"newcomer {newcomer}", now=1.0)
            took.append(perf_counter() - started)
    note = f"median of {times}, {taken:,} of {count:,} assignments taken"
    return Figure(name="one admission", value=1000 * median(took), unit="ms", note=note)


def at_work_on(assignment_id: str) -> Lease:
    """Return the visit of somebody who has just taken an assignment."""
    return Lease(
        submission_id=f"s of {assignment_id}",
        assignment_id=assignment_id,
        seat="person 1",
        annotator_id=f"person of {assignment_id}",
        annotator_kind="human",
        source="panel",
        leased_at=0.0,
        deadline=3600.0,
    )


def answers_exported_per_second(submissions: int = 2_000, each: int = 20) -> Figure:
    """Export completed submissions of preferences and ratings in equal parts."""
    answers = (answered(PREFERENCE, 0.2, "20"), answered(RATING, 4.0)) * (each // 2)
    with (
        tempfile.TemporaryDirectory() as folder,
        build_by_hand(Path(folder) / "study.sqlite", count=submissions) as store,
    ):
        save_all(store, [answers] * submissions)
        started = perf_counter()
        export_tables(store)
        seconds = perf_counter() - started
    return Figure(
        name="answers exported",
        value=submissions * len(answers) / seconds,
        unit="1/s",
        note=f"{submissions:,} submissions of {len(answers)} answers",
    )
