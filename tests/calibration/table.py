"""One line of the calibration table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """How often something happened in simulated studies, beside the level that it should keep.

    ``seen`` is the share of intervals that held the truth, or of studies with a false finding;
    ``joint`` is how often a set of simultaneous intervals held all truths, ``width`` the mean width,
    ``lost`` the runs without a result, and ``promised`` whether the level is promised in this design.
    """

    name: str
    nominal: float
    seen: float
    runs: int
    promised: bool
    lost: int = 0
    joint: float | None = None
    width: float | None = None

    @property
    def error(self) -> float:
        """Monte-Carlo standard error at the nominal level; what hangs together within a run is no gain."""
        return float(np.sqrt(self.nominal * (1 - self.nominal) / max(self.runs - self.lost, 1)))


def most_by_luck(runs: int, nominal: float) -> float:
    """Return the share that a test of the given level exceeds with a chance of less than 1 in 10,000.

    >>> round(most_by_luck(300, 0.05), 3)
    0.103
    """
    from scipy.stats import binom

    return float(binom.isf(1e-4, runs, nominal)) / runs


def as_markdown(lines: Iterable[Line], seen: str = "covered") -> str:
    """Write a table; columns that no line fills are left out."""
    rows = list(lines)
    columns: dict[str, Sequence[str]] = {
        "design": [row.name for row in rows],
        "nominal": [f"{100 * row.nominal:g} %" for row in rows],
        seen: ["" if row.lost == row.runs else f"{100 * row.seen:.1f} %" for row in rows],
        "Monte-Carlo SE": [f"{100 * row.error:.1f}" for row in rows],
        "promised": ["yes" if row.promised else "no" for row in rows],
    }
    extra: dict[str, Sequence[str]] = {
        "all ranks held": ["" if row.joint is None else f"{100 * row.joint:.1f} %" for row in rows],
        "mean width": ["" if row.width is None else f"{row.width:.2f}" for row in rows],
        "runs": [str(row.runs) for row in rows],
        "without a result": [str(row.lost) if row.lost else "" for row in rows],
    }
    columns |= {name: cells for name, cells in extra.items() if any(cells)}
    table = zip(*columns.values(), strict=True)
    return "\n".join(_row(cells) for cells in (tuple(columns), ("---",) * len(columns), *table))


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
