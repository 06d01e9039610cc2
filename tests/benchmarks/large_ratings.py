"""Write a large table of ratings as Parquet parts, the same each time, and read it in parts with peak and seconds.

``python -m tests.benchmarks.large_ratings write FOLDER ROWS`` writes it (10**8 rows: 100 parts, 0.4 GB);
``python -m tests.benchmarks.large_ratings read FOLDER`` adds it up and prints peak memory and CPU seconds.
"""

from __future__ import annotations

import resource
import sys
import time
from pathlib import Path

import numpy as np
import polars as pl

SYSTEMS = ("atlas", "borea", "cirrus", "delta", "ember")
PART = 1_000_000
PER_ITEM = 100  # annotators who rate all systems on one item


def part(number: int, rows: int, *, annotators: int) -> pl.DataFrame:
    """Return one part: each item is rated by a hundred annotators, each on all systems."""
    rng = np.random.default_rng(number)
    blocks = rows // len(SYSTEMS)
    block = np.arange(number * (PART // len(SYSTEMS)), number * (PART // len(SYSTEMS)) + blocks)
    item, place = np.divmod(block, PER_ITEM)
    annotator = (item * 7919 + place * 104_729) % annotators
    system = np.tile(np.arange(len(SYSTEMS)), blocks)
    effect = np.repeat(rng.normal(0, 0.7, blocks), len(SYSTEMS)) + system * 0.15
    score = np.clip(np.rint(3 + effect + rng.normal(0, 0.8, len(system))), 1, 5)
    return pl.DataFrame(
        {
            "annotator_id": pl.Series(np.repeat(annotator, len(SYSTEMS))).cast(pl.String),
            "item_id": "item-" + pl.Series(np.repeat(item, len(SYSTEMS))).cast(pl.String),
            "system": pl.Series([*SYSTEMS])[system],
            "score": score.astype(np.int8),
        }
    )


def write(folder: Path, rows: int) -> None:
    """Write the parts."""
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(-(-rows // PART)):
        made = part(number, min(PART, rows - number * PART), annotators=max(50, rows // 1000))
        made.write_parquet(folder / f"part-{number:04d}.parquet")


def read(folder: Path) -> None:
    """Add up the parts and print what it took."""
    from analysis.answers.tables import Reading
    from analysis.large.reading import read_totals

    began = time.perf_counter()

    def progress(what: str, done: int, of: int) -> None:
        if done == of:
            print(f"{what}: {time.perf_counter() - began:.1f} s")  # noqa: T201

    totals = read_totals(str(folder), "ratings", Reading(), progress=progress)
    used = resource.getrusage(resource.RUSAGE_SELF)
    print(totals.pairs.overall)  # noqa: T201
    print(  # noqa: T201
        f"{int(totals.pairs.overall['n'].sum()):,} differences, {time.perf_counter() - began:.1f} s, "
        f"CPU {used.ru_utime + used.ru_stime:.1f} s, peak {used.ru_maxrss / 2**20:.2f} GiB"
    )


if __name__ == "__main__":
    if sys.argv[1] == "write":
        write(Path(sys.argv[2]), int(sys.argv[3]))
    else:
        read(Path(sys.argv[2]))
