"""How long HANNA takes (72,864 ratings, 21 groups), from file to results and to the whole report, and its memory."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import polars as pl

from analysis import Plan, Reading, analyse, read_tables
from tests.benchmarks.measure import Figure

DATA = Path(__file__).resolve().parents[3] / "shared" / "data" / "hanna" / "ratings.csv"
LLMS = ("Beluga-13B", "Llama-13B", "Mistral-7B", "ChatGPT", "OrcaPlatypus")


def report_on_hanna() -> Figure | None:
    """Time ``spa report`` as a whole process, every file of the report written; ``None`` without the data.

    The peak is that of the whole process, libraries included.
    """
    if not DATA.is_file():
        return None
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-c", "from spa.cli import main; main()", "report", "--out", f"{folder}/report"]
        command += ["--ratings", str(_tidy(folder)), "--map", "rater=annotator_id", "--map", "eval_prompt=variant"]
        command += [word for llm in LLMS for word in ("--llm", llm)]
        start = time.perf_counter()
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.perf_counter() - start
    if process.returncode:
        raise RuntimeError(f"spa report ended with {process.returncode}")
    return Figure(
        name="spa report on HANNA",
        value=seconds,
        unit="s",
        peak_mib=used.ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10),
        note="whole process: HTML, Markdown, LaTeX, CSV and figures written",
    )


def analysis_of_hanna() -> Figure | None:
    """Time reading and analysing, the best of three; ``None`` where the data are absent.

    The peak is what the process grew by beyond its size with all libraries loaded: the frames lie
    outside Python's own allocator.
    """
    if not DATA.is_file():
        return None
    with tempfile.TemporaryDirectory() as folder:
        path = _tidy(folder)
        reading = Reading(mapping={"rater": "annotator_id", "eval_prompt": "variant"}, llms=LLMS)
        before = _peak_mib()
        seconds = min(_once(path, reading) for _ in range(3))
    return Figure(
        name="analysis of HANNA",
        value=seconds,
        unit="s",
        peak_mib=_peak_mib() - before,
        note="72,864 ratings, 3,465 tests, best of 3",
    )


def _tidy(folder: str) -> Path:
    """Write the published table with the item that a story is about."""
    path = Path(folder) / "ratings.csv"
    pl.read_csv(DATA).with_columns((pl.col("story_id") % 96).alias("item_id")).write_csv(path)
    return path


def _once(path: Path, reading: Reading) -> float:
    start = time.perf_counter()
    analyse(read_tables({"ratings": path}, reading), Plan())
    return time.perf_counter() - start


def _peak_mib() -> float:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**20 if sys.platform == "darwin" else 2**10)
