"""Tests in several processes, forked after everything was imported and collected once: ``-p tests.forked_workers``.

With ``--processes N`` pytest collects the tests as always, then forks as many processes, which share the memory of all
that is loaded. Each is given the tests of one group (``pytest.mark.one_process``, or a test by itself) after another,
and sends back its reports. pytest-xdist starts each of its processes anew, which imports and collects everything: a
tenth of all the work of this suite. A process that dies fails the test it was at, and another goes on with the rest.
"""

from __future__ import annotations

import atexit
import gc
import os
import sys
import traceback
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from multiprocessing import forkserver, get_context
from multiprocessing.connection import Connection, wait
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from _pytest.config import create_terminal_writer
from hypothesis import given
from hypothesis.strategies import text

from tests.warm import LOADED, LOADED_IN_CLUSTERS, SERVED

WORKER = "FORKED_WORKER"  # environment variable in each of the processes
MARK = "one_process"
MANY = 1000  # tests, from which on some surely need each of these
PRELOADED = ("scipy.stats", "statsmodels.api", "altair", "vl_convert", "analysis.report", *LOADED)
IDLE = {"jemalloc_bg_thd", "polars-ooc-clea"}  # threads that an import of polars begins, which a fork may lack
OF_THE_FIRST: list[object] = []  # whose end would remove what the first process still uses
Unit = tuple[int, ...]  # places of items that one process runs one after another


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--processes``."""
    group = parser.getgroup("forked workers")
    group.addoption("--processes", default="1", metavar="N", help="processes in which the tests run; auto: by cores")


def count_processes(wanted: str) -> int:
    """Return how many processes are wanted; as much of a test's time it waits for another program, three a core."""
    if not hasattr(os, "fork"):
        return 1
    return min(3 * (os.cpu_count() or 1), 8) if wanted == "auto" else int(wanted)


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Let libraries compute in one thread, where several processes are wanted: others begin as they are imported."""
    if count_processes(early_config.known_args_namespace.processes) > 1:
        for name in ("OMP_NUM_THREADS", "POLARS_MAX_THREADS"):
            os.environ.setdefault(name, "1")


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """Run the tests in forked processes, where several are wanted."""
    number = count_processes(session.config.option.processes)
    errors = session.testsfailed and not session.config.option.continue_on_collection_errors
    if number < 2 or session.config.option.collectonly or errors:
        return None
    terminal = session.config.pluginmanager.get_plugin("terminalreporter")
    if terminal is not None:
        terminal.showfspath = False  # reports of several files come at once
    if len(session.items) > MANY:
        load_what_many_need()
    if busy := running_threads() - IDLE:
        told = "a test file computes while it is imported, and a process cannot be forked in the middle of that"
        raise pytest.UsageError(f"{told} (threads {', '.join(sorted(busy))}); let a function or a fixture do it")
    Workers(session, number).run()
    return True


def running_threads() -> set[str]:
    """Return the names of the threads that this process has beside its first."""
    folder = Path("/proc/self/task")
    others = [thread for thread in folder.glob("*") if thread.name != str(os.getpid())]
    return {(thread / "comm").read_text().strip() for thread in others}


def load_what_many_need() -> None:
    """Import what most processes would import, and start the server of forks that :mod:`tests.warm` needs."""
    forkserver.set_forkserver_preload([*LOADED, *LOADED_IN_CLUSTERS, *SERVED])
    forkserver.ensure_running()
    running: Any = forkserver._forkserver  # type: ignore[attr-defined]
    os.register_at_fork(after_in_child=lambda: setattr(running, "ensure_running", lambda: None))  # no child of theirs
    for name in PRELOADED:
        if find_spec(name.partition(".")[0]) is not None:
            import_module(name)
    from pydantic import ValidationError

    from analysis.results.files import from_plain

    with suppress(ValidationError):
        from_plain({})  # pydantic makes what it needs of all results at the first that is read, in a second
    given(text(max_size=1))(lambda _: None)()  # its tables of characters are made at the first example
    gc.collect()
    gc.freeze()  # as what was collected: all that lies in memory by now stays


def units_of(items: Sequence[pytest.Item]) -> Iterator[Unit]:
    """Yield what one process runs at a stretch: first what holds slow tests, then groups, last single tests."""
    groups: dict[str, list[int]] = {}
    for place, item in enumerate(items):
        mark = item.get_closest_marker(MARK)
        groups.setdefault(f"group {mark.args[0]}" if mark else f"test {place}", []).append(place)
    slow = {name for name, places in groups.items() if any(items[place].get_closest_marker("slow") for place in places)}
    yield from (tuple(groups[name]) for name in sorted(groups, key=lambda name: (name not in slow, -len(groups[name]))))


class Workers:
    """The processes of one run, and what is left to do."""

    def __init__(self, session: pytest.Session, number: int) -> None:
        self.session = session
        self.hook = session.config.hook
        self.left = deque(units_of(session.items))
        self.number = min(number, len(self.left))
        self.at_work: list[Worker] = []
        self.begun = 0

    def run(self) -> None:
        """Run everything; stops where pytest says so."""
        try:
            for _ in range(self.number):
                self._begin()
            while self.at_work:
                self._listen()
        finally:
            for worker in self.at_work:
                worker.process.kill()
            for worker in self.at_work:
                worker.process.join()

    def _begin(self) -> None:
        worker = Worker(self.session, f"w{self.begun}", others=[known.end for known in self.at_work])
        self.begun += 1
        self.at_work.append(worker)
        worker.give(self._next())
        worker.give(self._next())

    def _next(self) -> Unit | None:
        return self.left.popleft() if self.left else None

    def _listen(self) -> None:
        ends = {worker.end: worker for worker in self.at_work}
        for end in wait(list(ends)):
            worker = ends[end]  # type: ignore[index]
            try:
                kind, what = worker.end.recv()
            except (EOFError, ConnectionError):
                self._bury(worker)
                continue
            if kind == "begins":
                worker.at = what
                item = self.session.items[what]
                self.hook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
            elif kind == "ended":
                place, reports = what
                for data in reports:
                    report = self.hook.pytest_report_from_serializable(config=self.session.config, data=data)
                    self._pass_on(worker, report)
                item = self.session.items[place]
                self.hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
            elif kind == "unit":
                worker.given.popleft()
                worker.at = None
                if worker.given and worker.given[-1] is not None:
                    worker.give(self._next())
            elif kind == "broken":
                worker.told = what
            else:
                raise self.session.Interrupted(what)

    def _pass_on(self, worker: Worker, report: pytest.TestReport) -> None:
        report.node = worker.node  # type: ignore[attr-defined]
        self.hook.pytest_runtest_logreport(report=report)
        if self.session.shouldfail:
            raise self.session.Failed(self.session.shouldfail)
        if self.session.shouldstop:
            raise self.session.Interrupted(self.session.shouldstop)

    def _bury(self, worker: Worker) -> None:
        """Let a test fail whose process died, and another process do what that one had still to do."""
        worker.process.join()
        self.at_work.remove(worker)
        waiting = [unit for unit in worker.given if unit is not None]
        if worker.at is not None:
            item = self.session.items[worker.at]
            told = f"{worker.told}the process that ran this test ended with {worker.process.exitcode}"
            report = pytest.TestReport(item.nodeid, item.location, {}, "failed", told, "call")
            waiting[0] = waiting[0][waiting[0].index(worker.at) + 1 :]
            self._pass_on(worker, report)
        self.left.extendleft(unit for unit in reversed(waiting) if unit)
        if self.left:
            self._begin()


class Worker:
    """A forked process, seen from the one that gives it work."""

    def __init__(self, session: pytest.Session, name: str, *, others: Sequence[Connection]) -> None:
        told = {"id": name, "sysplatform": sys.platform, "version_info": sys.version_info, "executable": sys.executable}
        self.node = SimpleNamespace(gateway=SimpleNamespace(id=name), workerinfo=told)  # as pytest shows it
        self.at: int | None = None  # place of the item that runs
        self.told = ""  # why it ended early
        self.given: deque[Unit | None] = deque()
        context = get_context("fork")
        self.end, inside = context.Pipe()
        self.process = context.Process(target=_work, args=(session, name, inside, (self.end, *others)))
        self.process.start()
        inside.close()

    def give(self, unit: Unit | None) -> None:
        """Give the tests that come after those which it has; None: there are no more."""
        if self.given and self.given[-1] is None:
            return
        self.given.append(unit)
        try:
            self.end.send(unit)
        except ConnectionError:
            return  # it died, which is seen when its reports are read


def _work(session: pytest.Session, name: str, end: Connection, others: Sequence[Connection]) -> None:
    """Run what comes in, until there is no more."""
    for other in others:
        other.close()
    atexit._clear()  # what the first process registered is its own to do
    os.environ[WORKER] = name
    _begin_anew(session.config, name)
    kept = _Kept(session.config)
    session.config.pluginmanager.register(kept)
    try:
        unit: Unit | None = end.recv()
        while unit is not None:
            following: Unit | None = end.recv()
            for place, after in zip(unit, (*unit[1:], following[0] if following else None), strict=True):
                end.send(("begins", place))
                item, then = session.items[place], None if after is None else session.items[after]
                session.config.hook.pytest_runtest_protocol(item=item, nextitem=then)
                end.send(("ended", (place, kept.taken())))
            end.send(("unit", None))
            unit = following
        atexit._run_exitfuncs()
    except pytest.exit.Exception as left:
        end.send(("exit", str(left)))
    except (KeyboardInterrupt, EOFError, ConnectionError):
        os._exit(130)
    except BaseException:
        end.send(("broken", traceback.format_exc()))
        raise


def _begin_anew(config: pytest.Config, name: str) -> None:
    """Part from the first process: its captured output, its terminal, its temporary folders."""
    capture = config.pluginmanager.getplugin("capturemanager")
    capture.stop_global_capturing()
    capture.start_global_capturing()
    capture.suspend_global_capture()
    config.pluginmanager.unregister(name="terminalreporter")
    nowhere = open(os.devnull, "w", encoding="utf-8")  # as long as the process lives
    config.pluginmanager.register(SimpleNamespace(_tw=create_terminal_writer(config, nowhere)), "terminalreporter")
    folders = config._tmp_path_factory  # type: ignore[attr-defined]
    folders._basetemp = folders.getbasetemp() / name
    folders._basetemp.mkdir(mode=0o700)
    apps: Any = sys.modules.get("streamlit.testing.v1.app_test")
    if apps is not None:  # the scripts of apps lie in files named by their text
        OF_THE_FIRST.append(apps.TMP_DIR)
        apps.TMP_DIR = SimpleNamespace(name=str(folders._basetemp / "apps"))
        Path(apps.TMP_DIR.name).mkdir()


class _Kept:
    """Keeps the reports of a test for the first process, which gets them together."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.reports: list[dict[str, Any] | None] = []

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Keep what a test did."""
        self.reports.append(self.config.hook.pytest_report_to_serializable(config=self.config, report=report))

    def taken(self) -> list[dict[str, Any] | None]:
        """Return what was kept, which is then no longer."""
        reports, self.reports = self.reports, []
        return reports
