"""Which tests reach a mutated statement, and what each test takes; runs in a copy of the tree."""

from __future__ import annotations

import json
import os
import re

import pytest

reached: set[tuple[str, int]] = set()


def reach(number: int) -> None:
    """Note that the test of the moment, or a process that it started, comes to this mutant."""
    test = without_group(os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" (")[0])
    if test and (test, number) not in reached:
        reached.add((test, number))
        append(os.environ["MUTANTS_REACHED"], [test, number])


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Note what a test took, and whether it ends well beside the probes."""
    if "PYTEST_XDIST_WORKER" not in os.environ:
        append(os.environ["MUTANTS_TOOK"], [without_group(report.nodeid), report.duration, report.failed])


def without_group(test: str) -> str:
    """Return a test's name without what pytest-xdist adds."""
    return re.sub(r"@[^@\]]+$", "", test)


def append(path: str, row: list[object]) -> None:
    """Add a row to a file that other processes write too."""
    with open(path, "a") as file:
        file.write(json.dumps(row) + "\n")
