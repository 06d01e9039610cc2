"""CPU seconds of reading large CSV files, beside polars' own reader of the same file, in alternating runs.

``python -m tests.benchmarks.bench_tables ROWS [TREE]`` prints them; ``TREE``, a folder with an earlier build that reads
tables in ``spa.responses.table_files``, is measured beside.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import polars as pl

from tests.benchmarks.measure import Figure

POLARS = "import polars as pl\npl.read_csv({path!r}, infer_schema=False, glob=False, quote_char={quote!r})"
OURS = "from spa.tables.delimited import read_csv\nfrom pathlib import Path\nread_csv(Path({path!r}))"
EARLIER = "from spa.responses.table_files import read_csv\nfrom pathlib import Path\nread_csv(Path({path!r}))"
RUNS = 3


def figures(rows: int = 10**6, earlier: Path | None = None) -> list[Figure]:
    """Return CPU seconds and ratios of files without quotes, with texts in quotes, and with a quote that is text."""
    found: list[Figure] = []
    with TemporaryDirectory() as folder:
        for name in ("plain", "quoted", "stray"):
            path = Path(folder) / f"{name}.csv"
            _write(path, rows, name)
            codes = {"polars": POLARS, "ours": OURS} | ({} if earlier is None else {"earlier": EARLIER})
            used: dict[str, list[float]] = {reader: [] for reader in codes}
            for _ in range(RUNS):
                for reader, code in codes.items():
                    if not (name == "stray" and reader == "earlier"):  # which refuses it
                        tree = earlier if reader == "earlier" else Path.cwd()
                        used[reader].append(
                            _seconds(
                                code.format(path=str(path), quote=None if name == "stray" else '"'), tree or Path.cwd()
                            )
                        )
            best = {reader: min(seconds) for reader, seconds in used.items() if seconds}
            note = f"{rows:,} rows, least of {RUNS} alternating runs"
            found += [
                Figure(name=f"{name} CSV, {reader}", value=seconds, unit="s CPU", note=note)
                for reader, seconds in best.items()
            ]
            found += [
                Figure(name=f"{name} CSV, beside {reader}", value=best["ours"] / seconds, unit="ratio", note=note)
                for reader, seconds in best.items()
                if reader != "ours"
            ]
    return found


def _write(path: Path, rows: int, name: str) -> None:
    rng = np.random.default_rng(1)
    frame = pl.DataFrame(
        {
            "annotator_id": _ids("a", rng, 500, rows),
            "item_id": _ids("item-", rng, 20_000, rows),
            "system": _ids("system ", rng, 5, rows),
            "explanation": _ids("because of it, reason " if name == "quoted" else "because of reason ", rng, 999, rows),
            "score": rng.integers(1, 6, rows),
        }
    )
    frame.write_csv(path)
    if name == "stray":
        with path.open("a") as stream:
            stream.write('a,i,s,5" screen,3\n')


def _ids(stem: str, rng: np.random.Generator, most: int, rows: int) -> pl.Series:
    return stem + pl.Series(rng.integers(0, most, rows)).cast(pl.String)


def _seconds(code: str, tree: Path) -> float:
    """Run a program and return its user and system CPU seconds, those of its imports taken off."""
    setup, _, work = code.rpartition("\n")
    timed = (
        f"{setup}\nimport resource\n"
        "def used():\n    r = resource.getrusage(resource.RUSAGE_SELF)\n    return r.ru_utime + r.ru_stime\n"
        f"before = used()\n{work}\nprint(used() - before)"
    )
    environment = {key: value for key, value in os.environ.items() if not key.startswith("OPENBLAS_")}
    done = subprocess.run(
        [sys.executable, "-c", timed],
        env={**environment, "PYTHONPATH": str(tree)},
        cwd=tree,
        check=True,
        capture_output=True,
        text=True,
    )
    return float(done.stdout)


if __name__ == "__main__":
    for figure in figures(int(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) > 2 else None):
        print(f"{figure.name:32} {figure.value:8.2f} {figure.unit}")  # noqa: T201
