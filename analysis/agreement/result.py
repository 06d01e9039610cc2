"""What every coefficient of agreement returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from analysis.agreement.data import ReliabilityData
from analysis.statistics.checks import too_large

CONSTANT = "no variation: every answer is the same"
PERFECT = "no interval: every unit agrees perfectly, so nothing shows how far the value is from 1"


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
    reason : str or None
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
    reason: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)


def undefined(measure: str, data: ReliabilityData, reason: str, **settings: Any) -> Agreement:
    """Return a coefficient without a value, and why."""
    return Agreement(
        measure=measure,
        value=None,
        n_items=data.n_pairable,
        n_annotators=data.n_annotators,
        reason=reason,
        settings=settings,
    )


def no_answer(data: ReliabilityData) -> str | None:
    """Say why no coefficient of agreement is defined for these data, or ``None``."""
    if data.n_infinite:
        return f"{data.n_infinite} infinite value{'s' if data.n_infinite > 1 else ''}"
    if not len(data.value):
        return "no answers"
    if too_large(data.value):
        return "answers beyond 1e100 in size cannot be squared"
    return too_few(data.n_annotators, data.n_pairable) or (CONSTANT if data.constant else None)


def too_few(n_annotators: int, n_pairable: int) -> str | None:
    """Say why so many annotators, and units with two answers, are too few; or ``None``."""
    if n_annotators < 2:
        return "one annotator only: nobody to agree with"
    if n_pairable == 0:
        return "no unit was answered by two annotators"
    if n_pairable == 1:
        return "one unit only was answered by two annotators"
    return None
