"""Agreement, the crossed bootstrap and ten million rating rows: ratios to peers and peak memory.

Targets: 100 x a loop over krippendorff for alpha with 1000 replicates (1e5 units x 5, below 200 MiB; 0-100 sliders at
1e4 units below 50 MiB), 20 x pingouin for ICC2k from tidy rows (1e5 x 10), 50 x a pandas merge for the annotator x item
bootstrap (1e6 rows); `spa report` on 1e7 rows below 2 GiB, its means below 3 x DuckDB's bare group-by of the file.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import polars as pl

from analysis import Plan, Reading, bootstrap_means, gwet_ac1, icc, krippendorff_alpha, read_tables
from analysis.answers.order import order_of
from analysis.comparisons.rated_parts import rated_parts
from analysis.comparisons.ratings import summarise_ratings
from analysis.statistics.coding import Floats
from tests.benchmarks.measure import Figure

SCRIPT = Path(__file__).parent / "peers" / "agreement.py"
MIB = 2**20
LONG = (1_000, 1_000, 10)  # annotators, items, systems of the long table


def figures(peers: str | None, irr: str | None) -> Iterator[Figure]:
    """Yield our times and, where there is a Python with the peers, how many times longer each takes.

    ``irr`` is the Python of an environment with irrCAC.
    """
    yield from alphas(peers)
    yield from intraclass(peers)
    yield from crossed(peers)
    yield from one_coefficient(irr)
    yield from long_table(peers)


def steps(units: int, annotators: int) -> Floats:
    """Return answers from 1 to 5, six of ten of them the unit's own."""
    rng = np.random.default_rng(1)
    own, other = rng.integers(1, 6, units), rng.integers(1, 6, (units, annotators))
    return np.where(rng.random((units, annotators)) < 0.6, own[:, None], other).astype(np.float64)


def alphas(peers: str | None) -> Iterator[Figure]:
    """Measure alpha with its interval on five steps and on sliders."""
    table = steps(100_000, 5)
    rng = np.random.default_rng(1)
    sliders = np.clip(np.round(rng.normal(50, 20, (10_000, 1)) + rng.normal(0, 10, (10_000, 5))), 0, 100)
    for what, own, limit in (("1e5 units x 5, 5 steps", table, 200), ("1e4 units x 5, 0-100 sliders", sliders, 50)):

        def work(own: Floats = own) -> None:
            krippendorff_alpha(own, level="ordinal", replicates=1000, rng=np.random.default_rng(1))

        seconds, name = _best(work, 5), f"alpha, B = 1000, {what}"
        yield Figure(name=name, value=1000 * seconds, unit="ms", peak_mib=_peak(work), note=f"ordinal; < {limit} MiB")
        if own is table:
            yield from _ratio(name, seconds, "alpha_loop", ">= 100; 5 replicates, scaled", {"table": own}, peers)


def intraclass(peers: str | None) -> Iterator[Figure]:
    """Measure ICC2k from tidy rows."""
    rng = np.random.default_rng(1)
    n, k = 100_000, 10
    table = rng.normal(size=(n, 1)) + rng.normal(size=(n, k))
    ids = {"item_id": np.repeat(np.arange(n), k), "annotator_id": np.tile(np.arange(k), n)}
    frame = pl.DataFrame({**ids, "score": table.ravel()})
    seconds, name = _best(lambda: icc(frame, form="icc2k"), 9), "ICC2k, tidy rows, 1e5 x 10"
    yield Figure(name=name, value=1000 * seconds, unit="ms", note="whole-number ids; best of 9")
    yield from _ratio(name, seconds, "intraclass", ">= 20", {"table": table}, peers)


def one_coefficient(irr: str | None) -> Iterator[Figure]:
    """Measure AC1 with its interval."""
    table = steps(100_000, 5)
    seconds, name = _best(lambda: gwet_ac1(table), 9), "AC1 with interval, 1e5 units x 5"
    yield Figure(name=name, value=1000 * seconds, unit="ms", note="best of 9")
    yield from _ratio(name, seconds, "gwet", "irrCAC with scipy 1.12", {"table": table}, irr)


def crossed(peers: str | None) -> Iterator[Figure]:
    """Measure the bootstrap of means over annotators and items, complete and with gaps."""
    rng = np.random.default_rng(1)
    who, item, system = (part.ravel() for part in np.indices((200, 500, 10)))
    value = rng.integers(1, 6, len(who)).astype(np.float64)
    sparse = {"annotator": rng.integers(0, 1000, 10**6), "item": rng.integers(0, 2000, 10**6)}
    for what, rows in (
        ("complete", {"value": value, "system": system, "annotator": who, "item": item}),
        ("with gaps", {"value": value, "system": rng.integers(0, 10, 10**6), **sparse}),
    ):

        def work(rows: dict[str, Any] = rows) -> None:
            columns = (rows[name] for name in ("value", "system", "annotator", "item"))
            bootstrap_means(*columns, replicates=1000, rng=np.random.default_rng(1))

        seconds, name = _best(work, 2), f"annotator x item bootstrap, 1e6 rows, {what}"
        yield Figure(name=name, value=seconds, unit="s", peak_mib=_peak(work), note="B = 1000; 10 systems")
        yield from _ratio(name, seconds, "merged_bootstrap", ">= 50; 2 replicates, scaled", rows, peers)


def long_table(peers: str | None) -> Iterator[Figure]:
    """Measure the report on ten million rows of Parquet, and its means."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ratings.parquet"
        subprocess.run(
            [sys.executable, "-c", f"from {__name__} import write_long; write_long({str(path)!r})"], check=True
        )
        command = [sys.executable, "-c", "from spa.cli import run; run()", "report", "--out", f"{folder}/report"]
        start = perf_counter()
        with subprocess.Popen([*command, "--ratings", str(path)], stdout=subprocess.DEVNULL) as process:
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        seconds = perf_counter() - start
        if process.returncode:
            raise RuntimeError(f"spa report ended with {process.returncode}")
        peak = used.ru_maxrss / (MIB if sys.platform == "darwin" else 2**10)
        yield Figure(name="spa report on 1e7 ratings", value=seconds, unit="s", peak_mib=peak, note="< 2 GiB")
        start = perf_counter()
        table = read_tables({"ratings": path}, Reading()).ratings
        read = perf_counter() - start
        assert table is not None
        (part,) = rated_parts(table, order_of(table, ["human"], None))
        seconds, name = _best(lambda: summarise_ratings(part, Plan()), 5), "means of 1e7 ratings"
        note = f"from sums, intervals clustered by annotator; reading and checks before it {read:.1f} s"
        yield Figure(name=name, value=1000 * seconds, unit="ms", note=note)
        if peers is not None:
            found = _peer(peers, str(path), "group_by")
            yield Figure(
                name=f"{name} / {found['peer']} group-by",
                value=seconds / found["seconds"],
                unit="x",
                note=f"{found['version']}: {1000 * found['seconds']:.0f} ms, two threads; target < 3",
            )


def write_long(path: str) -> None:
    """Write a complete table of ratings, its ids as categories."""
    rng = np.random.default_rng(1)
    codes = [part.ravel().astype(np.uint32) for part in np.indices(LONG, dtype=np.uint32)]
    effects = [rng.normal(0, 0.5, LONG[0]), rng.normal(0, 0.5, LONG[1]), np.linspace(-0.5, 0.5, LONG[2])]
    score = rng.normal(3, 1, len(codes[0]))
    for code, effect in zip(codes, effects, strict=True):
        score += effect[code]
    ids = {
        name: pl.Series([f"{name}-{number:04d}" for number in range(many)], dtype=pl.Categorical).gather(code)
        for name, many, code in zip(("annotator_id", "item_id", "system"), LONG, codes, strict=True)
    }
    pl.DataFrame({**ids, "score": np.clip(np.round(score), 1, 5).astype(np.int8)}).write_parquet(path)


def _ratio(what: str, ours: float, job: str, note: str, arrays: dict[str, Any], python: str | None) -> Iterator[Figure]:
    if python is None:
        return
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "data.npz"
        np.savez(file, **arrays)
        found = _peer(python, str(file), job)
    name, said = f"{what}: {found['peer']} / ours", f"{job} {found['version']}: {found['seconds']:.3g} s; {note}"
    yield Figure(name=name, value=found["seconds"] / ours, unit="x", note=said)


def _peer(python: str, file: str, job: str) -> dict[str, Any]:
    done = subprocess.run([python, str(SCRIPT), file, job], capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def _best(work: Callable[[], Any], times: int) -> float:
    seconds = []
    for _ in range(times):
        start = perf_counter()
        work()
        seconds.append(perf_counter() - start)
    return min(seconds)


def _peak(work: Callable[[], Any]) -> float:
    tracemalloc.start()  # apart from the timing, which it slows down
    work()
    peak = tracemalloc.get_traced_memory()[1] / MIB
    tracemalloc.stop()
    return peak
