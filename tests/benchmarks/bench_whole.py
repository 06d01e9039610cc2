"""What a report of answers that fit into memory costs, as whole processes beside a peer in the same run.

A table of ratings beside polars, which reads and averages the same file; the same of a tenth beside the report of the
demo; the store of a study with 100,000 answers. Each is the median of five, taken in turns.
"""

from __future__ import annotations

import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import polars as pl

from tests.benchmarks.bench_report import COMMAND, measure
from tests.benchmarks.measure import Figure

TIMES = 5
LONG, SHORT, STORED = 998_000, 98_000, 100_000
ANNOTATORS, SYSTEMS, RATERS = 1_000, 4, 3  # three people rate each item's four outputs
STEP = 10_000  # between the numbers of submissions that are copies
EACH = 20  # answers that a stored submission keeps
AVERAGE = (
    "import polars as pl, sys; table = pl.scan_csv(sys.argv[1]); "
    "[table.group_by('system', by).agg(pl.col('score').mean()).collect(engine='streaming')"
    " for by in ('annotator_id', 'item_id')]"
)


def figures() -> Iterator[Figure]:
    """Measure the report of a long table, of a shorter one, and of a study's store."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        table, average = ratings(folder, LONG), [sys.executable, "-c", AVERAGE]
        (used, peak), (of_peer, peer_peak) = _in_turns(_report(folder, "--ratings", table), [*average, str(table)])
        yield Figure(
            name=f"spa report on {LONG:,} ratings (CSV)",
            value=used,
            unit="s CPU",
            peak_mib=peak,
            note=f"{used / of_peer:.1f} times polars that averages them ({of_peer:.2f} s), "
            f"{peak / peer_peak:.1f} times its memory ({peer_peak:.0f} MiB)",
        )
        study = demo(folder)
        (used, peak), (of_demo, _) = _in_turns(
            _report(folder, "--ratings", ratings(folder, SHORT)), _report(folder, study / "study.toml")
        )
        yield Figure(
            name=f"spa report on {SHORT:,} ratings (CSV)",
            value=used,
            unit="s CPU",
            peak_mib=peak,
            note=f"{used / of_demo:.2f} times the report of the demo ({of_demo:.2f} s)",
        )
        answers = multiply(study / "study.sqlite", STORED)
        ((used, peak),) = _in_turns(_report(folder, study / "study.toml"))
        yield Figure(name=f"spa report on {answers:,} stored answers", value=used, unit="s CPU", peak_mib=peak)


def _report(folder: Path, *arguments: str | Path) -> list[str]:
    return [*COMMAND, "--out", str(folder / "report"), *map(str, arguments)]


def _in_turns(*commands: Sequence[str]) -> list[tuple[float, float]]:
    """Run each command in turn, five times, and return the medians of its CPU seconds and its peak in MiB."""
    taken: list[list[tuple[float, float]]] = [[] for _ in commands]
    for _ in range(TIMES):
        for command, own in zip(commands, taken, strict=True):
            own.append(measure(command))
    return [(median(used for used, _ in own), median(peak for _, peak in own)) for own in taken]


def ratings(folder: Path, rows: int) -> Path:
    """Write ratings of four systems' outputs for each item by three of 1,000 annotators."""
    rng = np.random.default_rng(2)
    items = rows // (SYSTEMS * RATERS)
    item = np.repeat(np.arange(items), SYSTEMS * RATERS)
    system = np.tile(np.repeat(np.arange(SYSTEMS), RATERS), items)
    first = np.repeat(rng.integers(0, ANNOTATORS, items), SYSTEMS * RATERS)
    annotator = (first + np.tile(np.arange(RATERS), SYSTEMS * items)) % ANNOTATORS
    score = np.clip(np.round(3 + 0.3 * system + rng.normal(size=len(system))), 1, 5).astype(np.int8)
    columns = {"annotator_id": annotator, "item_id": item, "system": system}
    frame = pl.DataFrame(columns).select(pl.format(f"{name[0]}{{}}", name).alias(name) for name in columns)
    path = folder / f"ratings-{rows}.csv"
    frame.with_columns(score=score).write_csv(path)
    return path


def demo(folder: Path) -> Path:
    """Play the demo and return its study, whose rehearsed answers stand in its store."""
    command = [*COMMAND[:-1], "demo", "--out", str(folder / "demo")]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    study = folder / "demo" / "study"
    with sqlite3.connect(study / "study.rehearsal.sqlite") as rehearsal:
        rehearsal.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    rehearsal.close()
    for path in study.glob("study.sqlite*"):
        path.unlink()
    shutil.move(study / "study.rehearsal.sqlite", study / "study.sqlite")
    with sqlite3.connect(study / "study.sqlite") as store:
        store.execute("DELETE FROM meta WHERE name = 'rehearsal'")
    store.close()
    return study


def multiply(path: Path, wanted: int) -> int:
    """Fill a store: its submissions, of 20 answers each, again and again by other people about items of their own.

    Return how many answers there are.
    """
    store = sqlite3.connect(path)

    def rows(table: str) -> list[tuple[Any, ...]]:
        return store.execute(f"SELECT * FROM {table}").fetchall()

    def add(table: str, more: list[tuple[Any, ...]]) -> None:
        store.executemany(f"INSERT INTO {table} VALUES ({','.join('?' * len(more[0]))})", more)

    store.execute("DELETE FROM payloads")
    store.execute("DELETE FROM answers WHERE place > 2 AND (place * 7919 + submission) % 76 >= ?", (EACH - 3,))
    tables = ("assignments", "blinding", "places", "submissions", "answers")
    drawn, hidden, places, visits, answers = map(rows, tables)
    columns = [row[1] for row in store.execute("PRAGMA table_info(submissions)")]
    for turn in range(1, wanted // len(answers)):
        names = {name: f"a{number + turn * len(drawn) + 1:05d}" for name, number, _ in drawn}
        numbers = {number: number + turn * len(drawn) for _, number, _ in drawn}
        add("blinding", [(names[a], record.replace(a, names[a])) for a, record in hidden])
        add("places", [(names[a], numbers[number], people) for a, number, people in places])
        records = []
        for name, number, record in drawn:
            renamed = _own_items(record, turn).replace(f'"{name}"', f'"{names[name]}"')
            renamed = renamed.replace(f'"number":{number},', f'"number":{numbers[number]},')
            records.append((names[name], numbers[number], renamed))
        add("assignments", records)
        others = []
        for visit in visits:
            row = dict(zip(columns, visit, strict=True))
            row["number"] += turn * STEP
            row["assignment_id"] = names[row["assignment_id"]]
            row["submission_id"] += f"-{turn}"
            if row["annotator_kind"] != "llm":
                row["annotator_id"] += f"-{turn}"
                row["external_id"] = row["external_id"] and f"{row['external_id']}-{turn}"
            others.append(tuple(row.values()))
        add("submissions", others)
        add("answers", [(n + turn * STEP, p, q, _own_items(target, turn), *rest) for n, p, q, target, *rest in answers])
    store.commit()
    (count,) = store.execute("SELECT count(*) FROM answers").fetchone()
    store.close()
    return int(count)


def _own_items(text: str, turn: int) -> str:
    return re.sub(r'"(s\d\d)"', rf'"\1-{turn}"', text)
