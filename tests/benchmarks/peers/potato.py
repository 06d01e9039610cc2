"""POTATO's own server, from PyPI, in an environment of its own."""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path

REQUIREMENT = "potato-annotation==2.12.1"


def environment(folder: Path) -> Path:
    """Return the program of an environment with POTATO, made if it is not there yet."""
    program = folder / "bin" / "potato"
    if not program.exists():
        venv.create(folder, with_pip=True)
        subprocess.run([folder / "bin" / "python", "-m", "pip", "install", "--quiet", REQUIREMENT], check=True)
    return program


def version(program: Path) -> str:
    """Return the version that is installed."""
    asked = "from importlib.metadata import version; print(version('potato-annotation'))"
    told = subprocess.run([program.with_name("python"), "-c", asked], check=True, capture_output=True, text=True)
    return told.stdout.strip()


def command(program: Path, port: int) -> list[str]:
    """Return how its server is started for the study of the working folder."""
    return [str(program), "start", "config.yaml", "--port", str(port), "--host", "127.0.0.1"]


if __name__ == "__main__":
    print(environment(Path(sys.argv[1])))  # noqa: T201
