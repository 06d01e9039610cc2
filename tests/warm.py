"""Processes of the command line that are forked from one which has loaded what they share, once for all of them.

Each is a process of its own that can be signalled, killed and waited for; that ``spa`` itself starts, is imported and
ends as a user's does is seen where the start is the point.
"""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from io import TextIOWrapper
from multiprocessing import get_context, reduction
from multiprocessing.context import ForkServerContext
from types import ModuleType
from typing import Any

from tests import patience

LOADED = [  # what nearly every command and server needs: its import is most of the work of a short one
    "scipy.stats",
    "analysis.planning.conclusions",
    "analysis.report",
    "mturk.endpoint.app",
    "mturk.collecting",
    "prolific.rehearse.rehearsal",
    "spa.cli",
    "spa.commands.workspace",
    "spa.raters.endpoints.http_endpoint",
    "spa.server.app",
    "sqlalchemy.dialects.sqlite",
    "tests.warm",
]
LOADED_IN_CLUSTERS = [  # what those need who rate on a cluster
    "distributed.nanny",
    "numpy.random",
    "rich.progress",
    "spa.commands.rate",
    "spa.forms.build",
    "spa.raters.cluster.coordinator",
    "spa.raters.run",
    "sqlalchemy.dialects.postgresql.psycopg",
]
SERVED = ["altair", "pandas", "pyarrow", "streamlit.starlette", "streamlit.web.bootstrap"]  # what each dashboard needs


class WarmProcess:
    """``spa`` with some words, as far as tests use a ``subprocess.Popen``.

    Parameters
    ----------
    words : sequence of str
        What is typed after ``spa``.
    environment : mapping, optional
        Of the process; by default that of the caller.
    output : int, optional
        File descriptor to which it prints, errors too; by default to ``stdout``, which is read here.
    alone : bool
        Whether it leads a group of processes of its own.
    prepare : callable, optional
        What it calls before it begins; a function of a module.
    """

    def __init__(
        self,
        words: Sequence[object],
        *,
        environment: Mapping[str, str] | None = None,
        output: int | None = None,
        alone: bool = False,
        prepare: Callable[[], None] | None = None,
    ) -> None:
        self.args = [str(word) for word in words]
        self.stdout: TextIOWrapper | None = None
        given = output
        if given is None:
            source, given = os.pipe()
            self.stdout = os.fdopen(source, encoding="utf-8", errors="replace")
        everything = dict(os.environ if environment is None else environment)
        self._process = _starting().Process(target=_run, args=(self.args, everything, _Handed(given), alone, prepare))
        main = sys.modules["__main__"]
        sys.modules["__main__"] = ModuleType("__main__")  # where AppTest leaves its script, which would be run
        try:
            self._process.start()
        finally:
            sys.modules["__main__"] = main
            if output is None:
                os.close(given)
        assert self._process.pid is not None
        self.pid: int = self._process.pid

    @property
    def returncode(self) -> int | None:
        """How it ended: minus the signal where one ended it."""
        return self._process.exitcode

    def poll(self) -> int | None:
        """Return how it ended, None while it runs."""
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end."""
        self._process.join(timeout)
        if self._process.exitcode is None:
            raise subprocess.TimeoutExpired(self.args, timeout or 0.0)
        return self._process.exitcode

    def send_signal(self, number: signal.Signals) -> None:
        """Send a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """Kill it."""
        self.send_signal(signal.SIGKILL)

    def communicate(self) -> tuple[str, str]:
        """Read all that it prints, and wait for its end."""
        said = ""
        if self.stdout is not None and not self.stdout.closed:
            with self.stdout:
                said = self.stdout.read()
        self.wait()
        return said, ""


def share_certificates() -> None:
    """Read the system's certificates once, not for each HTTP client: that takes longer than most requests.

    Processes that are forked later have them.
    """
    try:
        import httpcore2
    except ModuleNotFoundError:
        return
    read = httpcore2.default_ssl_context

    @cache
    def shared(file: str | None, folder: str | None, trust_env: bool) -> Any:
        return read(_trust_env=trust_env)

    def certificates(*, _trust_env: bool = True) -> Any:
        return shared(os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"), _trust_env)

    for trusts in (True, False):
        certificates(_trust_env=trusts)
    httpcore2.default_ssl_context = certificates


def be_patient() -> None:
    """Let HTTP clients that do not say how long they wait do so as long as a busy machine needs, not for 5 s."""
    try:
        from httpx2._config import DEFAULT_TIMEOUT_CONFIG
    except ModuleNotFoundError:
        return
    for what in ("connect", "read", "write", "pool"):
        setattr(DEFAULT_TIMEOUT_CONFIG, what, patience.SECONDS)


@cache
def _starting() -> ForkServerContext:
    context = get_context("forkserver")
    context.set_forkserver_preload([*LOADED, *SERVED])
    return context


class _Handed:
    """A file descriptor on its way to a process."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __reduce__(self) -> tuple[Callable[[Any], int], tuple[Any]]:
        return _taken, (reduction.DupFd(self.number),)


def _taken(handed: Any) -> int:
    return int(handed.detach())


def _run(
    words: list[str],
    environment: Mapping[str, str],
    output: int,
    alone: bool,
    prepare: Callable[[], None] | None,
) -> None:
    """Become ``spa``: its words, environment and output."""
    if alone:
        os.setsid()
    os.environ.clear()
    os.environ.update(environment)
    for number, given in ((0, os.open(os.devnull, os.O_RDONLY)), (1, output), (2, output)):
        os.dup2(given, number)
    sys.stdin = os.fdopen(0, closefd=False)
    sys.stdout, sys.stderr = (os.fdopen(number, "w", 1, closefd=False) for number in (1, 2))
    sys.argv = ["spa", *words]
    gc.freeze()
    if prepare is not None:
        prepare()
    from spa.cli import main

    main()


share_certificates()
be_patient()
