"""``spa mturk serve`` as a process of its own, for tests that kill it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
from botocore.config import Config

from tests.warm import WarmProcess

PATIENCE = 120.0  # seconds; a busy machine is no defect


@dataclass(kw_only=True)
class Server:
    """A running process and what it said."""

    process: subprocess.Popen[str] | WarmProcess
    url: str
    key: dict[str, str]

    def client(self, **config: Any) -> Any:
        """Return a boto3 client that tries nothing twice."""
        return boto3.client(
            "mturk",
            region_name="us-east-1",
            endpoint_url=self.url,
            aws_access_key_id=self.key["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=self.key["AWS_SECRET_ACCESS_KEY"],
            config=Config(**{"retries": {"total_max_attempts": 1}, **config}),
        )

    def end(self, how: signal.Signals = signal.SIGKILL) -> int:
        """End the process, and what traces it, and return the exit code."""
        os.killpg(self.process.pid, how)
        return self.process.wait(PATIENCE)


@contextmanager
def serving(store: str | Path, *options: str, before: tuple[str, ...] = ()) -> Iterator[Server]:
    """Yield an emulator that serves a store; ``before`` is what its command line begins with, such as strace."""
    words = ["mturk", "serve", str(store), "--emulate", "--port", "0", *options]
    process: subprocess.Popen[str] | WarmProcess
    if before:
        process = subprocess.Popen(
            [*before, sys.executable, "-c", "from spa.cli import run; run()", *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=os.environ | {"PYTHONUNBUFFERED": "1"},
            start_new_session=True,
        )
    else:
        process = WarmProcess(words, alone=True)
    try:
        yield _told(process)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(PATIENCE)
        if process.stdout is not None:
            process.stdout.close()


def _told(process: subprocess.Popen[str] | WarmProcess) -> Server:
    """Read what the process says until it serves."""
    said, deadline = "", time.monotonic() + PATIENCE
    assert process.stdout is not None
    while "Ctrl-C" not in said and time.monotonic() < deadline:
        line = process.stdout.readline()
        assert line, said
        said += line
    found = re.search(r"endpoint: (http://\S+)", said)
    assert found is not None, said
    return Server(process=process, url=found[1], key=dict(re.findall(r"export (\w+)=(\S+)", said)))
