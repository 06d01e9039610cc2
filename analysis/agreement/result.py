"""What every coefficient of agreement returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from analysis.agreement.data import ReliabilityData
from analysis.statistics.checks import too_large
from analysis.statistics.coding import ROUNDED, Floats
from analysis.statistics.reasons import Reason, why

CONSTANT = why("answers_alike")
PERFECT = why("no_interval_perfect")


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """One coefficient with its interval.

    Attributes
    ----------
    measure : str
        Name of the coefficient, as in ``results.json``.
    value : float or None
        ``None`` where it is not defined; ``reason`` then says why.
    ci_low, ci_high : float or None
        Bounds of the interval; ``None`` where there is none.
    n_items : int
        Units with at least two answers: only these can agree.
    n_annotators : int
        Annotators (raters) who answered at least one unit.
    interval : str or None
        How the interval was made.
    reason : Reason or None
        Why the value, or only its interval, is missing.
    settings : mapping
        What the number depends on beside the answers: level, weights, replicates, confidence.
    """

    measure: str
    value: float | None
    ci_low: float | None = None
    ci_high: float | None = None
    n_items: int
    n_annotators: int
    interval: str | None = None
    reason: Reason | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)


def beyond_chance(observed: Floats | float, chance: Floats | float) -> Floats:
    """Return (observed - chance) / (1 - chance): 1, and 0, where they differ from them by rounding alone.

    >>> float(beyond_chance(0.1 + 0.2, 0.3)), float(beyond_chance(0.7 + 0.2 + 0.1, 0.5))
    (0.0, 1.0)
    """
    return at_whole(np.asarray((observed - chance) / (1 - np.asarray(chance)), dtype=np.float64))


def at_whole(value: Floats | np.float64) -> Floats:
    """Return coefficients with those that differ from a whole number by no more than rounding put on it.

    >>> at_whole(np.array([-4.4e-16, 0.3, 1 - 1e-15])).tolist()
    [0.0, 0.3, 1.0]
    """
    whole = np.rint(value) + 0.0  # not -0.0
    return np.asarray(np.where(np.abs(value - whole) <= ROUNDED, whole, value), dtype=np.float64)


class Answers(Protocol):
    """What is said of answers where a coefficient is not defined."""

    @property
    def n_pairable(self) -> int: ...  # noqa: D102

    @property
    def n_annotators(self) -> int: ...  # noqa: D102


def undefined(measure: str, data: Answers, reason: Reason | None, **settings: Any) -> Agreement:
    """Return a coefficient without a value, and why."""
    return Agreement(
        measure=measure,
        value=None,
        n_items=data.n_pairable,
        n_annotators=data.n_annotators,
        reason=reason,
        settings=settings,
    )


def no_answer(data: ReliabilityData) -> Reason | None:
    """Say why no coefficient of agreement is defined for these data, or ``None``."""
    if data.n_infinite:
        return why("infinite_values", n=data.n_infinite)
    if not len(data.value):
        return why("no_answers")
    if too_large(data.value):
        return why("answers_too_large")
    return too_few(data.n_annotators, data.n_pairable) or (CONSTANT if data.constant else None)


def too_few(n_annotators: int, n_pairable: int) -> Reason | None:
    """Say why so many annotators, and units with two answers, are too few; or ``None``."""
    if n_annotators < 2:
        return why("one_annotator")
    if n_pairable == 0:
        return why("no_shared_unit")
    if n_pairable == 1:
        return why("one_shared_unit")
    return None
