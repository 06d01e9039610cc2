"""Tests that run in forked processes: the same results as in one, and a line for a process that dies."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SUITE = """
import os
import numpy  # whose threads begin as it is imported, where none are told to be left out
import pytest

@pytest.fixture(scope="module")
def made():
    with open("made", "a") as file:
        print(os.getpid(), file=file)

@pytest.fixture
def breaks():
    yield
    raise ValueError("after the test")

together = pytest.mark.one_process("together")

@together
@pytest.mark.parametrize("number", range(4))
def test_together(number, made, tmp_path):
    (tmp_path / "own").write_text("x")
    with open("together", "a") as file:
        print(os.getpid(), file=file)

@pytest.mark.parametrize("number", range(20))
def test_alone(number, capfd):
    print("told", number)
    assert capfd.readouterr().out == f"told {number}\\n"

def test_fails():
    print("what it printed")
    assert 1 == 2

def test_breaks_afterwards(breaks):
    pass

@pytest.mark.skip(reason="a reason")
def test_is_left_out():
    pass
"""
DIES = """
    os._exit(3)

def test_goes_on():
    pass
"""
APPS = """
import streamlit.testing.v1.app_test as apps

@pytest.mark.parametrize("number", range(8))
def test_app(number):
    with open("apps", "a") as file:
        print(os.getpid(), apps.TMP_DIR.name, file=file)
    assert os.path.isdir(apps.TMP_DIR.name)
"""


def outcomes(folder: Path, *words: str) -> tuple[str, dict[str, int]]:
    """Run the tests of a folder; return what pytest printed, and the counts of its last line."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_ADDOPTS": ""}
    environment.pop("OMP_NUM_THREADS", None)
    command = [sys.executable, "-m", "pytest", "-p", "tests.forked_workers", "-p", "no:cacheprovider", "-rs", *words]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    last = done.stdout.splitlines()[-1]
    return done.stdout, {what: int(number) for number, what in re.findall(r"(\d+) (\w+)", last.partition(" in ")[0])}


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = one_process: group\n")
    (tmp_path / "test_some.py").write_text(SUITE)
    return tmp_path


def test_the_results_are_those_of_one_process(suite: Path) -> None:
    said, found = outcomes(suite, "--processes", "3")
    assert found == {"passed": 25, "failed": 1, "skipped": 1, "error": 1} == outcomes(suite)[1]
    assert len(set((suite / "together").read_text().split()[:4])) == 1
    assert len((suite / "made").read_text().split()) == 2  # once a run
    for told in ("what it printed", "assert 1 == 2", "after the test", "a reason"):
        assert told in said


def test_scripts_of_apps_lie_in_a_folder_of_each_process(suite: Path) -> None:
    """Streamlit names them by their text: of two processes that test the same app, one would read half a script."""
    (suite / "test_some.py").write_text(f"import os, pytest\n{APPS}")
    assert outcomes(suite, "--processes", "2", "-W", "error")[1] == {"passed": 8}
    pairs = {tuple(line.split()) for line in (suite / "apps").read_text().splitlines()}
    assert len(pairs) == len({process for process, _ in pairs}) == len({folder for _, folder in pairs}) == 2


def test_a_process_that_dies_fails_its_test_and_the_others_run(suite: Path) -> None:
    (suite / "test_some.py").write_text(SUITE.replace("    assert 1 == 2\n", DIES))
    said, found = outcomes(suite, "--processes", "2")
    assert found == {"passed": 26, "failed": 1, "skipped": 1, "error": 1}
    assert "the process that ran this test ended with 3" in said
