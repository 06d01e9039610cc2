"""CPU time and memory of ``spa report`` as a whole process: HANNA, many criteria, and ten million ratings.

And what a report of preferences spends on the people that an LLM saves, on audits, circles and camps.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import polars as pl

from analysis import Plan, Reading, read_tables, rooms
from analysis.answers.input import AnalysisInput, prepare_input
from analysis.answers.study_answers import answers_of
from analysis.audit.audit_rows import audit_rows
from analysis.camps.contribution import PEOPLE_DIFFER
from analysis.circles.contribution import CIRCLES
from analysis.comparisons.contribution import TESTS
from analysis.contribution import Analysis
from analysis.llm_vs_people.people_saved import people_saved
from analysis.ranking.contribution import SOURCES
from analysis.results import overview
from analysis.results.comparison_tests import TESTED
from tests.benchmarks.measure import Figure

DATA = Path(__file__).resolve().parents[3] / "shared" / "data" / "hanna" / "ratings.csv"
LLMS = ("Beluga-13B", "Llama-13B", "Mistral-7B", "ChatGPT", "OrcaPlatypus")
BEGIN = """
import resource, subprocess, sys
code = subprocess.call(sys.argv[1:], stdout=subprocess.DEVNULL)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(code, used.ru_utime + used.ru_stime, used.ru_maxrss)
"""
COMMAND = (sys.executable, "-c", "from spa.cli import run; run()", "report")
CRITERIA = 2_000
LONG = 10_000_000
ANSWERS = 100_000  # of people and an LLM
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


def rooms_of_judges() -> Iterator[Figure]:
    """Measure people saved, audit, circles and camps on the demo, and on 100,000 preferences of people and an LLM."""
    from spa.cli import main
    from spa.commands.workspace import open_workspace

    with tempfile.TemporaryDirectory() as name:
        main(["demo", "--out", name, "--json"], standalone_mode=False)
        (study,) = Path(name).rglob("study.toml")
        with open_workspace(study, None, rehearsal=True) as workspace:
            found = answers_of(workspace)
        yield _judged("the demo", prepare_input(found.tables, found.plan, found.facts))
        path = Path(name) / "preferences.csv"
        _preferences().write_csv(path)
        plan = Plan(consistency_tau=None)
        tables = read_tables({"preferences": path}, Reading(llms=("judge",)))
        yield _judged(f"{ANSWERS:,} answers", prepare_input(tables, plan))


def _judged(what: str, prepared: AnalysisInput) -> Figure:
    analysis = Analysis(prepared, (*rooms.CONTRIBUTIONS, TESTED, overview.COUNTED))
    analysis.of(SOURCES), analysis.of(TESTS)  # of other rooms, too
    steps = {
        "people saved": lambda: [*people_saved(prepared.kept, prepared.orders, prepared.plan)],
        "audit": lambda: [*audit_rows(prepared.kept, prepared.orders, prepared.plan, rater="judge")],
        "circles": lambda: analysis.of(CIRCLES),
        "camps": lambda: analysis.of(PEOPLE_DIFFER),
    }
    used = {}
    for name, step in steps.items():
        start = time.process_time()
        step()
        used[name] = time.process_time() - start
    note = ", ".join(f"{name} {seconds:.2f}" for name, seconds in used.items())
    return Figure(
        name=f"people saved, audit, circles, camps: {what}", value=sum(used.values()), unit="s CPU", note=note
    )


def _preferences() -> pl.DataFrame:
    """Make preferences between three systems, each pair twice a form: a quarter of the forms also by people."""
    rng = np.random.default_rng(2)
    forms = ANSWERS * 4 // 5 // 6
    pairs = [("x", "y"), ("x", "z"), ("y", "z")]
    rows = []
    for form in range(forms):
        for x, y in pairs:
            for exposure in (1, 2):
                liked = float(np.clip(rng.normal(0.58, 0.2), 0, 1))
                rows.append(("judge", f"f{form}", exposure, x, y, round(liked, 3)))
                if form % 4 == 0:
                    own = float(np.clip(liked + rng.normal(0, 0.1), 0, 1))
                    rows.append((f"p{form}", f"f{form}", exposure, x, y, round(own, 3)))
    columns = ["annotator_id", "assignment_id", "exposure", "system_x", "system_y", "preference"]
    return pl.DataFrame(rows, columns, orient="row").with_columns(criterion=pl.lit("overall"))


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
    """Run a process and return its CPU seconds and its peak memory in MiB, libraries included.

    A small process begins it: a peak is at least what the beginner held, and this one may hold tables.
    """
    environment = {key: value for key, value in os.environ.items() if not key.startswith("OPENBLAS_")}
    ran = subprocess.run(
        [sys.executable, "-c", BEGIN, *command], stdout=subprocess.PIPE, env=environment, text=True, check=True
    )
    code, seconds, peak = ran.stdout.split()
    if code != "0":
        raise RuntimeError(f"{' '.join(command[:4])} ended with {code}")
    return float(seconds), float(peak) / (2**20 if sys.platform == "darwin" else 2**10)
