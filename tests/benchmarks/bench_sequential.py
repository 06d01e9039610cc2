"""Live studies: one more person, a million answers replayed, and confidence sequences beside ville's.

Targets: a person of 190 pairs in less than 10 ms, 1e6 answers in less than 10 s.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter

import numpy as np

from analysis.sequential.bets import confidence_limits
from analysis.sequential.monitor import Monitor
from analysis.sequential.replay import replay
from analysis.sequential.rule import StoppingRule
from tests.benchmarks.measure import Figure
from tests.calibration.sequential_errors import preferences

SCRIPT = Path(__file__).parent / "peers" / "sequential.py"
PAIRS, PEOPLE = 190, 300  # 20 systems
RULE = StoppingRule(effect=0.1, sd=0.22, margin=0.1, most=PEOPLE)
LEVEL = 0.05


def figures(ville: str | None) -> Iterator[Figure]:
    """Yield our times and, where there is a Python with ville, time and width of its sequences beside ours."""
    values = preferences(np.random.default_rng(1), (PEOPLE, PAIRS), np.full(PAIRS, 0.55))
    monitor, seconds = Monitor.start(RULE, PAIRS), []
    for row in values:
        start = perf_counter()
        monitor = monitor.after(row)
        seconds.append(perf_counter() - start)
    yield Figure(name="one more person, 190 pairs", value=1000 * float(np.median(seconds)), unit="ms", note="< 10")
    start = perf_counter()
    assert len(monitor.states) == PAIRS
    took = perf_counter() - start
    yield Figure(name="states of 190 pairs after 300 people", value=1000 * took, unit="ms", note="all limits")
    answers = preferences(np.random.default_rng(2), (1_000, 100, 10), np.full(10, 0.55))
    start = perf_counter()
    replay(answers, RULE)
    yield Figure(name="1e6 answers replayed", value=perf_counter() - start, unit="s", note="1,000 studies; < 10")
    if ville is not None:
        yield from _beside_ville(preferences(np.random.default_rng(3), (50, 200), np.full(200, 0.6)), ville)


def _beside_ville(values: np.ndarray, ville: str) -> Iterator[Figure]:
    start = perf_counter()
    low, high = confidence_limits(values, RULE, error_rate=LEVEL)
    seconds = perf_counter() - start
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "values.npz"
        np.savez(file, values=values, error_rate=LEVEL)
        done = subprocess.run([ville, str(SCRIPT), str(file)], capture_output=True, text=True, check=True)
    peer = json.loads(done.stdout)
    limits = np.array(peer["limits"])
    note = f"ville {peer['version']}, mean width {np.diff(limits).mean():.3f}, ours {(high - low).mean():.3f}"
    ratio = peer["seconds"] / seconds
    yield Figure(name="limits of 200 sequences, 50 people", value=ratio, unit="x ville", note=note)
