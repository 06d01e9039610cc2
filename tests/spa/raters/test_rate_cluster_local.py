"""A local model on a cluster: batches go to the worker that declares a GPU, which loads its model once."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import distributed
import pytest

from spa import cluster
from spa.raters.cluster import coordinator, worker
from spa.raters.vendors.local.endpoint import LocalEndpoint
from tests.dask_here import in_this_process
from tests.spa import tiny_models
from tests.spa.cluster_bench import rate
from tests.spa.raters.test_rate_cluster import COUNTS, exported
from tests.spa.raters.test_rater_local_command import LOGIT
from tests.spa.rehearsed import spa
from tests.spa.small_study import STUDY, write_study
from tests.spa.tiny_models import models as models

pytestmark = [
    pytest.mark.one_process("models"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning"),
]
FORMS = 3
SHORT = STUDY.replace("annotators = 6", f"annotators = {FORMS}").replace("exposure = 4", "exposure = 1")


@pytest.fixture
def workers(monkeypatch: pytest.MonkeyPatch) -> Iterator[distributed.LocalCluster]:
    """Have ``--cluster`` lead to two workers, of which the first declares a GPU; a batch is a form or two."""
    with in_this_process(resources={"GPU": 1}) as running:
        running.new_spec["options"]["resources"] = {}
        running.scale(2)

        @contextmanager
        def opened(where: str) -> Iterator[distributed.Client]:
            with distributed.Client(running, set_as_default=False) as client:
                client.wait_for_workers(2)
                yield client

        monkeypatch.setattr(cluster, "open_cluster", opened)
        monkeypatch.setattr(coordinator, "BATCH", 0.01)
        yield running


def test_cluster_gpu_worker_loads_model_once(
    models: Path, workers: distributed.LocalCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker with a GPU loads the model once and answers as one process does."""
    batches: list[str] = []
    loaded: list[str] = []
    study_of, start = worker.study_of, LocalEndpoint._start

    def opened(setup: worker.WorkerSetup) -> worker.OpenedStudy:
        batches.append(distributed.get_worker().address)
        return study_of(setup)

    def load(self: LocalEndpoint) -> Any:
        loaded.append(self.rater.model)
        return start(self)

    (tmp_path / "study").mkdir()
    study = write_study(tmp_path / "study", SHORT)
    spa("build", study)
    tiny_models.tiny_llama(study.parent / "model")
    rater = study.parent / "here.toml"
    rater.write_text(f'id = "here"\nprovider = "local"\nmodel = "model"\nconcurrency = 1\n{LOGIT}')
    alone = Path(shutil.copytree(study.parent, tmp_path / "alone"), study.name)
    here = rate(alone, "--rater", rater, cluster=False)
    monkeypatch.setattr(worker, "study_of", opened)
    monkeypatch.setattr(LocalEndpoint, "_start", load)
    there = rate(study, "--rater", rater)
    assert {name: here[name] for name in COUNTS} == {name: there[name] for name in COUNTS}
    assert there["finished"] == FORMS
    assert set(batches) == {workers.workers[0].address}
    assert len(batches) > 1
    assert loaded == ["model"]
    for name, rows in exported(alone).items():
        for one, other in zip(rows, exported(study)[name], strict=True):
            assert [pytest.approx(cell) if isinstance(cell, float) else cell for cell in one] == list(other)
