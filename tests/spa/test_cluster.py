"""Opening a cluster: processes here, SLURM jobs, a scheduler at an address; each mistake is one line."""

from __future__ import annotations

import logging
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

import dask
import distributed
import pytest
from distributed.cli import dask_scheduler, dask_worker

from spa import cluster
from spa.cluster import open_cluster, refuse_unfit_workers
from spa.errors import PlatformError, SpaError
from tests import patience
from tests.conftest import need_program
from tests.dask_here import in_this_process
from tests.shell_lines import fenced

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "cluster.md"
SBATCH = """#!/bin/sh
# sbatch(1): copies the script, prints the number of the job, and runs the script once there is room
if grep -q '^#SBATCH -p nowhere' "$1"; then
    echo "sbatch: error: invalid partition specified: nowhere" >&2
    exit 1
fi
cp "$1" "$JOBS/$$.sh"
if ! grep -q '^#SBATCH -p full' "$1"; then
    setsid bash "$JOBS/$$.sh" >"$JOBS/$$.out" 2>&1 </dev/null &
    echo $! >"$JOBS/$$.pid"
fi
echo "Submitted batch job $$"
"""
SCANCEL = '#!/bin/sh\nkill -TERM -- "-$(cat "$JOBS/$1.pid")"\n'
TOML = """
jobs = 1
cores = 2
memory = "1 GB"
queue = "short"
walltime = 00:10:00
wait = "30 seconds"
scheduler_options = { host = "127.0.0.1" }
"""
YAML = """
jobqueue:
  slurm:
    jobs: 1
    cores: 2
    processes: 1
    memory: 2 GB
    job-extra: null
    job-extra-directives: [--exclusive]
    wait: 0.2
    queue: full
    scheduler-options: {host: 127.0.0.1}
"""


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Folder of jobs; stand-ins for SLURM's commands are on PATH."""
    jobs = tmp_path / "jobs"
    jobs.mkdir()
    for name, text in {"sbatch": SBATCH, "scancel": SCANCEL}.items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("JOBS", str(jobs))
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    return jobs


@contextmanager
def scheduler(workers: int = 1, **arguments: Any) -> Iterator[str]:
    """Run a scheduler and its workers in this process; yield its address."""
    with in_this_process(workers, **arguments) as running:
        yield running.scheduler_address


def mistake(where: str, *, patience: float = 10) -> str:
    """Return the line that opening a cluster ends with; so many seconds may pass until a scheduler answers."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(cluster, "CONNECT_SECONDS", patience)
        patched.setattr(cluster, "WORKER_SECONDS", 0.3)
        with pytest.raises(SpaError) as caught, open_cluster(where):
            pass
    (line,) = caught.value.problems
    assert len(line) < 500
    return line


def runs(pid: int) -> bool:
    """Say whether a process is there, and no zombie that nobody has waited for."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def ends(condition: Callable[[], bool], seconds: float = patience.SECONDS) -> bool:
    """Wait until a condition no longer holds."""
    deadline = time.monotonic() + seconds
    while condition() and time.monotonic() < deadline:
        time.sleep(0.05)
    return not condition()


def certificate(folder: Path, name: str) -> dict[str, str]:
    """Make a certificate that signs itself; return Dask's configuration of it for client, scheduler and worker."""
    need_program("openssl")
    cert, key = folder / f"{name}.crt", folder / f"{name}.key"
    made = ("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2")
    subprocess.run([*made, "-subj", f"/CN={name}", "-keyout", key, "-out", cert], check=True, capture_output=True)
    files = {f"distributed.comm.tls.{role}.cert": str(cert) for role in ("client", "scheduler", "worker")}
    keys = {f"distributed.comm.tls.{role}.key": str(key) for role in ("client", "scheduler", "worker")}
    return {**files, **keys, "distributed.comm.tls.ca-file": str(cert)}


def test_processes_of_this_machine_serve_come_back_and_end() -> None:
    with dask.config.set({"distributed.deploy.lost-worker-timeout": "10 ms"}), open_cluster("local:2") as client:
        pids = client.run(os.getpid)
        threads = client.nthreads()
        assert client.submit(sum, [1, 2]).result() == 3
        with pytest.raises(ValueError, match="No global client"):
            distributed.get_client()
        os.kill(pids[killed := next(iter(pids))], signal.SIGKILL)
        assert ends(
            lambda: killed in client.nthreads() or len(client.nthreads()) < 2
        )  # however long one takes to start
        again = client.run(os.getpid)
    assert len({*pids.values(), *again.values(), os.getpid()}) == 4
    assert set(threads.values()) == {1}
    assert all(address.startswith("tls://127.0.0.1:") for address in pids)  # other users of the machine stay out
    assert ends(lambda: any(map(runs, again.values())))


def test_nothing_of_a_killed_process_stays_behind() -> None:
    code = """if True:
        import os, time
        from spa.cluster import open_cluster
        with open_cluster("local:1") as client:
            print(*client.run(os.getpid).values(), flush=True)
            client.submit(time.sleep, 60).result()
    """
    started = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert started.stdout is not None
    worker = int(started.stdout.readline())
    assert runs(worker)
    started.kill()
    started.wait()
    started.stdout.close()
    assert ends(lambda: runs(worker))


def test_scheduler_reached_by_address_or_file(tmp_path: Path) -> None:
    """A scheduler is reached by its address or its file and stays."""
    file = tmp_path / "scheduler.json"
    with scheduler() as address:
        file.write_text(f'{{"address": "{address}"}}')
        for where in (address, f"file:{file}"):
            with open_cluster(where) as client:
                assert client.submit(sum, [1, 2]).result() == 3


def test_dasks_log_is_silent_while_a_cluster_is_open() -> None:
    handler, log = logging.StreamHandler(), logging.getLogger("distributed")
    log.addHandler(handler)
    try:
        with scheduler() as address, open_cluster(address):
            assert handler.level == logging.CRITICAL  # a lost scheduler would fill the screen
        assert handler.level == logging.NOTSET
    finally:
        log.removeHandler(handler)


def test_a_scheduler_without_workers_is_told() -> None:
    with scheduler(workers=0) as address:
        expected = f"cluster {address}: expected a first worker within 0.3 s, got none; start workers"
        assert mistake(address) == expected


@pytest.mark.parametrize(
    "where", ["here", "local:0", "local:-1", "local:", "local:two", "tcp://host", "http://host:1", "tcp://h:x"]
)
def test_what_is_no_place_is_told(where: str) -> None:
    assert mistake(where).startswith(f"cluster: expected {cluster.ADDRESSES}, got {where}")


@pytest.mark.parametrize("text", [None, "[]", "{}", "{"])
def test_a_file_that_no_scheduler_wrote_is_told(text: str | None, tmp_path: Path) -> None:
    file = tmp_path / "scheduler.json"
    if text is not None:
        file.write_text(text)
    assert mistake(f"file:{file}").startswith(f"{file}: expected the file that dask scheduler --scheduler-file writes")


def test_an_address_where_nobody_answers_is_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"tcp://127.0.0.1:{silent.getsockname()[1]}"
        expected = f"cluster {address}: expected a Dask scheduler that answers, got no answer within 1 s"
        assert mistake(address, patience=1).startswith(expected)
    assert re.search("answers, got (ConnectionRefusedError|no answer within 0.5 s)", mistake(address, patience=0.5))


def test_other_versions_of_a_worker_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    other = {"polars": "1.0.0", "spa-eval": None, "python": "3.99.1.final.0"}

    def versions(self: Any, packages: list[str]) -> dict[str, Any]:
        found = distributed.versions.get_versions(packages=packages)
        return {**found, "packages": found["packages"] | other}

    monkeypatch.setattr(distributed.Worker, "versions", versions, raising=False)
    with scheduler(workers=2) as address:
        line = mistake(address)
    here = distributed.versions.get_versions(packages=["spa-eval", "polars"])["packages"]
    python = ".".join(map(str, sys.version_info[:2]))
    expected = f"python {python}, spa-eval {here['spa-eval']}, polars {here['polars']} as here"
    assert line.startswith("worker tcp://127.0.0.1:")
    assert f"expected {expected}, got python 3.99, spa-eval None, polars 1.0.0 (and 1 more with" in line


def test_a_worker_with_several_threads_is_told() -> None:
    with scheduler(threads=2) as address:
        assert "of the cluster: expected one thread, got 2; start it with --nthreads 1" in mistake(address)


def test_version_check_ignores_what_cannot_matter() -> None:
    """Another patch release of Python and other packages of a scheduler are none of our business."""

    class FakeClient:
        def nthreads(self) -> dict[str, int]:
            return {"a": 1}

        def get_versions(self, packages: list[str]) -> dict[str, Any]:
            here: Any = distributed.versions.get_versions(packages=packages)
            minor = ".".join(map(str, sys.version_info[:2]))
            worker = here["packages"] | {"python": f"{minor}.99.final.0"}
            of_scheduler = here["packages"] | {"polars": None}
            return {"client": here, "scheduler": {"packages": of_scheduler}, "workers": {"a": {"packages": worker}}}

    refuse_unfit_workers(FakeClient())  # type: ignore[arg-type]


def test_tls_is_that_of_dasks_configuration(tmp_path: Path) -> None:
    ours, others = certificate(tmp_path, "ours"), certificate(tmp_path, "others")
    with dask.config.set(ours), scheduler(protocol="tls", security=distributed.Security()) as address:
        with open_cluster(address) as client:
            assert client.submit(sum, [1, 2]).result() == 3
        with dask.config.set(others):
            assert "certificate" in mistake(address, patience=1).casefold()
        with dask.config.set({"distributed.comm.tls.ca-file": str(tmp_path / "none.crt")}):
            assert f"ca-file of Dask's configuration: expected a PEM file, got {tmp_path}/none.crt" in mistake(address)
        with dask.config.set({"distributed.comm.tls.client.key": str(tmp_path / "others.key")}):
            assert "expected a certificate and its key in PEM" in mistake(address)
        with dask.config.set({"distributed.comm.tls.client.cert": None}):
            assert "set it, or DASK_DISTRIBUTED__COMM__TLS__CLIENT__CERT" in mistake(address)
        plain = address.replace("tls:", "tcp:")
        assert mistake(plain, patience=1).startswith(f"cluster {plain}: expected a Dask scheduler that answers, got ")


def test_the_guides_certificate_serves_all(tmp_path: Path) -> None:
    need_program("openssl")
    (typed,) = (block for block in fenced(GUIDE, "text") if "openssl" in block)
    script = f"{typed}\nenv | grep ^DASK_"
    done = subprocess.run(["bash", "-euc", script], cwd=tmp_path, capture_output=True, text=True, check=True)
    set_there = dict(line.partition("=")[::2] for line in done.stdout.splitlines())
    assert len(set_there) == 10
    as_there = dask.config.merge(dask.config.config, dask.config.collect_env(set_there))
    with dask.config.set(as_there), scheduler(protocol="tls", security=distributed.Security()) as address:
        with open_cluster(address) as client:
            assert client.submit(sum, [1, 2]).result() == 3
            port = client.scheduler_info()["services"]["dashboard"]
            with pytest.raises(HTTPError, match="404"):
                urlopen(f"http://127.0.0.1:{port}/info/main/workers.html", timeout=patience.SECONDS)
        assert "encryption required" in mistake(address.replace("tls:", "tcp:"))


def test_the_guides_schedulers_and_workers_can_be_typed() -> None:
    typed = [
        line
        for block in fenced(GUIDE, "text")
        for line in re.findall(r"\bdask ((?:scheduler|worker) .*[^ &\n])", block)
    ]
    commands = {"scheduler": dask_scheduler.main, "worker": dask_worker.main}
    for name, *words in map(shlex.split, typed):
        assert commands[name].make_context(name, words)
    assert len(typed) == 5


def test_an_address_without_tls_is_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    with scheduler() as address:
        elsewhere = address.replace("127.0.0.1", "0.0.0.0")  # leads here, and could lead elsewhere
        for where in (address, elsewhere):
            with open_cluster(where):
                pass
    (line,) = (record.getMessage() for record in caplog.records if record.name == "spa.cluster")
    assert line.startswith(f"cluster {elsewhere}: whoever can connect can run code")


def test_slurm_jobs_serve_and_are_cancelled(slurm: Path, tmp_path: Path) -> None:
    (tmp_path / "slurm.toml").write_text(TOML)
    with open_cluster(f"slurm:{tmp_path / 'slurm.toml'}") as client:
        client.wait_for_workers(2, timeout=patience.SECONDS)
        pids = client.run(os.getpid)
        threads = set(client.nthreads().values())
        assert client.submit(sum, [1, 2]).result() == 3
    jobs = [int(file.read_text()) for file in slurm.glob("*.pid")]
    assert (len(jobs), len(pids), threads) == (1, 2, {1})
    assert "#SBATCH -t 00:10:00" in next(slurm.glob("*.sh")).read_text()
    assert ends(lambda: any(map(runs, [*pids.values(), *jobs])))
    assert not list(tmp_path.glob(".spa-cluster*"))  # keys


def test_jobs_that_are_refused_or_wait_too_long_are_told(slurm: Path, tmp_path: Path) -> None:
    toml, yaml = tmp_path / "slurm.toml", tmp_path / "slurm.yaml"
    toml.write_text(TOML.replace("short", "nowhere"))
    expected = "jobs that sbatch takes, got sbatch: error: invalid partition specified: nowhere"
    assert mistake(f"slurm:{toml}") == f"{toml}: jobs: expected {expected}; change the file"
    yaml.write_text(YAML)
    assert mistake(f"slurm:{yaml}").startswith(f"cluster slurm:{yaml}: expected a first worker within 0.2 s, got none")
    (script,) = slurm.glob("*.sh")
    assert "#SBATCH --exclusive" in script.read_text()
    assert script.read_text().rindex("--nthreads 1") > script.read_text().index("--nthreads 2")  # the last one counts


@pytest.mark.parametrize(
    ("right", "wrong", "expected"),
    [
        ("jobs = 1", "", "slurm.toml: jobs: expected a whole number from 1, got None"),
        ("jobs = 1", "jobs = 0", "slurm.toml: jobs: expected a whole number from 1, got 0"),
        ("cores = 2", "cores = '2'", "slurm.toml: cores: expected a whole number from 1, got 2"),
        ("1 GB", "plenty", 'slurm.toml: memory: expected an amount such as "8 GB", got plenty'),
        ("30 seconds", "soon", 'slurm.toml: wait: expected a time such as "10 minutes", got soon'),
        ("queue", "kueue", "slurm.toml: kueue: expected jobs, wait or an argument of dask_jobqueue.SLURMCluster"),
        ("jobs = 1", "jobs =", "slurm.toml: expected TOML in UTF-8"),
        (
            "queue =",
            "shared_temp_directory =",
            "slurm.toml: shared_temp_directory: expected a folder that can be written",
        ),
        ("host", "hostess", "slurm.toml: arguments: expected what dask_jobqueue.SLURMCluster takes, got "),
    ],
)
def test_a_wrong_file_is_told(right: str, wrong: str, expected: str, tmp_path: Path) -> None:
    file = tmp_path / "slurm.toml"
    file.write_text(TOML.replace(right, wrong))
    assert mistake(f"slurm:{file}").startswith(str(tmp_path / expected))


@pytest.mark.parametrize("text", ["jobqueue: {pbs: {}}", "jobqueue: [", "- 1"])
def test_yaml_without_slurm_is_told(text: str, tmp_path: Path) -> None:
    file = tmp_path / "slurm.yaml"
    file.write_text(text)
    assert mistake(f"slurm:{file}").startswith(f"{file}: expected YAML with jobqueue: slurm:")


@pytest.mark.parametrize(
    ("where", "module", "extra"),
    [
        ("local", "distributed", "cluster"),
        ("tcp://h:1", "distributed", "cluster"),
        ("slurm:f", "dask_jobqueue", "slurm"),
    ],
)
def test_a_package_that_is_missing_is_told(
    where: str, module: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == module]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(PlatformError, match=rf'{module} is not installed; pip install "\.\[{extra}\]"'):
        open_cluster(where).__enter__()
