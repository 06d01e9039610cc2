"""Time what peers do with the comparisons of an ``.npz``; prints one JSON object.

Usage: ``PYTHON strengths.py FILE JOB``, where PYTHON has evalica, choix, arenakit and statsmodels.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from importlib.metadata import version
from statistics import median
from time import perf_counter, process_time
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


def cpu(work: Callable[[], Any]) -> float:
    """Return the median CPU seconds of five runs."""
    work()
    seconds = []
    for _ in range(5):
        start = process_time()
        work()
        seconds.append(process_time() - start)
    return median(seconds)


def evalica_fit(data: Any) -> tuple[str, float]:
    """Fit from arrays: evalica's quickest way, and without an interval."""
    import evalica
    import pandas as pd

    index = pd.Index(np.arange(int(data["k"])))
    winners = np.where(data["won"] > 0.5, evalica.Winner.X.value, evalica.Winner.Y.value).astype(np.uint8)
    return "evalica", best(lambda: evalica.bradley_terry(data["x"], data["y"], winners, index=index), 5)


def evalica_bootstrap(data: Any) -> tuple[str, float]:
    """Refit 50 resamples from arrays, scaled to 1000."""
    import evalica
    import pandas as pd

    index = pd.Index(np.arange(int(data["k"])))
    winners = np.where(data["won"] > 0.5, evalica.Winner.X.value, evalica.Winner.Y.value).astype(np.uint8)
    rng = np.random.default_rng(1)
    n = len(winners)

    def resample() -> None:
        rows = rng.integers(0, n, n)
        evalica.bradley_terry(data["x"][rows], data["y"][rows], winners[rows], index=index)

    return "evalica", 1000 / 50 * best(lambda: [resample() for _ in range(50)], 1)


def evalica_cpu(data: Any) -> tuple[str, float]:
    """Fit from arrays, in CPU seconds."""
    import evalica
    import pandas as pd

    index = pd.Index(np.arange(int(data["k"])))
    winners = np.where(data["won"] > 0.5, evalica.Winner.X.value, evalica.Winner.Y.value).astype(np.uint8)
    return "evalica", cpu(lambda: evalica.bradley_terry(data["x"], data["y"], winners, index=index))


def choix_cpu(data: Any) -> tuple[str, float]:
    """Fit from a list of winners and losers, in CPU seconds; a little is added to every pair, as choix needs it."""
    import choix

    first = data["won"] > 0.5
    rows = [
        *zip(
            np.where(first, data["x"], data["y"]).tolist(), np.where(first, data["y"], data["x"]).tolist(), strict=True
        )
    ]
    return "choix", cpu(lambda: choix.ilsr_pairwise(int(data["k"]), rows, alpha=1e-3))


def statsmodels_glm(data: Any) -> tuple[str, float]:
    """Fit a logit GLM with HC0 on one row a comparison; the design matrix is not timed."""
    import statsmodels.api as sm

    n, k = len(data["x"]), int(data["k"])
    design = np.zeros((n, k))
    design[np.arange(n), data["x"]] += 1
    design[np.arange(n), data["y"]] -= 1
    model = sm.GLM(data["won"], design[:, 1:], family=sm.families.Binomial())
    return "statsmodels", best(lambda: model.fit(cov_type="HC0"), 1)


def arenakit_bootstrap(data: Any) -> tuple[str, float]:
    """Bootstrap 1000 times; making the arena is not timed."""
    import arenakit

    rows = zip(data["x"].tolist(), data["y"].tolist(), data["won"].tolist(), strict=True)
    battles = [arenakit.Battle(model_a=str(x), model_b=str(y), winner="a" if won else "b") for x, y, won in rows]
    arena = arenakit.Arena(battles)
    return "arenakit", best(lambda: arenakit.bootstrap(arena, n_resamples=1000), 1)


JOBS = {
    job.__name__: job
    for job in (
        evalica_fit,
        evalica_bootstrap,
        evalica_cpu,
        choix_cpu,
        statsmodels_glm,
        arenakit_bootstrap,
    )
}


def main() -> None:
    """Run one job."""
    file, job = sys.argv[1:]
    peer, seconds = JOBS[job](np.load(file))
    print(json.dumps({"peer": peer, "version": version(peer), "seconds": seconds}))  # noqa: T201 - read by the runner


if __name__ == "__main__":
    main()
