"""One line of the calibration table."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """How often intervals held the truth; ``error`` is the Monte-Carlo standard error at the nominal level.

    ``joint`` is how often a set of simultaneous intervals held all truths, ``lost`` the runs
    without an interval, ``enough`` whether the design is large enough to promise the level.
    """

    name: str
    nominal: float
    covered: float
    error: float
    joint: float | None
    width: float
    runs: int
    lost: int
    enough: bool


def as_markdown(lines: Iterable[Coverage]) -> str:
    """Write a table."""
    rows = [
        "| design | nominal | covered | Monte-Carlo SE | all ranks held | mean width | runs | lost | promised |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for line in lines:
        joint = "" if line.joint is None else f"{100 * line.joint:.1f} %"
        rows.append(
            f"| {line.name} | {100 * line.nominal:g} % | {100 * line.covered:.1f} % | {100 * line.error:.1f} | {joint} "
            f"| {line.width:.2f} | {line.runs} | {line.lost} | {'yes' if line.enough else 'no'} |"
        )
    return "\n".join(rows)
