"""Somebody who reads a guide and types its commands in an empty folder."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from click.testing import CliRunner

from spa.cli import main
from tests.guides.servers import Server, free_port, server_name, start
from tests.shell_lines import programs


@dataclass
class GuideReader:
    """A folder, what is exported in the terminal, and the servers that run in other terminals.

    Attributes
    ----------
    addresses : dict
        Where the guide reaches a server -> the command that is this server. It gets a free port of this machine,
        and its address there is typed instead.
    instead : dict
        What is typed instead of other words of the guide.
    """

    folder: Path
    environment: dict[str, str]
    addresses: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    instead: Mapping[str, str] = field(default_factory=dict)
    ports: dict[tuple[str, ...], int] = field(default_factory=dict)
    servers: list[Server] = field(default_factory=list)
    printed: dict[str, str] = field(default_factory=dict)  # text of a command -> what it printed

    def type(self, text: str) -> str:
        """Type one command as it is written; it must succeed. Return what it printed."""
        words = programs(text)
        typed = self.translated(text)
        name = server_name(words[0][1:]) if words[0][0] == "spa" else None
        if words[0][0] == "export":
            self._export(programs(typed)[0][1:])
            printed = ""
        elif name is not None:
            printed = self._serve(programs(typed)[0][1:], name)
        elif words[0][0] == "spa" and len(words) == 1 and ">" not in text:
            printed = self.spa(*programs(typed)[0][1:])
        else:
            printed = self._shell(typed)
        self.printed[text] = self.printed.get(text, "") + printed
        return printed

    def spa(self, *words: object) -> str:
        """Run a command of ours, which must succeed, and return what it printed."""
        arguments = [str(word) for word in words]
        done = CliRunner().invoke(main, arguments, env=self.environment, catch_exceptions=False)
        assert done.exit_code == 0, f"spa {' '.join(arguments)}: exit code {done.exit_code}: {done.output}"
        return done.stdout

    def translated(self, text: str) -> str:
        """Return the words with the servers of this machine, and what is typed instead."""
        for old, new in self.instead.items():
            text = text.replace(old, new)
        for address, name in self.addresses.items():
            text = text.replace(address, f"http://127.0.0.1:{self.port(name)}")
        return text

    def port(self, name: tuple[str, ...]) -> int:
        """Return the port on which a server listens whenever it runs."""
        return self.ports.setdefault(name, free_port())

    def server(self, name: tuple[str, ...]) -> Server | None:
        """Return the server of this name that was started last."""
        return next((server for server in reversed(self.servers) if server.name == name), None)

    def write(self, name: str, text: str) -> Path:
        """Write a file into the folder."""
        (self.folder / name).write_text(text, encoding="utf-8")
        return self.folder / name

    def _serve(self, words: tuple[str, ...], name: tuple[str, ...]) -> str:
        for earlier in [server for server in self.servers if server.name == name]:  # Ctrl-C, then the next one
            self.servers.remove(earlier)
            earlier.stop()
        log = self.folder / f"{'-'.join(name)}.log"
        self.servers.append(start(words, port=self.port(name), environment=self.environment, log=log))
        return self.servers[-1].said()

    def _export(self, words: Iterable[str]) -> None:
        """Set variables; ``...`` stands for what the reader was given, and must be there already."""
        for word in words:
            name, _, value = word.partition("=")
            if value == "...":
                assert name in self.environment, f"nobody was given {name}"
            else:
                self.environment[name] = value

    def _shell(self, text: str) -> str:
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", text], env=self.environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{text}: exit code {done.returncode}: {done.stdout}{done.stderr}"
        return done.stdout


@contextmanager
def reader_in(folder: Path, **more: Mapping[str, object]) -> Iterator[GuideReader]:
    """Yield a reader in a folder, and stop the servers that they started."""
    own = {name: value for name, value in os.environ.items() if not re.match("PROLIFIC_|AWS_|MTURK_|SPA_", name)}
    own["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{own.get('PATH', '')}"
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(folder)
        reader = GuideReader(folder=folder, environment=own, **more)  # type: ignore[arg-type]
        try:
            yield reader
        finally:
            for server in reader.servers:
                server.stop()
