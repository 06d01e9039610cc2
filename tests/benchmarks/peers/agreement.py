"""Time what peers do with ratings; prints one JSON object.

Usage: ``PYTHON agreement.py FILE JOB``, where PYTHON has krippendorff, pandas and pingouin; ``gwet`` wants irrCAC,
which pins an older scipy and so has an environment of its own; ``group_by`` wants duckdb.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from importlib.metadata import version
from time import perf_counter
from typing import Any

import numpy as np


def best(work: Callable[[], Any], times: int) -> float:
    """Return the shortest of several runs, in seconds."""
    seconds = []
    for _ in range(times):
        start = perf_counter()
        work()
        seconds.append(perf_counter() - start)
    return min(seconds)


def alpha_loop(file: str) -> tuple[str, float]:
    """Resample units and compute alpha 5 times, scaled to 1000."""
    import krippendorff

    table = np.load(file)["table"]
    rng = np.random.default_rng(1)

    def resample() -> None:
        units = rng.integers(0, len(table), len(table))
        krippendorff.alpha(reliability_data=table[units].T, level_of_measurement="ordinal")

    return "krippendorff", 1000 / 5 * best(lambda: [resample() for _ in range(5)], 1)


def intraclass(file: str) -> tuple[str, float]:
    """Compute all forms, as pingouin always does, from a tidy frame that is made already."""
    import pandas as pd
    import pingouin

    table = np.load(file)["table"]
    n, k = table.shape
    frame = pd.DataFrame(
        {"item_id": np.repeat(np.arange(n), k), "annotator_id": np.tile(np.arange(k), n), "score": table.ravel()}
    )
    return "pingouin", best(
        lambda: pingouin.intraclass_corr(frame, targets="item_id", raters="annotator_id", ratings="score"), 3
    )


def gwet(file: str) -> tuple[str, float]:
    """Compute AC1 with its interval from a frame of units x annotators."""
    import pandas as pd
    from irrCAC.raw import CAC

    frame = pd.DataFrame(np.load(file)["table"])
    return "irrCAC", best(lambda: CAC(frame).gwet(), 3)


def merged_bootstrap(file: str) -> tuple[str, float]:
    """Draw annotators and items, join their rows and average by system, twice, scaled to 1000."""
    import pandas as pd

    data = np.load(file)
    frame = pd.DataFrame({name: data[name] for name in ("system", "annotator", "item", "value")})
    rng = np.random.default_rng(1)
    ids = {name: frame[name].unique() for name in ("annotator", "item")}

    def resample() -> None:
        joined = frame
        for name, own in ids.items():
            joined = pd.DataFrame({name: rng.choice(own, len(own))}).merge(joined, on=name)
        joined.groupby("system")["value"].mean()

    return "pandas", 1000 / 2 * best(lambda: [resample() for _ in range(2)], 1)


def group_by(file: str) -> tuple[str, float]:
    """Average the scores of a Parquet file by system."""
    import duckdb

    query = f"select system, avg(score), count(*) from '{file}' group by system"
    return "duckdb", best(lambda: duckdb.sql(query).fetchall(), 9)


JOBS = {job.__name__: job for job in (alpha_loop, intraclass, gwet, merged_bootstrap, group_by)}


def main() -> None:
    """Run one job."""
    file, job = sys.argv[1:]
    peer, seconds = JOBS[job](file)
    print(json.dumps({"peer": peer, "version": version(peer), "seconds": seconds}))  # noqa: T201 - read by the runner


if __name__ == "__main__":
    main()
