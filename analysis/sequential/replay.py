"""Finished studies answered again, unit by unit, as if somebody had watched."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from analysis.sequential.family import FUTILE, NAMES
from analysis.sequential.rule import StoppingRule
from analysis.sequential.tally import Tally
from analysis.statistics.coding import Floats, Ints


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Replay:
    """What a live study would have decided, shape (..., k) as the values without their units.

    Attributes
    ----------
    decisions : array of str
        "x", "y", "equal", "futile", or "" where open at the end.
    decided_at : array of int
        Units of the family at the decision; 0 where open.
    n : array of int
        Units asked of each hypothesis until it was decided, or futile and asked no further.
    """

    decisions: npt.NDArray[np.str_]
    decided_at: Ints
    n: Ints


def replay(values: Floats, rule: StoppingRule) -> Replay:
    """Decide unit by unit.

    Parameters
    ----------
    values : array of float, shape (n_units, k) or (n_studies, n_units, k)
        In [0, 1], in the order of arrival; NaN = not asked.
    rule : StoppingRule
        As declared.

    Examples
    --------
    >>> found = replay(np.full((40, 2), [0.8, 0.5]), StoppingRule(effect=0.1))
    >>> found.decisions.tolist(), found.decided_at.tolist()
    (['x', ''], [12, 0])
    """
    check_values(values)
    tally = Tally.start(rule, (*values.shape[:-2], values.shape[-1]))
    for unit in range(values.shape[-2]):
        asked = np.where(tally.marks == FUTILE, np.nan, values[..., unit, :])
        tally = tally.after(asked, rule)
    return Replay(decisions=NAMES[tally.marks], decided_at=tally.decided_at, n=tally.n)


def check_values(values: Floats) -> None:
    """Require values in [0, 1] or NaN."""
    if np.any((values < 0) | (values > 1)):
        outside = values[(values < 0) | (values > 1)][0]
        raise ValueError(f"values must lie in [0, 1], 0.5 under no difference, got {outside:g}; map ratings onto it")
