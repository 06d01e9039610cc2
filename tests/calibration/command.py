"""The command of one table: how many studies, from which seed, and where it is written."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from pathlib import Path


def write_table(
    name: str, about: str | None, write: Callable[[int, int], Iterable[str]], *, runs: int, each: str = "a cell"
) -> None:
    """Read the options of ``python -m tests.calibration.NAME`` and write its document, each text over the last one.

    Parameters
    ----------
    name, about : str
        Module and its description.
    write : callable
        Given runs and seed, yields the document as far as it is known.
    runs : int
        Default number of simulated studies; ``each`` says of what.
    """
    parser = argparse.ArgumentParser(prog=f"python -m tests.calibration.{name}", description=about)
    parser.add_argument("--runs", type=int, default=runs, help=f"simulated studies {each}")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, required=True, help="file to write")
    given = parser.parse_args()
    for text in write(given.runs, given.seed):
        given.out.write_text(text, encoding="utf-8")
