"""Simulate every design and print the tables; ``--out FILE`` writes them, as ``make calibrate`` does."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from tests.calibration.document import write


def main() -> None:
    """Run all sections."""
    parser = argparse.ArgumentParser(prog="python -m tests.calibration", description=__doc__)
    parser.add_argument("--runs", type=int, default=2000, help="simulated studies a design")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, help="file to write; else the tables are printed")
    given = parser.parse_args()
    start = time.monotonic()

    def tell(title: str) -> None:
        sys.stderr.write(f"{time.monotonic() - start:5.0f} s  {title}\n")

    text = write(given.runs, given.seed, tell)
    if given.out:
        given.out.write_text(text, encoding="utf-8")
    else:
        sys.stdout.write(text)


if __name__ == "__main__":
    main()
