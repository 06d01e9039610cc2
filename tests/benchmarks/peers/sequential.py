"""Confidence sequences by ville of the columns of an ``.npz``; prints one JSON object.

Usage: ``PYTHON sequential.py FILE``, where PYTHON has ville.
"""

from __future__ import annotations

import json
import sys
from importlib.metadata import version
from time import perf_counter

import numpy as np
from ville.means import BettingCS


def main() -> None:
    """Fit one sequence a column."""
    data = np.load(sys.argv[1])
    start = perf_counter()
    limits = []
    for column in data["values"].T:
        sequence = BettingCS(alpha=float(data["error_rate"]), intersect=False)
        sequence.update(column)
        limits.append([float(sequence.lower_[-1]), float(sequence.upper_[-1])])
    found = {"version": version("ville"), "seconds": perf_counter() - start, "limits": limits}
    print(json.dumps(found))  # noqa: T201 - read by the runner


if __name__ == "__main__":
    main()
