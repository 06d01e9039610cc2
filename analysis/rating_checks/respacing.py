"""How far the order of two mean ratings depends on the steps of the scale being equally far apart."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from analysis.statistics.coding import Floats, Ints
from analysis.statistics.reasons import Reason, why

ALIKE = why("same_ratings")
WIDEST = 100  # steps up to which whole numbers are taken as one scale, and shares of spacings are counted
SHOWN = 11  # levels of the largest scale for which an example is written out
TOO_FINE = why("too_fine", most=WIDEST)
Holds = Literal["always", "never", "depends"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Respacing:
    """Whether x's mean rating is above y's on every spacing of the scale.

    Attributes
    ----------
    holds : {"always", "never", "depends"} or None
        On all spacings (x dominates), on none (y does), or on some; ``None`` where both are alike.
    ratio : float or None
        Of "depends": the order that the scale as it stands shows is kept while no step is worth more than
        this many times another; ``None`` where nothing reverses it.
    share : float or None
        Share of random spacings (all equally likely) on which x's mean is above y's.
    levels, example : tuple of float
        The scale, and values of its levels that reverse the order; empty where none does, or above 11 levels.
    rounding : bool or None
        Whether what rounding to whole steps hides could reverse the order: the means differ by less than
        one step. ``None`` where ratings are not whole numbers.
    """

    holds: Holds | None
    ratio: float | None
    share: float | None
    levels: tuple[float, ...] = ()
    example: tuple[float, ...] = ()
    rounding: bool | None = None
    reason: Reason | None = None


def respacing_range(
    scores_x: Sequence[float] | Floats, scores_y: Sequence[float] | Floats, levels: Sequence[float] | None = None
) -> Respacing:
    """Find the spacings of a scale on which the mean of x is above that of y.

    A spacing gives the step from level j to j + 1 the worth g_j >= 0. The means then differ by
    Σ g_j D_j, where D_j = P(x above level j) - P(y above level j). All D_j >= 0: x is higher on every
    spacing (first-order stochastic dominance). Else the order kept by equal steps is reversed as soon as the
    steps on which the lower system leads are worth more than P / N times the others, where P is the sum of
    the D_j with the sign of the mean difference and N that of the others. No other reversal is milder.

    Parameters
    ----------
    scores_x, scores_y : array of float, shape (n_x,) and (n_y,)
        All ratings of each system.
    levels : sequence of float, optional
        Levels of the scale, rising. By default the whole numbers from the least to the greatest rating; where
        ratings are not whole, or more than 100 apart, the distinct ratings, and a step's worth is then how
        many times it is stretched.

    Returns
    -------
    Respacing
        About these ratings; it says nothing of chance.

    Raises
    ------
    ValueError
        When a side is empty, or a score is none of the levels.

    References
    ----------
    Ethayarajh and Jurafsky (2022), section 3, remarks 1 and 2 and proposition 2 (``rounding``). Hadar, J. and
    Russell, W. R. (1969). Rules for ordering uncertain prospects. American Economic Review, 59(1), 25-34.

    Examples
    --------
    >>> found = respacing_range([1, 5, 5, 5], [4, 4, 4, 3])
    >>> found.holds, found.ratio, found.example
    ('depends', 1.5, (1.0, 2.2593, 3.5185, 4.2593, 5.0))
    """
    x, y = np.asarray(scores_x, dtype=np.float64), np.asarray(scores_y, dtype=np.float64)
    if not (len(x) and len(y)):
        raise ValueError(f"expected ratings of x and y, got {len(x)} and {len(y)}")
    scale = scale_levels(np.concatenate([x, y])) if levels is None else np.asarray(levels, dtype=np.float64)
    if not (np.all(np.diff(scale) > 0) and np.isin(np.concatenate([x, y]), scale).all()):
        raise ValueError("levels must rise, and every score must be one of them")
    counts = [np.bincount(np.searchsorted(scale, side), minlength=len(scale)).astype(np.int64) for side in (x, y)]
    return respacings_of_counts(np.array(counts), np.array([0]), np.array([1]), scale)[0]


def scale_levels(scores: Floats) -> Floats:
    """Return the levels of a scale from its ratings: whole numbers in a row, else the distinct ratings."""
    distinct = np.unique(scores)
    if np.all(distinct == np.round(distinct)) and distinct[-1] - distinct[0] <= WIDEST:
        return np.arange(distinct[0], distinct[-1] + 1)
    return distinct


def respacings_of_counts(counts: Ints, x: Ints, y: Ints, levels: Floats) -> list[Respacing]:
    """Do as :func:`respacing_range` for pairs of systems, from how often each system got each level."""
    n, below = counts.sum(axis=1).tolist(), np.cumsum(counts, axis=1)[:, :-1]
    height = np.diff(levels).tolist()
    whole = all(step == 1 for step in height) and float(levels[0]).is_integer()
    return [
        _respacing((below[b] * n[a] - below[a] * n[b]).tolist(), n[a] * n[b], height, whole, levels)
        for a, b in zip(x.tolist(), y.tolist(), strict=True)
    ]


def _respacing(lead: Sequence[int], size: int, height: Sequence[float], whole: bool, levels: Floats) -> Respacing:
    """Judge one pair; ``lead`` holds its D_j n_x n_y, exact, and ``size`` is n_x n_y."""
    worth = [ahead * step for ahead, step in zip(lead, height, strict=True)]
    up, down = math.fsum(value for value in worth if value > 0), -math.fsum(value for value in worth if value < 0)
    if not up and not down:
        return Respacing(holds=None, ratio=None, share=None, rounding=True if whole else None, reason=ALIKE)
    rounding = abs(up - down) < size if whole else None
    if not up or not down:
        return Respacing(holds="always" if up else "never", ratio=None, share=1.0 if up else 0.0, rounding=rounding)
    ratio = max(up, down) / min(up, down)
    shown: tuple[float, ...] = ()
    if len(levels) <= SHOWN:  # equal means: of the two orders the same one, whichever is named first
        signs = (1, -1) if up == down else (1,) if up < down else (-1,)
        shown = min(_example([sign * value for value in lead], height, ratio, levels) for sign in signs)
    fine = len(worth) > WIDEST
    return Respacing(
        holds="depends",
        ratio=ratio,
        share=None if fine else share_of_spacings(worth),
        levels=tuple(levels.tolist()) if shown else (),
        example=shown,
        rounding=rounding,
        reason=TOO_FINE if fine else None,
    )


def share_of_spacings(worth: Sequence[float]) -> float:
    """Return the share of spacings, uniform over all that sum to one, on which Σ g_j worth_j > 0. Exact.

    Uniform spacings are exponential ones divided by their sum, so this is the chance that a row of exponential
    times with the positive means outlasts a row with the negative ones: a race without memory, step by step.

    >>> share_of_spacings([1.0, -1.0]), share_of_spacings([3.0, -1.0])
    (0.5, 0.75)
    """
    ups, downs = [value for value in worth if value > 0], [-value for value in worth if value < 0]
    if not ups or not downs:
        return float(bool(ups))
    lasting = [0.0] * len(downs) + [1.0]  # by how many of ``downs`` are over; all of them: x has outlasted y
    for up in reversed(ups):
        for place in range(len(downs) - 1, -1, -1):
            down = downs[place]  # of two running times the one of mean ``down`` ends first with up / (up + down)
            lasting[place] = (up * lasting[place + 1] + down * lasting[place]) / (up + down)
    return min(1.0, lasting[0])


def _example(for_lower: Sequence[float], height: Sequence[float], ratio: float, levels: Floats) -> tuple[float, ...]:
    """Return levels between the same ends on which the order is reversed, its steps a tenth beyond the bound."""
    factor = math.ceil(11 * ratio) / 10
    steps = [step * (factor if ahead > 0 else 1.0) for ahead, step in zip(for_lower, height, strict=True)]
    stretch = float(levels[-1] - levels[0]) / math.fsum(steps)
    values = [float(levels[0])]
    for step in steps:
        values.append(values[-1] + step * stretch)
    return tuple(round(value, 4) for value in values)
