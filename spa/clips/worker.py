"""A process that makes copies of clips, each in a child of its own with limits of time and memory.

What it reads: a line of JSON ``{"pictures": ..., "size": bytes}`` and the clip. What it writes: a line of JSON with
``error``, or with what :class:`~spa.clips.sound.ClipCopy` holds, and the copy.
"""

from __future__ import annotations

import json
import os
import select
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

IDLE = 60.0  # seconds without work after which it ends
SECONDS, SECONDS_A_MEGABYTE, MOST_SECONDS = 60, 30, 1800  # of processor time that a clip may take
MEMORY, TIMES = 3 << 30, 4  # bytes that a clip may take beside those of the process, and times its own
KILLED = "which took too long or too much memory to decode; convert it"


def serve() -> None:
    """Make copies until the input ends, or nothing has been asked for a while."""
    import av  # noqa: F401  # loaded once, before children are made
    import numpy  # noqa: F401
    import pyloudnorm  # noqa: F401

    from spa.clips import neutral_clip  # noqa: F401

    source, target = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    with tempfile.TemporaryDirectory(prefix="spa-clips-") as folder:
        while select.select([source], [], [], IDLE)[0]:
            line = source.readline()
            if not line:
                return
            asked = json.loads(line)
            content = source.read(asked["size"])
            if len(content) < asked["size"]:
                return
            _write(target, *_limited(content, Path(folder), asked["pictures"]))


def _limited(content: bytes, folder: Path, pictures: bool) -> tuple[dict[str, Any], bytes]:
    """Return what a child makes of a clip."""
    if not hasattr(os, "fork"):
        return _made(content, folder, pictures)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        with suppress(BaseException):
            os.close(reading)
            _set_limits(len(content))
            with os.fdopen(writing, "wb") as pipe:
                _write(pipe, *_made(content, folder, pictures))
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        answer = pipe.read()
    os.waitpid(child, 0)
    for left in folder.iterdir():
        left.unlink()
    head, _, copy = answer.partition(b"\n")
    try:
        found = json.loads(head)
    except ValueError:
        return {"error": KILLED}, b""
    return (found, copy) if len(copy) == found.get("size", 0) else ({"error": KILLED}, b"")


def _made(content: bytes, folder: Path, pictures: bool) -> tuple[dict[str, Any], bytes]:
    from spa.clips.neutral_clip import neutral_clip
    from spa.clips.sound import ClipError

    try:
        copy = neutral_clip(content, folder, pictures=pictures)
    except ClipError as error:
        return {"error": str(error)}, b""
    except MemoryError:
        return {"error": KILLED}, b""
    found = {"suffix": copy.suffix, "seconds": copy.seconds, "loudness": copy.loudness, "marks": copy.marks}
    return {**found, "size": len(copy.content)}, copy.content


def _set_limits(size: int) -> None:
    import resource

    seconds = min(MOST_SECONDS, SECONDS + SECONDS_A_MEGABYTE * (size >> 20))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    pages = int(Path("/proc/self/statm").read_text().split()[0]) if Path("/proc/self/statm").exists() else 0
    most = pages * os.sysconf("SC_PAGE_SIZE") + MEMORY + TIMES * size
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _write(target: BinaryIO, found: dict[str, Any], copy: bytes) -> None:
    target.write(json.dumps(found).encode() + b"\n" + copy)
    target.flush()
