"""A report on ratings in parts beside polars' scan of the same parts: CPU a row, and memory that stays as it is.

What a row costs is what further parts add: a report of six parts less one of two, over their rows; in turns, each the
median of five. Wanted: at most 1.3 times the scan, at 10^8 rows no more than 1.14 to 1.48 GiB (``large_tables``).
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from tests.benchmarks.bench_report import COMMAND, measure
from tests.benchmarks.large_tables import PART, ratings
from tests.benchmarks.measure import Figure

FEW, MANY, TIMES = 2, 6, 5  # parts, and runs of which the median is taken
ANNOTATORS = 5_000
SCAN = (
    "import polars as pl, sys; table = pl.scan_parquet(sys.argv[1] + '/*.parquet'); "
    "[table.group_by('system', by).agg(pl.col('score').mean()).collect(engine='streaming')"
    " for by in ('annotator_id', 'item_id')]"
)


def figures() -> Iterator[Figure]:
    """Write parts and measure."""
    with tempfile.TemporaryDirectory() as name:
        folders = {number: Path(name) / str(number) for number in (FEW, MANY)}
        for folder in folders.values():
            folder.mkdir()
        for number in range(MANY):
            part = folders[MANY] / f"part-{number:04d}.parquet"
            ratings(number, PART, annotators=ANNOTATORS).write_parquet(part)
            if number < FEW:
                os.link(part, folders[FEW] / part.name)
        taken: dict[tuple[str, int], list[tuple[float, float]]] = {}
        for _ in range(TIMES):
            for number, folder in folders.items():
                report = [*COMMAND, "--out", str(Path(name) / "report"), "--ratings", str(folder)]
                for who, command in (("spa", report), ("polars", [sys.executable, "-c", SCAN, str(folder)])):
                    taken.setdefault((who, number), []).append(measure(command))
    each = {who: 1e6 * _added([taken[who, number] for number in (FEW, MANY)]) for who in ("spa", "polars")}
    peak = {number: median(mib for _, mib in taken["spa", number]) for number in (FEW, MANY)}
    yield Figure(
        name=f"ratings in parts, a row of {MANY - FEW} further parts of {PART:,}",
        value=each["spa"],
        unit="us CPU",
        peak_mib=peak[MANY],
        note=f"{each['spa'] / each['polars']:.1f} x polars' scan, <= 1.3; {FEW} parts: {peak[FEW]:.0f} MiB",
    )


def _added(runs: list[list[tuple[float, float]]]) -> float:
    """Return the CPU seconds that a row of the further parts adds."""
    few, many = (median(seconds for seconds, _ in each) for each in runs)
    return (many - few) / (PART * (MANY - FEW))
