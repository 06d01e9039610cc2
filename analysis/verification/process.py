"""A process of its own, which loads the libraries while answers are read and computes figures when they are known."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from threading import Thread
from types import TracebackType
from typing import Self

from analysis.verification.calls import Reply
from analysis.verification.outcome import Gathered, Verification, outcome_of
from analysis.verification.worker import WHEN_ASKED

COMMAND = (sys.executable, "-P", "-m", "analysis.verification.worker")
ROOT = Path(__file__).resolve().parents[2]


class Verifier:
    """Computes the figures of one report again.

    :meth:`load` begins the process, which loads the libraries; :meth:`start` sends it the claims (without :meth:`load`
    to a process that loads what they call), :meth:`finish` waits for the outcome. Whatever happens, it is gone when
    this is left. One that is ``thorough`` takes a sample of large tables, too, which takes as long again as their
    report.
    """

    def __init__(self, *, thorough: bool = False) -> None:
        self.thorough = thorough
        self._process: subprocess.Popen[bytes] | None = None
        self._gathered: Gathered | None = None
        self._reply: list[bytes] = []

    def __enter__(self) -> Self:
        """Begin nothing yet."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def load(self, *options: str) -> None:
        """Begin the process, while answers are read."""
        paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
        self._process = subprocess.Popen(
            [*COMMAND, *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(paths), "OMP_NUM_THREADS": "1"},
        )

    @property
    def started(self) -> bool:
        """Whether there are claims."""
        return self._gathered is not None

    def start(self, gathered: Gathered) -> None:
        """Send what is to be computed, and go on."""
        self._gathered = gathered
        if self._process is None:
            self.load(WHEN_ASKED)
        told = pickle.dumps([(claim.call, dict(claim.numbers)) for claim in gathered.claims])
        self._thread = Thread(target=self._ask, args=(told,), daemon=True)
        self._thread.start()

    def _ask(self, told: bytes) -> None:
        assert self._process is not None
        self._reply.append(self._process.communicate(told)[0])

    def finish(self) -> Verification:
        """Return what came of it."""
        assert self._gathered is not None
        self._thread.join()
        replies: Sequence[Reply] = ["no_process"] * len(self._gathered.claims)
        versions: dict[str, str] = {}
        if self._reply and self._reply[0]:  # it wrote all or nothing
            replies, versions = pickle.loads(self._reply[0])
        return outcome_of(self._gathered, replies, versions)
