"""What a cluster costs: forms a CPU second of its workers beside those of one process, and the coordinator's own time.

``python -m tests.benchmarks.bench_rate_cluster``; the endpoint stands in another process.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from spa.cluster import open_cluster
from spa.commands.rating_cluster import run_on_cluster
from spa.commands.workspace import open_workspace
from spa.raters.budget import RaterBudget
from spa.raters.visits import rater_visits
from spa.records.raters import rater_variants
from tests.benchmarks.bench_raters import AT_ONCE, judge, our_run, server
from tests.benchmarks.measure import Figure
from tests.spa.rehearsed import built_example

FORMS = 2000
WARM = 200  # forms before the clock runs
WORKERS = 2


def cluster_beside_one_process(forms: int = FORMS) -> list[Figure]:
    """Return the ratio of forms a CPU second, and the CPU milliseconds of coordinator and scheduler a form."""
    with server() as url, tempfile.TemporaryDirectory() as folder:
        alone = built_example(Path(folder) / "alone", annotators=forms)
        study = built_example(Path(folder) / "cluster", annotators=WARM + forms)
        rater = judge(url, "form")
        one = our_run(alone, rater).seconds / forms
        rater = rater.model_copy(update={"concurrency": AT_ONCE * WORKERS})
        with open_cluster(f"local:{WORKERS}") as client, open_workspace(study) as workspace:
            client.wait_for_workers(WORKERS)
            for limit in (WARM, WARM + forms):
                visits = rater_visits(workspace.store, rater_variants(rater), limit=limit)
                workers, own = sum(client.run(time.process_time).values()), time.process_time()
                summary = run_on_cluster(
                    client, workspace, visits, RaterBudget(None), None,
                    study=study, store=None, timeout=60, price=None, several=False, stopping=None,
                )  # fmt: skip
                own = time.process_time() - own
                workers = sum(client.run(time.process_time).values()) - workers
    if summary.finished != forms:
        raise RuntimeError(f"expected {forms} forms, got {summary}")
    note = f"{forms} forms, {AT_ONCE} requests at once a process; one: {1000 * one:.2f} ms a form, {WORKERS} workers"
    return [
        Figure(
            name="cluster: forms a CPU second over one process", value=one * forms / workers, unit="ratio", note=note
        ),
        Figure(name="cluster: CPU of coordinator and scheduler", value=1000 * own / forms, unit="ms a form", note=note),
    ]


if __name__ == "__main__":
    for figure in cluster_beside_one_process():
        sys.stdout.write(f"{figure}\n")
