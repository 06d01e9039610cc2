"""A Dask cluster to compute on: processes of this machine, SLURM jobs, or a scheduler that runs already."""

from __future__ import annotations

import asyncio
import importlib
import inspect
import json
import logging
import os
import re
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from spa.addresses import is_loopback
from spa.errors import PlatformError, expected_got, how_to_install, shortened, unreadable
from spa.files import read_toml

if TYPE_CHECKING:
    import distributed

ADDRESSES = '"local", "local:4", "slurm:FILE", "file:SCHEDULER.json", "tcp://HOST:8786" or "tls://HOST:8786"'
CONNECT_SECONDS = 10
WORKER_SECONDS = 60.0  # until there is a worker; a SLURM file may say otherwise
COMPARED = ("python", "spa-eval", "dask", "distributed", "numpy", "polars")
OF_A_SCHEDULER = ("python", "dask", "distributed")  # what it runs itself
SET_HERE = frozenset({
    "self", "scheduler", "name", "n_workers", "job_cls", "loop", "security", "silence_logs", "asynchronous",
    "dashboard_address", "host", "scheduler_cls", "config_name", "job_kwargs", "base_class_kwargs", "kwargs",
})  # fmt: skip
NO_DASHBOARD = {"dashboard": False, "dashboard_address": "127.0.0.1:0"}
NO_PAGES: dict[str, Any] = {"distributed.scheduler.http.routes": [], "distributed.worker.http.routes": []}
NO_PROFILE = {"distributed.worker.profile.enabled": False}  # of what workers do, which takes a fifteenth of their time
LOST_AFTER = {"distributed.deploy.lost-worker-timeout": "5 minutes"}  # until a worker that starts again is given up
WORKER_OPTIONS = ("--nthreads", "1", "--memory-limit", "0", "--no-dashboard")
log = logging.getLogger(__name__)


def is_local(where: str) -> bool:
    """Say whether all workers are processes of this machine, with its files.

    >>> [is_local(where) for where in ("local", "local:4", "slurm:jobs.toml", "tcp://localhost:8786")]
    [True, True, False, False]
    """
    return where.partition(":")[0] == "local"


@contextmanager
def open_cluster(where: str) -> Iterator[distributed.Client]:
    """Yield a client of a cluster that has a worker, and the same versions everywhere.

    Workers that were started here end with the context, and with this process however it ends. A scheduler at an
    address stays, as do its workers.

    Parameters
    ----------
    where : str
        "local" (a process for each core), "local:N", "slurm:FILE", "file:FILE" (the file that
        ``dask scheduler --scheduler-file`` writes), "tcp://HOST:PORT" or "tls://HOST:PORT". FILE of SLURM: TOML with
        ``jobs``, ``wait`` (for the first worker: "1 minute") and arguments of ``dask_jobqueue.SLURMCluster``, or Dask's
        YAML with the same in ``jobqueue: slurm:``.

    Yields
    ------
    distributed.Client
        It is not made the default client of the process.

    Raises
    ------
    PlatformError
        If Dask is missing, the place is none, nobody answers within 10 s, TLS files do not fit, no worker comes, or
        one of those that have come has several threads or another version of Python, spa-eval, dask, distributed,
        numpy or polars.
    """
    kind, _, rest = where.partition(":")
    with ExitStack() as stack:
        if kind == "local":
            cluster = stack.enter_context(_local_cluster(where, rest))
            client = stack.enter_context(_client(cluster))
            wait = WORKER_SECONDS
        elif kind == "slurm":
            cluster, wait = stack.enter_context(_slurm_cluster(Path(rest)))
            client = stack.enter_context(_client(cluster))
        else:
            client = stack.enter_context(_client(_reached(_address(where, kind, rest))))
            wait = WORKER_SECONDS
        _wait_for_a_worker(client, where, wait)
        refuse_unfit_workers(client)
        yield client


def refuse_unfit_workers(client: distributed.Client) -> None:
    """Raise if a worker or the scheduler runs other versions than this process, or a worker several threads.

    Raises
    ------
    PlatformError
        Naming the first such worker.
    """
    for problem in unfit_workers(client).values():
        raise PlatformError(problem)


def unfit_workers(client: distributed.Client) -> dict[str, str]:
    """Return what is wrong with each worker that cannot be used, by its address; the scheduler's is ""."""
    unfit: dict[str, str] = {}
    for worker, threads in sorted(client.nthreads().items()):  # type: ignore[no-untyped-call]
        if threads > 1:  # tasks keep what they have opened in their process, and change its settings
            do = "start it with --nthreads 1, and with --nworkers for more at once"
            unfit[worker] = expected_got(f"worker {worker} of the cluster", "one thread", threads, do)
    found: Any = client.get_versions(packages=list(COMPARED[1:]))
    here = _versions(found["client"])
    nodes = {"": {**here, **_versions(found["scheduler"], OF_A_SCHEDULER)}}
    nodes |= {address: _versions(worker) for address, worker in sorted(found["workers"].items())}
    others = {address: versions for address, versions in nodes.items() if versions != here}
    more = f" (and {len(others) - 1} more with other versions)" if len(others) > 1 else ""
    for address, versions in others.items():
        differing = [name for name in COMPARED if versions[name] != here[name]]
        expected, got = (", ".join(f"{name} {each[name]}" for name in differing) for each in (here, versions))
        node = f"worker {address}" if address else "the scheduler"
        unfit[address] = expected_got(
            f"{node} of the cluster", f"{expected} as here", f"{got}{more}", "install the same there"
        )
    return unfit


def _versions(node: Mapping[str, Any], names: tuple[str, ...] = COMPARED) -> dict[str, str | None]:
    packages = node["packages"]
    python = ".".join(packages["python"].split(".")[:2])  # 3.11.4 and 3.11.9 read each other's pickles
    return {name: python if name == "python" else packages.get(name) for name in names}


@contextmanager
def _local_cluster(where: str, number: str) -> Iterator[distributed.LocalCluster]:
    if where != "local" and not (number.isdecimal() and int(number)):
        raise PlatformError(expected_got("cluster", ADDRESSES, shortened(where), 'as in "local:4"'))
    distributed = _module("distributed", "cluster")
    dask = _module("dask", "cluster")
    _module("cryptography", "cluster")  # makes the certificates
    with (
        dask.config.set({**NO_PAGES, **NO_PROFILE, **LOST_AFTER}),
        distributed.LocalCluster(
            n_workers=int(number) if number else dask.system.CPU_COUNT,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            security=distributed.Security.temporary(),  # any user of this machine could connect, and run code
            memory_limit=0,  # a worker that holds a model is neither paused nor killed
            dashboard_address=None,
            worker_dashboard_address=None,
            scheduler_kwargs=NO_DASHBOARD,
            silence_logs=logging.CRITICAL,
        ) as cluster,
    ):
        yield cluster


@contextmanager
def _slurm_cluster(file: Path) -> Iterator[tuple[Any, float]]:
    """Yield a cluster whose jobs are submitted, and how long to wait for its first worker."""
    jobqueue = _module("dask_jobqueue", "slurm")
    distributed = _module("distributed", "cluster")
    arguments = _slurm_arguments(file, jobqueue.SLURMCluster)
    jobs, wait = arguments.pop("jobs"), arguments.pop("wait")
    job, refused = jobqueue.slurm.SLURMJob, []

    async def submit(self: Any) -> None:
        try:
            await job.start(self)
        except (RuntimeError, ValueError, OSError) as error:  # else it would be printed, and nobody told
            refused.append(str(error).rpartition("stderr:")[2].strip())
            self.status = distributed.Status.failed

    with _security_of_jobs(arguments.pop("shared_temp_directory")) as security:
        try:
            with _module("dask", "cluster").config.set(NO_PAGES):
                cluster = jobqueue.SLURMCluster(
                    **arguments,
                    job_cls=type("SubmittedJob", (job,), {"start": submit}),
                    security=security,
                    silence_logs=logging.CRITICAL,
                )
        except (TypeError, ValueError, RuntimeError, OSError) as error:
            raise _unfit(file, "arguments", "what dask_jobqueue.SLURMCluster takes", error) from error
        with cluster:
            cluster.scale(jobs=jobs)
            cluster.sync(cluster._correct_state)  # returns once all are submitted
            if refused:
                raise _unfit(file, "jobs", "jobs that sbatch takes", refused[0], "change the file")
            yield cluster, wait


@contextmanager
def _security_of_jobs(folder: str) -> Iterator[Any]:
    """Yield the TLS of Dask's configuration, or certificates of this run, in files that the workers read."""
    security = _module("distributed", "cluster").Security()
    if security.tls_ca_file:
        yield security
        return
    _module("cryptography", "cluster")
    security = security.temporary()
    with tempfile.TemporaryDirectory(prefix=".spa-cluster-", dir=folder) as private:
        for attribute in ("tls_ca_file", "tls_worker_cert", "tls_worker_key"):
            file = Path(private, f"{attribute}.pem")
            file.write_text(getattr(security, attribute))
            setattr(security, attribute, str(file))
        yield security


def _slurm_arguments(file: Path, cluster: Any) -> dict[str, Any]:
    """Return what a file says, as arguments of ``SLURMCluster`` beside ``jobs`` and ``wait``."""
    utils = _module("dask.utils", "cluster")
    read = _jobqueue_yaml(file) if file.suffix in (".yaml", ".yml") else read_toml(file)
    table: dict[str, Any] = {name.replace("-", "_"): value for name, value in read.items() if value is not None}
    classes = (*cluster.__mro__[:2], *cluster.job_cls.__mro__[:2])
    known = {name for each in classes for name in inspect.signature(each.__init__).parameters} - SET_HERE
    for name in table.keys() - known - {"jobs", "wait"}:
        raise _unfit(file, name, "jobs, wait or an argument of dask_jobqueue.SLURMCluster", "this key", "remove it")
    for name in ("jobs", "cores", "processes"):
        table.setdefault("processes", table.get("cores"))  # one thread a worker
        if not isinstance(number := table.get(name), int) or number < 1:
            raise _unfit(file, name, "a whole number from 1", number)
    try:
        utils.parse_bytes(table.get("memory"))
    except (TypeError, ValueError, AttributeError):
        raise _unfit(file, "memory", 'an amount such as "8 GB"', table.get("memory")) from None
    try:
        table["wait"] = float(utils.parse_timedelta(table.get("wait", WORKER_SECONDS)))
    except (TypeError, ValueError, KeyError):
        raise _unfit(file, "wait", 'a time such as "10 minutes"', table["wait"]) from None
    table["worker_extra_args"] = [*table.get("worker_extra_args", ()), *WORKER_OPTIONS]
    table["scheduler_options"] = {**NO_DASHBOARD, **table.get("scheduler_options", {})}
    folder = table.setdefault("shared_temp_directory", str(file.parent.resolve()))  # of certificates, for the workers
    if not os.access(folder, os.W_OK):
        raise _unfit(file, "shared_temp_directory", "a folder that can be written to", folder)
    return table


def _jobqueue_yaml(file: Path) -> dict[str, Any]:
    yaml = _module("yaml", "cluster")
    try:
        read = yaml.safe_load(file.read_text(encoding="utf-8"))
        return dict(read["jobqueue"]["slurm"])
    except OSError as error:
        raise PlatformError(unreadable(file, error)) from error
    except (ValueError, KeyError, TypeError, yaml.YAMLError) as error:
        got = " ".join(str(error).split())
        raise PlatformError(expected_got(str(file), "YAML with jobqueue: slurm: ...", got, "change it")) from error


def _unfit(file: Path, name: str, expected: str, got: object, do: str = "change it") -> PlatformError:
    return PlatformError(expected_got(f"{file}: {name}", expected, shortened(got, 200), do))


def _address(where: str, kind: str, rest: str) -> str:
    """Return the address of a scheduler, from its file or as it was given."""
    if kind == "file":
        try:
            where = json.loads(Path(rest).read_text(encoding="utf-8"))["address"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            expected = "the file that dask scheduler --scheduler-file writes"
            raise PlatformError(expected_got(rest, expected, error, "start the scheduler first")) from error
    try:
        url = urlsplit(where)
        complete = url.scheme in ("tcp", "tls") and url.hostname and url.port
    except ValueError:
        complete = False
    if not complete:
        raise PlatformError(expected_got("cluster", ADDRESSES, shortened(where), "name one of these"))
    return where


def _reached(address: str) -> str:
    """Return an address at which a scheduler answers; warn where anybody may connect to it."""
    core = _module("distributed.comm.core", "cluster")
    security = _client_security(address)

    async def connect() -> None:
        comm = await core.connect(address, timeout=CONNECT_SECONDS, **security.get_connection_args("client"))
        await comm.close()

    try:
        asyncio.run(asyncio.wait_for(connect(), CONNECT_SECONDS))
    except (OSError, TypeError, ValueError, RuntimeError, TimeoutError) as error:
        said = re.sub(r"^in <.*?>: ", "", str(error.__cause__ or error))  # Dask's own objects
        got = shortened(said or f"no answer within {CONNECT_SECONDS} s", 200)
        do = "start it, or correct the address, firewall or TLS settings"
        raise PlatformError(expected_got(f"cluster {address}", "a Dask scheduler that answers", got, do)) from error
    if not (address.startswith("tls:") or is_loopback(address)):
        log.warning("cluster %s: whoever can connect can run code on all machines; use TLS (tls://)", address)
    return address


def _client_security(address: str) -> Any:
    """Return the TLS files of Dask's configuration, which are there and fit together."""
    security = _module("distributed", "cluster").Security()
    files = {
        "ca-file": security.tls_ca_file,
        "client.cert": security.tls_client_cert,
        "client.key": security.tls_client_key,
    }
    for name, file in files.items():
        place = f"distributed.comm.tls.{name} of Dask's configuration"
        if file is None and address.startswith("tls:") and name != "client.key":
            do = f"set it, or DASK_DISTRIBUTED__COMM__TLS__{name.replace('.', '__').replace('-', '_').upper()}"
            raise PlatformError(expected_got(place, f"a PEM file for {address}", "none", do))
        if file is not None and not Path(file).is_file():
            raise PlatformError(expected_got(place, "a PEM file", f"{file}, which is not there", "change it"))
    try:
        security.get_connection_args("client")
    except (OSError, ValueError) as error:
        place = f"distributed.comm.tls ({', '.join(str(file) for file in files.values() if file)})"
        raise PlatformError(expected_got(place, "a certificate and its key in PEM", error, "change them")) from error
    return security


@contextmanager
def _client(cluster: Any) -> Iterator[distributed.Client]:
    distributed = _module("distributed", "cluster")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", distributed.versions.VersionMismatchWarning)  # refused below, in one line
        client = distributed.Client(cluster, timeout=CONNECT_SECONDS, set_as_default=False)
    with distributed.utils.silence_logging_cmgr(logging.CRITICAL), client:  # else a lost scheduler fills the screen
        yield client


def _wait_for_a_worker(client: distributed.Client, where: str, wait: float) -> None:
    try:
        client.wait_for_workers(1, timeout=wait)
    except TimeoutError as error:
        do = "see squeue and the jobs' logs, or let wait be longer" if where.startswith("slurm:") else "start workers"
        raise PlatformError(
            expected_got(f"cluster {where}", f"a first worker within {wait:g} s", "none", do)
        ) from error


def _module(name: str, extra: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as missing:
        raise PlatformError(
            f"--cluster: {name.partition('.')[0]} is not installed; {how_to_install(extra)}"
        ) from missing
