"""CPU time and memory of ``spa report`` as a whole process: HANNA, many criteria, and ten million ratings."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import polars as pl

from tests.benchmarks.measure import Figure

DATA = Path(__file__).resolve().parents[3] / "shared" / "data" / "hanna" / "ratings.csv"
LLMS = ("Beluga-13B", "Llama-13B", "Mistral-7B", "ChatGPT", "OrcaPlatypus")
COMMAND = (sys.executable, "-c", "from spa.cli import run; run()", "report")
CRITERIA = 2_000
LONG = 10_000_000
READ = (
    "from pathlib import Path; import sys; from analysis import Reading, read_tables; "
    "read_tables({'ratings': Path(sys.argv[1])}, Reading())"
)
COUNT = (
    "import duckdb, sys; table = sys.argv[1]; "
    "duckdb.sql(f\"SELECT system, count(*), avg(score) FROM '{table}' GROUP BY 1\").fetchall()"
)


def figures(peers: str | None) -> Iterator[Figure]:
    """Measure each report; the long table beside DuckDB where an environment with it is named."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if DATA.is_file():
            path = folder / "hanna.csv"
            pl.read_csv(DATA).with_columns((pl.col("story_id") % 96).alias("item_id")).write_csv(path)
            options = ["--map", "rater=annotator_id", "--map", "eval_prompt=variant"]
            options += [word for llm in LLMS for word in ("--llm", llm)]
            yield _report("spa report on HANNA", path, folder, options, "72,864 ratings, 21 groups")
        path = _ratings(folder, annotators=3, items=20, criteria=CRITERIA)
        yield _report(f"spa report on {CRITERIA:,} criteria", path, folder, note="240 ratings each")
        path = _ratings(folder, annotators=LONG // 10_000, items=2_500, criteria=1)
        yield _report("spa report on 10 million ratings (CSV)", path, folder)
        reading, peak = measure([sys.executable, "-c", READ, str(path)])
        note = "read, checked, counted"
        if peers is not None:
            counting, _ = measure([peers, "-c", COUNT, str(path)])
            note = f"{note}; {reading / counting:.1f} times a GROUP BY of DuckDB ({counting:.2f} s)"
        yield Figure(name="reading 10 million ratings (CSV)", value=reading, unit="s CPU", peak_mib=peak, note=note)
        parquet = path.with_suffix(".parquet")
        pl.scan_csv(path).sink_parquet(parquet)
        reading, peak = measure([sys.executable, "-c", READ, str(parquet)])
        yield Figure(name="reading 10 million ratings (Parquet)", value=reading, unit="s CPU", peak_mib=peak)


def _report(name: str, path: Path, folder: Path, options: Sequence[str] = (), note: str = "") -> Figure:
    used, peak = measure([*COMMAND, "--out", str(folder / "report"), "--ratings", str(path), *options])
    return Figure(name=name, value=used, unit="s CPU", peak_mib=peak, note=note)


def _ratings(folder: Path, *, annotators: int, items: int, criteria: int) -> Path:
    """Write ratings of four systems: every annotator rates each item's outputs on every criterion."""
    rng = np.random.default_rng(1)
    shape = (criteria, annotators, items, 4)
    criterion, annotator, item, system = np.indices(shape, dtype=np.int32).reshape(4, -1)
    score = np.clip(np.round(3 + 0.3 * system + rng.normal(size=len(system))), 1, 5).astype(np.int8)
    columns = {"annotator_id": annotator, "item_id": item, "system": system, "criterion": criterion}
    frame = pl.DataFrame(columns).select(pl.format("a{}", name).alias(name) for name in columns)
    path = folder / f"ratings-{criteria}.csv"
    frame.with_columns(score=score).write_csv(path)
    return path


def measure(command: Sequence[str]) -> tuple[float, float]:
    """Run a process and return its CPU seconds and its peak memory in MiB, libraries included."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("OPENBLAS_")}
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, env=environment) as process:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{' '.join(command[:4])} ended with {process.returncode}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)
