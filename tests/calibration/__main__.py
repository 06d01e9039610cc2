"""Simulate every design and print the table; ``--out FILE`` writes it, as ``make calibrate`` does."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tests.calibration import prediction_powered, strengths
from tests.calibration.table import as_markdown

HEAD = """# Calibration

How often the intervals of this package hold the truth in simulations, made by `make calibrate` (seed {seed}, {runs}
runs a design). A covered share within two Monte-Carlo standard errors of the nominal level is as it should be; designs
that are too small to promise it are in the table too, and the report warns of them.

## Bradley-Terry strengths

Four systems, strengths {truth}. Annotators (and items) of the clustered designs have tastes of their own: normal,
standard deviation {taste} for each system. Preferences are beta-distributed about the model's probability. Rank
intervals are simultaneous: they hold all four true ranks at least as often as the level says, more often where
systems differ.

"""

POWERED = """
## Prediction-powered means

Answers are normal, the truth 0, and the LLM 0.5 too high; lambda is tuned on the same answers. Effects of annotators
have standard deviation 0.7 beside a noise of 1. Designs of one size are drawn from the same stream: they err together.

"""


def main() -> None:
    """Run all sections."""
    parser = argparse.ArgumentParser(prog="python -m tests.calibration", description=__doc__)
    parser.add_argument("--runs", type=int, default=2000, help="simulated studies a design")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, help="file to write; else the table is printed")
    given = parser.parse_args()
    truth = ", ".join(f"{value:g}" for value in strengths.TRUTH)
    head = HEAD.format(seed=given.seed, runs=given.runs, truth=truth, taste=strengths.TASTE)
    lines = [strengths.coverage(design, given.runs, given.seed) for design in strengths.designs()]
    powered = [prediction_powered.coverage(design, given.runs, given.seed) for design in prediction_powered.designs()]
    text = head + as_markdown(lines) + "\n" + POWERED + as_markdown(powered) + "\n"
    if given.out:
        given.out.write_text(text, encoding="utf-8")
    else:
        sys.stdout.write(text)


if __name__ == "__main__":
    main()
