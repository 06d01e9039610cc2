"""A cluster whose PostgreSQL goes away for a while: workers give their batches back, and the run goes on."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

from tests import postgres
from tests.conftest import missing_part, need
from tests.spa.cluster_bench import check_asked_once, rate
from tests.spa.cluster_bench import two_workers as two_workers
from tests.spa.cluster_bench import workers as workers
from tests.spa.raters.test_rater_exactly_once import CONCURRENCY, judge, slow
from tests.spa.rehearsed import built_example, spa
from tests.spa.scripted_server import scripted

AWAY = 3.0  # seconds
FORMS = 16


def test_a_run_goes_on_when_its_database_is_back(workers: Any, tmp_path: Path) -> None:
    need("psycopg")
    if postgres.program("initdb") is None:
        missing_part("PostgreSQL is not installed (Debian: apt-get install postgresql)")
    with postgres.cluster() as running, scripted(slow(0.2)) as served:
        running.run("CREATE DATABASE study")
        study = built_example(tmp_path, annotators=1)
        spa("build", study, "--store", running.url("study"))

        def restart() -> None:
            while len(served.asked) < 6:
                time.sleep(0.05)
            postgres.halt(running)
            time.sleep(AWAY)
            postgres.resume(running)

        restarting = threading.Thread(target=restart)
        restarting.start()
        where = ("--store", running.url("study"), "--limit", FORMS)
        summary = rate(study, *where, "--rater", judge(tmp_path, served.url))
        restarting.join()
        assert summary["finished"] == FORMS
        assert check_asked_once(study, served, FORMS, running.url("study")) <= 2 * CONCURRENCY
