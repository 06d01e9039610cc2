"""Write a large table of answers as Parquet parts, the same each time, and read it in parts with peak and seconds.

``python -m tests.benchmarks.large_tables write ratings FOLDER ROWS`` writes it (10**8 rows: 100 parts, 0.15 GB), or
``choices``, ``preferences`` of as many rows; with ``read`` instead of ``write``, without ROWS, it is added up, and peak
memory and CPU seconds are printed.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl

from analysis.answers.options import Reading
from analysis.answers.plan import Plan
from analysis.answers.tables import AnswerTables
from analysis.parts.preferences import read_preferences
from analysis.parts.reading import read_totals
from analysis.results.analyse_preferences import analyse_preferences_in_parts

SYSTEMS = ("atlas", "borea", "cirrus", "delta", "ember")
PAIRS = np.array([(x, y) for x in range(5) for y in range(5) if x < y])
PART = 1_000_000
PER_ITEM = 100  # annotators who judge all systems on one item


def _who(number: int, rows: int, each: int, annotators: int) -> tuple[pl.Series, pl.Series]:
    """Return annotators and items of one part, in blocks of ``each`` rows."""
    block = np.arange(number * (PART // each), number * (PART // each) + rows // each)
    item, place = np.divmod(block, PER_ITEM)
    annotator = (item * 7919 + place * 104_729) % annotators
    names = pl.Series(np.repeat(annotator, each)).cast(pl.String)
    return names, "item-" + pl.Series(np.repeat(item, each)).cast(pl.String)


def ratings(number: int, rows: int, *, annotators: int) -> pl.DataFrame:
    """Return one part: each item is rated by a hundred annotators, each on all systems."""
    rng = np.random.default_rng(number)
    k = len(SYSTEMS)
    annotator, item = _who(number, rows, k, annotators)
    system = np.tile(np.arange(k), rows // k)
    effect = np.repeat(rng.normal(0, 0.7, rows // k), k) + system * 0.15
    score = np.clip(np.rint(3 + effect + rng.normal(0, 0.8, len(system))), 1, 5)
    return pl.DataFrame(
        {
            "annotator_id": annotator,
            "item_id": item,
            "system": pl.Series([*SYSTEMS])[system],
            "score": score.astype(np.int8),
        }
    )


def choices(number: int, rows: int, *, annotators: int) -> pl.DataFrame:
    """Return one part: each item is judged by a hundred annotators, each on all pairs."""
    rng = np.random.default_rng(number)
    n = rows // len(PAIRS)
    annotator, item = _who(number, rows, len(PAIRS), annotators)
    x, y = np.tile(PAIRS, (n, 1)).T
    turned = rng.random(len(x)) < 0.5
    won = rng.random(len(x)) < 0.5 + 0.05 * (y - x)
    winner = np.where(rng.random(len(x)) < 0.1, 2, (won ^ turned).astype(np.int64))
    systems = pl.Series([*SYSTEMS])
    return pl.DataFrame(
        {
            "annotator_id": annotator,
            "item_id": item,
            "system_x": systems[np.where(turned, y, x)],
            "system_y": systems[np.where(turned, x, y)],
            "winner": pl.Series(["y", "x", "tie"])[winner],
        }
    )


def preferences(number: int, rows: int, *, annotators: int) -> pl.DataFrame:
    """Return one part: each annotator states preferences over all pairs in both directions."""
    rng = np.random.default_rng(number)
    both = np.concatenate([PAIRS, PAIRS[:, ::-1]])
    x, y = np.tile(both, (rows // len(both), 1)).T
    first = number * (PART // len(both))
    said = np.clip(50 - 3 * (x - y) + rng.normal(0, 6, len(x)), 0, 100)
    systems = pl.Series([*SYSTEMS])
    return pl.DataFrame(
        {
            "annotator_id": pl.Series(np.repeat(np.arange(rows // len(both)) + first, len(both))).cast(pl.String),
            "system_x": systems[x],
            "system_y": systems[y],
            "preference": np.rint(said) / 100,
        }
    )


TABLES: dict[str, Callable[..., pl.DataFrame]] = {
    "ratings": ratings,
    "choices": choices,
    "preferences": preferences,
}


def write(kind: str, folder: Path, rows: int) -> None:
    """Write the parts."""
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(-(-rows // PART)):
        made = TABLES[kind](number, min(PART, rows - number * PART), annotators=max(50, rows // 1000))
        made.write_parquet(folder / f"part-{number:04d}.parquet")


def read(kind: str, folder: Path) -> None:
    """Add up the parts and print what it took."""
    began = time.perf_counter()

    def progress(what: str, done: int, of: int) -> None:
        if done == of:
            print(f"{what}: {time.perf_counter() - began:.1f} s")  # noqa: T201

    if kind == "preferences":
        found = read_preferences(str(folder), Reading(), Plan(), beside=AnswerTables(), progress=progress)
        for row in analyse_preferences_in_parts(found, Plan()).preferences:
            print(row.system_x, row.system_y, row.n, row.mean)  # noqa: T201
    elif kind in ("ratings", "choices"):
        print(read_totals(str(folder), kind, Reading(), progress=progress).pairs.overall)  # noqa: T201
    used = resource.getrusage(resource.RUSAGE_SELF)
    print(  # noqa: T201
        f"{time.perf_counter() - began:.1f} s, CPU {used.ru_utime + used.ru_stime:.1f} s, "
        f"peak {used.ru_maxrss / 2**20:.2f} GiB"
    )


if __name__ == "__main__":
    if sys.argv[1] == "write":
        write(sys.argv[2], Path(sys.argv[3]), int(sys.argv[4]))
    else:
        read(sys.argv[2], Path(sys.argv[3]))
