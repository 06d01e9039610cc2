"""Arguments that a programmer can get wrong: refused in one line before they turn into a NaN."""

from __future__ import annotations

import math
from collections.abc import Collection
from numbers import Real

import numpy as np

from analysis.statistics.coding import Floats

LARGEST = 1e100  # squares of larger values leave the range of floating point


def check_level(name: str, value: float) -> None:
    """Require a share that is neither 0 nor 1, such as a confidence or an error rate.

    >>> check_level("confidence", 0.95)
    """
    if not (isinstance(value, Real) and 0 < value < 1):
        raise ValueError(f"{name} must lie between 0 and 1, got {value!r}")


def check_finite(name: str, value: float, *, above: float = -math.inf, least: float = -math.inf) -> None:
    """Require a finite number, larger than ``above`` and at least ``least``.

    >>> check_finite("sd", 0.0, least=0)
    """
    if not (isinstance(value, Real) and math.isfinite(value) and value > above and value >= least):
        bound = f" above {above:g}" if above > -math.inf else f" of at least {least:g}" if least > -math.inf else ""
        raise ValueError(f"{name} must be a finite number{bound}, got {value!r}")


def check_whole(name: str, value: float, *, least: int = 0) -> None:
    """Require a whole number of at least ``least``.

    >>> check_whole("n", 3)
    """
    if not (isinstance(value, Real) and math.isfinite(value) and value == int(value) and value >= least):
        raise ValueError(f"{name} must be a whole number of at least {least}, got {value!r}")


def check_one_of(name: str, value: object, allowed: Collection[str]) -> None:
    """Require one of some words.

    >>> check_one_of("unit", "item", ("auto", "item"))
    """
    if value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(allowed)}, got {value!r}")


def too_large(values: Floats) -> bool:
    """Tell whether values are so large that their squares overflow.

    >>> too_large(np.array([1.0, 1e300]))
    True
    """
    return bool(len(values)) and float(np.abs(values).max()) > LARGEST


def check_values(name: str, values: Floats) -> None:
    """Require finite numbers whose squares do not overflow.

    >>> check_values("scores", np.array([1.0, 2.0]))
    """
    if not np.isfinite(values).all() or too_large(values):
        raise ValueError(f"{name} must be finite and within 1e100 of 0; leave out what is missing")
