"""What Newton's steps towards the highest likelihood have in common."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from analysis.statistics.coding import Floats

STEPS = 200
LONGEST = 3.0  # farthest that one step moves a strength
HALVINGS = 40
SMALL = 1e-8  # a step after which strengths are exact: the error left is about its square
TOLERANCE = 1e-9  # largest gap left between wins and expected wins, relative to the comparisons of a system


def climb(at: Floats, step: Floats, height: float, height_at: Callable[[Floats], float]) -> tuple[Floats, float]:
    """Take a step from ``at``, whose log-likelihood is ``height``; return where it ends, and the height there.

    It is drawn in to :data:`LONGEST`, and halved until the likelihood does not fall.
    """
    step = step * (LONGEST / max(LONGEST, float(np.abs(step).max())))
    for _ in range(HALVINGS):
        higher = height_at(at + step)
        if higher >= height - 1e-13 * abs(height):
            break
        step = step / 2
    return at + step, higher
