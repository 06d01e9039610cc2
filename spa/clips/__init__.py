"""Clips of sound and moving pictures: their neutral copies, made by processes that hostile files cannot harm."""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
import threading
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from spa.errors import StudyError, how_to_install

NEEDED = ("av", "pyloudnorm")
ROOT = Path(__file__).parents[2]
START = "import sys; sys.path.insert(0, {root!r}); from spa.clips.worker import serve; serve()"
ENDED = "which could not be decoded (the process that did it ended); convert it"


class Clip(NamedTuple):
    """The neutral copy of a clip, how long it lasts in seconds, and how loud it is in LUFS; see ``ClipCopy``."""

    content: bytes
    suffix: str
    seconds: float
    loudness: float | None
    marks: tuple[str, ...]


def copied_clip(content: bytes, *, pictures: bool) -> Clip:
    """Return the neutral copy of a clip, made in another process. May be called by several threads at once.

    Raise ValueError, with what is wrong and what to do, if it cannot be shown, and StudyError if the extra is missing.
    """
    if missing := next((name for name in NEEDED if find_spec(name) is None), None):
        raise StudyError(f"clips of sound and films need the package {missing}: {how_to_install('media')}")
    worker = _WORKERS.taken()
    while (found := worker.ask(content, pictures)) is None:
        worker.end()
        if worker.is_new:  # those that were idle may all have ended
            raise ValueError(ENDED)
        worker = _WORKERS.taken()
    _WORKERS.give_back(worker)
    said, copy = found
    if "error" in said:
        raise ValueError(said["error"])
    return Clip(copy, said["suffix"], said["seconds"], said["loudness"], tuple(said["marks"]))


def seconds_of_clip(path: Path, *, pictures: bool) -> float:
    """Return how long a clip lasts, decoded whole; 0 of one that cannot be read."""
    seen = path.stat()
    return _seconds_of(path, pictures, seen.st_mtime_ns, seen.st_size)


@lru_cache(maxsize=10_000)
def _seconds_of(path: Path, pictures: bool, *seen: int) -> float:
    return copied_clip(path.read_bytes(), pictures=pictures).seconds


class _Worker:
    """A process that makes copies, one at a time."""

    def __init__(self) -> None:
        self.is_new = True
        self._process = subprocess.Popen(
            [sys.executable, "-c", START.format(root=str(ROOT))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        )

    def ask(self, content: bytes, pictures: bool) -> tuple[dict[str, Any], bytes] | None:
        """Return what the process answers; ``None`` where it has ended."""
        asked, answer = self._process.stdin, self._process.stdout
        if asked is None or answer is None:
            return None
        try:
            asked.write(json.dumps({"pictures": pictures, "size": len(content)}).encode() + b"\n" + content)
            asked.flush()
            head = answer.readline()
            if not head:
                return None
            said: dict[str, Any] = json.loads(head)
            copy = answer.read(said.get("size", 0))
        except OSError:
            return None
        return (said, copy) if len(copy) == said.get("size", 0) else None

    def end(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.communicate()


class _Workers:
    """The processes that are idle, of the process that started them."""

    def __init__(self) -> None:
        self._lock, self._owner = threading.Lock(), os.getpid()
        self._idle: list[_Worker] = []
        self._inherited: list[_Worker] = []  # of the process that this one was forked from: neither used nor ended

    def taken(self) -> _Worker:
        with self._lock:
            self._keep_own()
            return self._idle.pop() if self._idle else _Worker()

    def give_back(self, worker: _Worker) -> None:
        worker.is_new = False
        with self._lock:
            self._keep_own()
            self._idle.append(worker)

    def _keep_own(self) -> None:
        if self._owner != os.getpid():
            self._inherited, self._owner, self._idle = self._idle, os.getpid(), []

    def end(self) -> None:
        with self._lock:
            if self._owner == os.getpid():
                for worker in self._idle:
                    worker.end()
            self._idle = []


_WORKERS = _Workers()
atexit.register(_WORKERS.end)
