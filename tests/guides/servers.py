"""Servers of the command line as processes of their own: started on free ports, asked for their health, stopped."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import httpx2

from tests.warm import WarmProcess

PATIENCE = 120.0  # seconds; a busy machine is no defect
HEALTH = {  # what a command that runs for ever answers as long as it is well
    ("serve",): "/health",
    ("preview",): "/",
    ("dashboard",): "/_stcore/health",
    ("mturk", "serve"): "/health",
    ("prolific", "emulate"): "/emulator/behaviour/",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A running process."""

    name: tuple[str, ...]
    process: subprocess.Popen[bytes] | WarmProcess
    url: str
    log: Path

    def stop(self) -> None:
        """Press Ctrl-C and see that it ends."""
        try:
            self.process.send_signal(signal.SIGINT)
            self.process.wait(PATIENCE)
        finally:
            if self.process.poll() is None:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait(PATIENCE)

    def said(self) -> str:
        """Return what it printed."""
        return self.log.read_text(encoding="utf-8", errors="replace")


def server_name(words: tuple[str, ...]) -> tuple[str, ...] | None:
    """Return which server the words after ``spa`` start; None where the command ends by itself."""
    if "--out" in words:
        return None
    return next((words[:length] for length in (1, 2) if words[:length] in HEALTH), None)


def start(
    words: tuple[str, ...],
    *,
    port: int,
    environment: dict[str, str],
    log: Path,
    python: str | None = None,
    folder: Path | None = None,
) -> Server:
    """Start a server on a port and wait until it is well; its own ``--port`` gives way.

    With a ``python`` it is that one's, imported from the beginning in a ``folder``; otherwise it starts warm, here.
    """
    name = server_name(words)
    assert name is not None
    kept = list(words)
    if "--port" in kept:
        at = kept.index("--port")
        del kept[at : at + 2]
    kept += ["--port", str(port)]
    if name == ("mturk", "serve"):
        kept += ["--frame-port", str(free_port())]
    environment = {**environment, "PYTHONUNBUFFERED": "1"}
    process: subprocess.Popen[bytes] | WarmProcess
    with log.open("wb") as written:
        if python is None:
            process = WarmProcess(kept, environment=environment, output=written.fileno(), alone=True)
        else:
            process = subprocess.Popen(
                [python, "-c", "from spa.cli import run; run()", *kept],
                stdin=subprocess.DEVNULL,
                stdout=written,
                stderr=subprocess.STDOUT,
                env=environment,
                start_new_session=True,
                cwd=folder,
            )
    server = Server(name=name, process=process, url=f"http://127.0.0.1:{port}", log=log)
    try:
        _wait(server)
    except BaseException:
        server.stop()
        raise
    return server


def free_port() -> int:
    """Return a port of this machine that nobody listens on."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return int(bound.getsockname()[1])


def _wait(server: Server) -> None:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        assert server.process.poll() is None, f"{' '.join(server.name)} ended by itself: {server.said()}"
        try:
            answer = httpx2.get(
                f"{server.url}{HEALTH[server.name]}", trust_env=False, timeout=30, follow_redirects=True
            )
        except httpx2.HTTPError:
            time.sleep(0.05)
            continue
        assert answer.status_code == 200, f"{answer.status_code} {answer.text}; {server.said()}"
        return
    raise AssertionError(f"{' '.join(server.name)} is not well: {server.said()}")
