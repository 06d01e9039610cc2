"""Where a function of one number is zero, without the tenth of a second that scipy.optimize takes to load."""

from __future__ import annotations

import math
from collections.abc import Callable

STEPS = 200


def find_root(function: Callable[[float], float], low: float, high: float, *, tolerance: float) -> float:
    """Return where a continuous function is zero between two places at which its signs differ.

    Each step tries the place where a parabola through the last three values is zero, read as x over y, and where
    that parabola bends too much the middle: O(log(width / tolerance)) calls at worst, mostly below ten.

    Parameters
    ----------
    function : callable
        From float to float, continuous.
    low, high : float
        Ends of the range.
    tolerance : float
        Largest distance from the true place.

    Raises
    ------
    ValueError
        The signs at the ends are the same, or a value is not a number.

    References
    ----------
    Chandrupatla, T. R. (1997). A new hybrid quadratic/bisection algorithm for finding the zero of a nonlinear
    function without using derivatives. Advances in Engineering Software, 28(3), 145-149.

    >>> round(find_root(lambda x: x * x - 2, 0, 2, tolerance=1e-12), 9)
    1.414213562
    """
    newer, older = (high, function(high)), (low, function(low))
    if not (math.isfinite(newer[1] + older[1]) and newer[1] * older[1] <= 0):
        raise ValueError(f"expected values of different signs, got {older[1]} at {low} and {newer[1]} at {high}")
    part = 0.5
    for _ in range(STEPS):
        best = min(newer, older, key=lambda point: abs(point[1]))
        nearest = tolerance / 2 / abs(older[0] - newer[0]) if older[0] != newer[0] else 1.0
        if best[1] == 0 or nearest > 0.5:
            return best[0]
        place = newer[0] + min(max(part, nearest), 1 - nearest) * (older[0] - newer[0])
        tried = place, function(place)
        if math.isnan(tried[1]):
            raise ValueError(f"expected a number at {place}, got {tried[1]}")
        same_side = (tried[1] > 0) == (newer[1] > 0)
        third, older = (newer, older) if same_side else (older, newer)
        newer = tried
        part = _parabola(newer, older, third)
    raise ValueError(f"no zero found in {STEPS} steps between {low} and {high}")


def _parabola(newer: tuple[float, float], older: tuple[float, float], third: tuple[float, float]) -> float:
    """Return the part of the way from the newer to the older point where to try next."""
    (a, at_a), (b, at_b), (c, at_c) = newer, older, third
    if at_a in (at_b, at_c) or at_b == at_c:
        return 0.5
    across, up = (a - b) / (c - b), (at_a - at_b) / (at_c - at_b)
    if not (up**2 < across and (1 - up) ** 2 < 1 - across):
        return 0.5
    own = at_a / (at_b - at_a) * at_c / (at_b - at_c)
    return own + (c - a) / (b - a) * at_a / (at_c - at_a) * at_b / (at_c - at_b)
