"""Which tests reach a mutated statement, and what each test takes; runs in a copy of the tree."""

from __future__ import annotations

import json
import os

import pytest

WORKER = "FORKED_WORKER"  # as tests.forked_workers has it, whose import would disturb the product's

reached: set[tuple[str, int]] = set()


def reach(number: int) -> None:
    """Note that the test of the moment, or a process that it started, comes to this mutant."""
    test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" (")[0]
    if test and (test, number) not in reached:
        reached.add((test, number))
        append(os.environ["MUTANTS_REACHED"], [test, number])


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Note what a test took, and whether it ends well beside the probes."""
    if WORKER not in os.environ:  # where all reports come together
        append(os.environ["MUTANTS_TOOK"], [report.nodeid, report.duration, report.failed])


def append(path: str, row: list[object]) -> None:
    """Add a row to a file that other processes write too."""
    with open(path, "a") as file:
        file.write(json.dumps(row) + "\n")
