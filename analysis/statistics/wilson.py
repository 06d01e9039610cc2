"""Wilson's interval of a share, which has a width at shares of 0 and 1 too."""

from __future__ import annotations

import math

from scipy.special import ndtri


def wilson(count: float, n: int, confidence: float) -> tuple[float, float]:
    """Return the score interval of a share.

    References
    ----------
    Wilson, E. B. (1927). Probable inference, the law of succession, and statistical inference. Journal of
    the American Statistical Association, 22(158), 209-212.

    >>> [round(end, 4) for end in wilson(8, 10, 0.95)]
    [0.4902, 0.9433]
    >>> wilson(0, 24, 0.95)[0], wilson(24, 24, 0.95)[1]
    (0.0, 1.0)
    """
    z = float(ndtri((1 + confidence) / 2))
    share = count / n
    centre = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * math.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    return max(0.0, centre - half) if count else 0.0, min(1.0, centre + half) if count < n else 1.0
