"""Run every benchmark once and print a table; ``make bench``.

``--peers PYTHON`` names the Python of an environment with evalica, choix, arenakit, statsmodels, krippendorff,
pingouin, pandas and duckdb, for ratios; ``--irr PYTHON`` that of one with irrCAC, which wants an older scipy;
``--inspect PYTHON`` that of one with inspect_ai and openai; ``--ville PYTHON`` that of one with ville.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

from rich.console import Console
from rich.table import Table

from tests.benchmarks import (
    bench_admission,
    bench_agreement,
    bench_bradley_terry,
    bench_correlations,
    bench_forms,
    bench_hits,
    bench_libraries,
    bench_local,
    bench_markdown,
    bench_pages,
    bench_parts,
    bench_raters,
    bench_report,
    bench_sequential,
    bench_store,
    bench_tables,
    bench_whole,
)
from tests.benchmarks.measure import Figure


def help_time() -> Figure:
    """Time ``spa --help`` as a whole process, the best of five."""
    command = [sys.executable, "-c", "from spa.cli import run; run()", "--help"]
    best = float("inf")
    for _ in range(5):
        start = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True)
        best = min(best, time.perf_counter() - start)
    return Figure(name="spa --help", value=best, unit="s", note="whole process, best of 5")


def benchmarks() -> Iterator[Callable[[], Figure | None]]:
    """Yield every benchmark; each returns ``None`` where its data are absent."""
    yield help_time
    yield bench_forms.assignments_per_second
    yield bench_forms.forms_per_second
    yield bench_markdown.markdown_beside_the_bare_parser
    yield bench_markdown.new_formulas_beside_the_bare_parser
    yield bench_markdown.formulas_per_second
    yield bench_store.assignments_stored_per_second
    yield bench_store.milliseconds_of_an_admission
    yield bench_store.answers_exported_per_second


def main() -> None:
    """Print one line a benchmark."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description="Measure speed and memory.")
    parser.add_argument("--peers", metavar="PYTHON", help="Python of an environment with the peers")
    parser.add_argument("--irr", metavar="PYTHON", help="Python of an environment with irrCAC")
    parser.add_argument("--inspect", metavar="PYTHON", help="Python of an environment with inspect_ai and openai")
    parser.add_argument("--ville", metavar="PYTHON", help="Python of an environment with ville")
    given = parser.parse_args()
    peers = given.peers
    table = Table(title="spa-eval benchmarks")
    for heading in ("what", "value", "unit", "peak memory, MiB", "note"):
        table.add_column(heading)
    for benchmark in benchmarks():
        figure = benchmark()
        if figure is None:
            table.add_row(benchmark.__name__, "-", "", "", "skipped: its data are absent")
        else:
            _add(table, figure)
    for figure in bench_report.figures(peers):
        _add(table, figure)
    for figure in bench_report.rooms_of_judges():
        _add(table, figure)
    for figure in bench_whole.figures():
        _add(table, figure)
    for figure in bench_bradley_terry.figures(peers):
        _add(table, figure)
    for figure in bench_agreement.figures(peers, given.irr):
        _add(table, figure)
    for figure in bench_raters.rater_beside_bare_client():
        _add(table, figure)
    for figure in bench_raters.rater_beside_bare_client(forms=30, conversation="question"):
        _add(table, figure)
    for figure in bench_raters.inspect_beside_rater(given.inspect):
        _add(table, figure)
    for figure in bench_raters.inspect_beside_rater(given.inspect, forms=30, conversation="question"):
        _add(table, figure)
    for figure in bench_correlations.figures():
        _add(table, figure)
    for figure in bench_sequential.figures(given.ville):
        _add(table, figure)
    for figure in bench_admission.figures():
        _add(table, figure)
    for figure in bench_pages.figures():
        _add(table, figure)
    for figure in bench_parts.figures():
        _add(table, figure)
    for figure in bench_libraries.figures():
        _add(table, figure)
    for figure in bench_hits.short_figures():
        _add(table, figure)
    for figure in bench_local.figures():
        _add(table, figure)
    for figure in bench_tables.figures():
        _add(table, figure)
    if peers is None:
        table.add_row("ratios to peers", "-", "", "", "skipped: no --peers PYTHON")
    Console(width=120).print(table)


def _add(table: Table, figure: Figure) -> None:
    memory = "" if figure.peak_mib is None else f"{figure.peak_mib:.0f}"
    table.add_row(figure.name, f"{figure.value:,.2f}", figure.unit, memory, figure.note)


if __name__ == "__main__":
    main()
