"""The ``spa`` script as a process: its exit codes, and what other code leaves to be done at the end."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest


def ended(before: str, *words: str, stdout: int = subprocess.PIPE) -> subprocess.CompletedProcess[str]:
    code = f"{before}\nfrom spa.cli import run\nrun()"
    return subprocess.run([sys.executable, "-c", code, *words], stdout=stdout, stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize(
    ("words", "status"), [(("--version",), 0), (("nonsense",), 2), (("check", "absent.toml"), 1), (("--help",), 0)]
)
def test_the_exit_code_is_that_of_the_command(words: tuple[str, ...], status: int) -> None:
    found = ended("", *words)
    assert found.returncode == status
    assert found.stdout or found.stderr


def test_what_others_left_for_the_end_is_done() -> None:
    found = ended("import atexit, spa.cli\nspa.cli.main = lambda: atexit.register(print, 'later')")
    assert (found.returncode, found.stdout) == (0, "later\n")


def test_an_error_of_ours_is_no_success() -> None:
    found = ended("import spa.cli\nspa.cli.main = lambda: 1 / 0")
    assert found.returncode == 1
    assert "ZeroDivisionError" in found.stderr


@pytest.mark.parametrize(
    "words", [("--help",), ("plan", "--simulations", "0"), ("plan", "--simulations", "0", "--json")]
)
def test_a_reader_that_left_is_no_crash(words: tuple[str, ...]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        found = ended("", *words, stdout=writer)
    finally:
        os.close(writer)
    assert "Traceback" not in found.stderr
    assert found.returncode in (1, 120)
